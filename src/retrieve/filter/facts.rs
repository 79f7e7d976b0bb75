//! Which fields there are, and which values each may be compared with.

use crate::{
    index::{Compare, Fact},
    retrieve::{Error, Result},
};

const PLAIN: [(&str, Fact); 12] = [
    ("path", Fact::Path),
    ("name", Fact::Name),
    ("ext", Fact::Ext),
    ("type", Fact::Type),
    ("size", Fact::Size),
    ("mtime", Fact::Mtime),
    ("title", Fact::Title),
    ("author", Fact::Author),
    ("lang", Fact::Lang),
    ("pages", Fact::Pages),
    ("collection", Fact::Collection),
    ("status", Fact::Status),
];
const TAG: &str = "tag.";
const META: &str = "meta.";
const STATUS_WORDS: [&str; 3] = ["indexed", "warned", "failed"];

/// The fact behind a field's name. `key`: what was quoted after `tag.` or `meta.`.
pub(super) fn field(name: &str, key: Option<String>) -> Result<Fact> {
    for (prefix, fact) in [(TAG, Fact::Tag as fn(String) -> Fact), (META, Fact::Meta)] {
        let Some(rest) = strip_prefix_ignoring_case(name, prefix) else { continue };
        let key = key.unwrap_or_else(|| rest.to_owned());
        return if key.is_empty() { Err(unknown(name)) } else { Ok(fact(key)) };
    }
    if key.is_some() {
        return Err(unknown(name));
    }
    let known = PLAIN.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    known.map(|(_, fact)| fact).ok_or_else(|| unknown(name))
}

/// The name a fact is asked for by; `Tag` and `Meta` without their key.
pub(super) fn name_of(fact: &Fact) -> &'static str {
    if let Fact::Tag(_) = fact {
        return TAG;
    }
    PLAIN.iter().find(|(_, known)| known == fact).map_or(META, |(name, _)| name)
}

fn strip_prefix_ignoring_case<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = name.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn unknown(name: &str) -> Error {
    let mut known: Vec<String> = PLAIN.iter().map(|(name, _)| (*name).to_owned()).collect();
    known.push(format!("{TAG}NAME"));
    known.push(format!("{META}NAME"));
    let mut known = known.join(", ");
    let lower = name.to_lowercase();
    let nearest = PLAIN.iter().map(|(name, _)| (distance(&lower, name), *name)).min();
    if let Some((_, nearest)) = nearest.filter(|(distance, name)| *distance <= 2 && *distance < name.len() - 1) {
        known.push_str(&format!("; did you mean `{nearest}`?"));
    }
    Error::UnknownField { field: name.to_owned(), known }
}

/// Edits between two words (insert, delete, replace, swap of neighbours): optimal string alignment, O(a × b).
/// Names longer than any field are not compared.
pub(in crate::retrieve) fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(24).collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The value as the index reads it, or what is wrong with the condition: sizes become bytes, the rest stays.
pub(super) fn check(fact: &Fact, compare: Compare, value: String) -> Result<String, String> {
    let name = name_of(fact);
    let ordered = !matches!(compare, Compare::Matches | Compare::Equal | Compare::NotEqual);
    match fact {
        Fact::Size => size_bytes(&value)
            .map(|bytes| bytes.to_string())
            .ok_or_else(|| format!("`{value}` is not a size like `4096`, `64kB` or `1.5MiB`")),
        Fact::Pages if value.parse::<u32>().is_err() => Err(format!("`{value}` is not a number of pages")),
        Fact::Mtime if !is_date(&value) => {
            Err(format!("`{value}` is not a date like `2026-01-31` or `2026-01-31T12:00:00Z`"))
        }
        Fact::Status if !STATUS_WORDS.contains(&value.to_lowercase().as_str()) => {
            Err(format!("`{value}` is not a status; there are {}", STATUS_WORDS.join(", ")))
        }
        Fact::Pages | Fact::Mtime | Fact::Tag(_) | Fact::Meta(_) => Ok(value),
        Fact::Path
        | Fact::Name
        | Fact::Ext
        | Fact::Type
        | Fact::Title
        | Fact::Author
        | Fact::Lang
        | Fact::Collection
        | Fact::Status
            if ordered =>
        {
            Err(format!("`{name}` has no order, use `:`, `=` or `!=`"))
        }
        Fact::Path
        | Fact::Name
        | Fact::Ext
        | Fact::Type
        | Fact::Title
        | Fact::Author
        | Fact::Lang
        | Fact::Collection
        | Fact::Status => Ok(value),
    }
}

