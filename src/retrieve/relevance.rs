//! Is it in here at all? A calibrated number, 0..1, that means the same across queries.
//!
//! `r = σ(14.3·cos + 5.5·cov − 8.75)` where the encoder knows the language, `σ(12·(cov − 0.3))` where it does not, mixed by
//! the encoder's trust. `cov` is the idf-weighted share of the query's words that the result holds. Fitted by logistic
//! regression on six collections, each left out in turn (own questions against questions of other collections, AUC
//! .969–1.000): design page RETRIEVAL, section 6.
//!
//! In an index without vectors only the words count. Useful for: `--min-score`, "found nothing", whether to ask a model.
//! Not for: ordering results, or telling whether the collection *answers* the question.

use super::Strength;

/// From here on something was found.
pub const FOUND: f32 = 0.5;
/// From here on something weak was found; below, nothing.
pub const WEAK: f32 = 0.2;
/// So many first results may lend the whole query their coverage.
pub(super) const COVERAGE_OF: usize = 3;

const COSINE_SLOPE: f32 = 14.3;
const COVERAGE_SLOPE: f32 = 5.5;
const OFFSET: f32 = 8.75;
const WORDS_SLOPE: f32 = 12.0;
const WORDS_MIDDLE: f32 = 0.3;

/// The model the formula was fitted with, as its embedding space names it.
const FITTED_MODEL: &str = "all-minilm-l6-v2";
/// The cosine of an average chunk with a query in the fitted model's space: measured medians are .03 on articles of all
/// sorts, .24 and .27 on collections of one subject.
const FITTED_ZERO: f32 = 0.15;

/// How cosines of one embedding space become the cosines the formula was fitted with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Calibration {
    /// The space is the fitted one.
    Fitted,
    /// Another space, whose average chunk has this cosine with the query. The share of the way from there to 1 is
    /// carried over: an estimate, since spaces differ mostly in how crowded they are.
    Estimated { zero: f32 },
}

impl Calibration {
    pub fn of(model: &str, zero: f32) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        if name.starts_with(FITTED_MODEL) { Self::Fitted } else { Self::Estimated { zero: zero.clamp(-1.0, 0.99) } }
    }

    fn cosine(self, cosine: f32) -> f32 {
        match self {
            Self::Fitted => cosine,
            Self::Estimated { zero } => FITTED_ZERO + (1.0 - FITTED_ZERO) * (cosine - zero) / (1.0 - zero),
        }
    }
}

/// What relevance rests on, for one query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    /// How far the encoder knows the language, 0..=1; 0 without vectors.
    pub trust: f32,
    pub calibration: Calibration,
}

impl Scale {
    /// Words alone.
    pub const WORDS: Self = Self { trust: 0.0, calibration: Calibration::Fitted };

    /// Relevance of a cosine and a coverage, 0..=1; grows with both. Without a cosine the words alone count.
    pub fn relevance(self, cosine: Option<f32>, coverage: f32) -> f32 {
        let coverage = if coverage.is_finite() { coverage.clamp(0.0, 1.0) } else { 0.0 };
        let words = sigmoid(WORDS_SLOPE * (coverage - WORDS_MIDDLE));
        let Some(cosine) = cosine.filter(|cosine| cosine.is_finite()) else { return words };
        let cosine = self.calibration.cosine(cosine);
        let both = sigmoid(COSINE_SLOPE * cosine + COVERAGE_SLOPE * coverage - OFFSET);
        self.trust * both + (1.0 - self.trust) * words
    }
}

/// The verdict on a whole query's relevance.
pub(super) fn strength(relevance: f32) -> Strength {
    if relevance >= FOUND {
        Strength::Found
    } else if relevance >= WEAK {
        Strength::Weak
    } else {
        Strength::Nothing
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TRUSTED: Scale = Scale { trust: 1.0, calibration: Calibration::Fitted };

    #[test]
    fn golden() {
        // Computed from the formula by another program, in double precision.
        for (trust, cosine, coverage, want) in [
            (1.0, Some(0.44), 0.5, 0.572_485_7),
            (1.0, Some(0.7), 1.0, 0.998_842_1),
            (1.0, Some(0.1), 0.0, 0.000_661_7),
            (0.0, Some(0.9), 0.3, 0.5),
            (0.0, None, 1.0, 0.999_775_2),
            (1.0, None, 0.0, 0.026_596_99),
            (0.5, Some(0.44), 0.5, 0.744_656_5),
        ] {
            let found = Scale { trust, ..TRUSTED }.relevance(cosine, coverage);
            assert!((found - want).abs() < 1e-5, "{trust} {cosine:?} {coverage}: {found} is not {want}");
        }
    }

    #[test]
    fn thresholds_belong_to_the_better_side() {
        for (relevance, want) in [
            (1.0, Strength::Found),
            (0.5, Strength::Found),
            (0.499, Strength::Weak),
            (0.2, Strength::Weak),
            (0.199, Strength::Nothing),
            (0.0, Strength::Nothing),
            (f32::NAN, Strength::Nothing),
        ] {
            assert_eq!(strength(relevance), want, "{relevance}");
        }
    }

    #[test]
    fn other_spaces_are_measured_from_their_own_zero() {
        let builtin = ["all-MiniLM-L6-v2", "all-minilm-l6-v2-int8", "sentence-transformers/all-MiniLM-L6-v2"];
        for name in builtin {
            assert_eq!(Calibration::of(name, 0.1), Calibration::Fitted, "{name}");
        }
        let crowded = Scale { trust: 1.0, calibration: Calibration::of("e5-small", 0.75) };
        assert!(crowded.relevance(Some(0.77), 0.0) < WEAK, "an average chunk of a crowded space is no find");
        assert!(crowded.relevance(Some(0.92), 0.5) > FOUND);
        let broken = Scale { trust: 1.0, calibration: Calibration::of("x", 5.0) };
        assert!((0.0..=1.0).contains(&broken.relevance(Some(1.0), 1.0)));
    }

    proptest! {
        #[test]
        fn grows_with_both(
            trust in 0.0..=1.0f32,
            zero in -0.5..0.9f32,
            fitted in any::<bool>(),
            cosine in -1.0..=1.0f32,
            coverage in 0.0..=1.0f32,
            rise in 0.0..1.0f32,
        ) {
            let calibration = if fitted { Calibration::Fitted } else { Calibration::Estimated { zero } };
            let scale = Scale { trust, calibration };
            let here = scale.relevance(Some(cosine), coverage);
            prop_assert!((0.0..=1.0).contains(&here));
            prop_assert!(scale.relevance(Some(cosine + rise), coverage) >= here);
            prop_assert!(scale.relevance(Some(cosine), (coverage + rise).min(1.0)) >= here);
            prop_assert!(scale.relevance(None, (coverage + rise).min(1.0)) >= scale.relevance(None, coverage));
        }

        #[test]
        fn no_input_is_beyond_it(cosine in any::<f32>(), coverage in any::<f32>()) {
            prop_assert!((0.0..=1.0).contains(&TRUSTED.relevance(Some(cosine), coverage)));
        }
    }
}
