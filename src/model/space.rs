//! Whether the vectors of an index and of an embedder may be compared.

use crate::types::EmbeddingSpace;

/// The least cosine of two probe vectors of one space. Backends and processors differ in last bits, or, quantised, up to
/// about .995; other models and broken ones fall far below.
pub const MIN_PROBE_COSINE: f64 = 0.98;

/// Says which fact differs between the space an index was filled in and an embedder's, if one does. Probe vectors are
/// compared by their cosine, all else exactly.
pub fn same_space(index: &EmbeddingSpace, ours: &EmbeddingSpace) -> Result<(), String> {
    // Taken apart, so that a new field cannot be forgotten here.
    let EmbeddingSpace {
        model,
        revision,
        sha256,
        dim,
        pooling,
        normalised,
        query_prefix,
        passage_prefix,
        max_tokens,
        tokenizer,
        multilingual,
        probe,
    } = index;
    differ("model", model, &ours.model)?;
    differ("revision", revision, &ours.revision)?;
    differ("sha256", sha256, &ours.sha256)?;
    differ("dimension", dim, &ours.dim)?;
    differ("pooling", &format!("{pooling:?}").to_lowercase(), &format!("{:?}", ours.pooling).to_lowercase())?;
    differ("normalisation", normalised, &ours.normalised)?;
    differ("query prefix", query_prefix, &ours.query_prefix)?;
    differ("passage prefix", passage_prefix, &ours.passage_prefix)?;
    differ("token limit", max_tokens, &ours.max_tokens)?;
    differ("tokenizer", tokenizer, &ours.tokenizer)?;
    differ("language coverage", multilingual, &ours.multilingual)?;
    same_probe(probe, &ours.probe)
}

fn differ<T: PartialEq + std::fmt::Display>(what: &str, index: &T, ours: &T) -> Result<(), String> {
    if index == ours {
        return Ok(());
    }
    Err(format!("its {what} is `{index}`, the embedder's `{ours}`"))
}

/// Whether two vectors of one text may be of one model: as near as those of the probe sentence have to be.
pub fn same_vector(a: &[f32], b: &[f32]) -> bool {
    !a.is_empty() && same_probe(a, b).is_ok()
}

/// Compares the vectors of the probe sentence.
pub(crate) fn same_probe(index: &[f32], ours: &[f32]) -> Result<(), String> {
    if index.len() != ours.len() {
        return Err(format!("its probe vector has {} values, the embedder's {}", index.len(), ours.len()));
    }
    let cosine = cosine(index, ours);
    // Written so that a NaN fails.
    if index.is_empty() || cosine >= MIN_PROBE_COSINE {
        return Ok(());
    }
    Err(format!("the probe sentence has another vector: cosine {cosine:.3}, at least {MIN_PROBE_COSINE} expected"))
}

/// The cosine of two vectors of one length; 0 where one has no length.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum() };
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths == 0.0 { 0.0 } else { dot(a, b) / lengths }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::registry::MODELS, types::Pooling};

    #[test]
    fn each_field_is_compared_and_named() {
        let index = MODELS[0].space();
        assert_eq!(same_space(&index, &index), Ok(()));
        type Change = fn(&mut EmbeddingSpace);
        let changes: [(&str, Change); 13] = [
            ("model", |space| space.model.push('x')),
            ("revision", |space| space.revision.push('x')),
            ("sha256", |space| space.sha256.clear()),
            ("dimension", |space| space.dim += 1),
            ("pooling", |space| space.pooling = Pooling::Cls),
            ("normalisation", |space| space.normalised = false),
            ("query prefix", |space| space.query_prefix.push_str("query: ")),
            ("passage prefix", |space| space.passage_prefix.push_str("passage: ")),
            ("token limit", |space| space.max_tokens = 512),
            ("tokenizer", |space| space.tokenizer.clear()),
            ("language coverage", |space| space.multilingual = true),
            ("probe", |space| space.probe.truncate(3)),
            ("probe", |space| space.probe[..96].iter_mut().for_each(|x| *x = -*x)),
        ];
        for (name, change) in changes {
            let mut ours = index.clone();
            change(&mut ours);
            let why = same_space(&index, &ours).unwrap_err();
            assert!(why.contains(name), "{name}: {why}");
        }
    }

    #[test]
    fn probes_may_differ_a_little_and_never_be_no_numbers() {
        let probe = MODELS[0].probe();
        let near: Vec<f32> =
            probe.iter().enumerate().map(|(i, x)| x + if i % 2 == 0 { 0.003 } else { -0.003 }).collect();
        assert_eq!(same_probe(&probe, &near), Ok(()));
        assert_eq!(same_probe(&[], &[]), Ok(()));
        assert!(same_probe(&probe, &vec![0.0; probe.len()]).is_err());
        assert!(same_probe(&probe, &vec![f32::NAN; probe.len()]).is_err());
        assert!(same_probe(&probe, &[]).is_err());
    }
}
