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
    /// Field boost × count in the query, and × what makes the term's own rarity that of the word.
    pub(super) boost: f64,
    /// Field boost × count in the query × idf of the word × (k1 + 1).
    pub(super) weight: f64,
    pub(super) places: Places,
}

/// Where a term is: looked up once a query.
#[derive(Clone, Default)]
pub(super) struct Places {
    /// In how many documents it is.
    pub(super) df: u64,
    /// Its postings, a segment each.
    pub(super) postings: Vec<Option<TermInfo>>,
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
        Box::new(BooleanQuery::new(self.clauses().map(|clause| (Occur::Should, clause.query())).collect()))
    }
}

impl Clause {
    /// For tantivy's scorers.
    pub(super) fn query(&self) -> Box<dyn Query> {
        let query = Box::new(TermQuery::new(self.term.clone(), IndexRecordOption::WithFreqs));
        match self.boost {
            1.0 => query,
            boost => Box::new(BoostQuery::new(query, boost as f32)),
        }
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
    pub(super) fn look_up(&self, stems: &[Stems], rarity: Rarity<'_>) -> tantivy::Result<LexicalQuery> {
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
        let (groups, unknown) = families.look_up(only_stop_words, rarity)?;
        let stop_words = if only_stop_words { Vec::new() } else { self.stop_words(rarity)? };
        Ok(LexicalQuery { words: shown, unknown, groups, stop_words, written: None })
    }
}

impl Words {
    /// Clauses of the stop words, each once with its count.
    fn stop_words(&self, rarity: Rarity<'_>) -> tantivy::Result<Vec<Clause>> {
        let mut asked: BTreeMap<&str, u32> = BTreeMap::new();
        for (word, _) in self.0.iter().filter(|(word, _)| is_stop_word(word)) {
            *asked.entry(word).or_default() += 1;
        }
        let counts = rarity.counts(FIELDS.exact, asked.keys().copied())?;
        let clause = |(word, places): (&str, Places)| {
            let n = asked.get(word).copied().unwrap_or_default();
            let df = places.df;
            rarity.clause(FIELDS.exact, word, EXACT_BOOST * f64::from(n), places, df)
        };
        Ok(counts.into_iter().filter_map(clause).collect())
    }
}

/// How rare words are: what a term weighs.
#[derive(Clone, Copy)]
pub(super) struct Rarity<'a> {
    pub(super) searcher: &'a Searcher,
    pub(super) statistics: Statistics,
}

impl Rarity<'_> {
    /// Where each of the terms is.
    fn counts<'t>(
        self,
        field: Field,
        terms: impl IntoIterator<Item = &'t str>,
    ) -> tantivy::Result<BTreeMap<&'t str, Places>> {
        terms.into_iter().map(|word| Ok((word, self.places(&Term::from_field_text(field, word))?))).collect()
    }

    fn places(self, term: &Term) -> tantivy::Result<Places> {
        let place = |reader: &SegmentReader| -> tantivy::Result<Option<TermInfo>> {
            Ok(reader.inverted_index(term.field())?.get_term_info(term)?)
        };
        let postings = self.searcher.segment_readers().iter().map(place).collect::<tantivy::Result<Vec<_>>>()?;
        let df = postings.iter().flatten().map(|info| u64::from(info.doc_freq)).sum();
        Ok(Places { df, postings })
    }

    /// A term that is as rare as one in `kin` chunks; `None` if no chunk has it.
    fn clause(self, field: Field, word: &str, boost: f64, places: Places, kin: u64) -> Option<Clause> {
        if places.df == 0 {
            return None;
        }
        let (own, rarity) = (self.statistics.idf(places.df), self.statistics.idf(kin));
        let (term, weight) = (Term::from_field_text(field, word), boost * rarity * (K1 + 1.0));
        Some(Clause { term, boost: boost * (rarity / own), weight, places })
    }

    /// The stems of one word, each weighing as the most frequent of them does: see [`Family::kin`].
    pub(super) fn stems(self, field: Field, forms: &BTreeSet<String>, boost: f64) -> tantivy::Result<Vec<Clause>> {
        let counts = self.counts(field, forms.iter().map(String::as_str))?;
        let kin = counts.values().map(|places| places.df).max().unwrap_or(0);
        Ok(counts.into_iter().filter_map(|(word, places)| self.clause(field, word, boost, places, kin)).collect())
    }
}

