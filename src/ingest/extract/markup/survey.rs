//! What kind of document is this XML? One pass over all of it.

use std::collections::{HashMap, HashSet};

use crate::{
    index::Problem,
    ingest::extract::xml::{Event, Reader},
};

/// Depths at which records are looked for; the root is at 0.
const RECORD_DEPTHS: usize = 5;

/// Most names that are told apart.
const MAX_NAMES: usize = 10_000;

/// Most of the source that must stand in records, in percent.
const RECORD_PERCENT: usize = 50;

#[derive(Debug, PartialEq, Eq)]
pub enum Shape {
    /// Prose in sections: JATS, DocBook, TEI, DITA, FictionBook and their kin.
    Article,
    /// RSS, Atom.
    Feed,
    /// SVG.
    Drawing,
    /// Values with names; many of a kind, if that kind is known.
    Records(Option<Record>),
    /// Configuration, or markup without text.
    Code,
}

/// The elements that are records.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    pub depth: usize,
    pub name: String,
}

pub struct Survey<'a> {
    pub shape: Shape,
    /// Names of elements that hold text and elements side by side: their insides are words.
    pub mixed: HashSet<&'a str>,
    pub warning: Option<Problem>,
}

struct Open<'a> {
    name: &'a str,
    start: usize,
    has_text: bool,
    has_children: bool,
}

pub fn survey<'a>(source: &'a str) -> Survey<'a> {
    let mut reader = Reader::new(source);
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut mixed = HashSet::new();
    let mut kinds: HashMap<(usize, &'a str), (usize, usize)> = HashMap::new();
    let (mut root, mut prose, mut text_bytes, mut attribute_bytes) = ("", 0, 0, 0);
    // A document type may be longer than the document.
    let mut root_at = 0;
    // An element is as long as the next event is away from its start.
    let mut ended: Option<(usize, &'a str, usize)> = None;
    let mut count = |ended: Option<(usize, &'a str, usize)>, at: usize| {
        let Some((depth, name, start)) = ended else { return };
        let is_room = kinds.len() < MAX_NAMES;
        let size = at.saturating_sub(start);
        match kinds.get_mut(&(depth, name)) {
            Some((count, bytes)) => (*count, *bytes) = (*count + 1, *bytes + size),
            None if is_room => drop(kinds.insert((depth, name), (1, size))),
            None => {}
        }
    };
    while let Some(event) = reader.next() {
        count(ended.take(), reader.offset());
        match event {
            Event::Start(element) => {
                if let Some(parent) = open.last_mut() {
                    parent.has_children = true;
                } else if root.is_empty() {
                    root = element.name;
                    root_at = reader.offset();
                }
                prose += usize::from(is_prose(element.name));
                // Only words: numbers, names and addresses are the machinery of a program.
                attribute_bytes += element
                    .attributes()
                    .filter(|(_, value)| value.contains(' '))
                    .map(|(_, value)| value.len())
                    .sum::<usize>();
                open.push(Open { name: element.name, start: reader.offset(), has_text: false, has_children: false });
            }
            Event::End(_) => {
                let Some(element) = open.pop() else { continue };
                if element.has_text && element.has_children && mixed.len() < MAX_NAMES {
                    mixed.insert(element.name);
                }
                if (1..RECORD_DEPTHS).contains(&open.len()) {
                    ended = Some((open.len(), element.name, element.start));
                }
            }
            Event::Text(text) => {
                let text = text.trim();
                text_bytes += text.len();
                if let Some(parent) = open.last_mut() {
                    parent.has_text |= !text.is_empty();
                }
            }
        }
    }
    count(ended, source.len());
    let size = source.len().saturating_sub(root_at);
    let record = (1..RECORD_DEPTHS).find_map(|depth| {
        let most = kinds
            .iter()
            .filter(|((at, _), (count, _))| *at == depth && *count > 1)
            .max_by_key(|((_, name), (_, bytes))| (*bytes, *name));
        most.filter(|(_, (_, bytes))| bytes * 100 >= size * RECORD_PERCENT)
            .map(|((depth, name), _)| Record { depth: *depth, name: (*name).to_owned() })
    });
    let shape = match root {
        "rss" | "feed" | "RDF" => Shape::Feed,
        "svg" => Shape::Drawing,
        _ if is_article(root) || (prose > 2 && !mixed.is_empty()) => Shape::Article,
        _ if is_configuration(root) => Shape::Code,
        // A source of tags and addresses alone.
        _ if (text_bytes + attribute_bytes) * 20 < size => Shape::Code,
        _ => Shape::Records(record),
    };
    Survey { shape, mixed, warning: reader.warning() }
}

/// Elements of prose in most vocabularies.
fn is_prose(name: &str) -> bool {
    matches!(name, "p" | "para" | "simpara" | "sec" | "section" | "sect1" | "chapter" | "article-title")
}

fn is_article(root: &str) -> bool {
    matches!(
        root,
        "article"
            | "book"
            | "TEI"
            | "TEI.2"
            | "teiCorpus"
            | "FictionBook"
            | "topic"
            | "concept"
            | "task"
            | "reference"
            | "refentry"
            | "dita"
            | "pmc-articleset"
            | "bill"
            | "resolution"
    )
}

/// Roots of what programs are set up with.
fn is_configuration(root: &str) -> bool {
    matches!(
        root,
        "project"
            | "Project"
            | "configuration"
            | "Configuration"
            | "beans"
            | "web-app"
            | "manifest"
            | "plist"
            | "stylesheet"
            | "transform"
            | "schema"
            | "definitions"
            | "settings"
            | "persistence"
            | "hibernate-mapping"
            | "hibernate-configuration"
            | "struts"
            | "faces-config"
            | "ui"
            | "interface"
            | "node"
            | "component"
            | "module"
            | "assembly"
            | "Package"
            | "package"
            | "Wix"
            | "config"
            | "grammar"
            | "fontconfig"
            | "busconfig"
            | "policyconfig"
            | "mime-info"
            | "xkbConfigRegistry"
            | "Types"
            | "Relationships"
            | "ivy-module"
            | "log4j"
            | "server"
            | "Server"
            | "Context"
            | "application"
            | "ruleset"
            | "LinearLayout"
            | "RelativeLayout"
            | "FrameLayout"
            | "menu"
            | "selector"
            | "vector"
            | "shape"
            | "Window"
            | "UserControl"
            | "mxfile"
    )
}
