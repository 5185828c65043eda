//! Random premises that can all hold, and a conclusion that follows from them.

use super::config::PropositionalLogicConfig;
use super::truth_table::{Connective, Table, atom_word, whatever_word};
use crate::seed::Rng;

/// Attempts at a premise that contradicts none before giving up.
const MAX_ATTEMPTS: u32 = 100;

/// Share of the questions kept whose first two variables must have the same value.
const LEVEL_KEPT: f64 = 0.15;

/// Variables, premises and a conclusion, with the number of its parts.
pub(super) struct Generated {
    pub(super) variables: Vec<String>,
    pub(super) premises: Vec<String>,
    pub(super) example: String,
    pub(super) parts: usize,
}

/// A question of this difficulty.
///
/// One conclusion is tried for each set of premises, so that none is right much more often than the
/// others; where that takes too long, many.
pub(super) fn question(rng: &mut Rng, c: &PropositionalLogicConfig) -> Generated {
    let mut premises = Premises::default();
    let mut tries = std::iter::repeat_n(1, 400).chain(std::iter::repeat_n(200, 100));
    tries
        .find_map(|tries| attempt(rng, c, tries, &mut premises))
        .unwrap_or_else(|| simplest(c))
}

/// A symbol of a formula, which stands before its operands.
#[derive(Clone, Copy)]
enum Part {
    Atom(usize),
    Not,
    Binary(Connective),
}

/// What a part is chosen from, where it is no atom.
const PARTS: [Part; 5] = [
    Part::Binary(Connective::And),
    Part::Binary(Connective::Or),
    Part::Not,
    Part::Binary(Connective::Implies),
    Part::Binary(Connective::Iff),
];

/// Premises one behind the other, and the rows in which all of them hold. Nothing is written out before it is
/// certain that they are asked.
#[derive(Default)]
struct Premises {
    parts: Vec<Part>,
    ends: Vec<usize>,
    /// The first word of the table of each.
    firsts: Vec<u64>,
    all: Table,
    next: Table,
}

impl Premises {
    /// Starts anew, for so many variables.
    fn clear(&mut self, variables: usize) {
        self.parts.clear();
        self.ends.clear();
        self.firsts.clear();
        self.all.clear();
        self.all.resize(((1 << variables) / 64).max(1), !0);
    }

    /// Adds a random premise; `None` for one that contradicts the others.
    fn push(&mut self, rng: &mut Rng, variables: usize, depth: i64) -> Option<()> {
        let start = self.parts.len();
        let first = formula(rng, variables, depth, &mut self.parts);
        self.next.clear();
        let parts = &self.parts[start..];
        let word = |i| {
            if i == 0 {
                first
            } else {
                word(&mut parts.iter(), i)
            }
        };
        self.next
            .extend(self.all.iter().enumerate().map(|(i, all)| all & word(i)));
        if self.next.iter().all(|&word| word == 0) {
            self.parts.truncate(start);
            return None;
        }
        std::mem::swap(&mut self.all, &mut self.next);
        self.ends.push(self.parts.len());
        self.firsts.push(first);
        Some(())
    }

    /// True where a table, given word by word, has every row in which all premises hold.
    fn entail(&self, table: impl Fn(usize) -> u64) -> bool {
        self.all
            .iter()
            .enumerate()
            .all(|(i, all)| all & !table(i) == 0)
    }

    /// True where it is the table of a premise.
    fn have(&self, table: impl Fn(usize) -> u64) -> bool {
        let same =
            |parts: &[Part]| (1..self.all.len()).all(|i| word(&mut parts.iter(), i) == table(i));
        self.iter()
            .zip(&self.firsts)
            .any(|(parts, first)| *first == table(0) && same(parts))
    }

    /// The parts of each premise.
    fn iter(&self) -> impl Iterator<Item = &[Part]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.parts[*start..*end])
    }
}

fn attempt(
    rng: &mut Rng,
    c: &PropositionalLogicConfig,
    tries: u32,
    premises: &mut Premises,
) -> Option<Generated> {
    let count = rng.int(c.min_vars as i64, c.max_vars as i64) as usize;
    let statements = rng.int(c.min_statements as i64, c.max_statements as i64);
    premises.clear(count);
    for _ in 0..statements {
        (0..MAX_ATTEMPTS).find_map(|_| {
            let depth = rng.int(c.min_complexity.into(), c.max_complexity.into());
            premises.push(rng, count, depth)
        })?;
    }
    let (example, parts) = (0..tries).find_map(|_| conclusion(rng, count, premises))?;
    // Where both are known to be true, as often happens, "P ↔ Q" is right: whoever answers nothing else
    // must not be right too often.
    let level = |(i, all): (usize, &u64)| all & (atom_word(0, i) ^ atom_word(1, i)) == 0;
    if tries == 1
        && count > 1
        && premises.all.iter().enumerate().all(level)
        && rng.uniform() > LEVEL_KEPT
    {
        return None;
    }
    let premises = premises.iter().map(written).collect();
    Some(Generated {
        variables: names(count),
        premises,
        example,
        parts,
    })
}

