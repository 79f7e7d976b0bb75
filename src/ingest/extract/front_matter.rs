//! The facts that stand before a Markdown text, between `---` or `+++` lines or in braces.
//!
//! Reads what is used in practice: `key: value` (YAML) with quotes and lists of one level, TOML, and JSON. Not a YAML parser:
//! what it does not understand it leaves out of the metadata.

use std::collections::BTreeMap;

use super::clean::title;

/// Longest front matter looked for.
const MAX_BYTES: usize = 64 << 10;

/// Most keys kept.
const MAX_KEYS: usize = 64;

/// Splits off the front matter: its facts, and the byte where the text after it begins. `None` if there is none or it is
/// never closed.
pub fn split(text: &str) -> Option<(BTreeMap<String, String>, usize)> {
    if let Some(found) = json(text) {
        return Some(found);
    }
    let rest = text.strip_prefix("---").or_else(|| text.strip_prefix("+++"))?;
    let is_toml = text.starts_with('+');
    let first_end = rest.find('\n')?;
    if !rest[..first_end].trim().is_empty() {
        return None;
    }
    let start = 3 + first_end + 1;
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        if at - start > MAX_BYTES {
            return None;
        }
        let word = line.trim_end();
        if (is_toml && word == "+++") || (!is_toml && (word == "---" || word == "...")) {
            let inside = &text[start..at];
            let facts = if is_toml { toml_facts(inside) } else { yaml_facts(inside)? };
            return Some((facts, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// An object of JSON that begins the text and ends on a line of its own.
fn json(text: &str) -> Option<(BTreeMap<String, String>, usize)> {
    let near = &text[..text.floor_char_boundary(MAX_BYTES.min(text.len()))];
    if !near.starts_with('{') || !near[1..].trim_start().starts_with('"') {
        return None;
    }
    let end = near.find("\n}\n")? + 3;
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&near[..end - 1]).ok()?;
    let mut facts = BTreeMap::new();
    for (key, value) in object.iter().take(MAX_KEYS) {
        let said = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let text = match value {
            serde_json::Value::Array(items) => items.iter().map(said).collect::<Vec<_>>().join(", "),
            serde_json::Value::Object(_) | serde_json::Value::Null => continue,
            serde_json::Value::String(_) | serde_json::Value::Number(_) | serde_json::Value::Bool(_) => said(value),
        };
        insert(&mut facts, key, &text);
    }
    Some((facts, end))
}

fn toml_facts(inside: &str) -> BTreeMap<String, String> {
    let Ok(table) = inside.parse::<toml::Table>() else { return BTreeMap::new() };
    let mut facts = BTreeMap::new();
    for (key, value) in table.iter().take(MAX_KEYS) {
        let text = match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Array(items) => items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                .collect::<Vec<_>>()
                .join(", "),
            toml::Value::Table(_) => continue,
            toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) | toml::Value::Datetime(_) => {
                value.to_string()
            }
        };
        insert(&mut facts, key, &text);
    }
    facts
}

/// `None` if a line that is not blank, a comment, indented or a list item has no colon: then this is a text between two
/// rules and no front matter.
fn yaml_facts(inside: &str) -> Option<BTreeMap<String, String>> {
    let mut facts = BTreeMap::new();
    let mut list: Option<(String, Vec<String>)> = None;
    for line in inside.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if let Some(item) = trimmed.strip_prefix("- ") {
            if let Some((_, items)) = &mut list
                && items.len() < MAX_KEYS
            {
                items.push(unquote(item).to_owned());
            }
            continue;
        }
        if line.starts_with([' ', '\t']) {
            // Of a block scalar or a nested map: a scalar's lines are kept, a map's are not.
            if let Some((key, items)) = &mut list
                && (trimmed.find(": ").is_none() || key.ends_with('>') || key.ends_with('|'))
                && items.len() < MAX_KEYS
            {
                items.push(trimmed.to_owned());
            }
            continue;
        }
        finish_list(&mut facts, list.take());
        let (key, value) = line.split_once(':')?;
        if key.starts_with(['{', '[', '<', '|']) {
            return None;
        }
        if !value.is_empty() && !value.starts_with([' ', '\t']) {
            return None;
        }
        match value.trim() {
            "" => list = Some((key.to_owned(), Vec::new())),
            mark @ ("|" | ">" | "|-" | ">-") => list = Some((format!("{key}{}", &mark[..1]), Vec::new())),
            value if is_open(value) => {}
            value => insert(&mut facts, key, &flow(value)),
        }
        if facts.len() >= MAX_KEYS {
            break;
        }
    }
    finish_list(&mut facts, list);
    Some(facts)
}

