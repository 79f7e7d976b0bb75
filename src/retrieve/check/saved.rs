//! What does a saved answer say, and of which sources? Reads `rag.answer/1` and the text that `rag ask` prints.
//!
//! Useful for: answers of ours, and any text with markers `[n]` above a list of sources. Not for: finding sources that no
//! list names.

use serde_json::Value;

use crate::{
    retrieve::{
        Support,
        cite::{self, Offered},
        compose::{Role, is_source_title, joined_markers, markers_in, role, without_markers},
        sentences::Kind,
    },
    types::{ChunkId, Lines, Pages, Span},
};

/// The schema this reads.
const SCHEMA: &str = "rag.answer/1";
/// What `rag ask` prints above an answer without a model, and above the sentences that failed.
const LABEL: &str = "Extracted passages (no LLM configured)";
const FAILED_TITLE: &str = "Not verified:";
/// What stands after a sentence that failed.
const FAILED: &str = "[unverified]";
/// A quotation begins after this, in either form.
const QUOTE_MARKS: [&str; 4] = [" — “", " — \"", " - “", " - \""];

/// Why a text is no saved answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSaved {
    #[error("it is JSON that breaks off or goes wrong at line {line}")]
    Json { line: usize },
    #[error("its schema is `{found}`, not `{SCHEMA}`")]
    Schema { found: String },
    #[error("it lacks `{field}`")]
    Field { field: String },
    #[error("it has neither a marker [n] nor a list of sources")]
    NoCitations,
    #[error("it has markers [n], but no list of sources under them")]
    NoSources,
}

/// An answer as it was saved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Saved {
    /// Empty where the text does not hold it.
    pub question: String,
    pub(super) sentences: Vec<SavedSentence>,
    pub(super) sources: Vec<SavedSource>,
    /// The index it was made from.
    pub generation: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SavedSentence {
    /// With its markers.
    pub text: String,
    pub bare: String,
    pub kind: Kind,
    pub cited: Vec<u32>,
    /// Its verdict then, if the form tells.
    pub was: Option<Support>,
    /// What it took from which source, word by word.
    pub quotes: Vec<(u32, String)>,
    /// It says that the documents do not answer.
    pub abstains: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SavedSource {
    pub n: u32,
    pub path: String,
    pub chunks: Vec<ChunkId>,
    pub lines: Option<Lines>,
    pub pages: Option<Pages>,
    pub span: Option<Span>,
    /// blake3 of the file then.
    pub hash: Option<String>,
    pub quote: Option<String>,
}

impl Saved {
    /// Reads a saved answer: JSON if it begins like JSON, else text.
    pub fn read(text: &str) -> Result<Self, NotSaved> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim_start().starts_with('{') { of_json(text) } else { of_text(text) }
    }

    /// How many sentences there are to check.
    pub fn len(&self) -> usize {
        self.sentences.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sentences.is_empty()
    }
}

fn of_json(text: &str) -> Result<Saved, NotSaved> {
    let value: Value = serde_json::from_str(text).map_err(|error| NotSaved::Json { line: error.line() })?;
    let schema = value.get("schema").and_then(Value::as_str).unwrap_or("none");
    if schema != SCHEMA {
        return Err(NotSaved::Schema { found: schema.chars().take(60).collect() });
    }
    let list = |value: &Value, field: &str| {
        value.get(field).and_then(Value::as_array).cloned().ok_or_else(|| NotSaved::Field { field: field.to_owned() })
    };
    let sources = list(&value, "sources")?.iter().map(json_source).collect::<Result<Vec<_>, _>>()?;
    let mut sentences = Vec::new();
    for sentence in list(&value, "sentences")? {
        sentences.push(json_sentence(&sentence, &sources)?);
    }
    let question = value.get("question").and_then(Value::as_str).unwrap_or_default().to_owned();
    let generation = value.pointer("/index/generation").and_then(Value::as_u64);
    Ok(Saved { question, sentences, sources, generation })
}

