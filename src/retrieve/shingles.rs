//! Whether one text says everything that another one says: words four at a time, and the numbers and negations in which
//! texts differ that are alike in all else. Pure.
//!
//! Not for: texts that say the same in other words, which are as alike as their vectors.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use unicode_segmentation::UnicodeSegmentation;

use super::{verify, words};
use crate::index::ChunkRecord;

/// Share of a text's shingles that another one holds for it to say nothing new.
const CONTAINED: f32 = 0.9;
const SHINGLE_WORDS: usize = 4;
/// A shingle that so many texts share is looked up in the first of them alone, so that the cost stays linear.
const MAX_SHARED: usize = 32;

/// What has to be known of a text to see whether another one holds it.
pub(super) struct Shingles {
    hashes: HashSet<u64>,
    /// Numbers and negations: two texts that differ in these are not the same, however alike.
    decisive: HashSet<String>,
}

impl Shingles {
    pub fn of(text: &str) -> Self {
        Self::of_words(text.unicode_words())
    }

    /// Of a chunk with its title, its headings and what is repeated for it: they tell short texts apart and weigh little
    /// beside long ones. A title that is only the file's name says nothing of the text.
    pub fn of_chunk(chunk: &ChunkRecord) -> Self {
        let title = chunk.title.iter().filter(|title| !is_name(title, &chunk.path));
        let names = title.chain(&chunk.heading).chain([&chunk.context, &chunk.text]);
        Self::of_words(names.flat_map(|part| part.unicode_words()))
    }

    fn of_words<'t>(words: impl Iterator<Item = &'t str>) -> Self {
        let norms: Vec<String> = words.map(words::normal).collect();
        let decisive = norms.iter().filter(|norm| decides(norm)).cloned().collect();
        let width = SHINGLE_WORDS.min(norms.len()).max(1);
        let hash = |words: &[String]| {
            let mut hasher = DefaultHasher::new();
            words.hash(&mut hasher);
            hasher.finish()
        };
        Self { hashes: norms.windows(width).map(hash).collect(), decisive }
    }

    /// The text has no words.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Everything this one says is said by `other`.
    pub fn is_in(&self, other: &Self) -> bool {
        self.shares_enough(self.hashes.intersection(&other.hashes).count()) && self.decisive.is_subset(&other.decisive)
    }

    fn shares_enough(&self, shared: usize) -> bool {
        !self.is_empty() && shared as f32 >= CONTAINED * self.hashes.len() as f32
    }
}

/// Whether a title is the name of the file at a path, but for its extension and the signs in it.
fn is_name(title: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let plain =
        |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let title = plain(title);
    title == plain(stem) || title == plain(name)
}

fn decides(norm: &str) -> bool {
    norm.contains(char::is_numeric) || verify::is_negation(norm)
}

/// Texts that were taken, found by the shingles they share with another one.
#[derive(Default)]
pub(super) struct Taken {
    all: Vec<Shingles>,
    by_hash: HashMap<u64, Vec<usize>>,
}

impl Taken {
    /// The first of them, by the order they were added, that says everything `shingles` says. O(shingles).
    pub fn holder(&self, shingles: &Shingles) -> Option<usize> {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for at in shingles.hashes.iter().filter_map(|hash| self.by_hash.get(hash)).flatten() {
            *shared.entry(*at).or_default() += 1;
        }
        let holds = |(at, count): (usize, usize)| {
            let holds = shingles.shares_enough(count) && shingles.decisive.is_subset(&self.all[at].decisive);
            holds.then_some(at)
        };
        shared.into_iter().filter_map(holds).min()
    }

    pub fn add(&mut self, shingles: Shingles) {
        for hash in &shingles.hashes {
            let holders = self.by_hash.entry(*hash).or_default();
            if holders.len() < MAX_SHARED {
                holders.push(self.all.len());
            }
        }
        self.all.push(shingles);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "The pump has to be rinsed with clear water after each use, since salt water eats the seal \
                        within a season and a new seal has to be fitted by a workshop.";

    #[test]
    fn what_is_held_says_nothing_new() {
        for (text, other, want) in [
            (LONG, LONG, true),
            ("salt water eats the seal within a season", LONG, true),
            (LONG, "salt water eats the seal within a season", false),
            ("It takes 10 days.", "It takes 14 days.", false),
            ("They say the seal is not covered.", "They say the seal is not covered here.", true),
            ("The seal is not covered.", "The seal is covered.", false),
            ("REFUNDS, please", "refunds please", true),
            ("", LONG, false),
            ("?!", "?!", false),
        ] {
            let (shingles, others) = (Shingles::of(text), Shingles::of(other));
            assert_eq!(shingles.is_in(&others), want, "{text} / {other}");
            let mut taken = Taken::default();
            taken.add(others);
            assert_eq!(taken.holder(&shingles).is_some(), want, "{text} / {other}");
        }
    }

    #[test]
    fn a_file_name_is_no_title() {
        for (title, path, want) in [
            ("report-2024", "docs/report-2024.md", true),
            ("Report 2024", "report_2024.pdf", true),
            ("notes.md", "stdin/notes.md", true),
            ("Handbook 2024", "docs/handbook.md", false),
            ("a", "a/b.md", false),
        ] {
            assert_eq!(is_name(title, path), want, "{title} {path}");
        }
    }

    #[test]
    fn the_first_holder_is_named_and_shared_shingles_stay_few() {
        let mut taken = Taken::default();
        for _ in 0..3 * MAX_SHARED {
            taken.add(Shingles::of(LONG));
        }
        assert_eq!(taken.holder(&Shingles::of(LONG)), Some(0));
        assert!(taken.by_hash.values().all(|holders| holders.len() == MAX_SHARED));
    }
}
