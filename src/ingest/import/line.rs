//! One line of JSON as it comes: from `rag export`, from another program, from a collection of a benchmark.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

use super::problem;
use crate::{
    index::{Problem, Status},
    types::ChunkId,
};

/// Everything a line may say. Only a text (or pages, or a state that has none) and a name are needed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Line {
    #[serde(alias = "_id", deserialize_with = "name")]
    pub id: Option<String>,
    pub path: Option<String>,
    pub root: Option<String>,
    pub collection: Option<String>,
    pub title: Option<String>,
    pub author: Option<String>,
    #[serde(rename = "type")]
    pub format: Option<String>,
    pub lang: Option<String>,
    pub status: Option<Status>,
    pub problems: Vec<Problem>,
    pub size: Option<u64>,
    pub mtime_ns: Option<i64>,
    pub blake3: Option<String>,
    pub pipeline: Option<String>,
    pub encoding: Option<String>,
    #[serde(deserialize_with = "words")]
    pub tags: BTreeMap<String, String>,
    #[serde(deserialize_with = "words")]
    pub metadata: BTreeMap<String, String>,
    pub text: Option<String>,
    pub sections: Vec<Section>,
    pub pages: Option<Pages>,
    pub page_count: Option<u32>,
    pub text_bytes: Option<u64>,
    pub space: Option<Space>,
    pub chunks: Option<Vec<Chunk>>,
}

#[derive(Debug, Deserialize)]
pub struct Section {
    pub start: usize,
    pub heading: Vec<String>,
}

/// Of other programs `pages` may be a number, or anything.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Pages {
    List(Vec<Page>),
    Other(IgnoredAny),
}

#[derive(Debug, Deserialize)]
pub struct Page {
    pub number: u32,
    pub text: String,
    #[serde(default)]
    pub sections: Vec<Section>,
}

#[derive(Debug, Deserialize)]
pub struct Space {
    pub id: String,
}

#[derive(Debug, Deserialize)]
pub struct Chunk {
    pub chunk_id: Option<ChunkId>,
    pub byte_range: [usize; 2],
    pub title: Option<String>,
    #[serde(default)]
    pub heading: Vec<String>,
    pub lines: Option<[u32; 2]>,
    pub pages: Option<[u32; 2]>,
    pub lang: Option<String>,
    #[serde(default)]
    pub tokens: u32,
    #[serde(default)]
    pub fertility: f32,
    #[serde(default)]
    pub code_share: f32,
    #[serde(default)]
    pub context: String,
    pub text: String,
    pub embed_hash: Option<String>,
    pub vector: Option<Vec<f32>>,
}

/// Reads a line. Problem: it is no object of this kind, in words.
pub fn parse(line: &[u8]) -> Result<Line, Problem> {
    // A byte order mark is the first line's.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    // A list would be read as the fields in their order.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err(problem("it is no JSON object of a document".to_owned()));
    }
    serde_json::from_slice(line).map_err(|error| problem(format!("it is no JSON object of a document: {error}")))
}

/// A name: a text or a number.
fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match serde_json::Value::deserialize(from)? {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Number(number) => Some(number.to_string()),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => None,
    })
}

/// A map of anything to texts: what is no text is spelled as JSON; null is left out.
fn words<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    struct Words;
    impl<'de> Visitor<'de> for Words {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("an object")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(BTreeMap::new())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut words = BTreeMap::new();
            while let Some((key, value)) = map.next_entry::<String, serde_json::Value>()? {
                match value {
                    serde_json::Value::Null => {}
                    serde_json::Value::String(text) => drop(words.insert(key, text)),
                    other => drop(words.insert(key, other.to_string())),
                }
            }
            Ok(words)
        }
    }
    from.deserialize_any(Words)
}
