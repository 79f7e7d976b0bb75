//! From a line to a source record and its chunks.

use std::collections::BTreeMap;

use super::{
    IMPORT_ROOT,
    line::{Chunk, Line, Page, Pages, Section},
    problem, text_of,
};
use crate::{
    index::{ChunkRecord, NewChunk, Problem, SourceRecord, Status},
    ingest::{
        chunk::{self, Chunked, Origin, embed_hash},
        document::{BlockKind, Document},
        extract::{
            Extractor,
            blocks::{From, Rendered},
            clean, reason,
        },
        file,
    },
    types::{Lines, Pages as PageRange, SourcePath, Span},
};

/// Written as the pipeline of what was cut here, so that an ingest of the file itself reads it again.
const PIPELINE: &str = "import";
/// Text of one document.
const MAX_TEXT_BYTES: u64 = 256 << 20;

/// Formats whose stored text is the file as it stood. The text of the others was made of it and is no file of theirs.
const AS_THEY_STAND: [&str; 10] =
    ["text", "markdown", "code", "rst", "asciidoc", "org", "latex", "log", "csv", "subtitles"];

/// Makes documents of lines.
pub struct Maker {
    pub collection: Option<String>,
    pub tags: BTreeMap<String, String>,
    pub settings: chunk::Settings,
    /// The folder of the index's space; `None` without vectors.
    pub space: Option<String>,
    pub dim: usize,
    pub extractor: Extractor,
    /// Whether the vectors that come along are those that the embedder makes; `None`: none came yet.
    pub is_proved: Option<bool>,
}

/// A document that may lack vectors.
#[derive(Debug)]
pub struct Made {
    pub record: SourceRecord,
    pub chunks: Vec<NewChunk>,
    settings: chunk::Settings,
}

impl Made {
    /// What it costs until it is put.
    pub fn bytes(&self) -> usize {
        let cost = |chunk: &NewChunk| chunk.record.text.len() + 4 * chunk.vector.as_ref().map_or(0, Vec::len) + 512;
        self.chunks.iter().map(cost).sum()
    }

    /// Its chunks, each with the text that is to be embedded for it.
    pub fn chunks_and_texts(&mut self) -> impl Iterator<Item = (&mut NewChunk, String)> {
        let settings = self.settings;
        self.chunks.iter_mut().map(move |chunk| {
            let text = text_of(&chunk.record, settings);
            (chunk, text)
        })
    }
}

impl Maker {
    /// Problem: the line is no document, or says things that cannot be.
    pub fn make(&mut self, mut line: Line) -> Result<Made, Problem> {
        let (root, path) = place(&line)?;
        let collection = self.collection.clone().or(line.collection.take()).unwrap_or_else(|| "default".to_owned());
        if collection.is_empty() || collection.contains(|c: char| c == '/' || c.is_control()) {
            return Err(problem(format!("`{}` is no name of a collection", collection.escape_debug())));
        }
        let id = SourceRecord::id_of(&collection, &root, &path);
        let mut tags = std::mem::take(&mut line.tags);
        tags.extend(self.tags.clone());
        let given = line.chunks.take();
        let hash = line.blake3.clone().unwrap_or_else(|| content_hash(&line));
        let record = SourceRecord {
            id,
            collection,
            root,
            path,
            size_bytes: line.size.unwrap_or_else(|| line.text.as_ref().map_or(0, |text| text.len() as u64)),
            mtime_ns: line.mtime_ns.unwrap_or(0),
            ctime_ns: SourceRecord::NEVER_SEEN,
            inode: 0,
            hash,
            pipeline: PIPELINE.to_owned(),
            status: Status::Indexed,
            problems: Vec::new(),
            format: line.format.clone().unwrap_or_else(|| "text".to_owned()),
            title: line.title.as_deref().and_then(clean::title),
            author: line.author.take(),
            lang: line.lang.take(),
            pages: line.page_count,
            encoding: line.encoding.take(),
            tags,
            metadata: std::mem::take(&mut line.metadata),
            chunks: 0,
            text_bytes: line.text_bytes.unwrap_or_default(),
        };
        match given {
            Some(chunks) => self.as_it_was(record, line, chunks),
            None if line.status == Some(Status::Failed) => Ok(self.failed(record, line)),
            None => self.cut(record, line),
        }
    }

