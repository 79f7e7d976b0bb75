//! Answers that are no types of ours: objects as clients of OpenAI read them, a message of the Model Context Protocol, and
//! the few words of a state.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::serve::wire::AnswerResult;

pub(super) fn state(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "required": ["status"], "properties": { "status": { "enum": ["ok", "ready"] } } })
}

pub(super) fn description(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["openapi", "info", "paths", "components"],
        "properties": {
            "openapi": { "const": "3.1.0" },
            "info": { "type": "object" }, "paths": { "type": "object" }, "components": { "type": "object" },
        },
    })
}

pub(super) fn empty(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": false })
}

fn counts(names: &[&str]) -> Value {
    let count = |name: &&str| ((*name).to_owned(), json!({ "type": "integer", "minimum": 0 }));
    let properties: serde_json::Map<String, Value> = names.iter().map(count).collect();
    json!({ "type": "object", "required": names, "properties": properties })
}

/// The counts of a response, with what their parts are.
fn with_details(mut counts: Value) -> Value {
    for (name, detail) in [("input_tokens_details", "cached_tokens"), ("output_tokens_details", "reasoning_tokens")] {
        counts["properties"][name] = json!({ "type": "object", "properties": { detail: { "type": "integer" } } });
    }
    counts
}

/// Citations: the place in an object of its own, or (`flat`) beside the type.
fn cited(flat: bool) -> Value {
    let mut properties = json!({ "type": { "const": "url_citation" } });
    let place = json!({
        "start_index": { "type": "integer" }, "end_index": { "type": "integer" },
        "url": { "type": "string", "description": "`rag://doc/ID`" }, "title": { "type": "string" },
    });
    let mut required = vec!["type"];
    if flat {
        for (name, schema) in place.as_object().into_iter().flatten() {
            properties[name] = schema.clone();
        }
        required.extend(["start_index", "end_index", "url", "title"]);
    } else {
        properties["url_citation"] = json!({
            "type": "object", "required": ["start_index", "end_index", "url", "title"], "properties": place,
        });
        required.push("url_citation");
    }
    json!({ "type": "array", "items": { "type": "object", "required": required, "properties": properties } })
}

pub(super) fn completion(generator: &mut SchemaGenerator) -> Schema {
    let answer = generator.subschema_for::<AnswerResult>();
    json_schema!({
        "type": "object",
        "required": ["id", "object", "created", "model", "choices", "usage", "rag"],
        "properties": {
            "id": { "type": "string" }, "object": { "const": "chat.completion" }, "created": { "type": "integer" },
            "model": { "type": "string" },
            "choices": { "type": "array", "minItems": 1, "maxItems": 1, "items": {
                "type": "object",
                "required": ["index", "message", "finish_reason"],
                "properties": {
                    "index": { "const": 0 },
                    "message": {
                        "type": "object",
                        "required": ["role", "content", "annotations"],
                        "properties": {
                            "role": { "const": "assistant" }, "content": { "type": "string" },
                            "refusal": { "type": "null" }, "annotations": cited(false),
                        },
                    },
                    "finish_reason": { "enum": ["stop", "length"] }, "logprobs": { "type": "null" },
                },
            } },
            "usage": counts(&["prompt_tokens", "completion_tokens", "total_tokens"]),
            "rag": answer,
        },
    })
}

pub(super) fn response(generator: &mut SchemaGenerator) -> Schema {
    let answer = generator.subschema_for::<AnswerResult>();
    let text = json!({
        "type": "object",
        "required": ["type", "text", "annotations"],
        "properties": {
            "type": { "const": "output_text" }, "text": { "type": "string" }, "annotations": cited(true),
            "logprobs": { "type": "array", "maxItems": 0 },
        },
    });
    json_schema!({
        "type": "object",
        "required": ["id", "object", "created_at", "status", "model", "output", "usage", "rag"],
        "properties": {
            "id": { "type": "string" }, "object": { "const": "response" }, "created_at": { "type": "integer" },
            "status": { "enum": ["completed", "incomplete"] }, "model": { "type": "string" },
            "output": { "type": "array", "minItems": 1, "maxItems": 1, "items": {
                "type": "object",
                "required": ["id", "type", "role", "status", "content"],
                "properties": {
                    "id": { "type": "string" }, "type": { "const": "message" }, "role": { "const": "assistant" },
                    "status": { "type": "string" }, "content": { "type": "array", "items": text },
                },
            } },
            "usage": with_details(counts(&["input_tokens", "output_tokens", "total_tokens"])),
            "error": { "type": "null" },
            "incomplete_details": { "type": ["object", "null"], "properties": { "reason": { "const": "max_output_tokens" } } },
            "max_output_tokens": { "type": ["integer", "null"], "minimum": 1 },
            "instructions": { "type": "null" }, "metadata": { "type": "object", "additionalProperties": false },
            "parallel_tool_calls": { "const": false }, "previous_response_id": { "type": "null" },
            "store": { "const": false }, "temperature": { "type": "null" }, "tool_choice": { "const": "none" },
            "tools": { "type": "array", "maxItems": 0 }, "top_p": { "type": "null" },
            "truncation": { "const": "disabled" },
            "rag": answer,
        },
    })
}

pub(super) fn embeddings(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["object", "data", "model", "usage"],
        "properties": {
            "object": { "const": "list" },
            "data": { "type": "array", "items": {
                "type": "object",
                "required": ["object", "index", "embedding"],
                "properties": {
                    "object": { "const": "embedding" }, "index": { "type": "integer", "minimum": 0 },
                    "embedding": {
                        "anyOf": [{ "type": "array", "items": { "type": "number" } }, { "type": "string" }],
                        "description": "numbers, or with `base64` the bytes of little-endian floats",
                    },
                },
            } },
            "model": { "type": "string" },
            "usage": counts(&["prompt_tokens", "total_tokens"]),
        },
    })
}

fn a_model() -> Value {
    json!({
        "type": "object",
        "required": ["id", "object", "created", "owned_by"],
        "properties": {
            "id": { "type": "string" }, "object": { "const": "model" }, "created": { "type": "integer" },
            "owned_by": { "const": "rag" },
        },
    })
}

pub(super) fn model(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "allOf": [a_model()] })
}

pub(super) fn models(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["object", "data"],
        "properties": { "object": { "const": "list" }, "data": { "type": "array", "items": a_model() } },
    })
}

pub(super) fn message(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "required": ["jsonrpc"], "properties": { "jsonrpc": { "const": "2.0" } },
    })
}
