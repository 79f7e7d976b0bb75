//! Blocks → chunks: what is stored, embedded and searched.
//!
//! Pure and deterministic. What holds for every document and all settings:
//!
//! - a chunk's text is exactly the text of its span, and is never only white space;
//! - every character of a block that is not white space is in a chunk (up to the limit of chunks for one source), and,
//!   without overlap, in one only;
//! - the text embedded for a chunk has at most `limit` word pieces;
//! - the body of a chunk stands under one heading;
//! - a row, a sentence, a fence is cut only where it is larger than a chunk can be.
//!
//! First sections by heading (`section`), then what is not cut further (`atom`), then whole chunks (`pack`).
//! Sizes are those of the embedded text: `title > heading path`, a table's header, and the chunk. Where the encoder does
//! not know the language, sizes are characters (`measure`).
//!
//! Not for: reading files, or deciding what a document's blocks are.

mod atom;
mod embedded;
mod measure;
mod pack;
mod place;
mod section;
mod split;

pub use embedded::{embed_hash, embedding_text};

use std::rc::Rc;

use self::{
    atom::Atom,
    measure::{FOREIGN_FERTILITY, Measure},
    pack::{MIN_TOKENS, Sizes},
    place::LineCounter,
    section::Section,
};
use super::{Error, Result, document::Document, file, language};
use crate::{
    index::{ChunkRecord, Problem},
    model::wordpiece::WordPiece,
    types::{Lines, Pages, SourceId, Span},
};

/// Version of everything in this room that decides the chunks of a document; part of the pipeline's version.
pub const VERSION: u32 = 1;

/// A source is cut into at most so many chunks; what is left of it is left out, with a warning.
const MAX_CHUNKS: usize = 100_000;

/// The least a chunk may be asked to be.
const MIN_TARGET_TOKENS: usize = 16;

/// What the built-in model reads; also the measure where there is no model.
const BUILTIN_LIMIT_TOKENS: usize = 254;

/// How chunks are to be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Tokens of the embedded text to aim at.
    target: usize,
    overlap: usize,
    /// Tokens that the embedded text never has more of.
    limit: usize,
}

impl Settings {
    /// `max_tokens`: what the embedder reads beside its own prefix; `None` without one. The limit is a quarter over
    /// `target`, if the embedder reads that much: 254 for 200. Errors: `Options`.
    pub fn new(target: usize, overlap: usize, max_tokens: Option<usize>) -> Result<Self> {
        let most = max_tokens.unwrap_or_else(|| target.max(BUILTIN_LIMIT_TOKENS));
        let options = |what: String| Err(Error::Options { what });
        if target < MIN_TARGET_TOKENS {
            return options(format!("a chunk has at least {MIN_TARGET_TOKENS} tokens, not {target}"));
        }
        if target > most {
            return options(format!("chunks of {target} tokens are more than the {most} that the model reads"));
        }
        if overlap > target / 2 {
            return options(format!("an overlap of {overlap} tokens is more than half of a chunk of {target}"));
        }
        Ok(Self { target, overlap, limit: limit_for(target, most) })
    }

    /// The most word pieces an embedded text has: what [`embedding_text`] is to be called with.
    pub fn limit(self) -> usize {
        self.limit
    }

    /// All that decides the chunks of a document, for the pipeline's version.
    pub fn key(self) -> String {
        let Self { target, overlap, limit } = self;
        format!("c{VERSION}-{target}-{overlap}-{limit}")
    }
}

/// The most word pieces of an embedded text where chunks aim at `target` and the model reads `most`.
pub fn limit_for(target: usize, most: usize) -> usize {
    most.min(target + target / 4 + 4)
}

/// Which source the chunks are of.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    pub source: SourceId,
    pub collection: &'a str,
    /// Display path.
    pub path: &'a str,
    /// In place of the document's own title and of its file's name; empty: none.
    pub title: Option<&'a str>,
}

/// A document in chunks.
#[derive(Debug, Default)]
pub struct Chunked {
    /// By ordinal.
    pub chunks: Vec<ChunkRecord>,
    /// Of each chunk what is embedded: its [`embedding_text`].
    pub texts: Vec<String>,
    /// ISO 639-1 code of most of the text.
    pub lang: Option<String>,
    /// What was left out.
    pub problem: Option<Problem>,
}

/// Cuts a document into chunks. O(text).
pub fn chunk(document: &Document, origin: Origin<'_>, settings: Settings) -> Chunked {
    chunk_up_to(document, origin, settings, MAX_CHUNKS)
}