    /// A source that could not be read where it comes from keeps its state and its reason.
    fn failed(&self, record: SourceRecord, line: Line) -> Made {
        let pipeline = line.pipeline.unwrap_or(record.pipeline);
        let record = SourceRecord { status: Status::Failed, problems: line.problems, pipeline, ..record };
        Made { record, chunks: Vec::new(), settings: self.settings }
    }

    /// With the chunks that came along: ids and places are what they were.
    fn as_it_was(&self, record: SourceRecord, line: Line, chunks: Vec<Chunk>) -> Result<Made, Problem> {
        let is_same_space = self.space.is_some() && line.space.as_ref().map(|space| &space.id) == self.space.as_ref();
        let record = SourceRecord {
            status: line.status.unwrap_or(Status::Indexed),
            problems: line.problems,
            pipeline: line.pipeline.unwrap_or(record.pipeline),
            chunks: u32::try_from(chunks.len()).unwrap_or(u32::MAX),
            ..record
        };
        let path = record.display_path();
        let mut made = Vec::with_capacity(chunks.len());
        for (at, chunk) in chunks.into_iter().enumerate() {
            let [start, end] = chunk.byte_range;
            if start.checked_add(chunk.text.len()) != Some(end) {
                return Err(problem(format!("chunk {at} has {} bytes of text, not {start}..{end}", chunk.text.len())));
            }
            if !chunk.fertility.is_finite() || !chunk.code_share.is_finite() {
                return Err(problem(format!("chunk {at} has a number that is none")));
            }
            let span = Span::new(start, end);
            let id = ChunkRecord::id_of(record.id, span, &chunk.text);
            let is_same = chunk.chunk_id == Some(id);
            let record = ChunkRecord {
                id,
                source: record.id,
                collection: record.collection.clone(),
                path: path.clone(),
                ordinal: u32::try_from(at).unwrap_or(u32::MAX),
                span,
                lines: chunk.lines.map(|[first, last]| Lines { first, last }),
                pages: chunk.pages.map(|[first, last]| PageRange { first, last }),
                title: chunk.title,
                heading: chunk.heading,
                context: chunk.context,
                text: chunk.text,
                lang: chunk.lang,
                tokens: chunk.tokens,
                fertility: chunk.fertility,
                code_share: chunk.code_share,
            };
            let hash = embed_hash(&text_of(&record, self.settings));
            // A vector stands for a text: one of another text, cut at another limit, or changed on the way, is none.
            let is_its = is_same_space && chunk.embed_hash.as_deref() == Some(hex(hash).as_str()) && is_same;
            let whole = |vector: &Vec<f32>| vector.len() == self.dim && vector.iter().all(|value| value.is_finite());
            let vector = chunk.vector.filter(|vector| is_its && whole(vector));
            made.push(NewChunk { record, embed_hash: hash, vector });
        }
        Ok(Made { record, chunks: made, settings: self.settings })
    }

    /// With chunks made of its text anew.
    fn cut(&mut self, record: SourceRecord, line: Line) -> Result<Made, Problem> {
        let is_doubtful = line.status == Some(Status::Warned);
        let earlier = if is_doubtful { line.problems.clone() } else { Vec::new() };
        let mut document = self.document(&record, line)?;
        if record.title.is_some() {
            document.title.clone_from(&record.title);
        }
        let path = record.display_path();
        let origin = Origin { source: record.id, collection: &record.collection, path: &path, title: None };
        let Chunked { chunks, texts, lang, problem } = chunk::chunk(&document, origin, self.settings);
        let mut problems = earlier;
        problems.extend(document.warnings.into_iter().chain(problem));
        problems.dedup();
        if chunks.is_empty() && problems.is_empty() {
            problems.push(file::lasting(reason::EMPTY, "it has no text"));
        }
        let record = SourceRecord {
            status: if problems.is_empty() { Status::Indexed } else { Status::Warned },
            problems,
            format: document.format,
            title: document.title,
            author: record.author.clone().or(document.author),
            lang,
            pages: record.pages.or(document.pages),
            metadata: merged(record.metadata.clone(), document.metadata),
            chunks: u32::try_from(chunks.len()).unwrap_or(u32::MAX),
            text_bytes: document.text.len() as u64,
            ..record
        };
        let new = |(record, text): (ChunkRecord, &String)| {
            let embed_hash = embed_hash(text);
            NewChunk { record, embed_hash, vector: None }
        };
        let chunks = chunks.into_iter().zip(&texts).map(new).collect();
        Ok(Made { record, chunks, settings: self.settings })
    }

