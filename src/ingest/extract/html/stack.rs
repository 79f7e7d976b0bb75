//! The elements that are open, and which of them an end tag, or a start tag, closes.
//!
//! For each name the places where it is open are kept, so a tag that closes nothing costs nothing: time is linear in the
//! number of tags whatever their order.

use std::collections::HashMap;

use html5ever::LocalName;

/// Most elements that are open at once; tags beyond are read as if they were not there.
pub const MAX_OPEN: usize = 100_000;

struct Open {
    name: LocalName,
    /// Nothing inside is read.
    hides: bool,
}

/// An element that was closed.
pub struct Closed {
    pub name: LocalName,
    /// It stood in nothing hidden and was not hidden itself.
    pub was_read: bool,
}

#[derive(Default)]
pub struct Stack {
    open: Vec<Open>,
    places: HashMap<LocalName, Vec<usize>>,
    /// Places of tables, cells and captions: end tags inside do not reach beyond.
    walls: Vec<usize>,
    /// Open elements whose inside is not read.
    hidden: usize,
}

impl Stack {
    /// How many elements are open.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    pub fn is_hidden(&self) -> bool {
        self.hidden > 0
    }

    /// Opens an element. `false` if too many are open.
    pub fn push(&mut self, name: LocalName, hides: bool) -> bool {
        if self.open.len() >= MAX_OPEN && !hides {
            return false;
        }
        let place = self.open.len();
        if is_wall(&name) {
            self.walls.push(place);
        }
        self.places.entry(name.clone()).or_default().push(place);
        self.hidden += usize::from(hides);
        self.open.push(Open { name, hides });
        true
    }

    /// Closes the innermost element.
    fn pop(&mut self) -> Option<Closed> {
        let was_read = self.hidden == 0;
        let Open { name, hides } = self.open.pop()?;
        if is_wall(&name) {
            self.walls.pop();
        }
        if let Some(places) = self.places.get_mut(&name) {
            places.pop();
        }
        self.hidden -= usize::from(hides);
        Some(Closed { name, was_read })
    }

    pub fn last_place(&self, name: &str) -> Option<usize> {
        self.places.get(&LocalName::from(name)).and_then(|places| places.last()).copied()
    }

    /// Place of the innermost of several elements.
    fn last_of(&self, names: &[&str]) -> Option<usize> {
        names.iter().filter_map(|name| self.last_place(name)).max()
    }

    /// The place that an end tag closes up to, if it closes anything.
    pub fn closed_by_end(&self, name: &str) -> Option<usize> {
        let place = self.last_place(name)?;
        let wall = match name {
            "table" | "body" | "html" => None,
            "td" | "th" | "tr" | "tbody" | "thead" | "tfoot" | "caption" => self.last_place("table"),
            _ => self.walls.last().copied(),
        };
        (wall.is_none_or(|wall| place > wall)).then_some(place)
    }

    /// The place that a start tag closes up to: an item ends the item before it, a block ends a paragraph.
    pub fn closed_by_start(&self, name: &str) -> Option<usize> {
        let within = |names: &[&str], walls: &[&str]| {
            let wall = self.last_of(walls);
            self.last_of(names).filter(|&place| wall.is_none_or(|wall| place > wall))
        };
        let wall = self.walls.last().copied();
        let paragraph = || self.last_place("p").filter(|&place| wall.is_none_or(|wall| place > wall));
        match name {
            "li" => within(&["li"], &["ul", "ol", "menu", "dir", "table", "td", "th"]).or_else(paragraph),
            "dt" | "dd" => within(&["dt", "dd"], &["dl", "table", "td", "th"]).or_else(paragraph),
            "tr" => within(&["tr", "caption"], &["table"]),
            "td" | "th" => within(&["td", "th", "caption"], &["table"]),
            "tbody" | "thead" | "tfoot" => within(&["tbody", "thead", "tfoot", "tr", "caption"], &["table"]),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let heading = self.last_of(&["h1", "h2", "h3", "h4", "h5", "h6"]);
                heading.filter(|&place| wall.is_none_or(|wall| place > wall)).into_iter().chain(paragraph()).min()
            }
            _ if super::elements::is_block(name) => paragraph(),
            _ => None,
        }
    }

    /// Closes everything from `place` on, innermost first, and says what it was.
    pub fn close_to(&mut self, place: usize) -> Vec<Closed> {
        let count = self.open.len().saturating_sub(place);
        (0..count).map_while(|_| self.pop()).collect()
    }
}

fn is_wall(name: &str) -> bool {
    matches!(name, "table" | "td" | "th" | "caption")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(names: &[&str]) -> Stack {
        let mut stack = Stack::default();
        for &name in names {
            stack.push(name.into(), name == "nav");
        }
        stack
    }

    #[test]
    fn end_tags() {
        let open = stack(&["div", "table", "tr", "td", "p", "b"]);
        for (name, want) in
            [("b", Some(5)), ("p", Some(4)), ("td", Some(3)), ("table", Some(1)), ("div", None), ("i", None)]
        {
            assert_eq!(open.closed_by_end(name), want, "{name}");
        }
    }

    #[test]
    fn start_tags() {
        for (open, name, want) in [
            (&["p", "b"][..], "div", Some(0)),
            (&["p", "b"], "span", None),
            (&["p", "table", "tr", "td"], "div", None),
            (&["ul", "li", "b"], "li", Some(1)),
            (&["ul", "li", "ul"], "li", None),
            (&["dl", "dt"], "dd", Some(1)),
            (&["table", "tr", "td", "b"], "td", Some(2)),
            (&["table", "tr", "td", "table"], "tr", None),
            (&["table", "tr", "td"], "tr", Some(1)),
            (&["h1"], "h2", Some(0)),
        ] {
            assert_eq!(stack(open).closed_by_start(name), want, "{open:?} <{name}>");
        }
    }

    #[test]
    fn p06_hidden_until_closed() {
        let mut open = stack(&["div", "nav", "p"]);
        assert!(open.is_hidden());
        let closed: Vec<_> = open.close_to(0).into_iter().map(|c| (c.name.to_string(), c.was_read)).collect();
        assert_eq!(closed, [("p".into(), false), ("nav".into(), false), ("div".into(), true)]);
        assert!(!open.is_hidden() && open.last_place("p").is_none());
    }
}
