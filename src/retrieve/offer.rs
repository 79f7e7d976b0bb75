//! What the offered passages hold, as far as reading an answer has to know it.

use super::{
    cite::Offered,
    passages::Passage,
    sentences::{self, Kind},
};

/// A passage with more of its characters than this being signs is code. As the ranking has it.
const CODE_SHARE: f32 = 0.065;

/// Passages as [`Offered`].
pub(super) struct Offer<'p> {
    passages: &'p [Passage],
    /// Text that is code: whole passages, fences, and what stands between backticks.
    code: Vec<&'p str>,
}

impl<'p> Offer<'p> {
    pub fn new(passages: &'p [Passage]) -> Self {
        let mut code = Vec::new();
        for passage in passages {
            if passage.record().code_share > CODE_SHARE {
                code.push(passage.text.as_str());
                continue;
            }
            let fences = sentences::units(&passage.text).into_iter().filter(|unit| unit.kind == Kind::Code);
            code.extend(fences.map(|unit| &passage.text[unit.range]));
            code.extend(passage.text.split('`').skip(1).step_by(2));
        }
        Self { passages, code }
    }
}

impl Offered for Offer<'_> {
    fn count(&self) -> u32 {
        u32::try_from(self.passages.len()).unwrap_or(u32::MAX)
    }

    fn is_code(&self, text: &str) -> bool {
        self.code.iter().any(|code| code.contains(text))
    }

    fn has_link(&self, link: &str) -> bool {
        self.passages.iter().any(|passage| holds_link(passage, link))
    }
}

/// A passage has an address as it is, or as the beginning of a longer one.
pub(super) fn holds_link(passage: &Passage, link: &str) -> bool {
    passage.text.contains(link) || passage.context().contains(link)
}
