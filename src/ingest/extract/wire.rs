//! What a worker and its parent say to each other, and how it is checked.
//!
//! A request is a frame of a JSON header and the file; an answer a frame of JSON and the text of the document, which
//! travels beside the JSON so that nothing has to be escaped. A frame: length of the JSON as u32, length of the rest as
//! u64, both little-endian, then both parts. The parent trusts no length, no span and no word of an answer.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Aid, Limits};
use crate::{index::Problem, ingest::document::Document};

/// Largest JSON of a frame.
const MAX_JSON_BYTES: u32 = 256 << 20;

/// Most read at once, so that a false length costs no memory.
const STEP_BYTES: u64 = 1 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    pub name: String,
    pub limits: Limits,
    #[serde(default)]
    pub aid: Aid,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    Document(Box<Document>),
    Problem(Problem),
}

/// Writes a frame.
pub fn write(output: &mut impl Write, header: &impl Serialize, body: &[u8]) -> io::Result<()> {
    let json = serde_json::to_vec(header)?;
    let json_bytes =
        u32::try_from(json.len()).ok().filter(|&n| n <= MAX_JSON_BYTES).ok_or(io::ErrorKind::InvalidData)?;
    output.write_all(&json_bytes.to_le_bytes())?;
    output.write_all(&(body.len() as u64).to_le_bytes())?;
    output.write_all(&json)?;
    output.write_all(body)?;
    output.flush()
}

/// Reads a frame whose body is at most `max_body` bytes. `None` at the end of the stream.
pub fn read<T: DeserializeOwned>(input: &mut impl Read, max_body: u64) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut lengths = [0; 12];
    let mut filled = 0;
    while filled < lengths.len() {
        match input.read(&mut lengths[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let [a, b, c, d, rest @ ..] = lengths;
    let (json_bytes, body_bytes) = (u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(rest));
    if json_bytes > MAX_JSON_BYTES || body_bytes > max_body {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let json = read_exactly(input, u64::from(json_bytes))?;
    let body = read_exactly(input, body_bytes)?;
    let header = serde_json::from_slice(&json).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Some((header, body)))
}

fn read_exactly(input: &mut impl Read, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < count {
        let step = (count - bytes.len() as u64).min(STEP_BYTES.max(bytes.len() as u64));
        bytes.try_reserve_exact(usize::try_from(step).unwrap_or(usize::MAX)).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if input.by_ref().take(step).read_to_end(&mut bytes)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(bytes)
}

/// Writes the answer to a request.
pub fn write_answer(output: &mut impl Write, answer: Result<Document, Problem>) -> io::Result<()> {
    match answer {
        Ok(mut document) => {
            let text = std::mem::take(&mut document.text);
            write(output, &Answer::Document(Box::new(document)), text.as_bytes())
        }
        Err(problem) => write(output, &Answer::Problem(problem), &[]),
    }
}

/// Reads an answer and checks that its document keeps its promises.
pub fn read_answer(input: &mut impl Read, limits: &Limits) -> io::Result<Result<Document, Problem>> {
    let (answer, body) = read(input, limits.max_text_bytes)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    match answer {
        Answer::Problem(problem) => Ok(Err(problem)),
        Answer::Document(mut document) => {
            document.text = String::from_utf8(body).map_err(|_| io::ErrorKind::InvalidData)?;
            document.check().map_err(|broken| io::Error::new(io::ErrorKind::InvalidData, broken))?;
            Ok(Ok(*document))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ingest::document::{Block, BlockKind},
        types::Span,
    };

    fn answer(end: usize) -> Vec<u8> {
        let block = Block {
            kind: BlockKind::Paragraph,
            span: Span { start: 0, end },
            heading: vec!["h".into()],
            lines: None,
            pages: None,
        };
        let document = Document { text: "für".into(), blocks: vec![block], ..Document::default() };
        let mut out = Vec::new();
        write_answer(&mut out, Ok(document)).expect("writing to memory");
        out
    }

    #[test]
    fn answers_survive_the_way() {
        let bytes = answer(4);
        let got = read_answer(&mut &bytes[..], &Limits::default()).expect("whole").expect("a document");
        assert_eq!((got.text.as_str(), got.blocks[0].span.end), ("für", 4));
    }

    #[test]
    fn answers_are_not_trusted() {
        let limits = Limits::default();
        for (what, bytes) in [
            ("inside a character", answer(2)),
            ("behind the end", answer(5)),
            ("json too long", [&[0xff; 4][..], &[0; 8]].concat()),
            ("body too long", [&[0; 4][..], &[0xff; 8]].concat()),
            ("nothing", Vec::new()),
            ("no json", [&1u32.to_le_bytes()[..], &[0; 8], b"x"].concat()),
        ] {
            assert!(read_answer(&mut &bytes[..], &limits).is_err(), "{what}");
        }
        let whole = answer(4);
        for end in 0..whole.len() {
            assert!(read_answer(&mut &whole[..end], &limits).is_err(), "cut at {end}");
        }
        let small = Limits { max_text_bytes: 3, ..Limits::default() };
        assert!(read_answer(&mut &whole[..], &small).is_err());
    }
}
