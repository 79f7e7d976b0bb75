//! When are two JSON texts the same request? Their canonical form (RFC 8785) is equal.
//!
//! One deviation, on the safe side: an integer that a double cannot hold keeps its digits, so that two seeds beyond 2^53 never
//! fall together. Not good for: texts with a name twice in one object or deeper than [`MAX_DEPTH`], which are not read at all.

use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Arrays and objects within one another.
pub const MAX_DEPTH: usize = 64;

/// The largest integer up to which a double holds every one.
const EXACT: u64 = 1 << 53;

/// Reads one JSON value. `None`: not JSON, too deep, or an object has a name twice, so that readers may differ.
pub fn parse(bytes: &[u8]) -> Option<Value> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Strict { depth: 0 }.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(value)
}

/// The canonical text. O(bytes · log of the members).
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            // RFC 8785, 3.2.3: by UTF-16 code units.
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_text(name, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    // serde_json escapes what RFC 8785 wants escaped, in the same spelling.
    out.push_str(&Value::from(text).to_string());
}

fn write_number(number: &Number, out: &mut String) {
    if let Some(whole) = number.as_u64().filter(|n| *n > EXACT) {
        out.push_str(&whole.to_string());
    } else if let Some(whole) = number.as_i64().filter(|n| n.unsigned_abs() > EXACT) {
        out.push_str(&whole.to_string());
    } else {
        out.push_str(&ecmascript(number.as_f64().unwrap_or(f64::NAN)));
    }
}

/// A number as ECMAScript prints it (ECMA-262, Number::toString): the shortest digits that read back.
fn ecmascript(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // The shortest digits, and of two equally near ones the even, as ECMAScript wants: serde_json's are.
    let shortest = Number::from_f64(value.abs()).map_or_else(String::new, |number| number.to_string());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    // The decimal point stands after so many of the significant digits.
    let point = whole.len() as i32 - (all.len() - significant.len()) as i32 + exponent.parse::<i32>().unwrap_or(0);
    let digits = significant.trim_end_matches('0');
    let (count, exponent) = (digits.len() as i32, point - 1);
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or(0));
    let split = usize::try_from(point).unwrap_or(0).min(digits.len());
    let text = if (count..=21).contains(&point) {
        format!("{digits}{}", zeros(point - count))
    } else if (1..=21).contains(&point) {
        format!("{}.{}", &digits[..split], &digits[split..])
    } else if (-5..=0).contains(&point) {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let rest = if count > 1 { format!(".{}", &digits[1..]) } else { String::new() };
        format!("{}{rest}e{sign}{}", &digits[..1], exponent.abs())
    };
    if value < 0.0 { format!("-{text}") } else { text }
}

/// Reads a value and refuses what readers may read differently.
struct Strict {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = deeper(self.depth)?;
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(Strict { depth })? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let depth = deeper(self.depth)?;
        let mut all = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(Strict { depth })?;
            if all.insert(name, value).is_some() {
                return Err(de::Error::custom("a name twice"));
            }
        }
        Ok(Value::Object(all))
    }
}

fn deeper<E: de::Error>(depth: usize) -> Result<usize, E> {
    if depth >= MAX_DEPTH { Err(E::custom("too deep")) } else { Ok(depth + 1) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> String {
        canonical(&parse(text.as_bytes()).unwrap_or_else(|| panic!("{text}")))
    }

    #[test]
    fn the_examples_of_rfc_8785() {
        for (text, want) in [
            (
                r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
                    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#,
                "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
            ),
            (
                r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
                    "\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
                "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
            ),
        ] {
            assert_eq!(of(text), want);
        }
    }

    #[test]
    fn numbers_are_printed_as_ecmascript_does() {
        // Appendix B of the RFC, and the borders of each notation.
        for (bits, want) in [
            (0x0000_0000_0000_0000u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            assert_eq!(ecmascript(f64::from_bits(bits)), want);
        }
    }

    #[test]
    fn what_means_the_same_is_the_same() {
        for (a, b) in [
            (r#"{"a":1,"b":2}"#, r#" { "b" : 2.0 , "a" : 1e0 } "#),
            (r#"{"t":0}"#, r#"{"t":-0.0}"#),
            (r#""\u00e9\/""#, r#""é/""#),
            ("[1e2]", "[100]"),
        ] {
            assert_eq!(of(a), of(b));
        }
        for (a, b) in [
            ("[1,2]", "[2,1]"),
            ("9007199254740993", "9007199254740992"),
            ("-9007199254740993", "-9007199254740992"),
            (r#""é""#, "\"e\u{301}\""),
            ("1", r#""1""#),
            (r#"{"a":null}"#, "{}"),
            ("0.1", "0.10000000000000002"),
        ] {
            assert_ne!(of(a), of(b));
        }
    }

    #[test]
    fn what_readers_may_read_differently_is_not_read() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(parse(deep(MAX_DEPTH).as_bytes()).is_some());
        for text in
            [r#"{"a":1,"a":1}"#, r#"[{"x":{"b":1,"b":2}}]"#, "", "{", "1 2", "\"\\ud800\"", "nul", "1e400", &deep(65)]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter_map("finite", |x| Number::from_f64(x).map(Value::Number)),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
                proptest::collection::vec((".{0,4}", inner), 0..6)
                    .prop_map(|all| Value::Object(all.into_iter().collect())),
            ]
        })
    }

    /// The same value with the members of every object the other way round.
    fn reversed(value: &Value) -> Value {
        match value {
            Value::Object(all) => {
                all.iter().rev().map(|(name, value)| (name.clone(), reversed(value))).collect::<Map<_, _>>().into()
            }
            Value::Array(all) => all.iter().map(reversed).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    proptest! {
        /// Order, spaces and escapes do not matter; the canonical text reads back as the value, and as itself.
        #[test]
        fn one_value_has_one_text(value in json()) {
            let text = canonical(&value);
            prop_assert_eq!(&canonical(&reversed(&value)), &text);
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(&of(&pretty), &text);
            let escaped: String = pretty.chars().map(|c| if c.is_ascii() { c.to_string() } else {
                let mut units = [0; 2];
                c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
            }).collect();
            prop_assert_eq!(&of(&escaped), &text);
            prop_assert_eq!(of(&text), text);
        }

        #[test]
        fn doubles_read_back(value in any::<f64>().prop_filter("finite", |x| x.is_finite())) {
            prop_assert_eq!(ecmascript(value).parse::<f64>().unwrap(), value);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Some(value) = parse(&bytes) {
                canonical(&value);
            }
        }
    }
}
