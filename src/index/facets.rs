//! How many documents have which value of the facts that filters ask for. Pure.

use std::collections::BTreeMap;

use super::{SourceRecord, moment};

/// Value → documents.
pub type Counts = BTreeMap<String, u64>;

/// Counts of one list of sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Facets {
    pub documents: u64,
    #[serde(rename = "type")]
    pub types: Counts,
    /// ISO 639-1 codes; documents without one are not counted.
    pub lang: Counts,
    /// Tag key → its values.
    pub tags: BTreeMap<String, Counts>,
    /// Folders by their first two names, each counted with all that is below it.
    pub folders: Counts,
    pub author: Counts,
    /// Of the last change of the file, UTC.
    pub year: Counts,
    pub collection: Counts,
    pub status: Counts,
}

impl Facets {
    /// O(sources).
    pub fn of(sources: &[SourceRecord]) -> Self {
        let mut facets = Self { documents: sources.len() as u64, ..Self::default() };
        let add = |counts: &mut Counts, value: &str| *counts.entry(value.to_owned()).or_default() += 1;
        for source in sources {
            add(&mut facets.types, &source.format);
            add(&mut facets.collection, &source.collection);
            add(&mut facets.status, source.status.word());
            add(&mut facets.year, &moment::year(source.mtime_ns).to_string());
            source.lang.iter().for_each(|lang| add(&mut facets.lang, lang));
            source.author.iter().for_each(|author| add(&mut facets.author, author));
            for (key, value) in &source.tags {
                add(facets.tags.entry(key.clone()).or_default(), value);
            }
            let path = source.display_path();
            for (end, _) in path.match_indices('/').take(2) {
                add(&mut facets.folders, &path[..=end]);
            }
        }
        facets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::testing::source;

    #[test]
    fn every_fact_is_counted_once_a_document() {
        let mut one = source("docs/guides/deep/a.md");
        one.tags.insert("team".into(), "ops".into());
        one.author = Some("Ines".into());
        one.mtime_ns = 1_767_225_600_000_000_000;
        let mut two = source("docs/b.pdf");
        two.lang = Some("de".into());
        two.tags.insert("team".into(), "sales".into());
        let three = source("c.md");
        let facets = Facets::of(&[one, two, three]);
        let counts = |pairs: &[(&str, u64)]| pairs.iter().map(|(key, n)| ((*key).to_owned(), *n)).collect::<Counts>();
        assert_eq!(facets.documents, 3);
        assert_eq!(facets.types, counts(&[("md", 2), ("pdf", 1)]));
        assert_eq!(facets.folders, counts(&[("docs/", 2), ("docs/guides/", 1)]));
        assert_eq!(facets.tags["team"], counts(&[("ops", 1), ("sales", 1)]));
        assert_eq!(facets.year, counts(&[("1970", 2), ("2026", 1)]));
        assert_eq!((facets.lang, facets.author), (counts(&[("de", 1)]), counts(&[("Ines", 1)])));
        assert_eq!(facets.status, counts(&[("indexed", 3)]));
        assert_eq!(Facets::of(&[]), Facets::default());
    }
}
