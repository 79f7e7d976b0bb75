//! The stable words of the schema, and what they mean inside.

use crate::{
    retrieve,
    types::{Freshness, Kind},
};

/// `None` where the file is as it was ingested, or nobody can tell.
pub fn freshness_word(freshness: Freshness) -> Option<&'static str> {
    match freshness {
        Freshness::Fresh => None,
        Freshness::Stale => Some("stale"),
        Freshness::Missing => Some("missing"),
    }
}

pub fn strength_word(strength: retrieve::Strength) -> &'static str {
    match strength {
        retrieve::Strength::Found => "found",
        retrieve::Strength::Weak => "weak",
        retrieve::Strength::Nothing => "nothing",
    }
}

pub fn mode_word(mode: retrieve::Mode) -> &'static str {
    match mode {
        retrieve::Mode::Hybrid => "hybrid",
        retrieve::Mode::Lexical => "lexical",
        retrieve::Mode::Dense => "dense",
    }
}

pub fn fusion_word(fusion: retrieve::Fusion) -> &'static str {
    match fusion {
        retrieve::Fusion::Blend => "blend",
        retrieve::Fusion::Rrf => "rrf",
        retrieve::Fusion::Weighted => "weighted",
        retrieve::Fusion::Dbsf => "dbsf",
    }
}

pub fn support_word(support: retrieve::Support) -> &'static str {
    match support {
        retrieve::Support::Supported => "supported",
        retrieve::Support::Weak => "weak",
        retrieve::Support::Unsupported => "unsupported",
    }
}

pub fn answer_word(status: retrieve::AnswerStatus) -> &'static str {
    match status {
        retrieve::AnswerStatus::Answered => "answered",
        retrieve::AnswerStatus::NoAnswer => "no_answer",
        retrieve::AnswerStatus::Refused => "refused",
        retrieve::AnswerStatus::Unsupported => "unsupported",
        retrieve::AnswerStatus::Extractive => "extractive",
    }
}

/// The kind that a word means; `None` of a word this program does not know.
pub fn kind_of(word: &str) -> Option<Kind> {
    use Kind::{Bug, Cancelled, Corrupt, Incompatible, Io, Locked, Model, NotFound, Usage};
    let all = [Usage, NotFound, Locked, Incompatible, Corrupt, Io, Model, Cancelled, Bug];
    all.into_iter().find(|kind| kind_word(*kind) == word)
}

pub fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Usage => "usage",
        Kind::NotFound => "not_found",
        Kind::Locked => "locked",
        Kind::Incompatible => "incompatible",
        Kind::Corrupt => "corrupt",
        Kind::Io => "io",
        Kind::Model => "model",
        Kind::Cancelled => "cancelled",
        Kind::Bug => "bug",
    }
}
