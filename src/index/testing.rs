//! Small sources for the tests of this room.

use std::{path::Path, time::Duration};

use super::{ChunkRecord, Index, NewChunk, Settings, Snapshot, SourceRecord, Status, Writer, WriterOptions};
use crate::types::{EmbeddingSpace, Pooling, SourcePath, Span};

/// A space of few dimensions.
pub(super) fn space(dim: usize) -> EmbeddingSpace {
    EmbeddingSpace {
        model: "Toy Model".to_owned(),
        revision: "1".to_owned(),
        sha256: String::new(),
        dim,
        pooling: Pooling::Mean,
        normalised: true,
        query_prefix: String::new(),
        passage_prefix: String::new(),
        max_tokens: 254,
        tokenizer: "words".to_owned(),
        multilingual: false,
        probe: (0..dim).map(|i| 1.0 / (i + 3) as f32).collect(),
    }
}

pub(super) fn create(dir: &Path, dim: Option<usize>) -> Index {
    Index::create(dir, &Settings { space: dim.map(space) }).unwrap()
}

pub(super) fn writer(index: &Index) -> Writer {
    index
        .writer(&WriterOptions { wait: Duration::ZERO, command: "test".to_owned(), ..WriterOptions::default() })
        .unwrap()
}

pub(super) fn source(path: &str) -> SourceRecord {
    let path = SourcePath::from_spelling(path);
    SourceRecord {
        id: SourceRecord::id_of("default", "", &path),
        collection: "default".to_owned(),
        root: String::new(),
        size_bytes: 10,
        mtime_ns: 0,
        ctime_ns: 0,
        inode: 1,
        hash: String::new(),
        pipeline: "1".to_owned(),
        status: Status::Indexed,
        problems: Vec::new(),
        format: path.extension(),
        path,
        title: None,
        author: None,
        lang: None,
        pages: None,
        encoding: None,
        tags: Default::default(),
        metadata: Default::default(),
        chunks: 0,
        text_bytes: 0,
    }
}

/// The chunks of a source: one a text, in one language, each with a vector that its text decides.
pub(super) fn chunks(source: &SourceRecord, lang: Option<&str>, texts: &[&str], dim: Option<usize>) -> Vec<NewChunk> {
    let mut at = 0;
    let chunk = |(ordinal, text): (usize, &&str)| {
        let span = Span::new(at, at + text.len());
        at = span.end + 1;
        let record = ChunkRecord {
            id: ChunkRecord::id_of(source.id, span, text),
            source: source.id,
            collection: source.collection.clone(),
            path: source.display_path(),
            ordinal: ordinal as u32,
            span,
            lines: None,
            pages: None,
            title: source.title.clone(),
            heading: Vec::new(),
            context: String::new(),
            text: (*text).to_owned(),
            lang: lang.map(str::to_owned),
            tokens: 1,
            fertility: 1.25,
            code_share: 0.5,
        };
        let hash = blake3::hash(text.as_bytes());
        let mut embed_hash = [0; 16];
        embed_hash.copy_from_slice(&hash.as_bytes()[..16]);
        NewChunk { record, embed_hash, vector: dim.map(|dim| vector(text, dim)) }
    };
    texts.iter().enumerate().map(chunk).collect()
}

/// A vector of length 1 that the text decides.
pub(super) fn vector(text: &str, dim: usize) -> Vec<f32> {
    let mut bytes = vec![0; dim];
    blake3::Hasher::new().update(text.as_bytes()).finalize_xof().fill(&mut bytes);
    let values: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte) - 127.5).collect();
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.iter().map(|value| value / length).collect()
}

/// Puts one source with one chunk a text.
pub(super) fn put(writer: &mut Writer, mut source: SourceRecord, lang: Option<&str>, texts: &[&str]) -> SourceRecord {
    let dim = writer.snapshot().space().map(|space| space.dim);
    let chunks = chunks(&source, lang, texts, dim);
    source.chunks = chunks.len() as u32;
    source.lang = lang.map(str::to_owned);
    writer.put(&source, &chunks).unwrap();
    source
}

/// An index of one source a text, in English.
pub(super) fn index_of(dir: &Path, dim: Option<usize>, texts: &[(&str, &str)]) -> Snapshot {
    let index = create(dir, dim);
    let mut writer = writer(&index);
    for (path, text) in texts {
        put(&mut writer, source(path), Some("en"), &[text]);
    }
    writer.commit().unwrap();
    index.snapshot().unwrap()
}

/// The texts a plain query finds, best first.
pub(super) fn find(snapshot: &Snapshot, query: &str) -> Vec<String> {
    let query = snapshot.lexical_query(query, super::QuerySyntax::Plain).unwrap();
    let found = snapshot.lexical(&query, 10, None).unwrap();
    found.iter().map(|(id, _)| snapshot.chunk(*id).unwrap().unwrap().text).collect()
}
