//! Results of a query, in each format that is not JSON.

use std::fmt::Write as _;

use rag::serve::wire::{Chunk, DenseExplain, Hit, NearMiss, QueryResult, Snippet};

use super::{
    Screen, Style, count,
    places::{Places, location},
    sanitize,
};

/// So many copies of a result are named on the screen; JSON names all.
const MAX_NAMED: usize = 5;

/// For people: place, heading path, relevance, and the part of the text that matches.
pub fn text(screen: &Screen, places: &Places, found: &QueryResult) -> String {
    let mut out = String::new();
    if let Some(explain) = &found.explain {
        let line = format!(
            "weight of dense {:.3}, of lexical {:.3} · fertility {:.2} · trust {:.2} · code {:.2} · {} candidates",
            explain.weight,
            1.0 - explain.weight,
            explain.fertility,
            explain.trust,
            explain.code,
            explain.candidates
        );
        push_line(&mut out, &screen.paint(Style::Dim, &line));
        if let Some(dense) = &explain.dense {
            push_line(&mut out, &screen.paint(Style::Dim, &sanitize::line(&how_dense(dense))));
        }
    }
    for hit in &found.results {
        let chunk = &hit.chunk;
        let place = places.show(screen, &chunk.path, chunk.lines, chunk.pages);
        let heading = screen.paint(Style::Dim, &sanitize::line(&heading_path(chunk)));
        let relevance = screen.paint(strength_style(hit.relevance), &format!("{:.2}", hit.relevance));
        let rank = screen.paint(Style::Bold, &format!("{}.", hit.rank));
        let id = screen.paint(Style::Dim, &chunk.chunk_id.to_string());
        let gap = if heading.is_empty() { "" } else { "  " };
        let state = state(screen, hit.state.as_deref());
        push_line(&mut out, &format!("{rank} {place}{gap}{heading}  {relevance}  {id}{state}"));
        for line in hit.before.iter().flat_map(|chunk| chunk.text.lines()) {
            push_line(&mut out, &screen.paint(Style::Dim, &format!("   {}", sanitize::line(line))));
        }
        push_line(&mut out, &format!("   {}", snippet(screen, hit)));
        if let Some(line) = also_in(hit.copies.iter().map(|copy| copy.path.as_str())) {
            push_line(&mut out, &screen.paint(Style::Dim, &format!("   {line}")));
        }
        if !hit.duplicates.is_empty() {
            let line = format!("   {} like it left out (`--duplicates`)", count(hit.duplicates.len() as u64, "chunk"));
            push_line(&mut out, &screen.paint(Style::Dim, &line));
        }
        for line in hit.after.iter().flat_map(|chunk| chunk.text.lines()) {
            push_line(&mut out, &screen.paint(Style::Dim, &format!("   {}", sanitize::line(line))));
        }
        if let Some(explain) = &hit.explain {
            let rank = |rank: Option<usize>| rank.map_or("–".to_string(), |rank| format!("#{rank}"));
            let reranked = explain.rerank.map(|score| format!("score {:.4} by reranker {score:.3} · ", hit.score));
            let line = format!(
                "   {}{} {:.4} = lexical {:.4} ({} {:.3} → {:.3}) + dense {:.4} ({} {} → {:.3}) · coverage {:.2}",
                reranked.as_deref().unwrap_or_default(),
                if reranked.is_some() { "fused" } else { "score" },
                explain.fused,
                explain.lexical.contribution,
                rank(explain.lexical.rank),
                explain.lexical.score.unwrap_or_default(),
                explain.lexical.normalised,
                explain.dense.contribution,
                rank(explain.dense.rank),
                explain.dense.score.map_or("–".to_string(), |score| format!("{score:.3}")),
                explain.dense.normalised,
                explain.coverage,
            );
            push_line(&mut out, &screen.paint(Style::Dim, &line));
        }
    }
    out
}

/// ` (stale)`, ` (missing)`, or nothing.
pub fn state(screen: &Screen, word: Option<&str>) -> String {
    word.map_or(String::new(), |word| {
        format!("  {}", screen.paint(Style::Warn, &format!("({})", sanitize::line(word))))
    })
}

/// What to try where nothing was found.
pub fn near_miss(miss: &NearMiss) -> String {
    let place = location(&miss.path, miss.lines, miss.pages);
    let NearMiss { relevance, remedy, .. } = miss;
    match &*miss.left_out_by {
        "filter" => format!("without the filter the best is {place}, relevance {relevance:.2}"),
        "collection" => format!("in another collection the best is {place}, relevance {relevance:.2}: `{remedy}`"),
        "mode" => format!("by meaning the best is {place}, relevance {relevance:.2}: `{remedy}`"),
        _ => format!("the best left out is {place}, relevance {relevance:.2}: `{remedy}` lets it in"),
    }
}

/// `also in a.md, b.md`, few of many; `None` of nothing.
pub fn also_in<'p>(paths: impl ExactSizeIterator<Item = &'p str>) -> Option<String> {
    let more = paths.len().saturating_sub(MAX_NAMED);
    let named: Vec<_> = paths.take(MAX_NAMED).map(sanitize::line).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("also in {}{more}", named.join(", ")))
}

