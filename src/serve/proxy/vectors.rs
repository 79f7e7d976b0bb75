//! One text's vector as it is kept: exactly what the server said, in few bytes.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// A vector as a server gave it, with what else its answer said.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    pub model: String,
    /// Of the text; a share of what the server counted for all texts of a request.
    pub tokens: u64,
    /// Numbers or base64.
    pub embedding: Value,
}

const AS_JSON: u8 = 0;
const AS_BASE64: u8 = 1;
/// Numbers that are floats of 32 bits, printed with all their digits.
const AS_WIDE: u8 = 2;
/// Numbers that are floats of 32 bits, printed as short as they read back.
const AS_SHORT: u8 = 3;

impl Vector {
    /// Tokens, model, form, data.
    pub fn encoded(&self) -> Vec<u8> {
        let mut out = self.tokens.to_le_bytes().to_vec();
        let model = self.model.as_bytes();
        let length = u16::try_from(model.len()).unwrap_or(0);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&model[..usize::from(length)]);
        let (form, data) =
            packed(&self.embedding).unwrap_or_else(|| (AS_JSON, self.embedding.to_string().into_bytes()));
        out.push(form);
        out.extend_from_slice(&data);
        out
    }

    /// Reads what [`encoded`](Self::encoded) wrote. `None`: something else.
    pub fn decoded(bytes: &[u8]) -> Option<Self> {
        let (tokens, rest) = bytes.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let (model, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        let (form, data) = rest.split_first()?;
        let floats = || {
            let (chunks, rest) = data.as_chunks::<4>();
            rest.is_empty().then(|| chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)))
        };
        let embedding = match *form {
            AS_JSON => serde_json::from_slice(data).ok()?,
            AS_BASE64 => STANDARD.encode(data).into(),
            AS_WIDE => floats()?.map(|x| Value::from(f64::from(x))).collect(),
            AS_SHORT => floats()?.map(|x| short(x).map(Value::from)).collect::<Option<_>>()?,
            _ => return None,
        };
        Some(Self { model: String::from_utf8(model.to_vec()).ok()?, tokens: u64::from_le_bytes(*tokens), embedding })
    }
}

fn short(x: f32) -> Option<f64> {
    x.to_string().parse().ok()
}

