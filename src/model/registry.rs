//! Which models this program knows by name, and everything about each that makes its vectors comparable.
//!
//! Data only: what runs a model is in `onnx`. Not useful for: models behind an endpoint, which are known by what the
//! endpoint says and the user configures.

use super::{Error, Result, wordpiece::WordPiece};
use crate::types::{EmbeddingSpace, Pooling};

/// One model.
#[derive(Debug)]
pub struct Model {
    pub name: &'static str,
    /// Names the conversion: the precision and the first digits of the sha256 of the weights it was made from.
    pub revision: &'static str,
    pub dim: usize,
    /// Word pieces of one text, special tokens not counted.
    pub max_tokens: usize,
    pub pooling: Pooling,
    pub normalised: bool,
    pub query_prefix: &'static str,
    pub passage_prefix: &'static str,
    pub multilingual: bool,
    pub tokenizer: &'static str,
    /// The graph, then its weights: file name and sha256 in hex.
    pub files: [(&'static str, &'static str); 2],
    /// sha256 in hex of these files, one after the other.
    pub sha256: &'static str,
    /// The vector of [`crate::types::PROBE`]: `dim` little-endian f32. Kept, so that naming the space runs nothing.
    probe: &'static [u8],
}

/// Every model known.
pub const MODELS: &[Model] = &[Model {
    name: "all-minilm-l6-v2",
    revision: "int8-53aa5117",
    dim: 384,
    max_tokens: 254,
    pooling: Pooling::Mean,
    normalised: true,
    query_prefix: "",
    passage_prefix: "",
    multilingual: false,
    tokenizer: WordPiece::NAME,
    files: [
        ("model.onnx", "ef456c20befdba26cbfacec49533ef316a6e9e8e22a7a89952eac3369d9faca7"),
        ("model.onnx.data", "5769a068200bff953f2f7e820c0151761378e3cba13ddb2e7300554bbd43b499"),
    ],
    sha256: "c1543858055853b53b2d12559f2e9252efbdc908bd4204675bebc2d0b5f2afcc",
    probe: include_bytes!("../../models/all-minilm-l6-v2-int8/probe.f32"),
}];

/// The model compiled into this program; an error where the feature `onnx` is off and none is.
pub fn built_in() -> Result<&'static Model> {
    let [model] = MODELS else { unreachable!("the table has one model") };
    if cfg!(feature = "onnx") { Ok(model) } else { Err(Error::NotBuiltIn { name: model.name, feature: "onnx" }) }
}

/// The model of that name, in any case of letters.
pub fn find(name: &str) -> Result<&'static Model> {
    MODELS
        .iter()
        .find(|model| model.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| Error::Unknown { name: name.to_owned() })
}

impl Model {
    /// What an index records of this model's vectors. Runs nothing.
    pub fn space(&self) -> EmbeddingSpace {
        EmbeddingSpace {
            model: self.name.to_owned(),
            revision: self.revision.to_owned(),
            sha256: self.sha256.to_owned(),
            dim: self.dim,
            pooling: self.pooling,
            normalised: self.normalised,
            query_prefix: self.query_prefix.to_owned(),
            passage_prefix: self.passage_prefix.to_owned(),
            max_tokens: self.max_tokens,
            tokenizer: self.tokenizer.to_owned(),
            multilingual: self.multilingual,
            probe: self.probe(),
        }
    }

    /// The vector of [`crate::types::PROBE`]: `dim` values.
    pub fn probe(&self) -> Vec<f32> {
        self.probe.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn files_are_the_ones_that_are_named() {
        for model in MODELS {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/models/all-minilm-l6-v2-int8");
            let mut both = Sha256::new();
            for (name, sha256) in model.files {
                let bytes = std::fs::read(format!("{folder}/{name}")).expect("the model is in the repository");
                assert_eq!(hex(&Sha256::digest(&bytes)), sha256, "{name}");
                both.update(&bytes);
            }
            assert_eq!(hex(&both.finalize()), model.sha256);
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(find("All-MiniLM-L6-v2").map(|model| model.name).ok(), Some("all-minilm-l6-v2"));
        assert_eq!(find("nope").map(|model| model.name).unwrap_err().to_string(), "no model named `nope`");
        assert_eq!(built_in().is_ok(), cfg!(feature = "onnx"));
    }

    #[test]
    fn probes_are_whole_and_of_length_one() {
        for model in MODELS {
            let probe = model.probe();
            let length = probe.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
            assert_eq!(probe.len(), model.dim);
            assert!((length - 1.0).abs() < 1e-5, "{length}");
        }
    }
}
