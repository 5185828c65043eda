//! Integers of any size that are fast while they fit 64 bits.

use super::form::push_number;
use num_bigint::{BigInt, BigUint};
use std::fmt;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub};

/// Divisors above this are found only as the counterpart of a smaller one, which bounds the time.
const TRIAL_DIVISORS: u32 = 1000;

/// An integer; [`Integer::Large`] only where it does not fit the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Integer {
    Small(i64),
    Large(BigInt),
}

impl Integer {
    pub(super) const ZERO: Self = Self::Small(0);

    /// The greatest common divisor, not below 0.
    pub(super) fn common_divisor(&self, other: &Self) -> Self {
        if let (Self::Small(a), Self::Small(b)) = (self, other) {
            let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
            while b != 0 {
                (a, b) = (b, a % b);
            }
            return a.into();
        }
        let (mut a, mut b) = (self.large().into_parts().1, other.large().into_parts().1);
        while b != BigUint::ZERO {
            (a, b) = (b.clone(), a % b);
        }
        BigInt::from(a).into()
    }

    /// Divisors of the size of a number that is not 0: the small ones up to the square root, each with its
    /// counterpart.
    pub(super) fn divisors(&self) -> Vec<Self> {
        match self {
            Self::Small(number) => small_divisors(number.unsigned_abs()),
            Self::Large(number) => large_divisors(number.magnitude()),
        }
    }

    /// Adds the number to a text.
    pub(super) fn write(&self, text: &mut String) {
        match self {
            Self::Small(number) => {
                text.push_str(if *number < 0 { "-" } else { "" });
                push_number(text, number.unsigned_abs(), 1);
            }
            Self::Large(number) => text.push_str(&number.to_string()),
        }
    }

    fn large(&self) -> BigInt {
        match self {
            Self::Small(number) => (*number).into(),
            Self::Large(number) => number.clone(),
        }
    }
}

fn small_divisors(number: u64) -> Vec<Integer> {
    let mut found = Vec::with_capacity(16);
    for small in (1..=u64::from(TRIAL_DIVISORS)).take_while(|small| small * small <= number) {
        // Numbers of 32 bits are divided several times as fast.
        let divides = match u32::try_from(number) {
            Ok(number) => number.is_multiple_of(small as u32),
            Err(_) => number.is_multiple_of(small),
        };
        if divides {
            found.push(small.into());
            if small * small != number {
                found.push((number / small).into());
            }
        }
    }
    found
}

fn large_divisors(number: &BigUint) -> Vec<Integer> {
    let mut found = Vec::new();
    // A number beyond 64 bits is greater than the square of any of these.
    for small in 1..=TRIAL_DIVISORS {
        if number % small == BigUint::ZERO {
            found.push(u64::from(small).into());
            found.push(BigInt::from(number / small).into());
        }
    }
    found
}

impl From<i64> for Integer {
    fn from(number: i64) -> Self {
        Self::Small(number)
    }
}

impl From<u64> for Integer {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or_else(|_| Self::Large(number.into()), Self::Small)
    }
}

impl From<BigInt> for Integer {
    fn from(number: BigInt) -> Self {
        i64::try_from(number).map_or_else(|error| Self::Large(error.into_original()), Self::Small)
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut text = String::with_capacity(20);
        self.write(&mut text);
        f.write_str(&text)
    }
}

/// An operator by its checked form for 64 bits, else by that of large numbers.
macro_rules! operator {
    ($trait:ident, $name:ident, $checked:ident) => {
        impl $trait for Integer {
            type Output = Self;

            fn $name(self, other: Self) -> Self {
                if let (Self::Small(a), Self::Small(b)) = (&self, &other)
                    && let Some(result) = a.$checked(*b)
                {
                    return Self::Small(result);
                }
                $trait::$name(self.large(), other.large()).into()
            }
        }
    };
}

operator!(Add, add, checked_add);
operator!(Sub, sub, checked_sub);
operator!(Mul, mul, checked_mul);
operator!(Div, div, checked_div);

impl Neg for Integer {
    type Output = Self;

    fn neg(self) -> Self {
        Self::ZERO - self
    }
}

impl AddAssign for Integer {
    fn add_assign(&mut self, other: Self) {
        *self = std::mem::replace(self, Self::ZERO) + other;
    }
}

impl MulAssign for Integer {
    fn mul_assign(&mut self, other: Self) {
        *self = std::mem::replace(self, Self::ZERO) * other;
    }
}

impl DivAssign for Integer {
    fn div_assign(&mut self, other: Self) {
        *self = std::mem::replace(self, Self::ZERO) / other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_grow_and_shrink_at_64_bits() {
        let [one, most, least] = [1, i64::MAX, i64::MIN].map(Integer::from);
        let above = most.clone() + one.clone();
        assert_eq!(above.to_string(), "9223372036854775808");
        assert_eq!(above.clone() - one.clone(), most);
        assert_eq!(-least.clone(), above);
        assert_eq!(-above.clone(), least);
        assert_eq!(least.clone() / -one.clone(), above);
        assert_eq!((above.clone() * above.clone()) / above.clone(), above);
        assert_eq!(
            above.common_divisor(&Integer::from(6_i64)),
            Integer::from(2_i64)
        );
        assert_eq!(least.common_divisor(&Integer::ZERO), above);
    }

    #[test]
    fn divisors_come_in_pairs() {
        let list = |n: i64| {
            Integer::from(n)
                .divisors()
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(list(1), "1");
        assert_eq!(list(-12), "1 12 2 6 3 4");
        assert_eq!(list(36), "1 36 2 18 3 12 4 9 6");
        assert_eq!(list(97), "1 97");
        let large = Integer::from(i64::MAX) * Integer::from(3_i64);
        assert_eq!(
            large.divisors()[2..4]
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            ["3", "9223372036854775807"]
        );
    }
}
