//! Which line of program text begins something with a name?
//!
//! Looks at the words of one line, no grammar. Good for finding functions, classes and modules in code that is laid out
//! as people do; not for telling what a name means.

/// Something with a name that a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'a> {
    pub name: &'a str,
    /// Others with names may stand inside it: a class, a module.
    pub is_container: bool,
}

/// What sort of layout a language has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Keywords before names, bodies in braces or by indentation.
    Keywords,
    /// `[section]` lines: TOML, INI.
    Sections,
    /// `key:` at the start of a line: YAML.
    Keys,
    /// `NAME = …`, `target:`: nothing to be found.
    Plain,
}

pub fn family(language: &str) -> Family {
    match language {
        "toml" | "ini" => Family::Sections,
        "yaml" => Family::Keys,
        "xml" | "css" | "make" | "cmake" | "dockerfile" | "batch" | "assembly" | "basic" => Family::Plain,
        _ => Family::Keywords,
    }
}

/// Words that may stand before the keyword of an item.
const MODIFIERS: &[&str] = &[
    "pub",
    "export",
    "default",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "abstract",
    "final",
    "override",
    "virtual",
    "inline",
    "const",
    "unsafe",
    "extern",
    "open",
    "data",
    "sealed",
    "case",
    "suspend",
    "partial",
    "readonly",
    "declare",
    "local",
    "implicit",
    "lazy",
    "companion",
    "inner",
    "fileprivate",
    "mutating",
    "template",
    "typedef",
    "native",
    "synchronized",
    "strictfp",
    "explicit",
    "constexpr",
    "friend",
    "create",
    "or",
    "replace",
    "temp",
    "temporary",
    "unlogged",
    "unique",
    "materialized",
    "actual",
    "expect",
    "tailrec",
    "operator",
    "infix",
    "value",
    "annotation",
    "auto",
    "\"c\"",
    "new",
    "non-sealed",
];

/// Keywords of items that hold no other named items (or whose inner ones are of no interest).
const ITEMS: &[&str] = &[
    "fn",
    "def",
    "function",
    "func",
    "fun",
    "sub",
    "proc",
    "procedure",
    "macro_rules!",
    "defp",
    "defmacro",
    "table",
    "view",
    "index",
    "trigger",
    "message",
    "query",
    "mutation",
    "resource",
    "variable",
    "macro",
    "subroutine",
    "rpc",
];

/// Keywords of items that may hold others.
const CONTAINERS: &[&str] = &[
    "class",
    "struct",
    "enum",
    "union",
    "trait",
    "interface",
    "impl",
    "mod",
    "module",
    "namespace",
    "object",
    "record",
    "protocol",
    "extension",
    "actor",
    "defmodule",
    "package",
    "service",
    "contract",
    "library",
    "instance",
    "schema",
];

/// Reads the first words of a line. `None` for lines that begin nothing.
pub fn symbol<'a>(line: &'a str, family: Family) -> Option<Symbol<'a>> {
    let line = line.trim();
    match family {
        Family::Plain => None,
        Family::Sections => {
            let inside = line.strip_prefix('[')?.trim_start_matches('[');
            let name = inside[..inside.find(']')?].trim();
            (!name.is_empty()).then_some(Symbol { name, is_container: false })
        }
        Family::Keys => {
            let (name, rest) = line.split_once(':')?;
            let name = name.trim().trim_matches(['"', '\'']);
            let is_key = !name.is_empty()
                && !name.starts_with(['-', '#', '{', '['])
                && (rest.is_empty() || rest.starts_with(' '));
            is_key.then_some(Symbol { name, is_container: false })
        }
        Family::Keywords => keyword_symbol(line),
    }
}

/// Longest line looked at: a minified file is one line, and begins nothing.
const MAX_LINE: usize = 1000;

fn keyword_symbol(line: &str) -> Option<Symbol<'_>> {
    if line.len() > MAX_LINE || line.starts_with(['/', '#', '*', '"', '\'', '-', '.', ')', '}']) {
        return None;
    }
    let mut rest = line;
    // A visibility with a place: `pub(crate)`.
    for _ in 0..8 {
        let word = first_word(rest);
        let lower = word.to_ascii_lowercase();
        let bare = lower.split_once('(').map_or(lower.as_str(), |(before, _)| before);
        if word.is_empty() {
            return None;
        }
        let after = rest[word.len()..].trim_start();
        if CONTAINERS.contains(&lower.as_str()) || lower.starts_with("impl<") || lower == "template<" {
            return container(&lower, &rest[word.len().min(rest.len())..], rest);
        }
        if ITEMS.contains(&bare) || (bare == "func" && lower.starts_with("func(")) {
            return item(after, word, rest);
        }
        if bare == "type" {
            // Go: `type Name struct {`; elsewhere an alias.
            let name = identifier(after)?;
            let is_container =
                after[name.len()..].trim_start().starts_with(['s', 'i']) && after.trim_end().ends_with('{');
            return Some(Symbol { name, is_container });
        }
        if matches!(bare, "const" | "let" | "var" | "val")
            && let Some(symbol) = bound_function(after)
        {
            return Some(symbol);
        }
        if !MODIFIERS.contains(&bare) {
            break;
        }
        rest = after;
    }
    c_function(line)
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '{' | ';' | '=' | ':')).unwrap_or(text.len());
    &text[..end]
}