fn json_source(value: &Value) -> Result<SavedSource, NotSaved> {
    let missing = |field: &str| NotSaved::Field { field: format!("sources[].{field}") };
    let pair = |field: &str| -> Option<(u64, u64)> {
        let pair = value.get(field)?.as_array()?;
        Some((pair.first()?.as_u64()?, pair.get(1)?.as_u64()?))
    };
    let small = |(first, last): (u64, u64)| Some((u32::try_from(first).ok()?, u32::try_from(last).ok()?));
    let chunks = value.get("chunk_ids").and_then(Value::as_array);
    let span = pair("byte_range").and_then(|(start, end)| {
        let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
        (start <= end).then(|| Span::new(start, end))
    });
    Ok(SavedSource {
        n: number(value.get("n")).ok_or_else(|| missing("n"))?,
        path: value.get("source").and_then(Value::as_str).ok_or_else(|| missing("source"))?.to_owned(),
        chunks: chunks.into_iter().flatten().filter_map(|id| id.as_str()?.parse().ok()).collect(),
        lines: pair("lines").and_then(small).map(|(first, last)| Lines { first, last }),
        pages: pair("pages").and_then(small).map(|(first, last)| Pages { first, last }),
        span,
        hash: value.get("blake3").and_then(Value::as_str).filter(|hash| !hash.is_empty()).map(str::to_owned),
        quote: None,
    })
}

fn json_sentence(value: &Value, sources: &[SavedSource]) -> Result<SavedSentence, NotSaved> {
    let missing = |field: &str| NotSaved::Field { field: format!("sentences[].{field}") };
    let text = value.get("text").and_then(Value::as_str).ok_or_else(|| missing("text"))?;
    let citations =
        value.get("citations").and_then(Value::as_array).ok_or_else(|| missing("citations"))?.iter().filter_map(|c| {
            let n = number(c.get("n"))?;
            Some((n, c.get("quote").and_then(Value::as_str).unwrap_or_default().to_owned()))
        });
    let citations: Vec<(u32, String)> = citations.collect();
    let was = match value.get("state").and_then(Value::as_str) {
        Some("supported") => Some(Support::Supported),
        Some("weak") => Some(Support::Weak),
        Some("unsupported") => Some(Support::Unsupported),
        Some(_) | None => None,
    };
    let read = cite::read(text, &Listed::of(sources));
    let mut units = joined_markers(&read.text, &read).into_iter();
    let kind = match (units.next(), units.next()) {
        (Some(unit), None) => unit.kind,
        (Some(_) | None, _) => Kind::Prose,
    };
    let bare = without_markers(&read.text, &(0..read.text.len()), &read);
    // A citation that failed and was replaced has no marker any more.
    let cited: Vec<u32> = citations.iter().map(|(n, _)| *n).filter(|n| text.contains(&format!("[{n}]"))).collect();
    let cited = if cited.is_empty() { citations.iter().map(|(n, _)| *n).collect() } else { cited };
    let quotes = citations.into_iter().filter(|(n, quote)| cited.contains(n) && !quote.trim().is_empty()).collect();
    let abstains = role(&bare, kind, cited.is_empty(), "en") == Role::Abstention;
    Ok(SavedSentence { text: text.to_owned(), bare, kind, cited, was, quotes, abstains })
}

fn number(value: Option<&Value>) -> Option<u32> {
    u32::try_from(value?.as_u64()?).ok()
}

fn of_text(text: &str) -> Result<Saved, NotSaved> {
    let (answer, sources) = divided(text);
    let read = cite::read(answer, &Listed::of(&sources));
    if sources.is_empty() {
        let any = cite::read(answer, &Any);
        return Err(if any.markers.is_empty() { NotSaved::NoCitations } else { NotSaved::NoSources });
    }
    let mut sentences: Vec<SavedSentence> = Vec::new();
    for unit in joined_markers(&read.text, &read) {
        let mut cited: Vec<u32> = Vec::new();
        for n in markers_in(&read, &unit.range).flat_map(|(_, numbers)| numbers) {
            if !cited.contains(n) {
                cited.push(*n);
            }
        }
        let mut bare = without_markers(&read.text, &unit.range, &read);
        let mut text = read.text[unit.range.clone()].to_owned();
        // The mark of a sentence that failed stands after its full stop.
        if let Some(rest) = bare.strip_prefix(FAILED) {
            if let Some(before) = sentences.last_mut() {
                before.was = Some(Support::Unsupported);
            }
            bare = rest.trim_start().to_owned();
            text = text.trim_start().trim_start_matches(FAILED).trim_start().to_owned();
        }
        let failed = bare.ends_with(FAILED);
        if failed {
            bare = bare.trim_end_matches(FAILED).trim_end().to_owned();
            text = text.trim_end().trim_end_matches(FAILED).trim_end().to_owned();
        }
        let role = role(&bare, unit.kind, cited.is_empty(), "en");
        if role == Role::Frame {
            continue;
        }
        let quotes = Vec::new();
        let was = failed.then_some(Support::Unsupported);
        let abstains = role == Role::Abstention;
        sentences.push(SavedSentence { text, bare, kind: unit.kind, cited, was, quotes, abstains });
    }
    if sentences.iter().all(|sentence| sentence.cited.is_empty()) {
        return Err(NotSaved::NoCitations);
    }
    Ok(Saved { question: String::new(), sentences, sources, generation: None })
}

