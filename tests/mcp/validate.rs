//! Whether a value is as a schema says, for the plain subset that the tools use.

use serde_json::Value;

/// Everything that is not as it should be.
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, value, "$", &mut found);
    found
}

fn check(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let is_type = match schema["type"].as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        other => panic!("{at}: {other} is not in the subset"),
    };
    if !is_type {
        found.push(format!("{at} is {value}, expected {}", schema["type"]));
        return;
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        found.push(format!("{at} is {value}, expected one of {}", schema["enum"]));
    }
    let bounds = [("minimum", 1.0), ("maximum", -1.0)];
    for (bound, sign) in bounds {
        if let (Some(limit), Some(number)) = (schema[bound].as_f64(), value.as_f64())
            && (number - limit) * sign < 0.0
        {
            found.push(format!("{at} is {number}, its {bound} is {limit}"));
        }
    }
    if let Some(object) = value.as_object() {
        for needed in schema["required"].as_array().into_iter().flatten() {
            if !object.contains_key(needed.as_str().unwrap()) {
                found.push(format!("{at} has no {needed}"));
            }
        }
        for (key, inside) in object {
            match schema["properties"].get(key) {
                Some(schema) => check(schema, inside, &format!("{at}.{key}"), found),
                None => found.push(format!("{at}.{key} is not in the schema")),
            }
        }
    }
    if let Some(list) = value.as_array() {
        for (bound, sign) in [("minItems", 1), ("maxItems", -1)] {
            if let Some(limit) = schema[bound].as_i64()
                && (list.len() as i64 - limit) * sign < 0
            {
                found.push(format!("{at} has {} items, its {bound} is {limit}", list.len()));
            }
        }
        for (n, inside) in list.iter().enumerate() {
            check(&schema["items"], inside, &format!("{at}[{n}]"), found);
        }
    }
}

#[test]
fn it_finds_what_is_wrong() {
    let schema = serde_json::json!({
        "type": "object", "additionalProperties": false, "required": ["n"],
        "properties": {
            "n": { "type": "integer", "minimum": 1, "maximum": 3 },
            "w": { "type": "string", "enum": ["a", "b"] },
            "l": { "type": "array", "items": { "type": "boolean" }, "maxItems": 2 },
        },
    });
    for (value, want) in [
        (serde_json::json!({ "n": 2, "w": "a", "l": [true] }), 0),
        (serde_json::json!({ "n": 4 }), 1),
        (serde_json::json!({ "w": "c" }), 2),
        (serde_json::json!({ "n": "1", "x": 1 }), 2),
        (serde_json::json!({ "n": 1, "l": [1, true, true] }), 2),
        (serde_json::json!([]), 1),
        (serde_json::json!(null), 1),
    ] {
        assert_eq!(faults(&schema, &value).len(), want, "{value}: {:?}", faults(&schema, &value));
    }
}