/// The name at the start of `text`: letters, digits, `_`, `$`, and what is between names: `.`, `::`.
fn identifier(text: &str) -> Option<&str> {
    let end = text
        .char_indices()
        .find(|&(at, c)| {
            let joins = matches!(c, '.' | ':')
                && text[at + 1..].starts_with(|n: char| n == ':' || n.is_alphanumeric() || n == '_');
            !(c.is_alphanumeric() || matches!(c, '_' | '$' | '!' | '?' | '~') || joins)
        })
        .map_or(text.len(), |(at, _)| at);
    let name = text[..end].trim_end_matches([':', '.']);
    name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '~')).then_some(name)
}

fn container<'a>(keyword: &str, after: &'a str, rest: &'a str) -> Option<Symbol<'a>> {
    let mut after = after.trim_start();
    if keyword.starts_with("impl") {
        // `impl<T> Trait for Type`: the type is the name.
        let line = rest["impl".len()..].trim_start();
        let line = skip_angles(line).trim_start();
        let name = line.split_once(" for ").map_or(line, |(_, name)| name);
        return Some(Symbol { name: identifier(name.trim_start_matches(['&', '\'', '(', ' ']))?, is_container: true });
    }
    // `enum class Name`, `object Name`, `data class`.
    for inner in ["class ", "struct ", "object "] {
        after = after.strip_prefix(inner).unwrap_or(after).trim_start();
    }
    let name = identifier(after)?;
    // A declaration without a body, or a variable of that type: `struct point p;`.
    let is_use =
        after[name.len()..].trim_start().starts_with(|c: char| c.is_alphabetic() || matches!(c, '*' | '=' | ')' | ','))
            && after.trim_end().ends_with([';', ',', ')']);
    (!is_use && name != "for").then_some(Symbol { name, is_container: true })
}

fn skip_angles(text: &str) -> &str {
    if !text.starts_with('<') {
        return text;
    }
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if at > 0 && text.as_bytes()[at - 1] == b'-' => {}
            b'>' => {
                depth -= 1;
                if depth == 0 {
                    return &text[at + 1..];
                }
            }
            _ => {}
        }
    }
    ""
}

fn item<'a>(after: &'a str, word: &'a str, rest: &'a str) -> Option<Symbol<'a>> {
    // Go methods: `func (r *Receiver) Name(`.
    let receiver = if word.contains('(') { &rest[word.find('(').unwrap_or(0)..] } else { after };
    let mut name = match receiver.strip_prefix('(') {
        Some(inside) => inside.split_once(')').map_or("", |(_, name)| name).trim_start(),
        None => after,
    };
    for word in ["if not exists ", "IF NOT EXISTS ", "*"] {
        name = name.strip_prefix(word).unwrap_or(name).trim_start();
    }
    let name = skip_angles(name).trim_start().trim_start_matches(['`', '"']);
    Some(Symbol { name: identifier(name)?, is_container: false })
}

/// `const name = (…) =>`, `const name = function`, `val name = fun`.
fn bound_function(after: &str) -> Option<Symbol<'_>> {
    let name = identifier(after)?;
    let value = after[name.len()..].split_once('=')?.1.trim_start();
    let is_function = value.starts_with("function") || value.starts_with("async") || value.starts_with("fun ") || {
        value.starts_with(['(', '<']) && (value.contains("=>") || value.trim_end().ends_with('('))
    };
    is_function.then_some(Symbol { name, is_container: false })
}

/// Words that look like a call or a definition in the C family and are none.
const NOT_FUNCTIONS: &[&str] = &[
    "if",
    "for",
    "while",
    "switch",
    "return",
    "else",
    "catch",
    "do",
    "case",
    "throw",
    "new",
    "delete",
    "sizeof",
    "using",
    "goto",
    "await",
    "yield",
    "assert",
    "print",
    "echo",
    "and",
    "or",
    "not",
    "in",
    "elif",
    "with",
    "try",
    "match",
    "loop",
    "use",
    "let",
    "when",
    "where",
    "lock",
    "foreach",
    "synchronized",
    "super",
    "this",
    "self",
    "unless",
    "until",
    "end",
];

