//! Markdown: the source stays the text; its parser only says where the blocks are.
//!
//! Front matter becomes metadata. It and HTML comments are taken out of the text, but for their line ends, so lines keep
//! their numbers: a reader of the page sees neither. Everything else is in a block.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{
    Extract, Input,
    blocks::Blocks,
    front_matter, problem, reason,
    sections::Sections,
    text::{paragraphs, push_paragraphs},
};
use crate::{
    index::Problem,
    ingest::document::{Block, BlockKind, Document},
    types::Span,
};

/// Deepest nesting of quotes and lists that is parsed.
const MAX_DEPTH: usize = 100;

pub struct Markdown;

impl Extract for Markdown {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let mut document = input.decode()?;
        let mut body = 0;
        if let Some((facts, end)) = front_matter::split(&document.text) {
            document.title = facts.get("title").cloned();
            document.author = facts.get("author").or_else(|| facts.get("authors")).cloned();
            document.metadata.extend(facts);
            // Left out, but for its line ends.
            body = document.text[..end].matches('\n').count();
            document.text.replace_range(..end, &"\n".repeat(body));
        }
        if is_too_deep(&document.text[body..]) {
            document.warnings.push(problem(
                reason::DEEP_NESTING,
                format!("quotes or lists nested deeper than {MAX_DEPTH}: read as plain text"),
            ));
            document.blocks = paragraphs(&document.text);
            return Ok(document);
        }
        let mut sections = Sections::default();
        let source = std::mem::take(&mut document.text);
        (document.text, document.blocks) = read(source, body, &mut sections);
        document.title = document.title.or_else(|| sections.title());
        Ok(document)
    }
}

/// Reads Markdown that is part of another document, whose sections go on in it. What is nested too deep is plain text.
pub fn part(source: &str, sections: &mut Sections) -> (String, Vec<Block>) {
    if is_too_deep(source) {
        return (source.to_owned(), paragraphs(source));
    }
    read(source.to_owned(), 0, sections)
}

fn read(text: String, body: usize, sections: &mut Sections) -> (String, Vec<Block>) {
    let text = without_comments(&text, body).unwrap_or(text);
    let mut reader = Reader { text: &text, body, blocks: Blocks::default(), sections, done: body };
    reader.read();
    let blocks = reader.blocks.into_list();
    (text, blocks)
}

/// Each container mark at the start of a line opens a level; the parser's work is lines times levels.
fn is_too_deep(text: &str) -> bool {
    text.lines().any(|line| {
        let marks = line.bytes().take_while(|b| matches!(b, b'>' | b' ' | b'\t' | b'-' | b'+' | b'*'));
        marks.filter(|b| !matches!(b, b' ' | b'\t')).take(MAX_DEPTH + 1).count() > MAX_DEPTH
            && !line.trim().bytes().all(|b| matches!(b, b'-' | b'*' | b' '))
    })
}

const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_HEADING_ATTRIBUTES);

/// The text without its HTML comments and the imports of MDX, or `None` if there are none. Comments in code are code; one that is never closed
/// stays.
fn without_comments(text: &str, body: usize) -> Option<String> {
    (text[body..].contains("<!--") || text[body..].contains("import ")).then_some(())?;
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (event, range) in Parser::new_ext(&text[body..], OPTIONS).into_offset_iter() {
        let (mut at, end) = (body + range.start, body + range.end);
        if matches!(event, Event::Start(Tag::Paragraph)) && is_import(&text[at..end]) && at >= done {
            out.push_str(&text[done..at]);
            out.extend(text[at..end].chars().filter(|&c| c == '\n'));
            done = end;
        }
        if !matches!(event, Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_)) {
            continue;
        }
        while let Some(open) = text[at..end].find("<!--").map(|found| at + found) {
            let Some(close) = text[open..end].find("-->").map(|found| open + found + 3) else { break };
            // A comment in a quote or a list is read twice: in the HTML block, and in a piece of it.
            if open >= done {
                out.push_str(&text[done..open]);
                out.extend(text[open..close].chars().filter(|&c| c == '\n'));
                done = close;
            }
            at = close;
        }
    }
    (done > 0).then(|| out + &text[done..])
}

/// Lines of MDX that import components: a page shows nothing of them.
fn is_import(paragraph: &str) -> bool {
    paragraph.trim_end().lines().all(|line| {
        let line = line.trim().trim_end_matches(';');
        line.starts_with("import ")
            && line.ends_with(['"', '\''])
            && (line.contains(" from ") || line.len() < 100)
            && line.matches(['"', '\'']).count() == 2
    })
}

