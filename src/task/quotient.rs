//! Fractions within 128 bits, for expressions of a few decimal numbers: fast, and `None` where they do not do.

use super::decimal::{Number, plain_text};

/// `numerator / denominator · 10^exponent`, with a positive denominator; not reduced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quotient {
    numerator: i128,
    denominator: i128,
    exponent: i32,
}

fn power_of_ten(n: i32) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(n).ok()?)
}

/// Digits of a number, 0 for 0.
fn length(number: i128) -> i32 {
    number
        .unsigned_abs()
        .checked_ilog10()
        .map_or(0, |log| log as i32 + 1)
}

/// Quotient and rest, by 64 bits where they do, which is several times as fast.
fn divide(a: u128, b: u128) -> (u128, u128) {
    match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => (u128::from(a / b), u128::from(a % b)),
        _ => (a / b, a % b),
    }
}

impl Number for Quotient {
    fn new(raw: i64, places: u32) -> Self {
        Self {
            numerator: raw.into(),
            denominator: 1,
            exponent: -(places as i32),
        }
    }

    fn plus(&self, other: &Self, sign: i32) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |a: &Self, b: &Self| {
            a.numerator
                .checked_mul(power_of_ten(a.exponent - exponent)?)?
                .checked_mul(b.denominator)
        };
        let right = scaled(other, self)?.checked_mul(sign.into())?;
        let numerator = scaled(self, other)?.checked_add(right)?;
        Some(Self {
            numerator,
            denominator: self.denominator.checked_mul(other.denominator)?,
            exponent,
        })
    }

    fn times(&self, other: &Self) -> Option<Self> {
        Some(Self {
            numerator: self.numerator.checked_mul(other.numerator)?,
            denominator: self.denominator.checked_mul(other.denominator)?,
            exponent: self.exponent + other.exponent,
        })
    }

    fn over(&self, other: &Self) -> Option<Self> {
        let sign = other.numerator.signum();
        let numerator = self
            .numerator
            .checked_mul(other.denominator)?
            .checked_mul(sign)?;
        let denominator = self
            .denominator
            .checked_mul(other.numerator.checked_abs()?)?;
        (sign != 0).then_some(Self {
            numerator,
            denominator,
            exponent: self.exponent - other.exponent,
        })
    }
}

impl Quotient {
    /// The number rounded half to even to so many significant digits, over 1.
    pub(super) fn rounded(self, precision: i32) -> Option<Self> {
        if self.fits(precision) {
            return Some(self);
        }
        // The quotient has so many digits or one more.
        let shift = precision + length(self.denominator) - length(self.numerator);
        let up = self
            .numerator
            .unsigned_abs()
            .checked_mul(power_of_ten(shift.max(0))?.unsigned_abs())?;
        let down = self
            .denominator
            .unsigned_abs()
            .checked_mul(power_of_ten((-shift).max(0))?.unsigned_abs())?;
        let (mut quotient, mut rest) = divide(up, down);
        let (mut unit, mut exponent) = (down, self.exponent - shift);
        let cut = quotient.checked_ilog10().map_or(0, |log| log as i32 + 1) - precision;
        if cut > 0 {
            let ten = power_of_ten(cut)?.unsigned_abs();
            let (shorter, digits) = divide(quotient, ten);
            rest = digits.checked_mul(unit)?.checked_add(rest)?;
            (quotient, unit, exponent) = (shorter, unit.checked_mul(ten)?, exponent + cut);
        }
        let twice = rest.checked_mul(2)?;
        let up = twice > unit || (twice == unit && quotient % 2 == 1);
        let size = i128::try_from(quotient + u128::from(up)).ok()?;
        Some(Self {
            numerator: size * self.numerator.signum(),
            denominator: 1,
            exponent,
        })
    }

    /// True where the number needs no rounding.
    pub(super) fn fits(self, precision: i32) -> bool {
        self.denominator == 1 && length(self.numerator) <= precision
    }

    /// True where the number is at least `10^-places`.
    pub(super) fn shows(self, places: i32) -> Option<bool> {
        let exponent = self.exponent + places;
        let up = self
            .numerator
            .checked_abs()?
            .checked_mul(power_of_ten(exponent.max(0))?)?;
        Some(
            up >= self
                .denominator
                .checked_mul(power_of_ten((-exponent).max(0))?)?,
        )
    }

    /// True where the numbers, both over 1, are at most half of `10^-places` apart.
    pub(super) fn is_within_half(self, other: Self, places: i32) -> Option<bool> {
        let apart = self.plus(&other, -1)?;
        let unit = power_of_ten((-places).checked_sub(apart.exponent)?.max(0))?;
        let scale = power_of_ten((apart.exponent + places).max(0))?;
        Some(
            apart
                .numerator
                .checked_abs()?
                .checked_mul(scale)?
                .checked_mul(2)?
                <= unit,
        )
    }

    /// Whether the last digit of the number, over 1, is worth `10^-places` or less.
    pub(super) fn reaches(self, places: i32) -> bool {
        self.exponent <= -places
    }

    /// The number, over 1, in plain digits.
    pub(super) fn text(self) -> String {
        let digits = self.numerator.unsigned_abs();
        let digits =
            u64::try_from(digits).map_or_else(|_| digits.to_string(), |digits| digits.to_string());
        plain_text(self.numerator < 0, digits, self.exponent.into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::decimal::Fraction;
    use super::*;
    use crate::seed::Seed;

    #[test]
    fn rounds_as_large_fractions_do() {
        let mut rng = Seed::new(1).rng();
        for _ in 0..3000 {
            let size = 10_i64.pow(rng.int(1, 15) as u32);
            let (n, d) = (rng.int(-size, size), rng.int(1, 2 * size / 3 + 1));
            for precision in [1, 2, 5, 12] {
                let large = Fraction {
                    numerator: n.into(),
                    denominator: d.into(),
                }
                .rounded(precision);
                let small = Quotient::new(n, 0)
                    .over(&Quotient::new(d, 0))
                    .unwrap()
                    .rounded(precision as i32);
                assert_eq!(
                    small.map(Quotient::text),
                    Some(large.text()),
                    "{n} / {d} to {precision}"
                );
            }
        }
    }

    #[test]
    fn halves_go_to_even() {
        let round = |raw, precision| Quotient::new(raw, 1).rounded(precision).unwrap().text();
        assert_eq!(
            [25, 35, -25, 26].map(|raw| round(raw, 1)),
            ["2", "4", "-2", "3"]
        );
        assert_eq!([995, 9_995].map(|raw| round(raw, 2)), ["100", "1000"]);
    }

    #[test]
    fn what_does_not_fit_is_none() {
        let large = Quotient::new(i64::MAX, 0);
        let larger = large.times(&large).unwrap();
        assert!(larger.times(&large).is_none() && larger.times(&larger).is_none());
        assert!(large.over(&Quotient::new(0, 3)).is_none());
    }
}
