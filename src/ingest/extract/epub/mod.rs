//! EPUB: the chapters of a book in reading order, through the HTML reader.
//!
//! A page is the number of a chapter in the spine. Titles of the table of contents stand over the headings of the
//! chapters. Rights that lock the text make the book `encrypted`; fonts that are only obfuscated do not.

mod contents;
mod opf;

use std::collections::HashSet;

use super::{
    Extract, Input, Limits,
    blocks::{From, Rendered},
    clean::title,
    encoding, html,
    package::{Package, resolve},
    problem, reason, xml,
};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
    types::Pages,
};
use contents::Contents;
use opf::Book;
use xml::{Event, Reader};

pub struct Epub;

impl Extract for Epub {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let limits = input.limits;
        let mut package = Package::open(input.bytes, limits)?;
        let (book, is_guessed) = match find_book(&mut package)? {
            Some(book) => (book, false),
            None => (Book::of_pages(package.names()), true),
        };
        if book.spine.is_empty() {
            return Err(problem(reason::DAMAGED, "it has no chapters"));
        }
        let locked = locked(&mut package)?;
        if book.spine.iter().all(|chapter| locked.contains(chapter)) {
            return Err(problem(reason::ENCRYPTED, "its chapters are locked (DRM)"));
        }
        let mut document = Document {
            title: book.title.clone(),
            author: (!book.authors.is_empty()).then(|| book.authors.join(", ")),
            pages: u32::try_from(book.spine.len()).ok(),
            ..Document::default()
        };
        document.metadata.extend(book.metadata.clone());
        let contents = Contents::read(&mut package, &book)?;
        read_chapters(&mut package, &book, &contents, &locked, limits, &mut document)?;
        if is_guessed {
            let what = "it does not say what its chapters are: all its pages were read, in the order of their names";
            document.warnings.push(problem(reason::DAMAGED, what));
        }
        document.warnings.extend(package.warning());
        Ok(document)
    }
}

fn read_chapters(
    package: &mut Package,
    book: &Book,
    contents: &Contents,
    locked: &HashSet<String>,
    limits: &Limits,
    document: &mut Document,
) -> Result<(), Problem> {
    let mut out = Rendered::new(limits.max_text_bytes);
    let (mut missing, mut left_out) = (0, 0);
    let mut path: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for (page, chapter) in (1u32..).zip(&book.spine) {
        if page > limits.max_pages {
            let message = format!("it has {} chapters, of which {} were read", book.spine.len(), limits.max_pages);
            document.warnings.push(problem(reason::TRUNCATED, message));
            break;
        }
        // A chapter that stands in the spine twice is read once; the table of contents is no chapter.
        if !seen.insert(chapter) || book.nav.as_ref() == Some(chapter) {
            continue;
        }
        if locked.contains(chapter) {
            left_out += 1;
            continue;
        }
        let Some(bytes) = package.read(chapter)? else {
            missing += 1;
            continue;
        };
        let declared = xml::declared_encoding(&bytes).or_else(|| html::declared_encoding(&bytes));
        let decoded = encoding::decode(bytes, declared);
        document.warnings.extend(decoded.warning().filter(|_| document.warnings.len() < 20));
        let read = html::read(&decoded.text, out.room());
        let mut inner = Document::default();
        read.out.finish(&mut inner)?;
        inner.blocks.iter_mut().for_each(|block| block.pages = Some(Pages { first: page, last: page }));
        let headings: Vec<&str> = inner
            .blocks
            .iter()
            .filter(|block| matches!(block.kind, BlockKind::Heading(_)))
            .map(|block| &inner.text[block.span.range()])
            .collect();
        if let Some((above, own)) = contents.of(chapter) {
            path = above.to_vec();
            if headings.is_empty() && !inner.blocks.is_empty() {
                path.extend(title(own));
                let level = u8::try_from(path.len()).unwrap_or(6).clamp(1, 6);
                out.block(BlockKind::Heading(level), From { heading: &path, lines: None, page: Some(page) }, own);
            } else if !headings.first().is_some_and(|heading| is_same(heading, own)) {
                path.extend(title(own));
            }
        } else if inner.blocks.first().is_some_and(|block| matches!(block.kind, BlockKind::Heading(1 | 2))) {
            // It is no continuation of the chapter before.
            path.clear();
        }
        out.append(&inner, &path, |_| None);
        // What follows without a title of its own belongs to this chapter.
        if let (Some((_, own)), false) = (contents.of(chapter), headings.is_empty())
            && path.last().map(String::as_str) != title(own).as_deref()
        {
            path.extend(title(own));
        }
    }
    out.finish(document)?;
    let mut say = |reason: &str, message: String| document.warnings.push(problem(reason, message));
    if missing > 0 {
        say(reason::DAMAGED, format!("{missing} of its chapters are missing"));
    }
    if left_out > 0 {
        say(reason::ENCRYPTED, format!("{left_out} of its chapters are locked (DRM)"));
    }
    Ok(())
}

/// A heading and an entry of the table of contents that say the same, one perhaps with more words.
fn is_same(heading: &str, entry: &str) -> bool {
    let bare =
        |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let (heading, entry) = (bare(heading), bare(entry));
    !entry.is_empty() && (heading.contains(&entry) || (!heading.is_empty() && entry.contains(&heading)))
}

/// The package document: where the container says, or the only one there is.
fn find_book(package: &mut Package) -> Result<Option<Book>, Problem> {
    let mut name = None;
    if let Some(bytes) = package.read("META-INF/container.xml")? {
        let source = xml::decode(bytes).text;
        let mut reader = Reader::new(&source);
        while let Some(event) = reader.next() {
            if let Event::Start(element) = event
                && element.name == "rootfile"
                && name.is_none()
            {
                name = element.plain("full-path").and_then(|path| resolve("", &percent_decoded(&path)));
            }
        }
    }
    let name = name
        .filter(|name| package.has(name))
        .or_else(|| package.names().iter().find(|name| name.to_lowercase().ends_with(".opf")).cloned());
    let Some(name) = name else { return Ok(None) };
    let Some(bytes) = package.read(&name)? else { return Ok(None) };
    let book = Book::read(&name, &xml::decode(bytes).text);
    Ok((!book.spine.is_empty()).then_some(book))
}

/// Members whose bytes are locked.
fn locked(package: &mut Package) -> Result<HashSet<String>, Problem> {
    let mut locked = HashSet::new();
    let Some(bytes) = package.read("META-INF/encryption.xml")? else { return Ok(locked) };
    let source = xml::decode(bytes).text;
    let mut reader = Reader::new(&source);
    let mut is_obfuscation = false;
    while let Some(event) = reader.next() {
        let Event::Start(element) = event else { continue };
        match element.name {
            "EncryptedData" => is_obfuscation = false,
            "EncryptionMethod" => {
                let method = element.plain("Algorithm").unwrap_or_default();
                is_obfuscation |= method.contains("idpf.org/2008/embedding") || method.contains("ns.adobe.com/pdf/enc");
            }
            "CipherReference" if !is_obfuscation => {
                locked.extend(element.plain("URI").and_then(|uri| resolve("", &percent_decoded(&uri))));
            }
            _ => {}
        }
    }
    Ok(locked)
}

/// Undoes `%20`; what is not UTF-8 then stays as it is.
fn percent_decoded(reference: &str) -> String {
    let bytes = reference.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digit = |offset: usize| bytes.get(at + offset).and_then(|&digit| char::from(digit).to_digit(16));
        match (byte, digit(1), digit(2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| reference.to_owned())
}

#[cfg(test)]
mod tests;