fn chunk_up_to(document: &Document, origin: Origin<'_>, settings: Settings, max_chunks: usize) -> Chunked {
    let own = || document.title.clone().filter(|title| !title.trim().is_empty());
    let title = origin.title.map(str::to_owned).or_else(own).unwrap_or_else(|| title_of_name(origin.path));
    let measure = Measure::of_document(&document.text);
    let mut cutter = Cutter { document, settings, title: &title, lines: LineCounter::new(&document.text), out: vec![] };
    let mut problem = None;
    for section in section::sections(document, measure, MIN_TOKENS.min(settings.target / 2)) {
        cutter.section(&section, measure);
        if cutter.out.len() > max_chunks {
            cutter.out.truncate(max_chunks);
            let kept = cutter.out.last().map_or(0, |piece| piece.span.end);
            let left = document.text.len() - kept;
            let message =
                format!("only its first {max_chunks} chunks are searchable; {left} bytes of text are left out");
            problem = Some(file::lasting("too_many_chunks", &message));
            break;
        }
    }
    let mut pieces = cutter.out;
    let lang = language::fill(&mut pieces, &document.text);
    let texts = pieces.iter().map(|piece| piece.embedded(document, settings.limit)).collect();
    let chunks = pieces
        .into_iter()
        .enumerate()
        .map(|(at, piece)| piece.record(at, origin, &title, (document, settings)))
        .collect();
    Chunked { chunks, texts, lang, problem }
}

/// A file's name as a title: `annual_report-2024.pdf` is `annual report 2024`.
fn title_of_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    };
    let words: Vec<&str> =
        stem.split(|c: char| c == '_' || c == '-' || c.is_whitespace()).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { name.to_owned() } else { words.join(" ") }
}

/// A chunk before it has a number.
#[derive(Debug)]
pub(super) struct Piece {
    pub span: Span,
    /// Title and heading path, as they are embedded.
    prefix: Rc<str>,
    heading: Vec<String>,
    context: Option<Span>,
    lines: Option<Lines>,
    pages: Option<Pages>,
    /// Of what is embedded, uncut.
    tokens: usize,
    fertility: f32,
    pub code_share: f32,
    pub lang: Option<&'static str>,
}

impl Piece {
    /// What [`embedding_text`] says of it.
    fn embedded(&self, document: &Document, limit: usize) -> String {
        let context = self.context.map_or("", |span| &document.text[span.range()]);
        let text = embedded::join(&self.prefix, context, &document.text[self.span.range()]);
        if self.tokens <= limit { text } else { embedded::cut(text, limit) }
    }

    fn record(
        self,
        ordinal: usize,
        origin: Origin<'_>,
        title: &str,
        (document, settings): (&Document, Settings),
    ) -> ChunkRecord {
        let text = &document.text[self.span.range()];
        ChunkRecord {
            id: ChunkRecord::id_of(origin.source, self.span, text),
            source: origin.source,
            collection: origin.collection.to_owned(),
            path: origin.path.to_owned(),
            ordinal: u32::try_from(ordinal).unwrap_or(u32::MAX),
            span: self.span,
            lines: self.lines,
            pages: self.pages,
            title: (!title.is_empty()).then(|| title.to_owned()),
            heading: self.heading,
            context: self.context.map_or_else(String::new, |span| document.text[span.range()].to_owned()),
            text: text.to_owned(),
            lang: self.lang.map(str::to_owned),
            tokens: u32::try_from(self.tokens.min(settings.limit)).unwrap_or(u32::MAX),
            fertility: self.fertility,
            code_share: self.code_share,
        }
    }
}

/// What stands before the text of every chunk of a section when it is embedded.
struct Prefix {
    text: Rc<str>,
    tokens: usize,
}

struct Cutter<'d> {
    document: &'d Document,
    settings: Settings,
    title: &'d str,
    lines: LineCounter<'d>,
    out: Vec<Piece>,
}

