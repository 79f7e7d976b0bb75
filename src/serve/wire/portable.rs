//! A document on its way out of an index or into one: one line of `rag export`, which `rag import` reads again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Pair, Word, lines, pages, rfc3339};
use crate::{
    index::{ChunkRecord, Problem, Snapshot, SourceRecord, Status},
    types::{ChunkId, EmbeddingSpace, SourceId, Span},
};

/// One line of `rag export`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedDocument {
    pub schema: Word,
    pub source_id: SourceId,
    pub collection: String,
    /// Empty: the folder that holds the index.
    pub root: String,
    /// With the root's name before it, as everywhere.
    pub path: String,
    pub title: Option<String>,
    pub author: Option<String>,
    #[serde(rename = "type")]
    pub format: String,
    pub lang: Option<String>,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    pub size: u64,
    /// RFC 3339, UTC.
    pub mtime: String,
    pub mtime_ns: i64,
    pub blake3: String,
    pub pipeline: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    pub tags: BTreeMap<String, String>,
    pub metadata: BTreeMap<String, String>,
    /// The text, every chunk at its own byte; absent where there are `pages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where sections of `text` begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<ExportedSection>,
    /// Of a document with pages: the chunks that begin on each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<Vec<ExportedPage>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_count: Option<u32>,
    /// Bytes of the extracted text.
    pub text_bytes: u64,
    /// With `--vectors`: what the vectors are comparable with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<ExportedSpace>,
    /// With `--vectors`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<Vec<ExportedChunk>>,
}

/// From `start` on, a byte of the text it stands beside, chunks are under this heading path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedSection {
    pub start: usize,
    pub heading: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedPage {
    pub number: u32,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<ExportedSection>,
}

/// An embedding space by its name: `id` is equal where everything that makes vectors comparable is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedSpace {
    pub id: String,
    pub model: String,
    pub dim: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedChunk {
    pub chunk_id: ChunkId,
    pub byte_range: [usize; 2],
    pub title: Option<String>,
    pub heading: Vec<String>,
    pub lines: Option<Pair>,
    pub pages: Option<Pair>,
    pub lang: Option<String>,
    pub tokens: u32,
    pub fertility: f32,
    pub code_share: f32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    pub text: String,
    /// Hex of 16 bytes; absent in an index without vectors, as is `vector`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embed_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vec<f32>>,
}

impl ExportedDocument {
    /// `chunks`: those of the source, by ordinal. `with_chunks`: they come along, with their vectors where there are any.
    pub fn new(snapshot: &Snapshot, source: SourceRecord, chunks: &[ChunkRecord], with_chunks: bool) -> Self {
        let has_pages = source.pages.is_some() && chunks.iter().any(|chunk| chunk.pages.is_some());
        let (text, sections) = if has_pages { (None, Vec::new()) } else { flat(chunks) };
        Self {
            schema: "rag.document/1".into(),
            source_id: source.id,
            path: source.display_path(),
            collection: source.collection,
            root: source.root,
            title: source.title,
            author: source.author,
            format: source.format,
            lang: source.lang,
            status: source.status,
            problems: source.problems,
            size: source.size_bytes,
            mtime: rfc3339(source.mtime_ns),
            mtime_ns: source.mtime_ns,
            blake3: source.hash,
            pipeline: source.pipeline,
            encoding: source.encoding,
            tags: source.tags,
            metadata: source.metadata,
            text,
            sections,
            pages: has_pages.then(|| by_page(chunks)),
            page_count: source.pages,
            text_bytes: source.text_bytes,
            space: with_chunks.then(|| snapshot.space().map(ExportedSpace::from)).flatten(),
            chunks: with_chunks.then(|| chunks.iter().map(|chunk| ExportedChunk::new(snapshot, chunk)).collect()),
        }
    }
}

impl From<&EmbeddingSpace> for ExportedSpace {
    fn from(space: &EmbeddingSpace) -> Self {
        Self { id: space.folder(), model: space.model.clone(), dim: space.dim }
    }
}

