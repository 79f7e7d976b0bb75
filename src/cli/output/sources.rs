//! Documents and their state, a line each.

use rag::{
    index::{Problem, Status},
    serve::wire::{Chunk, SourceSummary},
};

use super::{Screen, Style, bytes, count, hits::heading_path, places::Places, sanitize};

/// `indexed  12 chunks  markdown  docs/guide.md`, and what was wrong below it.
pub fn list(screen: &Screen, places: &Places, sources: &[SourceSummary]) -> String {
    let mark = marks(sources.iter().map(|source| source.collection.as_str()));
    sources.iter().map(|source| line(screen, places, source, &mark(&source.collection))).collect()
}

/// The name of a collection behind each path, where the documents are not all of one.
pub fn marks<'s>(collections: impl Iterator<Item = &'s str>) -> impl Fn(&str) -> String {
    let mut all = collections;
    let first = all.next();
    let is_mixed = all.any(|name| Some(name) != first);
    move |name| if is_mixed { format!("  ({name})") } else { String::new() }
}

/// `mark`: what stands behind the path.
fn line(screen: &Screen, places: &Places, source: &SourceSummary, mark: &str) -> String {
    let (word, style) = match source.status {
        Status::Indexed => ("indexed", Style::Good),
        Status::Warned => ("warned ", Style::Warn),
        Status::Failed => ("failed ", Style::Bad),
    };
    let place = places.show(screen, &source.path, None, None);
    let chunks = format!("{:>10}", count(source.chunks.into(), "chunk"));
    let mark = screen.paint(Style::Dim, &sanitize::line(mark));
    let mut out =
        format!("{}  {chunks}  {:<9} {place}{mark}\n", screen.paint(style, word), sanitize::line(&source.format));
    for problem in &source.problems {
        out.push_str(&screen.paint(Style::Dim, &format!("         {}", problem_line(problem))));
        out.push('\n');
    }
    out
}

/// `reason: message`, safe.
pub fn problem_line(problem: &Problem) -> String {
    sanitize::line(&format!("{}: {}", problem.reason, problem.message)).into_owned()
}

/// A document: its facts, then its chunks with their places.
pub fn document(screen: &Screen, places: &Places, source: &SourceSummary, chunks: &[Chunk]) -> String {
    let mut out = line(screen, places, source, "");
    let facts = [
        ("title", source.title.clone()),
        ("author", source.author.clone()),
        ("language", source.lang.clone()),
        ("pages", source.pages.map(|pages| pages.to_string())),
        ("encoding", source.encoding.clone()),
        ("size", Some(bytes(source.size))),
        ("modified", Some(source.mtime.clone())),
        ("collection", Some(source.collection.clone())),
        ("id", Some(source.source_id.to_string())),
        ("blake3", Some(source.blake3.clone())),
    ];
    let own = facts.iter().filter_map(|(name, value)| value.as_ref().map(|value| (name.to_string(), value.clone())));
    let tags = source.tags.iter().map(|(key, value)| (format!("tag.{key}"), value.clone()));
    let metadata = source.metadata.iter().map(|(key, value)| (format!("meta.{key}"), value.clone()));
    for (name, value) in own.chain(tags).chain(metadata) {
        out.push_str(&format!("{:>12}  {}\n", sanitize::line(&name), sanitize::line(&value)));
    }
    for chunk in chunks {
        out.push('\n');
        out.push_str(&self::chunk(screen, places, chunk));
    }
    out
}

/// A chunk: where it stands, and its text as it is stored.
pub fn chunk(screen: &Screen, places: &Places, chunk: &Chunk) -> String {
    let place = places.show(screen, &chunk.path, chunk.lines, chunk.pages);
    let facts = format!(
        "{} · bytes {}-{} · {} · {}",
        chunk.chunk_id,
        chunk.byte_range[0],
        chunk.byte_range[1],
        count(chunk.tokens.into(), "token"),
        chunk.lang.as_deref().unwrap_or("language unknown")
    );
    let mut out = format!("{place}  {}\n", sanitize::line(&heading_path(chunk)));
    out.push_str(&screen.paint(Style::Dim, &sanitize::line(&facts)));
    out.push_str("\n\n");
    if !chunk.context.is_empty() {
        out.push_str(&screen.paint(Style::Dim, &sanitize::text(&chunk.context)));
        out.push('\n');
    }
    out.push_str(&sanitize::text(&chunk.text));
    if !chunk.text.ends_with('\n') {
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::marks;

    #[test]
    fn collections_are_named_where_there_are_several() {
        assert_eq!(marks(["a", "a"].into_iter())("a"), "");
        assert_eq!(marks(["a", "b"].into_iter())("a"), "  (a)");
        assert_eq!(marks([].into_iter())("a"), "");
    }
}
