//! What a lexical query asks for: words, their stems in every language of the snapshot, and what each weighs.

use std::collections::{BTreeMap, BTreeSet};

use tantivy::{
    Searcher, SegmentReader, Term,
    postings::TermInfo,
    query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery},
    schema::{Field, IndexRecordOption},
};

use super::{
    analyzer::{self, Kind},
    language::Stems,
    schema::FIELDS,
    statistics::{K1, Statistics},
    stopwords::is_stop_word,
};

/// Weight of the words as stems: the recipe's three constants.
pub(in crate::index) const STEM_BOOST: f64 = 1.0;
/// Weight of the words as they stand.
pub(in crate::index) const EXACT_BOOST: f64 = 0.3;
/// Weight of title, headings and file name.
pub(in crate::index) const TITLE_BOOST: f64 = 0.3;

/// A lexical query, analysed against one snapshot: the words of the text in each field with their counts, every word
/// stemmed by the stemmers of all languages the snapshot holds.
pub struct LexicalQuery {
    pub(super) words: Vec<String>,
    /// Words of letters of which no chunk has any form.
    pub(super) unknown: Vec<String>,
    /// Distinct stems of the query: what coverage counts.
    pub(super) groups: Vec<Group>,
    /// Stop words beside other words, as they stand: they weigh little and cover nothing.
    pub(super) stop_words: Vec<Clause>,
    /// Set where the query was written in tantivy's language: it decides matches and scores, the groups coverage alone.
    pub(super) written: Option<Box<dyn Query>>,
}

/// The forms of one word of the query, in all fields.
pub(super) struct Group {
    /// Inverse document frequency; that of no occurrence where no chunk has any form.
    pub(super) idf: f64,
    /// Terms that some chunk has.
    pub(super) clauses: Vec<Clause>,
}

/// One term of one field.
pub(super) struct Clause {
    pub(super) term: Term,
    /// Field boost × count in the query.
    pub(super) boost: f64,
    /// `boost` × idf × (k1 + 1).
    pub(super) weight: f64,
    /// In how many documents it is.
    pub(super) df: u64,
    /// Where its postings are, a segment each: a term is looked up once.
    pub(super) places: Vec<Option<TermInfo>>,
}

impl LexicalQuery {
    /// Nothing of the text can be searched for (no word in it).
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.written.is_none()
    }

    /// The distinct surface words of the query, lower case, stop words out unless there is nothing else: for highlights.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The words of the query that occur nowhere in any form, in lower case: those of letters of scripts with spaces.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// All its terms.
    pub(super) fn clauses(&self) -> impl Iterator<Item = &Clause> {
        self.groups.iter().flat_map(|group| &group.clauses).chain(&self.stop_words)
    }

    /// The query for tantivy's scorers: a sum over all terms.
    pub(super) fn union(&self) -> Box<dyn Query> {
        let clauses = self.clauses().map(|clause| {
            let query = Box::new(TermQuery::new(clause.term.clone(), IndexRecordOption::WithFreqs));
            let query: Box<dyn Query> = match clause.boost {
                1.0 => query,
                boost => Box::new(BoostQuery::new(query, boost as f32)),
            };
            (Occur::Should, query)
        });
        Box::new(BooleanQuery::new(clauses.collect()))
    }
}

/// Words of a query as they come, before anything is looked up.
#[derive(Default)]
pub(super) struct Words(Vec<(String, Kind)>);

impl Words {
    pub(super) fn add(&mut self, text: &str) {
        analyzer::words(text, &mut |word, _, kind| self.0.push((word.to_owned(), kind)));
    }

    /// Looks up every word. O(words × languages × segments).
    pub(super) fn look_up(
        &self,
        stems: &[Stems],
        searcher: &Searcher,
        statistics: Statistics,
    ) -> tantivy::Result<LexicalQuery> {
        let telling = |(word, _): &&(String, Kind)| !is_stop_word(word);
        let only_stop_words = !self.0.iter().any(|word| telling(&word));
        let words: Vec<&(String, Kind)> = self.0.iter().filter(|word| only_stop_words || telling(word)).collect();

        let mut families = Families::default();
        let mut surface = BTreeSet::new();
        for (word, kind) in &words {
            let forms = if only_stop_words { [word.clone()].into() } else { forms(word, *kind, stems) };
            families.add(forms, word);
            surface.insert(word.clone());
        }
        let mut shown: Vec<String> = Vec::new();
        for (word, kind) in &words {
            // A single letter of a script without spaces would light up half the text: its pairs are shown.
            let hidden = *kind == Kind::Letter && words.iter().any(|(pair, k)| *k == Kind::Pair && pair.contains(word));
            if !hidden && surface.remove(word) {
                shown.push(word.clone());
            }
        }
        let (groups, unknown) = families.look_up(only_stop_words, searcher, statistics)?;
        let stop_words = if only_stop_words { Vec::new() } else { self.stop_words(searcher, statistics)? };
        Ok(LexicalQuery { words: shown, unknown, groups, stop_words, written: None })
    }
}

