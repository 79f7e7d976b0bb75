//! Reads numbers, dates, times, days and names with digits from a text, however they are written.
//!
//! Useful for: English, German, Spanish, French and Chinese; digits and signs of any language. Not for: deciding whether
//! two facts agree (`facts`).

use std::ops::Range;

use super::{
    calendar::{month_of, weekday_of, weekdays_between},
    facts::{Bound, Fact, Value},
    numerals,
    units::{Measure, unit_of},
};
use crate::retrieve::words::{is_cjk, is_invisible};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Number(&'a str),
    Word(&'a str),
    Sign(char),
}

type Placed<'a> = (Range<usize>, Token<'a>);

/// Reads all facts of a text in order. O(bytes).
pub(super) fn facts(text: &str, lang: &str) -> Vec<Fact> {
    let tokens = tokens(text);
    let mut facts = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let reader = Reader { tokens: &tokens, at, lang };
        match reader.fact() {
            Some((value, used, soft)) => {
                let range = tokens[at].0.start..tokens[at + used - 1].0.end;
                facts.push(Fact { range, value, soft });
                at += used;
            }
            None => at += 1,
        }
    }
    facts
}

fn tokens(text: &str) -> Vec<Placed<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        let len = if letter.is_numeric() && !is_cjk(letter) {
            number_len(rest)
        } else if is_cjk(letter) {
            cjk_len(rest)
        } else if letter.is_alphabetic() {
            rest.find(|c: char| !(c.is_alphabetic() || is_mark(c)) || is_cjk(c)).unwrap_or(rest.len())
        } else {
            letter.len_utf8()
        };
        let range = at..at + len;
        let body = &text[range.clone()];
        if letter.is_numeric() && !is_cjk(letter) {
            tokens.push((range, Token::Number(body)));
        } else if letter.is_alphabetic() {
            tokens.push((range, Token::Word(body)));
        } else if !letter.is_whitespace() && !is_invisible(letter) {
            tokens.push((range, Token::Sign(letter)));
        }
        at += len;
    }
    tokens
}

/// Marks that belong to the letter before them.
fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36F}' | '\u{93E}'..='\u{94D}')
}

/// Digits with single separators between them: `25,000.50`, `1'000`, `25 000` with a no-break space.
fn number_len(text: &str) -> usize {
    let mut end = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, letter)) = chars.next() {
        if letter.is_numeric() && !is_cjk(letter) {
            end = at + letter.len_utf8();
            continue;
        }
        let separates = matches!(letter, '.' | ',' | '\'' | '’' | '\u{A0}' | '\u{202F}' | '\u{2009}' | '٬' | '٫');
        let digit_follows = chars.peek().is_some_and(|(_, next)| next.is_numeric() && !is_cjk(*next));
        // A space divides thousands only before three digits.
        let spaced = letter.is_whitespace()
            && text[at + letter.len_utf8()..].chars().take_while(char::is_ascii_digit).count() != 3;
        if !separates || !digit_follows || spaced {
            break;
        }
    }
    end.max(text.chars().next().map_or(0, char::len_utf8))
}

/// A run of Chinese numerals is one word, as are the units of two characters; else each character is.
fn cjk_len(text: &str) -> usize {
    let numerals: usize = text.chars().take_while(|c| numerals::is_chinese_numeral(*c)).map(char::len_utf8).sum();
    if numerals > 0 {
        return numerals;
    }
    let units = [
        "分钟", "分鐘", "小时", "小時", "个月", "個月", "星期", "毫秒", "毫米", "厘米", "公里", "公斤", "千克", "毫升",
        "美元", "欧元",
    ];
    let unit = units.iter().find(|unit| text.starts_with(**unit));
    unit.map_or_else(|| text.chars().next().map_or(0, char::len_utf8), |unit| unit.len())
}

struct Reader<'a> {
    tokens: &'a [Placed<'a>],
    at: usize,
    lang: &'a str,
}

type Found = Option<(Value, usize, bool)>;

