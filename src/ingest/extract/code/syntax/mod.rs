//! Program text by its grammar: a block for each item, with the comments and attributes above it.
//!
//! The tree only says where to cut: every byte between two cuts is in a block, so a syntax error loses nothing. Parsing is
//! bounded by the size of the source and by the steps and the time it takes.

mod languages;
mod names;

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::{
    ingest::{
        document::{Block, BlockKind},
        extract::blocks::Blocks,
    },
    types::Span,
};
use languages::{Role, grammars, role};

/// Largest source that is parsed; larger ones are generated.
const MAX_BYTES: usize = 2 << 20;

/// Mean length of lines above which a source is minified.
const MAX_MEAN_LINE_BYTES: usize = 400;

/// A parser asks this often per byte whether it is to go on, at most: a grammar at a loss takes longer.
const MAX_STEPS_PER_BYTE: usize = 2;

/// However busy the machine is: longer than any source that was written takes.
const MAX_TIME: Duration = Duration::from_secs(3);

/// Deepest path of names.
const MAX_PATH: usize = 6;

/// Deepest nesting of brackets that is parsed.
const MAX_BRACKETS: usize = 200;

/// Deepest nesting that is followed.
const MAX_DEPTH: usize = 40;

/// An item larger than this is cut at the items inside it, whatever it is.
const LONG_BYTES: usize = 6 << 10;

/// The blocks of a source; `None` if its language has no grammar here, or the grammar makes nothing of it.
pub fn blocks(text: &str, language: &str) -> Option<Vec<Block>> {
    let lines = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
    if text.len() > MAX_BYTES || text.len() / lines > MAX_MEAN_LINE_BYTES || is_too_deep(text) {
        return None;
    }
    let mut best: Option<Tree> = None;
    for grammar in grammars(language) {
        let tree = parse(text, grammar)?;
        let is_right = !tree.root_node().has_error();
        if best.is_none() || is_right {
            best = Some(tree);
        }
        if is_right {
            break;
        }
    }
    let tree = best?;
    let mut cutter = Cutter { text, cuts: vec![Cut { at: 0, path: Vec::new() }], path: Vec::new() };
    let root = tree.root_node();
    cutter.licence(root);
    cutter.children(root, 0, None);
    if cutter.cuts.len() == 1 && root.has_error() {
        return None;
    }
    Some(cutter.finish())
}

/// Whether brackets are nested deeper than a person writes them. A parser that does not know which of them are wrong
/// tries everything, in time and memory that it does not account for.
fn is_too_deep(text: &str) -> bool {
    let (mut brackets, mut angles, mut before) = (0usize, 0usize, 0u8);
    for &byte in text.as_bytes() {
        match byte {
            b'(' | b'[' | b'{' => brackets += 1,
            b')' | b']' | b'}' => brackets = brackets.saturating_sub(1),
            b'>' => angles = angles.saturating_sub(1),
            _ => {}
        }
        // A comparison opens nothing: what is not closed in its statement is none of a type's.
        match byte {
            b';' | b'{' | b'}' => angles = 0,
            _ if before == b'<' && byte.is_ascii_alphabetic() => angles += 1,
            _ => {}
        }
        if brackets.max(angles) > MAX_BRACKETS {
            return true;
        }
        before = byte;
    }
    false
}

fn parse(text: &str, language: tree_sitter::Language) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&language).ok()?;
    let bytes = text.as_bytes();
    let (mut steps, limit) = (0, bytes.len() * MAX_STEPS_PER_BYTE + 10_000);
    let start = Instant::now();
    let mut go_on = |_: &tree_sitter::ParseState| {
        steps += 1;
        if steps > limit || start.elapsed() > MAX_TIME { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or(&[]), None, Some(options))
}

/// From here on the text stands under `path`.
struct Cut {
    at: usize,
    path: Vec<String>,
}

struct Cutter<'a> {
    text: &'a str,
    cuts: Vec<Cut>,
    path: Vec<String>,
}

