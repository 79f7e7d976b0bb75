//! The filter language: `type:pdf path:guides/** tag.team=ops lang:de mtime>=2026-01-01 title:"release notes"`.
//!
//! ```text
//! filter    = all ("or" all)*
//! all       = one ("and"? one)*                  side by side means "and"
//! one       = "not" one | "(" filter ")" | condition
//! condition = field operator value               field: path name … tag.KEY meta.KEY
//! operator  = ":" | "=" | "!=" | "<" | "<=" | ">" | ">="
//! value     = word | "quoted, with \" and \\"    globs where the field is a path or a name
//! ```
//!
//! Useful for: text ⇄ [`Filter`]. Not for: deciding which chunks a filter allows, which is the index's business.

pub(super) mod facts;
mod print;

pub use print::print;

use self::facts::{check, field};
use super::{Error, Result};
use crate::index::{Compare, Filter};

/// The longest filter that is read, in bytes.
pub const MAX_FILTER_BYTES: usize = 16 * 1024;
/// The most conditions of one filter.
pub const MAX_CONDITIONS: usize = 256;
/// How deep parentheses and `not` may nest.
pub const MAX_DEPTH: usize = 256;

/// Reads a filter expression. Errors: `UnknownField` with the fields there are, `Filter` with the place and what was
/// expected there. O(length).
pub fn parse(text: &str) -> Result<Filter> {
    let mut parser = Parser { text, at: 0, depth: 0, conditions: 0 };
    if text.len() > MAX_FILTER_BYTES {
        return parser.fail(format!("the filter has {} bytes, at most {MAX_FILTER_BYTES} are read", text.len()));
    }
    let filter = parser.any()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(filter),
        Some(_) => parser.fail("a `)` without its `(`"),
    }
}

struct Parser<'a> {
    text: &'a str,
    /// Byte offset of what comes next; always at a character's start.
    at: usize,
    depth: usize,
    conditions: usize,
}

/// How much of the text an error shows.
const SHOWN_CHARS: usize = 30;

impl<'a> Parser<'a> {
    fn any(&mut self) -> Result<Filter> {
        let mut parts = vec![self.all()?];
        while self.take_keyword("or") {
            parts.push(self.all()?);
        }
        Ok(one_or(parts, Filter::Or))
    }

    fn all(&mut self) -> Result<Filter> {
        let mut parts = vec![self.one()?];
        loop {
            if self.take_keyword("and") {
                parts.push(self.one()?);
                continue;
            }
            self.skip_space();
            match self.peek() {
                None | Some(')') => break,
                Some(_) if self.sees_keyword("or") => break,
                Some(_) => parts.push(self.one()?),
            }
        }
        Ok(one_or(parts, Filter::And))
    }

    fn one(&mut self) -> Result<Filter> {
        self.skip_space();
        if self.depth == MAX_DEPTH {
            return self.fail(format!("nested deeper than {MAX_DEPTH}"));
        }
        self.depth += 1;
        let filter = if self.take_keyword("not") {
            Filter::Not(Box::new(self.one()?))
        } else if self.take('(') {
            let inner = self.any()?;
            self.skip_space();
            if !self.take(')') {
                return self.fail("expected `)`");
            }
            inner
        } else {
            self.condition()?
        };
        self.depth -= 1;
        Ok(filter)
    }

    fn condition(&mut self) -> Result<Filter> {
        for keyword in ["and", "or"] {
            if self.sees_keyword(keyword) {
                return self.fail(format!("expected a condition before `{keyword}`"));
            }
        }
        let start = self.at;
        let fail_here = |parser: &mut Self, what: String| {
            parser.at = start;
            parser.fail(what)
        };
        if self.conditions == MAX_CONDITIONS {
            return self.fail(format!("more than {MAX_CONDITIONS} conditions"));
        }
        self.conditions += 1;

        let name = self.field_name();
        match (name, self.peek()) {
            ("", None) => return fail_here(self, "expected a condition like `type:pdf`".into()),
            ("", Some(found)) => {
                return fail_here(self, format!("expected a condition like `type:pdf`, found `{found}`"));
            }
            (name, _) if name.starts_with('-') => {
                return fail_here(self, "`-` excludes nothing here, write `not` before the condition".into());
            }
            _ => {}
        }
        let key = if name.ends_with('.') && self.peek() == Some('"') { Some(self.quoted()?) } else { None };
        self.skip_space();
        let Some(compare) = self.operator() else {
            return fail_here(self, "expected a condition like `type:pdf`, found a word without an operator".into());
        };
        let fact = field(name, key)?;
        let spaced = self.skip_space();
        let value_at = self.at;
        let value = match self.peek() {
            Some('"') => self.quoted()?,
            _ => {
                let word = self.word()?;
                let missing = word.is_empty() || (spaced && is_keyword(word));
                if missing {
                    self.at = value_at;
                    return self.fail("expected a value here");
                }
                word.to_owned()
            }
        };
        match check(&fact, compare, value) {
            Ok(value) => Ok(Filter::Is { fact, compare, value }),
            Err(what) => fail_here(self, what),
        }
    }

