//! An answer as it is kept: the bytes of the server with their boundaries, or the vector of one text.

use hyper::body::Bytes;
use serde_json::Value;

use super::{chat, responses, rules::Endpoint};

/// A kept answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub endpoint: Endpoint,
    /// It came as a stream of events.
    pub is_stream: bool,
    pub content_type: String,
    /// As they came: one part a chunk of the stream.
    pub parts: Vec<Bytes>,
}

/// What a client wants to hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub stream: bool,
    /// The count of tokens at the end of a stream.
    pub usage: bool,
}

impl Shape {
    /// As the body of a request says.
    pub fn of(body: &Value) -> Self {
        let is = |value: Option<&Value>| value == Some(&Value::Bool(true));
        let stream = is(body.get("stream"));
        Self { stream, usage: stream && is(body.pointer("/stream_options/include_usage")) }
    }
}

/// An answer in the shape that a client wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaped {
    pub content_type: String,
    pub parts: Vec<Bytes>,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    /// The server did not count the tokens.
    pub estimated: bool,
}

/// The most parts one stream is remembered with; more are joined.
const MAX_PARTS: usize = 65_536;

impl Answer {
    /// Why an answer may not be kept; `Ok`: it may.
    pub fn judged(&self) -> Result<(), &'static str> {
        let whole = self.whole()?;
        match self.endpoint {
            Endpoint::Chat => chat::judge(&whole),
            Endpoint::Responses => responses::judge(&whole),
            Endpoint::Embeddings => Err("shape"),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.parts.concat()
    }

    fn whole(&self) -> Result<Value, &'static str> {
        match (self.is_stream, self.endpoint) {
            (false, _) => serde_json::from_slice(&self.bytes()).map_err(|_| "shape"),
            (true, Endpoint::Chat) => chat::assembled(&self.bytes()),
            (true, Endpoint::Responses) => responses::assembled(&self.bytes()),
            (true, Endpoint::Embeddings) => Err("shape"),
        }
    }

    /// The answer as a client wants it. `prompt_bytes`: of the question, to estimate its tokens where nobody counted them.
    /// `None`: it is damaged.
    pub fn shaped(&self, shape: Shape, prompt_bytes: usize) -> Option<Shaped> {
        let whole = self.whole().ok()?;
        let as_it_came = || self.parts.clone();
        let owned = |parts: Vec<Vec<u8>>| parts.into_iter().map(Bytes::from).collect::<Vec<_>>();
        let (parts, tokens, estimated) = match self.endpoint {
            Endpoint::Chat => {
                let (usage, estimated) = chat::usage(&whole, prompt_bytes);
                let wanted = shape.usage.then_some(&usage);
                let parts = match (self.is_stream, shape.stream) {
                    (false, false) => as_it_came(),
                    (false, true) => owned(chat::streamed(&whole, wanted)),
                    (true, false) => vec![chat::whole(&whole, &usage).into()],
                    (true, true) => chat::reshaped(&self.bytes(), wanted).map_or_else(as_it_came, owned),
                };
                let counts = shape.usage || !shape.stream && self.is_stream;
                (parts, (usage.prompt, usage.completion), estimated && counts)
            }
            Endpoint::Responses => {
                let parts = match (self.is_stream, shape.stream) {
                    (false, true) => owned(responses::streamed(&whole)),
                    (true, false) => vec![whole.to_string().into()],
                    (false, false) | (true, true) => as_it_came(),
                };
                (parts, responses::usage(&whole), false)
            }
            Endpoint::Embeddings => return None,
        };
        let content_type = match (self.is_stream, shape.stream) {
            (true, true) | (false, false) => self.content_type.clone(),
            (false, true) => "text/event-stream; charset=utf-8".to_owned(),
            (true, false) => "application/json".to_owned(),
        };
        Some(Shaped { content_type, parts, prompt_tokens: tokens.0, completion_tokens: tokens.1, estimated })
    }

    /// The bytes in which it is stored: endpoint, form, content type, lengths of the parts, the parts.
    pub fn encoded(&self) -> Vec<u8> {
        let joined;
        let parts = if self.parts.len() > MAX_PARTS {
            joined = vec![Bytes::from(self.bytes())];
            &joined
        } else {
            &self.parts
        };
        let mut out = vec![self.endpoint as u8, u8::from(self.is_stream)];
        let kind = self.content_type.as_bytes();
        put(&mut out, kind.len());
        out.extend_from_slice(kind);
        put(&mut out, parts.len());
        parts.iter().for_each(|part| put(&mut out, part.len()));
        parts.iter().for_each(|part| out.extend_from_slice(part));
        out
    }

    /// Reads what [`encoded`](Self::encoded) wrote. `None`: something else.
    pub fn decoded(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let endpoint = [Endpoint::Chat, Endpoint::Responses]
            .into_iter()
            .find(|endpoint| bytes.first() == Some(&(*endpoint as u8)))?;
        let is_stream = reader.take(2)?.get(1) == Some(&1);
        let length = reader.number()?;
        let content_type = String::from_utf8(reader.take(length)?.to_vec()).ok()?;
        let count = reader.number()?;
        // Each length takes four bytes: a count beyond that is no count.
        if count > reader.0.len() / 4 {
            return None;
        }
        let lengths: Vec<usize> = (0..count).map(|_| reader.number()).collect::<Option<_>>()?;
        let parts = lengths.into_iter().map(|n| reader.take(n).map(Bytes::copy_from_slice)).collect::<Option<_>>()?;
        reader.0.is_empty().then_some(Self { endpoint, is_stream, content_type, parts })
    }
}

fn put(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<usize> {
        let bytes: [u8; 4] = self.take(4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stored_answers_read_back(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..9), is_stream: bool, content_type in ".{0,20}") {
            let parts = parts.into_iter().map(Bytes::from).collect();
            let answer = Answer { endpoint: Endpoint::Responses, is_stream, content_type, parts };
            let bytes = answer.encoded();
            prop_assert_eq!(Answer::decoded(&bytes), Some(answer));
            for end in 0..bytes.len() {
                prop_assert_eq!(Answer::decoded(&bytes[..end]), None);
            }
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Answer::decoded(&bytes);
        }
    }

    #[test]
    fn shapes() {
        for (body, stream, usage) in [
            ("{}", false, false),
            (r#"{"stream": true}"#, true, false),
            (r#"{"stream": true, "stream_options": {"include_usage": true}}"#, true, true),
            (r#"{"stream": false, "stream_options": {"include_usage": true}}"#, false, false),
            (r#"{"stream": "yes"}"#, false, false),
        ] {
            assert_eq!(Shape::of(&serde_json::from_str(body).unwrap()), Shape { stream, usage }, "{body}");
        }
    }
}
