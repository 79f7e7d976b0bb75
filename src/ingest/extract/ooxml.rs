//! What the packages of Word, PowerPoint and Excel have in common: relationships between parts, and properties.

use super::{
    clean::title,
    package::{Package, resolve},
    reason,
    xml::{self, Event, Reader},
};
use crate::{index::Problem, ingest::document::Document};

/// Titles that programs write, and no author.
const IDLE_TITLES: [&str; 5] = ["untitled", "powerpoint presentation", "presentation", "document", "slide 1"];

/// How a part refers to another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Relationship {
    pub id: String,
    /// The last word of its type: `styles`, `slide`, `notesSlide`. The same in the strict and the common form.
    pub kind: String,
    /// The part; never one outside of the package.
    pub target: String,
}

/// The relationships of a part, in their order; none if it has none. The package itself is the part with no name.
pub fn relationships(package: &mut Package, part: &str) -> Result<Vec<Relationship>, Problem> {
    let (folder, file) = part.rsplit_once('/').map_or(("", part), |(folder, file)| (folder, file));
    let gap = if folder.is_empty() { "" } else { "/" };
    let Some(text) = read_text(package, &format!("{folder}{gap}_rels/{file}.rels"))? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut reader = Reader::new(&text);
    while let Some(event) = reader.next() {
        let Event::Start(element) = event else { continue };
        if element.name != "Relationship" || element.get("TargetMode").is_some_and(|mode| mode == "External") {
            continue;
        }
        let (Some(id), Some(kind), Some(target)) = (element.get("Id"), element.get("Type"), element.get("Target"))
        else {
            continue;
        };
        let Some(target) = resolve(part, &target) else { continue };
        let kind = kind.rsplit('/').next().unwrap_or("").to_owned();
        found.push(Relationship { id: id.into_owned(), kind, target });
    }
    Ok(found)
}

/// The first part of a kind.
pub fn find<'a>(relationships: &'a [Relationship], kind: &str) -> Option<&'a str> {
    relationships.iter().find(|one| one.kind == kind).map(|one| one.target.as_str())
}

/// The part with an identifier.
pub fn by_id<'a>(relationships: &'a [Relationship], id: &str) -> Option<&'a str> {
    relationships.iter().find(|one| one.id == id).map(|one| one.target.as_str())
}

/// The main part: where the package says it is, else where it usually is. `damaged` if there is none.
pub fn main_part(package: &mut Package, usual: &str, what: &str) -> Result<String, Problem> {
    let relationships = relationships(package, "")?;
    find(&relationships, "officeDocument")
        .filter(|part| package.has(part))
        .or(Some(usual).filter(|part| package.has(part)))
        .map(str::to_owned)
        .ok_or_else(|| {
            super::problem(reason::DAMAGED, format!("it is a zip package without `{usual}`: no {what}, or not whole"))
        })
}

/// A member as text; `None` if there is none.
pub fn read_text(package: &mut Package, name: &str) -> Result<Option<String>, Problem> {
    Ok(package.read(name)?.map(|bytes| xml::decode(bytes).text))
}

/// Puts title, author, dates and the like of `docProps/core.xml` into the document. A title that a program wrote is none.
pub fn core_properties(package: &mut Package, document: &mut Document) -> Result<(), Problem> {
    let relationships = relationships(package, "")?;
    let part = find(&relationships, "core-properties").or(find(&relationships, "coreProperties"));
    let Some(text) = read_text(package, part.unwrap_or("docProps/core.xml"))? else { return Ok(()) };
    properties(&text, document);
    Ok(())
}

/// Properties by the names that Dublin Core gives them, which OpenDocument uses too.
pub fn properties(source: &str, document: &mut Document) {
    let mut reader = Reader::new(source);
    let mut value = String::new();
    while let Some(event) = reader.next() {
        match event {
            Event::Start(_) => value.clear(),
            Event::Text(text) => value.push_str(&text),
            // In a flat file the document follows.
            Event::End("meta") => break,
            Event::End(name) => {
                let Some(words) = title(&std::mem::take(&mut value)) else { continue };
                let key = match name {
                    "title" => {
                        let is_idle = IDLE_TITLES.contains(&words.to_lowercase().as_str())
                            || words.starts_with("Microsoft Word - ")
                            || words.starts_with("Microsoft PowerPoint - ");
                        if !is_idle {
                            document.title.get_or_insert(words);
                        }
                        continue;
                    }
                    "creator" => {
                        document.author.get_or_insert(words);
                        continue;
                    }
                    // Where both are given, the other one is who changed it last.
                    "initial-creator" => {
                        document.author = Some(words);
                        continue;
                    }
                    "created" | "creation-date" => "created",
                    "modified" | "date" => "modified",
                    "subject" => "subject",
                    "description" => "description",
                    "keywords" | "keyword" => "keywords",
                    "language" => "lang",
                    _ => continue,
                };
                document.metadata.entry(key.into()).or_insert(words);
            }
        }
    }
}
