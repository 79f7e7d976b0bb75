//! Tables of separated values: the source stays the text; records are found, so that none is ever cut.
//!
//! The separator is guessed from the first records. A quoted value may hold line ends. A quote that is never closed, or
//! only far away, means that quotes mean nothing in this file.

use super::{Extract, Input, blocks::Blocks, problem, reason};
use crate::{
    index::Problem,
    ingest::document::{Block, BlockKind, Document},
    types::Span,
};

/// Size at which a block of records ends.
const BLOCK_BYTES: usize = 16 << 10;

/// Longest record whose quotes are believed.
const MAX_RECORD_BYTES: usize = 1 << 20;

/// Records the separator is guessed from.
const SNIFFED_RECORDS: usize = 50;

pub struct Csv;

impl Extract for Csv {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let mut document = input.decode()?;
        let separator = match named_separator(&document.text) {
            Some((separator, length)) => {
                document.text.replace_range(..length, "");
                separator
            }
            None => sniff(&document.text),
        };
        let (records, broken) = records(&document.text, separator);
        if let Some(line) = broken {
            document.warnings.push(problem(
                reason::DAMAGED,
                format!("a quote opened on line {line} is never closed: each line is read as a record"),
            ));
        }
        document.blocks = blocks(&document.text, &records, separator);
        document.metadata.insert("rows".into(), records.len().to_string());
        Ok(document)
    }
}

/// The separator that a first line `sep=;` names, and the length of that line, which is for programs; its end stays.
fn named_separator(text: &str) -> Option<(u8, usize)> {
    let line = text.split('\n').next()?;
    let name = line.trim().trim_matches('"').strip_prefix("sep=")?;
    let separator = if name.is_empty() && line.contains('\t') { "\t" } else { name };
    match separator.as_bytes() {
        [separator] if separator.is_ascii() => Some((*separator, line.len())),
        _ => None,
    }
}

/// Groups records into blocks. The first record is the header, unless a value in it is a number; years are names as well,
/// over a column or beside other names.
fn blocks(text: &str, records: &[Span], separator: u8) -> Vec<Block> {
    let mut blocks = Blocks::default();
    let has_header =
        matches!(records, [first, second, ..] if is_header(&text[first.range()], &text[second.range()], separator));
    let header = records.first().filter(|_| has_header).copied();
    let mut group: Vec<Span> = Vec::new();
    let mut start = header.map_or(0, |first| first.start);
    let flush = |group: &mut Vec<Span>, start: usize, blocks: &mut Blocks| {
        let Some(last) = group.last() else { return };
        let span = Span::new(start, last.end);
        let rows_are_lines = !group.iter().any(|row| text[row.range()].contains('\n'));
        let rows = if rows_are_lines { Vec::new() } else { group.clone() };
        let header = header.unwrap_or(Span::new(start, start));
        blocks.push_block(Block {
            kind: BlockKind::Table { header, rows },
            span,
            heading: Vec::new(),
            lines: None,
            pages: None,
        });
        group.clear();
    };
    for &record in records.iter().skip(usize::from(has_header)) {
        // The first block begins with the header.
        if group.is_empty() && (blocks.last_end() > 0 || !has_header) {
            start = record.start;
        }
        group.push(record);
        if record.end - start >= BLOCK_BYTES {
            flush(&mut group, start, &mut blocks);
        }
    }
    flush(&mut group, start, &mut blocks);
    blocks.into_list()
}

fn is_header(record: &str, next: &str, separator: u8) -> bool {
    let split = |record: &str| -> Vec<String> {
        record.split(char::from(separator)).map(|value| value.trim().trim_matches('"').trim().to_owned()).collect()
    };
    let (names, below) = (split(record), split(next));
    let is_number = |value: &String| value.parse::<f64>().is_ok();
    let is_year = |value: &String| value.parse::<u16>().is_ok_and(|year| (1800..=2200).contains(&year));
    if names.iter().any(|name| is_number(name) && !is_year(name)) {
        return false;
    }
    let has_name = names.iter().any(|name| !name.is_empty() && !is_number(name));
    // Nothing but years: names, if what is under them is none.
    let differs = names.iter().zip(&below).any(|(name, value)| is_year(name) && !value.is_empty() && !is_year(value));
    let years = names.iter().filter(|name| is_year(name)).count();
    let is_mixed = has_name && (years != 1 || differs);
    if years == 0 { has_name } else { is_mixed || (!has_name && differs) }
}

/// Spans of the records, blank ones left out, without their line ends; and the line where a quote was opened that makes
/// no sense. Linear: quotes are given up at most once.
fn records(text: &str, separator: u8) -> (Vec<Span>, Option<usize>) {
    let bytes = text.as_bytes();
    let mut records = Vec::new();
    let mut broken = None;
    let mut start = 0;
    while start < bytes.len() {
        let end = match record_end(bytes, start, separator, broken.is_none()) {
            Some(end) => end,
            None => {
                broken = Some(1 + bytes[..start].iter().filter(|&&b| b == b'\n').count());
                continue;
            }
        };
        let record = text[start..end].trim_end();
        if !record.trim().is_empty() {
            records.push(Span::new(start, start + record.len()));
        }
        start = end;
    }
    (records, broken)
}

/// End of the record that begins at `start`, its line end included; `None` if a quote in it is not closed in time.
fn record_end(bytes: &[u8], start: usize, separator: u8, quotes: bool) -> Option<usize> {
    let mut at = start;
    let mut at_value = true;
    while at < bytes.len() {
        match bytes[at] {
            b'"' if quotes && at_value => {
                at = quoted_end(bytes, at + 1, start + MAX_RECORD_BYTES)?;
                at_value = false;
            }
            b'\n' => return Some(at + 1),
            byte => {
                // Blanks before a quote are allowed: writers put them there.
                at_value = byte == separator || (at_value && byte == b' ');
                at += 1;
            }
        }
    }
    Some(bytes.len())
}

