//! The table of tools: what clients are told is plain, whole and always the same.

use super::*;

/// Keywords that some client refuses or reads in its own way.
const REFUSED: [&str; 12] = [
    "$ref",
    "$defs",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "patternProperties",
    "format",
    "const",
    "default",
    "examples",
];

fn walk(schema: &Value, at: &str) {
    let object = schema.as_object().unwrap_or_else(|| panic!("{at} is an object"));
    for key in object.keys() {
        assert!(!REFUSED.contains(&key.as_str()), "{at} has {key}");
    }
    match object["type"].as_str().unwrap_or_else(|| panic!("{at} has one type")) {
        "object" => {
            assert_eq!(object["additionalProperties"], Value::Bool(false), "{at}");
            let properties = object["properties"].as_object().unwrap();
            for name in object.get("required").and_then(Value::as_array).into_iter().flatten() {
                assert!(properties.contains_key(name.as_str().unwrap()), "{at} needs {name}");
            }
            properties.iter().for_each(|(name, schema)| {
                let described = schema["type"] == "object" || schema["description"].is_string();
                assert!(described, "{at}/{name} says what it is");
                walk(schema, &format!("{at}/{name}"));
            });
        }
        "array" => walk(&object["items"], &format!("{at}[]")),
        "string" | "integer" | "number" | "boolean" => {}
        other => panic!("{at} has type {other}"),
    }
}

#[test]
fn schemas_are_plain_and_closed() {
    for tool in TOOLS {
        walk(&(tool.input)(), &format!("{} in", tool.name));
        walk(&(tool.output)(), &format!("{} out", tool.name));
    }
}

#[test]
fn there_are_thirteen_and_their_names_are_plain() {
    let names: std::collections::BTreeSet<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    assert_eq!((TOOLS.len(), names.len()), (13, 13));
    for tool in TOOLS {
        assert!(tool.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", tool.name);
        assert!(tool.description.len() < 600, "{} is told in a few sentences", tool.name);
        assert_eq!(tool.group == Group::Write, matches!(tool.name, "ingest" | "delete_source"));
        assert_eq!(
            tool.effect == Effect::Reads,
            !matches!(tool.name, "ingest" | "delete_source" | "remember" | "forget")
        );
    }
}

#[test]
fn numbers_out_of_range_are_told() {
    assert_eq!(within("k", None, (1, 50), 5), Ok(5));
    assert_eq!(within("k", Some(50), (1, 50), 5), Ok(50));
    for wrong in [0, 51, u64::MAX] {
        assert!(within("k", Some(wrong), (1, 50), 5).unwrap_err().message.contains("expected 1 to 50"), "{wrong}");
    }
}