impl Cutter<'_> {
    fn section(&mut self, section: &Section, measure: Measure) {
        let prefix = embedded::prefix(self.title, &section.heading, self.settings.limit);
        let prefix = Prefix { tokens: WordPiece::builtin().count(&prefix), text: prefix.into() };
        let prefix_tokens = prefix.tokens;
        // The prefix takes a quarter of the limit at most, so three quarters are left.
        let limit = self.settings.limit - prefix_tokens;
        let target = self.settings.target.saturating_sub(prefix_tokens).max(self.settings.target / 2).min(limit);
        let sizes = Sizes { target, limit, overlap: self.settings.overlap };
        let blocks = &self.document.blocks[section.blocks.clone()];
        let atoms: Vec<Atom> =
            blocks.iter().flat_map(|block| atom::atoms(self.document, block, measure, limit)).collect();
        let mut pieces = Vec::new();
        for range in pack::pack(&atoms, sizes) {
            self.piece(section, &prefix, &atoms[range], &mut pieces);
        }
        if self.settings.overlap > 0 {
            // A chunk that had to be cut again may begin inside the overlap of the next, or hold nothing else.
            pieces.sort_by_key(|piece| (piece.span.start, std::cmp::Reverse(piece.span.end)));
            let mut end = 0;
            pieces.retain(|piece| {
                let is_more = piece.span.end > end;
                end = end.max(piece.span.end);
                is_more
            });
        }
        for piece in &mut pieces {
            piece.lines = place::lines(self.document, &mut self.lines, piece.span, blocks);
        }
        self.out.append(&mut pieces);
    }

    /// Makes one chunk of the atoms; more if what they were measured by turns out too small.
    fn piece(&self, section: &Section, prefix: &Prefix, atoms: &[Atom], out: &mut Vec<Piece>) {
        let (Some(first), Some(last)) = (atoms.first(), atoms.last()) else { return };
        let Some(span) = self.trimmed(Span::new(first.span.start, last.span.end), section) else { return };
        let header = atoms.iter().find_map(|atom| atom.header).filter(|header| header.span.start < first.span.start);
        let context = header.and_then(|header| self.trimmed(header.span, section));
        let text = &self.document.text[span.range()];
        let parts = atoms.iter().map(|atom| (atom.span.start, atom.tally));
        let tally = measure::sum(&self.document.text, parts).unwrap_or_else(|| WordPiece::builtin().tally(text));
        let texture = tally.texture();
        let context_text = context.map_or("", |span| &self.document.text[span.range()]);
        // Line ends part the three, so that their counts add up.
        let tokens = prefix.tokens + WordPiece::builtin().count(context_text) + texture.tokens;
        let is_too_large = tokens > self.settings.limit && texture.fertility <= FOREIGN_FERTILITY;
        if let Some((left, right)) = is_too_large.then(|| self.halves(atoms)).flatten() {
            self.piece(section, prefix, &left, out);
            self.piece(section, prefix, &right, out);
            return;
        }
        let blocks = &self.document.blocks[section.blocks.clone()];
        out.push(Piece {
            span,
            prefix: Rc::clone(&prefix.text),
            heading: section.heading.clone(),
            context,
            lines: None,
            pages: place::pages(span, blocks),
            tokens,
            fertility: texture.fertility,
            code_share: measure::code_share(text),
            lang: None,
        });
    }

    /// Two parts of the atoms; `None` where there is nothing to part.
    fn halves(&self, atoms: &[Atom]) -> Option<(Vec<Atom>, Vec<Atom>)> {
        if let [atom] = atoms {
            let size = |text: &str| text.chars().count();
            let budget = size(&self.document.text[atom.span.range()]).div_ceil(2);
            let parts = split::cut(&self.document.text, atom.span, budget, &size);
            let parts: Vec<_> = parts.into_iter().map(|span| Atom { span, tally: None, ..atom.clone() }).collect();
            return (parts.len() > 1).then(|| (parts[..1].to_vec(), parts[1..].to_vec()));
        }
        let middle = atoms.len() / 2;
        Some((atoms[..middle].to_vec(), atoms[middle..].to_vec()))
    }

    /// The span without white space at its ends, but with the indentation of its first line where that has a meaning;
    /// `None` if nothing is left.
    fn trimmed(&self, span: Span, section: &Section) -> Option<Span> {
        use super::document::BlockKind::{Code, Fence, List};
        let text = &self.document.text[span.range()];
        let end = span.start + text.trim_end().len();
        let start = span.end - text.trim_start().len();
        if start >= end {
            return None;
        }
        let blocks = &self.document.blocks[section.blocks.clone()];
        let block = &blocks[blocks.partition_point(|block| block.span.end <= start).min(blocks.len() - 1)];
        if !matches!(block.kind, Code | Fence | List) {
            return Some(Span::new(start, end));
        }
        let line = self.document.text[span.start..start].rfind('\n').map_or(span.start, |at| span.start + at + 1);
        let at_line_start = line == 0 || self.document.text[..line].ends_with('\n');
        Some(Span::new(if at_line_start { line } else { start }, end))
    }
}

#[cfg(test)]
mod tests;