/// The answer of a printed text, and the sources it lists.
fn divided(text: &str) -> (&str, Vec<SavedSource>) {
    let mut lines: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.push((at, line.trim()));
        at += line.len();
    }
    let titled = lines.iter().rposition(|(_, line)| is_source_title(line));
    let (first, sources) = match titled {
        Some(title) => (title, lines[title + 1..].iter().filter_map(|(_, line)| source_line(line)).collect()),
        None => {
            let mut sources = Vec::new();
            let mut first = lines.len();
            for (at, (_, line)) in lines.iter().enumerate().rev() {
                match source_line(line) {
                    Some(source) => sources.push(source),
                    None if line.is_empty() => continue,
                    None => break,
                }
                first = at;
            }
            sources.reverse();
            (first, sources)
        }
    };
    let mut end = lines.get(first).map_or(text.len(), |(at, _)| *at);
    // What was not verified is said twice: in the answer and in a list of its own.
    if let Some((at, _)) = lines[..first].iter().rfind(|(_, line)| *line == FAILED_TITLE) {
        end = *at;
    }
    let answer = text[..end].trim();
    (answer.strip_prefix(LABEL).unwrap_or(answer).trim(), sources)
}

/// `[1] handbook.md:23-29 — “quote”`, with or without a bullet, backticks or a link around the place.
fn source_line(line: &str) -> Option<SavedSource> {
    let line = line.trim_start_matches(['-', '*', '+', ' ']);
    let (n, rest) = line.strip_prefix('[')?.split_once(']')?;
    let n: u32 = n.trim_start_matches('^').parse().ok()?;
    let rest = rest.trim_start_matches([':', ' ']).trim();
    let cut = QUOTE_MARKS.iter().filter_map(|mark| Some((rest.find(mark)?, mark.len()))).min();
    let (place, quote) = match cut {
        Some((at, len)) => (&rest[..at], Some(rest[at + len..].trim_end_matches(['”', '"', ' ']).to_owned())),
        None => (rest, None),
    };
    let place = match place.strip_prefix('[').and_then(|link| link.split_once("](")) {
        Some((_, target)) => target.trim_end_matches(')'),
        None => place,
    };
    let (path, lines, pages) = place_of(place.trim_matches(['`', ' ']));
    let quote = quote.filter(|quote| !quote.trim().is_empty());
    (!path.is_empty()).then(|| SavedSource { n, path: path.to_owned(), lines, pages, quote, ..SavedSource::default() })
}

/// Takes `:12-30`, ` p. 7`, ` slide 3` or ` (p. 7-8)` off a path.
fn place_of(place: &str) -> (&str, Option<Lines>, Option<Pages>) {
    let range = |text: &str| -> Option<(u32, u32)> {
        let (first, last) = text.split_once(['-', '–']).unwrap_or((text, text));
        Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
    };
    let in_words = |word: &&str| {
        let (path, pages) = place.rsplit_once(word)?;
        let (first, last) = range(pages.strip_prefix(' ')?.trim_end_matches(')'))?;
        let (bare, pages) = (path.trim_end_matches(['(', ' ']), Pages { first, last });
        // A file may be called `slide 3`; saved answers of before say `p.` of slides too.
        let fits = *word == Pages::WORDS[0] || pages.of(place_of(bare).0).starts_with(word);
        (fits && path.ends_with(['(', ' '])).then_some((bare, pages))
    };
    if let Some((path, pages)) = Pages::WORDS.iter().find_map(in_words) {
        let (path, lines, _) = place_of(path);
        return (path, lines, Some(pages));
    }
    match place.rsplit_once(':').and_then(|(path, lines)| Some((path, range(lines)?))) {
        Some((path, (first, last))) if !path.is_empty() => (path, Some(Lines { first, last }), None),
        Some(_) | None => (place, None, None),
    }
}

/// The numbers that a list of sources has.
struct Listed {
    most: u32,
}

impl Listed {
    fn of(sources: &[SavedSource]) -> Self {
        Self { most: sources.iter().map(|source| source.n).max().unwrap_or(0) }
    }
}

impl Offered for Listed {
    fn count(&self) -> u32 {
        self.most
    }

    fn is_code(&self, _text: &str) -> bool {
        false
    }

    fn has_link(&self, _link: &str) -> bool {
        true
    }
}

struct Any;

impl Offered for Any {
    fn count(&self) -> u32 {
        999
    }

    fn is_code(&self, _text: &str) -> bool {
        false
    }

