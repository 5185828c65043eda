//! Decimal numbers: as texts that Python's `Decimal` reads, as exact fractions, and rounded to a number
//! of significant digits at every step.

use super::python;
use num_bigint::{BigInt, Sign};

/// No text of an answer is compared with more digits of the oracle than this.
const LONGEST_ORACLE: usize = 1000;

/// Exponents beyond this mean a number that is out of reach, or 0.
const LARGEST_EXPONENT: i64 = 1_000_000_000_000_000_000;

/// `10^n`.
pub(super) fn power_of_ten(n: u32) -> BigInt {
    BigInt::from(10).pow(n)
}

/// The number that a text says: `±digits · 10^exponent`, without leading zeros; no digits for 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Text {
    /// Reads what `Decimal(text)` reads, but for NaN and infinities.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut chars = python::strip(text).chars().filter(|&c| c != '_').peekable();
        let negative = chars.next_if(|c| matches!(c, '+' | '-')) == Some('-');
        let (mut digits, mut seen, mut point, mut exponent) = (Vec::new(), false, false, 0_i64);
        while let Some(c) = chars.next_if(|&c| python::digit(c).is_some() || (c == '.' && !point)) {
            let Some(digit) = python::digit(c) else {
                point = true;
                continue;
            };
            seen = true;
            exponent -= i64::from(point);
            if digit > 0 || !digits.is_empty() {
                digits.push(digit);
            }
        }
        if !seen {
            return None;
        }
        if chars.next_if(|c| matches!(c, 'e' | 'E')).is_some() {
            let minus = chars.next_if(|c| matches!(c, '+' | '-')) == Some('-');
            let mut size = 0_i64;
            chars.peek()?;
            while let Some(digit) = chars
                .next_if(|&c| python::digit(c).is_some())
                .and_then(python::digit)
            {
                size = size
                    .saturating_mul(10)
                    .saturating_add(digit.into())
                    .min(2 * LARGEST_EXPONENT);
            }
            if size > LARGEST_EXPONENT {
                return None;
            }
            exponent += if minus { -size } else { size };
        }
        chars.next().is_none().then_some(Self {
            negative,
            digits,
            exponent,
        })
    }

    /// Digits after the decimal point.
    pub(super) fn decimals(&self) -> i64 {
        (-self.exponent).max(0)
    }

    /// Digits that count.
    pub(super) fn significant(&self) -> usize {
        self.digits.len()
    }

    /// Power of ten of the digit after the first one: the number is below `10^` this.
    fn size(&self) -> i64 {
        if self.digits.is_empty() {
            i64::MIN
        } else {
            self.digits.len() as i64 + self.exponent
        }
    }

    /// The number times `10^places`, where it has few digits and is whole.
    fn small(&self, places: i64) -> Option<i128> {
        let zeros = self
            .exponent
            .checked_add(places)
            .and_then(|zeros| u32::try_from(zeros).ok())?;
        if self.digits.len() as u64 + u64::from(zeros) > 36 {
            return None;
        }
        let whole = self
            .digits
            .iter()
            .fold(0_i128, |whole, digit| whole * 10 + i128::from(*digit));
        let sign = if self.negative { -1 } else { 1 };
        Some(sign * whole * 10_i128.pow(zeros))
    }

    /// The number times `10^places`, rounded down, and whether nothing was cut off.
    fn scaled(&self, places: i64) -> (BigInt, bool) {
        let shift = self.exponent + places;
        let kept = (self.digits.len() as i64 + shift.min(0)).max(0) as usize;
        let kept = kept.min(self.digits.len());
        let whole = BigInt::from_radix_be(Sign::Plus, &self.digits[..kept], 10).unwrap_or_default();
        let whole = if self.digits.is_empty() {
            whole
        } else {
            whole * power_of_ten(shift.max(0) as u32)
        };
        let exact = self.digits[kept..].iter().all(|&digit| digit == 0);
        match (self.negative, exact) {
            (false, _) => (whole, exact),
            (true, true) => (-whole, true),
            (true, false) => (-whole - 1, false),
        }
    }
}

