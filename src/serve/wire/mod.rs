//! The one public schema: every JSON object that leaves the program is defined here, and `docs/json.md` describes it.
//!
//! Each object carries `schema: "rag.NAME/VERSION"`. Fields are added, never renamed, removed or given another type.
//! Useful for: turning results of the halls into JSON. Not for: deciding anything.
//! Every object can be read again (remote mode does): a field that is not there is empty, one that is not known is passed over.

mod answer;
mod answers;
mod check;
mod chunk;
mod config;
mod documents;
mod error;
mod eval;
mod hit;
mod ingest;
mod maintenance;
mod models;
mod portable;
mod query;
#[cfg(feature = "serve")]
mod schema;
mod status;
#[cfg(test)]
mod tests;
mod why;
mod words;

use std::borrow::Cow;

pub use answer::*;
pub use answers::{AnsweredQuestion, AnswersBy, AnswersKind, AnswersResult, ByMeasure};
pub use check::*;
pub use chunk::Chunk;
pub use config::*;
pub use documents::*;
pub use error::*;
pub use eval::{
    EvalBar, EvalComparison, EvalConfiguration, EvalDifference, EvalDifferences, EvalInterval, EvalMade, EvalMeasured,
    EvalMetrics, EvalQuery, EvalResult, EvalSeconds, EvalValues, TuneResult, TuneSetting, TuneTrial,
};
pub use hit::*;
pub use ingest::*;
pub use maintenance::*;
pub use models::*;
pub use portable::*;
pub use query::*;
pub use status::*;
pub use why::{Place, Rule, WhyNotResult, WhyResult, Words};
pub use words::*;

use crate::types::{Lines, Pages, Span};

/// One of a few stable words. Ours when an object is made here, another's when it is read.
pub type Word = Cow<'static, str>;

/// `[first, last]`.
pub type Pair = [u32; 2];

fn lines(lines: Option<Lines>) -> Option<Pair> {
    lines.map(|lines| [lines.first, lines.last])
}

/// A page alone is a number's pair too: `[7, 7]`; `page` holds the first for those who want one number.
fn pages(pages: Option<Pages>) -> Option<Pair> {
    pages.map(|pages| [pages.first, pages.last])
}

fn byte_range(span: Span) -> [usize; 2] {
    [span.start, span.end]
}

/// Rounds a score for print: six digits tell any two apart that matter, and the last bits of a float do not.
pub fn rounded(value: f32) -> f64 {
    rounded64(f64::from(value))
}

/// As [`rounded`], of a value that was computed in double precision.
pub fn rounded64(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn milliseconds(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Prints nanoseconds since 1970 as `2026-01-31T12:00:00Z`, UTC, seconds cut.
/// Days to civil date: Howard Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`.
pub fn rfc3339(nanoseconds: i64) -> String {
    let seconds = nanoseconds.div_euclid(1_000_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}
