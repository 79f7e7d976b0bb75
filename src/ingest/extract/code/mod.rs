//! Program text and configuration: cut where something with a name begins, under the path of names.
//!
//! A language with a grammar is parsed; another one, and a file that no person wrote, is read by its lines.

mod lines;
mod symbols;
#[cfg(feature = "code")]
mod syntax;

use super::{Extract, Input};
use crate::{
    index::Problem,
    ingest::{
        detect::Format,
        document::{Block, Document},
    },
};

pub struct Code;

impl Extract for Code {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let Format::Code(language) = input.format else {
            return super::text::Text.extract(input);
        };
        let mut document = input.decode()?;
        document.blocks = blocks(&document.text, language);
        document.metadata.insert("language".into(), language.into());
        Ok(document)
    }
}

fn blocks(text: &str, language: &str) -> Vec<Block> {
    #[cfg(feature = "code")]
    if let Some(blocks) = syntax::blocks(text, language) {
        return blocks;
    }
    lines::blocks(text, symbols::family(language))
}
