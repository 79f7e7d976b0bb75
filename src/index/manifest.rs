//! What one generation is: the JSON in tantivy's commit payload, which moves both legs with one rename.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use super::{Error, Result, layout};

/// The state of an index at one generation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// A counter: 0 when created, one more with each commit.
    pub(super) generation: u64,
    /// The folder under `vectors/`; `None` in an index without vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) space: Option<String>,
    /// The vector manifest in that folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) toc: Option<TocFile>,
    pub(super) sources: u64,
    pub(super) chunks: u64,
    /// Chunks by ISO 639-1 code; `""`: unknown. The stemmers a query needs.
    #[serde(default)]
    pub(super) languages: BTreeMap<String, u64>,
    /// Named roots: name → absolute path when last ingested.
    #[serde(default)]
    pub(super) roots: BTreeMap<String, String>,
}

/// A vector manifest, named with length and crc32c.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TocFile {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) crc32c: u32,
}

impl Manifest {
    pub(super) fn encode(&self) -> String {
        serde_json::to_string(self).expect("plain values serialise")
    }

    /// Reads the payload of `meta.json`. Errors: `Corrupt`, with names that would lead out of their folder too.
    pub(super) fn decode(index: &Path, payload: &str) -> Result<Self> {
        let damaged = |what: String| Error::Corrupt { path: layout::text_dir(index).join(layout::META_FILE), what };
        let manifest: Self = serde_json::from_str(payload).map_err(|error| damaged(format!("payload: {error}")))?;
        let names = manifest.space.iter().chain(manifest.toc.iter().map(|toc| &toc.name));
        if let Some(name) = names.into_iter().find(|name| !layout::is_plain_name(name)) {
            return Err(damaged(format!("payload names a file {name:?}")));
        }
        if manifest.space.is_some() != manifest.toc.is_some() {
            return Err(damaged("payload names a space without a vector manifest, or the other way round".to_owned()));
        }
        Ok(manifest)
    }

    /// Counts `n` more chunks of a language.
    pub(super) fn add_language(&mut self, lang: &str, n: u64) {
        *self.languages.entry(lang.to_owned()).or_default() += n;
    }

    /// Counts `n` fewer.
    pub(super) fn take_language(&mut self, lang: &str, n: u64) {
        if let Some(count) = self.languages.get_mut(lang) {
            *count = count.saturating_sub(n);
            if *count == 0 {
                self.languages.remove(lang);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Manifest {
        Manifest {
            generation: 7,
            space: Some("mini-12345678".to_owned()),
            toc: Some(TocFile { name: "7.toc".to_owned(), bytes: 12, crc32c: 3 }),
            sources: 2,
            chunks: 5,
            languages: [("en".to_owned(), 5)].into(),
            roots: [("docs".to_owned(), "/home/docs".to_owned())].into(),
        }
    }

    #[test]
    fn survives_its_spelling() {
        for manifest in [example(), Manifest::default()] {
            assert_eq!(Manifest::decode(Path::new("i"), &manifest.encode()).unwrap(), manifest);
        }
    }

    #[test]
    fn refuses_what_leads_elsewhere() {
        let spoil = |change: fn(&mut Manifest)| {
            let mut manifest = example();
            change(&mut manifest);
            manifest.encode()
        };
        let cases = [
            spoil(|m| m.space = Some("../other".to_owned())),
            spoil(|m| m.toc = None),
            spoil(|m| m.space = None),
            spoil(|m| m.toc.as_mut().unwrap().name = "/etc/passwd".to_owned()),
            String::new(),
            "{}".to_owned(),
            "[]".to_owned(),
        ];
        for payload in cases {
            let error = Manifest::decode(Path::new("i"), &payload).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{payload}: {error}");
        }
    }

    #[test]
    fn languages_that_are_gone_are_forgotten() {
        let mut manifest = Manifest::default();
        manifest.add_language("de", 3);
        manifest.take_language("de", 1);
        assert_eq!(manifest.languages, [("de".to_owned(), 2)].into());
        manifest.take_language("de", 9);
        manifest.take_language("fr", 1);
        assert!(manifest.languages.is_empty());
    }
}
