//! Where a text holds links, so that an answer shows none that the passages do not hold.
//!
//! Useful for: keeping an answer from carrying data out or readers elsewhere: a model that obeyed a document can show only
//! addresses that stand in the documents. Not for: judging where an address leads.

use std::ops::Range;

/// Schemes that need no `//`.
const SCHEMES: [&str; 5] = ["data:", "javascript:", "mailto:", "vbscript:", "blob:"];

/// The links of a run of text without white space, in order, not overlapping. `after_bracket`: a `]` stands right before
/// the run, so that `(…` is a target.
pub(super) fn links(run: &str, after_bracket: bool) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let lower = run.to_ascii_lowercase();
    let target = if after_bracket && run.starts_with('(') { Some(0) } else { lower.find("](").map(|at| at + 1) };
    if let Some(open) = target {
        let close = run[open..].find(')').map_or(run.len(), |at| open + at);
        if close > open + 1 {
            found.push(open + 1..close);
        }
    }
    for attribute in ["src=", "href="] {
        if let Some(at) = lower.find(attribute) {
            let start = at + attribute.len();
            let body = run[start..].trim_start_matches(['"', '\'']);
            let start = run.len() - body.len();
            found.push(start..start + body.find(['"', '\'', '>']).unwrap_or(body.len()));
        }
    }
    let mut from = 0;
    while let Some(start) = address(&lower, from) {
        let body = &run[start..];
        let end =
            start + body.find(['"', '<', '>', ')', ']', '`', '\\', '|']).filter(|at| *at > 0).unwrap_or(body.len());
        let end =
            start + run[start..end.max(start)].trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_']).len();
        // `https:\\host` is read as an address too.
        let end = if end <= start + 7 { run.len() } else { end };
        found.push(start..end);
        from = end.max(start + 1);
    }
    found.retain(|range| !range.is_empty());
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    found.dedup_by(|later, earlier| later.start < earlier.end);
    found
}

/// Where the next address begins: at its scheme, at `//host.` or at `www.`.
fn address(lower: &str, from: usize) -> Option<usize> {
    let rest = lower.get(from..)?;
    let slashes = ["//", ":\\\\"].into_iter().flat_map(|mark| rest.match_indices(mark)).map(|(at, _)| from + at);
    let slashes = slashes.filter(|at| {
        let after = lower[*at..].trim_start_matches(['/', '\\', ':']);
        let scheme = lower[..*at].ends_with(':') || lower[*at..].starts_with(':');
        after.starts_with(|c: char| c.is_alphanumeric() || c == '[') && (scheme || host(after))
    });
    let slashes = slashes.map(|at| {
        let before = lower[..at].trim_end_matches(':');
        let scheme =
            before.len() - before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "+-.".contains(c)).len();
        if lower[..at].ends_with(':') || lower[at..].starts_with(':') { (before.len() - scheme).max(from) } else { at }
    });
    let named = SCHEMES.iter().chain(&["www."]).filter_map(|name| {
        let at = from + rest.find(name)?;
        let word = lower[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
        (!word && lower.len() > at + name.len()).then_some(at)
    });
    slashes.chain(named).min()
}

/// A host has a dot inside before any slash.
fn host(text: &str) -> bool {
    let name = text.split(['/', '?', '#', ':']).next().unwrap_or(text);
    name.trim_matches('.').contains('.') && name.chars().all(|c| c.is_alphanumeric() || ".-_".contains(c))
}

/// Takes from a text the links that are not allowed, with the brackets left empty by it: `![alt](bad)` becomes `alt`.
/// Returns how many were taken.
pub(super) fn strip(text: &str, allowed: &dyn Fn(&str) -> bool) -> (String, usize) {
    let mut out = String::with_capacity(text.len());
    let mut taken = 0;
    let mut bracket = false;
    for run in text.split_inclusive(char::is_whitespace) {
        let word = run.trim_end();
        let mut at = 0;
        for link in links(word, bracket) {
            if !allowed(&word[link.clone()]) {
                out.push_str(&word[at..link.start]);
                at = link.end;
                taken += 1;
            }
        }
        out.push_str(&word[at..]);
        out.push_str(&run[word.len()..]);
        bracket = word.ends_with(']') && word.len() == run.len();
    }
    if taken == 0 { (out, 0) } else { (unbracket(&out), taken) }
}

/// `![alt]()` and `[text]()` become their text, `<>` and `()` go.
fn unbracket(text: &str) -> String {
    let mut out = text.to_owned();
    while let Some(empty) = out.find("]()") {
        let open = out[..empty].rfind('[');
        out.replace_range(empty..empty + 3, "");
        if let Some(open) = open {
            let image = out[..open].ends_with('!');
            out.replace_range(open - usize::from(image)..=open, "");
        }
    }
    for empty in [" ()", " <>", "()", "<>"] {
        out = out.replace(empty, "");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_are_not_allowed_go() {
        let allowed = |link: &str| "see https://acme.example/docs now".contains(link);
        for (text, want) in [
            ("See https://acme.example/docs.", "See https://acme.example/docs."),
            ("See https://evil.example/?q=secret now", "See  now"),
            ("![x](https://evil.example/a.png) done", "x done"),
            ("![x y](//evil.example/a.png)", "x y"),
            ("[click](http://evil.example)", "click"),
            ("[docs](https://acme.example/docs)", "[docs](https://acme.example/docs)"),
            ("<img src=\"&#47;&#47;evil.example/x\">", "<img src=\"\">"),
            ("data:text/html;base64,AAAA", ""),
            ("www.evil.example", ""),
            ("HTTPS://EVIL.EXAMPLE/x", ""),
            ("https:\\\\evil.example\\x", ""),
            ("//evil.example/x", ""),
            ("a // comment and x//y", "a // comment and x//y"),
            ("either/or 1/2 and a:b", "either/or 1/2 and a:b"),
            ("the data: it is here", "the data: it is here"),
            ("[1](https://evil.example)", "1"),
            ("ftp://evil.example/a and git+ssh://evil.example/b", " and "),
        ] {
            assert_eq!(strip(text, &allowed).0, want, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_left_of_a_strange_address(before in "[a-zé漢\\[\\]()!:/.<\" ]{0,12}", after in "[a-zé漢\\[\\]()!:/.>\" ]{0,12}") {
            let text = format!("{before}https://evil.example/x{after}");
            let (left, _) = strip(&text, &|_| false);
            assert!(!left.contains("https://evil"), "{text} -> {left}");
        }
    }
}
