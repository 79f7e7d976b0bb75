//! `GET /openapi.json`: every route, with the schemas of what it takes and gives.
//!
//! Requests and answers are described by their types (schemars): those of `serve::api`, and of `serve::wire`, which are the
//! objects of `docs/json.md`. Answers for clients of OpenAI are described as far as those rely on them.

mod openai;
mod table;

use axum::{body::Body, http::Response};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use self::table::{Gives, Route, Takes, all};
use super::{failure::Result, search};
use crate::serve::{
    api::{CONTENTS_TYPE, ErrorBody, event, routes},
    wire,
};

/// `GET /openapi.json`
pub async fn openapi() -> Result<Response<Body>> {
    search::json(&document())
}

/// A generator of schemas that the document holds.
fn generator() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = "/components/schemas".into())
}

/// The whole description.
fn document() -> Value {
    let mut generator = generator().into_generator();
    // A field that may be left out of a request may still be in every answer.
    let mut given = self::generator().for_serialize().into_generator();
    let mut paths = Map::new();
    let error = given.subschema_for::<ErrorBody>();
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
        let is_begun = route.path == routes::INGEST && route.method == "post";
        operation["responses"][if is_begun { "202" } else { "200" }] = answer(&route, &mut given);
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
    let mut schemas = generator.take_definitions(true);
    schemas.extend(given.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "rag", "version": env!("CARGO_PKG_VERSION"),
            "description": "Search and checked answers over one index. Objects whose `schema` is `rag.NAME/1` are those of `rag … --json`; fields are added, never changed.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
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

/// What comes back where it was done.
fn answer(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let (word, schema) = match &route.gives {
        Gives::Text => {
            return json!({
                "description": "text", "content": { "text/plain": { "schema": { "type": "string" } } },
            });
        }
        Gives::Object(word, schema) => {
            let mut schema = json!(schema(generator));
            schema["properties"] = json!({ "schema": { "const": word } });
            (word, schema)
        }
        Gives::Plain(word, schema) => (word, json!(schema(generator))),
    };
    let mut content = json!({ "application/json": { "schema": schema } });
    if route.path == routes::ASK {
        let events = [
            (event::RETRIEVED, generator.subschema_for::<event::Retrieved>()),
            (event::TEXT, generator.subschema_for::<event::Text>()),
            (event::ANSWER, generator.subschema_for::<wire::AnswerResult>()),
            (event::ERROR, generator.subschema_for::<ErrorBody>()),
        ];
        let events: Map<String, Value> =
            events.into_iter().map(|(name, schema)| (name.to_owned(), json!(schema))).collect();
        // A stream of events is text for OpenAPI 3.1; what each event's data is stands beside it.
        content["text/event-stream"] = json!({ "schema": { "type": "string" }, "x-events": events });
    }
    if route.path == routes::MCP {
        content["text/event-stream"] = json!({ "schema": { "type": "string" } });
    }
    json!({ "description": word, "content": content })
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
        let hit = &document["components"]["schemas"]["Hit"]["properties"];
        assert!(hit.get("snippet").is_some() && hit.get("chunk_id").is_some(), "{hit}");
    }

    /// Types that go in and come out have one schema, so one name.
    #[test]
    fn what_is_taken_and_what_is_given_agree_where_they_have_a_name_in_common() {
        let (mut taken, mut given) = (generator().into_generator(), generator().for_serialize().into_generator());
        for route in all() {
            if let Takes::Json(schema) | Takes::JsonOrForm(schema) = route.takes {
                schema(&mut taken);
            }
            answer(&route, &mut given);
        }
        let (taken, given) = (taken.take_definitions(true), given.take_definitions(true));
        assert!(taken.len() > 20 && given.len() > 40, "{} {}", taken.len(), given.len());
        for (name, schema) in &taken {
            assert!(given.get(name).is_none_or(|other| other == schema), "{name}");
        }
    }

    #[test]
    fn every_route_of_the_table_is_described() {
        let source = include_str!("../../api/routes.rs");
        let described: std::collections::BTreeSet<&str> = all().iter().map(|route| route.path).collect();
        for line in source.lines().filter(|line| line.starts_with("pub const")) {
            let path = line.split('"').nth(1).unwrap();
            assert!(described.contains(path), "{path}");
        }
    }
}
