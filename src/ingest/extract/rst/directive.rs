//! What begins with `..`: directives, footnotes, targets, comments.

use super::{Reader, table};
use crate::ingest::{
    document::BlockKind,
    extract::lined::{Row, indent},
};

/// What a directive does with its body.
enum Body {
    /// Kept as it stands.
    Literal,
    /// Read as text; the argument is a text too.
    Text,
    /// Read as text, with the directive's name before it.
    Remark(&'static str),
    /// Left out.
    Nothing,
    /// Values separated by commas.
    Values,
    /// A list of lists.
    Lists,
    /// Only a description of a picture is text.
    Picture,
}

fn body(name: &str) -> Body {
    match name {
        "code" | "code-block" | "sourcecode" | "parsed-literal" | "math" | "ipython" | "ipython3" | "prompt"
        | "productionlist" | "doctest" | "testcode" | "testoutput" | "graphviz" | "digraph" | "graph" | "mermaid"
        | "uml" | "plot" | "jupyter-execute" | "console" | "tabularcolumns" => Body::Literal,
        "note" => Body::Remark("Note"),
        "warning" => Body::Remark("Warning"),
        "tip" => Body::Remark("Tip"),
        "important" => Body::Remark("Important"),
        "caution" => Body::Remark("Caution"),
        "danger" => Body::Remark("Danger"),
        "hint" => Body::Remark("Hint"),
        "error" => Body::Remark("Error"),
        "attention" => Body::Remark("Attention"),
        "seealso" => Body::Remark("See also"),
        "todo" => Body::Remark("To do"),
        "deprecated" => Body::Remark("Deprecated since"),
        "versionadded" => Body::Remark("New in version"),
        "versionchanged" => Body::Remark("Changed in version"),
        "versionremoved" => Body::Remark("Removed in version"),
        "raw" | "include" | "literalinclude" | "toctree" | "contents" | "meta" | "highlight" | "default-role"
        | "role" | "currentmodule" | "module" | "index" | "sectnum" | "section-numbering" | "target-notes"
        | "title" | "testsetup" | "testcleanup" | "default-domain" | "py:currentmodule" | "autosummary"
        | "bibliography" | "footer" | "header" => Body::Nothing,
        "csv-table" => Body::Values,
        "list-table" => Body::Lists,
        "image" | "figure" => Body::Picture,
        _ => Body::Text,
    }
}

impl<'a> Reader<'a> {
    /// Reads explicit markup at indentation `depth`; `rest` is what stands after its two dots.
    pub(super) fn explicit(&mut self, depth: usize, rest: &'a str) {
        if rest.is_empty() && self.lined.ahead().nth(1).is_none_or(|next| next.trim().is_empty()) {
            // Alone, it separates two blocks.
            return self.lined.skip(1);
        }
        if let Some((label, _)) = rest.strip_prefix('[').and_then(|note| note.split_once(']')) {
            // A footnote or a citation; what else it says is read as text.
            let more = self.lined.ahead().skip(1).take_while(|line| !line.trim().is_empty() && indent(line) > depth);
            let count = 1 + more.count();
            let text = self.inline.read(self.lined.lines(count).trim_start().trim_start_matches('.').trim_start());
            self.is_top = self.is_top && label.is_empty();
            return self.lined.block(count, BlockKind::Paragraph, &text);
        }
        if let Some((_, replaced)) = rest.strip_prefix('|').and_then(|rest| rest.split_once('|')) {
            // Put in where it is used; a picture says its description there.
            let is_short = replaced.contains("replace::") || replaced.contains("image::");
            if is_short || !replaced.contains("::") {
                return self.lined.skip(self.body(depth, 1));
            }
        }
        let name_end = rest.find("::").filter(|&end| {
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '+');
            !rest.starts_with('_') && end > 0 && rest[..end].trim_end().chars().all(is_name)
        });
        let Some(end) = name_end else {
            // A comment, or the target of a link.
            return self.lined.skip(self.body(depth, 1));
        };
        self.is_top = false;
        let name = rest[..end].trim_end().to_ascii_lowercase();
        self.directive(depth, &name, rest[end + 2..].trim());
    }

