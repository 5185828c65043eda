//! Formulas of propositional logic: read as reasoning-gym reads them, decided by truth tables.
//!
//! Reading takes linear time and no recursion. `↔`, `→`, `∨`, `∧` bind in this order, the loosest first,
//! each to the left; whatever is no formula is an atom of that name.

use super::truth_table::{Connective, Table, fill_atom, join, negated};
use crate::task::python_text::strip;
use std::collections::HashMap;

/// More atoms than any question has.
const MAX_ATOMS: usize = 20;

/// In place of the other bracket of a pair.
const NO_PAIR: usize = usize::MAX;

/// A part of a formula; its own parts are named by their position.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    Atom(usize),
    Not(usize),
    Binary(Connective, usize, usize),
}

/// A formula: every part stands behind its own parts, the whole comes last.
#[derive(Debug)]
pub(super) struct Formula {
    pub(super) nodes: Vec<Node>,
}

/// The names of atoms, numbered as they come.
#[derive(Default)]
pub(super) struct Atoms<'a> {
    numbers: HashMap<&'a str, usize>,
}

impl<'a> Atoms<'a> {
    fn number(&mut self, name: &'a str) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(name).or_insert(next)
    }

    /// All names.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.numbers.keys().copied()
    }

    /// Words of a truth table over all atoms; `None` where there are too many.
    pub(super) fn words(&self) -> Option<usize> {
        let atoms = self.numbers.len();
        (atoms <= MAX_ATOMS)
            .then(|| (1 << atoms) / 64)
            .map(|words: usize| words.max(1))
    }
}

/// What is left to do while a formula is read.
enum Work {
    /// A text that connectives may split.
    Read(usize, usize),
    /// A text that none splits.
    Leaf(usize, usize),
    Negate,
    Join(Connective),
}

impl Formula {
    /// Reads a formula; `None` where an operand is missing.
    pub(super) fn read<'a>(text: &'a str, atoms: &mut Atoms<'a>) -> Option<Self> {
        let pairs = bracket_pairs(text);
        let mut work = vec![Work::Read(0, text.len())];
        let (mut nodes, mut operands) = (Vec::new(), Vec::new());
        while let Some(item) = work.pop() {
            let node = match item {
                Work::Read(start, end) => {
                    work.extend(split(text, start, end, &pairs).into_iter().rev());
                    continue;
                }
                Work::Leaf(start, end) => match Leaf::of(text, start, end, &pairs)? {
                    Leaf::Atom(name) => Node::Atom(atoms.number(name)),
                    Leaf::Negated(start, end) => {
                        work.extend([Work::Negate, Work::Leaf(start, end)]);
                        continue;
                    }
                    Leaf::Bracket(start, end) => {
                        work.push(Work::Read(start, end));
                        continue;
                    }
                },
                Work::Negate => Node::Not(operands.pop()?),
                Work::Join(connective) => {
                    let right = operands.pop()?;
                    Node::Binary(connective, operands.pop()?, right)
                }
            };
            operands.push(nodes.len());
            nodes.push(node);
        }
        Some(Self { nodes })
    }

    /// The truth table of the whole; `None` where there are no parts.
    pub(super) fn table(&self, words: usize) -> Option<Table> {
        let mut stack: Vec<Table> = Vec::new();
        let mut spare: Vec<Table> = Vec::new();
        for node in &self.nodes {
            match node {
                Node::Atom(atom) => {
                    let mut table = spare.pop().unwrap_or_else(|| vec![0; words]);
                    fill_atom(&mut table, *atom);
                    stack.push(table);
                }
                Node::Not(_) => stack.last_mut()?.iter_mut().for_each(|word| *word = !*word),
                Node::Binary(connective, _, _) => {
                    let right = stack.pop()?;
                    join(stack.last_mut()?, &right, *connective);
                    spare.push(right);
                }
            }
        }
        stack.pop()
    }

    /// The truth tables of all parts.
    pub(super) fn tables(&self, words: usize) -> Vec<Table> {
        let mut tables: Vec<Table> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let mut table = vec![0; words];
            match node {
                Node::Atom(atom) => fill_atom(&mut table, *atom),
                Node::Not(part) => table = negated(&tables[*part]),
                Node::Binary(connective, left, right) => {
                    table.copy_from_slice(&tables[*left]);
                    join(&mut table, &tables[*right], *connective);
                }
            }
            tables.push(table);
        }
        tables
    }
}

/// What stands where no connective splits the text any more.
enum Leaf<'a> {
    Atom(&'a str),
    Negated(usize, usize),
    Bracket(usize, usize),
}

impl<'a> Leaf<'a> {
    fn of(text: &'a str, start: usize, end: usize, pairs: &[usize]) -> Option<Self> {
        let name = strip(&text[start..end]);
        let start = name.as_ptr() as usize - text.as_ptr() as usize;
        let end = start + name.len();
        if name.is_empty() {
            None
        } else if name.starts_with('(') && pairs[start] == end - 1 {
            Some(Self::Bracket(start + 1, end - 1))
        } else if name.starts_with('¬') {
            Some(Self::Negated(start + '¬'.len_utf8(), end))
        } else {
            Some(Self::Atom(name))
        }
    }
}

/// For every bracket the place of the other one of its pair; no place at all where there is none.
fn bracket_pairs(text: &str) -> Vec<usize> {
    let mut pairs = vec![NO_PAIR; text.len()];
    let mut open = Vec::new();
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open.push(i),
            b')' => {
                if let Some(start) = open.pop() {
                    (pairs[start], pairs[i]) = (i, start);
                }
            }
            _ => {}
        }
    }
    pairs
}

