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
            | "annotation"
            | "annotation-xml"
    )
}

/// Classes that content management systems give to links that are furniture of the page.
const FURNITURE: &[&str] =
    &["mw-editsection", "mw-jump-link", "headerlink", "skip-link", "skip-to-content", "anchorjs-link"];

/// Whether nothing inside the element is to be read: dropped by name, hidden by attribute or by its own style.
pub fn is_hidden(tag: &Tag) -> bool {
    let name: &str = &tag.name;
    if is_dropped(name) {
        return true;
    }
    let mut is_open = false;
    let mut hidden = false;
    for attribute in &tag.attrs {
        let value: &str = &attribute.value;
        match &*attribute.name.local {
            "hidden" => hidden = true,
            "open" => is_open = true,
            // On a large part of a page it only says that a dialog stands before it.
            "aria-hidden" => hidden |= value.eq_ignore_ascii_case("true") && !is_block(name),
            "role" => hidden |= value.eq_ignore_ascii_case("navigation"),
            "class" => hidden |= value.split_ascii_whitespace().any(|class| FURNITURE.contains(&class)),
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
