//! Writes integer expressions at random, and evaluates them.
//!
//! The shapes are those of reasoning-gym's `basic_arithmetic`, with one difference: a divisor divides
//! the very factor that it stands behind, so that every division is exact.

use crate::seed::Rng;
use num_bigint::{BigInt, BigUint};
use serde::{Deserialize, Serialize};

/// Divisors above this are found only as the counterpart of a smaller one, which bounds the time.
const TRIAL_DIVISORS: u32 = 1000;

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

impl Token {
    pub(super) fn text(&self) -> String {
        let sign = match self {
            Self::Number(number) => return number.to_string(),
            Self::Operator(Operator::Plus) => "+",
            Self::Operator(Operator::Minus) => "-",
            Self::Operator(Operator::Times) => "*",
            Self::Operator(Operator::Divide) => "/",
            Self::Open { negated: true } => "-(",
            Self::Open { negated: false } => "(",
            Self::Close => ")",
        };
        sign.to_owned()
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
            Some(Token::Operator(Operator::Plus)) => total += std::mem::replace(&mut term, factor(tokens)),
            Some(Token::Operator(Operator::Minus)) => total += std::mem::replace(&mut term, -factor(tokens)),
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
    /// The numbers that are drawn, both ends included; divisors and corrections may lie outside.
    pub(super) literals: [i64; 2],
}

impl Writer<'_> {
    /// An expression of so many numbers.
    pub(super) fn terms(&mut self, count: i64) -> Vec<Token> {
        let only_division = self.joining().is_empty();
        let left = if only_division { 1 } else { self.rng.int(1, count) };
        let mut tokens = self.left_part(left);
        if left < count {
            match *self.rng.choose(self.operators) {
                Operator::Divide if only_division => self.division_chain(&mut tokens, count - left),
                Operator::Divide => self.division(&mut tokens, count - left),
                operator => {
                    tokens.push(Token::Operator(operator));
                    tokens.extend(self.terms(count - left));
                }
            }
        }
        tokens
    }

    /// The operators other than division.
    fn joining(&self) -> Vec<Operator> {
        self.operators.iter().copied().filter(|operator| *operator != Operator::Divide).collect()
    }

    /// A bracket, or numbers without a division.
    fn left_part(&mut self, count: i64) -> Vec<Token> {
        if self.brackets && count > 1 && self.rng.uniform() > 0.5 {
            let negated = self.rng.uniform() > 0.5 && self.negation;
            let mut tokens = vec![Token::Open { negated }];
            tokens.extend(self.terms(count));
            tokens.push(Token::Close);
            return tokens;
        }
        let mut tokens = vec![self.literal()];
        for _ in 1..count {
            let operator = *self.rng.choose(&self.joining());
            tokens.push(Token::Operator(operator));
            tokens.push(self.literal());
        }
        tokens
    }

    fn literal(&mut self) -> Token {
        let [low, high] = self.literals;
        Token::Number(self.rng.int(low, high).into())
    }

    /// Divides the last factor of `tokens` by something of the first of `count` more numbers.
    fn division(&mut self, tokens: &mut Vec<Token>, count: i64) {
        let dividend = match tokens.last() {
            Some(Token::Number(number)) => number.clone(),
            _ => value(tokens), // a left part that ends with a bracket is one bracket
        };
        tokens.push(Token::Operator(Operator::Divide));
        if count == 1 {
            return tokens.push(self.divisor(&dividend));
        }
        let mut right = self.terms(count - 1);
        let additive = [Operator::Plus, Operator::Minus].into_iter().find(|o| self.operators.contains(o));
        match additive {
            Some(operator) if is_one_bracket(&right) => self.correct(&mut right, &dividend, operator),
            _ => {
                let joining = additive.unwrap_or(Operator::Times);
                tokens.extend([self.divisor(&dividend), Token::Operator(joining)]);
            }
        }
        tokens.extend(right);
    }

    /// `a / b / c ..`, each number a divisor of what is left.
    fn division_chain(&mut self, tokens: &mut Vec<Token>, count: i64) {
        for _ in 0..count {
            let divisor = self.divisor(&value(tokens));
            tokens.extend([Token::Operator(Operator::Divide), divisor]);
        }
    }

