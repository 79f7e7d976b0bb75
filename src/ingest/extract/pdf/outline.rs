//! The bookmarks of a document: titles of its sections, and the pages they begin on.
//!
//! Read here, in one pass over pages and names: the engine resolves each bookmark anew, and follows circles.

use std::collections::{HashMap, HashSet};

use pdf_oxide::{
    PdfDocument,
    object::{Object, ObjectRef},
    optional_content::decode_pdf_text_string,
};

use crate::ingest::extract::clean;

/// A section of a document, as its author named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bookmark {
    pub title: String,
    /// 1 is the highest.
    pub level: u8,
    /// From 1.
    pub page: u32,
}

/// Most bookmarks, named places and nodes of the page tree that are looked at.
const MAX_NODES: usize = 100_000;

/// Bookmarks below this level are taken as of this level.
const MAX_LEVEL: u8 = 6;

type Dict = HashMap<String, Object>;

/// Reads the bookmarks in the order of the document. Those that lead to no page are left out, and so are all if the pages
/// found are not `pages`.
pub fn bookmarks(document: &PdfDocument, pages: u32) -> Vec<Bookmark> {
    let reader = Reader { document };
    let Some(catalog) = document.catalog().ok().and_then(|object| object.as_dict().cloned()) else { return Vec::new() };
    let Some(first) = reader.dict(catalog.get("Outlines")).and_then(|root| reference(root.get("First"))) else {
        return Vec::new();
    };
    let numbers = reader.page_numbers(&catalog);
    if numbers.len() != pages as usize {
        return Vec::new();
    }
    let names = reader.named_places(&catalog);
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![(first, 1u8)];
    while let Some((place, level)) = open.pop() {
        if seen.len() >= MAX_NODES || !seen.insert(place) {
            continue;
        }
        let Some(item) = reader.dict(Some(&Object::Reference(place))) else { continue };
        open.extend(reference(item.get("Next")).map(|next| (next, level)));
        open.extend(reference(item.get("First")).map(|child| (child, level.saturating_add(1).min(MAX_LEVEL))));
        let title = reader.load(item.get("Title")).and_then(|title| {
            let text = decode_pdf_text_string(title.as_string()?);
            clean::title(&text)
        });
        let page = reader.target(&item, &names).and_then(|page| numbers.get(&page));
        if let (Some(title), Some(&page)) = (title, page) {
            found.push(Bookmark { title, level, page });
        }
    }
    found
}

/// Whether the page tree leads in circles, or to more nodes than are followed. The engine would follow them all.
pub fn is_endless(document: &PdfDocument) -> bool {
    let reader = Reader { document };
    let Some(catalog) = document.catalog().ok().and_then(|object| object.as_dict().cloned()) else { return false };
    let mut open: Vec<ObjectRef> = reference(catalog.get("Pages")).into_iter().collect();
    let mut nodes = 0;
    while let Some(place) = open.pop() {
        nodes += 1;
        if nodes > 2 * MAX_NODES {
            return true;
        }
        let Some(node) = reader.dict(Some(&Object::Reference(place))) else { continue };
        if let Some(kids) = reader.load(node.get("Kids")).as_ref().and_then(Object::as_array) {
            open.extend(kids.iter().filter_map(Object::as_reference).take(2 * MAX_NODES));
        }
    }
    false
}

fn reference(object: Option<&Object>) -> Option<ObjectRef> {
    object?.as_reference()
}

struct Reader<'a> {
    document: &'a PdfDocument,
}

impl Reader<'_> {
    fn load(&self, object: Option<&Object>) -> Option<Object> {
        match object? {
            Object::Reference(place) => self.document.load_object(*place).ok(),
            other => Some(other.clone()),
        }
    }

    fn dict(&self, object: Option<&Object>) -> Option<Dict> {
        self.load(object)?.as_dict().cloned()
    }

    /// Numbers of the pages, from 1.
    fn page_numbers(&self, catalog: &Dict) -> HashMap<ObjectRef, u32> {
        let mut numbers = HashMap::new();
        let mut seen = HashSet::new();
        let mut open: Vec<ObjectRef> = reference(catalog.get("Pages")).into_iter().collect();
        let mut next = 1;
        while let Some(place) = open.pop() {
            if seen.len() >= MAX_NODES || !seen.insert(place) {
                continue;
            }
            let Some(node) = self.dict(Some(&Object::Reference(place))) else { continue };
            match self.load(node.get("Kids")).as_ref().and_then(Object::as_array) {
                Some(kids) => open.extend(kids.iter().rev().filter_map(Object::as_reference)),
                None => {
                    numbers.insert(place, next);
                    next += 1;
                }
            }
        }
        numbers
    }

    /// Places with a name, and the pages they are on.
    fn named_places(&self, catalog: &Dict) -> HashMap<Vec<u8>, ObjectRef> {
        let mut places = HashMap::new();
        for (name, place) in self.dict(catalog.get("Dests")).unwrap_or_default() {
            places.extend(self.page_of(&place).map(|page| (name.into_bytes(), page)));
        }
        let mut open: Vec<Object> =
            self.dict(catalog.get("Names")).and_then(|names| names.get("Dests").cloned()).into_iter().collect();
        let (mut seen, mut nodes) = (HashSet::new(), 0);
        while let Some(object) = open.pop() {
            nodes += 1;
            let is_new = object.as_reference().is_none_or(|place| seen.insert(place));
            if !is_new || nodes > MAX_NODES || places.len() > MAX_NODES {
                continue;
            }
            let Some(node) = self.dict(Some(&object)) else { continue };
            if let Some(kids) = self.load(node.get("Kids")).as_ref().and_then(Object::as_array) {
                open.extend(kids.iter().filter(|kid| kid.as_reference().is_some()).cloned());
            }
            if let Some(pairs) = self.load(node.get("Names")).as_ref().and_then(Object::as_array) {
                for pair in pairs.chunks_exact(2) {
                    let [name, place] = pair else { continue };
                    let name = self.load(Some(name)).and_then(|name| name.as_string().map(<[u8]>::to_vec));
                    places.extend(name.zip(self.page_of(place)));
                }
            }
        }
        places
    }

    /// The page of a place: an array that begins with the page, or a dictionary that has one.
    fn page_of(&self, place: &Object) -> Option<ObjectRef> {
        let place = self.load(Some(place))?;
        let inner = place.as_dict().and_then(|dict| self.load(dict.get("D")));
        let place = inner.unwrap_or(place);
        place.as_array()?.first()?.as_reference()
    }

    /// Where a bookmark leads.
    fn target(&self, item: &Dict, names: &HashMap<Vec<u8>, ObjectRef>) -> Option<ObjectRef> {
        let place = match self.load(item.get("Dest")) {
            Some(place) => place,
            None => self.load(self.dict(item.get("A"))?.get("D"))?,
        };
        match &place {
            Object::String(name) => names.get(name.as_slice()).copied(),
            Object::Name(name) => names.get(name.as_bytes()).copied(),
            _ => self.page_of(&place),
        }
    }
}
