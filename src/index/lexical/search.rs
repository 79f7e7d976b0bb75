//! Which chunks a lexical query finds, and with what score.
//!
//! Candidates come from tantivy's pruned union; the scores that leave this file are computed anew, in one order and in
//! f64, so that the same chunk has the same score whichever way it was reached and whatever segments it shares, and
//! equal scores are equal bits.

use tantivy::{
    DocAddress, DocId, DocSet, Score, Searcher, SegmentReader, TERMINATED, Term,
    postings::Postings,
    query::{EnableScoring, Weight},
    schema::IndexRecordOption,
};

use super::{
    query::{Clause, LexicalQuery},
    schema::{FIELDS, column},
    statistics::{B, K1, Provider, Statistics},
};
use crate::index::Allowed;

/// How far tantivy's f32 sums may be from ours, relatively: candidates so near under the last place stay in.
const SLACK: f32 = 1e-4;
/// Fewer allowed chunks than this, or than four times what is asked for, are all scored.
const SCORE_ALL_UNDER: usize = 2_000;

/// What one chunk is worth to a query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::index) struct Match {
    pub(in crate::index) score: Score,
    /// Share of the query's stems, weighted by idf, that the chunk holds.
    pub(in crate::index) coverage: f32,
}

/// The `k` best chunks, best first, ties to the smaller id.
pub(in crate::index) fn top(
    searcher: &Searcher,
    statistics: Statistics,
    query: &LexicalQuery,
    k: usize,
    allowed: Option<&Allowed>,
) -> tantivy::Result<Vec<(u64, Score)>> {
    if k == 0 || query.is_empty() {
        return Ok(Vec::new());
    }
    let few = SCORE_ALL_UNDER.max(k.saturating_mul(4));
    let candidates = match allowed {
        Some(allowed) if query.written.is_none() && allowed.len() < few => allowed
            .documents
            .iter()
            .flat_map(|(&segment, docs)| docs.iter().map(move |&doc| DocAddress::new(segment, doc)))
            .collect(),
        _ => candidates(searcher, statistics, query, k, allowed)?,
    };
    let matches = matches(searcher, statistics, query, &candidates)?;
    let mut found = Vec::with_capacity(candidates.len());
    for (segment, range) in by_segment(&candidates) {
        let ids = searcher.segment_reader(segment).fast_fields().u64(column::CHUNK_ID)?;
        for (address, found_match) in candidates[range.clone()].iter().zip(&matches[range]) {
            if found_match.score > 0.0
                && let Some(id) = ids.first(address.doc_id)
            {
                found.push((id, found_match.score));
            }
        }
    }
    found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(k);
    Ok(found)
}

/// Documents that may be among the `k` best, sorted.
fn candidates(
    searcher: &Searcher,
    statistics: Statistics,
    query: &LexicalQuery,
    k: usize,
    allowed: Option<&Allowed>,
) -> tantivy::Result<Vec<DocAddress>> {
    let weight = weight(searcher, statistics, query)?;
    let mut pool = Pool::new(k);
    for (segment, reader) in (0..).zip(searcher.segment_readers()) {
        let docs = match allowed {
            None => None,
            Some(allowed) => match allowed.documents.get(&segment) {
                None => continue,
                docs => docs,
            },
        };
        let error = bound_error(reader, statistics)?;
        weight.for_each_pruning(pool.threshold / error, reader, &mut |doc, score| {
            if score > pool.threshold
                && !reader.is_deleted(doc)
                && docs.is_none_or(|docs| docs.binary_search(&doc).is_ok())
            {
                pool.push(score, DocAddress::new(segment, doc));
            }
            pool.threshold / error
        })?;
    }
    Ok(pool.into_sorted())
}

