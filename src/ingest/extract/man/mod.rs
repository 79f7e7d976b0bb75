//! Manual pages (man and mdoc): the words a reader of the page sees, under its sections.
//!
//! Requests that place or colour text are left out, macros keep their words. No macro of the page itself is expanded.

mod macros;

use super::{Extract, Input, lined::Lined};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
};
use macros::{Line, arguments, escapes, line};

pub struct Man;

impl Extract for Man {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let mut document = input.decode()?;
        let source = std::mem::take(&mut document.text);
        let mut reader = Reader { lined: Lined::new(&source), name: String::new() };
        while let Some(line) = reader.lined.line() {
            reader.read(line);
        }
        reader.lined.finish(&mut document);
        Ok(document)
    }
}

struct Reader<'a> {
    lined: Lined<'a>,
    /// What the page is about, for `.Nm` without a name.
    name: String,
}

impl<'a> Reader<'a> {
    fn read(&mut self, source: &'a str) {
        match line(source, &self.name) {
            Line::Title(words) => {
                let mut words = words.into_iter();
                if let (Some(name), Some(section)) = (words.next(), words.next()) {
                    self.lined.fact("title", &format!("{name}({section})"));
                }
                if let Some(date) = words.next() {
                    self.lined.fact("date", &date);
                }
                self.lined.skip(1);
            }
            Line::Heading(level, words) if words.is_empty() => {
                // Its words are the next line.
                let next = escapes(self.lined.ahead().nth(1).unwrap_or(""));
                self.lined.heading(2, level, &next, &format!("\n{next}"));
            }
            Line::Heading(level, words) => self.lined.heading(1, level, &words, &words),
            Line::Literal(ends) => {
                self.lined.skip(1);
                let count = self.lined.count(|line| !ends.iter().any(|end| line.starts_with(end)));
                let text: Vec<String> = self.lined.lines(count).split('\n').map(|line| self.said(line)).collect();
                self.lined.block(count, BlockKind::Fence, &text.join("\n"));
                self.lined.skip(1);
            }
            Line::Definition => {
                let count = self.lined.count(|line| line.trim_end() != "..");
                self.lined.skip(count + 1);
            }
            Line::Break => self.lined.skip(1),
            Line::Text(_) => self.paragraph(source),
        }
    }

    fn said(&self, source: &str) -> String {
        match line(source, &self.name) {
            Line::Text(text) => text,
            Line::Title(_) | Line::Heading(..) | Line::Literal(_) | Line::Definition | Line::Break => String::new(),
        }
    }

    fn paragraph(&mut self, first: &str) {
        if self.name.is_empty() {
            let named = first.strip_prefix(".Nm ").and_then(|rest| arguments(rest).into_iter().next());
            self.name = named.unwrap_or_default();
        }
        let mut text = Vec::new();
        for (at, source) in self.lined.ahead().enumerate() {
            // An item begins a paragraph.
            let begins = at > 0 && (source.starts_with(".It") || source.starts_with(".IP"));
            match line(source, &self.name) {
                Line::Text(said) if !begins && (at == 0 || !source.trim().is_empty()) => text.push(said),
                _ => break,
            }
        }
        self.lined.block(text.len(), BlockKind::Paragraph, &text.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use crate::ingest::extract::{Limits, extract};

    fn check(name: &str, text: &str, title: &str, want: &[(&str, &str)]) {
        let document = extract(name, text.into(), &Limits::default()).expect("it is text");
        let got: Vec<_> = document
            .blocks
            .iter()
            .map(|block| (block.heading.join("/"), document.text[block.span.range()].to_owned()))
            .collect();
        let want: Vec<_> = want.iter().map(|&(heading, text)| (heading.to_owned(), text.to_owned())).collect();
        assert_eq!((got, document.title.as_deref()), (want, Some(title)), "{text}");
        assert_eq!(document.format, "man");
    }

    #[test]
    fn man() {
        check(
            "pump.1",
            ".\\\" gone\n.TH PUMP 1 2026-01-02\n.SH NAME\npump \\- moves water\n.SH \"SEE ALSO\"\n.BR grep (1),\n\\fBsed\\fP(1)\n.PP\nNext \\(em one.\n.TP\n.B \\-v\nverbose\n.nf\na  b\n.fi\n.de XX\ngone\n..\n",
            "PUMP(1)",
            &[
                ("NAME", "NAME"),
                ("NAME", "pump - moves water"),
                ("SEE ALSO", "SEE ALSO"),
                ("SEE ALSO", "grep(1),\nsed(1)"),
                ("SEE ALSO", "Next — one."),
                ("SEE ALSO", "-v\nverbose"),
                ("SEE ALSO", "a  b"),
            ],
        );
    }

    #[test]
    fn mdoc() {
        check(
            "pump.8",
            ".Dd January 2, 2026\n.Dt PUMP 8\n.Os\n.Sh NAME\n.Nm pump\n.Nd moves water\n.Sh SYNOPSIS\n.Nm\n.Op Fl v\n.Ar file\n.Pp\n.Bl -tag\n.It Fl v\nVerbose; see\n.Xr sed 1 .\n.El\n",
            "PUMP(8)",
            &[
                ("NAME", "NAME"),
                ("NAME", "pump\n— moves water"),
                ("SYNOPSIS", "SYNOPSIS"),
                ("SYNOPSIS", "pump\n[-v]\nfile"),
                ("SYNOPSIS", "-v\nVerbose; see\nsed(1)."),
            ],
        );
    }
}
