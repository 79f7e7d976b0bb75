//! JSON Schemas of tools, in the plain subset that every client reads: objects without other fields, arrays, strings,
//! numbers, booleans. No references, no alternatives, no null: what is absent has no field.

use serde_json::{Map, Value, json};

/// A field of an object.
pub struct Field {
    name: &'static str,
    is_required: bool,
    schema: Value,
}

/// A field that is always there.
pub fn needed(name: &'static str, schema: Value) -> Field {
    Field { name, is_required: true, schema }
}

/// A field that may be absent.
pub fn optional(name: &'static str, schema: Value) -> Field {
    Field { name, is_required: false, schema }
}

pub fn object(fields: Vec<Field>) -> Value {
    let required: Vec<&str> = fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let properties: Map<String, Value> =
        fields.into_iter().map(|field| (field.name.to_owned(), field.schema)).collect();
    schema["properties"] = Value::Object(properties);
    schema
}

pub fn string(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// One of some words.
pub fn word(words: &[&str], description: &str) -> Value {
    json!({ "type": "string", "enum": words, "description": description })
}

pub fn integer(range: (u64, u64), description: &str) -> Value {
    json!({ "type": "integer", "minimum": range.0, "maximum": range.1, "description": description })
}

/// A whole number that only says how many.
pub fn count(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": description })
}

/// A number from 0 to 1.
pub fn share(description: &str) -> Value {
    json!({ "type": "number", "minimum": 0, "maximum": 1, "description": description })
}

pub fn number(description: &str) -> Value {
    json!({ "type": "number", "description": description })
}

pub fn boolean(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

pub fn list(items: Value, description: &str) -> Value {
    json!({ "type": "array", "items": items, "description": description })
}

/// First and last of lines or pages.
pub fn pair(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "integer" }, "minItems": 2, "maxItems": 2, "description": description })
}

/// What stands in every reply that holds text of others.
pub fn notice() -> Field {
    needed("notice", string("Who wrote the text, and how to take it"))
}