impl<'a> Reader<'a> {
    fn token(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).map(|(_, token)| *token)
    }

    fn word(&self, ahead: usize) -> Option<&'a str> {
        match self.token(ahead)? {
            Token::Word(word) => Some(word),
            Token::Number(_) | Token::Sign(_) => None,
        }
    }

    fn number(&self, ahead: usize) -> Option<&'a str> {
        match self.token(ahead)? {
            Token::Number(number) => Some(number),
            Token::Word(_) | Token::Sign(_) => None,
        }
    }

    fn sign(&self, ahead: usize) -> Option<char> {
        match self.token(ahead)? {
            Token::Sign(sign) => Some(sign),
            Token::Number(_) | Token::Word(_) => None,
        }
    }

    /// Nothing stands between a token and the one before it.
    fn tight(&self, ahead: usize) -> bool {
        let at = self.at + ahead;
        at > 0 && at < self.tokens.len() && self.tokens[at - 1].0.end == self.tokens[at].0.start
    }

    fn fact(&self) -> Found {
        self.date()
            .or_else(|| self.clock())
            .or_else(|| self.weekdays())
            .or_else(|| self.name())
            .or_else(|| self.amount())
    }

    fn small(&self, ahead: usize) -> Option<u16> {
        let digits = self.number(ahead)?;
        (digits.len() <= 4).then(|| digits.parse().ok()).flatten()
    }

    fn date(&self) -> Found {
        self.numeric_date().or_else(|| self.chinese_date()).or_else(|| self.named_date())
    }

    /// `2024-03-12`, `12.03.2024` (one token), `12/03/2024` in both readings.
    fn numeric_date(&self) -> Found {
        if let Some([d, m, y]) = self.number(0).and_then(|n| parts(n, '.')) {
            let year = if y < 100 { y + 2000 } else { y };
            return valid(year, m, d).map(|date| (Value::Date(vec![date]), 1, false));
        }
        let (a, b, c) = (self.small(0)?, self.small(2)?, self.small(4)?);
        let sign = self.sign(1).filter(|s| matches!(s, '-' | '/' | '‑' | '–')).filter(|s| self.sign(3) == Some(*s))?;
        if !(1..=4).all(|ahead| self.tight(ahead)) {
            return None;
        }
        let four = |at: usize| self.number(at).is_some_and(|n| n.len() == 4);
        let readings: Vec<_> = if four(0) {
            valid(a, b, c).into_iter().collect()
        } else if four(4) {
            let day_first = valid(c, b, a);
            let month_first = if sign == '/' { valid(c, a, b) } else { None };
            day_first.into_iter().chain(month_first).collect()
        } else {
            Vec::new()
        };
        (!readings.is_empty()).then_some((Value::Date(readings), 5, false))
    }

    /// `2024年3月12日`, `3月12日`.
    fn chinese_date(&self) -> Found {
        let mut parts = [0u16; 3];
        let (mut used, mut found) = (0, 0);
        for (slot, marks) in [["年", "年"], ["月", "月"], ["日", "号"]].iter().enumerate() {
            let value = self.small(used).or_else(|| self.word(used).and_then(numerals::chinese).map(|v| v as u16));
            if let (Some(value), Some(mark)) = (value, self.word(used + 1))
                && marks.contains(&mark)
            {
                parts[slot] = value;
                used += 2;
                found += 1;
            }
        }
        (found >= 2)
            .then(|| valid(parts[0], parts[1], parts[2]).map(|date| (Value::Date(vec![date]), used, false)))
            .flatten()
    }

    /// `12 March 2024`, `March 12, 2024`, `March 2024`, `12. März`, `12 de marzo de 2024`.
    fn named_date(&self) -> Found {
        let year_at = |ahead: usize| -> Option<(u16, usize)> {
            let skip = usize::from(self.sign(ahead) == Some(','));
            let skip = skip + usize::from(matches!(self.word(ahead + skip), Some("de" | "del")));
            let year = self.number(ahead + skip).filter(|n| n.len() == 4)?.parse().ok()?;
            Some((year, ahead + skip + 1))
        };
        let day_of = |ahead: usize| self.small(ahead).filter(|d| (1..=31).contains(d));
        if let Some(month) = self.word(0).and_then(month_of) {
            if let Some(day) = day_of(1) {
                let suffix = usize::from(self.tight(2) && self.word(2).is_some_and(is_ordinal_ending));
                let (year, used) = year_at(2 + suffix).unwrap_or((0, 2 + suffix));
                return valid(year, month.into(), day).map(|date| (Value::Date(vec![date]), used, false));
            }
            let (year, used) = year_at(1)?;
            return Some((Value::Date(vec![(year, month, 0)]), used, false));
        }
        let day = day_of(0)?;
        let mut next = 1;
        next += usize::from(self.sign(next) == Some('.') || self.word(next).is_some_and(is_ordinal_ending));
        next += usize::from(matches!(self.word(next), Some("of" | "de")));
        let month = self.word(next).and_then(month_of)?;
        let (year, used) = year_at(next + 1).unwrap_or((0, next + 1));
        valid(year, month.into(), day).map(|date| (Value::Date(vec![date]), used, false))
    }

    /// `17:30`, `9:30 am`, `9 a.m.`, `17 Uhr`.
    fn clock(&self) -> Found {
        let (hour, minute, mut used) = if self.sign(1) == Some(':') && self.tight(1) && self.tight(2) {
            let minute = self.number(2).filter(|m| m.len() == 2)?.parse::<u16>().ok()?;
            if self.sign(3) == Some(':') && self.number(4).is_some() {
                return None;
            }
            (self.small(0)?, minute, 3)
        } else {
            let (hour, minute) = match self.number(0)?.split_once('.') {
                Some((hour, minute)) if minute.len() == 2 => (hour.parse().ok()?, minute.parse().ok()?),
                _ => (self.small(0)?, 0),
            };
            (hour, minute, 1)
        };
        let plain = used == 1;
        let dotted =
            self.sign(used + 1) == Some('.') && self.word(used + 2).is_some_and(|w| w.eq_ignore_ascii_case("m"));
        let half = self.word(used).map(str::to_lowercase);
        let (shift, more) = match half.as_deref() {
            Some("am") if hour <= 12 => (Some(0), 1),
            Some("pm") if hour <= 12 => (Some(12), 1),
            Some("a") if dotted && hour <= 12 => (Some(0), 3),
            Some("p") if dotted && hour <= 12 => (Some(12), 3),
            Some("uhr") => (None, 1),
            _ if plain => return None,
            _ => (None, 0),
        };
        used += more;
        let hour = shift.map_or(hour, |shift| hour % 12 + shift);
        (hour < 24 && minute < 60).then_some((Value::Clock(hour * 60 + minute), used, false))
    }

    /// `Sunday`, `Monday to Friday`, `Mo–Fr` where the words are whole.
    fn weekdays(&self) -> Found {
        let first = self.word(0).and_then(weekday_of)?;
        let to = match self.token(1) {
            Some(Token::Sign('-' | '–' | '—')) => true,
            Some(Token::Word(word)) => {
                matches!(word.to_lowercase().as_str(), "to" | "through" | "till" | "until" | "bis" | "a" | "au")
            }
            _ => false,
        };
        match self.word(2).and_then(weekday_of).filter(|_| to) {
            Some(last) => Some((Value::Weekdays(weekdays_between(first, last)), 3, false)),
            None => Some((Value::Weekdays(vec![first]), 1, false)),
        }
    }

    /// `RTX4090`, `v2.1`, `1.2.3`, `B12`: letters before digits with nothing between, or more than one point.
    fn name(&self) -> Found {
        if let Some(number) = self.number(0) {
            let version = number.matches('.').count() >= 2 && readings(number, self.lang).is_empty();
            return version.then(|| (Value::Name(number.to_owned()), 1, false));
        }
        let word = self.word(0).filter(|w| w.is_ascii())?;
        let number = self.number(1).filter(|_| self.tight(1))?;
        let mut name = format!("{word}{number}");
        let mut used = 2;
        while self.tight(used) {
            match self.token(used) {
                Some(Token::Word(more)) if more.is_ascii() => name.push_str(more),
                Some(Token::Number(more)) => name.push_str(more),
                _ => break,
            }
            used += 1;
        }
        Some((Value::Name(name.to_lowercase()), used, false))
    }

    fn amount(&self) -> Found {
        let spelled = |from: usize| {
            let words: Vec<String> = (from..from + 8)
                .map_while(|ahead| match self.token(ahead)? {
                    Token::Word(word) => Some(word.to_lowercase()),
                    Token::Sign('-' | '‑') => Some("-".to_owned()),
                    Token::Sign(_) | Token::Number(_) => None,
                })
                .collect();
            numerals::spelled(&words.iter().map(String::as_str).collect::<Vec<_>>(), self.lang)
        };
        let (mut values, mut used, mut soft, mut unit) = (Vec::new(), 0, false, None);
        if let Some(sign) = self.sign(0).filter(|sign| matches!(sign, '$' | '€' | '£' | '¥' | '￥' | '₹')) {
            self.number(1)?;
            unit = unit_of(sign.encode_utf8(&mut [0; 4]));
            used = 1;
        }
        if let Some(number) = self.number(used) {
            values = readings(number, self.lang);
            used += 1;
        } else if let Some(word) = self.word(used) {
            if word.chars().all(numerals::is_chinese_numeral) {
                values.extend(numerals::chinese(word));
                // A single character is part of ordinary words as often as not.
                soft = word.chars().count() == 1 && self.word(1).and_then(unit_of).is_none() && !self.counted();
                used += 1;
            } else {
                let number = spelled(used)?;
                soft = number.value == 1.0;
                values.push(number.value);
                used += number.words;
            }
        }
        if values.is_empty() {
            return None;
        }
        let ordinal = self.tight(used) && self.word(used).is_some_and(is_ordinal_ending);
        // `1990s`; but `30s` are seconds.
        let decade = self.tight(used)
            && self.word(used) == Some("s")
            && values.iter().all(|v| v % 10.0 == 0.0 && (1000.0..3000.0).contains(v));
        if ordinal || decade {
            return Some((Value::Number { readings: values, unit, bound: self.bound() }, used + 1, soft));
        }
        if let Some(scale) = self.word(used).and_then(numerals::scale_of) {
            // `2m` may be metres or millions; `k` must stand close.
            if self.word(used).is_some_and(|w| w.len() > 1) || self.tight(used) {
                values.iter_mut().for_each(|value| *value *= scale);
                used += 1;
            }
        }
        if unit.is_none() {
            // `five working days`
            let working = self.word(used).is_some_and(is_day_kind)
                && self.word(used + 1).and_then(unit_of).is_some_and(|unit| unit.measure == Measure::Seconds);
            used += usize::from(working);
            let dash = usize::from(matches!(self.sign(used), Some('-' | '‑')) && self.word(used + 1).is_some());
            let degree = usize::from(self.sign(used) == Some('°'));
            let named = match (self.token(used + dash + degree), degree) {
                (Some(Token::Word(word)), 1) => unit_of(&format!("°{word}")),
                (Some(Token::Word("per")), _) if self.word(used + 1) == Some("cent") => {
                    unit_of("%").inspect(|_| used += 1)
                }
                (Some(Token::Word("por")), _) if self.word(used + 1) == Some("ciento") => {
                    unit_of("%").inspect(|_| used += 1)
                }
                (Some(Token::Word("a" | "A")), _) if !self.tight(used) => None,
                (Some(Token::Word(word)), _) => unit_of(word),
                (Some(Token::Sign(sign)), 0) if dash == 0 => unit_of(sign.encode_utf8(&mut [0; 4])),
                _ => None,
            };
            if named.is_some() {
                used += 1 + dash + degree;
                unit = named;
                soft = false;
            }
        }
        Some((Value::Number { readings: values, unit, bound: self.bound() }, used, soft))
    }

    /// A Chinese measure word follows.
    fn counted(&self) -> bool {
        self.word(1).is_some_and(|word| "个個人次台件岁名只辆位层种倍条张本款项".contains(word))
    }

    /// `up to`, `at least`, … before the number.
    fn bound(&self) -> Option<Bound> {
        let before: Vec<String> = self.tokens[..self.at]
            .iter()
            .rev()
            .filter(|(_, token)| !matches!(token, Token::Sign('$' | '€' | '£')))
            .map_while(|(_, token)| match token {
                Token::Word(word) => Some(word.to_lowercase()),
                Token::Number(_) | Token::Sign(_) => None,
            })
            .take(4)
            .collect();
        let before = before.iter().rev().map(String::as_str).collect::<Vec<_>>().join(" ");
        let ends =
            |phrase: &str| before.strip_suffix(phrase).is_some_and(|rest| rest.is_empty() || rest.ends_with(' '));
        if AT_MOST.into_iter().any(&ends) {
            return Some(Bound::AtMost);
        }
        AT_LEAST.into_iter().any(ends).then_some(Bound::AtLeast)
    }
}