/// By which factor a score may exceed what tantivy takes for the most that a block of postings can give.
///
/// For each block it stores the length and count that scored best with the segment's own mean length, sources included.
/// With the mean over all chunks another document of the block may score better. With r the ratio of the two
/// means, k1·(1 − b + b·length/mean) changes by a factor between 1 and r, so the best score by at most max(r, 1/r).
fn bound_error(reader: &SegmentReader, statistics: Statistics) -> tantivy::Result<Score> {
    let mut error: f64 = 1.0;
    for field in [FIELDS.stem, FIELDS.exact, FIELDS.title] {
        let tokens = reader.inverted_index(field)?.total_num_tokens() as f64;
        let ratio = tokens / f64::from(reader.max_doc().max(1)) / statistics.mean_length(field);
        if ratio > 0.0 && ratio.is_finite() {
            error = error.max(ratio).max(1.0 / ratio);
        }
    }
    Ok(error as Score)
}

fn weight(searcher: &Searcher, statistics: Statistics, query: &LexicalQuery) -> tantivy::Result<Box<dyn Weight>> {
    let known = query.clauses().map(|clause| (&clause.term, clause.places.df)).collect();
    let provider = Provider { searcher, statistics, known };
    let scoring = EnableScoring::enabled_from_statistics_provider(&provider, searcher);
    match &query.written {
        Some(query) => query.weight(scoring),
        None => query.union().weight(scoring),
    }
}

/// The best so far, and everything too near under the last of them to be told apart.
struct Pool {
    k: usize,
    kept: Vec<(Score, DocAddress)>,
    /// Documents at or under it cannot be among the best.
    threshold: Score,
    prune_at: usize,
}

impl Pool {
    fn new(k: usize) -> Self {
        Self { k, kept: Vec::new(), threshold: Score::MIN, prune_at: k.saturating_mul(2).max(256) }
    }

    fn push(&mut self, score: Score, address: DocAddress) {
        self.kept.push((score, address));
        if self.kept.len() >= self.prune_at {
            self.prune();
            self.prune_at = self.kept.len().max(self.k).saturating_mul(2).max(256);
        }
    }

    fn prune(&mut self) {
        if self.kept.len() <= self.k {
            return;
        }
        let (_, &mut (last, _), _) = self.kept.select_nth_unstable_by(self.k - 1, |a, b| b.0.total_cmp(&a.0));
        self.threshold = self.threshold.max((last - last.abs() * SLACK).next_down());
        let threshold = self.threshold;
        self.kept.retain(|&(score, _)| score > threshold);
    }

    fn into_sorted(mut self) -> Vec<DocAddress> {
        self.prune();
        let mut addresses: Vec<DocAddress> = self.kept.into_iter().map(|(_, address)| address).collect();
        addresses.sort_unstable();
        addresses
    }
}

/// Score and coverage of documents, in their order; `addresses` is sorted by segment, then document.
/// One pass of seeks a term: O(terms × addresses).
pub(in crate::index) fn matches(
    searcher: &Searcher,
    statistics: Statistics,
    query: &LexicalQuery,
    addresses: &[DocAddress],
) -> tantivy::Result<Vec<Match>> {
    let mut matches = vec![Match::default(); addresses.len()];
    let written = match &query.written {
        Some(_) => Some(weight(searcher, statistics, query)?),
        None => None,
    };
    for (segment, range) in by_segment(addresses) {
        let reader = searcher.segment_reader(segment);
        let docs: Vec<DocId> = addresses[range.clone()].iter().map(|address| address.doc_id).collect();
        evaluate(segment as usize, reader, statistics, query, &docs, &mut matches[range.clone()])?;
        if let Some(weight) = &written {
            let mut scorer = weight.scorer(reader, 1.0)?;
            for (&doc, found) in docs.iter().zip(&mut matches[range]) {
                let at = if scorer.doc() < doc { scorer.seek(doc) } else { scorer.doc() };
                found.score = if at == doc { scorer.score() } else { 0.0 };
            }
        }
    }
    Ok(matches)
}

fn evaluate(
    segment: usize,
    reader: &SegmentReader,
    statistics: Statistics,
    query: &LexicalQuery,
    docs: &[DocId],
    matches: &mut [Match],
) -> tantivy::Result<()> {
    let mut scores = vec![0.0; docs.len()];
    let mut covered = vec![0.0; docs.len()];
    let mut held = vec![false; docs.len()];
    let whole: f64 = query.groups.iter().map(|group| group.idf).sum();
    for group in &query.groups {
        held.fill(false);
        for clause in &group.clauses {
            add_clause(segment, reader, statistics, clause, docs, &mut scores, &mut held)?;
        }
        for (covered, _) in covered.iter_mut().zip(&held).filter(|(_, held)| **held) {
            *covered += group.idf;
        }
    }
    for clause in &query.stop_words {
        add_clause(segment, reader, statistics, clause, docs, &mut scores, &mut held)?;
    }
    for (i, found) in matches.iter_mut().enumerate() {
        *found =
            Match { score: scores[i] as f32, coverage: if whole > 0.0 { (covered[i] / whole) as f32 } else { 0.0 } };
    }
    Ok(())
}

