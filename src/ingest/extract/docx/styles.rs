//! `styles.xml`: what a style makes of its paragraphs.

use std::collections::HashMap;

use super::properties::{self, value};
use crate::ingest::extract::xml::{Event, Reader};

/// Longest chain of styles that are based on each other.
const MAX_CHAIN: usize = 16;

/// What a paragraph is, as far as its style tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    #[default]
    Text,
    Title,
    /// Level from 1.
    Heading(u8),
    Quote,
    Code,
    /// A line of a table of contents.
    Contents,
}

/// A style with all it inherits.
#[derive(Debug, Clone, Default)]
pub struct Style {
    pub role: Role,
    pub number: Option<String>,
    pub level: Option<usize>,
    pub is_hidden: bool,
}

#[derive(Debug, Default)]
struct Raw {
    role: Option<Role>,
    base: Option<String>,
    paragraph: properties::Paragraph,
    run: properties::Run,
}

/// All styles of a document, and the one of paragraphs that name none.
#[derive(Debug, Default)]
pub struct Styles {
    styles: HashMap<String, Raw>,
    default: Option<String>,
}

impl Styles {
    pub fn read(source: &str) -> Self {
        let mut found = Self::default();
        let mut open: Option<(String, Raw)> = None;
        let mut reader = Reader::new(source);
        while let Some(event) = reader.next() {
            match event {
                Event::Start(element) => match (element.name, &mut open) {
                    ("style", _) => {
                        let id = element.get("styleId").unwrap_or_default().into_owned();
                        let is_default = element.get("default").is_some_and(|value| matches!(&*value, "1" | "true"));
                        if is_default && element.get("type").is_some_and(|kind| kind == "paragraph") {
                            found.default = Some(id.clone());
                        }
                        open = Some((id, Raw::default()));
                    }
                    ("name", Some((_, style))) => style.role = value(&element).and_then(|name| role(&name)),
                    ("basedOn", Some((_, style))) => style.base = value(&element),
                    ("pPr", Some((_, style))) => style.paragraph = properties::paragraph(&mut reader),
                    ("rPr", Some((_, style))) => style.run = properties::run(&mut reader),
                    // Looks of parts of a table.
                    ("tblStylePr", _) => reader.skip(),
                    _ => {}
                },
                Event::End("style") => {
                    if let Some((id, style)) = open.take() {
                        found.styles.entry(id).or_insert(style);
                    }
                }
                Event::End(_) | Event::Text(_) => {}
            }
        }
        found
    }

    /// The style with this identifier, with what it inherits. One that is not defined is judged by its identifier. Takes
    /// at most [`MAX_CHAIN`] steps.
    pub fn get(&self, id: Option<&str>) -> Style {
        match id.or(self.default.as_deref()) {
            Some(id) if self.styles.contains_key(id) => resolve(&self.styles, id),
            Some(id) => Style { role: role(id).unwrap_or_default(), ..Style::default() },
            None => Style::default(),
        }
    }
}

/// Goes up the chain of styles; what is nearer wins.
fn resolve(raw: &HashMap<String, Raw>, id: &str) -> Style {
    let mut found = Style::default();
    let (mut named, mut outline, mut hidden) = (None, None, None);
    let mut at = Some(id);
    for _ in 0..MAX_CHAIN {
        let Some(style) = at.and_then(|id| raw.get(id)) else { break };
        named = named.or(style.role);
        outline = outline.or(style.paragraph.outline);
        hidden = hidden.or(style.run.is_hidden);
        found.number = found.number.or_else(|| style.paragraph.number.clone());
        found.level = found.level.or(style.paragraph.level);
        at = style.base.as_deref();
    }
    found.is_hidden = hidden.unwrap_or(false);
    // An outline level makes a heading of a style with any name, or takes it away (9).
    found.role = match (named, outline) {
        (Some(Role::Heading(_)) | None, Some(level)) if level < 9 => Role::Heading(level + 1),
        (Some(Role::Heading(_)), Some(_)) => Role::Text,
        (named, _) => named.unwrap_or_default(),
    };
    found
}

/// What a style is by its name. Names of built-in styles are English in documents of every language.
fn role(name: &str) -> Option<Role> {
    let bare = name.chars().filter(|c| !c.is_whitespace() && !matches!(c, '-' | '_'));
    let bare: String = bare.flat_map(char::to_lowercase).collect();
    if let Some(level) = bare.strip_prefix("heading").and_then(|level| level.parse::<u8>().ok()) {
        return (1..=9).contains(&level).then_some(Role::Heading(level));
    }
    if let Some(rest) = bare.strip_prefix("toc") {
        return (rest == "heading" || rest.parse::<u8>().is_ok()).then_some(Role::Contents);
    }
    match bare.as_str() {
        "title" => Some(Role::Title),
        "quote" | "intensequote" | "blocktext" => Some(Role::Quote),
        "htmlpreformatted" | "preformattedtext" | "plaintext" | "macro" | "macrotext" => Some(Role::Code),
        _ if bare.contains("sourcecode") || bare.contains("codeblock") || bare == "code" || bare == "verbatim" => {
            Some(Role::Code)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_styles_make_of_paragraphs() {
        let styles = Styles::read(
            r#"<w:styles xmlns:w="w">
            <w:style w:type="paragraph" w:default="1" w:styleId="Standard"><w:name w:val="Normal"/></w:style>
            <w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/><w:basedOn w:val="Standard"/></w:style>
            <w:style w:type="paragraph" w:styleId="Kapitel"><w:name w:val="Kapitel"/><w:basedOn w:val="berschrift1"/></w:style>
            <w:style w:type="paragraph" w:styleId="Own"><w:name w:val="Own"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
            <w:style w:type="paragraph" w:styleId="Not"><w:name w:val="Not"/><w:basedOn w:val="berschrift1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>
            <w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="a"/><w:basedOn w:val="Loop"/><w:rPr><w:vanish/></w:rPr></w:style>
            <w:style w:type="paragraph" w:styleId="V1"><w:name w:val="toc 1"/></w:style>
            </w:styles>"#,
        );
        for (id, want) in [
            (None, Role::Text),
            (Some("berschrift1"), Role::Heading(1)),
            (Some("Kapitel"), Role::Heading(1)),
            (Some("Own"), Role::Heading(3)),
            (Some("Not"), Role::Text),
            (Some("V1"), Role::Contents),
            (Some("Heading2"), Role::Heading(2)),
            (Some("SourceCode"), Role::Code),
            (Some("Tocsin"), Role::Text),
        ] {
            assert_eq!(styles.get(id).role, want, "{id:?}");
        }
        assert!(styles.get(Some("Loop")).is_hidden);
    }
}