/// A list, a map or a quote that begins and does not end on its line: not what is understood here.
fn is_open(value: &str) -> bool {
    let closes = |close: char| value.chars().skip(1).any(|c| c == close);
    match value.chars().next() {
        Some('[') => !closes(']'),
        Some('{') => !closes('}'),
        Some(quote @ ('"' | '\'')) => !closes(quote),
        Some(_) | None => false,
    }
}

fn finish_list(facts: &mut BTreeMap<String, String>, list: Option<(String, Vec<String>)>) {
    if let Some((key, items)) = list {
        let is_scalar = key.ends_with(['|', '>']);
        insert(facts, key.trim_end_matches(['|', '>']), &items.join(if is_scalar { " " } else { ", " }));
    }
}

/// A value as text: without quotes, `[a, "b"]` as `a, b`.
fn flow(value: &str) -> String {
    match value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(items) => {
            items.split(',').map(|item| unquote(item.trim())).filter(|i| !i.is_empty()).collect::<Vec<_>>().join(", ")
        }
        None => unquote(value).to_owned(),
    }
}

fn unquote(text: &str) -> &str {
    let text = text.trim();
    ['"', '\'']
        .iter()
        .find_map(|&quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or_else(|| text.split(" #").next().unwrap_or(text).trim_end())
}

fn insert(facts: &mut BTreeMap<String, String>, key: &str, value: &str) {
    if let (Some(key), Some(value)) = (title(unquote(key)), title(value)) {
        facts.insert(key.to_lowercase(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: Option<(&[(&str, &str)], &str)>) {
        let got = split(text);
        match want {
            None => assert_eq!(got, None, "{text:?}"),
            Some((facts, rest)) => {
                let (found, end) = got.expect(text);
                let found: Vec<_> = found.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
                assert_eq!((found.as_slice(), &text[end..]), (facts, rest));
            }
        }
    }

    #[test]
    fn yaml() {
        let text = "---\nTitle: \"A: b\" \ntags: [x, 'y z']\ndate: 2024-01-02 # day\nauthors:\n  - Ann\n  - \"Bo\"\nabout: >\n  two\n  lines\n---\nbody\n";
        let facts: &[_] = &[
            ("about", "two lines"),
            ("authors", "Ann, Bo"),
            ("date", "2024-01-02"),
            ("tags", "x, y z"),
            ("title", "A: b"),
        ];
        check(text, Some((facts, "body\n")));
        let open = "---\ntitle: [unclosed\nabout: \"half\nmap: {a: 1\nlang: de\n---\nx";
        check(open, Some((&[("lang", "de")], "x")));
        check("---\n---\nx", Some((&[], "x")));
        check("---\na: b\n...", Some((&[("a", "b")], "")));
    }

    #[test]
    fn toml() {
        let text = "+++\ntitle = \"T\"\ntags = [\"a\", \"b\"]\nweight = 3\n[extra]\nx = 1\n+++\nbody";
        check(text, Some((&[("tags", "a, b"), ("title", "T"), ("weight", "3")], "body")));
    }

    #[test]
    fn json() {
        let text = "{\n  \"title\": \"T\",\n  \"tags\": [\"a\", \"b\"],\n  \"draft\": false\n}\n\nbody";
        check(text, Some((&[("draft", "false"), ("tags", "a, b"), ("title", "T")], "\nbody")));
        check("{\n\"title\": x\n}\n", None);
        check("{% raw %}\n}\n", None);
        check("---\n{\"a\": 1}\n---\n", None);
    }

    #[test]
    fn what_is_no_front_matter() {
        for text in [
            "",
            "---",
            "---\n",
            "---\ntitle: x\n",
            "----\na: b\n---\n",
            "text\n---\na: b\n---\n",
            "---\nJust a paragraph.\n---\n",
            "+++\na = 1\n---\n",
        ] {
            check(text, None);
        }
        check(&format!("---\n{}---\n", "key: value\n".repeat(10_000)), None);
    }
}
