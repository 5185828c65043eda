//! Says whether a formula follows from premises and tells something new.
//!
//! New is what is no tautology, needs all its variables, and is more than some of the premises.

use super::formula::{Atoms, Formula, Node};
use super::truth_table::{Connective, Table, entails, negated, whatever};

/// Words of all truth tables of a question and an answer that are decided; larger ones are left undecided.
const MAX_WORDS: usize = 1 << 20;

/// An answer with more symbols is not read by the exact score.
const MAX_SYMBOLS: usize = 2000;

/// Premises and answer, read, with the rows in which all premises hold.
pub(super) struct Problem {
    premises: Vec<Table>,
    pub(super) all: Table,
    pub(super) answer: Formula,
    pub(super) words: usize,
}

impl Problem {
    /// Reads the premises of an answer; `None` where one of them is no formula, or they are too large to decide.
    pub(super) fn read<'a>(
        premises: &[&'a str],
        answer: Formula,
        atoms: &mut Atoms<'a>,
    ) -> Option<Self> {
        let premises: Vec<Formula> = premises
            .iter()
            .map(|text| Formula::read(text, atoms))
            .collect::<Option<_>>()?;
        let words = atoms.words()?;
        let parts = premises
            .iter()
            .map(|premise| premise.nodes.len())
            .sum::<usize>()
            + answer.nodes.len();
        if parts.saturating_mul(words) > MAX_WORDS {
            return None;
        }
        let premises: Vec<Table> = premises
            .iter()
            .map(|premise| premise.table(words))
            .collect::<Option<_>>()?;
        let mut all = vec![!0; words];
        for table in &premises {
            all.iter_mut().zip(table).for_each(|(a, b)| *a &= b);
        }
        Some(Self {
            premises,
            all,
            answer,
            words,
        })
    }
}

/// The answer with the symbols of the question for those of a keyboard.
pub(super) fn in_symbols(answer: &str) -> String {
    const SYMBOLS: [(&str, &str); 13] = [
        ("<->", "↔"),
        ("<=>", "↔"),
        ("⇔", "↔"),
        ("->", "→"),
        ("=>", "→"),
        ("⇒", "→"),
        ("&&", "∧"),
        ("&", "∧"),
        ("||", "∨"),
        ("|", "∨"),
        ("~", "¬"),
        ("!", "¬"),
        ("∼", "¬"),
    ];
    SYMBOLS
        .iter()
        .fold(answer.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// True where the answer follows from premises that can all hold, and says something new.
///
/// It is not new where it is a tautology, where it would still follow with one of its variables at any
/// value, as "P ∨ Q" does from P, and where all it claims are premises.
pub(super) fn is_new(premises: &[&str], variables: &[&str], answer: &str) -> bool {
    if answer
        .chars()
        .filter(|c| matches!(c, '∧' | '∨' | '¬' | '→' | '↔'))
        .count()
        > MAX_SYMBOLS
    {
        return false;
    }
    let mut atoms = Atoms::default();
    let Some(answer) = Formula::read(answer, &mut atoms) else {
        return false;
    };
    let Some(problem) = Problem::read(premises, answer, &mut atoms) else {
        return false;
    };
    let size = problem.answer.nodes.len();
    if size * problem.words > MAX_WORDS || atoms.names().any(|name| !variables.contains(&name)) {
        return false;
    }
    let tables = problem.answer.tables(problem.words);
    let Some(whole) = tables.last() else {
        return false;
    };
    let consistent = problem.all.iter().any(|&word| word != 0);
    let has_spare = (0..atoms.names().count()).any(|atom| {
        let without = whatever(whole, atom);
        without != *whole && entails(&problem.all, &without)
    });
    let follows = consistent && entails(&problem.all, whole);
    follows && !is_tautology(whole) && !has_spare && !is_echo(&problem, &tables)
}

fn is_tautology(table: &[u64]) -> bool {
    table.iter().all(|&word| word == !0)
}

/// True where every claim of the answer is a premise, or weaker than a claim that is one.
fn is_echo(problem: &Problem, tables: &[Table]) -> bool {
    let claims = claims(problem, tables);
    let (old, other): (Vec<&Table>, Vec<&Table>) = claims
        .iter()
        .filter(|claim| !is_tautology(claim))
        .partition(|claim| problem.premises.contains(claim));
    other
        .iter()
        .all(|claim| old.iter().any(|premise| entails(premise, claim)))
}

/// What the answer claims one by one: it is taken apart where both sides are claimed, down to premises.
fn claims(problem: &Problem, tables: &[Table]) -> Vec<Table> {
    let (mut found, mut open) = (Vec::new(), vec![(tables.len() - 1, false)]);
    while let Some((node, negative)) = open.pop() {
        let claim = if negative {
            negated(&tables[node])
        } else {
            tables[node].clone()
        };
        match (problem.answer.nodes[node], negative) {
            _ if problem.premises.contains(&claim) => found.push(claim),
            (Node::Not(part), _) => open.push((part, !negative)),
            (Node::Binary(Connective::And, left, right), false) => {
                open.extend([(left, false), (right, false)]);
            }
            (Node::Binary(Connective::Or, left, right), true) => {
                open.extend([(left, true), (right, true)]);
            }
            (Node::Binary(Connective::Implies, left, right), true) => {
                open.extend([(left, false), (right, true)]);
            }
            _ => found.push(claim),
        }
    }
    found
}
