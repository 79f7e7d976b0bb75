//! Why a file is in the index or not, and why it is not among the results of a query: for people.

use rag::serve::wire::{Chunk, Leg, Place, WhyNotResult, WhyResult};

use super::{Screen, Style, count, places::Places, sanitize};

/// The verdict, then the document's chunks with their places and sizes.
pub fn why(screen: &Screen, places: &Places, result: &WhyResult) -> String {
    let (word, style) = if result.indexed { ("indexed", Style::Good) } else { ("not indexed", Style::Bad) };
    let place = places.show(screen, &result.file, None, None);
    let mut out = format!("{}  {place}\n", screen.paint(style, word));
    out.push_str(&format!("  {}\n", sanitize::line(&result.message)));
    match result.state.as_deref() {
        Some("stale") => out.push_str("  its file has changed since; `rag ingest` brings the index up to date\n"),
        Some(_) => out.push_str("  its file is gone; `rag ingest` of its folder takes it out\n"),
        None => {}
    }
    if let Some(document) = &result.document {
        let facts = format!(
            "  {} · {} · {} · collection {} · id {}\n",
            document.format,
            count(document.chunks.into(), "chunk"),
            super::bytes(document.size),
            document.collection,
            document.source_id
        );
        out.push_str(&screen.paint(Style::Dim, &sanitize::text(&facts)));
    }
    for chunk in &result.chunks {
        let place = place_of(screen, places, chunk);
        let facts = format!(
            "{} · bytes {}-{} · {}",
            chunk.chunk_id,
            chunk.byte_range[0],
            chunk.byte_range[1],
            count(chunk.tokens.into(), "token")
        );
        let heading = sanitize::line(&chunk.heading.join(" › ")).into_owned();
        let gap = if heading.is_empty() { "" } else { "  " };
        out.push_str(&format!("  {place}{gap}{heading}  {}\n", screen.paint(Style::Dim, &facts)));
    }
    out
}

fn place_of(screen: &Screen, places: &Places, chunk: &Chunk) -> String {
    places.show(screen, &chunk.path, chunk.lines, chunk.pages)
}

/// The verdict, the chunk's places beside those of the last result, and the words it has and lacks.
pub fn why_not(screen: &Screen, places: &Places, result: &WhyNotResult) -> String {
    let (word, style) = if result.found.is_some() { ("found", Style::Good) } else { ("not found", Style::Bad) };
    let place = match &result.best {
        Some(best) => place_of(screen, places, &best.chunk),
        None => places.show(screen, &result.file, None, None),
    };
    let id = result.best.as_ref().map(|best| best.chunk.chunk_id.to_string()).unwrap_or_default();
    let mut out = format!("{}  {place}  {}\n", screen.paint(style, word), screen.paint(Style::Dim, &id));
    let reason = result.reason.as_ref().map(|reason| format!("{}: ", reason.replace('_', " "))).unwrap_or_default();
    out.push_str(&format!("  {}{}\n", sanitize::line(&reason), sanitize::line(&result.message)));
    if let Some(remedy) = &result.remedy {
        out.push_str(&format!("  to see it: {}\n", sanitize::line(remedy)));
    }
    let Some(best) = &result.best else { return out };
    out.push('\n');
    let last = result.last.as_ref().filter(|last| last.chunk.chunk_id != best.chunk.chunk_id);
    let heading = last.map(|last| format!("last shown: {}", place_of(screen, places, &last.chunk))).unwrap_or_default();
    out.push_str(&format!("  {:<10} {:<34} {heading}\n", "", format!("this, of {} chunks", result.compared)));
    let mut row = |name: &str, value: &dyn Fn(&Place) -> String| {
        let other = last.map(value).unwrap_or_default();
        out.push_str(format!("  {name:<10} {:<34} {other}", value(best)).trim_end());
        out.push('\n');
    };
    row("words", &|place| leg(&place.explain.lexical));
    row("meaning", &|place| leg(&place.explain.dense));
    row("together", &|place| {
        let rank = place.rank.map_or("–".to_string(), |rank| format!("#{rank}"));
        format!("{rank} {:.4}", place.explain.fused)
    });
    row("relevance", &|place| format!("{:.2}", place.relevance));
    let words = &result.words;
    for (name, list) in [("holds", &words.held), ("elsewhere", &words.elsewhere), ("lacks", &words.lacking)] {
        if !list.is_empty() {
            out.push_str(&format!("  {name:<10} {}\n", sanitize::line(&list.join(", "))));
        }
    }
    out
}

/// `#12 3.201 → 0.400 (+0.1200)`.
fn leg(leg: &Leg) -> String {
    let rank = leg.rank.map_or("–".to_string(), |rank| format!("#{rank}"));
    let score = leg.score.map_or("–".to_string(), |score| format!("{score:.3}"));
    format!("{rank} {score} → {:.3} (+{:.4})", leg.normalised, leg.contribution)
}
