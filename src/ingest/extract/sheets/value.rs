//! What a cell shows: ISO dates, percents, currency; never rounded, never a serial number.

use calamine::{DataRef, ExcelDateTime};

/// Digits that a number of a workbook has; what comes after them is noise of binary fractions.
const DIGITS: usize = 15;

/// Most decimals that a format asks for.
const MAX_DECIMALS: usize = 10;

/// The text of a cell with a number format; `None` for an empty one.
pub fn shown(value: &DataRef<'_>, format: &str) -> Option<String> {
    let text = match value {
        DataRef::Int(number) if format == "General" => number.to_string(),
        DataRef::Int(number) => formatted(*number as f64, format),
        DataRef::Float(number) => formatted(*number, format),
        DataRef::String(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(true) => "TRUE".into(),
        DataRef::Bool(false) => "FALSE".into(),
        DataRef::DateTime(time) => date(time, format),
        DataRef::DateTimeIso(text) => text.trim_end_matches("T00:00:00").replace('T', " "),
        DataRef::DurationIso(text) => text.clone(),
        DataRef::Error(error) => error.to_string(),
        DataRef::Empty => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

fn date(time: &ExcelDateTime, format: &str) -> String {
    let serial = time.as_f64();
    if time.is_duration() {
        let seconds = (serial * 86_400.0).round();
        let (sign, seconds) = (if seconds < 0.0 { "-" } else { "" }, seconds.abs());
        let seconds = seconds as u64;
        return format!("{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    }
    let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
    let clock =
        if second == 0 { format!("{hour:02}:{minute:02}") } else { format!("{hour:02}:{minute:02}:{second:02}") };
    let lower = format.to_lowercase();
    let is_clock = (0.0..1.0).contains(&serial) && !lower.contains(['d', 'y']);
    if is_clock {
        clock
    } else if (hour, minute, second) == (0, 0, 0) {
        format!("{year:04}-{month:02}-{day:02}")
    } else {
        format!("{year:04}-{month:02}-{day:02} {clock}")
    }
}

/// A number as its format shows it, as far as it bears on its meaning: percent, decimals, currency, leading zeros.
fn formatted(number: f64, format: &str) -> String {
    if !number.is_finite() {
        return number.to_string();
    }
    let format = format.split(';').next().unwrap_or("");
    let (pattern, literals) = split(format);
    let decimals = pattern.split_once('.').map_or(0, |(_, rest)| rest.chars().take_while(|&c| c == '0').count());
    if pattern.contains('%') {
        return format!("{}%", fixed(number * 100.0, decimals));
    }
    let is_zeros = pattern.len() > 1 && pattern.len() <= 20 && pattern.chars().all(|c| c == '0');
    if is_zeros && number.fract() == 0.0 && number >= 0.0 {
        return format!("{number:0width$}", width = pattern.len());
    }
    let is_currency = |text: &&str| text.chars().any(|c| matches!(c, '$' | '€' | '£' | '¥' | '₹' | '₩' | '₽' | '₺'));
    let is_code = |text: &&str| text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase());
    let currency = literals
        .iter()
        .map(|(text, before)| (text.trim(), *before))
        .find(|(text, _)| is_currency(text) || is_code(text));
    match currency {
        Some((sign, true)) if is_currency(&sign) => {
            let minus = if number < 0.0 { "-" } else { "" };
            format!("{minus}{sign}{}", fixed(number.abs(), decimals))
        }
        Some((sign, true)) => format!("{sign} {}", fixed(number, decimals)),
        Some((sign, false)) => format!("{} {sign}", fixed(number, decimals)),
        None => plain(number),
    }
}

/// A format without its literals, and the literals with whether they stand before the digits.
fn split(format: &str) -> (String, Vec<(String, bool)>) {
    let mut pattern = String::new();
    let mut literals: Vec<(String, bool)> = Vec::new();
    let mut letters = format.chars().take(200);
    while let Some(letter) = letters.next() {
        let before = !pattern.contains(['0', '#', '?']);
        match letter {
            '"' => literals.push((letters.by_ref().take_while(|&c| c != '"').collect(), before)),
            '[' => {
                // `[$€-407]` is a currency; others are colours and conditions.
                let inside: String = letters.by_ref().take_while(|&c| c != ']').collect();
                if let Some(sign) = inside.strip_prefix('$') {
                    literals.push((sign.split('-').next().unwrap_or("").to_owned(), before));
                }
            }
            '\\' => literals.extend(letters.next().map(|c| (c.to_string(), before))),
            '_' | '*' => {
                letters.next();
            }
            '0' | '#' | '?' | '.' | '%' | ',' | 'E' | '/' => pattern.push(letter),
            letter if letter.is_whitespace() => {}
            letter => literals.push((letter.to_string(), before)),
        }
    }
    (pattern, literals)
}

fn fixed(number: f64, decimals: usize) -> String {
    if number.abs() >= 1e15 {
        return plain(number);
    }
    let exact = plain(number);
    let has = exact.split_once('.').map_or(0, |(_, rest)| rest.len());
    // Never less than there is: what a format rounds away is still asked for.
    let decimals = decimals.min(MAX_DECIMALS);
    if exact.contains('e') || has >= decimals { exact } else { format!("{number:.decimals$}") }
}

/// All digits that mean something, without an exponent where that can be read.
fn plain(number: f64) -> String {
    if number == 0.0 {
        return "0".into();
    }
    // Whole numbers are exact up to 2^53.
    if number.fract() == 0.0 && number.abs() < 9.1e15 {
        return format!("{number}");
    }
    let rounded: f64 = format!("{number:.precision$e}", precision = DIGITS - 1).parse().unwrap_or(number);
    if (1e-6..1e21).contains(&rounded.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calamine::ExcelDateTimeType::{DateTime, TimeDelta};

    #[test]
    fn what_cells_show() {
        let time = |serial: f64| DataRef::DateTime(ExcelDateTime::new(serial, DateTime, false));
        let duration = |serial: f64| DataRef::DateTime(ExcelDateTime::new(serial, TimeDelta, false));
        let float = DataRef::Float;
        for (value, format, want) in [
            (float(0.1 + 0.2), "General", "0.3"),
            (float(123_456_789_012_345.0), "General", "123456789012345"),
            (float(9_007_199_254_740_992.0), "General", "9007199254740992"),
            (float(1.5e300), "General", "1.5e300"),
            (float(-0.0), "General", "0"),
            (float(0.25), "0%", "25%"),
            (float(0.256), "0%", "25.6%"),
            (float(0.5), "0.00%", "50.00%"),
            (float(1234.5), "#,##0.00", "1234.5"),
            (float(1234.5), "\"$\"#,##0.00", "$1234.50"),
            (float(-3.0), "$#,##0_);($#,##0)", "-$3"),
            (float(1234.5), "#,##0.00\\ [$€-407]", "1234.50 €"),
            (float(7.0), "[$CHF] 0.00", "CHF 7.00"),
            (float(42.0), "00000", "00042"),
            (DataRef::Int(7), "General", "7"),
            (DataRef::Int(7), "000", "007"),
            (time(43_363.0), "yyyy-mm-dd", "2018-09-20"),
            (time(43_363.75), "d/m/yy h:mm", "2018-09-20 18:00"),
            (time(0.5), "h:mm", "12:00"),
            (time(1.0), "h:mm", "1900-01-01"),
            (duration(1.5), "[h]:mm", "36:00:00"),
            (DataRef::DateTimeIso("2020-01-02T00:00:00".into()), "General", "2020-01-02"),
            (DataRef::Bool(true), "General", "TRUE"),
            (DataRef::Error(calamine::CellErrorType::Div0), "General", "#DIV/0!"),
        ] {
            assert_eq!(shown(&value, format).as_deref(), Some(want), "{value:?} {format}");
        }
        assert_eq!(shown(&DataRef::SharedString("  "), "General"), None);
    }
}
