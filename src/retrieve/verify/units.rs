//! Units of measure: which words name one, and when two amounts in different units are the same.
//!
//! Useful for: `168 hours` = `168h` = `7 days`, `5 GB` ≠ `5 MB`. Not for: units whose sign is also a word or another unit
//! (`m`, `in`, `pound`): these are no unit here.

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Seconds,
    /// Months have no fixed number of days, years have twelve of them.
    Months,
    Bytes,
    Bits,
    Metres,
    Grams,
    Litres,
    Celsius,
    Fahrenheit,
    Watts,
    WattHours,
    Volts,
    Amperes,
    AmpereHours,
    Hertz,
    Pascal,
    Percent,
    Points,
    Currency(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    pub measure: Measure,
    /// How many of the measure's base one of this unit is.
    pub factor: f64,
}

/// The unit that a word or sign names.
pub(super) fn unit_of(word: &str) -> Option<Unit> {
    use Measure as M;
    let word = word.trim_end_matches('.');
    // Signs where a capital matters, then words where it does not.
    let exact = match word {
        "mW" => Some((M::Watts, 1e-3)),
        "MW" => Some((M::Watts, 1e6)),
        "W" => Some((M::Watts, 1.0)),
        "V" => Some((M::Volts, 1.0)),
        "A" => Some((M::Amperes, 1.0)),
        "Mb" | "Mbit" | "Mbps" => Some((M::Bits, 1e6)),
        "Gb" | "Gbit" | "Gbps" => Some((M::Bits, 1e9)),
        "°C" | "℃" => Some((M::Celsius, 1.0)),
        "°F" | "℉" => Some((M::Fahrenheit, 1.0)),
        _ => None,
    };
    let (measure, factor) = exact.or_else(|| named(&word.to_lowercase()))?;
    Some(Unit { measure, factor })
}

