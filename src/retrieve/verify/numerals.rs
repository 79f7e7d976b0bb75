//! Numbers written as words: `twenty-five`, `fünfundzwanzig`, `veinticinco`, `二十五`.
//!
//! Useful for: cardinal numbers of everyday texts in English, German, Spanish, French and Chinese. Not for: fractions,
//! and languages it does not know, whose number words are then ordinary words.

/// How a number word joins with its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// 0–19: ends a group below a hundred.
    Unit,
    Ten,
    Hundred,
    /// Thousand and above.
    Scale,
}

/// A number made of words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spelled {
    pub value: f64,
    /// How many of the words it takes, joining words and hyphens among them.
    pub words: usize,
    pub ordinal: bool,
}

/// Reads a number from the beginning of `words` (lower case; a hyphen is a word of its own).
pub(super) fn spelled(words: &[&str], lang: &str) -> Option<Spelled> {
    let (mut total, mut group) = (0.0, 0.0);
    let (mut used, mut last, mut ordinal) = (0, None, false);
    let mut at = 0;
    while at < words.len() {
        let joins = matches!(words[at], "-" | "and" | "y" | "et" | "und") && last.is_some();
        // `and` joins only after a hundred, a hyphen or `y` only after a ten.
        let joined = joins
            && match words[at] {
                "and" | "und" => matches!(last, Some(Place::Hundred | Place::Scale)),
                _ => last == Some(Place::Ten),
            };
        if joins && !joined {
            break;
        }
        if joined {
            at += 1;
        }
        let Some((value, place, is_ordinal)) = words.get(at).and_then(|word| value_of(word, lang)) else { break };
        match place {
            Place::Unit if matches!(last, None | Some(Place::Hundred | Place::Scale)) => group += value,
            Place::Unit if last == Some(Place::Ten) && (1.0..10.0).contains(&value) => group += value,
            Place::Ten if matches!(last, None | Some(Place::Hundred | Place::Scale)) => group += value,
            Place::Hundred if matches!(last, Some(Place::Unit)) && value == 100.0 => group *= value,
            Place::Hundred if matches!(last, None | Some(Place::Scale)) => group += value,
            Place::Scale if last.is_some() && last != Some(Place::Scale) => {
                total += f64::max(group, 1.0) * value;
                group = 0.0;
            }
            Place::Scale if last.is_none() => total += value,
            Place::Unit | Place::Ten | Place::Hundred | Place::Scale => break,
        }
        at += 1;
        used = at;
        last = Some(place);
        ordinal = is_ordinal;
        if ordinal {
            break;
        }
    }
    (used > 0).then_some(Spelled { value: total + group, words: used, ordinal })
}

/// `million`, `Mio`, `万`: what multiplies the number before it.
pub(super) fn scale_of(word: &str) -> Option<f64> {
    Some(match word.to_lowercase().trim_end_matches('.') {
        "hundred" => 1e2,
        "k" | "thousand" | "tausend" | "mil" | "mille" | "千" => 1e3,
        "万" | "萬" => 1e4,
        "million" | "millions" | "mio" | "mn" | "millionen" | "millón" | "millones" => 1e6,
        "亿" | "億" => 1e8,
        "billion" | "billions" | "bn" | "mrd" | "milliarde" | "milliarden" => 1e9,
        "trillion" | "trillions" => 1e12,
        _ => return None,
    })
}

fn value_of(word: &str, lang: &str) -> Option<(f64, Place, bool)> {
    let place = |value: u32| match value {
        0..=19 => Place::Unit,
        20..=99 => Place::Ten,
        100..=999 => Place::Hundred,
        _ => Place::Scale,
    };
    let found = |value: u32| Some((f64::from(value), place(value), false));
    match lang {
        "de" => german(word).and_then(found),
        "es" => spanish(word).and_then(found),
        "fr" => listed(FRENCH, word).and_then(found),
        _ => match listed(ENGLISH, word) {
            Some(value) => found(value),
            None => english_ordinal(word).map(|value| (f64::from(value), place(value), true)),
        },
    }
}

type Table = &'static [(&'static str, u32)];

