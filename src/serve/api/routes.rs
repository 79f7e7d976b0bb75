//! The routes. `{id}` stands for an id in the path.

/// Alive: the process answers. Needs no key.
pub const HEALTH: &str = "/health";
/// Ready: the index opens. Needs no key.
pub const READY: &str = "/ready";
/// Counters for Prometheus.
pub const METRICS: &str = "/metrics";
/// The description of all of this.
pub const OPENAPI: &str = "/openapi.json";

/// GET → [`Hello`](super::Hello): who serves which index. For clients that want to be sure.
pub const HELLO: &str = "/v1/hello";
/// POST [`StatusRequest`](super::StatusRequest) or GET → `rag.status/1`.
pub const STATUS: &str = "/v1/status";
/// GET → [`Collections`](super::Collections).
pub const COLLECTIONS: &str = "/v1/collections";
/// GET ([`ListRequest`](super::ListRequest) as a query string) → [`DocumentsPage`](super::DocumentsPage); POST
/// [`DocumentRequest`](super::DocumentRequest) as JSON, or files as `multipart/form-data` → `rag.ingest/1`.
pub const DOCUMENTS: &str = "/v1/documents";
/// GET → `rag.show/1`; DELETE → `rag.rm/1`.
pub const DOCUMENT: &str = "/v1/documents/{id}";
/// POST [`ListRequest`](super::ListRequest) → [`DocumentsPage`](super::DocumentsPage).
pub const LIST: &str = "/v1/list";
/// POST [`ShowRequest`](super::ShowRequest) → `rag.show/1`.
pub const SHOW: &str = "/v1/show";
/// POST [`RemoveRequest`](super::RemoveRequest) → `rag.rm/1`.
pub const REMOVE: &str = "/v1/rm";
/// POST [`QueryRequest`](super::QueryRequest) → `rag.query/1`.
pub const QUERY: &str = "/v1/query";
/// POST [`AskRequest`](super::AskRequest) → `rag.answer/1`, or events ([`event`](super::event)) if `stream` is set.
pub const ASK: &str = "/v1/ask";
/// POST [`CheckRequest`](super::CheckRequest) → `rag.check/1`.
pub const CHECK: &str = "/v1/check";
/// POST [`WhyRequest`](super::WhyRequest) → `rag.why/1`.
pub const WHY: &str = "/v1/why";
/// POST [`WhyNotRequest`](super::WhyNotRequest) → `rag.why-not/1`.
pub const WHY_NOT: &str = "/v1/why-not";
/// POST [`VerifyRequest`](super::VerifyRequest) → `rag.verify/1`.
pub const VERIFY: &str = "/v1/verify";
/// POST [`EvalRequest`](super::EvalRequest) → `rag.eval/1`.
pub const EVAL: &str = "/v1/eval";

/// POST [`IngestRequest`](super::IngestRequest): paths of the server and pages → 202 [`Job`](super::Job).
pub const INGEST: &str = "/v1/ingest";
/// GET → [`Job`](super::Job); DELETE cancels it → [`Job`](super::Job).
pub const INGEST_JOB: &str = "/v1/ingest/{id}";

/// POST [`SyncRequest`](super::SyncRequest) → [`Sync`](super::Sync): begins handing over a client's files.
pub const SYNC: &str = "/v1/sync";
/// DELETE: gives it up; what was committed stays.
pub const SYNC_ONE: &str = "/v1/sync/{id}";
/// POST [`SyncFiles`](super::SyncFiles) → [`SyncWanted`](super::SyncWanted): names files, hears which are wanted.
pub const SYNC_FILES: &str = "/v1/sync/{id}/files";
/// POST contents ([`CONTENTS_TYPE`](super::CONTENTS_TYPE)) → [`SyncTaken`](super::SyncTaken), when they are durable.
pub const SYNC_CONTENTS: &str = "/v1/sync/{id}/contents";
/// POST [`SyncFinish`](super::SyncFinish) → `rag.ingest/1`: removes what has vanished, and reports all.
pub const SYNC_FINISH: &str = "/v1/sync/{id}/finish";

/// For clients of OpenAI: an answer from the index.
pub const CHAT_COMPLETIONS: &str = "/v1/chat/completions";
pub const RESPONSES: &str = "/v1/responses";
pub const EMBEDDINGS: &str = "/v1/embeddings";
pub const MODELS: &str = "/v1/models";
pub const MODEL: &str = "/v1/models/{id}";

/// The Model Context Protocol over HTTP.
pub const MCP: &str = "/mcp";

/// A route with its `{id}` filled in. Ids are ours: letters and digits.
pub fn with_id(route: &str, id: &str) -> String {
    route.replace("{id}", id)
}
