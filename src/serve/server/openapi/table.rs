//! The table of routes: what each is for, what it takes and gives, and which scope it needs.

use schemars::{JsonSchema, SchemaGenerator};

use super::openai;
use crate::serve::{
    api::{self, routes},
    wire,
};

/// A route, what it is for, and what goes in and out.
pub(super) struct Route {
    pub path: &'static str,
    pub method: &'static str,
    pub summary: &'static str,
    pub takes: Takes,
    pub gives: Gives,
    pub scope: &'static str,
}

pub(super) enum Takes {
    Nothing,
    Json(fn(&mut SchemaGenerator) -> schemars::Schema),
    /// JSON, or a form of files.
    JsonOrForm(fn(&mut SchemaGenerator) -> schemars::Schema),
    Contents,
    /// An object of OpenAI's; the fields that are read.
    OpenAi(&'static [(&'static str, &'static str)]),
}

/// What comes back, each with a word for people.
pub(super) enum Gives {
    Text,
    /// An object that says itself what it is: the word of its field `schema`.
    Object(&'static str, fn(&mut SchemaGenerator) -> schemars::Schema),
    /// One that does not.
    Plain(&'static str, fn(&mut SchemaGenerator) -> schemars::Schema),
}

const fn object<T: JsonSchema>(word: &'static str) -> Gives {
    Gives::Object(word, SchemaGenerator::subschema_for::<T>)
}

const fn plain<T: JsonSchema>(word: &'static str) -> Gives {
    Gives::Plain(word, SchemaGenerator::subschema_for::<T>)
}

const fn other(word: &'static str, schema: fn(&mut SchemaGenerator) -> schemars::Schema) -> Gives {
    Gives::Plain(word, schema)
}

fn of<T: JsonSchema>() -> Takes {
    Takes::Json(SchemaGenerator::subschema_for::<T>)
}

const fn route(
    path: &'static str,
    method: &'static str,
    summary: &'static str,
    takes: Takes,
    gives: Gives,
    scope: &'static str,
) -> Route {
    Route { path, method, summary, takes, gives, scope }
}

pub(super) fn all() -> Vec<Route> {
    use Takes::{Contents, JsonOrForm, Nothing, OpenAi};
    vec![
        route(routes::HEALTH, "get", "The process answers", Nothing, other("status", openai::state), "none"),
        route(routes::READY, "get", "The index opens", Nothing, other("status", openai::state), "none"),
        route(routes::OPENAPI, "get", "This description", Nothing, other("OpenAPI 3.1", openai::description), "none"),
        route(routes::METRICS, "get", "Counts for Prometheus", Nothing, Gives::Text, "admin"),
        route(routes::HELLO, "get", "Who serves which index", Nothing, object::<api::Hello>("rag.hello/1"), "read"),
        route(
            routes::STATUS,
            "get",
            "What the index holds",
            Nothing,
            object::<wire::StatusResult>("rag.status/1"),
            "read",
        ),
        route(
            routes::STATUS,
            "post",
            "What the index holds, with facets",
            of::<api::StatusRequest>(),
            object::<wire::StatusResult>("rag.status/1"),
            "read",
        ),
        route(
            routes::COLLECTIONS,
            "get",
            "The collections",
            Nothing,
            object::<api::Collections>("rag.collections/1"),
            "read",
        ),
        route(
            routes::DOCUMENTS,
            "get",
            "Documents, page by page",
            Nothing,
            object::<api::DocumentsPage>("rag.list/1"),
            "read",
        ),
        route(
            routes::DOCUMENTS,
            "post",
            "Add or replace documents; durable when answered",
            JsonOrForm(SchemaGenerator::subschema_for::<api::DocumentRequest>),
            object::<wire::IngestReport>("rag.ingest/1"),
            "write",
        ),
        route(
            routes::DOCUMENT,
            "get",
            "A document or a chunk",
            Nothing,
            object::<wire::ShowResult>("rag.show/1"),
            "read",
        ),
        route(
            routes::DOCUMENT,
            "delete",
            "Remove a document",
            Nothing,
            object::<wire::RemoveResult>("rag.rm/1"),
            "write",
        ),
        route(
            routes::LIST,
            "post",
            "Documents, page by page",
            of::<api::ListRequest>(),
            object::<api::DocumentsPage>("rag.list/1"),
            "read",
        ),
        route(
            routes::SHOW,
            "post",
            "A document or a chunk",
            of::<api::ShowRequest>(),
            object::<wire::ShowResult>("rag.show/1"),
            "read",
        ),
        route(
            routes::REMOVE,
            "post",
            "Remove documents",
            of::<api::RemoveRequest>(),
            object::<wire::RemoveResult>("rag.rm/1"),
            "write",
        ),
        route(
            routes::QUERY,
            "post",
            "Ranked chunks",
            of::<api::QueryRequest>(),
            object::<wire::QueryResult>("rag.query/1"),
            "read",
        ),
        route(
            routes::ASK,
            "post",
            "An answer with checked citations; with `stream`: server-sent events `retrieved`, `text`, `answer`, `error`",
            of::<api::AskRequest>(),
            object::<wire::AnswerResult>("rag.answer/1"),
            "read",
        ),
        route(
            routes::CHECK,
            "post",
            "Check a saved answer again",
            of::<api::CheckRequest>(),
            object::<wire::CheckResult>("rag.check/1"),
            "read",
        ),
        route(
            routes::WHY,
            "post",
            "Is a file in the index, and by which rule not",
            of::<api::WhyRequest>(),
            object::<wire::WhyResult>("rag.why/1"),
            "read",
        ),
        route(
            routes::WHY_NOT,
            "post",
            "What keeps a file out of the results",
            of::<api::WhyNotRequest>(),
            object::<wire::WhyNotResult>("rag.why-not/1"),
            "read",
        ),
        route(
            routes::VERIFY,
            "post",
            "Check every checksum and invariant",
            of::<api::VerifyRequest>(),
            object::<wire::VerifyResult>("rag.verify/1"),
            "admin",
        ),
        route(
            routes::EVAL,
            "post",
            "Measure retrieval on judged questions",
            of::<api::EvalRequest>(),
            object::<wire::EvalResult>("rag.eval/1"),
            "read",
        ),
        route(
            routes::INGEST,
            "post",
            "Ingest folders of the server, and pages; answers 202 with a job",
            of::<api::IngestRequest>(),
            object::<api::Job>("rag.job/1"),
            "write",
        ),
        route(routes::INGEST_JOB, "get", "How a job stands", Nothing, object::<api::Job>("rag.job/1"), "write"),
        route(
            routes::INGEST_JOB,
            "delete",
            "Cancel a job; what is whole is committed",
            Nothing,
            object::<api::Job>("rag.job/1"),
            "write",
        ),
        route(
            routes::SYNC,
            "post",
            "Begin to hand over a client's files",
            of::<api::SyncRequest>(),
            object::<api::Sync>("rag.sync/1"),
            "write",
        ),
        route(
            routes::SYNC_ONE,
            "delete",
            "Give it up; what was committed stays",
            Nothing,
            other("an empty object", openai::empty),
            "write",
        ),
        route(
            routes::SYNC_FILES,
            "post",
            "Name files, hear which are wanted",
            of::<api::SyncFiles>(),
            plain::<api::SyncWanted>("which to hash, which to send"),
            "write",
        ),
        route(
            routes::SYNC_CONTENTS,
            "post",
            "Send contents; durable when answered",
            Contents,
            plain::<api::SyncTaken>("what was taken"),
            "write",
        ),
        route(
            routes::SYNC_FINISH,
            "post",
            "Remove what has vanished, report all",
            of::<api::SyncFinish>(),
            object::<wire::IngestReport>("rag.ingest/1"),
            "write",
        ),
        route(
            routes::CHAT_COMPLETIONS,
            "post",
            "For clients of OpenAI: an answer from the index",
            OpenAi(&[
                ("messages", "array"),
                ("model", "string"),
                ("stream", "boolean"),
                ("max_completion_tokens", "integer"),
                ("max_tokens", "integer"),
            ]),
            other("chat.completion", openai::completion),
            "read",
        ),
        route(
            routes::RESPONSES,
            "post",
            "For clients of OpenAI: an answer from the index",
            OpenAi(&[("input", "any"), ("model", "string"), ("stream", "boolean"), ("max_output_tokens", "integer")]),
            other("response", openai::response),
            "read",
        ),
        route(
            routes::EMBEDDINGS,
            "post",
            "For clients of OpenAI: vectors by the model of the index",
            OpenAi(&[
                ("input", "any"),
                ("encoding_format", "string"),
                ("dimensions", "integer"),
                ("input_type", "string"),
            ]),
            other("list", openai::embeddings),
            "read",
        ),
        route(routes::MODELS, "get", "What answers, and what embeds", Nothing, other("list", openai::models), "read"),
        route(routes::MODEL, "get", "One of them", Nothing, other("model", openai::model), "read"),
        route(
            routes::MCP,
            "post",
            "The Model Context Protocol (streamable HTTP)",
            OpenAi(&[("jsonrpc", "string"), ("method", "string"), ("params", "object"), ("id", "any")]),
            other("JSON-RPC", openai::message),
            "read",
        ),
    ]
}
