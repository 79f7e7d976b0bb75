//! What stands between `\begin` and `\end`: lists, quotations, tables, formulas, and what is kept or left out whole.

use super::{
    Reader,
    scan::{self, Scan},
    table::Tabular,
};
use crate::{
    ingest::document::{Block, BlockKind},
    types::Span,
};

impl Reader {
    pub(super) fn begin(&mut self, scan: &mut Scan<'_>) {
        let name = scan.take_argument().trim();
        let bare = name.trim_end_matches('*');
        match bare {
            "verbatim" | "Verbatim" | "lstlisting" | "minted" | "alltt" | "listing" | "BVerbatim" | "verbatimtab" => {
                let head = scan.take_arguments(if bare == "minted" { 1 } else { 0 });
                self.raw(scan, name, head, Some(BlockKind::Fence));
            }
            "equation" | "align" | "gather" | "multline" | "eqnarray" | "displaymath" | "math" | "flalign"
            | "alignat" | "dmath" => self.raw(scan, name, "", Some(BlockKind::Fence)),
            "comment" | "filecontents" | "tikzpicture" | "pgfpicture" | "picture" | "CCSXML" => {
                self.raw(scan, name, "", None);
            }
            "itemize" | "enumerate" | "description" | "compactitem" | "compactenum" | "inparaenum" | "list"
            | "trivlist" => {
                self.cut_prose();
                let dropped = scan.take_arguments(if bare == "list" { 2 } else { 0 });
                self.drop(dropped);
                self.lists += 1;
            }
            "quote" | "quotation" | "verse" | "displayquote" => {
                self.cut_prose();
                self.quotes += 1;
            }
            "tabular" | "tabularx" | "tabulary" | "longtable" | "longtabu" | "tabu" | "supertabular" | "xltabular"
            | "tblr" => {
                let has_width = matches!(name, "tabular*" | "tabularx" | "tabulary" | "xltabular" | "tabularx*");
                self.cut_prose();
                let dropped = scan.take_arguments(if has_width { 2 } else { 1 });
                self.drop(dropped);
                self.tables += 1;
                if self.table.is_none() {
                    self.table = Some(Tabular::new(self.out.len()));
                }
            }
            "minipage" | "wrapfigure" | "multicols" | "thebibliography" | "adjustbox" | "subfigure" | "subtable"
            | "columns" | "column" | "spacing" | "textblock" | "resizebox" => {
                self.cut_prose();
                let dropped = scan.take_arguments(if bare == "wrapfigure" { 2 } else { 1 });
                self.drop(dropped);
            }
            "frame" => {
                self.cut_prose();
                self.drop(scan.take_options());
            }
            _ => {
                self.cut_prose();
                // What a theorem is called stands in its option.
                if let Some(words) = scan.take_option_words()
                    && !is_placement(words)
                {
                    self.nested(words);
                    self.push_str(". ");
                }
            }
        }
    }

    pub(super) fn cut_prose(&mut self) {
        if self.table.is_none() {
            self.cut(None);
        }
    }

    /// What stands to the end of an environment is kept or left out as a whole.
    pub(super) fn raw(&mut self, scan: &mut Scan<'_>, name: &str, head: &str, kind: Option<BlockKind>) {
        self.cut_prose();
        self.drop(head);
        let body = scan.take_until(&format!("\\end{{{name}}}"));
        match kind {
            None => self.drop(body),
            Some(kind) => {
                let is_code = !matches!(name.trim_end_matches('*'), "equation" | "align" | "gather" | "multline");
                if is_code {
                    self.push_str(body)
                } else {
                    self.push_str(&scan::without_labels(body))
                }
                if self.table.is_none() {
                    self.cut(Some(kind));
                }
            }
        }
    }

    pub(super) fn end(&mut self, scan: &mut Scan<'_>) {
        let name = scan.take_argument().trim();
        match name.trim_end_matches('*') {
            "itemize" | "enumerate" | "description" | "compactitem" | "compactenum" | "inparaenum" | "list"
            | "trivlist" => {
                if self.lists == 1 {
                    self.cut_prose();
                }
                self.lists = self.lists.saturating_sub(1);
            }
            "quote" | "quotation" | "verse" | "displayquote" => {
                self.cut_prose();
                self.quotes = self.quotes.saturating_sub(1);
            }
            "tabular" | "tabularx" | "tabulary" | "longtable" | "longtabu" | "tabu" | "supertabular" | "xltabular"
            | "tblr" => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0
                    && let Some(table) = self.table.take()
                {
                    self.end_table(table);
                }
            }
            _ => self.cut_prose(),
        }
    }

    pub(super) fn next_cell(&mut self) {
        if let Some(table) = &mut self.table {
            if self.tables == 1 { table.next_cell(&mut self.out) } else { self.out.push(' ') }
        }
    }

    pub(super) fn end_table(&mut self, mut table: Tabular) {
        table.end_row(&mut self.out);
        let (header, rows) = table.finish();
        let span = Span::new(self.start, self.out.len());
        self.start = self.out.len();
        let Some(last) = rows.last().copied().or(Some(header)).filter(|last| !last.is_empty()) else {
            return self.blocks.push(&self.out, BlockKind::Paragraph, span, self.sections.path());
        };
        let first = if header.is_empty() { rows.first().copied().unwrap_or(last) } else { header };
        self.blocks.push_block(Block {
            kind: BlockKind::Table { header, rows },
            span: Span::new(first.start, last.end),
            heading: self.sections.path().to_vec(),
            lines: None,
            pages: None,
        });
    }
}

/// Where a figure may stand on its page: `htbp!`, `H`, `c`.
fn is_placement(words: &str) -> bool {
    words.trim().bytes().all(|byte| b"htbpHc!lrt,. ".contains(&byte)) || words.contains('=')
}
