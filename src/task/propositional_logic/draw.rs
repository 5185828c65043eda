//! Draws premises that can all hold, and a conclusion that follows from them.

use super::PropositionalLogicConfig;
use super::judge::is_new;
use super::logic::{Connective, Table, columns, join, negated};
use crate::seed::Rng;

/// Draws of a premise that contradicts none before giving up.
const MOST_DRAWS: u32 = 100;

/// Share of the questions kept whose first two variables must have the same value.
const LEVEL_KEPT: f64 = 0.15;

/// Variables, premises and a conclusion.
pub(super) type Drawn = (Vec<String>, Vec<String>, String);

/// A question of this difficulty.
///
/// One conclusion is tried for each draw of premises, so that none is right much more often than the
/// others; where that takes too long, many.
pub(super) fn question(rng: &mut Rng, c: &PropositionalLogicConfig) -> Drawn {
    let tries = std::iter::repeat_n(1, 400).chain(std::iter::repeat_n(200, 100));
    tries.into_iter().find_map(|tries| draw(rng, c, tries)).unwrap_or_else(|| simplest(c))
}

fn draw(rng: &mut Rng, c: &PropositionalLogicConfig, tries: u32) -> Option<Drawn> {
    let count = rng.int(c.min_vars as i64, c.max_vars as i64) as usize;
    let statements = rng.int(c.min_statements as i64, c.max_statements as i64) as usize;
    let variables = names(count);
    let columns = columns(count);
    let mut all: Table = vec![!0; columns[0].len()];
    let mut premises: Vec<String> = Vec::with_capacity(statements);
    while premises.len() < statements {
        let (premise, together) = (0..MOST_DRAWS).find_map(|_| {
            let depth = rng.int(c.min_complexity.into(), c.max_complexity.into());
            let mut premise = String::new();
            let mut table = formula(rng, &variables, &columns, depth, &mut premise);
            table.iter_mut().zip(&all).for_each(|(a, b)| *a &= b);
            table.iter().any(|&word| word != 0).then_some((premise, table))
        })?;
        premises.push(premise);
        all = together;
    }
    let example = (0..tries).find_map(|_| conclusion(rng, &variables, &columns, &premises, &all))?;
    // Where both are known to be true, as often happens, "P ↔ Q" is right: whoever answers nothing else
    // must not be right too often.
    let level = |atom: usize| all.iter().zip(&columns[atom]).map(|(all, column)| all & column);
    if tries == 1 && count > 1 && level(0).eq(level(1)) && rng.uniform() > LEVEL_KEPT {
        return None;
    }
    Some((variables, premises, example))
}

/// A random formula of two variables, or of one, that follows and is new.
fn conclusion(
    rng: &mut Rng,
    variables: &[String],
    columns: &[Table],
    premises: &[String],
    all: &[u64],
) -> Option<String> {
    let count = variables.len() as u64;
    let (a, b) = (rng.below(count) as usize, rng.below(count) as usize);
    let operator = *rng.choose(if a == b { &['¬', '∧'][..] } else { &['∧', '∨', '→', '↔'] });
    let holds = |(&a, &b): (&u64, &u64)| match operator {
        '¬' => !a,
        '∧' => a & b,
        '∨' => a | b,
        '→' => !a | b,
        _ => !(a ^ b),
    };
    let mut rows = columns[a].iter().zip(&columns[b]).map(holds).zip(all);
    if rows.any(|(row, all)| all & !row != 0) {
        return None;
    }
    let [premises, names] = [premises, variables].map(|texts| texts.iter().map(String::as_str).collect::<Vec<_>>());
    let (a, b) = (names[a], names[b]);
    let text = match operator {
        '¬' => format!("¬{a}"),
        '→' => format!("(¬{a} ∨ {b})"),
        _ => format!("({a} {operator} {b})"),
    };
    is_new(&premises, &names, &text).then_some(text)
}

/// A question for settings at which hardly anything follows.
pub(super) fn simplest(c: &PropositionalLogicConfig) -> Drawn {
    let variables = names(c.min_vars.max(2));
    let premises = match c.max_statements {
        1 => vec!["(P ∧ Q)".to_owned()],
        _ => (0..c.min_statements.max(2)).map(|i| variables[i % 2].clone()).collect(),
    };
    (variables, premises, "(P ↔ Q)".to_owned())
}

/// P, Q, R and so on.
fn names(count: usize) -> Vec<String> {
    ('P'..='Z').take(count).map(String::from).collect()
}

/// Writes a random formula of a depth, and gives its truth table.
fn formula(rng: &mut Rng, variables: &[String], columns: &[Table], depth: i64, text: &mut String) -> Table {
    if depth <= 1 {
        let variable = rng.below(variables.len() as u64) as usize;
        text.push_str(&variables[variable]);
        return columns[variable].clone();
    }
    let (symbol, connective) = *rng.choose(&[
        ('∧', Some(Connective::And)),
        ('∨', Some(Connective::Or)),
        ('¬', None),
        ('→', Some(Connective::Implies)),
        ('↔', Some(Connective::Iff)),
    ]);
    let Some(connective) = connective else {
        text.push(symbol);
        return negated(&formula(rng, variables, columns, depth - 1, text));
    };
    text.push('(');
    let mut table = formula(rng, variables, columns, depth - 1, text);
    text.extend([' ', symbol, ' ']);
    let right = formula(rng, variables, columns, depth - 1, text);
    text.push(')');
    join(&mut table, &right, connective);
    table
}