    fn has_link(&self, _link: &str) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_in_every_form() {
        for (line, path, lines, pages, quote) in [
            ("  [1] docs/faq.html — “Refunds are paid.”", "docs/faq.html", None, None, Some("Refunds are paid.")),
            ("[2] a b.md:23-29", "a b.md", Some((23, 29)), None, None),
            ("- [3] `a.md:7` — “x y”", "a.md", Some((7, 7)), None, Some("x y")),
            ("[4] report.pdf p. 7-8 — “x”", "report.pdf", None, Some((7, 8)), Some("x")),
            ("[5] a.md:12-30 (p. 7) — \"x\"", "a.md", Some((12, 30)), Some((7, 7)), Some("x")),
            ("[6] deck.pptx slide 3 — \"x\"", "deck.pptx", None, Some((3, 3)), Some("x")),
            ("[7] the slide 3", "the slide 3", None, None, None),
            ("[7] deck.pptx p. 3", "deck.pptx", None, Some((3, 3)), None),
            ("[8] landslide 3", "landslide 3", None, None, None),
            ("[6]: [Title](docs/a.md)", "docs/a.md", None, None, None),
            ("[7] https://example.org/page", "https://example.org/page", None, None, None),
        ] {
            let source = source_line(line).unwrap();
            assert_eq!(source.path, path, "{line}");
            assert_eq!(source.lines, lines.map(|(first, last)| Lines { first, last }), "{line}");
            assert_eq!(source.pages, pages.map(|(first, last)| Pages { first, last }), "{line}");
            assert_eq!(source.quote.as_deref(), quote, "{line}");
        }
        for none in ["", "text", "[x] a", "[1]", "[ ] todo", "Sources:"] {
            assert_eq!(source_line(none), None, "{none}");
        }
    }

    #[test]
    fn printed_answers_are_read() {
        let text = "Extracted passages (no LLM configured)\n\nIt costs £4. [1]\n\nIt has two doors [2]. [unverified] It is red [2].\n\n\
            Not verified:\n  “It has two doors [2].” — `two` is not in the passage\n\n\
            Sources:\n  [1] a.md:1-2 — “It costs £4.”\n  [2] b.md:7\n";
        let saved = Saved::read(text).unwrap();
        let said: Vec<_> = saved.sentences.iter().map(|s| (s.bare.as_str(), s.cited.as_slice(), s.was)).collect();
        let want: [(&str, &[u32], Option<Support>); 3] = [
            ("It costs £4.", &[1], None),
            ("It has two doors.", &[2], Some(Support::Unsupported)),
            ("It is red.", &[2], None),
        ];
        assert_eq!(said, want);
        assert_eq!(saved.sources.len(), 2);
        let markdown = "It costs £4 [1].\n\n- [1] `a.md:1-2` — “It costs £4.”\n";
        assert_eq!(Saved::read(markdown).unwrap().sentences[0].bare, "It costs £4.");
        // A list within an answer is no list of sources.
        let lists = "To do:\n\n- wash it [1]\n- dry it [1]\n\n## Sources\n\n[1] a.md\n";
        assert_eq!(Saved::read(lists).unwrap().len(), 3);
    }

    #[test]
    fn what_is_no_answer_says_why() {
        for (text, why) in [
            ("", NotSaved::NoCitations),
            ("just words", NotSaved::NoCitations),
            ("It costs £4 [1].", NotSaved::NoSources),
            ("just words\n\nSources:\n[1] a.md\n", NotSaved::NoCitations),
            ("{\"a\":\n", NotSaved::Json { line: 2 }),
            ("{}", NotSaved::Schema { found: "none".into() }),
            ("{\"schema\":\"rag.query/1\"}", NotSaved::Schema { found: "rag.query/1".into() }),
            ("{\"schema\":\"rag.answer/1\"}", NotSaved::Field { field: "sources".into() }),
            (
                "{\"schema\":\"rag.answer/1\",\"sources\":[{}],\"sentences\":[]}",
                NotSaved::Field { field: "sources[].n".into() },
            ),
        ] {
            assert_eq!(Saved::read(text), Err(why), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|\\n|\\[1\\]|\\[2\\] a\\.md|Sources:|\\[unverified\\]){0,40}") {
            let _ = Saved::read(&text);
        }

        #[test]
        fn any_object_is_read_or_refused(field in "(sources|sentences|question)", value in "(\\[\\]|\\{\\}|1|null|\\[1\\]|\\[\\{\"n\":1\\}\\])") {
            let _ = Saved::read(&format!("{{\"schema\":\"rag.answer/1\",\"sources\":[],\"sentences\":[],\"{field}\":{value}}}"));
        }
    }
}
