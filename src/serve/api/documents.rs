//! Requests about documents: what there is, one of them, adding, removing, explaining.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_false;
use crate::serve::wire;

/// Who serves which index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Hello {
    /// `rag.hello/1`.
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// What the process calls itself by, new at each start.
    pub instance: String,
    pub generation: u64,
    /// blake3 of the absolute index path, in hex: equal for who has the same index at the same place.
    pub index: String,
    /// blake3 of the settings that searching and answering depend on, in hex.
    pub settings: String,
    /// What this client may do here: `read`, `write` (if the server writes at all), `admin`.
    pub scopes: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StatusRequest {
    /// Count documents by the facts that filters ask for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub facets: bool,
    /// Count only documents that this allows (with `facets`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Count this collection only (with `facets`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Collections {
    /// `rag.collections/1`.
    pub schema: String,
    pub generation: u64,
    pub collections: Vec<Collection>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Collection {
    pub name: String,
    pub documents: u64,
    pub chunks: u64,
}

/// The most documents of a page.
pub const MAX_PAGE: usize = 10_000;

/// `rag list`, page by page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ListRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Only documents that failed or lost something.
    #[serde(default, skip_serializing_if = "is_false")]
    pub problems: bool,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Documents of a page, 1 to 10,000; else 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// `rag.list/1`, and where it goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct DocumentsPage {
    #[serde(flatten)]
    pub list: wire::ListResult,
    /// For the next page; null after the last. A change of the index in between may let a page miss or repeat what changed.
    pub next: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShowRequest {
    /// The id of a chunk or of a document, or a path as the index shows it.
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RemoveRequest {
    /// Ids, paths, folders or globs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub what: Vec<String>,
    /// Documents with all of these tags; with `what`: only those of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Rewrite the index files too, so that no removed text is left in them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub purge: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WhyRequest {
    /// A path as the index shows it, or the id of a document.
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// What a saved answer's file holds: JSON of `ask`, or text with `[n]` and a list of sources.
    pub answer: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VerifyRequest {
    #[serde(default, skip_serializing_if = "is_false")]
    pub paranoid: bool,
}

/// A text that becomes a document, or replaces the one of the same root and name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DocumentRequest {
    /// Its path below the root: `notes/monday.md`.
    pub name: String,
    pub text: String,
    /// What it is listed under; else `api`. No folder of the index may have this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// What to take it for, a file extension without the dot; else its name and its bytes decide.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Else `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// The root of documents that came by [`DocumentRequest`] and upload and name none.
pub const API_ROOT: &str = "api";

/// Settings of an ingest that a client may choose.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IngestSettings {
    /// Else `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_tokens: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_overlap: Option<u16>,
    /// Read what is in archives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archives: Option<bool>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub retry_failed: bool,
    /// Keep what has vanished.
    #[serde(default, skip_serializing_if = "is_false")]
    pub no_prune: bool,
    /// Let an empty folder take its documents out of the index.
    #[serde(default, skip_serializing_if = "is_false")]
    pub allow_empty: bool,
    /// Change nothing; say what would change.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,
}

/// Files and folders of the server (below its `--ingest-root`), and pages (if it allows them).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IngestRequest {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub no_ignore: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<bool>,
    #[serde(default)]
    pub settings: IngestSettings,
}

/// An ingest that goes on, or is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Job {
    /// `rag.job/1`.
    pub schema: String,
    pub id: String,
    /// `queued`, `running`, `done`, `failed` or `cancelled`.
    pub state: String,
    /// Sources found by the walk so far, and their bytes.
    pub found: u64,
    pub found_bytes: u64,
    /// Sources that have to be read, once the walk is over.
    pub planned: Option<u64>,
    /// Of them, done.
    pub done: u64,
    pub chunks: u64,
    pub embedded: u64,
    /// Of the last commit of this job.
    pub generation: Option<u64>,
    pub report: Option<wire::IngestReport>,
    pub error: Option<super::ErrorDetail>,
}