    /// A divisor of the dividend, or any number where that is 0.
    fn divisor(&mut self, dividend: &BigInt) -> Token {
        if *dividend == BigInt::ZERO {
            return Token::Number(self.rng.int(1, self.literals[1]).into());
        }
        let divisors = divisors(dividend.magnitude());
        Token::Number(self.rng.choose(&divisors).clone().into())
    }

    /// Adds a last number to a bracket, by plus or minus, that makes its value a divisor of the dividend.
    fn correct(&mut self, bracket: &mut Vec<Token>, dividend: &BigInt, operator: Operator) {
        let value = value(bracket);
        let wanted = if value == BigInt::ZERO {
            BigInt::from(1)
        } else {
            let common = greatest_common_divisor(dividend.magnitude(), value.magnitude());
            self.rng.choose(&divisors(&common)).clone().into()
        };
        let negated = bracket[0] == Token::Open { negated: true };
        let missing = if negated { value - wanted } else { wanted - value };
        let last = if operator == Operator::Minus { -missing } else { missing };
        bracket.pop();
        bracket.extend([Token::Operator(operator), Token::Number(last), Token::Close]);
    }
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

/// Divisors of a number that is not 0: the small ones up to the square root, each with its counterpart.
fn divisors(number: &BigUint) -> Vec<BigUint> {
    let mut found = Vec::new();
    for small in 1..=TRIAL_DIVISORS {
        let square = BigUint::from(small) * small;
        if square > *number {
            break;
        }
        if number % small == BigUint::ZERO {
            found.push(BigUint::from(small));
            if square != *number {
                found.push(number / small);
            }
        }
    }
    found
}

fn greatest_common_divisor(a: &BigUint, b: &BigUint) -> BigUint {
    let (mut a, mut b) = (a.clone(), b.clone());
    while b != BigUint::ZERO {
        (a, b) = (b.clone(), a % b);
    }
    a
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
                Some(Token::Open { negated }) => check_exact(tokens) * if *negated { -1 } else { 1 },
                other => panic!("{other:?} is no factor"),
            }
        }
        let mut terms = vec![factor(tokens)];
        while let Some(token) = tokens.next() {
            let Token::Operator(operator) = token else { break };
            let right = factor(tokens);
            match operator {
                Operator::Plus => terms.push(right),
                Operator::Minus => terms.push(-right),
                Operator::Times => *terms.last_mut().unwrap() *= right,
                Operator::Divide => {
                    let left = terms.pop().unwrap();
                    assert_ne!(right, BigInt::ZERO);
                    assert_eq!(&left % &right, BigInt::ZERO, "{left} / {right}");
                    terms.push(left / right);
                }
            }
        }
        terms.into_iter().sum()
    }

    #[test]
    fn divisions_are_exact_and_only_the_given_operators_occur() {
        use Operator::{Divide, Minus, Plus, Times};
        let sets: [&[Operator]; 6] =
            [&[Plus, Minus, Times, Divide], &[Divide], &[Times, Divide], &[Minus, Divide], &[Plus, Divide], &[Times]];
        for (i, operators) in sets.iter().enumerate() {
            for count in 1..=10 {
                for brackets in [true, false] {
                    for seed in 0..60 {
                        let mut rng = Seed::new(seed).child("set", i as u64).rng();
                        let literals = if seed % 2 == 0 { [-99, 99] } else { [0, 9] };
                        let mut writer = Writer { rng: &mut rng, operators, brackets, negation: true, literals };
                        let tokens = writer.terms(count);
                        assert_eq!(check_exact(&mut tokens.iter()), value(&tokens));
                        let numbers = tokens.iter().filter(|t| matches!(t, Token::Number(_))).count();
                        assert_eq!(numbers as i64, count);
                        assert!(brackets || !tokens.contains(&Token::Close));
                        let known = |t: &Token| !matches!(t, Token::Operator(o) if !operators.contains(o));
                        assert!(tokens.iter().all(known));
                    }
                }
            }
        }
    }

    #[test]
    fn divisors_come_in_pairs() {
        let list = |n: u32| divisors(&n.into()).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(list(1), "1");
        assert_eq!(list(12), "1 12 2 6 3 4");
        assert_eq!(list(36), "1 36 2 18 3 12 4 9 6");
        assert_eq!(list(97), "1 97");
    }
}