/// The distinct stems of a word.
pub(super) fn forms(word: &str, kind: Kind, stems: &[Stems]) -> BTreeSet<String> {
    if !kind.is_stemmed() || stems.is_empty() {
        return [analyzer::term(word).into_owned()].into();
    }
    stems.iter().map(|stems| stems.stem(word).into_owned()).collect()
}

/// Words that share a stem, with what each term is worth.
#[derive(Default)]
struct Families(Vec<Family>);

#[derive(Default)]
struct Family {
    /// Stem → how often the query's words have it, and what else they are stemmed to.
    forms: BTreeMap<String, Form>,
    /// Word as it stands → how often the query has it.
    surface: BTreeMap<String, u32>,
}

#[derive(Default)]
struct Form {
    n: u32,
    /// All stems of the words that have this one. It weighs as the most frequent of them: a stem of another language is
    /// as rare as its chunks, and a word would be worth most where it stands in the one chunk of a language. (One chunk
    /// of 1,668 taken for Danish came first for half of CISI's questions.)
    kin: BTreeSet<String>,
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
                for (word, form) in joined.forms {
                    let known = family.forms.entry(word).or_default();
                    known.n += form.n;
                    known.kin.extend(form.kin);
                }
                for (word, n) in joined.surface {
                    *family.surface.entry(word).or_default() += n;
                }
            } else {
                at += 1;
            }
        }
        for form in &forms {
            let known = family.forms.entry(form.clone()).or_default();
            known.n += 1;
            known.kin.extend(forms.iter().cloned());
        }
        *family.surface.entry(word.to_owned()).or_default() += 1;
        self.0.insert(place.unwrap_or(self.0.len()), family);
    }

    /// What each family asks for, and the words of those that no chunk has.
    fn look_up(self, exact_only: bool, rarity: Rarity<'_>) -> tantivy::Result<(Vec<Group>, Vec<String>)> {
        let mut groups = Vec::with_capacity(self.0.len());
        let mut unknown = Vec::new();
        for Family { forms, surface } in self.0 {
            let mut clauses: Vec<Clause> = Vec::new();
            let mut most = 0;
            let fields: &[(Field, f64)] =
                if exact_only { &[] } else { &[(FIELDS.stem, STEM_BOOST), (FIELDS.title, TITLE_BOOST)] };
            for &(field, boost) in fields {
                let counts = rarity.counts(field, forms.keys().map(String::as_str))?;
                let count = |word: &String| counts.get(word.as_str()).map_or(0, |places| places.df);
                for (word, form) in &forms {
                    let kin = form.kin.iter().map(count).max().unwrap_or(0);
                    let places = counts.get(word.as_str()).cloned().unwrap_or_default();
                    clauses.extend(rarity.clause(field, word, boost * f64::from(form.n), places, kin));
                    most = most.max(kin);
                }
            }
            let mut exact: BTreeMap<String, u32> = BTreeMap::new();
            for (word, n) in &surface {
                *exact.entry(analyzer::term(word).into_owned()).or_default() += n;
            }
            for (word, places) in rarity.counts(FIELDS.exact, exact.keys().map(String::as_str))? {
                let (n, df) = (exact.get(word).copied().unwrap_or_default(), places.df);
                clauses.extend(rarity.clause(FIELDS.exact, word, EXACT_BOOST * f64::from(n), places, df));
                most = most.max(df);
            }
            if clauses.is_empty() {
                let spelled = |word: &String| word.chars().all(|c| c.is_alphabetic() && !analyzer::is_dense(c));
                unknown.extend(surface.into_keys().filter(spelled));
            }
            groups.push(Group { idf: rarity.statistics.idf(most), clauses });
        }
        Ok((groups, unknown))
    }
}