/// Turns the parser's events into blocks.
struct Reader<'a> {
    text: &'a str,
    /// Where the body begins, after the front matter.
    body: usize,
    blocks: Blocks,
    sections: &'a mut Sections,
    /// Everything before is in a block or left out on purpose.
    done: usize,
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        let mut events = Parser::new_ext(&self.text[self.body..], OPTIONS).into_offset_iter();
        while let Some((event, range)) = events.next() {
            let span = self.span(range);
            match event {
                Event::Start(tag) => self.block(tag, span, &mut events),
                // A rule says nothing: it goes with what stands before it.
                Event::Rule
                | Event::End(_)
                | Event::Text(_)
                | Event::Code(_)
                | Event::InlineMath(_)
                | Event::DisplayMath(_)
                | Event::Html(_)
                | Event::InlineHtml(_)
                | Event::FootnoteReference(_)
                | Event::SoftBreak
                | Event::HardBreak
                | Event::TaskListMarker(_) => {}
            }
        }
        self.fill(self.text.len());
    }

    fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.body + range.start, self.body + range.end)
    }

    /// One block of the top level, with all that is inside it.
    fn block(&mut self, tag: Tag<'_>, span: Span, events: &mut impl Iterator<Item = (Event<'a>, Range<usize>)>) {
        let end = tag.to_end();
        let mut words = String::new();
        let mut header = span.start;
        let mut depth = 1;
        for (event, range) in events.by_ref() {
            match event {
                Event::Start(_) => depth += 1,
                Event::End(TagEnd::TableHead) if depth == 2 => {
                    header = self.body + range.end;
                    depth -= 1;
                }
                Event::End(_) => depth -= 1,
                Event::Text(text) | Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                    words.push_str(&text);
                }
                Event::SoftBreak | Event::HardBreak => words.push(' '),
                Event::Html(_)
                | Event::InlineHtml(_)
                | Event::FootnoteReference(_)
                | Event::Rule
                | Event::TaskListMarker(_) => {}
            }
            if depth == 0 {
                break;
            }
        }
        let span = Span::new(self.line_start(span.start), span.end);
        self.fill(span.start);
        let span = Span::new(span.start.max(self.done), span.end.max(self.done));
        self.done = span.end;
        let kind = match end {
            TagEnd::Heading(level) => {
                let level = level_number(level);
                self.sections.open(level, &words);
                BlockKind::Heading(level)
            }
            TagEnd::List(_) | TagEnd::DefinitionList => BlockKind::List,
            TagEnd::BlockQuote(_) => BlockKind::Quote,
            TagEnd::CodeBlock => BlockKind::Fence,
            TagEnd::Table => BlockKind::Table { header: self.table_header(span, header), rows: Vec::new() },
            TagEnd::Paragraph
            | TagEnd::HtmlBlock
            | TagEnd::FootnoteDefinition
            | TagEnd::Item
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::Link
            | TagEnd::Image
            | TagEnd::MetadataBlock(_) => BlockKind::Paragraph,
        };
        self.blocks.push(self.text, kind, span, self.sections.path());
    }

    /// The start of the line of `at`, if only its indentation stands before `at`: the parser leaves that out.
    fn line_start(&self, at: usize) -> usize {
        let before = &self.text[self.done.min(at)..at];
        at - (before.len() - before.trim_end_matches([' ', '\t']).len())
    }

    /// Header row and the rule under it.
    fn table_header(&self, table: Span, head_end: usize) -> Span {
        let inside = &self.text[table.range()];
        let head = head_end.clamp(table.start, table.end) - table.start;
        // The head ends at its last cell or its line's end; the rule is the next line that is not blank.
        let line_end = |from: usize| inside[from..].find('\n').map_or(inside.len(), |at| from + at);
        let head_line = if head > 0 && inside.as_bytes()[head - 1] == b'\n' { head - 1 } else { line_end(head) };
        let rule_line = line_end((head_line + 1).min(inside.len()));
        Span::new(table.start, table.start + rule_line)
    }

    /// Covers what the parser passed over without a word: rules and link definitions.
    fn fill(&mut self, to: usize) {
        if to > self.done {
            push_paragraphs(self.text, Span::new(self.done, to), self.sections.path(), &mut self.blocks);
            self.done = to;
        }
    }
}

