//! Writes integer expressions at random, and evaluates them.
//!
//! The shapes are those of reasoning-gym's `basic_arithmetic`, with one difference: a divisor divides
//! the very factor that it stands behind, so that every division is exact.

use crate::seed::Rng;
use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{One as _, Signed as _, ToPrimitive as _, Zero as _};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Divisors above this are found only as the counterpart of a smaller one, which bounds the time.
const MAX_TRIAL_DIVISOR: u32 = 1000;

/// What stands between two terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    /// Addition.
    #[serde(rename = "+")]
    Plus,
    /// Subtraction.
    #[serde(rename = "-")]
    Minus,
    /// Multiplication.
    #[serde(rename = "*")]
    Times,
    /// Division, always exact.
    #[serde(rename = "/")]
    Divide,
}

/// A piece of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(BigInt),
    Operator(Operator),
    Open { negated: bool },
    Close,
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Divide => "/",
        })
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Operator(operator) => write!(f, "{operator}"),
            Self::Open { negated: true } => f.write_str("-("),
            Self::Open { negated: false } => f.write_str("("),
            Self::Close => f.write_str(")"),
        }
    }
}

/// The value by the usual precedence, left to right.
pub(super) fn value(tokens: &[Token]) -> BigInt {
    sum(&mut tokens.iter())
}

/// Reads up to the end or past the bracket that closes.
fn sum(tokens: &mut std::slice::Iter<Token>) -> BigInt {
    let mut total = BigInt::ZERO;
    let mut term = factor(tokens);
    loop {
        match tokens.next() {
            Some(Token::Operator(Operator::Plus)) => {
                total += std::mem::replace(&mut term, factor(tokens));
            }
            Some(Token::Operator(Operator::Minus)) => {
                total += std::mem::replace(&mut term, -factor(tokens));
            }
            Some(Token::Operator(Operator::Times)) => term *= factor(tokens),
            Some(Token::Operator(Operator::Divide)) => term /= factor(tokens),
            _ => return total + term,
        }
    }
}

fn factor(tokens: &mut std::slice::Iter<Token>) -> BigInt {
    match tokens.next() {
        Some(Token::Number(number)) => number.clone(),
        Some(Token::Open { negated: true }) => -sum(tokens),
        Some(Token::Open { negated: false }) => sum(tokens),
        _ => unreachable!("the writer puts a number or a bracket after every operator"),
    }
}

/// Writes expressions of one question.
pub(super) struct Writer<'a> {
    /// Where the choices come from.
    pub(super) rng: &'a mut Rng,
    /// What terms are joined by.
    pub(super) operators: &'a [Operator],
    /// Whether there are brackets.
    pub(super) brackets: bool,
    /// Whether a bracket may have a minus before it.
    pub(super) negation: bool,
    /// The range of random numbers, both ends included; divisors and corrections may lie outside.
    pub(super) literals: [i64; 2],
}

impl Writer<'_> {
    /// An expression of so many numbers.
    pub(super) fn terms(&mut self, count: i64) -> Vec<Token> {
        let mut tokens = Vec::with_capacity(4 * count as usize);
        self.append(&mut tokens, count);
        tokens
    }

    /// Adds an expression of so many numbers behind what there is.
    fn append(&mut self, tokens: &mut Vec<Token>, count: i64) {
        let start = tokens.len();
        let only_division = self.joining().next().is_none();
        let left = if only_division {
            1
        } else {
            self.rng.int(1, count)
        };
        self.left_part(tokens, left);
        if left < count {
            match *self.rng.choose(self.operators) {
                Operator::Divide if only_division => {
                    self.division_chain(tokens, start, count - left);
                }
                Operator::Divide => self.division(tokens, start, count - left),
                operator => {
                    tokens.push(Token::Operator(operator));
                    self.append(tokens, count - left);
                }
            }
        }
    }

    /// The operators other than division.
    fn joining(&self) -> impl Iterator<Item = Operator> {
        self.operators
            .iter()
            .copied()
            .filter(|operator| *operator != Operator::Divide)
    }

    /// A bracket, or numbers without a division.
    fn left_part(&mut self, tokens: &mut Vec<Token>, count: i64) {
        if self.brackets && count > 1 && self.rng.uniform() > 0.5 {
            let negated = self.rng.uniform() > 0.5 && self.negation;
            tokens.push(Token::Open { negated });
            self.append(tokens, count);
            tokens.push(Token::Close);
            return;
        }
        tokens.push(self.literal());
        for _ in 1..count {
            let chosen = self.rng.below(self.joining().count() as u64) as usize;
            tokens.extend(self.joining().nth(chosen).map(Token::Operator));
            tokens.push(self.literal());
        }
    }

    fn literal(&mut self) -> Token {
        let [low, high] = self.literals;
        Token::Number(self.rng.int(low, high).into())
    }

    /// Divides the last factor of what stands from `start` on by something of the first of `count` more numbers.
    fn division(&mut self, tokens: &mut Vec<Token>, start: usize, count: i64) {
        let dividend = match tokens.last() {
            Some(Token::Number(number)) => number.clone(),
            _ => value(&tokens[start..]), // a left part that ends with a bracket is one bracket
        };
        tokens.push(Token::Operator(Operator::Divide));
        if count == 1 {
            return tokens.push(self.divisor(&dividend));
        }
        let right = tokens.len();
        self.append(tokens, count - 1);
        let additive = [Operator::Plus, Operator::Minus]
            .into_iter()
            .find(|o| self.operators.contains(o));
        match additive {
            Some(operator) if is_one_bracket(&tokens[right..]) => {
                self.correct(tokens, right, &dividend, operator);
            }
            _ => {
                let joining = additive.unwrap_or(Operator::Times);
                tokens.splice(
                    right..right,
                    [self.divisor(&dividend), Token::Operator(joining)],
                );
            }
        }
    }

    /// `a / b / c ..`, each number a divisor of what is left.
    fn division_chain(&mut self, tokens: &mut Vec<Token>, start: usize, count: i64) {
        for _ in 0..count {
            let divisor = self.divisor(&value(&tokens[start..]));
            tokens.extend([Token::Operator(Operator::Divide), divisor]);
        }
    }

    /// A divisor of the dividend, or any number where that is 0.
    fn divisor(&mut self, dividend: &BigInt) -> Token {
        if dividend.is_zero() {
            return Token::Number(self.rng.int(1, self.literals[1]).into());
        }
        Token::Number(self.rng.choose(&divisors(dividend)).clone())
    }

    /// Adds a last number to the bracket that starts there, by plus or minus, that makes its value a divisor of
    /// the dividend.
    fn correct(
        &mut self,
        tokens: &mut Vec<Token>,
        bracket: usize,
        dividend: &BigInt,
        operator: Operator,
    ) {
        let value = value(&tokens[bracket..]);
        let wanted = if value.is_zero() {
            BigInt::one()
        } else {
            self.rng.choose(&divisors(&dividend.gcd(&value))).clone()
        };
        let negated = tokens[bracket] == Token::Open { negated: true };
        let missing = if negated {
            value - wanted
        } else {
            wanted - value
        };
        let last = if operator == Operator::Minus {
            -missing
        } else {
            missing
        };
        tokens.pop();
        tokens.extend([Token::Operator(operator), Token::Number(last), Token::Close]);
    }
}