/// `no more than` stands before `more than`: the first list is tried first.
const AT_MOST: [&str; 30] = [
    "up to",
    "at most",
    "no more than",
    "not more than",
    "less than",
    "fewer than",
    "under",
    "below",
    "within",
    "maximum",
    "maximum of",
    "max",
    "no later than",
    "before",
    "bis zu",
    "höchstens",
    "maximal",
    "weniger als",
    "unter",
    "innerhalb von",
    "vor",
    "hasta",
    "como máximo",
    "menos de",
    "máximo de",
    "antes de",
    "no longer than",
    "not exceed",
    "within the first",
    "nicht mehr als",
];
const AT_LEAST: [&str; 26] = [
    "at least",
    "no less than",
    "not less than",
    "no fewer than",
    "more than",
    "over",
    "above",
    "minimum",
    "minimum of",
    "min",
    "exceeding",
    "after",
    "older than",
    "longer than",
    "mindestens",
    "mehr als",
    "über",
    "nach",
    "al menos",
    "más de",
    "mínimo de",
    "como mínimo",
    "después de",
    "exceeds",
    "exceed",
    "no earlier than",
];

/// Which days are counted.
fn is_day_kind(word: &str) -> bool {
    matches!(word, "working" | "business" | "calendar" | "consecutive")
}

