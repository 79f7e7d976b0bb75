//! Which sentences are shown, and how they are written down.

use std::{collections::BTreeSet, ops::Range};

use super::{
    super::{Citation, Sentence, Support, passages::Passage, sentences::Unit, verify::has_date},
    Extract,
    candidates::Candidate,
};

const MAX_SENTENCES: usize = 4;
/// Sentences worth less than this share of the best are not shown.
const NEAR_BEST: f32 = 0.6;
/// Maximal marginal relevance: the share of relevance.
const MMR: f32 = 0.7;

/// Picks the best sentences, each time the one that is good and says something new.
pub(super) fn choose(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let best = candidates.iter().map(|c| c.score).fold(0.0, f32::max);
    let mut left: Vec<Candidate> =
        candidates.into_iter().filter(|c| c.score >= NEAR_BEST * best && c.score > 0.0).collect();
    let mut chosen: Vec<Candidate> = Vec::new();
    while chosen.len() < MAX_SENTENCES {
        left.retain(|c| {
            chosen.iter().all(|other| {
                let apart =
                    c.chunk != other.chunk || c.range.end <= other.range.start || other.range.end <= c.range.start;
                apart && alike(c, other) < 0.9
            })
        });
        let value = |c: &Candidate| {
            let repeated = chosen.iter().map(|other| alike(c, other)).fold(0.0, f32::max);
            MMR * c.score - (1.0 - MMR) * repeated * best
        };
        let next = (0..left.len()).max_by(|a, b| {
            let (a, b) = (&left[*a], &left[*b]);
            // Of equals the shorter, then the earlier.
            let place = |c: &Candidate| (c.range.len(), c.chunk, c.range.start);
            value(a).total_cmp(&value(b)).then(place(b).cmp(&place(a)))
        });
        match next {
            Some(at) => chosen.push(left.remove(at)),
            None => break,
        }
    }
    chosen
}

/// Share of the smaller sentence's words that the other has.
fn alike(a: &Candidate, b: &Candidate) -> f32 {
    let shared = a.stems.intersection(&b.stems).count();
    shared as f32 / a.stems.len().min(b.stems.len()).max(1) as f32
}

/// Numbers the passages by first use and writes the sentences one under the other.
pub(super) fn write(chosen: Vec<Candidate>, passages: Vec<Passage>, units: &[Vec<Unit>], wants_date: bool) -> Extract {
    let mut order: Vec<usize> = Vec::new();
    for chunk in chosen.iter().map(|c| c.chunk).chain(0..passages.len()) {
        if !order.contains(&chunk) {
            order.push(chunk);
        }
    }
    let mut text = String::new();
    let mut sentences = Vec::new();
    let mut dated = BTreeSet::new();
    for candidate in chosen {
        let passage = &passages[candidate.chunk];
        let n = order.iter().position(|chunk| *chunk == candidate.chunk).map_or(0, |at| at as u32 + 1);
        // Each sentence of a paragraph has its own marker: it is checked by itself.
        let inside = |unit: &&Unit| candidate.range.start <= unit.range.start && unit.range.end <= candidate.range.end;
        let of_paragraph: Vec<Range<usize>> =
            units[candidate.chunk].iter().filter(inside).map(|unit| unit.range.clone()).collect();
        // `## 2.2.0 — 2025-06-12`: the date of what stands under it.
        let lang = passage.record().lang.as_deref().unwrap_or("en");
        let heading = candidate.heading.clone().filter(|heading| {
            wants_date && !has_date(&candidate.shown, lang) && has_date(&passage.text[heading.clone()], lang)
        });
        let mut parts: Vec<(Range<usize>, String)> = if candidate.prose && candidate.paragraph && of_paragraph.len() > 1
        {
            of_paragraph.into_iter().map(|part| (part.clone(), passage.text[part].to_owned())).collect()
        } else {
            vec![(candidate.range, candidate.shown)]
        };
        // Once for all that stands under it.
        if let Some(heading) = heading.filter(|heading| dated.insert((candidate.chunk, heading.start))) {
            parts.insert(0, (heading.clone(), passage.text[heading].to_owned()));
        }
        for (at, (range, shown)) in parts.into_iter().enumerate() {
            // What spans two chunks is quoted by its longer part: between them the document may have other bytes than we.
            let own = passage.quotable().map(|whole| range.start.max(whole.start)..range.end.min(whole.end));
            let Some(quoted) = own.filter(|part| !part.is_empty()).max_by_key(Range::len) else { continue };
            let Some(span) = passage.document_span(quoted.clone()) else { continue };
            if !text.is_empty() {
                text.push_str(if at > 0 { " " } else { "\n\n" });
            }
            let start = text.len();
            let code = shown.trim_end().ends_with("```");
            let shown = format!("{shown}{}[{n}]", if code { "\n" } else { " " });
            text.push_str(&shown);
            let quote = passage.text[quoted].to_owned();
            sentences.push(Sentence {
                text: shown,
                range: start..text.len(),
                citations: vec![Citation {
                    n,
                    support: Support::Supported,
                    score: 1.0,
                    quote,
                    quote_span: span,
                    attached: false,
                }],
                state: Support::Supported,
                reason: None,
            });
        }
    }
    let mut numbered: Vec<Passage> = Vec::new();
    for (n, chunk) in (1..).zip(order) {
        let mut passage = passages[chunk].clone();
        passage.n = n;
        numbered.push(passage);
    }
    Extract { text, sentences, passages: numbered, relevance: None }
}