/// A random formula of two variables, or of one, that follows and is new, with the number of its parts.
///
/// For these few forms that is what [`super::verifier`] says, but decided without a table being made.
fn conclusion(rng: &mut Rng, count: usize, premises: &Premises) -> Option<(String, usize)> {
    use Connective::{And, Iff, Implies, Or};
    let (a, b) = (
        rng.below(count as u64) as usize,
        rng.below(count as u64) as usize,
    );
    let connective = match a == b {
        true => *rng.choose(&[None, Some(And)]),
        false => *rng.choose(&[Some(And), Some(Or), Some(Implies), Some(Iff)]),
    };
    let holds = |i: usize| match connective {
        None => !atom_word(a, i),
        Some(connective) => connective.apply(atom_word(a, i), atom_word(b, i)),
    };
    let has_spare = || {
        [a, b]
            .into_iter()
            .any(|atom| premises.entail(|i| whatever_word(holds, atom, i)))
    };
    let both_known = || {
        connective == Some(And)
            && [a, b]
                .into_iter()
                .all(|x| premises.have(|i| atom_word(x, i)))
    };
    if !premises.entail(holds) || has_spare() || premises.have(holds) || both_known() {
        return None;
    }
    Some(match connective {
        None => (written(&[Part::Not, Part::Atom(a)]), 2),
        Some(Implies) => (
            written(&[Part::Binary(Or), Part::Not, Part::Atom(a), Part::Atom(b)]),
            4,
        ),
        Some(connective) => (
            written(&[Part::Binary(connective), Part::Atom(a), Part::Atom(b)]),
            3,
        ),
    })
}

/// A question for settings at which hardly anything follows.
pub(super) fn simplest(c: &PropositionalLogicConfig) -> Generated {
    let variables = names(c.min_vars.max(2));
    let premises = match c.max_statements {
        1 => vec!["(P ∧ Q)".to_owned()],
        _ => (0..c.min_statements.max(2))
            .map(|i| variables[i % 2].clone())
            .collect(),
    };
    Generated {
        variables,
        premises,
        example: "(P ↔ Q)".to_owned(),
        parts: 3,
    }
}

/// P, Q, R and so on.
fn name(variable: usize) -> char {
    char::from(b'P' + variable as u8)
}

fn names(count: usize) -> Vec<String> {
    (0..count)
        .map(|variable| name(variable).to_string())
        .collect()
}

/// Adds a random formula of a depth, and returns the first word of its truth table.
fn formula(rng: &mut Rng, variables: usize, depth: i64, parts: &mut Vec<Part>) -> u64 {
    if depth <= 1 {
        let atom = rng.below(variables as u64) as usize;
        parts.push(Part::Atom(atom));
        return atom_word(atom, 0);
    }
    let part = *rng.choose(&PARTS);
    parts.push(part);
    let left = formula(rng, variables, depth - 1, parts);
    match part {
        Part::Binary(connective) => {
            connective.apply(left, formula(rng, variables, depth - 1, parts))
        }
        _ => !left,
    }
}

/// One word of the truth table of the formula that starts there.
fn word(parts: &mut std::slice::Iter<Part>, i: usize) -> u64 {
    match parts.next() {
        Some(Part::Atom(atom)) => atom_word(*atom, i),
        Some(Part::Not) => !word(parts, i),
        Some(Part::Binary(connective)) => {
            let left = word(parts, i);
            connective.apply(left, word(parts, i))
        }
        None => 0,
    }
}

/// The text of a formula.
fn written(parts: &[Part]) -> String {
    let mut text = String::with_capacity(4 * parts.len());
    write(&mut parts.iter(), &mut text);
    text
}

fn write(parts: &mut std::slice::Iter<Part>, text: &mut String) {
    match parts.next() {
        Some(Part::Atom(atom)) => text.push(name(*atom)),
        Some(Part::Not) => {
            text.push('¬');
            write(parts, text);
        }
        Some(Part::Binary(connective)) => {
            text.push('(');
            write(parts, text);
            text.extend([' ', connective.symbol(), ' ']);
            write(parts, text);
            text.push(')');
        }
        None => {}
    }
}