/// `is_near` for numbers of few digits; `None` for others.
fn is_near_small(candidate: &Text, oracle: &Text, tolerance: i64, places: i64) -> Option<bool> {
    let used = places.max(oracle.decimals()).max(candidate.decimals());
    let unit = 10_i128.checked_pow(u32::try_from(used - places).ok()?)?;
    let apart = candidate.small(used)? - oracle.small(used)?;
    Some(apart.abs() <= unit.checked_mul(tolerance.into())?)
}

/// A decimal number of up to 18 digits in plain ASCII: what most answers are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain {
    digits: i64,
    places: u32,
}

impl Plain {
    /// Reads digits with a minus or none, a point or none and spaces around; `None` for anything else.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim_ascii().as_bytes();
        let (negative, text) = match text.split_first()? {
            (b'-', rest) => (true, rest),
            _ => (false, text),
        };
        let (mut size, mut places, mut count, mut point) = (0_i64, 0, 0, false);
        for byte in text {
            match byte {
                b'0'..=b'9' if count < 18 => {
                    size = size * 10 + i64::from(byte - b'0');
                    count += 1;
                    places += u32::from(point);
                }
                b'.' if !point => point = true,
                _ => return None,
            }
        }
        (count > 0).then_some(Self {
            digits: if negative { -size } else { size },
            places,
        })
    }

    /// The number times `10^places`, which must leave no decimals.
    fn scaled(self, places: u32) -> i128 {
        i128::from(self.digits) * i128::from(10_i64.pow(places - self.places))
    }

    /// True where the candidate is no further from the oracle than `tolerance · 10^-places`, of which there
    /// are 18 at most.
    pub(super) fn is_near(self, oracle: Self, tolerance: i64, places: u32) -> bool {
        let used = places.max(self.places).max(oracle.places);
        let unit = i128::from(tolerance) * i128::from(10_i64.pow(used - places));
        (self.scaled(used) - oracle.scaled(used)).abs() <= unit
    }
}

/// True where the candidate is no further from the oracle than `tolerance · 10^-places`.
///
/// Only as many digits of the candidate are used as matter, so that a long text takes linear time.
pub(super) fn is_near(candidate: &Text, oracle: &Text, tolerance: i64, places: i64) -> bool {
    if let Some(near) = is_near_small(candidate, oracle, tolerance, places) {
        return near;
    }
    let range = -(LONGEST_ORACLE as i64)..=LONGEST_ORACLE as i64;
    if oracle.digits.len() > LONGEST_ORACLE
        || !range.contains(&oracle.exponent)
        || !range.contains(&places)
    {
        return false;
    }
    let reach = oracle.size().max(0).max(20 - places) + 2;
    if candidate.size() > reach {
        return false;
    }
    let places_used = places.max(oracle.decimals());
    let (oracle, _) = oracle.scaled(places_used);
    let tolerance = BigInt::from(tolerance) * power_of_ten((places_used - places) as u32);
    // Rounded down; the number itself is up to 1 above where digits were cut off.
    let (candidate, exact) = candidate.scaled(places_used);
    let above = if exact {
        candidate.clone()
    } else {
        &candidate + 1
    };
    candidate >= &oracle - &tolerance && above <= oracle + tolerance
}

/// Numbers that an expression can be evaluated in; `None` for a result that is none of them.
pub(super) trait Number: Sized {
    /// `raw / 10^places`
    fn new(raw: i64, places: u32) -> Self;
    /// Sum, or difference with a sign of -1.
    fn plus(&self, other: &Self, sign: i32) -> Option<Self>;
    /// Product.
    fn times(&self, other: &Self) -> Option<Self>;
    /// The number as a fraction of the other.
    fn over(&self, other: &Self) -> Option<Self>;
}

/// A fraction with any numerator and a positive denominator, not reduced.
#[derive(Clone, Debug)]
pub(super) struct Fraction {
    /// Above the line.
    pub(super) numerator: BigInt,
    /// Below it.
    pub(super) denominator: BigInt,
}

