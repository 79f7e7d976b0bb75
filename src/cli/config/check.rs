//! Whether a value is what its setting wants, and which setting a wrong name was meant for.

use std::path::Path;

use super::{SETTINGS, Setting, Shape, Value};
use crate::cli::{
    args::{duration, size},
    report::Failure,
};

pub(super) fn from_toml(value: &toml::Value) -> Result<Value, String> {
    Ok(Value::One(match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(flag) => flag.to_string(),
        toml::Value::Array(items) => {
            let texts: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_string)).collect();
            return texts.map(Value::Many).ok_or_else(|| "a list of texts is wanted".into());
        }
        toml::Value::Datetime(_) | toml::Value::Table(_) => return Err("a plain value is wanted".into()),
    }))
}

pub(super) fn check(setting: &Setting, value: &Value) -> Result<(), String> {
    let text = match (value, setting.shape) {
        (Value::Many(_), Shape::List) => return Ok(()),
        (Value::Many(_), _) => return Err("one value is wanted, not a list".into()),
        (Value::One(text), _) => text,
    };
    match setting.shape {
        Shape::Text | Shape::List => Ok(()),
        Shape::Bool => text.parse::<bool>().map(drop).map_err(|_| format!("`{text}` is not true or false")),
        Shape::Number(from, to) => match text.parse::<u64>() {
            Ok(number) if (from..=to).contains(&number) => Ok(()),
            Ok(_) | Err(_) => Err(format!("`{text}` is not a number from {from} to {to}")),
        },
        Shape::Share => match text.parse::<f32>() {
            Ok(number) if (0.0..=1.0).contains(&number) => Ok(()),
            Ok(_) | Err(_) => Err(format!("`{text}` is not a number from 0 to 1")),
        },
        Shape::Decimal(to) => match text.parse::<f64>() {
            Ok(number) if (0.0..=f64::from(to)).contains(&number) => Ok(()),
            Ok(_) | Err(_) => Err(format!("`{text}` is not a number from 0 to {to}")),
        },
        Shape::Size => size(text).map(drop),
        Shape::Time => duration(text).map(drop),
        Shape::Choice(choices) => match choices.contains(&text.as_str()) {
            true => Ok(()),
            false => Err(format!("`{text}` is not one of {}", choices.join(", "))),
        },
    }
}

pub(super) fn unknown(path: &Path, key: &str) -> Failure {
    let failure = Failure::usage(format!("`{}`: unknown setting `{key}`", path.display()));
    match nearest(key) {
        Some(near) => failure.hint(format!("did you mean `{near}`? `rag config` lists every setting")),
        None => failure.hint("`rag config` lists every setting"),
    }
}

/// The setting whose name is fewest edits away, if it is near at all.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    SETTINGS
        .iter()
        .map(|setting| (edits(key, setting.key), setting.key))
        .min()
        .filter(|(distance, near)| *distance <= near.len() / 3)
        .map(|(_, near)| near)
}

/// Levenshtein distance over characters.
pub(super) fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
