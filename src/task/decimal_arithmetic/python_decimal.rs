//! Reads decimal numbers as Python's `Decimal` does.

use super::super::python_text;
use bigdecimal::BigDecimal;
use num_bigint::{BigInt, Sign};

/// Numbers of more digits before the point are no answers, and those behind it are cut off: whatever a text
/// says, what is read of it takes little time and memory to compute with.
const MAX_DIGITS: usize = 1000;

/// The number that `Decimal(text)` reads; `None` where that is NaN, infinite or beyond [`MAX_DIGITS`].
///
/// In place of the decimals beyond [`MAX_DIGITS`] there is one more, which is 0 where they all are 0.
pub(super) fn decimal(text: &str) -> Option<BigDecimal> {
    let mut chars = python_text::strip(text)
        .chars()
        .filter(|&c| c != '_')
        .peekable();
    let sign = match chars.next_if(|c| matches!(c, '+' | '-')) {
        Some('-') => Sign::Minus,
        _ => Sign::Plus,
    };
    let (mut digits, mut seen, mut point, mut decimals) = (Vec::new(), false, false, 0_i64);
    while let Some(c) = chars.next_if(|&c| (c == '.' && !point) || python_text::digit(c).is_some())
    {
        let Some(digit) = python_text::digit(c) else {
            point = true;
            continue;
        };
        seen = true;
        decimals += i64::from(point);
        if digit > 0 || !digits.is_empty() {
            digits.push(digit);
        }
    }
    if chars.next_if(|c| matches!(c, 'e' | 'E')).is_some() {
        decimals = decimals.saturating_sub(exponent(&mut chars)?);
    }
    if !seen || chars.next().is_some() {
        return None;
    }
    bounded(sign, digits, decimals)
}

/// The exponent that stands behind the `e`.
fn exponent(chars: &mut impl Iterator<Item = char>) -> Option<i64> {
    let text: String = chars.collect();
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(&text)),
    };
    if unsigned.is_empty() {
        return None;
    }
    let size = unsigned.chars().try_fold(0_i64, |size, c| {
        let digit = python_text::digit(c)?;
        Some(size.saturating_mul(10).saturating_add(digit.into()))
    })?;
    Some(if negative { -size } else { size })
}

/// The number of these digits, the last so many of them decimals, within [`MAX_DIGITS`].
fn bounded(sign: Sign, mut digits: Vec<u8>, mut decimals: i64) -> Option<BigDecimal> {
    const MAX: i64 = MAX_DIGITS as i64;
    if digits.is_empty() {
        return Some(BigDecimal::default());
    }
    if (digits.len() as i64).saturating_sub(decimals) > MAX {
        return None;
    }
    if decimals > MAX {
        let kept = digits.len().saturating_sub((decimals - MAX) as usize);
        let counts = digits.drain(kept..).any(|digit| digit > 0);
        digits.push(counts.into());
        decimals = MAX + 1;
    }
    let whole = BigInt::from_radix_be(sign, &digits, 10)?;
    Some(BigDecimal::new(whole, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_python_reads() {
        for text in [
            "5", " +5.\n", "5.0", "0.5e1", "50E-1", "５", "0_5", "_5_", "5.e+0", "05.00", ".5e1",
        ] {
            assert_eq!(decimal(text), Some(5.into()), "{text:?}");
        }
        assert_eq!(decimal("-1.50"), Some(BigDecimal::new((-150).into(), 2)));
        assert_eq!(decimal("0e999999999"), Some(0.into()));
        for text in [
            "", " ", ".", "-", "e5", "5e", "5e+", "5,0", "$5", "5 0", "5..", "NaN", "inf", "--5",
            "5e1.0", "x", "5e5e5", "5e+-5",
        ] {
            assert_eq!(decimal(text), None, "{text:?}");
        }
    }

    #[test]
    fn large_and_long_numbers_are_bounded() {
        for text in ["1e1000", "1e999999999", "1e99999999999999999999999"] {
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(decimal(&"9".repeat(100_000)), None);
        assert!(decimal("1e999").is_some());
        let tiny = BigDecimal::new(1.into(), 1001);
        for text in [
            "1e-1001",
            "7e-1003",
            "1e-999999999",
            "5e-99999999999999999999999",
        ] {
            assert_eq!(decimal(text), Some(tiny.clone()), "{text}");
        }
        let zeros = "0".repeat(100_000);
        assert_eq!(decimal(&format!("1.{zeros}")), Some(1.into()));
        assert_eq!(decimal(&format!("1.{zeros}1")), Some(tiny + 1));
    }
}
