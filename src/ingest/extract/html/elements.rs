//! What each element means to a reader of text. Tables of names and rules about attributes, nothing else.

use html5ever::tokenizer::{Tag, states::RawKind};

/// Elements that begin and end a block of text, and that end an open paragraph.
pub fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "dialog"
            | "dir"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hgroup"
            | "hr"
            | "html"
            | "legend"
            | "li"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "p"
            | "pre"
            | "search"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "td"
            | "tfoot"
            | "th"
            | "thead"
            | "tr"
            | "ul"
            | "option"
            | "title"
            | "head"
    )
}

/// Elements without an end tag.
pub fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "basefont"
            | "bgsound"
            | "br"
            | "col"
            | "embed"
            | "frame"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
            | "keygen"
    )
}

/// How the tokenizer has to read what is inside an element that is not markup.
pub fn raw_kind(name: &str) -> Option<RawKind> {
    match name {
        "title" | "textarea" => Some(RawKind::Rcdata),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript" => Some(RawKind::Rawtext),
        "script" => Some(RawKind::ScriptData),
        _ => None,
    }
}

/// The level of a heading.
pub fn heading_level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}

/// Never read: programs, styles, controls, pictures, and what is shown only when something else cannot be. Of ruby text
/// the reading is left out, because it would stand inside the words.
fn is_dropped(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "style"
            | "noscript"
            | "template"
            | "nav"
            | "svg"
            | "canvas"
            | "iframe"
            | "noembed"
            | "noframes"
            | "audio"
            | "video"
            | "button"
            | "select"
            | "datalist"
            | "textarea"
            | "rt"
            | "rp"
            | "annotation-xml"
    )
}

/// Classes and ids that content management systems give to the furniture of a page, and to words for screen readers that
/// nobody sees.
const FURNITURE: &[&str] = &[
    "mw-editsection",
    "mw-jump-link",
    "mw-cite-backlink",
    "vector-dropdown",
    "catlinks",
    "navbox",
    "printfooter",
    "noprint",
    "no-print",
    "d-print-none",
    "headerlink",
    "hash-link",
    "doc-anchor",
    "anchorjs-link",
    "skip-link",
    "skip-to-content",
    "skip-main-content",
    "breadcrumb",
    "breadcrumbs",
    "sr-only",
    "visually-hidden",
    "visuallyhidden",
    "screen-reader-text",
    "screenreader-only",
    "element-invisible",
    "linenos",
    "linenodiv",
    "lineno",
    "linenumber",
    "line-number",
    "line-numbers-rows",
    "blob-num",
    "cc-window",
    "cc-banner",
    "onetrust-consent-sdk",
    "CybotCookiebotDialog",
];

/// Notes about cookies, whatever program writes them.
fn is_cookie_banner(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let is_about = word.contains("cookie") || word.contains("gdpr");
    is_about && ["banner", "consent", "notice", "popup", "modal", "overlay"].iter().any(|what| word.contains(what))
}

/// Whether nothing inside the element is to be read: dropped by name, hidden by attribute or by its own style.
pub fn is_hidden(tag: &Tag) -> bool {
    let name: &str = &tag.name;
    let is_formula = || attribute(tag, "encoding").is_some_and(|kind| kind.to_ascii_lowercase().contains("tex"));
    if is_dropped(name) || (name == "annotation" && !is_formula()) {
        return true;
    }
    // A section about cookies is no banner.
    let is_section =
        attribute(tag, "class").is_some_and(|class| class.split_ascii_whitespace().any(|c| c == "section"));
    let may_float = matches!(name, "div" | "aside" | "dialog" | "form") && !is_section;
    let mut is_open = false;
    let mut hidden = false;
    for attribute in &tag.attrs {
        let value: &str = &attribute.value;
        match &*attribute.name.local {
            // What a search in the page would find is a reader's.
            "hidden" => hidden |= !value.eq_ignore_ascii_case("until-found"),
            "open" => is_open = true,
            // On a large part of a page it only says that a dialog stands before it.
            "aria-hidden" => hidden |= value.eq_ignore_ascii_case("true") && !is_block(name),
            "role" => hidden |= matches!(value, "navigation" | "search" | "menu" | "menubar" | "toolbar"),
            "class" | "id" => {
                let mut words = value.split_ascii_whitespace();
                hidden |= words.any(|word| FURNITURE.contains(&word) || (may_float && is_cookie_banner(word)));
            }
            "style" => hidden |= style_hides(value),
            _ => {}
        }
    }
    // The root element is never taken away: pages hide it until a script has run.
    (hidden && !matches!(name, "html" | "body")) || (name == "dialog" && !is_open)
}

/// `display: none`, `visibility: hidden` or `font-size: 0` in a style attribute.
fn style_hides(style: &str) -> bool {
    style.split(';').any(|declaration| {
        let Some((property, value)) = declaration.split_once(':') else { return false };
        let value = value.trim().to_ascii_lowercase();
        let value = value.trim_end_matches("!important").trim_end();
        match property.trim().to_ascii_lowercase().as_str() {
            "display" => value == "none",
            "visibility" => matches!(value, "hidden" | "collapse"),
            "font-size" => {
                let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
                number.parse::<f64>().is_ok_and(|size| size <= 0.0)
            }
            _ => false,
        }
    })
}

/// The description of a picture, where it says something: not its file name, not one word like `logo`.
pub fn description(tag: &Tag) -> Option<&str> {
    let is_decoration = attribute(tag, "aria-hidden").is_some_and(|value| value.eq_ignore_ascii_case("true"))
        || attribute(tag, "role").is_some_and(|role| matches!(role, "presentation" | "none"))
        || attribute(tag, "hidden").is_some()
        || attribute(tag, "style").is_some_and(style_hides)
        || ["width", "height"].iter().any(|size| attribute(tag, size).is_some_and(|size| matches!(size, "0" | "1")));
    let text = attribute(tag, "alt")?.trim();
    let is_words = text.contains(char::is_whitespace) && text.contains(char::is_alphabetic);
    let is_emoji = text.chars().count() <= 8 && !text.is_ascii() && !text.contains(char::is_alphanumeric);
    (!is_decoration && (is_words || is_emoji)).then_some(text)
}

/// A link to a place in its own page that is no word of the text: the sign after a heading, the way past the menu.
pub fn is_sign(link: &str) -> bool {
    let link = link.trim();
    let lower = link.get(..8).unwrap_or("").to_ascii_lowercase();
    matches!(link, "#" | "¶" | "§" | "🔗" | "⚓" | "[link]" | "[edit]" | "↑" | "^" | "↩" | "↩︎")
        || (link.len() < 60 && matches!(lower.as_str(), "skip to " | "jump to "))
}

/// The value of an attribute.
pub fn attribute<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

#[cfg(test)]
mod tests {
    use super::style_hides;

    #[test]
    fn styles_that_hide() {
        for style in [
            "display:none",
            "color:red; DISPLAY : None !important",
            "visibility:hidden;",
            "font-size:0",
            "font-size: 0px",
        ] {
            assert!(style_hides(style), "{style}");
        }
        for style in ["", "display:block", "font-size:0.9em", "font-size:10px", "x-display:none", "none"] {
            assert!(!style_hides(style), "{style}");
        }
    }
}
