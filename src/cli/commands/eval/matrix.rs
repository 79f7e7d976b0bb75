//! Which configurations are measured: every combination of what the flags list, each once.

use rag::{
    retrieve::{Fusion, Mode, Query},
    serve::wire,
};

use crate::cli::{
    commands::query::{FusionArg, ModeArg, SearchArgs, share},
    config::Config,
    report::Failure,
};

/// More configurations are a mistake.
const MAX_CONFIGURATIONS: usize = 1000;

/// Lists of settings; the first of each makes the configuration that others are compared with.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct MatrixArgs {
    /// Search by words, by meaning, or both (a list measures each)
    #[arg(long, value_enum, value_name = "MODE", value_delimiter = ',')]
    mode: Vec<ModeArg>,
    /// Merge words and meaning this way (a list measures each)
    #[arg(long, value_enum, value_name = "METHOD", value_delimiter = ',')]
    fusion: Vec<FusionArg>,
    /// Give meaning this weight, 0 to 1 (a list measures each)
    #[arg(long, value_name = "WEIGHT", value_delimiter = ',', value_parser = share)]
    alpha: Vec<f32>,
    /// Cut DIR's documents into chunks of so many word pieces (a list measures each)
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(32..=254))]
    chunk_tokens: Vec<u16>,
    /// Let neighbour chunks share so many word pieces (a list measures each)
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(0..=127))]
    chunk_overlap: Vec<u16>,
}

/// How documents are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub tokens: usize,
    pub overlap: usize,
}

/// One configuration.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// `None`: as the index was cut.
    pub cut: Option<Cut>,
    pub query: Query,
}

impl MatrixArgs {
    /// Both legs and each alone, that of the settings first, unless modes are asked for.
    pub fn legs(self, has_vectors: bool, config: &Config) -> Self {
        if self.names_modes() {
            return self;
        }
        let mode = match config.text("retrieve.mode") {
            _ if !has_vectors => vec![ModeArg::Lexical],
            Some("lexical") => vec![ModeArg::Lexical, ModeArg::Hybrid, ModeArg::Dense],
            Some("dense") => vec![ModeArg::Dense, ModeArg::Hybrid, ModeArg::Lexical],
            Some(_) | None => vec![ModeArg::Hybrid, ModeArg::Lexical, ModeArg::Dense],
        };
        Self { mode, ..self }
    }

    /// The flags say in which modes to search.
    pub fn names_modes(&self) -> bool {
        !self.mode.is_empty()
    }

    /// The one configuration that the flags ask for; `None`: they list several.
    pub fn one(&self) -> Option<SearchArgs> {
        let Self { mode, fusion, alpha, .. } = self;
        let is_one = mode.len() <= 1 && fusion.len() <= 1 && alpha.len() <= 1;
        is_one.then(|| SearchArgs {
            mode: mode.first().copied(),
            fusion: fusion.first().copied(),
            alpha: alpha.first().copied(),
            ..SearchArgs::default()
        })
    }

    /// The flags ask for other chunks.
    pub fn cuts_anew(&self) -> bool {
        !self.chunk_tokens.is_empty() || !self.chunk_overlap.is_empty()
    }

    /// How to cut, each way once. Errors: an overlap of more than half of a chunk.
    pub fn cuts(&self, config: &Config) -> Result<Vec<Cut>, Failure> {
        let numbers = |flags: &[u16]| flags.iter().map(|&number| usize::from(number)).collect::<Vec<_>>();
        let mut sizes = numbers(&self.chunk_tokens);
        if sizes.is_empty() {
            sizes.push(config.chunk_tokens());
        }
        let mut cuts = Vec::new();
        for tokens in sizes {
            let mut overlaps = numbers(&self.chunk_overlap);
            if overlaps.is_empty() {
                overlaps.push(config.chunk_overlap(tokens));
            }
            for overlap in overlaps {
                if overlap > tokens / 2 {
                    let what = format!("an overlap of {overlap} tokens is more than half of a chunk of {tokens}");
                    return Err(Failure::usage(what));
                }
                if !cuts.contains(&Cut { tokens, overlap }) {
                    cuts.push(Cut { tokens, overlap });
                }
            }
        }
        Ok(cuts)
    }

