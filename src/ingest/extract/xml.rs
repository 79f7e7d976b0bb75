//! XML as the walkers of office formats, books and data want it: starts, ends and text, by local names.
//!
//! Every start has its end, whatever the source does: what is damaged ends there, and what is open is closed. Entities
//! are never expanded, save the five and character references; DTDs are passed over; nothing is ever fetched. Time and
//! memory are linear in the source. Namespaces are not resolved: a prefix is given as it is written.

use std::borrow::Cow;

use encoding_rs::Encoding;
use quick_xml::{
    XmlVersion,
    escape::resolve_predefined_entity,
    events::{BytesStart, Event as Raw},
};

use super::{
    encoding::{self, Decoded},
    problem, reason,
};
use crate::index::Problem;

/// Elements deeper than this are passed over; their text is not.
const MAX_DEPTH: usize = 1 << 16;

/// Bytes at the start in which the XML declaration stands.
const DECLARATION_BYTES: usize = 256;

/// What comes next in a source.
#[derive(Debug)]
pub enum Event<'a> {
    Start(Element<'a>),
    /// The local name of the element that ends.
    End(&'a str),
    /// A piece of text, with its white space; what stands together may come in several pieces.
    Text(Cow<'a, str>),
}

/// A start tag.
#[derive(Debug)]
pub struct Element<'a> {
    /// The local name.
    pub name: &'a str,
    /// The prefix as it is written; often empty.
    pub prefix: &'a str,
    tag: BytesStart<'a>,
}

impl Element<'_> {
    /// The value of the attribute with this local name; one without a prefix comes first.
    pub fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        self.plain(name).or_else(|| self.prefixed(name))
    }

    /// The value of the attribute of this name without a prefix.
    pub fn plain(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find(|prefix, local| prefix.is_none() && local == name)
    }

    /// The value of the attribute with this local name and any prefix (`r:id` beside `id`).
    pub fn prefixed(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find(|prefix, local| prefix.is_some() && local == name)
    }

    /// All attributes that are well formed: name as it is written, and value.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        let mut attributes = self.tag.attributes();
        attributes.with_checks(false);
        attributes.flatten().map(|attribute| (attribute.key.0, value(&attribute)))
    }

    fn find(&self, wanted: impl Fn(Option<&str>, &str) -> bool) -> Option<Cow<'_, str>> {
        let mut attributes = self.tag.attributes();
        let found = attributes.with_checks(false).flatten().find(|attribute| {
            let (prefix, local) = split(attribute.key.0);
            wanted(prefix, local)
        })?;
        Some(value(&found))
    }
}

fn value<'a>(attribute: &quick_xml::events::attributes::Attribute<'a>) -> Cow<'a, str> {
    attribute.normalized_value(XmlVersion::Implicit1_0).unwrap_or_else(|_| attribute.value.clone())
}

fn split(name: &str) -> (Option<&str>, &str) {
    match name.split_once(':') {
        Some((prefix, local)) => (Some(prefix), local),
        None => (None, name),
    }
}

/// Decodes XML by its byte order mark, else by its declaration, else as UTF-8.
pub fn decode(bytes: Vec<u8>) -> Decoded {
    let declared = declared_encoding(&bytes);
    encoding::decode(bytes, declared)
}

/// The encoding that the XML declaration names, if it names one.
pub fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..bytes.len().min(DECLARATION_BYTES))?;
    let head = head.trim_ascii_start().strip_prefix(b"<?xml")?;
    let head = head.get(..head.windows(2).position(|window| window == b"?>")?)?;
    let at = head.windows(8).position(|window| window == b"encoding")?;
    let value = head.get(at + 8..)?.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, value) = value.split_first()?;
    let end = value.iter().position(|byte| byte == quote)?;
    Encoding::for_label(value.get(..end)?)
}

/// Reads a decoded source.
pub struct Reader<'a> {
    source: &'a str,
    raw: quick_xml::Reader<&'a [u8]>,
    /// Local names of what is open.
    open: Vec<&'a str>,
    /// Elements open beyond [`MAX_DEPTH`].
    passed_over: usize,
    was_deep: bool,
    /// The element begun last has ended already (`<a/>`).
    is_empty_element: bool,
    offset: usize,
    has_ended: bool,
    damage: Option<String>,
}