fn is_ordinal_ending(word: &str) -> bool {
    matches!(word, "st" | "nd" | "rd" | "th")
}

fn valid(year: u16, month: u16, day: u16) -> Option<(u16, u8, u8)> {
    let fits = (1..=12).contains(&month) && day <= 31 && (year == 0 || (1000..=2999).contains(&year));
    fits.then(|| (year, u8::try_from(month).unwrap_or(0), u8::try_from(day).unwrap_or(0)))
}

fn parts(number: &str, separator: char) -> Option<[u16; 3]> {
    let mut parts = number.split(separator);
    let three = [parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?];
    (parts.next().is_none() && number.len() >= 6).then_some(three)
}

/// What a written number may mean: `1.234` is 1.234 or 1234; in English a comma before three digits divides thousands.
/// Empty if it is no number (`1.2.3`).
fn readings(number: &str, lang: &str) -> Vec<f64> {
    let plain = |c: char| match c {
        c if c.is_ascii_digit() => Some(c),
        c if c.is_numeric() => wide(c),
        c if c.is_whitespace() || c == '’' => Some('\''),
        c => Some(c),
    };
    let digits: String = number.chars().filter_map(plain).collect();
    let groups: Vec<&str> = digits.split(['.', ',', '\'']).collect();
    let separators: Vec<char> = digits.chars().filter(|c| !c.is_ascii_digit()).collect();
    let whole = groups.concat();
    let thousands = groups[1..].iter().all(|group| group.len() == 3) && (1..=3).contains(&groups[0].len());
    let mut readings: Vec<f64> = Vec::new();
    let mut read = |text: &str| readings.extend(text.parse::<f64>().ok().filter(|value| value.is_finite()));
    match separators.as_slice() {
        [] => read(&whole),
        [one] => {
            if *one != '\'' && !(*one == ',' && thousands && matches!(lang, "en" | "zh" | "ja")) {
                read(&format!("{}.{}", groups[0], groups[1]));
            }
            if thousands && groups[0] != "0" {
                read(&whole);
            }
        }
        [first @ .., last] if first.iter().all(|c| c == last) => {
            if thousands {
                read(&whole);
            }
        }
        [first @ .., _] => {
            let one_kind = first.iter().all(|c| *c == first[0]);
            let head = groups[..groups.len() - 1].concat();
            let grouped = groups[1..groups.len() - 1].iter().all(|group| group.len() == 3);
            if one_kind && grouped {
                read(&format!("{head}.{}", groups[groups.len() - 1]));
            }
        }
    }
    readings
}

/// Full-width and other decimal digits, as far as NFKC knows them.
fn wide(letter: char) -> Option<char> {
    use unicode_normalization::UnicodeNormalization;
    std::iter::once(letter).nfkc().next().filter(char::is_ascii_digit)
}