/// Splits at the connectives outside of brackets: parts to read and joins, as a stack machine wants them.
///
/// Brackets are counted from the right, which matters where some have no pair.
fn split(text: &str, start: usize, end: usize, pairs: &[usize]) -> Vec<Work> {
    let mut cuts = Vec::new();
    let (mut depth, mut at) = (0_i64, end);
    while let Some(c) = text[start..at].chars().next_back() {
        at -= c.len_utf8();
        match (c, Connective::read(c)) {
            (')', _) if depth == 0 && pairs[at] != NO_PAIR => at = pairs[at],
            (')', _) => depth += 1,
            ('(', _) => depth -= 1,
            (_, Some(connective)) if depth == 0 => cuts.push((at, at + c.len_utf8(), connective)),
            _ => {}
        }
    }
    let mut level = Vec::new();
    let mut waiting: Vec<Connective> = Vec::new();
    let mut part = start;
    for (at, after, connective) in cuts.into_iter().rev() {
        level.push(Work::Leaf(part, at));
        while let Some(tighter) = waiting.pop_if(|earlier| *earlier >= connective) {
            level.push(Work::Join(tighter));
        }
        waiting.push(connective);
        part = after;
    }
    level.push(Work::Leaf(part, end));
    level.extend(waiting.into_iter().rev().map(Work::Join));
    level
}

#[cfg(test)]
mod tests {
    use super::super::truth_table::{entails, whatever};
    use super::*;

    fn table(text: &str) -> Option<Table> {
        let mut atoms = Atoms::default();
        Formula::read("P ∧ Q ∧ R", &mut atoms).unwrap();
        let formula = Formula::read(text, &mut atoms)?;
        formula.table(atoms.words()?)
    }

    fn same(a: &str, b: &str) {
        assert_eq!(table(a).unwrap(), table(b).unwrap(), "{a} and {b}");
    }

    #[test]
    fn connectives_bind_loosest_first_and_to_the_left() {
        same("P ∨ Q ∧ R", "P ∨ (Q ∧ R)");
        same("P → Q → R", "(P → Q) → R");
        same("P ↔ Q → R ∨ P", "P ↔ (Q → (R ∨ P))");
        same("¬P ∧ Q", "(¬P) ∧ Q");
        same("¬(P ∧ Q)", "¬P ∨ ¬Q");
        same(" ( ( P ) ) ", "P");
        same("P ↔ Q", "(P → Q) ∧ (Q → P)");
        assert!(table("P ∨ ¬P").unwrap().iter().all(|&word| word == !0));
        assert!(!entails(&table("P ∨ Q").unwrap(), &table("P").unwrap()));
        assert!(entails(&table("P ∧ Q").unwrap(), &table("P").unwrap()));
    }

    #[test]
    fn missing_operands_are_found_and_all_else_is_an_atom() {
        for text in [
            "",
            " ",
            "P ∧",
            "∨ P",
            "¬",
            "()",
            "P ∧ () ",
            "(¬)",
            "P ∧ ∧ Q",
        ] {
            assert!(table(text).is_none(), "{text:?}");
        }
        for text in [
            "(P",
            "P)",
            "P Q",
            "P -> Q",
            ")(",
            "(P)(Q)",
            "P ¬Q",
            "S ↔ R)",
            "P ∧ (Q",
            "P) ∧ (Q",
            "∨)",
        ] {
            let mut atoms = Atoms::default();
            let formula = Formula::read(text, &mut atoms).unwrap();
            assert!(matches!(formula.nodes[..], [Node::Atom(0)]), "{text:?}");
        }
    }

    #[test]
    fn brackets_without_a_pair_count_from_the_right() {
        for (text, parts) in [("(P ∧ Q", 3), (") ∧ P", 3), ("R) ∧ S (∧ Q", 3), ("¬P)", 2)]
        {
            let formula = Formula::read(text, &mut Atoms::default()).unwrap();
            assert_eq!(formula.nodes.len(), parts, "{text:?}");
        }
        for text in ["(∨", "P ∧ (∨"] {
            assert!(table(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn rows_whatever_an_atom_is() {
        let column = |atom| {
            let mut table = vec![0; 4];
            fill_atom(&mut table, atom);
            table
        };
        let atoms: Vec<Table> = (0..8).map(column).collect();
        for (a, b) in [(0, 1), (2, 5), (3, 7), (6, 7), (7, 0)] {
            let mut either = atoms[a].clone();
            join(&mut either, &atoms[b], Connective::Or);
            assert_eq!(whatever(&either, a), atoms[b]);
            assert_eq!(whatever(&either, b), atoms[a]);
            assert_eq!(whatever(&either, 4), either);
        }
    }

    #[test]
    fn all_tables_end_with_the_whole() {
        let mut atoms = Atoms::default();
        let formula = Formula::read("¬(a ∧ b) ↔ (c → d) ∨ (e ∧ f ∧ g ∧ h)", &mut atoms).unwrap();
        let words = atoms.words().unwrap();
        assert_eq!(words, 4);
        assert_eq!(formula.tables(words).last(), formula.table(words).as_ref());
    }

    #[test]
    fn deep_and_long_texts_take_no_time() {
        for text in [
            "(".repeat(100_000),
            "¬".repeat(50_000) + "P",
            "(P ∧ ".repeat(20_000) + "P" + &")".repeat(20_000),
        ] {
            table(&text);
        }
        assert!(table(&"P ∧ ".repeat(30_000)).is_none());
    }
}