fn listed(table: Table, word: &str) -> Option<u32> {
    table.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

const ENGLISH: Table = &[
    ("zero", 0),
    ("one", 1),
    ("two", 2),
    ("twice", 2),
    ("thrice", 3),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("dozen", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
    ("hundred", 100),
    ("thousand", 1000),
    ("million", 1_000_000),
    ("billion", 1_000_000_000),
];

const ENGLISH_ORDINALS: Table = &[
    ("third", 3),
    ("fourth", 4),
    ("fifth", 5),
    ("sixth", 6),
    ("seventh", 7),
    ("eighth", 8),
    ("ninth", 9),
    ("tenth", 10),
    ("eleventh", 11),
    ("twelfth", 12),
    ("thirteenth", 13),
    ("fourteenth", 14),
    ("fifteenth", 15),
    ("sixteenth", 16),
    ("seventeenth", 17),
    ("eighteenth", 18),
    ("nineteenth", 19),
    ("twentieth", 20),
    ("thirtieth", 30),
];

/// `first` and `second` order a text more often than they count, so they are read only after a ten: see `spelled`.
fn english_ordinal(word: &str) -> Option<u32> {
    listed(ENGLISH_ORDINALS, word)
}

const FRENCH: Table = &[
    ("deux", 2),
    ("trois", 3),
    ("quatre", 4),
    ("cinq", 5),
    ("six", 6),
    ("sept", 7),
    ("huit", 8),
    ("neuf", 9),
    ("dix", 10),
    ("onze", 11),
    ("douze", 12),
    ("treize", 13),
    ("quatorze", 14),
    ("quinze", 15),
    ("seize", 16),
    ("vingt", 20),
    ("trente", 30),
    ("quarante", 40),
    ("cinquante", 50),
    ("soixante", 60),
    ("cent", 100),
    ("mille", 1000),
];

const SPANISH: Table = &[
    ("dos", 2),
    ("tres", 3),
    ("cuatro", 4),
    ("cinco", 5),
    ("seis", 6),
    ("siete", 7),
    ("ocho", 8),
    ("nueve", 9),
    ("diez", 10),
    ("once", 11),
    ("doce", 12),
    ("trece", 13),
    ("catorce", 14),
    ("quince", 15),
    ("dieciséis", 16),
    ("diecisiete", 17),
    ("dieciocho", 18),
    ("diecinueve", 19),
    ("veinte", 20),
    ("treinta", 30),
    ("cuarenta", 40),
    ("cincuenta", 50),
    ("sesenta", 60),
    ("setenta", 70),
    ("ochenta", 80),
    ("noventa", 90),
    ("cien", 100),
    ("ciento", 100),
    ("doscientos", 200),
    ("trescientos", 300),
    ("cuatrocientos", 400),
    ("quinientos", 500),
    ("seiscientos", 600),
    ("setecientos", 700),
    ("ochocientos", 800),
    ("novecientos", 900),
    ("mil", 1000),
];

fn spanish(word: &str) -> Option<u32> {
    let rest = || {
        let rest = word.strip_prefix("veinti")?;
        match rest {
            "uno" | "un" | "una" | "ún" => Some(21),
            "dós" => Some(22),
            "trés" => Some(23),
            "séis" => Some(26),
            _ => listed(SPANISH, rest).filter(|v| (2..10).contains(v)).map(|v| 20 + v),
        }
    };
    listed(SPANISH, word).or_else(rest)
}

const GERMAN: Table = &[
    ("null", 0),
    ("zwei", 2),
    ("drei", 3),
    ("vier", 4),
    ("fünf", 5),
    ("sechs", 6),
    ("sieben", 7),
    ("acht", 8),
    ("neun", 9),
    ("zehn", 10),
    ("elf", 11),
    ("zwölf", 12),
    ("dreizehn", 13),
    ("vierzehn", 14),
    ("fünfzehn", 15),
    ("sechzehn", 16),
    ("siebzehn", 17),
    ("achtzehn", 18),
    ("neunzehn", 19),
    ("zwanzig", 20),
    ("dreißig", 30),
    ("vierzig", 40),
    ("fünfzig", 50),
    ("sechzig", 60),
    ("siebzig", 70),
    ("achtzig", 80),
    ("neunzig", 90),
];

/// German writes a number as one word, the unit before the ten: `zweihundertfünfundzwanzig`.
fn german(word: &str) -> Option<u32> {
    fn below_hundred(word: &str) -> Option<u32> {
        listed(GERMAN, word).or_else(|| {
            let (unit, ten) = word.split_once("und")?;
            let unit = if unit == "ein" { 1 } else { listed(GERMAN, unit).filter(|v| *v < 10)? };
            Some(unit + listed(GERMAN, ten).filter(|v| *v >= 20)?)
        })
    }
    fn part(word: &str, mark: &str, value: u32, below: fn(&str) -> Option<u32>) -> Option<u32> {
        let (count, rest) = word.split_once(mark)?;
        let count = if count.is_empty() || count == "ein" { 1 } else { below(count)? };
        let rest = rest.strip_prefix("und").unwrap_or(rest);
        Some(
            count * value
                + if rest.is_empty() {
                    0
                } else if rest == "eins" {
                    1
                } else {
                    below(rest)?
                },
        )
    }
    fn below_thousand(word: &str) -> Option<u32> {
        part(word, "hundert", 100, below_hundred).or_else(|| below_hundred(word))
    }
    part(word, "tausend", 1000, below_thousand).or_else(|| below_thousand(word))
}

/// The value of a run of Chinese numerals.
pub(super) fn chinese(numerals: &str) -> Option<f64> {
    let (mut total, mut section, mut digit) = (0.0, 0.0, None::<f64>);
    let mut digits_only = String::new();
    let mut placed = false;
    for letter in numerals.chars() {
        let value = chinese_digit(letter);
        if let Some(value) = value {
            digit = Some(value);
            digits_only.push(char::from_digit(value as u32, 10)?);
            continue;
        }
        placed = true;
        let place = match letter {
            '十' => 10.0,
            '百' => 100.0,
            '千' => 1000.0,
            '万' | '萬' => 1e4,
            '亿' | '億' => 1e8,
            _ => return None,
        };
        if place >= 1e4 {
            total += (section + digit.take().unwrap_or(0.0)) * place;
            section = 0.0;
        } else {
            section += digit.take().unwrap_or(1.0) * place;
        }
    }
    if placed { Some(total + section + digit.unwrap_or(0.0)) } else { digits_only.parse().ok() }
}

pub(super) fn is_chinese_numeral(letter: char) -> bool {
    chinese_digit(letter).is_some() || matches!(letter, '十' | '百' | '千' | '万' | '萬' | '亿' | '億')
}

fn chinese_digit(letter: char) -> Option<f64> {
    const DIGITS: &str = "零一二三四五六七八九";
    match letter {
        '〇' => Some(0.0),
        '两' | '兩' => Some(2.0),
        _ => DIGITS.chars().position(|d| d == letter).map(|at| at as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbers() {
        for (lang, text, value, words) in [
            ("en", "twenty - five days", 25.0, 3),
            ("en", "one hundred and twenty", 120.0, 4),
            ("en", "two thousand five hundred", 2500.0, 4),
            ("en", "three million", 3e6, 2),
            ("en", "two dozen", 2.0, 1),
            ("en", "five and six", 5.0, 1),
            ("en", "twenty twelve", 20.0, 1),
            ("en", "third party", 3.0, 1),
            ("de", "fünfundzwanzig tage", 25.0, 1),
            ("de", "zweihundertdreißig", 230.0, 1),
            ("de", "dreitausendfünfhundert", 3500.0, 1),
            ("es", "treinta y cinco", 35.0, 3),
            ("es", "veinticinco", 25.0, 1),
            ("fr", "vingt et", 20.0, 1),
        ] {
            let split: Vec<&str> = text.split(' ').collect();
            let got = spelled(&split, lang).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((got.value, got.words), (value, words), "{text}");
        }
        for (lang, text) in
            [("en", "and"), ("en", "onerous"), ("de", "hund"), ("de", "stunde"), ("es", "y"), ("en", "")]
        {
            assert_eq!(spelled(&text.split(' ').collect::<Vec<_>>(), lang), None, "{text}");
        }
    }

    #[test]
    fn chinese_numerals() {
        for (text, value) in [
            ("二十五", 25.0),
            ("十", 10.0),
            ("一百二十", 120.0),
            ("三万五千", 35000.0),
            ("二〇二四", 2024.0),
            ("两", 2.0),
        ] {
            assert_eq!(chinese(text), Some(value), "{text}");
        }
        assert_eq!(chinese("猫"), None);
    }
}
