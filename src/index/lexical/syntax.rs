//! How a query in tantivy's language is read: words, `"phrases"`, `+must`, `-not`, `AND`, `OR`, `NOT`, parentheses,
//! `field:`, `^boost`.
//!
//! The grammar is tantivy's, the meaning ours: a bare word searches as in a plain query (all three fields, all stems), a
//! phrase runs over the words as they stand. Ranges, sets and patterns are refused: filters do that.

use std::collections::BTreeSet;

use tantivy::{
    TantivyError, Term,
    query::{
        AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, Occur, PhrasePrefixQuery, PhraseQuery, Query, TermQuery,
    },
    query_grammar::{self, Delimiter, UserInputAst, UserInputLeaf, UserInputLiteral},
    schema::IndexRecordOption,
};

use super::{
    analyzer::{self, Kind},
    language::Stems,
    query::{EXACT_BOOST, Rarity, STEM_BOOST, TITLE_BOOST, Words, forms},
    schema::{CHUNK, FIELDS},
    stopwords::is_stop_word,
};

/// The most words, phrases and groups of a query.
pub(in crate::index) const MAX_CLAUSES: usize = 256;
/// The deepest nesting of parentheses.
const MAX_DEPTH: usize = 32;
/// Boosts lie in 0..=this.
const MAX_BOOST: f64 = 1_000.0;

/// A query that was read: what it matches, and the words it is about.
pub(super) struct Written {
    pub(super) query: Box<dyn Query>,
    pub(super) words: Words,
}

/// Why a query was not read.
pub(super) enum Unread {
    /// A sentence for the person who wrote it.
    Query(String),
    Index(TantivyError),
}

impl From<String> for Unread {
    fn from(what: String) -> Self {
        Self::Query(what)
    }
}

impl From<TantivyError> for Unread {
    fn from(error: TantivyError) -> Self {
        Self::Index(error)
    }
}

/// Reads a query.
pub(super) fn read(text: &str, stems: &[Stems], rarity: Rarity<'_>) -> Result<Written, Unread> {
    check_depth(text)?;
    let (tree, errors) = query_grammar::parse_query_lenient(text);
    if let Some(error) = errors.first() {
        return Err(format!("{} at character {}", error.message, error.pos).into());
    }
    let mut reader = Reader { stems, rarity, clauses: 0, words: Words::default(), negated: false };
    let Some(query) = reader.tree(&tree, 0)? else { return Err("there is no word in it".to_owned().into()) };
    if only_excludes(&tree) {
        return Err("it only says what must not be there".to_owned().into());
    }
    let chunks = TermQuery::new(Term::from_field_text(FIELDS.kind, CHUNK), IndexRecordOption::Basic);
    let chunks: Box<dyn Query> = Box::new(ConstScoreQuery::new(Box::new(chunks), 0.0));
    let query = Box::new(BooleanQuery::new(vec![(Occur::Must, query), (Occur::Must, chunks)]));
    Ok(Written { query, words: reader.words })
}

/// Bounds what the parser, which recurses into parentheses and signs, is given.
fn check_depth(text: &str) -> Result<(), String> {
    // Parentheses that are open, and signs since the last word.
    let (mut open, mut signs) = (0usize, 0usize);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '(' => {
                open += 1;
                1
            }
            ')' => {
                open = open.saturating_sub(1);
                1
            }
            '+' | '-' => {
                signs += 1;
                1
            }
            c if c.is_whitespace() => c.len_utf8(),
            _ => {
                let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')');
                let word = rest.find(ends).unwrap_or(rest.len());
                signs = if &rest[..word] == "NOT" { signs + 1 } else { 0 };
                word
            }
        };
        rest = &rest[length..];
        if open > MAX_DEPTH || signs > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
    }
    Ok(())
}

fn only_excludes(tree: &UserInputAst) -> bool {
    match tree {
        UserInputAst::Clause(clauses) => {
            clauses.iter().all(|(occur, tree)| *occur == Some(Occur::MustNot) || only_excludes(tree))
        }
        UserInputAst::Boost(tree, _) => only_excludes(tree),
        UserInputAst::Leaf(_) => false,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    All,
    Exact,
    Title,
}

struct Reader<'a> {
    stems: &'a [Stems],
    rarity: Rarity<'a>,
    clauses: usize,
    words: Words,
    negated: bool,
}

type Read = Result<Option<Box<dyn Query>>, Unread>;