impl Words {
    /// Clauses of the stop words, each once with its count.
    fn stop_words(&self, searcher: &Searcher, statistics: Statistics) -> tantivy::Result<Vec<Clause>> {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for (word, _) in self.0.iter().filter(|(word, _)| is_stop_word(word)) {
            *counts.entry(word).or_default() += 1;
        }
        let mut clauses = Vec::new();
        for (word, n) in counts {
            let (clause, _) = clause(FIELDS.exact, word, EXACT_BOOST, n, searcher, statistics)?;
            clauses.extend(clause);
        }
        Ok(clauses)
    }
}

/// A term with its weight, if any chunk has it, and in how many chunks it is.
fn clause(
    field: Field,
    word: &str,
    boost: f64,
    n: u32,
    searcher: &Searcher,
    statistics: Statistics,
) -> tantivy::Result<(Option<Clause>, u64)> {
    let term = Term::from_field_text(field, word);
    let place = |reader: &SegmentReader| -> tantivy::Result<Option<TermInfo>> {
        Ok(reader.inverted_index(field)?.get_term_info(&term)?)
    };
    let places = searcher.segment_readers().iter().map(place).collect::<tantivy::Result<Vec<_>>>()?;
    let df = places.iter().flatten().map(|place| u64::from(place.doc_freq)).sum();
    let boost = boost * f64::from(n);
    let weight = boost * statistics.idf(df) * (K1 + 1.0);
    Ok(((df > 0).then_some(Clause { term, boost, weight, df, places }), df))
}

/// The distinct stems of a word.
pub(super) fn forms(word: &str, kind: Kind, stems: &[Stems]) -> BTreeSet<String> {
    if !kind.is_stemmed() || stems.is_empty() {
        return [word.to_owned()].into();
    }
    stems.iter().map(|stems| stems.stem(word).into_owned()).collect()
}

/// Words that share a stem, with what each term is worth.
#[derive(Default)]
struct Families(Vec<Family>);

#[derive(Default)]
struct Family {
    /// Stem → how often the query's words have it.
    forms: BTreeMap<String, u32>,
    /// Word as it stands → how often the query has it.
    surface: BTreeMap<String, u32>,
}

impl Families {
    /// Adds a word to the family that has one of its stems, joining families it ties together.
    fn add(&mut self, forms: BTreeSet<String>, word: &str) {
        let mut family = Family::default();
        let mut place = None;
        let mut at = 0;
        while at < self.0.len() {
            if forms.iter().any(|form| self.0[at].forms.contains_key(form)) {
                let joined = self.0.remove(at);
                place.get_or_insert(at);
                for (form, n) in joined.forms {
                    *family.forms.entry(form).or_default() += n;
                }
                for (word, n) in joined.surface {
                    *family.surface.entry(word).or_default() += n;
                }
            } else {
                at += 1;
            }
        }
        for form in forms {
            *family.forms.entry(form).or_default() += 1;
        }
        *family.surface.entry(word.to_owned()).or_default() += 1;
        self.0.insert(place.unwrap_or(self.0.len()), family);
    }

    /// What each family asks for, and the words of those that no chunk has.
    fn look_up(
        self,
        exact_only: bool,
        searcher: &Searcher,
        statistics: Statistics,
    ) -> tantivy::Result<(Vec<Group>, Vec<String>)> {
        let mut groups = Vec::with_capacity(self.0.len());
        let mut unknown = Vec::new();
        for family in self.0 {
            let mut clauses: Vec<Clause> = Vec::new();
            let mut most = 0;
            let mut add = |field: Field, word: &str, boost: f64, n: u32| -> tantivy::Result<()> {
                let (clause, df) = clause(field, word, boost, n, searcher, statistics)?;
                most = most.max(df);
                clauses.extend(clause);
                Ok(())
            };
            if !exact_only {
                for (form, n) in &family.forms {
                    add(FIELDS.stem, form, STEM_BOOST, *n)?;
                    add(FIELDS.title, form, TITLE_BOOST, *n)?;
                }
            }
            for (word, n) in &family.surface {
                add(FIELDS.exact, word, EXACT_BOOST, *n)?;
            }
            if clauses.is_empty() {
                let spelled = |word: &String| word.chars().all(|c| c.is_alphabetic() && !analyzer::is_dense(c));
                unknown.extend(family.surface.into_keys().filter(spelled));
            }
            groups.push(Group { idf: statistics.idf(most), clauses });
        }
        Ok((groups, unknown))
    }
}