impl Fraction {
    /// The number rounded half to even to so many significant digits.
    pub(super) fn rounded(&self, precision: u32) -> Rounded {
        let size = |n: &BigInt| n.magnitude().bits() as i64 * 1233 / 4096;
        // Enough digits in the quotient, or a few too many; `settle` takes those off.
        let shift = i64::from(precision) + 3 + size(&self.denominator) - size(&self.numerator);
        let up = power_of_ten(shift.max(0) as u32) * &self.numerator;
        let down = power_of_ten((-shift).max(0) as u32) * &self.denominator;
        let (quotient, rest) = (&up / &down, &up % &down);
        let sticky = rest != BigInt::ZERO;
        // One more digit that is not 0 stands for all that is cut off.
        let tail = if sticky {
            BigInt::from(if self.numerator.sign() == Sign::Minus {
                -1
            } else {
                1
            })
        } else {
            BigInt::ZERO
        };
        Rounded {
            coefficient: quotient * 10 + tail,
            exponent: -shift - 1,
        }
        .settle(precision)
    }

    fn combined(&self, other: &Self, sign: i32) -> Self {
        let right = &other.numerator * &self.denominator * sign;
        Self {
            numerator: &self.numerator * &other.denominator + right,
            denominator: &self.denominator * &other.denominator,
        }
    }

    /// True where the two are at most half of `10^-places` apart.
    pub(super) fn is_within_half(&self, other: &Self, places: u32) -> bool {
        let apart = self.combined(other, -1);
        apart.numerator.magnitude() * (power_of_ten(places) * 2_i32).magnitude()
            <= *apart.denominator.magnitude()
    }
}

impl Number for Fraction {
    fn new(raw: i64, places: u32) -> Self {
        Self {
            numerator: raw.into(),
            denominator: power_of_ten(places),
        }
    }

    fn plus(&self, other: &Self, sign: i32) -> Option<Self> {
        Some(self.combined(other, sign))
    }

    fn times(&self, other: &Self) -> Option<Self> {
        let (numerator, denominator) = (
            &self.numerator * &other.numerator,
            &self.denominator * &other.denominator,
        );
        Some(Self {
            numerator,
            denominator,
        })
    }

    fn over(&self, other: &Self) -> Option<Self> {
        if other.numerator == BigInt::ZERO {
            return None;
        }
        let (n, d) = (
            &self.numerator * &other.denominator,
            &self.denominator * &other.numerator,
        );
        Some(if d.sign() == Sign::Minus {
            Self {
                numerator: -n,
                denominator: -d,
            }
        } else {
            Self {
                numerator: n,
                denominator: d,
            }
        })
    }
}

/// A number of few digits: `coefficient · 10^exponent`.
#[derive(Clone, Debug)]
pub(super) struct Rounded {
    pub(super) coefficient: BigInt,
    pub(super) exponent: i64,
}

impl Rounded {
    /// Rounds half to even to so many significant digits.
    fn settle(self, precision: u32) -> Self {
        let digits = self.coefficient.magnitude().to_string().len() as i64;
        let cut = digits - i64::from(precision);
        if cut <= 0 {
            return self;
        }
        let unit = power_of_ten(cut as u32);
        let (mut quotient, rest) = (&self.coefficient / &unit, &self.coefficient % &unit);
        let up = match (rest.magnitude() * 2_u32).cmp(unit.magnitude()) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => &quotient % 2 != BigInt::ZERO,
            std::cmp::Ordering::Greater => true,
        };
        if up {
            quotient += if self.coefficient.sign() == Sign::Minus {
                -1
            } else {
                1
            };
        }
        Self {
            coefficient: quotient,
            exponent: self.exponent + cut,
        }
        .settle(precision)
    }

    /// The same number as a fraction.
    pub(super) fn fraction(&self) -> Fraction {
        let up = power_of_ten(self.exponent.max(0) as u32);
        let down = power_of_ten((-self.exponent).max(0) as u32);
        Fraction {
            numerator: &self.coefficient * up,
            denominator: down,
        }
    }

    /// The number in plain digits, without zeros at the end of its decimals.
    pub(super) fn text(&self) -> String {
        let negative = self.coefficient.sign() == Sign::Minus;
        plain_text(
            negative,
            self.coefficient.magnitude().to_string(),
            self.exponent,
        )
    }
}