/// Divisors of the size of a number that is not 0: the small ones up to its square root, each with its
/// counterpart.
fn divisors(number: &BigInt) -> Vec<BigInt> {
    let size = number.abs();
    let root = size.sqrt().to_u32().unwrap_or(u32::MAX);
    let mut found = Vec::new();
    for small in 1..=root.min(MAX_TRIAL_DIVISOR) {
        let (quotient, rest) = size.div_rem(&small.into());
        if rest.is_zero() {
            let small = BigInt::from(small);
            if small != quotient {
                found.extend([small, quotient]);
            } else {
                found.push(small);
            }
        }
    }
    found
}

/// True when the bracket that opens first closes last.
fn is_one_bracket(tokens: &[Token]) -> bool {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::Open { .. } => depth += 1,
            Token::Close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i > 0 && i + 1 == tokens.len();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    /// Every division of an expression must leave nothing; checked apart from `value`.
    fn check_exact(tokens: &mut std::slice::Iter<Token>) -> BigInt {
        fn factor(tokens: &mut std::slice::Iter<Token>) -> BigInt {
            match tokens.next() {
                Some(Token::Number(number)) => number.clone(),
                Some(Token::Open { negated }) => {
                    check_exact(tokens) * if *negated { -1 } else { 1 }
                }
                other => panic!("{other:?} is no factor"),
            }
        }
        let mut terms = vec![factor(tokens)];
        while let Some(token) = tokens.next() {
            let Token::Operator(operator) = token else {
                break;
            };
            let right = factor(tokens);
            match operator {
                Operator::Plus => terms.push(right),
                Operator::Minus => terms.push(-right),
                Operator::Times => *terms.last_mut().unwrap() *= right,
                Operator::Divide => {
                    let left = terms.pop().unwrap();
                    assert_ne!(right, BigInt::ZERO);
                    let quotient = left.clone() / right.clone();
                    assert_eq!(quotient.clone() * right.clone(), left, "{left} / {right}");
                    terms.push(quotient);
                }
            }
        }
        terms.into_iter().fold(BigInt::ZERO, |sum, term| sum + term)
    }

    #[test]
    fn divisors_come_in_pairs() {
        let list = |number: BigInt| {
            let found: Vec<String> = divisors(&number).iter().map(ToString::to_string).collect();
            found.join(" ")
        };
        assert_eq!(list(1.into()), "1");
        assert_eq!(list((-12).into()), "1 12 2 6 3 4");
        assert_eq!(list(36.into()), "1 36 2 18 3 12 4 9 6");
        assert_eq!(list(97.into()), "1 97");
        let beyond_64_bits = BigInt::from(i64::MAX) * 3;
        assert!(
            list(beyond_64_bits).starts_with("1 27670116110564327421 3 9223372036854775807 7 ")
        );
    }

    #[test]
    fn divisions_are_exact_and_only_the_given_operators_occur() {
        use Operator::{Divide, Minus, Plus, Times};
        let sets: [&[Operator]; 6] = [
            &[Plus, Minus, Times, Divide],
            &[Divide],
            &[Times, Divide],
            &[Minus, Divide],
            &[Plus, Divide],
            &[Times],
        ];
        for (i, operators) in sets.iter().enumerate() {
            for count in 1..=10 {
                for brackets in [true, false] {
                    for seed in 0..60 {
                        let mut rng = Seed::new(seed).child("set", i as u64).rng();
                        let literals = if seed % 2 == 0 { [-99, 99] } else { [0, 9] };
                        let mut writer = Writer {
                            rng: &mut rng,
                            operators,
                            brackets,
                            negation: true,
                            literals,
                        };
                        let tokens = writer.terms(count);
                        assert_eq!(check_exact(&mut tokens.iter()), value(&tokens));
                        let numbers = tokens
                            .iter()
                            .filter(|t| matches!(t, Token::Number(_)))
                            .count();
                        assert_eq!(numbers as i64, count);
                        assert!(brackets || !tokens.contains(&Token::Close));
                        let known =
                            |t: &Token| !matches!(t, Token::Operator(o) if !operators.contains(o));
                        assert!(tokens.iter().all(known));
                    }
                }
            }
        }
    }
}
