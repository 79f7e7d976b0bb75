//! `GET /openapi.json`: every route, with the schema of what it takes.
//!
//! Requests are described by their types (schemars); answers are the objects of `docs/json.md`, named here by their
//! `schema` field.

use axum::{body::Body, http::Response};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{failure::Result, search};
use crate::serve::api::{self, CONTENTS_TYPE, ErrorBody, routes};

/// A route, what it is for, and what goes in and out.
struct Route {
    path: &'static str,
    method: &'static str,
    summary: &'static str,
    takes: Takes,
    /// Schema word of the answer, or what it is.
    gives: &'static str,
    scope: &'static str,
}

enum Takes {
    Nothing,
    Json(fn(&mut SchemaGenerator) -> schemars::Schema),
    /// JSON, or a form of files.
    JsonOrForm(fn(&mut SchemaGenerator) -> schemars::Schema),
    Contents,
    /// An object of OpenAI's; the fields that are read.
    OpenAi(&'static [(&'static str, &'static str)]),
}

fn of<T: JsonSchema>() -> Takes {
    Takes::Json(SchemaGenerator::subschema_for::<T>)
}

const fn route(
    path: &'static str,
    method: &'static str,
    summary: &'static str,
    takes: Takes,
    gives: &'static str,
    scope: &'static str,
) -> Route {
    Route { path, method, summary, takes, gives, scope }
}

fn all() -> Vec<Route> {
    use Takes::{Contents, JsonOrForm, Nothing, OpenAi};
    vec![
        route(routes::HEALTH, "get", "The process answers", Nothing, "status", "none"),
        route(routes::READY, "get", "The index opens", Nothing, "status", "none"),
        route(routes::OPENAPI, "get", "This description", Nothing, "OpenAPI 3.1", "none"),
        route(routes::METRICS, "get", "Counts for Prometheus", Nothing, "text", "admin"),
        route(routes::HELLO, "get", "Who serves which index", Nothing, "rag.hello/1", "read"),
        route(routes::STATUS, "get", "What the index holds", Nothing, "rag.status/1", "read"),
        route(
            routes::STATUS,
            "post",
            "What the index holds, with facets",
            of::<api::StatusRequest>(),
            "rag.status/1",
            "read",
        ),
        route(routes::COLLECTIONS, "get", "The collections", Nothing, "rag.collections/1", "read"),
        route(routes::DOCUMENTS, "get", "Documents, page by page", Nothing, "rag.list/1", "read"),
        route(
            routes::DOCUMENTS,
            "post",
            "Add or replace documents; durable when answered",
            JsonOrForm(SchemaGenerator::subschema_for::<api::DocumentRequest>),
            "rag.ingest/1",
            "write",
        ),
        route(routes::DOCUMENT, "get", "A document or a chunk", Nothing, "rag.show/1", "read"),
        route(routes::DOCUMENT, "delete", "Remove a document", Nothing, "rag.rm/1", "write"),
        route(routes::LIST, "post", "Documents, page by page", of::<api::ListRequest>(), "rag.list/1", "read"),
        route(routes::SHOW, "post", "A document or a chunk", of::<api::ShowRequest>(), "rag.show/1", "read"),
        route(routes::REMOVE, "post", "Remove documents", of::<api::RemoveRequest>(), "rag.rm/1", "write"),
        route(routes::QUERY, "post", "Ranked chunks", of::<api::QueryRequest>(), "rag.query/1", "read"),
        route(
            routes::ASK,
            "post",
            "An answer with checked citations; with `stream`: server-sent events `retrieved`, `text`, `answer`, `error`",
            of::<api::AskRequest>(),
            "rag.answer/1",
            "read",
        ),
        route(routes::CHECK, "post", "Check a saved answer again", of::<api::CheckRequest>(), "rag.check/1", "read"),
        route(
            routes::WHY,
            "post",
            "Is a file in the index, and by which rule not",
            of::<api::WhyRequest>(),
            "rag.why/1",
            "read",
        ),
        route(
            routes::WHY_NOT,
            "post",
            "What keeps a file out of the results",
            of::<api::WhyNotRequest>(),
            "rag.why-not/1",
            "read",
        ),
        route(
            routes::VERIFY,
            "post",
            "Check every checksum and invariant",
            of::<api::VerifyRequest>(),
            "rag.verify/1",
            "admin",
        ),
        route(
            routes::EVAL,
            "post",
            "Measure retrieval on judged questions",
            of::<api::EvalRequest>(),
            "rag.eval/1",
            "read",
        ),
        route(
            routes::INGEST,
            "post",
            "Ingest folders of the server, and pages; answers 202 with a job",
            of::<api::IngestRequest>(),
            "rag.job/1",
            "write",
        ),
        route(routes::INGEST_JOB, "get", "How a job stands", Nothing, "rag.job/1", "write"),
        route(routes::INGEST_JOB, "delete", "Cancel a job; what is whole is committed", Nothing, "rag.job/1", "write"),
        route(
            routes::SYNC,
            "post",
            "Begin to hand over a client's files",
            of::<api::SyncRequest>(),
            "rag.sync/1",
            "write",
        ),
        route(routes::SYNC_ONE, "delete", "Give it up; what was committed stays", Nothing, "an empty object", "write"),
        route(
            routes::SYNC_FILES,
            "post",
            "Name files, hear which are wanted",
            of::<api::SyncFiles>(),
            "which to hash, which to send",
            "write",
        ),
        route(
            routes::SYNC_CONTENTS,
            "post",
            "Send contents; durable when answered",
            Contents,
            "what was taken",
            "write",
        ),
        route(
            routes::SYNC_FINISH,
            "post",
            "Remove what has vanished, report all",
            of::<api::SyncFinish>(),
            "rag.ingest/1",
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
            "chat.completion",
            "read",
        ),
        route(
            routes::RESPONSES,
            "post",
            "For clients of OpenAI: an answer from the index",
            OpenAi(&[("input", "any"), ("model", "string"), ("stream", "boolean"), ("max_output_tokens", "integer")]),
            "response",
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
            "list",
            "read",
        ),
        route(routes::MODELS, "get", "What answers, and what embeds", Nothing, "list", "read"),
        route(routes::MODEL, "get", "One of them", Nothing, "model", "read"),
        route(
            routes::MCP,
            "post",
            "The Model Context Protocol (streamable HTTP)",
            OpenAi(&[("jsonrpc", "string"), ("method", "string"), ("params", "object"), ("id", "any")]),
            "JSON-RPC",
            "read",
        ),
    ]
}

/// `GET /openapi.json`
pub async fn openapi() -> Result<Response<Body>> {
    search::json(&document())
}

/// The whole description.
fn document() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let mut paths = Map::new();
    let error = generator.subschema_for::<ErrorBody>();
    for route in all() {
        let mut operation = json!({
            "summary": route.summary,
            "operationId": operation_id(&route),
            "responses": {
                "default": {
                    "description": "Why it was not done",
                    "content": { "application/json": { "schema": error } },
                },
            },
        });
        let status = if route.gives == "rag.job/1" && route.method == "post" { "202" } else { "200" };
        operation["responses"][status] = json!({
            "description": route.gives,
            "content": { (answer_type(&route)): { "schema": answer(&route) } },
        });
        if route.scope != "none" {
            operation["security"] = json!([{ "key": [route.scope] }]);
        }
        let body = |content: Value| json!({ "required": true, "content": content });
        match route.takes {
            Takes::Nothing => {}
            Takes::Json(schema) => {
                operation["requestBody"] = body(json!({ "application/json": { "schema": schema(&mut generator) } }));
            }
            Takes::JsonOrForm(schema) => {
                operation["requestBody"] = body(json!({
                    "application/json": { "schema": schema(&mut generator) },
                    "multipart/form-data": { "schema": {
                        "type": "object",
                        "properties": {
                            "file": { "type": "array", "items": { "type": "string", "format": "binary" } },
                            "root": { "type": "string" }, "collection": { "type": "string" },
                            "tag": { "type": "array", "items": { "type": "string" }, "description": "key=value" },
                        },
                    } },
                }));
            }
            Takes::Contents => {
                let schema = json!({ "type": "string", "format": "binary" });
                operation["requestBody"] = body(json!({ (CONTENTS_TYPE): { "schema": schema } }));
            }
            Takes::OpenAi(fields) => {
                let field = |(name, kind): &(&str, &str)| {
                    let schema = if *kind == "any" { json!({}) } else { json!({ "type": kind }) };
                    ((*name).to_owned(), schema)
                };
                let fields: Map<String, Value> = fields.iter().map(field).collect();
                operation["requestBody"] =
                    body(json!({ "application/json": { "schema": { "type": "object", "properties": fields } } }));
            }
        }
        let mut parameters = Vec::new();
        if route.path.contains("{id}") {
            parameters.push(json!({ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }));
        }
        if route.path == routes::DOCUMENTS && route.method == "get" {
            for (name, kind) in [
                ("filter", "string"),
                ("collection", "string"),
                ("problems", "boolean"),
                ("cursor", "string"),
                ("limit", "integer"),
            ] {
                parameters.push(json!({ "name": name, "in": "query", "schema": { "type": kind } }));
            }
        }
        if !parameters.is_empty() {
            operation["parameters"] = json!(parameters);
        }
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "rag", "version": env!("CARGO_PKG_VERSION"),
            "description": "Search and checked answers over one index. Objects whose `schema` is `rag.NAME/1` are those of `rag … --json`; fields are added, never changed.",
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation_id(route: &Route) -> String {
    let path: Vec<&str> = route
        .path
        .split(['/', '-', '.'])
        .filter(|part| !part.is_empty() && *part != "v1")
        .map(|part| part.trim_matches(['{', '}']))
        .collect();
    format!("{}_{}", route.method, path.join("_"))
}

fn answer_type(route: &Route) -> &'static str {
    if route.gives == "text" { "text/plain" } else { "application/json" }
}

fn answer(route: &Route) -> Value {
    if route.gives == "text" {
        return json!({ "type": "string" });
    }
    match route.gives.starts_with("rag.") {
        true => json!({
            "type": "object", "required": ["schema"], "properties": { "schema": { "const": route.gives } },
        }),
        false => json!({ "type": "object" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_whole_and_its_references_lead_somewhere() {
        let document = document();
        let text = document.to_string();
        for (at, _) in text.match_indices("\"$ref\":\"#/components/schemas/") {
            let name = text[at + "\"$ref\":\"#/components/schemas/".len()..].split('"').next().unwrap();
            assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
        }
        let mut ids = std::collections::BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                assert!(ids.insert(operation["operationId"].to_string()), "{method} {path}");
            }
        }
        let query = &document["components"]["schemas"]["QueryRequest"];
        assert_eq!(query["additionalProperties"], false);
        for field in ["text", "k", "mode", "filter", "mmr", "like", "explain"] {
            assert!(query["properties"].get(field).is_some(), "{field}");
        }
    }

    #[test]
    fn every_route_of_the_table_is_described() {
        let source = include_str!("../api/routes.rs");
        let described: std::collections::BTreeSet<&str> = all().iter().map(|route| route.path).collect();
        for line in source.lines().filter(|line| line.starts_with("pub const")) {
            let path = line.split('"').nth(1).unwrap();
            assert!(described.contains(path), "{path}");
        }
    }
}
