//! Random expressions of decimal numbers, their text, and their value: exact, or rounded at every step.

use super::super::integer_expression::Operator;
use super::config::DecimalArithmeticConfig;
use crate::seed::Rng;
use bigdecimal::{BigDecimal, RoundingMode};
use num_bigint::BigInt;
use num_integer::Integer as _;
use num_rational::BigRational;
use num_traits::{Signed as _, Zero as _};
use std::fmt;

/// A piece of an expression.
pub(super) enum Token {
    /// `raw / 10^places`
    Number {
        raw: i64,
        places: u32,
    },
    Operator(Operator),
    Open,
    Close,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Number { raw, places: 0 } => write!(f, "{raw}"),
            Self::Number { raw, places } => {
                let (unit, width) = (10_i64.pow(*places), *places as usize);
                write!(f, "{}.{:0width$}", raw / unit, raw % unit)
            }
            Self::Operator(operator) => write!(f, "{operator}"),
            Self::Open => f.write_str("("),
            Self::Close => f.write_str(")"),
        }
    }
}

const OPERATORS: [Operator; 4] = [
    Operator::Plus,
    Operator::Minus,
    Operator::Times,
    Operator::Divide,
];

/// A number above 0, 10 at most.
fn random_number(rng: &mut Rng, c: &DecimalArithmeticConfig) -> Token {
    let places = rng.int(c.min_num_decimal_places, c.max_num_decimal_places) as u32;
    Token::Number {
        raw: rng.int(1, 10 * 10_i64.pow(places)),
        places,
    }
}

/// So many numbers, split at random, every part in brackets or not.
pub(super) fn random_expression(
    rng: &mut Rng,
    c: &DecimalArithmeticConfig,
    terms: i64,
    tokens: &mut Vec<Token>,
) {
    if terms == 1 {
        return tokens.push(random_number(rng, c));
    }
    let (start, left) = (tokens.len(), rng.int(1, terms - 1));
    random_expression(rng, c, left, tokens);
    tokens.push(Token::Operator(*rng.choose(&OPERATORS)));
    random_expression(rng, c, terms - left, tokens);
    if rng.below(2) == 0 {
        tokens.insert(start, Token::Open);
        tokens.push(Token::Close);
    }
}

/// Numbers that are added and subtracted in turn, so that no digit is lost on the way.
pub(super) fn random_sum(rng: &mut Rng, c: &DecimalArithmeticConfig, terms: i64) -> Vec<Token> {
    let mut tokens = vec![random_number(rng, c)];
    for i in 1..terms {
        let positive = exact_value(&tokens).is_some_and(|total| total.is_positive());
        let operator = if positive && i > 1 {
            Operator::Minus
        } else {
            Operator::Plus
        };
        tokens.extend([Token::Operator(operator), random_number(rng, c)]);
    }
    tokens
}

/// The exact value by the usual precedence, not in lowest terms; `None` where something is divided by 0.
pub(super) fn exact_value(tokens: &[Token]) -> Option<BigRational> {
    let arithmetic = Arithmetic {
        number: |raw, places| BigRational::new_raw(raw.into(), power_of_ten(places.into())),
        combine: &combine,
    };
    arithmetic.sum(&mut tokens.iter().peekable())
}

/// The value where every result is rounded to so many significant digits, as Python's `decimal` does it.
pub(super) fn value_by_steps(tokens: &[Token], precision: u64) -> Option<BigDecimal> {
    let combine = |left: BigDecimal, operator: Operator, right: BigDecimal| {
        let value = match operator {
            Operator::Plus => left + right,
            Operator::Minus => left - right,
            Operator::Times => left * right,
            Operator::Divide => {
                let quotient = combine(fraction(&left), operator, fraction(&right))?;
                return Some(rounded(&quotient, precision));
            }
        };
        Some(if value.digits() > precision {
            round_half_even(&value, precision)
        } else {
            value
        })
    };
    let arithmetic = Arithmetic {
        number: |raw, places| BigDecimal::new(raw.into(), places.into()),
        combine: &combine,
    };
    arithmetic.sum(&mut tokens.iter().peekable())
}

/// The number, over a positive denominator, rounded half to even to so many significant digits.
pub(super) fn rounded(value: &BigRational, precision: u64) -> BigDecimal {
    // Estimates of log10 that are at most one too low, so that the quotient has enough digits or some too many.
    let digits = |part: &BigInt| part.bits() as i64 * 1233 / 4096;
    let missing = precision as i64 + 3 + digits(value.denom()) - digits(value.numer());
    let shift = missing.max(0);
    let (quotient, rest) = (value.numer() * power_of_ten(shift)).div_rem(value.denom());
    // One more digit that is not 0 stands for all that is cut off.
    let quotient = quotient * 10 + rest.signum();
    round_half_even(&BigDecimal::new(quotient, shift + 1), precision)
}

fn round_half_even(value: &BigDecimal, precision: u64) -> BigDecimal {
    let precision = precision.try_into().expect("precisions are above 0");
    value.with_precision_round(precision, RoundingMode::HalfEven)
}

