//! `numbering.xml`: the bullets and numbers that Word draws before paragraphs.

use std::collections::HashMap;

use super::properties::value;
use crate::ingest::extract::{
    numerals::{letters, roman},
    xml::{Event, Reader},
};

/// Levels of a list.
const LEVELS: usize = 9;

#[derive(Debug, Clone)]
struct Level {
    start: u64,
    format: String,
    /// The text, with `%1` for the number of the first level.
    text: String,
}

impl Default for Level {
    fn default() -> Self {
        Self { start: 1, format: "decimal".into(), text: String::new() }
    }
}

#[derive(Debug, Default)]
struct Definition {
    shape: String,
    /// Level and number at which it begins anew.
    starts: Vec<(usize, u64)>,
}

/// What stands before a paragraph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    Bullet,
    Number(String),
    /// A list without marks.
    None,
}

/// The lists of a document, and how far they have counted.
#[derive(Debug, Default)]
pub struct Numbering {
    shapes: HashMap<String, Vec<Level>>,
    definitions: HashMap<String, Definition>,
    counters: HashMap<String, [Option<u64>; LEVELS]>,
}

impl Numbering {
    pub fn read(source: &str) -> Self {
        let mut found = Self::default();
        let mut reader = Reader::new(source);
        let (mut shape, mut definition, mut level) = (String::new(), String::new(), 0usize);
        // Lists that are those of a style: the name of the style, at both ends.
        let (mut links, mut targets) = (HashMap::new(), HashMap::new());
        while let Some(event) = reader.next() {
            let Event::Start(element) = event else { continue };
            let attribute = |name: &str| element.get(name).unwrap_or_default().into_owned();
            match element.name {
                "abstractNum" => {
                    shape = attribute("abstractNumId");
                    found.shapes.insert(shape.clone(), vec![Level::default(); LEVELS]);
                }
                "num" => {
                    definition = attribute("numId");
                    found.definitions.insert(definition.clone(), Definition::default());
                }
                "abstractNumId" => {
                    if let Some(one) = found.definitions.get_mut(&definition) {
                        one.shape = attribute("val");
                    }
                }
                "numStyleLink" => {
                    links.insert(shape.clone(), attribute("val"));
                }
                "styleLink" => {
                    targets.insert(attribute("val"), shape.clone());
                }
                "lvl" | "lvlOverride" => level = attribute("ilvl").parse().unwrap_or(LEVELS),
                "startOverride" => {
                    if let Some(one) = found.definitions.get_mut(&definition) {
                        one.starts.extend(attribute("val").parse().ok().map(|start| (level, start)));
                    }
                }
                "start" | "numFmt" | "lvlText" => {
                    // Levels that a definition writes anew are rare: those of its shape stand.
                    let in_shape = found.definitions.is_empty();
                    if let Some(level) = found.shapes.get_mut(&shape).and_then(|levels| levels.get_mut(level))
                        && in_shape
                        && let Some(value) = value(&element)
                    {
                        match element.name {
                            "start" => level.start = value.parse().unwrap_or(1),
                            "numFmt" => level.format = value,
                            _ => level.text = value,
                        }
                    }
                }
                _ => {}
            }
        }
        for one in found.definitions.values_mut() {
            if let Some(target) = links.get(&one.shape).and_then(|name| targets.get(name)) {
                one.shape.clone_from(target);
            }
        }
        found
    }

    /// Counts one paragraph of a list on, and gives its marker. `None` if there is no such list.
    pub fn next(&mut self, definition: &str, level: usize) -> Option<Marker> {
        let one = self.definitions.get(definition)?;
        let levels = self.shapes.get(&one.shape)?;
        let shape = levels.get(level)?;
        // Definitions of one shape count together, unless one begins anew.
        let key = if one.starts.is_empty() { &one.shape } else { definition };
        let key = format!("{}{key}", if one.starts.is_empty() { "s" } else { "d" });
        let counters = self.counters.entry(key).or_default();
        let start = |at: usize| {
            let anew = one.starts.iter().find(|(level, _)| *level == at).map(|&(_, start)| start);
            anew.unwrap_or_else(|| levels.get(at).map_or(1, |level| level.start))
        };
        for (at, counter) in counters.iter_mut().enumerate() {
            match counter {
                Some(number) if at == level => *number = number.saturating_add(1),
                None if at <= level => *counter = Some(start(at)),
                _ if at > level => *counter = None,
                _ => {}
            }
        }
        match shape.format.as_str() {
            "bullet" => return Some(Marker::Bullet),
            "none" => return Some(Marker::None),
            _ => {}
        }
        let mut text = String::new();
        let mut letters = shape.text.chars().peekable();
        while let Some(letter) = letters.next() {
            let digit = letters.peek().and_then(|c| c.to_digit(10)).filter(|_| letter == '%');
            match digit {
                Some(digit) if (1..=9).contains(&digit) => {
                    letters.next();
                    let at = digit as usize - 1;
                    let format = levels.get(at).map_or("decimal", |level| level.format.as_str());
                    if let Some(Some(number)) = counters.get(at) {
                        text.push_str(&spell(*number, format));
                    }
                }
                _ => text.push(letter),
            }
        }
        let text = text.trim().to_owned();
        Some(if text.is_empty() { Marker::None } else { Marker::Number(text) })
    }
}

fn spell(number: u64, format: &str) -> String {
    match format {
        "lowerLetter" => letters(number),
        "upperLetter" => letters(number).to_uppercase(),
        "lowerRoman" => roman(number),
        "upperRoman" => roman(number).to_uppercase(),
        "decimalZero" => format!("{number:02}"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_count() {
        let mut numbering = Numbering::read(
            r#"<w:numbering><w:abstractNum w:abstractNumId="7">
            <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
            <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl>
            <w:lvl w:ilvl="2"><w:numFmt w:val="bullet"/><w:lvlText w:val="x"/></w:lvl>
            <w:lvl w:ilvl="3"><w:start w:val="9"/><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%4"/></w:lvl>
            </w:abstractNum>
            <w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>
            <w:num w:numId="2"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>
            </w:numbering>"#,
        );
        let number = |text: &str| Some(Marker::Number(text.into()));
        for (definition, level, want) in [
            ("1", 0, number("1.")),
            ("1", 1, number("1.a)")),
            ("1", 1, number("1.b)")),
            ("1", 0, number("2.")),
            ("1", 1, number("2.a)")),
            ("1", 2, Some(Marker::Bullet)),
            ("1", 3, number("IX")),
            ("2", 0, number("5.")),
            ("2", 0, number("6.")),
            ("1", 0, number("3.")),
            ("1", 9, None),
            ("0", 0, None),
        ] {
            assert_eq!(numbering.next(definition, level), want, "{definition} {level}");
        }
    }
}
