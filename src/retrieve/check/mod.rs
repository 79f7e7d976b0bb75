//! Does a saved answer still hold? Each of its sentences against the index as it is now.
//!
//! Useful for: answers kept in files, after their documents have changed. Not for: what the index does not know: a file
//! that changed after it was read is told by the caller, who can see it.

mod saved;

pub use saved::{NotSaved, Saved};

use saved::{SavedSentence, SavedSource};

use super::{
    Result, Support, links,
    passages::Passage,
    sentences::Kind,
    verify::{Checker, Prepared, Verdict, plain},
};
use crate::{
    index::{ChunkRecord, Snapshot, SourceRecord},
    types::ChunkId,
};

/// Of a document that changed, so many chunks around the old place are searched.
const MAX_SEARCHED: usize = 1000;

/// What has become of a file since the index read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum File {
    Unchanged,
    /// It has other bytes: the index is behind.
    Changed,
    Missing,
    /// A page, standard input, or of a root that is not known here.
    #[default]
    Unknown,
}

/// What has become of a cited text in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Unchanged,
    /// The document changed; the quoted words are still in it.
    Moved,
    /// The document is there, the cited text is not.
    Changed,
    /// The document is not in the index.
    Gone,
    /// The answer's list of sources has no such number.
    Unlisted,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CheckedSource {
    pub n: u32,
    pub path: String,
    pub standing: Standing,
    pub file: File,
    /// The chunks that the sentences were checked against, where the text is unchanged.
    pub chunks: Vec<ChunkId>,
    /// Whether each quotation that the answer gives is in the document word by word.
    pub quotes_found: Option<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CheckedSentence {
    pub text: String,
    pub cited: Vec<u32>,
    /// What it was worth when it was saved, if the file tells.
    pub was: Option<Support>,
    pub state: Support,
    /// Share of its content words found, 0..1.
    pub score: f32,
    /// It has less support than it had, or its file has changed. What the file does not tell counts as supported then.
    pub lost: bool,
    /// Why it is not supported, for people.
    pub reason: Option<String>,
}

/// A saved answer, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub question: String,
    pub sentences: Vec<CheckedSentence>,
    /// Those that sentences cite, by number.
    pub sources: Vec<CheckedSource>,
    pub generation: u64,
    /// The generation the answer was made from, if the file tells.
    pub was_generation: Option<u64>,
}

impl Checked {
    /// No sentence has lost its support, and none has never had any.
    pub fn holds(&self) -> bool {
        self.sentences.iter().all(|sentence| !sentence.lost && sentence.state > Support::Unsupported)
    }
}

/// A cited source as it is found now.
struct Found {
    checked: CheckedSource,
    /// What to check against: the cited text where it is unchanged, else every part of the document.
    passages: Vec<Passage>,
}

