//! Which parts of a page are its content, and which are furniture around it.
//!
//! Believed only where little is lost by it: a page whose main part holds less than half of its text keeps everything.

use html5ever::tokenizer::Tag;

use super::elements::attribute;
use crate::ingest::extract::blocks::Rendered;

/// Share of the text, in percent, that the main part must hold for the rest to be left out.
const MAIN_PERCENT: usize = 50;

/// Share of the text, in percent, up to which furniture is left out where no main part is marked.
const FURNITURE_PERCENT: usize = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    Main,
    Furniture,
}

/// The region that an element begins. `in_content`: it stands in an article or another part that may have furniture of
/// its own, like the footer of a quote.
pub fn region(name: &str, tag: &Tag, in_content: bool) -> Option<Region> {
    let role = attribute(tag, "role").unwrap_or("");
    match (name, role) {
        ("main", _) | (_, "main") => Some(Region::Main),
        // Notes of a book stand in asides.
        ("aside", "") if attribute(tag, "epub:type").is_some() => None,
        ("footer" | "aside", "") if !in_content => Some(Region::Furniture),
        (_, "contentinfo" | "complementary" | "banner") if !in_content => Some(Region::Furniture),
        _ => None,
    }
}

/// Parts of the text written so far, by region.
#[derive(Default)]
pub struct Regions {
    main: Vec<(usize, usize)>,
    furniture: Vec<(usize, usize)>,
    open: Vec<(Region, usize)>,
}

impl Regions {
    /// A region begins, where the text is this long.
    pub fn begin(&mut self, region: Region, at: usize) {
        self.open.push((region, at));
    }

    /// The region begun last ends.
    pub fn end(&mut self, at: usize) {
        let Some((region, start)) = self.open.pop() else { return };
        let list = match region {
            Region::Main => &mut self.main,
            Region::Furniture => &mut self.furniture,
        };
        // What stands in one that ends now is part of it.
        while list.last().is_some_and(|&(inner, _)| inner >= start) {
            list.pop();
        }
        if at > start {
            list.push((start, at));
        }
    }

    /// Leaves out what is not content.
    pub fn apply(&self, out: &mut Rendered) {
        let total = out.text.len();
        let size = |list: &[(usize, usize)]| list.iter().map(|(start, end)| end - start).sum::<usize>();
        let is_in = |list: &[(usize, usize)], at: usize| {
            let next = list.partition_point(|&(start, _)| start <= at);
            next.checked_sub(1).and_then(|last| list.get(last)).is_some_and(|&(_, end)| at < end)
        };
        let (main, furniture) = (size(&self.main), size(&self.furniture));
        if main > 0 && main * 100 >= total * MAIN_PERCENT {
            out.keep(|span| is_in(&self.main, span.end - 1) && !is_in(&self.furniture, span.end - 1));
        } else if furniture > 0 && furniture * 100 <= total * FURNITURE_PERCENT {
            out.keep(|span| !is_in(&self.furniture, span.end - 1));
        }
    }
}
