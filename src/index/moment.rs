//! Which stretch of time a date means, as nanoseconds since 1970 in UTC.

use tantivy::time::{Date, Month, OffsetDateTime, format_description::well_known::Rfc3339};

const NS_PER_SECOND: i128 = 1_000_000_000;
const NS_PER_DAY: i128 = 86_400 * NS_PER_SECOND;

/// `from_ns..to_ns`: a day for a date, a second for a date-time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) from_ns: i128,
    pub(super) to_ns: i128,
}

impl Moment {
    /// Reads an RFC 3339 date (`2026-01-31`) or date-time (`2026-01-31T18:00:00Z`, any offset; without one it is UTC).
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(date) = read_date(text) {
            let from_ns = date.midnight().assume_utc().unix_timestamp_nanos();
            return Some(Self { from_ns, to_ns: from_ns + NS_PER_DAY });
        }
        let read = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
        let time = read(text).or_else(|| read(&format!("{text}Z")))?;
        let from_ns = time.unix_timestamp_nanos();
        Some(Self { from_ns, to_ns: from_ns + NS_PER_SECOND })
    }
}

/// The year of a moment, UTC; 1970 of what no calendar has.
pub(super) fn year(ns: i64) -> i32 {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(ns)).map_or(1970, OffsetDateTime::year)
}

fn read_date(text: &str) -> Option<Date> {
    let (year, rest) = text.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let number = |text: &str, length: usize| -> Option<u16> {
        (text.len() == length && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
    };
    let month = Month::try_from(u8::try_from(number(month, 2)?).ok()?).ok()?;
    Date::from_calendar_date(i32::from(number(year, 4)?), month, u8::try_from(number(day, 2)?).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_and_times_are_seconds() {
        let day = |days: i128| Some((days * NS_PER_DAY, (days + 1) * NS_PER_DAY));
        let second = |s: i128| Some((s * NS_PER_SECOND, (s + 1) * NS_PER_SECOND));
        let cases = [
            ("1970-01-01", day(0)),
            ("1969-12-31", day(-1)),
            ("2024-02-29", day(19_782)),
            ("2026-01-01T00:00:00Z", second(1_767_225_600)),
            ("2026-01-01T01:00:00+01:00", second(1_767_225_600)),
            ("2026-01-01T00:00:00", second(1_767_225_600)),
            ("2026-02-29", None),
            ("2026-1-1", None),
            ("26-01-01", None),
            ("yesterday", None),
            ("", None),
        ];
        for (text, want) in cases {
            assert_eq!(Moment::read(text).map(|m| (m.from_ns, m.to_ns)), want, "{text}");
        }
    }
}