/// The same number as a fraction.
pub(super) fn fraction(value: &BigDecimal) -> BigRational {
    let (whole, scale) = value.as_bigint_and_scale();
    if scale > 0 {
        BigRational::new_raw(whole.into_owned(), power_of_ten(scale))
    } else {
        BigRational::from(whole.into_owned() * power_of_ten(-scale))
    }
}

fn power_of_ten(n: i64) -> BigInt {
    BigInt::from(10).pow(n as u32)
}

type Tokens<'a> = std::iter::Peekable<std::slice::Iter<'a, Token>>;

/// What an expression is evaluated in.
struct Arithmetic<'a, N> {
    /// `raw / 10^places`
    number: fn(raw: i64, places: u32) -> N,
    /// The result of an operator; `None` for a division by 0.
    combine: &'a dyn Fn(N, Operator, N) -> Option<N>,
}

impl<N> Arithmetic<'_, N> {
    fn sum(&self, tokens: &mut Tokens) -> Option<N> {
        let mut total = self.product(tokens)?;
        while let Some(Token::Operator(operator)) = tokens.peek() {
            tokens.next();
            total = (self.combine)(total, *operator, self.product(tokens)?)?;
        }
        Some(total)
    }

    fn product(&self, tokens: &mut Tokens) -> Option<N> {
        let mut value = self.factor(tokens)?;
        while let Some(Token::Operator(operator @ (Operator::Times | Operator::Divide))) =
            tokens.peek()
        {
            tokens.next();
            value = (self.combine)(value, *operator, self.factor(tokens)?)?;
        }
        Some(value)
    }

    fn factor(&self, tokens: &mut Tokens) -> Option<N> {
        match tokens.next()? {
            Token::Number { raw, places } => Some((self.number)(*raw, *places)),
            Token::Open => {
                let value = self.sum(tokens);
                tokens.next();
                value
            }
            _ => None,
        }
    }
}

/// The result of an operator, not in lowest terms: finding those every time takes most of the time. `None`
/// for a division by 0.
fn combine(left: BigRational, operator: Operator, right: BigRational) -> Option<BigRational> {
    let ((a, b), (c, d)) = (left.into_raw(), right.into_raw());
    let (numerator, denominator) = match operator {
        Operator::Plus => (a * &d + c * &b, b * d),
        Operator::Minus => (a * &d - c * &b, b * d),
        Operator::Times => (a * c, b * d),
        Operator::Divide if c.is_zero() => return None,
        Operator::Divide => (a * d * c.signum(), b * c.abs()),
    };
    Some(BigRational::new_raw(numerator, denominator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_half_to_even() {
        let check = |n: i64, d: i64, precision, expected: &str| {
            let value = rounded(&BigRational::new(n.into(), d.into()), precision);
            assert_eq!(value.normalized().to_plain_string(), expected, "{n}/{d}");
        };
        check(1, 3, 5, "0.33333");
        check(-2, 3, 5, "-0.66667");
        check(25, 10, 1, "2");
        check(35, 10, 1, "4");
        check(-25, 10, 1, "-2");
        check(995, 10, 2, "100");
        check(2_500_001, 1_000_000, 1, "3");
        check(999_999, 1, 3, "1000000");
        check(9_999, 10_000, 3, "1");
        check(12_345, 100, 12, "123.45");
        check(0, 7, 4, "0");
        check(1, 4096, 12, "0.000244140625");
        check(i64::MAX, 1, 3, "9220000000000000000");
    }

    #[test]
    fn precedence_and_brackets() {
        use Operator::{Divide, Minus, Plus, Times};
        let number = |raw| Token::Number { raw, places: 1 };
        let op = Token::Operator;
        let check = |tokens: &[Token], expected: (i64, i64)| {
            let expected = BigRational::new(expected.0.into(), expected.1.into());
            assert_eq!(exact_value(tokens), Some(expected));
        };
        check(
            &[number(10), op(Plus), number(20), op(Times), number(35)],
            (8, 1),
        );
        check(
            &[number(10), op(Minus), number(20), op(Minus), number(35)],
            (-9, 2),
        );
        check(
            &[Token::Open, number(10), op(Plus), number(20), Token::Close],
            (3, 1),
        );
        let thirds = [number(10), op(Divide), number(30), op(Times), number(30)];
        check(&thirds, (1, 1));
        let by_steps = BigDecimal::new(999.into(), 3);
        assert_eq!(value_by_steps(&thirds, 3), Some(by_steps));
        let by_zero = [
            number(20),
            op(Divide),
            Token::Open,
            number(5),
            op(Minus),
            number(5),
            Token::Close,
        ];
        assert_eq!(exact_value(&by_zero), None);
        assert_eq!(value_by_steps(&by_zero, 3), None);
        let token = Token::Number {
            raw: 2005,
            places: 3,
        };
        assert_eq!(token.to_string(), "2.005");
    }
}