impl Reader<'_> {
    /// `None`: nothing in it can be searched for.
    fn tree(&mut self, tree: &UserInputAst, depth: usize) -> Read {
        self.clauses += 1;
        if self.clauses > MAX_CLAUSES {
            return Err(format!("it has more than {MAX_CLAUSES} parts").into());
        }
        if depth > 4 * MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep").into());
        }
        match tree {
            UserInputAst::Leaf(leaf) => self.leaf(leaf),
            UserInputAst::Boost(tree, boost) => {
                let boost = boost.into_inner();
                if !(0.0..=MAX_BOOST).contains(&boost) {
                    return Err(format!("a boost is a number from 0 to {MAX_BOOST}, not {boost}").into());
                }
                let query = self.tree(tree, depth + 1)?;
                Ok(query.map(|query| Box::new(BoostQuery::new(query, boost as f32)) as Box<dyn Query>))
            }
            UserInputAst::Clause(clauses) => {
                let mut queries = Vec::new();
                for (occur, tree) in clauses {
                    let occur = occur.unwrap_or(Occur::Should);
                    let before = self.negated;
                    self.negated ^= occur == Occur::MustNot;
                    let query = self.tree(tree, depth + 1);
                    self.negated = before;
                    queries.extend(query?.map(|query| (occur, query)));
                }
                if queries.is_empty() {
                    return Ok(None);
                }
                if queries.iter().all(|(occur, _)| *occur == Occur::MustNot) {
                    let all = ConstScoreQuery::new(Box::new(AllQuery), 0.0);
                    queries.push((Occur::Must, Box::new(all)));
                }
                Ok(Some(Box::new(BooleanQuery::new(queries))))
            }
        }
    }

    fn leaf(&mut self, leaf: &UserInputLeaf) -> Read {
        match leaf {
            UserInputLeaf::Literal(literal) => self.literal(literal),
            // Wrapped, for tantivy drops a bare one beside other clauses, and its score with it.
            UserInputLeaf::All => Ok(Some(Box::new(ConstScoreQuery::new(Box::new(AllQuery), 1.0)))),
            UserInputLeaf::Range { .. } => Err("ranges are for filters".to_owned().into()),
            UserInputLeaf::Set { .. } => Err("sets (`IN [...]`) are not known here".to_owned().into()),
            UserInputLeaf::Exists { .. } => Err("`field:*` is not known here".to_owned().into()),
            UserInputLeaf::Regex { .. } => Err("patterns (`/.../`) are not known here".to_owned().into()),
        }
    }

    fn literal(&mut self, literal: &UserInputLiteral) -> Read {
        let place = match literal.field_name.as_deref() {
            None | Some("text") => Place::All,
            Some("exact") => Place::Exact,
            Some("title") => Place::Title,
            Some(other) => {
                let what = format!(
                    "there is no field `{other}`: `text`, `exact` and `title` can be searched, other facts be filtered by; \
                     put words with a colon in quotes"
                );
                return Err(what.into());
            }
        };
        if !self.negated {
            self.words.add(&literal.phrase);
        }
        let mut all: Vec<(String, Kind)> = Vec::new();
        analyzer::words(&literal.phrase, &mut |word, _, kind| all.push((word.to_owned(), kind)));
        let steps: Vec<&str> = all.iter().filter(|(_, kind)| kind.is_step()).map(|(word, _)| word.as_str()).collect();
        self.clauses += steps.len().saturating_sub(1);
        if self.clauses > MAX_CLAUSES {
            return Err(format!("it has more than {MAX_CLAUSES} parts").into());
        }
        let quoted = literal.delimiter != Delimiter::None;
        if literal.prefix && (place == Place::Title || steps.len() < 2) {
            return Err("a phrase that ends in `*` needs two words, and the field `text` or `exact`".to_owned().into());
        }
        Ok(match (place, steps.as_slice()) {
            (_, []) => None,
            (Place::Title, steps) => {
                let mut words = Vec::with_capacity(steps.len());
                for word in steps {
                    words.push((Occur::Must, self.title(word)?));
                }
                Some(Box::new(BooleanQuery::new(words)))
            }
            (Place::Exact, [word]) => Some(exact(word)),
            (Place::All, [word]) if quoted || is_stop_word(word) => Some(exact(word)),
            (Place::All, [word]) => Some(self.anywhere(word)?),
            (Place::All | Place::Exact, steps) => Some(phrase(steps, literal.slop, literal.prefix)),
        })
    }

    /// A word in all three fields, as in a plain query.
    fn anywhere(&self, word: &str) -> tantivy::Result<Box<dyn Query>> {
        let forms = self.forms(word);
        let mut clauses = vec![(Occur::Should, boosted(exact(word), EXACT_BOOST))];
        for (field, boost) in [(FIELDS.stem, STEM_BOOST), (FIELDS.title, TITLE_BOOST)] {
            let stems = self.rarity.stems(field, &forms, boost)?;
            clauses.extend(stems.iter().map(|clause| (Occur::Should, clause.query())));
        }
        Ok(Box::new(BooleanQuery::new(clauses)))
    }

    fn title(&self, word: &str) -> tantivy::Result<Box<dyn Query>> {
        let stems = self.rarity.stems(FIELDS.title, &self.forms(word), 1.0)?;
        Ok(Box::new(BooleanQuery::new(stems.iter().map(|clause| (Occur::Should, clause.query())).collect())))
    }

    fn forms(&self, word: &str) -> BTreeSet<String> {
        forms(word, Kind::Plain, self.stems)
    }
}

fn term(field: tantivy::schema::Field, word: &str) -> Box<dyn Query> {
    Box::new(TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::WithFreqs))
}

fn exact(word: &str) -> Box<dyn Query> {
    term(FIELDS.exact, &analyzer::term(word))
}

fn boosted(query: Box<dyn Query>, boost: f64) -> Box<dyn Query> {
    if boost == 1.0 { query } else { Box::new(BoostQuery::new(query, boost as f32)) }
}

/// At least two words, one after the other; `slop`: how many places they may be moved in all.
fn phrase(words: &[&str], slop: u32, prefix: bool) -> Box<dyn Query> {
    let terms: Vec<Term> =
        words.iter().map(|word| Term::from_field_text(FIELDS.exact, &analyzer::term(word))).collect();
    if prefix {
        return Box::new(PhrasePrefixQuery::new(terms));
    }
    let mut query = PhraseQuery::new(terms);
    query.set_slop(slop);
    Box::new(query)
}
