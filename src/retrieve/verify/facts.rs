//! The facts of a text that can be compared exactly: numbers with their units, dates, times of day, days of the week,
//! names with digits.
//!
//! Useful for: asking whether an answer's numbers stand in a passage, however either of them writes them. Not for: what a
//! number is about, which is a matter of the words around it.

use std::ops::Range;

use super::units::{Measure, Unit, equal};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fact {
    /// Bytes of the text.
    pub range: Range<usize>,
    pub value: Value,
    /// Too common a word to insist on: `one`.
    pub soft: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// Several readings where a point may divide thousands or decimals.
    Number { readings: Vec<f64>, unit: Option<Unit>, bound: Option<Bound> },
    /// Readings as (year, month, day); 0 stands for a part that is not said.
    Date(Vec<(u16, u8, u8)>),
    /// Minutes after midnight.
    Clock(u16),
    /// Monday is 0. A span of days holds all of them.
    Weekdays(Vec<u8>),
    /// Letters and digits in one word, in lower case: `rtx4090`, `v2.1`.
    Name(String),
}

/// Which side of a number is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    AtMost,
    AtLeast,
}

impl Fact {
    /// `self` is said by a text with these facts. `squeezed` is the text without anything but letters and digits.
    pub fn is_in(&self, facts: &[Fact], squeezed: &str) -> bool {
        facts.iter().any(|fact| self.agrees(fact)) || self.in_parts(facts, squeezed)
    }

    /// It is a sum of money.
    pub fn is_money(&self) -> bool {
        let currency = |unit: &Unit| matches!(unit.measure, Measure::Currency(_));
        matches!(&self.value, Value::Number { unit: Some(unit), .. } if currency(unit))
    }

    pub fn is_date(&self) -> bool {
        matches!(self.value, Value::Date(_))
    }

    /// Both say the same.
    pub fn agrees(&self, other: &Fact) -> bool {
        match (&self.value, &other.value) {
            (Value::Number { readings: a, unit: u, .. }, Value::Number { readings: b, unit: v, .. }) => {
                let (p, q) = match (u, v) {
                    (Some(u), Some(v)) if u.measure != v.measure => return false,
                    (Some(u), Some(v)) => (u.factor, v.factor),
                    _ => (1.0, 1.0),
                };
                a.iter().any(|x| b.iter().any(|y| equal(x * p, y * q)))
            }
            (Value::Date(a), Value::Date(b)) => {
                a.iter().any(|(y, m, d)| b.iter().any(|(z, n, e)| (*y == 0 || y == z) && m == n && (*d == 0 || d == e)))
            }
            (Value::Number { readings, unit: None, .. }, Value::Date(dates)) => dates
                .iter()
                .any(|(y, _, d)| readings.iter().any(|r| equal(*r, f64::from(*y)) || equal(*r, f64::from(*d)))),
            (Value::Number { readings, unit: None, .. }, Value::Clock(minutes)) => {
                readings.iter().any(|r| equal(*r, f64::from(minutes / 60)) || equal(*r, f64::from(minutes / 60 % 12)))
            }
            (Value::Clock(minutes), Value::Number { readings, unit: None, .. }) => {
                minutes % 60 == 0 && readings.iter().any(|r| equal(*r, f64::from(minutes / 60)))
            }
            (Value::Clock(a), Value::Clock(b)) => a == b,
            (Value::Weekdays(a), Value::Weekdays(b)) => a.iter().all(|day| b.contains(day)),
            (Value::Name(a), Value::Name(b)) => a == b,
            _ => false,
        }
    }

    /// A date whose year stands elsewhere; a name that the text writes with other signs in it.
    pub fn in_parts(&self, facts: &[Fact], squeezed: &str) -> bool {
        match &self.value {
            Value::Date(dates) => dates.iter().any(|(year, month, day)| {
                let rest = Value::Date(vec![(0, *month, *day)]);
                let rest = Fact { range: 0..0, value: rest, soft: false };
                let year_said = facts.iter().any(|fact| match &fact.value {
                    Value::Number { readings, .. } => readings.iter().any(|r| equal(*r, f64::from(*year))),
                    Value::Date(_) | Value::Clock(_) | Value::Weekdays(_) | Value::Name(_) => false,
                });
                let undated = facts.iter().any(|fact| match &fact.value {
                    Value::Date(said) => said.iter().any(|(y, ..)| *y == 0) && rest.agrees(fact),
                    Value::Number { .. } | Value::Clock(_) | Value::Weekdays(_) | Value::Name(_) => false,
                });
                *year != 0 && year_said && undated
            }),
            Value::Name(name) => {
                let name: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
                squeezed.match_indices(&name).any(|(at, _)| {
                    let after = squeezed[at + name.len()..].chars().next();
                    !after.is_some_and(|c| c.is_ascii_digit())
                })
            }
            Value::Number { .. } | Value::Clock(_) | Value::Weekdays(_) => false,
        }
    }

    /// Both are numbers of one kind, so that one can stand where the other does.
    pub fn is_like(&self, other: &Fact) -> bool {
        match (&self.value, &other.value) {
            (Value::Number { unit: u, .. }, Value::Number { unit: v, .. }) => match (u, v) {
                (Some(u), Some(v)) => u.measure == v.measure || is_money(u) && is_money(v),
                (None, None) => true,
                _ => false,
            },
            (Value::Date(_), Value::Date(_)) | (Value::Clock(_), Value::Clock(_)) => true,
            (Value::Weekdays(_), Value::Weekdays(_)) => true,
            _ => false,
        }
    }

