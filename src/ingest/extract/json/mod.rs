//! JSON and JSONL, written anew as lines of `key: value`.
//!
//! Brackets and quotes say nothing to a reader, a search or an embedder, and a file may be one line of megabytes. So
//! values are written as lines under their keys: the first keys are the heading, the others stand before the value. Each
//! element of the outermost array of objects is a record. Blocks know the source lines they come from. Escapes are
//! resolved, long base64 values are left out with a warning. A text that is not JSON is kept as plain text.

pub(super) mod lexer;
mod render;

use lexer::{Lexer, SyntaxError};
use render::Renderer;

use super::{Extract, Input, blocks::Rendered, problem, reason, text::paragraphs};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
    types::Lines,
};

/// Deepest nesting whose keys are written out.
const MAX_DEPTH: usize = 512;

/// Bad lines named in a warning.
const NAMED_LINES: usize = 10;

pub struct Json;

impl Extract for Json {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let max_text_bytes = input.limits.max_text_bytes;
        let mut document = input.decode()?;
        let source = std::mem::take(&mut document.text);
        let mut renderer = Renderer::new(max_text_bytes);
        match render_all(&source, &mut renderer) {
            Ok(()) => renderer.finish(&mut document)?,
            Err(error) => {
                document
                    .warnings
                    .push(problem(reason::DAMAGED, format!("not valid JSON, read as plain text: {error}")));
                document.blocks = paragraphs(&source);
                document.text = source;
            }
        }
        Ok(document)
    }
}

fn render_all(source: &str, renderer: &mut Renderer) -> Result<(), SyntaxError> {
    let mut lexer = Lexer::new(source, 1);
    while let Some(token) = lexer.next()? {
        renderer.token(token, lexer.line(), lexer.depth());
        if renderer.is_full() {
            break;
        }
    }
    Ok(())
}

pub struct Jsonl;

impl Extract for Jsonl {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let max_text_bytes = input.limits.max_text_bytes;
        let mut document = input.decode()?;
        let source = std::mem::take(&mut document.text);
        let mut renderer = Renderer::new(max_text_bytes);
        let (mut bad, mut count) = (Vec::new(), 0u64);
        for (line, number) in source.split('\n').zip(1u32..) {
            if renderer.is_full() {
                break;
            }
            let mark = renderer.mark();
            if render_line(line, number, &mut renderer).is_err() {
                renderer.undo(mark);
                renderer.raw(line, number);
                count += 1;
                if bad.len() < NAMED_LINES {
                    bad.push(number.to_string());
                }
            }
        }
        if count > 0 {
            let more = if count > bad.len() as u64 { ", …" } else { "" };
            let message =
                format!("{count} lines are not valid JSON and were kept as they are: line {}{more}", bad.join(", "));
            document.warnings.push(problem(reason::DAMAGED, message));
        }
        renderer.finish(&mut document)?;
        Ok(document)
    }
}

fn render_line(line: &str, number: u32, renderer: &mut Renderer) -> Result<(), SyntaxError> {
    let mut lexer = Lexer::new(line, number);
    renderer.begin_record();
    while let Some(token) = lexer.next()? {
        renderer.token(token, number, lexer.depth());
    }
    renderer.end_record();
    Ok(())
}
