//! Is this the answer of an embedding endpoint? Reads its vectors, in the order of the texts, and checks every number.

use base64::{Engine as _, engine::general_purpose::STANDARD_PAD_INDIFFERENT};
use serde_json::Value;

use super::problem::{describe, is_error};

/// Dimensions beyond this are no model's.
const MAX_DIM: usize = 65_536;

/// Why an answer is not taken.
#[derive(Debug, PartialEq)]
pub enum Fault {
    /// A success that holds an error object.
    Error(Value),
    /// What was found, for people.
    Bad(String),
}

/// Reads `count` vectors of equal dimension (`dim`, if it is known) and gives them length 1, row after row.
pub fn read(body: &[u8], count: usize, dim: Option<usize>) -> Result<Vec<f32>, Fault> {
    let bad = |found: String| Err(Fault::Bad(found));
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return bad(describe(&String::from_utf8_lossy(body)));
    };
    if is_error(&value) {
        return Err(Fault::Error(value));
    }
    let Some(data) = value.get("data").and_then(Value::as_array) else {
        return bad(describe(&value.to_string()));
    };
    if data.len() != count {
        return bad(format!("{} vectors for {count} texts", data.len()));
    }
    let mut rows: Vec<Option<Vec<f32>>> = vec![None; count];
    for (place, item) in data.iter().enumerate() {
        // The order is not promised; servers that give no index keep it.
        let index = match item.get("index") {
            Some(index) => index.as_u64().and_then(|index| usize::try_from(index).ok()),
            None => Some(place),
        };
        let Some(row) = index.and_then(|index| rows.get_mut(index)).filter(|row| row.is_none()) else {
            return bad(format!("the indices of {count} vectors are not 0 to {}", count.saturating_sub(1)));
        };
        *row = Some(unit(item.get("embedding").unwrap_or(&Value::Null)).map_err(Fault::Bad)?);
    }
    let rows: Vec<Vec<f32>> = rows.into_iter().flatten().collect();
    let dim = dim.or(rows.first().map(Vec::len)).unwrap_or(0);
    if let Some(other) = rows.iter().find(|row| row.len() != dim) {
        return bad(format!("a vector of {} values where {dim} are due", other.len()));
    }
    Ok(rows.concat())
}

/// One vector, as numbers or as base64 of little-endian f32, scaled to length 1.
fn unit(value: &Value) -> Result<Vec<f32>, String> {
    let mut row: Vec<f32> = match value {
        Value::Array(numbers) => {
            let numbers = numbers.iter().map(|number| number.as_f64().map(|number| number as f32));
            numbers.collect::<Option<_>>().ok_or("a vector that holds something other than numbers")?
        }
        Value::String(text) => {
            let bytes = STANDARD_PAD_INDIFFERENT.decode(text).map_err(|_| "a vector that is not base64")?;
            let (numbers, rest) = bytes.as_chunks::<4>();
            if !rest.is_empty() {
                return Err(format!("a vector of {} bytes, which is not whole in numbers of 4", bytes.len()));
            }
            numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Err("no vector".to_owned()),
    };
    if row.is_empty() || row.len() > MAX_DIM {
        return Err(format!("a vector of {} values", row.len()));
    }
    if !row.iter().all(|x| x.is_finite()) {
        return Err("a vector with values that are not finite".to_owned());
    }
    let norm = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    if norm == 0.0 {
        return Err("a vector of zeros".to_owned());
    }
    row.iter_mut().for_each(|x| *x = (f64::from(*x) / norm) as f32);
    Ok(row)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn got(value: &Value, count: usize, dim: Option<usize>) -> Result<Vec<f32>, Fault> {
        read(value.to_string().as_bytes(), count, dim)
    }

    #[test]
    fn vectors_come_in_any_order_and_both_codings() {
        // 3.0 and 4.0 as little-endian f32.
        let value = json!({"data": [
            {"index": 2, "embedding": [0, -2]},
            {"index": 0, "embedding": "AABAQAAAgEA="},
            {"index": 1, "embedding": "AABAQAAAgEA"},
        ]});
        assert_eq!(got(&value, 3, None).unwrap(), [0.6, 0.8, 0.6, 0.8, 0.0, -1.0]);
        let unnumbered = json!({"data": [{"embedding": [1, 0]}, {"embedding": [0, 1e-30]}]});
        assert_eq!(got(&unnumbered, 2, Some(2)).unwrap(), [1.0, 0.0, 0.0, 1.0]);
        assert!(got(&json!({"data": []}), 0, None).unwrap().is_empty());
    }

    #[test]
    fn what_is_not_right_is_not_taken() {
        let item = |embedding: Value| json!({"data": [{"index": 0, "embedding": embedding}]});
        for (value, count, dim) in [
            (json!({}), 1, None),
            (json!({"data": []}), 1, None),
            (json!({"data": [{"index": 1, "embedding": [1]}]}), 1, None),
            (json!({"data": [{"index": -1, "embedding": [1]}]}), 1, None),
            (json!({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}), 2, None),
            (json!({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}), 2, None),
            (item(json!([1, 2])), 1, Some(3)),
            (item(json!([])), 1, None),
            (item(json!([0, 0])), 1, None),
            (item(json!([1, null])), 1, None),
            (item(json!([1, "2"])), 1, None),
            (item(json!([1e39])), 1, None),
            (item(json!("AADAfw==")), 1, None),
            (item(json!("AADA")), 1, None),
            (item(json!("not base64!")), 1, None),
            (item(json!(null)), 1, None),
            (json!({"data": [{}]}), 1, None),
        ] {
            assert!(matches!(got(&value, count, dim), Err(Fault::Bad(_))), "{value}");
        }
        assert!(matches!(read(b"<html>", 1, None), Err(Fault::Bad(_))));
        assert!(matches!(got(&json!({"error": "x"}), 1, None), Err(Fault::Error(_))));
    }
}