    pub fn is_number(&self) -> bool {
        matches!(self.value, Value::Number { .. })
    }

    pub fn is_bare_number(&self) -> bool {
        matches!(self.value, Value::Number { unit: None, .. })
    }

    pub fn bound(&self) -> Option<Bound> {
        match &self.value {
            Value::Number { bound, .. } => *bound,
            Value::Date(_) | Value::Clock(_) | Value::Weekdays(_) | Value::Name(_) => None,
        }
    }
}

/// The word only says of which kind an amount is, which the amount itself says as well: `costs £29`, `| £29 |`.
pub(in crate::retrieve) fn tells_a_kind(norm: &str) -> bool {
    const STEMS: [&str; 16] = [
        "cost", "price", "take", "took", "last", "weigh", "amount", "kost", "preis", "dauer", "wieg", "cuesta",
        "precio", "dura", "tarda", "coût",
    ];
    STEMS.iter().any(|stem| norm.strip_prefix(stem).is_some_and(|rest| rest.chars().count() <= 2))
}

fn is_money(unit: &Unit) -> bool {
    matches!(unit.measure, super::units::Measure::Currency(_))
}

#[cfg(test)]
mod tests {
    use super::{super::reading::facts, *};

    fn check(lang: &str, a: &str, b: &str, want: bool) {
        let (claim, said) = (facts(a, lang), facts(b, lang));
        let squeezed: String = b.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        assert!(!claim.is_empty(), "{a} has no fact");
        let got = claim.iter().all(|fact| fact.is_in(&said, &squeezed));
        assert_eq!(got, want, "{a:?} in {b:?}\n{claim:?}\n{said:?}");
    }

    #[test]
    fn same_facts_written_otherwise() {
        for (lang, a, b, want) in [
            ("en", "168 hours", "168h", true),
            ("en", "7 days", "168 hours", true),
            ("en", "five working days", "5 days", true),
            ("en", "30 days", "thirty business days", true),
            ("en", "five working days", "5 working hours", false),
            ("en", "twenty-five days", "25 days", true),
            ("en", "25 days", "25 hours", false),
            ("en", "25,000 users", "25000 users", true),
            ("de", "25.000 Nutzer", "25000 Nutzer", true),
            ("de", "3,5 %", "3.5 Prozent", true),
            ("en", "5 percent", "5 per cent", true),
            ("en", "$20", "20 USD", true),
            ("en", "$20", "€20", false),
            ("en", "$20", "| Pro | 20 |", true),
            ("en", "$1.5 million", "$1,500,000", true),
            ("en", "20k requests", "20,000 requests", true),
            ("en", "March 12, 2024", "2024-03-12", true),
            ("en", "12 March 2024", "on 12.03.2024", true),
            ("en", "March 12, 2024", "2024-03-13", false),
            ("en", "in March 2024", "March 12, 2024", true),
            ("en", "in 1987", "on 3 May 1987", true),
            ("en", "in 1988", "on 3 May 1987", false),
            ("en", "12 March 2024", "In 2024 the fair is on March 12.", true),
            ("de", "am 12. März 2024", "2024-03-12", true),
            ("es", "12 de marzo de 2024", "2024-03-12", true),
            ("zh", "2024年3月12日", "2024-03-12", true),
            ("zh", "二十五天", "25天", true),
            ("zh", "两个轮子", "三个轮子", false),
            ("en", "at 5 pm", "17:00", true),
            ("en", "at 9 a.m.", "9:00", true),
            ("en", "at 9 pm", "9:00 am", false),
            ("en", "on Sunday", "Monday to Friday", false),
            ("en", "on Tuesday", "Monday to Friday", true),
            ("en", "version 1.2.3", "version 1.2.4", false),
            ("en", "an RTX4090", "an RTX 4090 card", true),
            ("en", "v2.1", "v2.10", false),
            ("en", "the 3rd floor", "the third floor", true),
            ("en", "1.5 GB", "1500 MB", true),
            ("en", "a 30-day trial", "30 days to try", true),
            ("en", "20 °C", "20 °F", false),
            ("en", "six", "sixty", false),
            ("en", "two", "2,5", false),
        ] {
            check(lang, a, b, want);
        }
    }

    #[test]
    fn common_words_are_no_facts() {
        for (lang, text) in
            [("en", "no one may march in the second row"), ("en", "a plan"), ("zh", "统一"), ("es", "no hay")]
        {
            assert!(facts(text, lang).iter().all(|fact| fact.soft), "{text} {:?}", facts(text, lang));
        }
    }

    #[test]
    fn bounds_are_read() {
        for (text, want) in [
            ("up to 30 days", Some(Bound::AtMost)),
            ("no more than 30 days", Some(Bound::AtMost)),
            ("more than 30 days", Some(Bound::AtLeast)),
            ("after 30 days", Some(Bound::AtLeast)),
            ("costs at most $30", Some(Bound::AtMost)),
            ("exactly 30 days", None),
            ("30 days", None),
        ] {
            assert_eq!(facts(text, "en")[0].bound(), want, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,60}", dense in "[0-9.,:/年月日a-z €$%-]{0,60}") {
            for text in [text, dense] {
                for lang in ["en", "de", "zh"] {
                    for fact in facts(&text, lang) {
                        assert!(text.get(fact.range).is_some());
                    }
                }
            }
        }
    }
}