/// Where a quoted value ends, past its closing quote; a doubled quote stands for one.
fn quoted_end(bytes: &[u8], mut at: usize, limit: usize) -> Option<usize> {
    while at < bytes.len().min(limit) {
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', Some(b'"')) => at += 2,
            (b'"', _) => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// The separator that cuts the first records most evenly; comma if none does.
fn sniff(text: &str) -> u8 {
    let bytes = text.as_bytes();
    let mut best = (0, b',');
    for separator in *b",;\t|" {
        let mut counts = Vec::new();
        let mut start = 0;
        while start < bytes.len() && counts.len() < SNIFFED_RECORDS {
            let Some(end) = record_end(bytes, start, separator, true) else { break };
            if end - start > 1 {
                counts.push(values(&bytes[start..end], separator));
            }
            start = end;
        }
        let Some(&most) = counts.iter().max_by_key(|&&n| (counts.iter().filter(|&&m| m == n).count(), n)) else {
            continue;
        };
        let even = counts.iter().filter(|&&n| n == most).count();
        let score = if most > 1 { even * 1000 / counts.len() * 10 + most.min(9) } else { 0 };
        if score > best.0 {
            best = (score, separator);
        }
    }
    best.1
}

/// How many values a record has.
fn values(record: &[u8], separator: u8) -> usize {
    let (mut count, mut quoted) = (1, false);
    for &byte in record {
        quoted ^= byte == b'"';
        count += usize::from(byte == separator && !quoted);
    }
    count
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
        let document = Csv
            .extract(Input {
                bytes: text.into(),
                format: Format::Csv,
                limits: &limits,
                passwords: &Passwords::default(),
                pages: &[],
            })
            .expect("CSV never fails");
        assert_eq!(document.check(), Ok(()));
        document
    }

    fn table(document: &Document, block: usize) -> (&str, &str, Vec<&str>) {
        let BlockKind::Table { header, rows } = &document.blocks[block].kind else { panic!("no table") };
        let rows = rows.iter().map(|row| &document.text[row.range()]).collect();
        (&document.text[document.blocks[block].span.range()], &document.text[header.range()], rows)
    }

    #[test]
    fn separators_are_guessed() {
        let cases = [
            ("a,b\n1,2\n", b','),
            ("a;b\n1,5;2,5\n2,5;3,5\n", b';'),
            ("a\tb, c\n1\t2\n", b'\t'),
            ("a|b|c\n1|2|3\n", b'|'),
            ("one\ntwo\n", b','),
            ("\"a;b\",c\n\"d;e\",f\n", b','),
            ("", b','),
        ];
        for (text, want) in cases {
            assert_eq!(char::from(sniff(text)), char::from(want), "{text:?}");
        }
    }

    #[test]
    fn a_quoted_line_end_does_not_cut_a_row() {
        let document = read("name,note\n\nann,\"two\nlines, \"\"quoted\"\"\"\nbo,x\n");
        let (all, header, rows) = table(&document, 0);
        assert_eq!(header, "name,note");
        assert_eq!(rows, ["ann,\"two\nlines, \"\"quoted\"\"\"", "bo,x"]);
        assert!(all.starts_with("name") && all.ends_with("bo,x"));
    }

    #[test]
    fn numbers_on_top_are_no_header() {
        let document = read("1,2\n3,4\n");
        assert_eq!(table(&document, 0), ("1,2\n3,4", "", vec![]));
        assert_eq!(table(&read("a,b\n"), 0), ("a,b", "", vec![]));
        assert!(read("\n \n").blocks.is_empty());
    }

    #[test]
    fn years_may_be_names() {
        for (text, header) in [
            ("name,2021,2022\nann,3,4\n", "name,2021,2022"),
            ("2021,2022\na,b\n", "2021,2022"),
            ("2021,2022\n2023,2024\n", ""),
            ("ann,1990\nbo,1991\n", ""),
            ("year,1.5\n2,3\n", ""),
        ] {
            assert_eq!(table(&read(text), 0).1, header, "{text}");
        }
    }

    #[test]
    fn a_line_that_names_the_separator_is_for_programs() {
        let document = read("sep=;\na,x;b\n1;2,5\n");
        assert_eq!(document.text, "\na,x;b\n1;2,5\n");
        assert_eq!(table(&document, 0).1, "a,x;b");
    }

    #[test]
    fn long_tables_are_several_blocks_under_one_header() {
        let text = format!("key,value\n{}", "k,some value of some length\n".repeat(5000));
        let document = read(&text);
        assert!(document.blocks.len() > 5);
        for block in 0..document.blocks.len() {
            assert_eq!(table(&document, block).1, "key,value");
        }
        let covered: usize = document.blocks.iter().map(|b| b.span.len() + 1).sum();
        assert_eq!(covered, text.len());
    }

    #[test]
    fn an_open_quote_costs_a_warning_and_no_row() {
        let document = read("a,b\n\"x,1\ny,2\nz,3\n");
        assert_eq!(document.warnings[0].reason, reason::DAMAGED);
        assert!(document.warnings[0].message.contains("line 2"), "{:?}", document.warnings);
        assert_eq!(document.metadata["rows"], "4");
        let many = "\"\n".repeat(300_001);
        assert_eq!(read(&many).warnings.len(), 1);
    }
}