impl Cutter<'_> {
    /// A licence at the top of a file is apart from what follows.
    fn licence(&mut self, root: Node<'_>) {
        let mut cursor = root.walk();
        let mut end = 0;
        for child in root.children(&mut cursor) {
            let is_header = is_comment(child) && (end == 0 || !self.is_blank_between(end, child.start_byte()));
            if !is_header {
                break;
            }
            end = child.end_byte();
        }
        let top = self.text[..end].to_lowercase();
        if ["copyright", "licen", "spdx-"].iter().any(|word| top.contains(word)) {
            self.cut(self.line_end(end));
        }
    }

    /// Cuts at the items among the children of a node.
    ///
    /// `lead`: comments and attributes right above the node at hand, where they begin and where they end.
    fn children(&mut self, node: Node<'_>, depth: usize, mut lead: Option<(usize, usize)>) {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if is_comment(child) || is_attribute(child) {
                let start = match lead {
                    Some((start, end)) if !self.is_blank_between(end, child.start_byte()) => start,
                    // Behind something on its line: not about what follows.
                    _ if !self.begins_line(child.start_byte()) => continue,
                    _ => child.start_byte(),
                };
                lead = Some((start, child.end_byte()));
                continue;
            }
            let above = lead.take().filter(|&(_, end)| !self.is_blank_between(end, child.start_byte()));
            self.node(child, above, depth);
        }
    }

    fn node(&mut self, node: Node<'_>, above: Option<(usize, usize)>, depth: usize) {
        if depth >= MAX_DEPTH {
            return;
        }
        let role = role(node);
        if role == Role::Wrapper {
            return self.wrapper(node, above, depth);
        }
        let named = match role {
            Role::Item | Role::Container if self.path.len() < MAX_PATH => names::path(node, self.text),
            _ => None,
        };
        let Some(names) = named else {
            if node.end_byte() - node.start_byte() > LONG_BYTES || role == Role::Body {
                // In Ruby a comment above the first method stands outside of the body.
                self.children(node, depth + 1, above);
            }
            return;
        };
        self.item(node, node, names, above.map(|(start, _)| start), role, depth);
    }

    /// What stands around an item (`export`, decorators, a template) belongs to it.
    fn wrapper(&mut self, node: Node<'_>, above: Option<(usize, usize)>, depth: usize) {
        let mut cursor = node.walk();
        let mut inner = None;
        for child in node.named_children(&mut cursor) {
            let is_item = matches!(role(child), Role::Item | Role::Container);
            if is_item && let Some(names) = names::path(child, self.text).filter(|_| self.path.len() < MAX_PATH) {
                if inner.is_some() {
                    return self.children(node, depth + 1, above);
                }
                inner = Some((child, names));
            } else if matches!(role(child), Role::Wrapper) {
                return self.children(node, depth + 1, above);
            }
        }
        match inner {
            Some((child, names)) => {
                self.item(node, child, names, above.map(|(start, _)| start), role(child), depth);
            }
            None => self.children(node, depth + 1, above),
        }
    }

    /// `whole` is the item with what is around it.
    fn item(
        &mut self,
        whole: Node<'_>,
        node: Node<'_>,
        names: Vec<String>,
        above: Option<usize>,
        role: Role,
        depth: usize,
    ) {
        let outer = self.path.len();
        self.path.extend(names);
        self.path.truncate(MAX_PATH);
        self.cut(self.line_start(above.unwrap_or(whole.start_byte())));
        if role == Role::Container || node.end_byte() - node.start_byte() > LONG_BYTES {
            self.children(node, depth + 1, None);
        }
        self.path.truncate(outer);
        self.cut(self.line_end(whole.end_byte()));
    }

    fn cut(&mut self, at: usize) {
        let path = self.path.clone();
        match self.cuts.last_mut() {
            Some(last) if last.at >= at => last.path = path,
            _ => self.cuts.push(Cut { at, path }),
        }
    }

    /// The start of the line, if nothing stands before `at` on it.
    fn line_start(&self, at: usize) -> usize {
        let before = &self.text[..at];
        at - (before.len() - before.trim_end_matches([' ', '\t']).len())
    }

    /// The end of the line, if nothing but a sign or a comment stands after `at` on it.
    fn line_end(&self, at: usize) -> usize {
        let line = &self.text[at..at + self.text[at..].find('\n').unwrap_or(self.text.len() - at)];
        let rest = line.trim_start_matches([' ', '\t', ';', ',']);
        let is_comment = ["//", "#", "--"].iter().any(|mark| rest.starts_with(mark));
        if rest.is_empty() || is_comment { (at + line.len() + 1).min(self.text.len()) } else { at }
    }

    fn begins_line(&self, at: usize) -> bool {
        let start = self.line_start(at);
        start == 0 || self.text.as_bytes()[start - 1] == b'\n'
    }

    fn is_blank_between(&self, end: usize, start: usize) -> bool {
        // Some comments end with their line, others before its end.
        let gap = &self.text[self.text[..end].trim_end().len()..start.max(end)];
        gap.bytes().filter(|&byte| byte == b'\n').count() > 1
    }

    /// The pieces between the cuts. One without a word (a closing bracket) goes with the one before it.
    fn finish(self) -> Vec<Block> {
        let mut blocks = Blocks::default();
        let mut pieces: Vec<(Span, Vec<String>)> = Vec::new();
        let ends: Vec<usize> = self.cuts.iter().skip(1).map(|cut| cut.at).chain([self.text.len()]).collect();
        for (cut, end) in self.cuts.into_iter().zip(ends) {
            let span = Span::new(cut.at, end);
            let has_word = self.text[span.range()].contains(char::is_alphanumeric);
            match pieces.last_mut() {
                Some((last, _)) if !has_word => last.end = end,
                _ => pieces.push((span, cut.path)),
            }
        }
        for (span, path) in pieces {
            blocks.push(self.text, BlockKind::Code, span, &path);
        }
        blocks.into_list()
    }
}

fn is_comment(node: Node<'_>) -> bool {
    node.kind().contains("comment")
}

fn is_attribute(node: Node<'_>) -> bool {
    matches!(node.kind(), "attribute_item" | "inner_attribute_item" | "decorator" | "attribute_list" | "annotation")
}

#[cfg(test)]
mod tests;
