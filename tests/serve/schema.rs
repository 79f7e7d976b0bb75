//! Whether a value is as a JSON Schema of the OpenAPI document says, for the keywords that the document uses: any other is a
//! failure here, so that nothing is passed over.
//!
//! Stricter than JSON Schema in one thing: a field that no schema of its object names is a fault, unless the schema says that
//! there may be any. So an answer cannot hold what is not described.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Everything that is not as it should be.
pub fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut check = Check { document, found: Vec::new() };
    check.value(schema, value, "$");
    check.found
}

/// They say something to people, or name a width that `minimum` has already.
const TOLD: [&str; 7] = ["description", "title", "default", "format", "deprecated", "examples", "$schema"];

struct Check<'a> {
    document: &'a Value,
    found: Vec<String>,
}

impl<'a> Check<'a> {
    fn value(&mut self, schema: &'a Value, value: &Value, at: &str) {
        self.keywords(schema, value, at);
        if let Value::Object(object) = value {
            let mut named = BTreeSet::new();
            if self.names(schema, value, &mut named) {
                let strange = object.keys().filter(|key| !named.contains(key.as_str()));
                self.found.extend(strange.map(|key| format!("{at}.{key} is not in the schema")));
            }
        }
    }

    /// The fields that a schema names for an object. Says whether there may be no others.
    fn names(&self, schema: &'a Value, value: &Value, named: &mut BTreeSet<&'a str>) -> bool {
        let Value::Object(schema) = schema else { return false };
        let mut is_closed =
            schema.contains_key("properties") || schema.get("additionalProperties") == Some(&false.into());
        named.extend(
            schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str),
        );
        if let Some(reference) = schema.get("$ref") {
            is_closed |= self.names(self.referred(reference), value, named);
        }
        for all in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            is_closed |= self.names(all, value, named);
        }
        for one in ["anyOf", "oneOf"].iter().filter_map(|word| schema.get(*word)?.as_array()).flatten() {
            if self.fits(one, value) {
                is_closed |= self.names(one, value, named);
            }
        }
        is_closed && schema.get("additionalProperties").is_none_or(|more| *more == Value::Bool(false))
    }

    fn fits(&self, schema: &'a Value, value: &Value) -> bool {
        let mut check = Check { document: self.document, found: Vec::new() };
        check.value(schema, value, "$");
        check.found.is_empty()
    }

    fn referred(&self, reference: &Value) -> &'a Value {
        let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
        self.document.pointer(pointer).unwrap_or_else(|| panic!("{pointer} leads nowhere"))
    }

    fn keywords(&mut self, schema: &'a Value, value: &Value, at: &str) {
        let schema = match schema {
            Value::Bool(true) => return,
            Value::Bool(false) => return self.found.push(format!("{at} may not be there")),
            Value::Object(schema) => schema,
            other => panic!("{at}: {other} is no schema"),
        };
        for (keyword, wants) in schema {
            self.keyword(schema, keyword, wants, value, at);
        }
    }

    fn keyword(&mut self, schema: &'a Map<String, Value>, keyword: &str, wants: &'a Value, value: &Value, at: &str) {
        let list = || wants.as_array().unwrap().iter();
        let fault = match keyword {
            word if TOLD.contains(&word) => return,
            "$ref" => return self.keywords(self.referred(wants), value, at),
            "allOf" => return list().for_each(|all| self.keywords(all, value, at)),
            "anyOf" => !list().any(|one| self.fits(one, value)),
            "oneOf" => list().filter(|one| self.fits(one, value)).count() != 1,
            "const" => value != wants,
            "enum" => !list().any(|one| one == value),
            "type" => match wants {
                Value::String(word) => !is_of(word, value),
                _ => !list().any(|word| is_of(word.as_str().unwrap(), value)),
            },
            "minimum" => value.as_f64().is_some_and(|number| number < wants.as_f64().unwrap()),
            "maximum" => value.as_f64().is_some_and(|number| number > wants.as_f64().unwrap()),
            "minItems" => value.as_array().is_some_and(|list| (list.len() as u64) < wants.as_u64().unwrap()),
            "maxItems" => value.as_array().is_some_and(|list| list.len() as u64 > wants.as_u64().unwrap()),
            "pattern" => {
                assert_eq!(wants, "^[0-9a-z]{13}$", "the only pattern there is");
                let is_part = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase();
                value.as_str().is_some_and(|text| text.len() != 13 || !text.chars().all(is_part))
            }
            "required" => {
                let lacking = list().filter(|name| value.is_object() && value.get(name.as_str().unwrap()).is_none());
                let lacking: Vec<String> = lacking.map(|name| format!("{at} has no {name}")).collect();
                return self.found.extend(lacking);
            }
            "properties" => {
                for (name, inside) in wants.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        self.value(inside, value, &format!("{at}.{name}"));
                    }
                }
                return;
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                let others = value.as_object().into_iter().flatten();
                for (name, value) in others.filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name))) {
                    self.value(wants, value, &format!("{at}.{name}"));
                }
                return;
            }
            "items" => {
                for (n, value) in value.as_array().into_iter().flatten().enumerate() {
                    self.value(wants, value, &format!("{at}[{n}]"));
                }
                return;
            }
            other => panic!("{at}: the keyword `{other}` is not known here"),
        };
        if fault {
            self.found.push(format!("{at} is {value}, and `{keyword}` is {wants}"));
        }
    }
}

fn is_of(word: &str, value: &Value) -> bool {
    match word {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("there is no type `{other}`"),
    }
}

#[test]
fn it_finds_what_is_wrong() {
    let document = serde_json::json!({ "components": { "schemas": { "Id": { "type": "string", "pattern": "^[0-9a-z]{13}$" }, "Named": {
        "type": "object", "required": ["id"], "properties": { "id": { "$ref": "#/components/schemas/Id" } },
    } } } });
    let schema = serde_json::json!({
        "$ref": "#/components/schemas/Named",
        "required": ["n"],
        "properties": {
            "n": { "type": ["integer", "null"], "minimum": 1 },
            "one": { "anyOf": [{ "$ref": "#/components/schemas/Named" }, { "type": "null" }] },
            "counts": { "type": "object", "additionalProperties": { "type": "integer" } },
            "list": { "type": "array", "items": { "enum": ["a", "b"] }, "maxItems": 2 },
        },
    });
    let id = "0123456789abc";
    for (value, want) in [
        (serde_json::json!({ "id": id, "n": 1 }), 0),
        (serde_json::json!({ "id": id, "n": null, "one": { "id": id }, "counts": { "x": 2 }, "list": ["a"] }), 0),
        (serde_json::json!({ "id": id, "n": 0 }), 1),
        (serde_json::json!({ "id": "short", "n": 1 }), 1),
        (serde_json::json!({ "n": 1 }), 1),
        (serde_json::json!({ "id": id }), 1),
        (serde_json::json!({ "id": id, "n": 1, "more": 1 }), 1),
        (serde_json::json!({ "id": id, "n": 1, "one": { "id": id, "more": 1 } }), 1),
        (serde_json::json!({ "id": id, "n": 1, "counts": { "x": "2" } }), 1),
        (serde_json::json!({ "id": id, "n": 1, "list": ["a", "c", "b"] }), 2),
    ] {
        let found = faults(&document, &schema, &value);
        assert_eq!(found.len(), want, "{value}: {found:?}");
    }
}