/// Checks each sentence of a saved answer against what it cites. `file_of` tells what has become of a source's file.
/// Errors: those of reading the index. Cost: one reading of every cited passage; of every chunk of documents that changed.
pub fn check(snapshot: &Snapshot, saved: &Saved, file_of: &dyn Fn(&SourceRecord) -> File) -> Result<Checked> {
    let mut numbers: Vec<u32> = saved.sentences.iter().flat_map(|sentence| sentence.cited.iter().copied()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut known: Option<Vec<SourceRecord>> = None;
    let mut found: Vec<Found> = Vec::new();
    for n in numbers {
        let unlisted =
            || CheckedSource { n, path: String::new(), standing: Standing::Unlisted, ..blank(n, "", File::Unknown) };
        let source = match saved.sources.iter().find(|source| source.n == n) {
            Some(source) => locate(snapshot, saved, source, &mut known, file_of)?,
            None => Found { checked: unlisted(), passages: Vec::new() },
        };
        found.push(source);
    }
    // One checker for all: what a capital means is judged by all passages.
    let mut passages: Vec<Passage> = Vec::new();
    let mut places: Vec<std::ops::Range<usize>> = Vec::new();
    for source in &mut found {
        let from = passages.len();
        passages.append(&mut source.passages);
        places.push(from..passages.len());
    }
    let checker = Checker::new(&passages, &saved.question);
    let sources: Vec<CheckedSource> = found.into_iter().map(|found| found.checked).collect();
    let sentences = saved.sentences.iter().map(|sentence| judge(sentence, &checker, &sources, &places)).collect();
    let (generation, was_generation) = (snapshot.generation(), saved.generation);
    Ok(Checked { question: saved.question.clone(), sentences, sources, generation, was_generation })
}

fn blank(n: u32, path: &str, file: File) -> CheckedSource {
    CheckedSource { n, path: path.to_owned(), standing: Standing::Gone, file, chunks: Vec::new(), quotes_found: None }
}

fn locate(
    snapshot: &Snapshot,
    saved: &Saved,
    source: &SavedSource,
    known: &mut Option<Vec<SourceRecord>>,
    file_of: &dyn Fn(&SourceRecord) -> File,
) -> Result<Found> {
    let by_id: Option<Vec<ChunkRecord>> = snapshot.chunks(&source.chunks)?.into_iter().collect();
    let by_id = by_id.filter(|chunks| !chunks.is_empty());
    let record = match by_id.as_ref().and_then(|chunks| chunks.first()) {
        Some(chunk) => snapshot.source(chunk.source)?,
        None => {
            let all = match known {
                Some(all) => all,
                None => known.insert(snapshot.sources(None)?),
            };
            named(all, &source.path).cloned()
        }
    };
    let Some(record) = record else {
        return Ok(Found { checked: blank(source.n, &source.path, File::Unknown), passages: Vec::new() });
    };
    let mut checked = blank(source.n, &record.display_path(), file_of(&record));
    let quotes: Vec<String> = saved
        .sentences
        .iter()
        .flat_map(|sentence| &sentence.quotes)
        .filter(|(n, _)| *n == source.n)
        .map(|(_, quote)| quote)
        .chain(&source.quote)
        .map(|quote| plain(quote).trim().to_owned())
        .collect();
    if let Some(chunks) = by_id {
        checked.standing = Standing::Unchanged;
        checked.chunks = chunks.iter().map(|chunk| chunk.id).collect();
        let passage = Passage::of_chunks(source.n, chunks);
        checked.quotes_found = found_in(&quotes, &[&passage]);
        return Ok(Found { checked, passages: vec![passage] });
    }
    let chunks = snapshot.chunks_of(record.id)?;
    let here: Vec<ChunkRecord> = chunks.iter().filter(|chunk| stands_at(chunk, source)).cloned().collect();
    let parts = parts(source, chunks);
    checked.quotes_found = found_in(&quotes, &parts.iter().collect::<Vec<_>>());
    // A printed list has no ids: its text is unchanged if its quotation stands where it stood.
    if source.chunks.is_empty() && !here.is_empty() {
        let passage = Passage::of_chunks(source.n, here);
        if found_in(&quotes, &[&passage]).unwrap_or(true) {
            checked.standing = Standing::Unchanged;
            checked.chunks = passage.chunks.iter().map(|chunk| chunk.id).collect();
            return Ok(Found { checked, passages: vec![passage] });
        }
    }
    checked.standing = if checked.quotes_found == Some(true) { Standing::Moved } else { Standing::Changed };
    Ok(Found { checked, passages: parts })
}

/// The source that a path names: as the index shows it, or the only one that ends so.
fn named<'a>(all: &'a [SourceRecord], path: &str) -> Option<&'a SourceRecord> {
    let path = path.trim_start_matches("./");
    let exact = all.iter().find(|source| source.display_path() == path || source.path.as_str() == path);
    exact.or_else(|| {
        let end = format!("/{path}");
        let mut ending = all.iter().filter(|source| source.display_path().ends_with(&end));
        ending.next().filter(|_| ending.next().is_none())
    })
}

fn stands_at(chunk: &ChunkRecord, source: &SavedSource) -> bool {
    if let (Some(lines), Some(own)) = (source.lines, chunk.lines) {
        return own.first <= lines.last && lines.first <= own.last;
    }
    if let (Some(pages), Some(own)) = (source.pages, chunk.pages) {
        return own.first <= pages.last && pages.first <= own.last;
    }
    // A path alone names the document.
    source.lines.is_none() && source.pages.is_none()
}

/// The document in parts of two neighbouring chunks, those around the old place if it is long.
fn parts(source: &SavedSource, mut chunks: Vec<ChunkRecord>) -> Vec<Passage> {
    if chunks.len() > MAX_SEARCHED {
        let before = |chunk: &ChunkRecord| match (source.span, source.lines, chunk.lines) {
            (Some(span), ..) => chunk.span.end < span.start,
            (None, Some(lines), Some(own)) => own.last < lines.first,
            (None, ..) => false,
        };
        let place = chunks.iter().take_while(|chunk| before(chunk)).count();
        let from = place.saturating_sub(MAX_SEARCHED / 2).min(chunks.len() - MAX_SEARCHED);
        chunks = chunks.split_off(from);
        chunks.truncate(MAX_SEARCHED);
    }
    let pairs = chunks.len().saturating_sub(1).max(1).min(chunks.len());
    (0..pairs).map(|at| Passage::of_chunks(source.n, chunks[at..(at + 2).min(chunks.len())].to_vec())).collect()
}

