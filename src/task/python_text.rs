//! The text rules of Python that reasoning-gym's scorers rest on: what `strip` removes, what `int` reads.

use num_bigint::BigInt;

/// The longest text of digits that `int` reads.
const LONGEST_INT: usize = 4300;

/// The digit 0 of every script that has ten decimal digits in a row (Unicode 14, category Nd).
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66,
    0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90,
    0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
    0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50,
    0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// True for what `str.isspace` and `\s` hold for white space: Unicode's and the four separators of ASCII.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The text without white space at its ends (`str.strip`).
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// The value of a decimal digit of any script.
pub(super) fn digit(c: char) -> Option<u8> {
    if c.is_ascii() {
        return c.to_digit(10).map(|value| value as u8);
    }
    let code = u32::from(c);
    let zero = ZEROS[..ZEROS.partition_point(|&zero| zero <= code)].last()?;
    u8::try_from(code - zero).ok().filter(|&value| value < 10)
}

/// The integer that `int(text)` reads: white space around, a sign, digits of any script with single
/// underscores between them.
pub(super) fn int(text: &str) -> Option<BigInt> {
    let text = strip(text);
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut digits = Vec::new();
    let mut after_digit = false;
    for c in unsigned.chars() {
        match digit(c) {
            Some(value) => digits.push(value),
            None if c == '_' && after_digit => {}
            None => return None,
        }
        after_digit = c != '_';
    }
    if !after_digit || digits.len() > LONGEST_INT {
        return None;
    }
    let value = BigInt::from_radix_be(num_bigint::Sign::Plus, &digits, 10)?;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strip_removes_the_ascii_separators_too() {
        assert_eq!(strip("\u{1c}\u{a0} a b\u{3000}\u{1f}\n"), "a b");
        assert_eq!(strip("\u{200b}a"), "\u{200b}a");
        assert_eq!(strip(" \t"), "");
    }

    #[test]
    fn int_reads_what_python_reads() {
        let check = |text: &str, expected: Option<i64>| {
            assert_eq!(int(text), expected.map(BigInt::from), "{text:?}");
        };
        check(" 12\n", Some(12));
        check("-0012", Some(-12));
        check("+5", Some(5));
        check("-0", Some(0));
        check("１２", Some(12));
        check("١٢", Some(12));
        check("1_000", Some(1000));
        for bad in [
            "", " ", "+", "-", "_1", "1_", "1__0", "5.", "5.0", "1e3", "1,000", "− 5", "- 5",
            "+-5", "²", "x", "1 2",
        ] {
            check(bad, None);
        }
        assert!(int(&"9".repeat(4300)).is_some());
        assert!(int(&"9".repeat(4301)).is_none());
    }
}