/// One line on how the dense leg was searched.
fn how_dense(dense: &DenseExplain) -> String {
    let DenseExplain { plan, effort, code_bits, segments, evaluated, hops, rescored } = dense;
    let mut line = format!("dense by {plan} of {segments} segments, {effort}");
    if *code_bits > 0 {
        let _ = write!(line, " · {evaluated} codes of {code_bits} bits, {hops} hops, {rescored} rows scored again");
    }
    line
}

/// Each document once, best first.
pub fn paths(found: &QueryResult) -> String {
    let mut seen = std::collections::BTreeSet::new();
    let mut out = String::new();
    let paths = found.results.iter().flat_map(|hit| {
        std::iter::once(&hit.chunk.path).chain(hit.copies.iter().chain(&hit.duplicates).map(|copy| &copy.path))
    });
    for path in paths.filter(|path| seen.insert(path.as_str())) {
        push_line(&mut out, &sanitize::line(path));
    }
    out
}

/// A numbered Markdown list with quotes.
pub fn markdown(found: &QueryResult) -> String {
    let mut out = String::new();
    for hit in &found.results {
        let chunk = &hit.chunk;
        let place = location(&chunk.path, chunk.lines, chunk.pages);
        let heading = heading_path(chunk);
        let gap = if heading.is_empty() { "" } else { " — " };
        push_line(
            &mut out,
            &format!("{}. **`{}`**{gap}{}\n", hit.rank, sanitize::line(&place), sanitize::line(&heading)),
        );
        for line in sanitize::text(chunk.text.trim()).lines() {
            push_line(&mut out, format!("   > {line}").trim_end());
        }
        out.push('\n');
    }
    out
}

/// Passages ready to be put before a question to a model.
pub fn context(found: &QueryResult) -> String {
    let mut out = String::new();
    for hit in &found.results {
        let chunk = &hit.chunk;
        let place = location(&chunk.path, chunk.lines, chunk.pages);
        let heading = heading_path(chunk);
        let gap = if heading.is_empty() { "" } else { " — " };
        push_line(&mut out, &format!("[{}] {}{gap}{}", hit.rank, sanitize::line(&heading), sanitize::line(&place)));
        let neighbours = |chunks: &[Chunk]| chunks.iter().map(|chunk| chunk.text.clone()).collect::<Vec<_>>();
        let mut parts = neighbours(&hit.before);
        parts.extend((!chunk.context.is_empty()).then(|| chunk.context.clone()));
        parts.push(chunk.text.clone());
        parts.extend(neighbours(&hit.after));
        push_line(&mut out, sanitize::text(parts.join("\n").trim()).as_ref());
        out.push('\n');
    }
    out
}

/// `Title › Heading › Sub`, the title left out where the first heading repeats it.
pub fn heading_path(chunk: &Chunk) -> String {
    let title = chunk.title.as_deref().filter(|title| chunk.heading.first().is_none_or(|first| first != title));
    title.into_iter().chain(chunk.heading.iter().map(String::as_str)).collect::<Vec<_>>().join(" › ")
}

fn strength_style(relevance: f64) -> Style {
    if relevance >= 0.5 {
        Style::Good
    } else if relevance >= 0.2 {
        Style::Warn
    } else {
        Style::Bad
    }
}

/// The snippet on one line, matches painted, an ellipsis where text was left out.
fn snippet(screen: &Screen, hit: &Hit) -> String {
    let Snippet { text, start, highlights } = &hit.snippet;
    let mut out = String::new();
    let mut at = 0;
    for &[from, to] in highlights {
        // What another program says of its text is not taken for granted.
        let (Some(between), Some(matched)) = (text.get(at..from), text.get(from..to)) else { continue };
        out.push_str(&one_line(between));
        out.push_str(&screen.paint(Style::Match, &one_line(matched)));
        at = to;
    }
    out.push_str(&one_line(&text[at..]));
    let is_more = |part: Option<&str>| part.is_some_and(|part| !part.trim().is_empty());
    let before = if is_more(hit.chunk.text.get(..*start)) { "… " } else { "" };
    let after = if is_more(hit.chunk.text.get(start.saturating_add(text.len())..)) { " …" } else { "" };
    format!("{before}{}{after}", out.trim())
}

/// Runs of white space become one space; the rest is made safe.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() {
            gap = true;
            continue;
        }
        if gap {
            out.push(' ');
            gap = false;
        }
        out.push(c);
    }
    if gap {
        out.push(' ');
    }
    sanitize::line(&out).into_owned()
}

fn push_line(out: &mut String, line: &str) {
    writeln!(out, "{line}").expect("writing to a string");
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn white_space_is_folded_and_edges_are_kept() {
        for (given, want) in [("a\n  b", "a b"), (" a ", " a "), ("", ""), ("\t", " "), ("a\x1b", "a\\x1b")] {
            assert_eq!(one_line(given), want);
        }
    }
}