fn level_number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::{
        detect::Format,
        extract::{Limits, Passwords},
    };

    fn read(text: &str) -> Document {
        let limits = Limits::default();
        let document = Markdown
            .extract(Input {
                bytes: text.into(),
                format: Format::Markdown,
                limits: &limits,
                passwords: &Passwords::default(),
                pages: &[],
            })
            .expect("Markdown never fails");
        assert_eq!(document.check(), Ok(()));
        document
    }

    fn outline(document: &Document) -> Vec<(String, String, &str)> {
        let word = |kind: &BlockKind| match kind {
            BlockKind::Heading(level) => format!("h{level}"),
            BlockKind::Table { header, .. } => format!("table:{}", header.len()),
            BlockKind::Paragraph
            | BlockKind::List
            | BlockKind::Quote
            | BlockKind::Fence
            | BlockKind::Code
            | BlockKind::Record => format!("{kind:?}").to_lowercase(),
        };
        document.blocks.iter().map(|b| (word(&b.kind), b.heading.join(" > "), &document.text[b.span.range()])).collect()
    }

    #[test]
    fn blocks_and_headings() {
        let text = "intro\n\n# A *b* `c`\n\none\ntwo\n\n## B\n\n- x\n  - y\n\n> quote\n\n| h |\n|---|\n| 1 |\n\n```rs\n# no\n```\n\nC\n===\n\n    code\n\n***\n\n[link]: http://x\n\n[^1]: note\n";
        let document = read(text);
        let want = [
            ("paragraph", "", "intro"),
            ("h1", "A b c", "# A *b* `c`"),
            ("paragraph", "A b c", "one\ntwo"),
            ("h2", "A b c > B", "## B"),
            ("list", "A b c > B", "- x\n  - y"),
            ("quote", "A b c > B", "> quote"),
            ("table:11", "A b c > B", "| h |\n|---|\n| 1 |"),
            ("fence", "A b c > B", "```rs\n# no\n```"),
            ("h1", "C", "C\n==="),
            ("fence", "C", "    code"),
            ("paragraph", "C", "***"),
            ("paragraph", "C", "[link]: http://x"),
            ("paragraph", "C", "[^1]: note"),
        ];
        let want: Vec<_> = want.iter().map(|&(k, h, t)| (k.to_owned(), h.to_owned(), t)).collect();
        assert_eq!(outline(&document), want);
        assert_eq!(document.title.as_deref(), Some("A b c"));
        assert!(document.text_is_source && document.text == text);
    }

    #[test]
    fn front_matter_is_metadata_and_in_no_block() {
        let document = read("---\ntitle: T\nauthor: Ann\ntags: [a, b]\n---\n# Head\n");
        assert_eq!((document.title.as_deref(), document.author.as_deref()), (Some("T"), Some("Ann")));
        assert_eq!(document.metadata["tags"], "a, b");
        assert_eq!(outline(&document), [("h1".to_owned(), "Head".to_owned(), "# Head")]);
        let unclosed = read("---\ntitle: T\n\n# Head\n");
        assert_eq!(unclosed.title.as_deref(), Some("Head"));
    }

    #[test]
    fn comments_go_and_lines_stay() {
        let text = "a <!-- x --> b\n\n<!-- one\ntwo -->\n\n> <!-- q --> c\n\n```\n<!-- code -->\n```\n\n<!-- open\n";
        let document = read(text);
        assert_eq!(document.text, "a  b\n\n\n\n\n>  c\n\n```\n<!-- code -->\n```\n\n<!-- open\n");
        assert_eq!(document.text.lines().count(), text.lines().count());
    }

    #[test]
    fn imports_of_mdx_go() {
        let document = read(
            "---\na: b\n---\nimport X from './x'\nimport './y.css';\n\n# A\n\nWe import goods from abroad.\n\n```js\nimport X from 'x'\n```\n",
        );
        let texts: Vec<_> = outline(&document).iter().map(|(_, _, text)| text.to_string()).collect();
        assert_eq!(texts, ["# A", "We import goods from abroad.", "```js\nimport X from 'x'\n```"]);
        assert!(document.text.starts_with("\n\n\n\n\n\n# A"), "{:?}", document.text);
    }

    #[test]
    fn deep_nesting_is_read_as_plain_text() {
        for text in [">".repeat(50_000) + " deep", "- ".repeat(50_000) + "deep", "> - ".repeat(9000)] {
            let document = read(&text);
            assert_eq!(document.warnings[0].reason, reason::DEEP_NESTING);
            assert_eq!(document.blocks[0].span.end, text.trim_end().len());
        }
        assert!(read(&"-".repeat(5000)).warnings.is_empty(), "a long rule nests nothing");
    }
}