/// Bytes of `4096`, `64kB` or `64k` (thousands), `64KiB` (1,024s), with one dot allowed: `1.5MiB`.
fn size_bytes(text: &str) -> Option<u64> {
    if let Ok(bytes) = text.parse::<u64>() {
        return text.bytes().all(|b| b.is_ascii_digit()).then_some(bytes);
    }
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at_checked(unit_at)?;
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * factor as f64;
    // A whole f64 below 2^53 is exact; nothing larger is a file's size.
    (bytes <= 9_007_199_254_740_992.0).then_some(bytes.round() as u64)
}

/// A date of RFC 3339, alone (`2026-01-31`) or with `T` and a time of day (`12:00:00`, a fraction, `Z`, `±HH:MM` or no zone).
fn is_date(text: &str) -> bool {
    let Some((date, time)) = text.split_at_checked(10) else { return false };
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next(), parts.next(), parts.next());
    let in_range = |part: Option<&str>, digits: usize, range: std::ops::RangeInclusive<u32>| {
        part.is_some_and(|part| {
            part.len() == digits
                && part.bytes().all(|b| b.is_ascii_digit())
                && part.parse().is_ok_and(|number| range.contains(&number))
        })
    };
    if !in_range(year, 4, 0..=9999) || !in_range(month, 2, 1..=12) || parts.next().is_some() {
        return false;
    }
    let number = |part: Option<&str>| part.and_then(|part| part.parse().ok()).unwrap_or(0);
    if !in_range(day, 2, 1..=days_of(number(year), number(month))) {
        return false;
    }
    if time.is_empty() {
        return true;
    }
    let Some(time) = time.strip_prefix(['T', 't']) else { return false };
    let (clock, zone) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => time.split_at(at),
        None => (time, ""),
    };
    let zone_is_right = match zone.strip_prefix(['+', '-']) {
        Some(offset) => offset
            .split_once(':')
            .is_some_and(|(hours, minutes)| in_range(Some(hours), 2, 0..=23) && in_range(Some(minutes), 2, 0..=59)),
        None => zone.is_empty() || zone.eq_ignore_ascii_case("z"),
    };
    let mut clock = clock.splitn(3, ':');
    let minutes_are_right = in_range(clock.next(), 2, 0..=23) && in_range(clock.next(), 2, 0..=59);
    let seconds_are_right = clock.next().is_some_and(|seconds| {
        let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
        let is_fraction = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|b| b.is_ascii_digit());
        in_range(Some(whole), 2, 0..=59) && is_fraction
    });
    zone_is_right && minutes_are_right && seconds_are_right
}

fn days_of(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, want) in [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("64kB", Some(64_000)),
            ("64KiB", Some(65_536)),
            ("1.5MiB", Some(1_572_864)),
            ("2g", Some(2_000_000_000)),
            ("", None),
            ("+5", None),
            ("-5", None),
            ("kB", None),
            (".kB", None),
            ("1..5kB", None),
            ("5xB", None),
            ("99999999999999999999", None),
            ("9999999999999GiB", None),
            ("５kB", None),
        ] {
            assert_eq!(size_bytes(text), want, "{text}");
        }
    }

    #[test]
    fn dates() {
        for date in [
            "2026-01-01",
            "2024-02-29",
            "2026-01-31T12:00:00",
            "2026-01-31T12:00:59.123+02:00",
            "2026-01-31t23:59:59z",
            "0000-12-31",
        ] {
            assert!(is_date(date), "{date}");
        }
        for date in [
            "",
            "2026",
            "2026-1-1",
            "2026-02-29",
            "2100-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-04-31",
            "2026-01-01T",
            "2026-01-01T25:00Z",
            "2026-01-01T12Z",
            "2026-01-01T12:00Z",
            "2026-01-01 12:00:00Z",
            "2026-01-01T12:00:00.Z",
            "2026-01-01T12:00+2",
            "2026-01-01x",
            "２０26-01-01",
            "2026-01-0１",
            "+026-01-01",
        ] {
            assert!(!is_date(date), "{date}");
        }
    }

    #[test]
    fn near_names_are_offered() {
        for (name, want) in [
            ("tipe", Some("type")),
            ("autor", Some("author")),
            ("mtiem", Some("mtime")),
            ("Titel", Some("title")),
            ("team", None),
            ("x", None),
            ("", None),
            ("a-very-long-name-that-nobody-would-mean", None),
        ] {
            let Err(Error::UnknownField { field, known }) = field(name, None) else { panic!("{name} is no field") };
            assert_eq!(field, name);
            assert!(known.starts_with("path, name, ") && known.contains("tag.NAME, meta.NAME"), "{known}");
            match want {
                Some(want) => assert!(known.ends_with(&format!("did you mean `{want}`?")), "{known}"),
                None => assert!(!known.contains("did you mean"), "{name}: {known}"),
            }
        }
    }

    #[test]
    fn every_plain_field_has_its_name() {
        for (name, fact) in PLAIN {
            assert_eq!(name_of(&fact), name);
            assert_eq!(field(&name.to_uppercase(), None).expect(name), fact);
        }
    }
}