fn named(word: &str) -> Option<(Measure, f64)> {
    use Measure as M;
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 3600.0;
    const DAY: f64 = 86400.0;
    Some(match word {
        "ns" | "nanosecond" | "nanoseconds" => (M::Seconds, 1e-9),
        "µs" | "μs" | "us" | "microsecond" | "microseconds" => (M::Seconds, 1e-6),
        "ms" | "msec" | "millisecond" | "milliseconds" | "millisekunden" | "milisegundos" | "毫秒" => {
            (M::Seconds, 1e-3)
        }
        "s" | "sec" | "secs" | "second" | "seconds" | "sekunde" | "sekunden" | "sek" | "segundo" | "segundos"
        | "seconde" | "secondes" | "秒" | "秒钟" => (M::Seconds, 1.0),
        "min" | "mins" | "minute" | "minutes" | "minuten" | "minuto" | "minutos" | "分钟" | "分鐘" => {
            (M::Seconds, MINUTE)
        }
        "h" | "hr" | "hrs" | "hour" | "hours" | "stunde" | "stunden" | "std" | "hora" | "horas" | "heure"
        | "heures" | "小时" | "小時" | "时间" => (M::Seconds, HOUR),
        "d" | "day" | "days" | "tag" | "tage" | "tagen" | "día" | "días" | "dia" | "dias" | "jour" | "jours" | "天"
        | "日" => (M::Seconds, DAY),
        "week" | "weeks" | "wk" | "wks" | "woche" | "wochen" | "semana" | "semanas" | "semaine" | "semaines" | "周"
        | "星期" => (M::Seconds, 7.0 * DAY),
        "fortnight" | "fortnights" => (M::Seconds, 14.0 * DAY),
        "month" | "months" | "mo" | "monat" | "monate" | "monaten" | "mes" | "meses" | "mois" | "个月" | "個月" => {
            (M::Months, 1.0)
        }
        "year" | "years" | "yr" | "yrs" | "jahr" | "jahre" | "jahren" | "año" | "años" | "an" | "ans" | "année"
        | "années" | "年" => (M::Months, 12.0),
        "byte" | "bytes" => (M::Bytes, 1.0),
        "kb" => (M::Bytes, 1e3),
        "mb" | "megabyte" | "megabytes" => (M::Bytes, 1e6),
        "gb" | "gigabyte" | "gigabytes" => (M::Bytes, 1e9),
        "tb" | "terabyte" | "terabytes" => (M::Bytes, 1e12),
        "kib" => (M::Bytes, 1024.0),
        "mib" => (M::Bytes, 1024.0 * 1024.0),
        "gib" => (M::Bytes, 1024.0 * 1024.0 * 1024.0),
        "bit" | "bits" => (M::Bits, 1.0),
        "kbit" | "kbps" => (M::Bits, 1e3),
        "mbit" | "mbps" => (M::Bits, 1e6),
        "gbit" | "gbps" => (M::Bits, 1e9),
        "mm" | "millimetre" | "millimetres" | "millimeter" | "millimeters" | "毫米" => (M::Metres, 1e-3),
        "cm" | "centimetre" | "centimetres" | "centimeter" | "centimeters" | "厘米" => (M::Metres, 1e-2),
        "metre" | "metres" | "meter" | "meters" | "metro" | "metros" | "mètre" | "mètres" | "米" => (M::Metres, 1.0),
        "km" | "kilometre" | "kilometres" | "kilometer" | "kilometers" | "kilómetros" | "公里" => (M::Metres, 1e3),
        "inch" | "inches" | "zoll" => (M::Metres, 0.0254),
        "ft" | "foot" | "feet" => (M::Metres, 0.3048),
        "yd" | "yard" | "yards" => (M::Metres, 0.9144),
        "mi" | "mile" | "miles" | "meilen" => (M::Metres, 1609.344),
        "mg" | "milligram" | "milligrams" => (M::Grams, 1e-3),
        "g" | "gram" | "grams" | "gramm" | "gramos" | "克" => (M::Grams, 1.0),
        "kg" | "kilo" | "kilos" | "kilogram" | "kilograms" | "kilogramm" | "公斤" | "千克" => (M::Grams, 1e3),
        "t" | "tonne" | "tonnes" | "tonnen" | "toneladas" => (M::Grams, 1e6),
        "lb" | "lbs" => (M::Grams, 453.592_37),
        "oz" | "ounce" | "ounces" => (M::Grams, 28.349_523_125),
        "ml" | "millilitre" | "millilitres" | "milliliter" | "milliliters" | "毫升" => (M::Litres, 1e-3),
        "l" | "litre" | "litres" | "liter" | "liters" | "litro" | "litros" | "升" => (M::Litres, 1.0),
        "gallon" | "gallons" => (M::Litres, 3.785_411_784),
        "celsius" => (M::Celsius, 1.0),
        "fahrenheit" => (M::Fahrenheit, 1.0),
        "watt" | "watts" => (M::Watts, 1.0),
        "kw" | "kilowatt" | "kilowatts" => (M::Watts, 1e3),
        "wh" => (M::WattHours, 1.0),
        "kwh" => (M::WattHours, 1e3),
        "volt" | "volts" => (M::Volts, 1.0),
        "mv" => (M::Volts, 1e-3),
        "kv" => (M::Volts, 1e3),
        "amp" | "amps" | "ampere" | "amperes" => (M::Amperes, 1.0),
        "ma" => (M::Amperes, 1e-3),
        "ah" => (M::AmpereHours, 1.0),
        "mah" => (M::AmpereHours, 1e-3),
        "hz" => (M::Hertz, 1.0),
        "khz" => (M::Hertz, 1e3),
        "mhz" => (M::Hertz, 1e6),
        "ghz" => (M::Hertz, 1e9),
        "pa" => (M::Pascal, 1.0),
        "kpa" => (M::Pascal, 1e3),
        "bar" => (M::Pascal, 1e5),
        "psi" => (M::Pascal, 6894.757),
        "%" | "％" | "percent" | "pct" | "prozent" => (M::Percent, 1.0),
        "pp" => (M::Points, 1.0),
        "$" | "usd" | "us$" | "dollar" | "dollars" | "dólares" | "美元" => (M::Currency("USD"), 1.0),
        "€" | "eur" | "euro" | "euros" | "欧元" => (M::Currency("EUR"), 1.0),
        "£" | "gbp" => (M::Currency("GBP"), 1.0),
        "¥" | "￥" | "cny" | "rmb" | "yuan" | "元" => (M::Currency("CNY"), 1.0),
        "jpy" | "yen" | "円" => (M::Currency("JPY"), 1.0),
        "₹" | "inr" | "rupees" => (M::Currency("INR"), 1.0),
        "chf" | "franken" => (M::Currency("CHF"), 1.0),
        _ => return None,
    })
}

/// Two amounts are equal for a reader: to nine digits.
pub(super) fn equal(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_in_different_units() {
        let amount = |value: f64, unit: &str| {
            let unit = unit_of(unit).unwrap_or_else(|| panic!("{unit}"));
            (unit.measure, value * unit.factor)
        };
        for ((a, u), (b, v), same) in [
            ((168.0, "hours"), (168.0, "h"), true),
            ((168.0, "h"), (7.0, "days"), true),
            ((1.0, "year"), (12.0, "months"), true),
            ((5.0, "GB"), (5.0, "MB"), false),
            ((5.0, "GB"), (5000.0, "mb"), true),
            ((1.0, "MW"), (1.0, "mW"), false),
            ((5.0, "Tage"), (5.0, "días"), true),
            ((5.0, "$"), (5.0, "€"), false),
            ((25.0, "天"), (25.0, "days"), true),
        ] {
            let ((m, a), (n, b)) = (amount(a, u), amount(b, v));
            assert_eq!(m == n && equal(a, b), same, "{u} {v}");
        }
        for word in ["in", "m", "pound", "plan", ""] {
            assert_eq!(unit_of(word), None, "{word}");
        }
    }
}