    /// What is text as it stood in its file is read as such a file, so that it is cut as it was; of anything else the
    /// paragraphs are told apart by blank lines, the sections by what the line says.
    fn document(&mut self, record: &SourceRecord, line: Line) -> Result<Document, Problem> {
        let pages = match line.pages {
            Some(Pages::List(pages)) => pages,
            Some(Pages::Other(_)) | None => Vec::new(),
        };
        let has_pages = !pages.is_empty();
        let text = match line.text {
            Some(text) => text,
            None if has_pages => String::new(),
            None => return Err(problem("it has neither `text` nor `pages`".to_owned())),
        };
        let name = match (&line.format, record.path.extension().is_empty()) {
            // Nothing is known of it but that it is text.
            (None, true) => "text.txt",
            (None | Some(_), _) => record.path.file_name(),
        };
        let stands = line.format.as_deref().is_none_or(|format| AS_THEY_STAND.contains(&format));
        if stands && !has_pages && !text.trim().is_empty() {
            let read = self.extractor.extract(name, text.as_bytes());
            let same = |document: &Document| line.format.as_ref().is_none_or(|format| *format == document.format);
            if let Ok(document) = read
                && document.text_is_source
                && same(&document)
            {
                return Ok(document);
            }
        }
        let mut rendered = Rendered::new(MAX_TEXT_BYTES);
        if has_pages {
            for Page { number, text, sections } in &pages {
                paragraphs(&mut rendered, text, sections, Some(*number));
            }
        } else {
            paragraphs(&mut rendered, &text, &line.sections, None);
        }
        let last = pages.iter().map(|page| page.number).max();
        let mut document = Document { format: record.format.clone(), pages: last, ..Document::default() };
        rendered.finish(&mut document)?;
        Ok(document)
    }
}

/// A root and a path below it. A line without a root is of [`IMPORT_ROOT`].
fn place(line: &Line) -> Result<(String, SourcePath), Problem> {
    let named = line.path.as_deref().or(line.id.as_deref()).filter(|name| !name.trim().is_empty());
    let Some(named) = named else { return Err(problem("it has neither `path` nor `id`".to_owned())) };
    let Some(root) = &line.root else { return Ok((IMPORT_ROOT.to_owned(), SourcePath::from_spelling(named))) };
    if root.contains('/') || root.contains(char::is_control) {
        return Err(problem(format!("`{}` is no name of a root", root.escape_debug())));
    }
    let below = match named.strip_prefix(root.as_str()).and_then(|rest| rest.strip_prefix('/')) {
        Some(below) if !root.is_empty() => below,
        Some(_) | None => named,
    };
    // Below a root that is on disk a path may be opened.
    let stays = |part: &str| !matches!(part, "" | "." | "..");
    if !below.split('/').all(stays) {
        return Err(problem(format!("`{}` is no path below its root", below.escape_debug())));
    }
    Ok((root.clone(), SourcePath::from_spelling(below)))
}

fn paragraphs(out: &mut Rendered, text: &str, sections: &[Section], page: Option<u32>) {
    let mut starts: Vec<(usize, &[String])> = vec![(0, &[])];
    for Section { start, heading } in sections {
        if *start <= text.len() && text.is_char_boundary(*start) {
            starts.push((*start, heading));
        }
    }
    starts.sort_by_key(|(start, _)| *start);
    for (at, (start, heading)) in starts.iter().enumerate() {
        let end = starts.get(at + 1).map_or(text.len(), |(next, _)| *next);
        for paragraph in text[*start..end].split("\n\n") {
            out.block(BlockKind::Paragraph, From { heading, lines: None, page }, paragraph.trim_matches('\n'));
        }
    }
}

/// What the line says counts; what the document says besides is added.
fn merged(mut line: BTreeMap<String, String>, document: BTreeMap<String, String>) -> BTreeMap<String, String> {
    for (key, value) in document {
        line.entry(key).or_insert(value);
    }
    line
}

/// Stands for the bytes of a file that there is none of.
fn content_hash(line: &Line) -> String {
    let mut hash = blake3::Hasher::new();
    for part in [line.title.as_deref(), line.text.as_deref()].into_iter().flatten() {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    if let Some(Pages::List(pages)) = &line.pages {
        for page in pages {
            hash.update(page.text.as_bytes());
        }
    }
    hash.finalize().to_hex().to_string()
}

fn hex(bytes: [u8; 16]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
