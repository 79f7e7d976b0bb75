//! What a caller may hand in that means nothing, told instead of met.
//!
//! Useful for: rows and queries that come from elsewhere. Not for: bytes of files (see [`Damage`](super::Damage)).

use super::{
    encode::{NewRow, stored},
    layout::{MAX_DIM, MAX_ROWS},
    segment::RowFormat,
};

/// Rows or a query that the core does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadInput {
    /// None, or more than a format has room for.
    #[error("dimension {0}, 1 to {MAX_DIM} expected")]
    Dimension(usize),
    /// More than there are numbers of rows.
    #[error("{0} rows, at most {MAX_ROWS} expected: make segments of them")]
    Rows(usize),
    /// Another length than that of the segment.
    #[error("length of the vector of {id}: {found} values, {dim} expected")]
    Length { id: u64, found: usize, dim: usize },
    /// As it would be stored: a value of more than 65,504 is not in half the width.
    #[error("the vector of {id} is not finite: value {at}")]
    NotFinite { id: u64, at: usize },
    /// An id names one row.
    #[error("two rows have one id: {0}")]
    TwiceTheId(u64),
    /// Another length than that of the rows.
    #[error("dimension of the query: {found} values, {dim} expected")]
    Query { found: usize, dim: usize },
    /// NaN or an infinity, at this place.
    #[error("the query is not finite: value {0}")]
    QueryNotFinite(usize),
}

/// Whether [`encode_segment`](super::encode_segment) takes these rows. O(values + n log n).
pub fn check_rows(dim: usize, rows: &[NewRow<'_>], format: RowFormat) -> Result<(), BadInput> {
    check_values(dim, rows, format)?;
    let mut ids: Vec<u64> = rows.iter().map(|row| row.id).collect();
    ids.sort_unstable();
    match ids.array_windows().find(|[a, b]| a == b) {
        Some(&[id, _]) => Err(BadInput::TwiceTheId(id)),
        None => Ok(()),
    }
}

/// All but whether two rows have one id.
pub(super) fn check_values(dim: usize, rows: &[NewRow<'_>], format: RowFormat) -> Result<(), BadInput> {
    check_size(dim, rows.len())?;
    for &NewRow { id, vector, .. } in rows {
        if vector.len() != dim {
            return Err(BadInput::Length { id, found: vector.len(), dim });
        }
        if let Some(at) = vector.iter().position(|&value| !stored(value, format).is_finite()) {
            return Err(BadInput::NotFinite { id, at });
        }
    }
    Ok(())
}

fn check_size(dim: usize, rows: usize) -> Result<(), BadInput> {
    if !(1..=MAX_DIM).contains(&dim) {
        return Err(BadInput::Dimension(dim));
    }
    if rows > MAX_ROWS {
        return Err(BadInput::Rows(rows));
    }
    Ok(())
}

/// Whether a query fits rows of this dimension and has an answer.
pub(super) fn check_query(dim: usize, query: &[f32]) -> Result<(), BadInput> {
    if query.len() != dim {
        return Err(BadInput::Query { found: query.len(), dim });
    }
    match query.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(BadInput::QueryNotFinite(at)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
