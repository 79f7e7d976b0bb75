//! When is a request sent again, and after how long? Pure but for [`Clock`], which tests replace.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    time::{Duration, SystemTime},
};

use reqwest::header::HeaderMap;

/// A server that asks for a longer pause than this is not asked again.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
/// Bounds of a pause that the server did not name.
pub const MIN_PAUSE: Duration = Duration::from_millis(500);
pub const MAX_PAUSE: Duration = Duration::from_secs(20);
/// The upper bound of the first pause; each further one is four times as long.
const FIRST_PAUSE: Duration = Duration::from_millis(1250);
/// Statuses of a server that is busy or stumbled: overloaded has 529 at Anthropic, 498 at Groq.
const PASSING: [u16; 7] = [429, 498, 500, 502, 503, 504, 529];

/// Time and chance, so that tests need to wait for neither.
pub trait Clock: fmt::Debug + Send + Sync {
    fn now(&self) -> SystemTime;
    fn sleep(&self, time: Duration);
    /// 0 ≤ x < 1.
    fn chance(&self) -> f64;
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn chance(&self) -> f64 {
        // Each `RandomState` has other keys, and 53 bits of a hash fill the fraction of a double.
        (RandomState::new().hash_one(0u8) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The status says that the same request may succeed later.
pub fn is_passing(status: u16) -> bool {
    PASSING.contains(&status)
}

/// The pause before try `tried + 1`: what the server asked for, else uniform between 0.5 s and a bound that grows to 20 s
/// (full jitter). `None` if the server asks for more than [`MAX_RETRY_AFTER`].
/// Source of the jitter: AWS Architecture Blog, "Exponential Backoff And Jitter", 2015.
pub fn pause(tried: u32, asked: Option<Duration>, chance: f64) -> Option<Duration> {
    match asked {
        Some(time) => (time <= MAX_RETRY_AFTER).then_some(time),
        None => {
            let factor = 4u32.saturating_pow(tried.saturating_sub(1));
            let bound = FIRST_PAUSE.saturating_mul(factor).min(MAX_PAUSE);
            Some(MIN_PAUSE + (bound - MIN_PAUSE).mul_f64(chance.clamp(0.0, 1.0)))
        }
    }
}

/// How long the server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub fn asked(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = |text: &str| text.parse().ok().and_then(|s: f64| Duration::try_from_secs_f64(s).ok());
    if let Some(ms) = header("retry-after-ms").and_then(seconds) {
        return Some(ms / 1000);
    }
    match header("retry-after") {
        Some(text) => seconds(text).or_else(|| Some(http_date(text)?.duration_since(now).unwrap_or_default())),
        // Only the limit that is used up says when to come back.
        None => ["requests", "tokens"].into_iter().find_map(|what| {
            let used_up = header(&format!("x-ratelimit-remaining-{what}")) == Some("0");
            header(&format!("x-ratelimit-reset-{what}")).filter(|_| used_up).and_then(clock_time)
        }),
    }
}

/// Reads `6m0s`, `1h2m3.5s`, `120ms`, and plain seconds.
fn clock_time(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        let tail = &rest[digits..];
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        total += number
            * match &tail[..letters] {
                "" | "s" => 1.0,
                "ms" => 1e-3,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = &tail[letters..];
    }
    (!text.trim().is_empty()).then(|| Duration::try_from_secs_f64(total).ok()).flatten()
}

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7), the one form that servers may send today.
fn http_date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.split_once(", ")?;
    let [day, month, year, time, "GMT"] = date.split(' ').collect::<Vec<_>>()[..] else { return None };
    let [hour, minute, second] =
        time.split(':').map(|part| part.parse::<u64>()).collect::<Result<Vec<_>, _>>().ok()?[..]
    else {
        return None;
    };
    let month = MONTHS.iter().position(|&name| name == month)? as u64 + 1;
    let (day, year) = (day.parse::<u64>().ok()?, year.parse::<u64>().ok()?);
    if !(1970..=9999).contains(&year) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days since 1970 by Howard Hinnant's `days_from_civil`: years begin in March, so that leap days come last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year) = (year / 400, year % 400);
    let days = era * 146_097 + year * 365 + year / 4 - year / 100 + (153 * month + 2) / 5 + day - 1;
    let seconds = days.checked_sub(719_468)? * 86_400 + hour * 3600 + minute * 60 + second;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_limit_that_is_used_up_says_when_to_come_back() {
        let asked = |pairs: &[(&'static str, &str)]| asked(&headers(pairs), SystemTime::UNIX_EPOCH);
        let seconds = |s: f64| Some(Duration::from_secs_f64(s));
        let (left, reset) = ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens");
        assert_eq!(asked(&[(left, "0"), (reset, "6m0s")]), seconds(360.0));
        assert_eq!(asked(&[(left, "0"), (reset, "1h2m3.5s")]), seconds(3723.5));
        assert_eq!(asked(&[(left, "0"), (reset, "120ms")]), seconds(0.12));
        assert_eq!(asked(&[(left, "0"), (reset, "7")]), seconds(7.0));
        assert_eq!(asked(&[(left, "5"), (reset, "6m0s")]), None);
        assert_eq!(asked(&[(left, "0"), (reset, "soon")]), None);
        assert_eq!(asked(&[("retry-after", "3"), (left, "0"), (reset, "6m0s")]), seconds(3.0));
    }

    #[test]
    fn dates_are_read() {
        for (text, want) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
            ("Tue, 01 Mar 2100 00:00:00 GMT", Some(4_107_542_400)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 99 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 0 08:49:37 GMT", None),
            ("Wed, 31 Dec 1969 23:59:59 GMT", None),
            ("soon", None),
            ("", None),
        ] {
            let got = http_date(text).map(|t| t.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs());
            assert_eq!(got, want, "{text}");
        }
    }

    #[test]
    fn servers_name_the_pause_in_three_ways() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        for (pairs, want_ms) in [
            (&[][..], None),
            (&[("retry-after", "7")][..], Some(7_000)),
            (&[("retry-after", " 0 ")][..], Some(0)),
            (&[("retry-after", "1.5")][..], Some(1_500)),
            (&[("retry-after", "-1")][..], None),
            (&[("retry-after", "NaN")][..], None),
            (&[("retry-after", "1e300")][..], None),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")][..], Some(7_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")][..], Some(0)),
            (&[("retry-after", "7"), ("retry-after-ms", "250")][..], Some(250)),
            (&[("retry-after", "7"), ("retry-after-ms", "x")][..], Some(7_000)),
        ] {
            let got = asked(&headers(pairs), now).map(|time| time.as_millis());
            assert_eq!(got, want_ms, "{pairs:?}");
        }
    }

    #[test]
    fn pauses_grow_and_stay_in_their_bounds() {
        for (tried, highest_ms) in [(1, 1_250), (2, 5_000), (3, 20_000), (4, 20_000), (u32::MAX, 20_000)] {
            assert_eq!(pause(tried, None, 0.0), Some(MIN_PAUSE));
            assert_eq!(pause(tried, None, 1.0), Some(Duration::from_millis(highest_ms)));
        }
        assert_eq!(pause(1, Some(Duration::ZERO), 0.5), Some(Duration::ZERO));
        assert_eq!(pause(1, Some(MAX_RETRY_AFTER), 0.5), Some(MAX_RETRY_AFTER));
        assert_eq!(pause(1, Some(MAX_RETRY_AFTER + MIN_PAUSE), 0.5), None);
    }

    #[test]
    fn chance_stays_below_one_and_varies() {
        let drawn: Vec<f64> = (0..64).map(|_| SystemClock.chance()).collect();
        assert!(drawn.iter().all(|x| (0.0..1.0).contains(x)));
        assert!(drawn.iter().any(|x| *x != drawn[0]));
    }
}
