//! A filter as text, in the language it is read from.

use super::facts::name_of;
use crate::index::{Compare, Fact, Filter};

/// Writes a filter so that [`parse`](super::parse) reads the same filter back. Groups of one part print as that part.
pub fn print(filter: &Filter) -> String {
    let mut out = String::new();
    write(filter, &mut out);
    out
}

fn write(filter: &Filter, out: &mut String) {
    match filter {
        Filter::And(parts) => write_joined(parts, " and ", out),
        Filter::Or(parts) => write_joined(parts, " or ", out),
        Filter::Not(inner) => {
            out.push_str("not ");
            write_part(inner, out);
        }
        Filter::Is { fact, compare, value } => {
            out.push_str(name_of(fact));
            if let Fact::Tag(key) | Fact::Meta(key) = fact {
                write_quoted(key, is_plain_key(key), out);
            }
            out.push_str(match compare {
                Compare::Matches => ":",
                Compare::Equal => "=",
                Compare::NotEqual => "!=",
                Compare::Less => "<",
                Compare::LessOrEqual => "<=",
                Compare::Greater => ">",
                Compare::GreaterOrEqual => ">=",
            });
            write_quoted(value, is_plain_value(value), out);
        }
    }
}

fn write_joined(parts: &[Filter], between: &str, out: &mut String) {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            out.push_str(between);
        }
        write_part(part, out);
    }
}

fn write_part(part: &Filter, out: &mut String) {
    let group = matches!(part, Filter::And(_) | Filter::Or(_));
    if group {
        out.push('(');
    }
    write(part, out);
    if group {
        out.push(')');
    }
}

fn write_quoted(text: &str, plain: bool, out: &mut String) {
    if plain {
        out.push_str(text);
        return;
    }
    out.push('"');
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out.push('"');
}

fn is_plain_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// A word that no operator's second half begins, so that `<` and `=…` do not become `<=`.
fn is_plain_value(value: &str) -> bool {
    let is_word = !value.is_empty() && value.chars().all(|c| !c.is_whitespace() && !matches!(c, '"' | '(' | ')'));
    is_word && !value.starts_with('=')
}