impl<'a> Reader<'a> {
    pub fn new(source: &'a str) -> Self {
        let source = source.strip_prefix('\u{feff}').unwrap_or(source);
        let mut raw = quick_xml::Reader::from_str(source);
        let config = raw.config_mut();
        config.allow_dangling_amp = true;
        Self {
            source,
            raw,
            open: Vec::new(),
            passed_over: 0,
            was_deep: false,
            is_empty_element: false,
            offset: 0,
            has_ended: false,
            damage: None,
        }
    }

    /// The next event; `None` at the end, when all that was open is closed.
    pub fn next(&mut self) -> Option<Event<'a>> {
        if std::mem::take(&mut self.is_empty_element)
            && let Some(name) = self.open.pop()
        {
            return Some(Event::End(name));
        }
        while !self.has_ended {
            self.offset = self.position();
            match self.raw.read_event() {
                Ok(Raw::Start(tag)) => {
                    if let Some(element) = self.begin(tag) {
                        return Some(Event::Start(element));
                    }
                    self.passed_over += 1;
                }
                Ok(Raw::Empty(tag)) => {
                    if let Some(element) = self.begin(tag) {
                        self.is_empty_element = true;
                        return Some(Event::Start(element));
                    }
                }
                Ok(Raw::End(_)) if self.passed_over > 0 => self.passed_over -= 1,
                Ok(Raw::End(_)) => {
                    if let Some(name) = self.open.pop() {
                        return Some(Event::End(name));
                    }
                }
                Ok(Raw::Text(text)) => return Some(Event::Text(text.xml10_content())),
                Ok(Raw::CData(text)) => return Some(Event::Text(text.xml10_content())),
                Ok(Raw::GeneralRef(reference)) => {
                    let text = match (reference.is_char_ref(), reference.resolve_char_ref()) {
                        (true, Ok(Some(letter))) => Cow::Owned(letter.to_string()),
                        (true, _) => Cow::Borrowed("\u{fffd}"),
                        (false, _) => match resolve_predefined_entity(&reference) {
                            Some(text) => Cow::Borrowed(text),
                            // Unknown: it stays as it is written.
                            None => Cow::Owned(format!("&{};", &*reference)),
                        },
                    };
                    return Some(Event::Text(text));
                }
                Ok(Raw::Comment(_) | Raw::Decl(_) | Raw::PI(_) | Raw::DocType(_)) => {}
                Ok(Raw::Eof) => {
                    self.has_ended = true;
                    if !self.open.is_empty() {
                        self.damage = Some("it ends before its elements do".into());
                    }
                }
                Err(error) => {
                    self.has_ended = true;
                    self.damage = Some(format!("{error}, at byte {}", self.raw.error_position()));
                }
            }
        }
        self.open.pop().map(Event::End)
    }

    /// Passes over the rest of the element that began last, its end included.
    pub fn skip(&mut self) {
        let depth = self.open.len();
        while self.open.len() >= depth && self.next().is_some() {}
    }

    /// Where in the source the last event began, in bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// How many elements are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// After the end: what was wrong with the source. `damaged` if it was given up before its end, or `deep_nesting`.
    pub fn warning(&self) -> Option<Problem> {
        if let Some(what) = &self.damage {
            return Some(problem(reason::DAMAGED, format!("its XML is damaged: {what}")));
        }
        self.was_deep.then(|| problem(reason::DEEP_NESTING, format!("its XML is nested deeper than {MAX_DEPTH}")))
    }

    fn begin(&mut self, tag: BytesStart<'a>) -> Option<Element<'a>> {
        if self.open.len() >= MAX_DEPTH {
            self.was_deep = true;
            return None;
        }
        // The name as a part of the source, which outlives the event: it stands after the `<`.
        let start = self.offset + 1;
        let name = self.source.get(start..start + tag.name().0.len()).unwrap_or("");
        let (prefix, local) = split(name);
        self.open.push(local);
        Some(Element { name: local, prefix: prefix.unwrap_or(""), tag })
    }

    fn position(&self) -> usize {
        usize::try_from(self.raw.buffer_position()).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events as text: `+name` with its attributes, `-name`, and text in quotes.
    fn events(source: &str) -> (String, Option<String>) {
        let mut reader = Reader::new(source);
        let mut out = Vec::new();
        while let Some(event) = reader.next() {
            out.push(match event {
                Event::Start(element) => {
                    let attributes: Vec<_> =
                        element.attributes().map(|(name, value)| format!(" {name}={value}")).collect();
                    format!("+{}{}", element.name, attributes.concat())
                }
                Event::End(name) => format!("-{name}"),
                Event::Text(text) => format!("'{text}'"),
            });
        }
        assert_eq!(reader.depth(), 0);
        (out.join(" "), reader.warning().map(|warning| warning.reason))
    }

    #[test]
    fn what_comes_out() {
        let damaged = Some(reason::DAMAGED);
        for (source, want, warning) in [
            ("\u{feff}<?xml version='1.0'?><w:a x:b='1'>t<c/></w:a>", "+a x:b=1 't' +c -c -a", None),
            ("<a>x &amp; y&#65;&#x42;</a>", "+a 'x ' '&' ' y' 'A' 'B' -a", None),
            ("<a>x & y &b; &#0;</a>", "+a 'x ' '& y ' '&b;' ' ' '\u{fffd}' -a", None),
            ("<a b='&lt;&z;' c=d e='2'/>", "+a b=&lt;&z; e=2 -a", None),
            ("<a><![CDATA[<b>]]><!-- c --><?pi?></a>", "+a '<b>' -a", None),
            ("<!DOCTYPE a [<!ENTITY b 'bbb'>]><a>&b;</a>", "+a '&b;' -a", None),
            ("<a>one\r\ntwo\rthree</a>", "+a 'one\ntwo\nthree' -a", None),
            ("<a><b>x", "+a +b 'x' -b -a", damaged),
            ("<a><b>x</a> more", "+a +b 'x' -b -a", damaged),
            ("<a>x</a></b>", "+a 'x' -a", damaged),
            ("<a>x</a><b", "+a 'x' -a", damaged),
            ("", "", None),
            ("text", "'text'", None),
        ] {
            let (got, seen) = events(source);
            assert_eq!((got.as_str(), seen.as_deref()), (want, warning), "{source}");
        }
    }

    #[test]
    fn attributes_by_local_name() {
        let mut reader = Reader::new("<p:s r:id='r' id='p' n='1'/>");
        let Some(Event::Start(element)) = reader.next() else { panic!("no start") };
        assert_eq!((element.prefix, element.name), ("p", "s"));
        assert_eq!(element.get("id").as_deref(), Some("p"));
        assert_eq!(element.prefixed("id").as_deref(), Some("r"));
        assert_eq!(element.prefixed("n"), None);
    }

    #[test]
    fn an_element_can_be_passed_over() {
        for source in ["<a><b><b>x</b><c/></b>y</a>", "<a><b/>y</a>", "<a><b>y</b>y</a>"] {
            let mut reader = Reader::new(source);
            reader.next();
            reader.next();
            reader.skip();
            assert!(matches!(reader.next(), Some(Event::Text(text)) if text == "y"), "{source}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let depth = MAX_DEPTH + 1000;
        let source = "<a>".repeat(depth) + "core<b/>" + &"</a>".repeat(depth);
        let mut reader = Reader::new(&source);
        let (mut starts, mut text) = (0, String::new());
        while let Some(event) = reader.next() {
            match event {
                Event::Start(_) => starts += 1,
                Event::End(_) => {}
                Event::Text(piece) => text.push_str(&piece),
            }
        }
        assert_eq!((starts, text.as_str()), (MAX_DEPTH, "core"));
        assert_eq!(reader.warning().map(|warning| warning.reason), Some(reason::DEEP_NESTING.into()));
    }

    #[test]
    fn encodings() {
        let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        for (bytes, want) in [
            (b"<?xml version='1.0' encoding='ISO-8859-2'?><a>\xb1</a>".to_vec(), "ą"),
            (b"<?xml version=\"1.0\" encoding=\"Shift_JIS\"?><a>\x82\xa0</a>".to_vec(), "あ"),
            ("<a>ä</a>".as_bytes().to_vec(), "ä"),
            (wide("\u{feff}<?xml version='1.0' encoding='UTF-16'?><a>ä</a>"), "ä"),
            (wide("<?xml version='1.0' encoding='UTF-16'?><a>ä</a>"), "ä"),
        ] {
            let text = decode(bytes).text;
            assert!(events(&text).0.ends_with(&format!("'{want}' -a")), "{text}");
        }
    }
}