/// `type name(…) {` of C, C++, Java and C#, and `name(…) {` of a method or a shell function: at least the brace or the
/// end of an argument list must be on the line, and no `;` or `=`.
fn c_function(line: &str) -> Option<Symbol<'_>> {
    let open = line.find('(')?;
    let before = line[..open].trim_end();
    if before.contains(['=', ';', '"', '\'', '{', '}', '!', '?', '+', '|', '/', '@', '[', ',', '$']) {
        return None;
    }
    let start = before.rfind(|c: char| c.is_whitespace() || matches!(c, '*' | '&' | '>')).map_or(0, |at| at + 1);
    let name = identifier(&before[start..])?;
    let first = first_word(before);
    let end = line.trim_end();
    let has_body = end.ends_with('{') || end.ends_with("()") || end.ends_with("() {");
    let continues = start > 0 && end.ends_with([')', ',']);
    let is_statement = NOT_FUNCTIONS.contains(&first) || NOT_FUNCTIONS.contains(&name) || name.contains('.');
    ((has_body || continues) && !is_statement && (start > 0 || end.ends_with('{')))
        .then_some(Symbol { name, is_container: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_begin_something() {
        let items = [
            ("fn main() {", "main"),
            ("pub(crate) async fn read<T>(x: T) -> u8 {", "read"),
            ("macro_rules! id_text {", "id_text"),
            ("def start(self):", "start"),
            ("async def go():", "go"),
            ("  def self.build(x)", "self.build"),
            ("export default function greet(name: string) {", "greet"),
            ("function* gen() {", "gen"),
            ("export const add = (a, b) => {", "add"),
            ("func (s *Server) Serve(ctx context.Context) error {", "Serve"),
            ("func main() {", "main"),
            ("public static void main(String[] args) {", "main"),
            ("static int parse(const char *s, size_t n)", "parse"),
            ("void Pump::start(int speed) {", "Pump::start"),
            ("~Pump() {", "~Pump"),
            ("fun List<Int>.total(): Int {", "List"),
            ("CREATE TABLE IF NOT EXISTS pumps (", "pumps"),
            ("create or replace function total(a int)", "total"),
            ("sub handler {", "handler"),
            ("deploy() {", "deploy"),
            ("type Alias = u8;", "Alias"),
        ];
        for (line, name) in items {
            assert_eq!(symbol(line, Family::Keywords), Some(Symbol { name, is_container: false }), "{line}");
        }
        let containers = [
            ("class Pump(Base):", "Pump"),
            ("public abstract class Pump<T> extends Base {", "Pump"),
            ("impl<'a, T: Fn() -> u8> fmt::Display for Pump<T> {", "Pump"),
            ("impl Pump {", "Pump"),
            ("pub struct Pump {", "Pump"),
            ("enum class Mode : int {", "Mode"),
            ("data class Point(val x: Int)", "Point"),
            ("type Server struct {", "Server"),
            ("namespace a::b {", "a::b"),
            ("defmodule App.Repo do", "App.Repo"),
            ("export interface Options {", "Options"),
        ];
        for (line, name) in containers {
            assert_eq!(symbol(line, Family::Keywords), Some(Symbol { name, is_container: true }), "{line}");
        }
    }

    #[test]
    fn lines_that_begin_nothing() {
        for line in [
            "",
            "}",
            "// fn no()",
            "# def no",
            "* class X",
            "if (x) {",
            "for (int i = 0; i < n; i++) {",
            "return call(x);",
            "let x = 5;",
            "const N = 3;",
            "x = foo(1)",
            "foo(1, 2);",
            "struct point p;",
            "import os",
            "use std::fmt;",
            "} else if (y) {",
            "@decorator(arg)",
            "self.call(",
            "print(x)",
            "\"class X\"",
            "é",
            "(",
            "((((",
            "impl<",
            "func (",
            "fn",
            "class",
            "type",
            "const",
        ] {
            assert_eq!(symbol(line, Family::Keywords), None, "{line}");
        }
        assert_eq!(symbol(&format!("fn a() {{{}}}", "x;".repeat(1000)), Family::Keywords), None);
    }

    #[test]
    fn configuration() {
        let name = |line, family| symbol(line, family).map(|s| s.name);
        assert_eq!(name("[package.metadata]", Family::Sections), Some("package.metadata"));
        assert_eq!(name("[[bin]]", Family::Sections), Some("bin"));
        assert_eq!(name("a = [1]", Family::Sections), None);
        assert_eq!(name("services:", Family::Keys), Some("services"));
        assert_eq!(name("- x: y", Family::Keys), None);
        assert_eq!(name("url=http://x", Family::Keys), None);
        assert_eq!(name(".a: b", Family::Plain), None);
    }
}