    /// What stands before an operator: no space, quote or parenthesis.
    fn field_name(&mut self) -> &'a str {
        self.take_while(|c| !c.is_whitespace() && !matches!(c, ':' | '=' | '!' | '<' | '>' | '"' | '(' | ')'))
    }

    fn operator(&mut self) -> Option<Compare> {
        const OPERATORS: [(&str, Compare); 7] = [
            ("!=", Compare::NotEqual),
            ("<=", Compare::LessOrEqual),
            (">=", Compare::GreaterOrEqual),
            (":", Compare::Matches),
            ("=", Compare::Equal),
            ("<", Compare::Less),
            (">", Compare::Greater),
        ];
        let rest = self.rest();
        let (sign, compare) = OPERATORS.into_iter().find(|(sign, _)| rest.starts_with(sign))?;
        self.at += sign.len();
        Some(compare)
    }

    fn word(&mut self) -> Result<&'a str> {
        let word = self.take_while(|c| !c.is_whitespace() && !matches!(c, '"' | '(' | ')'));
        match self.peek() {
            Some('"' | '(') => self.fail("quote a value that holds a quote or a parenthesis"),
            _ => Ok(word),
        }
    }

    fn quoted(&mut self) -> Result<String> {
        let start = self.at;
        self.take('"');
        let mut value = String::new();
        loop {
            let plain = self.take_while(|c| c != '"' && c != '\\');
            value.push_str(plain);
            if self.take('"') {
                return Ok(value);
            }
            let escape = self.at;
            self.take('\\');
            match self.peek() {
                Some(escaped @ ('"' | '\\')) => {
                    value.push(escaped);
                    self.take(escaped);
                }
                Some(_) => {
                    self.at = escape;
                    return self.fail("only `\\\"` and `\\\\` are escapes");
                }
                None => {
                    self.at = start;
                    return self.fail("the quote is not closed");
                }
            }
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn take_while(&mut self, part: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = rest.find(|c| !part(c)).and_then(|end| rest.get(..end)).unwrap_or(rest);
        self.at += taken.len();
        taken
    }

    /// True if there was space.
    fn skip_space(&mut self) -> bool {
        !self.take_while(char::is_whitespace).is_empty()
    }

    /// A keyword is a whole word, in either case, that no operator follows.
    fn sees_keyword(&mut self, keyword: &str) -> bool {
        let start = self.at;
        let found = self.take_keyword(keyword);
        self.at = start;
        found
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        let start = self.at;
        self.skip_space();
        let name = self.field_name();
        let ends_here = matches!(self.peek(), None | Some('(' | ')')) || self.peek().is_some_and(char::is_whitespace);
        let found = name.eq_ignore_ascii_case(keyword) && ends_here;
        if !found {
            self.at = start;
        }
        found
    }

    fn fail<T>(&self, what: impl Into<String>) -> Result<T> {
        let rest = self.rest().trim_start();
        let mut at: String = rest.chars().take(SHOWN_CHARS).collect();
        if at.len() < rest.len() {
            at.push('…');
        }
        if at.is_empty() {
            at.push_str("end of filter");
        }
        Err(Error::Filter { at, what: what.into() })
    }
}

fn is_keyword(word: &str) -> bool {
    ["and", "or", "not"].iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

fn one_or(mut parts: Vec<Filter>, many: fn(Vec<Filter>) -> Filter) -> Filter {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            many(parts)
        }
        None => many(parts),
    }
}

#[cfg(test)]
mod tests;