    /// How to search, each way once: a fusion and its weight matter only where both legs search.
    pub fn ways(&self, config: &Config, collection: Option<&str>) -> Result<Vec<Query>, Failure> {
        let mut ways: Vec<Query> = Vec::new();
        for mode in each(&self.mode) {
            for fusion in each(&self.fusion) {
                for alpha in each(&self.alpha) {
                    let collection = collection.map(str::to_owned);
                    let flags = SearchArgs { mode, fusion, alpha, collection, ..SearchArgs::default() };
                    let query = flags.to_query(String::new(), config, 10);
                    if ways.iter().all(|other| key(other) != key(&query)) {
                        ways.push(query);
                    }
                }
            }
        }
        if ways.len() > MAX_CONFIGURATIONS {
            return Err(Failure::usage(format!("{} configurations are more than {MAX_CONFIGURATIONS}", ways.len())));
        }
        Ok(ways)
    }
}

/// The values of a flag; of one that is not given what the settings say.
fn each<T: Copy>(flags: &[T]) -> Vec<Option<T>> {
    if flags.is_empty() { vec![None] } else { flags.iter().copied().map(Some).collect() }
}

/// What tells one way of searching from another.
fn key(query: &Query) -> (Mode, Option<(Fusion, Option<u32>)>) {
    let merge = (query.mode == Mode::Hybrid).then(|| (query.fusion, query.alpha.map(f32::to_bits)));
    (query.mode, merge)
}

impl Configuration {
    /// For people, and without white space as the tag of a run: `hybrid blend 0.5 200/40`.
    pub fn label(&self) -> String {
        let mut parts = vec![wire::mode_word(self.query.mode).to_owned()];
        if self.query.mode == Mode::Hybrid {
            parts.push(wire::fusion_word(self.query.fusion).to_owned());
            parts.extend(self.query.alpha.map(|alpha| alpha.to_string()));
        }
        parts.extend(self.cut.map(|Cut { tokens, overlap }| format!("{tokens}/{overlap}")));
        parts.join(" ")
    }

    pub fn tag(&self) -> String {
        format!("rag-{}", self.label().replace(' ', "-"))
    }

    pub fn wire(&self) -> wire::EvalConfiguration {
        let is_hybrid = self.query.mode == Mode::Hybrid;
        wire::EvalConfiguration {
            mode: wire::mode_word(self.query.mode).into(),
            fusion: is_hybrid.then(|| wire::fusion_word(self.query.fusion).into()),
            alpha: self.query.alpha.filter(|_| is_hybrid).map(wire::rounded),
            chunk_tokens: self.cut.map(|cut| cut.tokens),
            chunk_overlap: self.cut.map(|cut| cut.overlap),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_comes_once() {
        let config = Config::default();
        let all = MatrixArgs {
            mode: vec![ModeArg::Hybrid, ModeArg::Lexical, ModeArg::Dense, ModeArg::Lexical],
            fusion: vec![FusionArg::Blend, FusionArg::Rrf],
            alpha: vec![0.3, 0.5, 0.3],
            chunk_tokens: vec![160, 200, 160],
            chunk_overlap: vec![0, 40],
        };
        let ways = all.ways(&config, None).unwrap();
        let label = |query: &Query| Configuration { cut: None, query: query.clone() }.label();
        let want = ["hybrid blend 0.3", "hybrid blend 0.5", "hybrid rrf 0.3", "hybrid rrf 0.5", "lexical", "dense"];
        assert_eq!(ways.iter().map(label).collect::<Vec<_>>(), want);
        let cuts: Vec<_> = all.cuts(&config).unwrap().iter().map(|cut| (cut.tokens, cut.overlap)).collect();
        assert_eq!(cuts, [(160, 0), (160, 40), (200, 0), (200, 40)]);

        let none = MatrixArgs::default();
        assert_eq!(none.ways(&config, None).unwrap().iter().map(label).collect::<Vec<_>>(), ["hybrid blend"]);
        assert_eq!(none.cuts(&config).unwrap(), [Cut { tokens: 230, overlap: 40 }]);
        let wide = MatrixArgs { chunk_tokens: vec![64], chunk_overlap: vec![40], ..MatrixArgs::default() };
        assert!(wide.cuts(&config).is_err());
    }
}