impl ExportedChunk {
    fn new(snapshot: &Snapshot, chunk: &ChunkRecord) -> Self {
        let hex = |hash: [u8; 16]| hash.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            chunk_id: chunk.id,
            byte_range: super::byte_range(chunk.span),
            title: chunk.title.clone(),
            heading: chunk.heading.clone(),
            lines: lines(chunk.lines),
            pages: pages(chunk.pages),
            lang: chunk.lang.clone(),
            tokens: chunk.tokens,
            fertility: chunk.fertility,
            code_share: chunk.code_share,
            context: chunk.context.clone(),
            text: chunk.text.clone(),
            embed_hash: snapshot.embed_hash(chunk.id).map(hex),
            vector: snapshot.vector(chunk.id).map(|vector| vector.into_owned()),
        }
    }
}

/// The text with each chunk at its own offset (what no chunk holds is line feeds), and where headings change.
fn flat(chunks: &[ChunkRecord]) -> (Option<String>, Vec<ExportedSection>) {
    let mut out = Text::default();
    for chunk in chunks {
        let Span { start, end } = chunk.span;
        let gap = start.saturating_sub(out.text.len());
        out.text.extend(std::iter::repeat_n('\n', gap));
        out.section(start, &chunk.heading);
        let known = out.text.len().saturating_sub(start).min(end - start);
        out.text.push_str(chunk.text.get(known..).unwrap_or_default());
    }
    (Some(out.text), out.sections)
}

/// The chunks that begin on each page, a blank line between them; what they share by overlap stands once.
fn by_page(chunks: &[ChunkRecord]) -> Vec<ExportedPage> {
    let mut found: BTreeMap<u32, Text> = BTreeMap::new();
    let mut end: usize = 0;
    let mut number = 1;
    for chunk in chunks {
        number = chunk.pages.map_or(number, |pages| pages.first);
        let page = found.entry(number).or_default();
        let known = end.saturating_sub(chunk.span.start).min(chunk.text.len());
        end = end.max(chunk.span.end);
        if known == 0 && !page.text.is_empty() {
            page.text.push_str("\n\n");
        }
        page.section(page.text.len(), &chunk.heading);
        page.text.push_str(chunk.text.get(known..).unwrap_or_default());
    }
    let page = |(number, page): (u32, Text)| ExportedPage { number, text: page.text, sections: page.sections };
    found.into_iter().map(page).collect()
}

#[derive(Default)]
struct Text {
    text: String,
    sections: Vec<ExportedSection>,
}

impl Text {
    fn section(&mut self, start: usize, heading: &[String]) {
        let last = self.sections.last().map_or(&[][..], |section| &section.heading);
        if last != heading {
            self.sections.push(ExportedSection { start, heading: heading.to_vec() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Pages;

    fn chunk(start: usize, text: &str, heading: &[&str], page: Option<u32>) -> ChunkRecord {
        let span = Span::new(start, start + text.len());
        ChunkRecord {
            id: ChunkId(start as u64),
            source: SourceId(1),
            collection: "default".into(),
            path: "a".into(),
            ordinal: 0,
            span,
            lines: None,
            pages: page.map(|page| Pages { first: page, last: page }),
            title: None,
            heading: heading.iter().map(|&part| part.to_owned()).collect(),
            context: String::new(),
            text: text.to_owned(),
            lang: None,
            tokens: 1,
            fertility: 1.0,
            code_share: 0.0,
        }
    }

    #[test]
    fn every_chunk_stands_at_its_own_byte() {
        let chunks = [chunk(2, "äb cd", &["A"], None), chunk(6, "cd ef", &["A"], None), chunk(13, "g", &["B"], None)];
        let (text, sections) = flat(&chunks);
        let text = text.unwrap();
        assert_eq!(text, "\n\näb cd ef\n\ng");
        for chunk in &chunks {
            assert_eq!(&text[chunk.span.range()], chunk.text);
        }
        let starts: Vec<usize> = sections.iter().map(|section| section.start).collect();
        assert_eq!(starts, [2, 13]);
    }

    #[test]
    fn a_page_holds_what_begins_on_it() {
        let chunks = [
            chunk(0, "one two", &[], Some(1)),
            chunk(4, "two three", &["H"], Some(1)),
            chunk(20, "four", &["H"], Some(3)),
        ];
        let pages = by_page(&chunks);
        let said: Vec<(u32, &str)> = pages.iter().map(|page| (page.number, page.text.as_str())).collect();
        assert_eq!(said, [(1, "one two three"), (3, "four")]);
        assert_eq!(pages[0].sections, [ExportedSection { start: 7, heading: vec!["H".into()] }]);
    }
}