/// Whether the passages hold all quotations; `None` if there is none.
fn found_in(quotes: &[String], passages: &[&Passage]) -> Option<bool> {
    if quotes.is_empty() {
        return None;
    }
    let texts: Vec<String> = passages.iter().map(|p| plain(&format!("{}\n{}", p.context(), p.text))).collect();
    Some(quotes.iter().all(|quote| texts.iter().any(|text| text.contains(quote.as_str()))))
}

fn judge(
    sentence: &SavedSentence,
    checker: &Checker<'_>,
    sources: &[CheckedSource],
    places: &[std::ops::Range<usize>],
) -> CheckedSentence {
    let claim =
        if sentence.kind == Kind::Code { sentence.bare.clone() } else { links::strip(&sentence.bare, &|_| false).0 };
    let claim = checker.claim(&claim, sentence.kind);
    let cited = || sources.iter().zip(places).filter(|(source, _)| sentence.cited.contains(&source.n));
    let verdict = weigh(&claim, checker, cited().map(|(_, place)| place.clone()));
    let mut checked = CheckedSentence {
        text: sentence.text.clone(),
        cited: sentence.cited.clone(),
        was: sentence.was,
        state: verdict.state,
        score: verdict.score,
        lost: false,
        reason: verdict.reason,
    };
    if sentence.abstains && sentence.was != Some(Support::Unsupported) {
        checked.state = Support::Weak;
        checked.reason = Some("it says what the passages do not hold".to_owned());
        return checked;
    }
    let introduces = sentence.bare.ends_with([':', '：']) || sentence.kind == Kind::Heading;
    if introduces && checked.state == Support::Unsupported && !verdict.mismatch {
        checked.state = Support::Weak;
    }
    if checked.state != Support::Supported {
        let missing = cited().find_map(|(source, _)| match source.standing {
            Standing::Gone => Some(format!("`{}` is not in the index any more", source.path)),
            Standing::Unlisted => Some(format!("the answer lists no source [{}]", source.n)),
            Standing::Unchanged | Standing::Moved | Standing::Changed => None,
        });
        let changed = cited().find(|(source, _)| source.standing == Standing::Changed);
        checked.reason = match (missing, changed, checked.reason.take()) {
            (Some(missing), _, _) => Some(missing),
            (None, Some((source, _)), Some(why)) => Some(format!("the text of `{}` has changed: {why}", source.path)),
            (None, Some((source, _)), None) => Some(format!("the text of `{}` has changed", source.path)),
            (None, None, why) => why,
        };
    }
    // A text does not tell `weak` from `supported`.
    checked.lost = checked.state < checked.was.unwrap_or(Support::Weak);
    if let Some((source, _)) = cited().find(|(source, _)| source.file == File::Changed) {
        checked.lost = true;
        let stale = format!("`{}` has changed since it was indexed", source.path);
        checked.reason = Some(checked.reason.map_or(stale.clone(), |reason| format!("{reason}; {stale}")));
    }
    checked
}

/// The best verdict over what a sentence cites: each source by its best part, alone and together.
fn weigh(claim: &Prepared, checker: &Checker<'_>, places: impl Iterator<Item = std::ops::Range<usize>>) -> Verdict {
    let mut best: Vec<(usize, Verdict)> = Vec::new();
    for place in places {
        let verdicts = place.map(|at| (at, checker.judge(claim, &[at])));
        // Of parts that all fail, the one that says most of the sentence tells why.
        let better = |a: &(usize, Verdict), b: &(usize, Verdict)| {
            a.1.state.cmp(&b.1.state).then(a.1.score.total_cmp(&b.1.score))
        };
        best.extend(verdicts.reduce(|a, b| if better(&b, &a).is_gt() { b } else { a }));
    }
    let all: Vec<usize> = best.iter().map(|(at, _)| *at).collect();
    let together = checker.judge(claim, &all);
    let single = best.into_iter().map(|(_, verdict)| verdict).filter(|one| one.state > together.state);
    single.max_by(|a, b| a.state.cmp(&b.state).then(a.score.total_cmp(&b.score))).unwrap_or(together)
}
