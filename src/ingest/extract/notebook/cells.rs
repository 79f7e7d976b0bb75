//! The cells of a notebook, found in the stream of its JSON tokens.

use super::super::json::lexer::{Lexer, SyntaxError, Token};
use crate::types::Lines;

/// Deepest path that means something.
const MAX_DEPTH: usize = 12;

/// Most outputs kept of a cell.
const MAX_OUTPUTS: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Markdown,
    /// A cell of format 3.
    Heading(u8),
    Code,
    Raw,
}

#[derive(Debug)]
pub struct Cell {
    pub kind: Kind,
    pub source: String,
    pub outputs: Vec<Output>,
    pub lines: Lines,
}

#[derive(Debug, Default)]
pub struct Output {
    pub text: String,
    pub html: String,
    pub has_picture: bool,
    error: String,
}

#[derive(Debug, Default)]
pub struct Facts {
    pub title: Option<String>,
    pub author: Option<String>,
    pub language: Option<String>,
}

/// Hands each cell to `take` as soon as it is closed, until `take` wants no more. The facts stand before or after the
/// cells. Linear; one cell is in memory at a time.
pub fn read(source: &str, mut take: impl FnMut(Cell) -> bool) -> (Facts, Result<(), SyntaxError>) {
    let mut lexer = Lexer::new(source, 1);
    let mut facts = Facts::default();
    let mut path: Vec<String> = Vec::new();
    // Keys deeper than the path goes mean nothing.
    let mut depth = 0;
    let mut cell: Option<(usize, Cell)> = None;
    loop {
        let token = match lexer.next() {
            Ok(Some(token)) => token,
            Ok(None) => return (facts, Ok(())),
            Err(error) => {
                if let Some((_, cell)) = cell {
                    take(cell);
                }
                return (facts, Err(error));
            }
        };
        let line = lexer.line();
        match token {
            Token::OpenObject | Token::OpenArray => {
                let is_object = token == Token::OpenObject;
                if is_object && cell.is_none() && path.len() == depth && is_cell(&path) {
                    let lines = Lines { first: line, last: line };
                    let new = Cell { kind: Kind::Code, source: String::new(), outputs: Vec::new(), lines };
                    cell = Some((depth, new));
                }
                if is_object
                    && let Some((base, cell)) = &mut cell
                    && depth == *base + 2
                    && path.get(path.len().saturating_sub(2)).is_some_and(|key| key == "outputs")
                    && cell.outputs.len() < MAX_OUTPUTS
                {
                    cell.outputs.push(Output::default());
                }
                if depth < MAX_DEPTH {
                    path.push(if is_object { String::new() } else { "#".into() });
                }
                depth += 1;
            }
            Token::Close => {
                depth -= 1;
                path.truncate(depth);
                if cell.as_ref().is_some_and(|(base, _)| *base == depth)
                    && let Some((_, mut done)) = cell.take()
                {
                    done.lines.last = line;
                    if !take(done) {
                        return (facts, Ok(()));
                    }
                }
            }
            Token::Key(key) => {
                if let Some(last) = path.last_mut().filter(|_| depth <= MAX_DEPTH) {
                    *last = if key.len() <= 64 { key.into_owned() } else { String::new() };
                }
            }
            Token::String(_) if depth > path.len() => {}
            Token::String(text) => match &mut cell {
                Some((base, cell)) => cell_text(cell, path.get(*base..).unwrap_or(&[]), &text),
                None => fact(&mut facts, &path, &text),
            },
            Token::Word(word) => {
                if let Some((base, cell)) = &mut cell
                    && depth == path.len()
                    && path.get(*base..).is_some_and(|path| matches!(path, [key] if key == "level"))
                    && let Ok(level) = word.parse::<u8>()
                {
                    cell.kind = Kind::Heading(level.clamp(1, 6));
                }
            }
        }
    }
}

/// `cells[…]` or `worksheets[…].cells[…]`.
fn is_cell(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    matches!(path[..], ["cells", "#"] | ["worksheets", "#", "cells", "#"])
}

fn cell_text(cell: &mut Cell, path: &[String], text: &str) {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path[..] {
        ["cell_type"] => {
            cell.kind = match (text, cell.kind) {
                ("markdown", _) => Kind::Markdown,
                ("heading", Kind::Heading(level)) => Kind::Heading(level),
                ("heading", _) => Kind::Heading(1),
                ("raw" | "html", _) => Kind::Raw,
                _ => Kind::Code,
            };
        }
        ["source" | "input"] | ["source" | "input", "#"] => cell.source.push_str(text),
        ["outputs", "#", ref rest @ ..] => {
            if let Some(output) = cell.outputs.last_mut() {
                output_text(output, rest, text);
            }
        }
        _ => {}
    }
}

fn output_text(output: &mut Output, path: &[&str], text: &str) {
    let path = path.strip_prefix(&["data"]).unwrap_or(path);
    let (name, is_part) = match path {
        [name] => (*name, false),
        [name, "#"] => (*name, true),
        _ => return,
    };
    match name {
        "text" | "text/plain" => output.text.push_str(text),
        "text/html" | "html" => output.html.push_str(text),
        // A traceback says the name and the value too.
        "traceback" if is_part => {
            if !output.error.is_empty() {
                output.text.clear();
                output.error.clear();
            }
            output.text.push_str(text);
            output.text.push('\n');
        }
        "ename" | "evalue" if output.text.is_empty() || !output.error.is_empty() => {
            output.error.push_str(if output.error.is_empty() { "" } else { ": " });
            output.error.push_str(text);
            output.text.clone_from(&output.error);
        }
        "text/markdown" | "text/latex" | "latex" if output.text.is_empty() && output.html.is_empty() => {
            output.html.push_str(&text.replace('&', "&amp;").replace('<', "&lt;"));
        }
        _ if name.starts_with("image/") || matches!(name, "png" | "jpeg" | "svg") => output.has_picture = true,
        _ => {}
    }
}

fn fact(facts: &mut Facts, path: &[String], text: &str) {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let place = match path[..] {
        ["metadata", "title"] => &mut facts.title,
        ["metadata", "authors", "#", "name"] | ["metadata", "author"] => &mut facts.author,
        ["metadata", "language_info", "name"] | ["metadata", "kernelspec", "language"] => &mut facts.language,
        _ => return,
    };
    let text = crate::ingest::extract::clean::title(text);
    match (place.as_mut(), text) {
        (Some(names), Some(more)) if path.contains(&"authors") && names.len() < 1000 => {
            names.push_str(", ");
            names.push_str(&more);
        }
        (None, text) => *place = text,
        (Some(_), _) => {}
    }
}