/// `±digits · 10^exponent` in plain digits, without zeros at the end of its decimals.
pub(super) fn plain_text(negative: bool, mut digits: String, exponent: i64) -> String {
    if digits != "0" {
        digits.extend(std::iter::repeat_n('0', exponent.max(0) as usize));
    }
    let decimals = (-exponent).max(0) as usize;
    let mut text = String::with_capacity(digits.len().max(decimals) + 3);
    text.push_str(if negative { "-" } else { "" });
    let whole = digits.len().saturating_sub(decimals);
    text.push_str(if whole > 0 { &digits[..whole] } else { "0" });
    let part = digits[whole..].trim_end_matches('0');
    if !part.is_empty() {
        text.push('.');
        text.extend(std::iter::repeat_n(
            '0',
            decimals.saturating_sub(digits.len()),
        ));
        text.push_str(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(candidate: &str, oracle: &str, tolerance: i64, places: i64) -> bool {
        let oracle = Text::read(oracle).unwrap();
        Text::read(candidate).is_some_and(|text| is_near(&text, &oracle, tolerance, places))
    }

    #[test]
    fn texts_that_python_reads() {
        for text in [
            "5", " +5.\n", "5.0", "0.5e1", "50E-1", "５", "0_5", "_5_", "5.e+0", "05.00",
        ] {
            assert!(near(text, "5", 0, 3), "{text:?}");
        }
        for text in [
            "", " ", ".", "-", "e5", "5e", "5e+", "5,0", "$5", "5 0", "5..", "NaN", "inf", "--5",
            "5e1.0", "x",
        ] {
            assert_eq!(Text::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn distances_at_the_edge() {
        assert!(near("1.001", "1", 1, 3) && near("0.999", "1", 1, 3));
        assert!(!near("1.00100000000000000001", "1", 1, 3) && !near("0.99899999", "1", 1, 3));
        assert!(
            near("-1.001", "-1", 1, 3)
                && !near("-1.0010001", "-1", 1, 3)
                && !near("-1.001", "1", 1, 3)
        );
        assert!(
            near("0.0004999", "0", 5, 4)
                && !near("0.00050001", "0", 5, 4)
                && near("-0.0005", "0", 5, 4)
        );
        assert!(near("1e-999999999", "0.001", 1, 3) && near("-1e-999999999", "0.001", 2, 3));
        assert!(!near("1e999999999", "0.001", 1, 3) && near("0e999999999", "0.001", 1, 3));
        assert!(!near("1e99999999999999999999999", "1", 1, 3));
        assert!(near("123456.78949", "123456.7891234567", 1, 3));
        assert!(near(&format!("1.{}", "0".repeat(100_000)), "1", 0, 3));
        assert!(!near(&format!("1.{}1", "0".repeat(100_000)), "1", 0, 3));
    }

    #[test]
    fn rounding_is_half_to_even() {
        let check = |n: i64, d: i64, precision, expected: &str| {
            let fraction = Fraction {
                numerator: n.into(),
                denominator: d.into(),
            };
            assert_eq!(fraction.rounded(precision).text(), expected, "{n}/{d}");
        };
        check(1, 3, 5, "0.33333");
        check(-2, 3, 5, "-0.66667");
        check(25, 10, 1, "2");
        check(35, 10, 1, "4");
        check(2_500_001, 1_000_000, 1, "3");
        check(999_999, 1, 3, "1000000");
        check(9_999, 10_000, 3, "1");
        check(12_345, 100, 12, "123.45");
        check(0, 7, 4, "0");
        check(1, 4096, 12, "0.000244140625");
    }
}