/// The form that gives back exactly this value, if there is one shorter than JSON.
fn packed(embedding: &Value) -> Option<(u8, Vec<u8>)> {
    match embedding {
        Value::String(text) => {
            let bytes = STANDARD.decode(text).ok()?;
            (STANDARD.encode(&bytes) == *text).then_some((AS_BASE64, bytes))
        }
        Value::Array(numbers) => {
            let numbers: Vec<f64> = numbers.iter().map(Value::as_f64).collect::<Option<_>>()?;
            let floats: Vec<f32> = numbers.iter().map(|x| *x as f32).collect();
            let all = |back: &dyn Fn(f32) -> Option<f64>| {
                numbers.iter().zip(&floats).all(|(x, y)| back(*y).is_some_and(|back| back.to_bits() == x.to_bits()))
            };
            let form = match (all(&|x| Some(f64::from(x))), all(&short)) {
                (true, _) => AS_WIDE,
                (false, true) => AS_SHORT,
                (false, false) => return None,
            };
            Some((form, floats.iter().flat_map(|x| x.to_le_bytes()).collect()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// The texts of a request, each as the value that is sent for it. `None`: nothing that is known.
pub fn elements(input: &Value) -> Option<Vec<Value>> {
    match input {
        Value::String(_) => Some(vec![input.clone()]),
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) if items.iter().all(Value::is_number) => Some(vec![input.clone()]),
        Value::Array(items) => {
            let known = |item: &Value| match item {
                Value::String(_) => true,
                Value::Array(tokens) => !tokens.is_empty() && tokens.iter().all(Value::is_number),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
            };
            items.iter().all(known).then(|| items.clone())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// The vectors of an answer, in the order of the texts that were sent. `lengths`: of the texts in bytes, to share out the
/// tokens. `None`: it is no answer to so many texts.
pub fn read(answer: &Value, lengths: &[usize]) -> Option<Vec<Vector>> {
    let data = answer.get("data")?.as_array()?;
    if data.len() != lengths.len() {
        return None;
    }
    let mut embeddings = vec![None; data.len()];
    for (at, item) in data.iter().enumerate() {
        let place = match item.get("index") {
            None => at,
            Some(index) => usize::try_from(index.as_u64()?).ok()?,
        };
        let embedding = item.get("embedding").filter(|value| match value {
            Value::String(text) => !text.is_empty(),
            Value::Array(numbers) => !numbers.is_empty() && numbers.iter().all(Value::is_number),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        })?;
        if embeddings.get_mut(place)?.replace(embedding.clone()).is_some() {
            return None;
        }
    }
    let model = answer.get("model").and_then(Value::as_str).unwrap_or_default();
    let total = answer.pointer("/usage/prompt_tokens").and_then(Value::as_u64).unwrap_or(0);
    let shares = shares(total, lengths);
    let vectors = embeddings
        .into_iter()
        .zip(shares)
        .map(|(embedding, tokens)| embedding.map(|embedding| Vector { model: model.to_owned(), tokens, embedding }));
    vectors.collect()
}

/// A total in whole parts, as the lengths are; their sum is the total.
fn shares(total: u64, lengths: &[usize]) -> Vec<u64> {
    let all: u128 = lengths.iter().map(|length| *length as u128).sum::<u128>().max(1);
    let (mut before, mut given) = (0u128, 0u64);
    lengths
        .iter()
        .map(|length| {
            before += *length as u128;
            let until = u64::try_from(u128::from(total) * before / all).unwrap_or(total);
            let share = until - given;
            given = until;
            share
        })
        .collect()
}

/// The answer that gives these vectors.
pub fn answer(vectors: &[Vector]) -> Value {
    let item = |(index, vector): (usize, &Vector)| json!({"object": "embedding", "index": index, "embedding": vector.embedding});
    let tokens: u64 = vectors.iter().map(|vector| vector.tokens).sum();
    let model = vectors.last().map_or("", |vector| vector.model.as_str());
    json!({
        "object": "list", "data": vectors.iter().enumerate().map(item).collect::<Vec<_>>(), "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vector(embedding: Value) -> Vector {
        Vector { model: "m".into(), tokens: 7, embedding }
    }

    #[test]
    fn vectors_are_kept_exactly_and_small() {
        let wide: Value = [0.1f32, -0.0, 1e-8].iter().map(|x| Value::from(f64::from(*x))).collect();
        for (embedding, most) in [
            (json!([0.0023064255, -0.009327292, 0.015797347]), 12),
            (wide, 12),
            (json!([0.1234567890123456, 1.0]), 40),
            (json!("AACAPwAAAMA="), 8),
            (json!("not base64!"), 13),
            (json!("AACAPwAAAMA"), 13),
        ] {
            let kept = vector(embedding.clone());
            let bytes = kept.encoded();
            assert!(bytes.len() <= 12 + most, "{embedding}: {}", bytes.len());
            assert_eq!(Vector::decoded(&bytes), Some(kept), "{embedding}");
        }
    }

    #[test]
    fn texts_of_a_request() {
        for (input, want) in [
            (json!("a"), Some(1)),
            (json!(["a", "b"]), Some(2)),
            (json!([1, 2, 3]), Some(1)),
            (json!([[1, 2], [3]]), Some(2)),
            (json!([]), None),
            (json!([[]]), None),
            (json!(["a", 1]), None),
            (json!(null), None),
            (json!({"text": "a"}), None),
        ] {
            assert_eq!(elements(&input).map(|all| all.len()), want, "{input}");
        }
    }

    #[test]
    fn answers_are_read_by_their_numbers() {
        let said = json!({"model": "m", "usage": {"prompt_tokens": 10}, "data": [
            {"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]},
        ]});
        let vectors = read(&said, &[3, 1]).unwrap();
        assert_eq!(vectors[0], Vector { model: "m".into(), tokens: 7, embedding: json!([1.0]) });
        assert_eq!(vectors[1].tokens, 3);
        let back = answer(&vectors);
        assert_eq!(back["usage"]["prompt_tokens"], 10);
        assert_eq!(back["data"][1], json!({"object": "embedding", "index": 1, "embedding": [2.0]}));
        for wrong in [
            json!({"data": [{"index": 0, "embedding": [1.0]}]}),
            json!({"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}),
            json!({"data": [{"index": 0, "embedding": [1.0]}, {"index": 2, "embedding": [1.0]}]}),
            json!({"data": [{"index": 0, "embedding": [null]}, {"index": 1, "embedding": [1.0]}]}),
            json!({"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": [1.0]}]}),
            json!({"error": {}}),
        ] {
            assert_eq!(read(&wrong, &[1, 1]), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_numbers_read_back(numbers in proptest::collection::vec(prop_oneof![
            any::<f32>().prop_filter("finite", |x| x.is_finite()).prop_map(f64::from),
            any::<f64>().prop_filter("finite", |x| x.is_finite()),
        ], 1..20)) {
            let kept = vector(numbers.into_iter().map(Value::from).collect());
            prop_assert_eq!(Vector::decoded(&kept.encoded()), Some(kept));
        }

        #[test]
        fn shares_add_up(total in 0u64..1_000_000, lengths in proptest::collection::vec(0usize..1000, 1..50)) {
            prop_assume!(lengths.iter().sum::<usize>() > 0);
            prop_assert_eq!(shares(total, &lengths).iter().sum::<u64>(), total);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Vector::decoded(&bytes);
        }
    }
}