/// Adds what a term is worth in each document, and marks those that hold it.
fn add_clause(
    segment: usize,
    reader: &SegmentReader,
    statistics: Statistics,
    clause: &Clause,
    docs: &[DocId],
    scores: &mut [f64],
    held: &mut [bool],
) -> tantivy::Result<()> {
    let field = clause.term.field();
    let Some(place) = clause.places.postings.get(segment).and_then(Option::as_ref) else { return Ok(()) };
    let mut postings =
        reader.inverted_index(field)?.read_postings_from_terminfo(place, IndexRecordOption::WithFreqs)?;
    let lengths = reader.get_fieldnorms_reader(field)?;
    let mean_length = statistics.mean_length(field);
    for ((&doc, score), held) in docs.iter().zip(scores).zip(held) {
        let at = if postings.doc() < doc { postings.seek(doc) } else { postings.doc() };
        if at == TERMINATED {
            break;
        }
        if at == doc {
            let frequency = f64::from(postings.term_freq());
            let length = f64::from(lengths.fieldnorm(doc));
            let norm = K1 * (1.0 - B + B * length / mean_length);
            *score += clause.weight * frequency / (frequency + norm);
            *held = true;
        }
    }
    Ok(())
}

/// Ranges of equal segments in a sorted list.
pub(in crate::index) fn by_segment(
    addresses: &[DocAddress],
) -> impl Iterator<Item = (u32, std::ops::Range<usize>)> + '_ {
    let mut start = 0;
    addresses.chunk_by(|a, b| a.segment_ord == b.segment_ord).map(move |run| {
        let range = start..start + run.len();
        start = range.end;
        (run[0].segment_ord, range)
    })
}

/// Where live chunks with these ids are; `None` for unknown ones. O(ids × segments).
pub(in crate::index) fn locate(searcher: &Searcher, ids: &[u64]) -> tantivy::Result<Vec<Option<DocAddress>>> {
    find(searcher, FIELDS.chunk_id, ids)
}

/// Where the live document with each number in an indexed field is.
pub(in crate::index) fn find(
    searcher: &Searcher,
    field: tantivy::schema::Field,
    numbers: &[u64],
) -> tantivy::Result<Vec<Option<DocAddress>>> {
    let mut found = vec![None; numbers.len()];
    for (segment, reader) in (0..).zip(searcher.segment_readers()) {
        let inverted = reader.inverted_index(field)?;
        for (found, &number) in found.iter_mut().zip(numbers).filter(|(found, _)| found.is_none()) {
            let term = Term::from_field_u64(field, number);
            let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            let mut doc = postings.doc();
            while doc != TERMINATED && reader.is_deleted(doc) {
                doc = postings.advance();
            }
            if doc != TERMINATED {
                *found = Some(DocAddress::new(segment, doc));
            }
        }
    }
    Ok(found)
}

/// All live documents with a number in an indexed field, by segment, then document.
pub(in crate::index) fn find_all(
    searcher: &Searcher,
    field: tantivy::schema::Field,
    number: u64,
) -> tantivy::Result<Vec<DocAddress>> {
    let mut found = Vec::new();
    let term = Term::from_field_u64(field, number);
    for (segment, reader) in (0..).zip(searcher.segment_readers()) {
        let Some(mut postings) = reader.inverted_index(field)?.read_postings(&term, IndexRecordOption::Basic)? else {
            continue;
        };
        let mut doc = postings.doc();
        while doc != TERMINATED {
            if !reader.is_deleted(doc) {
                found.push(DocAddress::new(segment, doc));
            }
            doc = postings.advance();
        }
    }
    Ok(found)
}