    fn directive(&mut self, depth: usize, name: &str, argument: &'a str) {
        let options = self.lined.ahead().skip(1).take_while(|line| indent(line) > depth && option(line).is_some());
        let options: Vec<(&str, &str)> = options.filter_map(option).collect();
        let head = 1 + options.len();
        let value = |key: &str| options.iter().find(|&&(name, _)| name == key).map(|&(_, value)| value);
        match body(name) {
            Body::Nothing => self.lined.skip(self.body(depth, 1)),
            Body::Literal => {
                let is_text = matches!(name, "math" | "parsed-literal");
                let caption = value("caption").unwrap_or(if is_text { argument } else { "" });
                self.lined.block(head, BlockKind::Paragraph, caption);
                self.literal = Some(depth);
            }
            Body::Remark(word) => {
                let text = self.inline.read(argument);
                if argument.is_empty() {
                    return self.lined.announce(&format!("{word}: "));
                }
                // The remark may go on in the lines below.
                let more =
                    self.lined.ahead().skip(1).take_while(|line| !line.trim().is_empty() && indent(line) > depth);
                let count = 1 + more.count();
                let rest = self.lined.lines(count).split_once('\n').map_or("", |(_, rest)| rest).trim_end();
                let colon = if word.ends_with("since") || word.ends_with("version") { "" } else { ":" };
                let mut text = format!("{word}{colon} {text}");
                if !rest.is_empty() {
                    text.push('\n');
                    text.push_str(&self.inline.read(rest));
                }
                self.lined.block(count, BlockKind::Paragraph, &text);
            }
            Body::Picture => {
                self.lined.block(head, BlockKind::Paragraph, value("alt").unwrap_or(""));
            }
            Body::Text => {
                let text = self.inline.read(argument);
                self.lined.block(head, BlockKind::Paragraph, &text);
            }
            Body::Values => self.values(depth, argument, value("header"), head, number(value("header-rows"))),
            Body::Lists => {
                let caption = self.inline.read(argument);
                self.lined.block(head, BlockKind::Paragraph, &caption);
                self.lists(depth, number(value("header-rows")));
            }
        }
    }

    /// A `csv-table`. Its header stands in an option, so it is written on the directive's lines.
    fn values(&mut self, depth: usize, caption: &str, header: Option<&str>, head: usize, header_rows: usize) {
        let caption = self.inline.read(caption);
        self.lined.block(1, BlockKind::Paragraph, &caption);
        let lines = self.body(depth, head - 1);
        let mut rows = Vec::new();
        if let Some(header) = header {
            rows.push(Row { line: 0, cells: table::values(header) });
        }
        let body = self.lined.lines(lines);
        let inside = body.split('\n').skip(head - 1).collect::<Vec<_>>().join("\n");
        let mut line = head - 1;
        let headers = rows.len() + header_rows;
        for (cells, used) in table::records(&inside) {
            if !cells.is_empty() {
                rows.push(Row { line, cells });
            }
            line += used;
        }
        let table = table::Table { lines, rows, headers, rule: None };
        self.write_table(table);
    }

    /// A `list-table`: `* - first cell`, `  - second cell`.
    fn lists(&mut self, depth: usize, headers: usize) {
        let lines = self.body(depth, 0);
        let mut rows: Vec<Row> = Vec::new();
        let mut base = None;
        for (at, line) in self.lined.ahead().take(lines).enumerate() {
            let bare = line.trim();
            let row =
                bare.strip_prefix("* -").or_else(|| bare.strip_prefix("- -")).or_else(|| bare.strip_prefix("- *"));
            if let Some(cell) = row.filter(|_| indent(line) <= base.unwrap_or(usize::MAX)) {
                base = Some(indent(line));
                rows.push(Row { line: at, cells: vec![cell.trim().to_owned()] });
            } else if let Some(row) = rows.last_mut() {
                let is_cell = bare.strip_prefix(['-', '*']).filter(|_| Some(indent(line)) == base.map(|base| base + 2));
                match (is_cell, row.cells.last_mut()) {
                    (Some(cell), _) => row.cells.push(cell.trim().to_owned()),
                    (None, Some(cell)) if !bare.is_empty() => {
                        cell.push(' ');
                        cell.push_str(bare);
                    }
                    _ => {}
                }
            } else if !bare.is_empty() {
                // Not as a list table is written.
                return;
            }
        }
        if !rows.is_empty() {
            self.write_table(table::Table { lines, rows, headers, rule: None });
        }
    }
}

fn option(line: &str) -> Option<(&str, &str)> {
    super::field(line.trim())
}

/// A number of rows; more than any table has.
const MAX_NUMBER: usize = 1 << 20;

fn number(value: Option<&str>) -> usize {
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0).min(MAX_NUMBER)
}
