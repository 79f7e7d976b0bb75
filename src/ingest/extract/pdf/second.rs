//! `unpdf` as a second engine, for pages that the first one reads badly or not at all.

use std::{cell::RefCell, collections::VecDeque, ops::ControlFlow};

use unpdf::{
    ErrorMode, PageStreamOptions, ParseEvent, ParseOptions, PdfParser,
    model::{Block, Page as Parsed},
    render::PageSelection,
};

use super::{
    engine::{Failure, Page, guarded},
    tidy,
};
use crate::ingest::extract::{Passwords, clean};

pub struct Second {
    parser: PdfParser,
}

/// Pages it may panic on before it is not asked again.
const MAX_PANICS: usize = 16;

/// What stands between the cells of a row.
const CELL_GAP: &str = "   ";

/// Opens a document with the empty password or one of `passwords`.
pub fn open(bytes: &[u8], passwords: &Passwords) -> Result<Second, Failure> {
    let mut why = String::new();
    for password in std::iter::once(None).chain(passwords.iter().map(Some)) {
        let opened = guarded(|| {
            let mut options = ParseOptions::new().lenient().with_resources(false).sequential();
            if let Some(password) = password {
                options = options.with_password(password);
            }
            PdfParser::from_bytes_with_options(bytes, options).map_err(|error| sentence(&error))
        });
        match opened {
            Ok(parser) => return Ok(Second { parser }),
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn sentence(error: &unpdf::Error) -> String {
    clean::title(&error.to_string()).unwrap_or_else(|| "unknown damage".into())
}

impl Second {
    pub fn pages(&self) -> u32 {
        guarded(|| Ok(self.parser.page_count())).unwrap_or(0)
    }

    /// Texts of pages (from 1, in order). A page that it fails on is not among them.
    pub fn read(&self, wanted: &[u32], mut take: impl FnMut(u32, Page)) {
        let mut left: VecDeque<u32> = wanted.iter().copied().collect();
        for _ in 0..MAX_PANICS {
            if left.is_empty() {
                return;
            }
            let options = PageStreamOptions {
                error_mode: ErrorMode::Lenient,
                extract_text: true,
                extract_resources: false,
                min_image_dimension: 64,
                pages: PageSelection::Pages(left.iter().copied().collect()),
                password: None,
                parallel: false,
                suppress_low_confidence_ocr: false,
                window_size: 1,
                emit_progress_every: u32::MAX,
            };
            let done = RefCell::new(0u32);
            let run = guarded(|| {
                let finished = self.parser.for_each_page(options, |event| {
                    match event {
                        ParseEvent::PageParsed(page) => {
                            *done.borrow_mut() = page.number;
                            take(page.number, converted(&page));
                        }
                        ParseEvent::PageFailed { page, .. } => *done.borrow_mut() = page,
                        ParseEvent::DocumentStart { .. }
                        | ParseEvent::Progress { .. }
                        | ParseEvent::DocumentEnd { .. } => {}
                    }
                    ControlFlow::Continue(())
                });
                finished.map(|_| ()).map_err(|error| sentence(&error))
            });
            if run.is_ok() {
                return;
            }
            // It stopped at the page after the last one it gave; that one is left to the first engine.
            let done = done.into_inner();
            left.retain(|&page| page > done);
            left.pop_front();
        }
    }
}

/// A page of blocks as lines.
fn converted(parsed: &Parsed) -> Page {
    let mut page = Page::default();
    for block in &parsed.elements {
        let start = page.text.len();
        match block {
            Block::Paragraph(paragraph) => {
                let text = paragraph.plain_text();
                if let Some(level) = paragraph.style.heading_level {
                    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
                    page.large.push((tidy::page(bare), heading_size(level)));
                }
                page.text.push_str(&text);
            }
            Block::Table(table) => {
                for row in &table.rows {
                    let cells: Vec<String> =
                        row.cells.iter().map(|cell| one_line(&cell.plain_text())).filter(|c| !c.is_empty()).collect();
                    page.text.push_str(&cells.join(CELL_GAP));
                    page.text.push('\n');
                }
            }
            Block::Code { content } | Block::Raw { content } => page.text.push_str(content),
            Block::Image { .. } | Block::HorizontalRule | Block::PageBreak | Block::SectionBreak => {}
        }
        if page.text.len() > start {
            page.text.push_str("\n\n");
        }
    }
    page
}

/// The engine gives levels, not sizes: a size that stands for the level beside a body of [`super::layout::UNIT`].
fn heading_size(level: u8) -> f32 {
    super::layout::UNIT * (2.2 - 0.2 * f32::from(level.clamp(1, 5)))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
