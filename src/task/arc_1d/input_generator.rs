//! Random rows for each rule. `None` is an attempt that failed; the caller makes another.

use super::pixel_row::{Row, View, paint};
use super::rule_kind::Kind;
use crate::seed::Rng;

/// A row for a rule that is not mirrored.
pub(super) fn generate(kind: Kind, rng: &mut Rng, n: usize) -> Option<Row> {
    match kind {
        Kind::Move { by, colorful } => {
            let size = between(rng, 1, n.checked_sub(by + 1)?);
            let at = between(rng, 0, n - size - by);
            Some(block(rng, n, at, size, colorful))
        }
        Kind::Wrap { colorful, .. } => {
            let size = between(rng, 1, n);
            let turn = between(rng, 0, n - 1);
            let mut row = block(rng, n, 0, size, colorful);
            row.rotate_right(turn);
            Some(row)
        }
        Kind::Gravity | Kind::GravityCounting | Kind::GravityOneStep | Kind::ChangeToFive => {
            Some(half_full(rng, n, 9))
        }
        Kind::GravityAntigravity | Kind::GravityWeighted => Some(half_full(rng, n, 2)),
        Kind::Touch { limit: None } => block_and_dot(rng, n, 1),
        Kind::Touch { limit: Some(_) } | Kind::ScaleToDot => block_and_dot(rng, n, 2),
        Kind::NoiseRemove => block_and_noise(rng, n),
        Kind::NoiseRemoveInside => noise_inside(rng, n),
        Kind::MoveByOwnSize => {
            let size = between(rng, 1, n / 2);
            let at = between(rng, 0, n - 2 * size);
            Some(block(rng, n, at, size, false))
        }
        Kind::FillBetween | Kind::KeepEnds => two_points(rng, n, kind == Kind::KeepEnds),
        Kind::CopyToDots { own_color } => block_and_dots(rng, n, own_color),
        Kind::RepeatPattern => pattern_twice(rng, n),
        Kind::Reflect { random } => Some(bordered_block(rng, n, random)),
        Kind::ReflectAroundDot => block_around_dot(rng, n),
        Kind::PaintBiggest => blocks_with_a_biggest(rng, n),
        Kind::RecolorBySize => two_blocks(rng, n),
        Kind::RecolorFromPalette => palette_and_blocks(rng, n),
        Kind::ColorLeftHalves => blocks_of_two(rng, n),
        Kind::SortBlocks => blocks_to_sort(rng, n),
        Kind::SortSequence => sequence(rng, n),
        Kind::DuplicateFromSeeds => block_and_seeds(rng, n),
        Kind::FillFromPixel => block_and_pixel(rng, n),
        Kind::FillUntilCollision => marker_and_pixels(rng, n),
        Kind::MarkSizeTwo => small_blocks(rng, n),
    }
}

/// A number, both ends included.
#[inline]
fn between(rng: &mut Rng, low: usize, high: usize) -> usize {
    rng.int(low as i64, high as i64) as usize
}

/// A colour, both ends included.
#[inline]
fn color(rng: &mut Rng, low: u8, high: u8) -> u8 {
    rng.int(low.into(), high.into()) as u8
}

/// A colour from 1 to 9 but for one.
fn color_but(rng: &mut Rng, other: u8) -> u8 {
    let color = color(rng, 1, 8);
    color + u8::from(color >= other)
}

fn block(rng: &mut Rng, n: usize, at: usize, size: usize, colorful: bool) -> Row {
    let mut row = vec![0; n];
    let one = color(rng, 1, 9);
    for cell in &mut row[at..at + size] {
        *cell = if colorful { color(rng, 1, 9) } else { one };
    }
    row
}

fn half_full(rng: &mut Rng, n: usize, colors: u8) -> Row {
    let cell = |_| match rng.below(2) {
        0 => color(rng, 1, colors),
        _ => 0,
    };
    (0..n).map(cell).collect()
}

fn block_and_dot(rng: &mut Rng, n: usize, dot_color: u8) -> Option<Row> {
    let (c, size, dot) = (
        color(rng, dot_color + 1, 9),
        between(rng, 1, n - 1),
        between(rng, 0, n - 1),
    );
    let at = match (dot >= size, dot + size < n) {
        (false, false) => return None,
        (left, right) => {
            if left && (!right || rng.below(2) == 0) {
                between(rng, 0, dot - size)
            } else {
                between(rng, dot + 1, n - size)
            }
        }
    };
    let mut row = vec![0; n];
    row[dot] = dot_color;
    paint(&mut row, at, size, c);
    Some(row)
}

fn block_and_noise(rng: &mut Rng, n: usize) -> Option<Row> {
    let size = between(rng, 2, n);
    let at = between(rng, 0, n - size);
    let mut row = block(rng, n, at, size, false);
    for _ in 0..between(rng, 1, 3) {
        let alone = |cell: &usize| {
            row[cell.saturating_sub(1)..(cell + 2).min(n)]
                .iter()
                .all(|&color| color == 0)
        };
        let free: Vec<usize> = (0..n).filter(alone).collect();
        if free.is_empty() {
            return None;
        }
        let cell = *rng.choose(&free);
        row[cell] = row[at];
    }
    Some(row)
}

fn noise_inside(rng: &mut Rng, n: usize) -> Option<Row> {
    let size = between(rng, 6.min(n), n);
    let at = between(rng, 0, n - size);
    let mut row = block(rng, n, at, size, false);
    let main = row[at];
    let mut cells: Vec<usize> = (at..at + size).collect();
    rng.shuffle(&mut cells);
    for &cell in &cells[..between(rng, 1, (size / 2 - 1).max(1))] {
        row[cell] = color_but(rng, main);
    }
    Some(row)
}

fn two_points(rng: &mut Rng, n: usize, filled: bool) -> Option<Row> {
    let (c, a, b) = (
        color(rng, 1, 9),
        between(rng, 0, n - 1),
        between(rng, 0, n - 1),
    );
    let mut row = vec![0; n];
    if filled {
        paint(&mut row, a.min(b), a.abs_diff(b) + 1, c);
    }
    (row[a], row[b]) = (c, c);
    (a != b).then_some(row)
}

fn block_and_dots(rng: &mut Rng, n: usize, own_color: bool) -> Option<Row> {
    let size = *rng.choose(&[3, 5]);
    if size >= n {
        return None;
    }
    let mut row = block(rng, n, 0, size, false);
    let (mut at, mut dots) = (size + size / 2 + 1, 0);
    while at + size <= n {
        if rng.below(2) == 0 {
            row[at] = if own_color { color(rng, 1, 9) } else { row[0] };
            dots += 1;
            at += size;
        }
        at += 1;
    }
    (dots > 0).then_some(row)
}

fn pattern_twice(rng: &mut Rng, n: usize) -> Option<Row> {
    let size = between(rng, 2, 5);
    let pattern: Row = (0..size).map(|_| color(rng, 1, 9)).collect();
    let mut row = pattern.repeat(2);
    let room = row.len() < n;
    row.resize(n, 0);
    room.then_some(row)
}

fn bordered_block(rng: &mut Rng, n: usize, random: bool) -> Row {
    let size = between(rng, 2, n);
    let at = between(rng, 0, n - size);
    let border = color(rng, 1, 9);
    let body = color_but(rng, border);
    let mut row = vec![0; n];
    for cell in &mut row[at..at + size] {
        *cell = if random { color_but(rng, border) } else { body };
    }
    row[if rng.below(2) == 0 { at } else { at + size - 1 }] = border;
    row
}

fn block_around_dot(rng: &mut Rng, n: usize) -> Option<Row> {
    let (dot, size) = (between(rng, 0, n - 1), between(rng, 1, n - 1));
    let at = between(rng, 0, n - size);
    let c = color(rng, 3, 9);
    let apart = dot < at || dot >= at + size;
    let inside = 2 * dot + 1 >= at + size && 2 * dot < n + at;
    let mut row = vec![0; n];
    paint(&mut row, at, size, c);
    row[dot] = 2;
    (apart && inside).then_some(row)
}

fn blocks_with_a_biggest(rng: &mut Rng, n: usize) -> Option<Row> {
    let c = color(rng, 2, 9);
    let mut row = vec![0; n];
    let mut at = 0;
    while at < n {
        let room = n - at;
        if rng.uniform() < 0.4 && room >= 2 {
            let size = between(rng, 2, room.min(6));
            paint(&mut row, at, size, c);
            at += size;
        }
        at += 1;
    }
    let view = View::new(row);
    let longest = view.runs().iter().map(|run| run.length).max()?;
    let ties: Vec<_> = view
        .runs()
        .iter()
        .filter(|run| run.length == longest)
        .collect();
    let mut row = view.row.clone();
    // In a long row several share the greatest length nearly always: all but one lose a cell.
    let keep = between(rng, 0, ties.len() - 1);
    for (_, run) in ties.iter().enumerate().filter(|(i, _)| *i != keep) {
        row[run.end() - 1] = 0;
    }
    (view.runs().len() > 1 && (longest > 2 || ties.len() == 1)).then_some(row)
}

fn two_blocks(rng: &mut Rng, n: usize) -> Option<Row> {
    let a = between(rng, 2, 8);
    let b = between(rng, 2, 7);
    let b = b + usize::from(b >= a);
    if a + b + 1 > n {
        return None;
    }
    let first = between(rng, 0, n - a - b - 1);
    let second = between(rng, first + a + 1, n - b);
    let mut row = vec![0; n];
    paint(&mut row, first, a, 3);
    paint(&mut row, second, b, 3);
    Some(row)
}

fn palette_and_blocks(rng: &mut Rng, n: usize) -> Option<Row> {
    let size = between(rng, 2, 4);
    let (mut blocks, mut at) = (Vec::new(), 0);
    while at + size <= n {
        if rng.uniform() < 0.4 {
            blocks.push(at);
            at += size;
        }
        at += 1;
    }
    // There are nine colours for them.
    blocks.truncate(9);
    while blocks
        .last()
        .is_some_and(|last| last + size + blocks.len() + 1 >= n)
    {
        blocks.pop();
    }
    let mut colors: Vec<u8> = (1..=9).collect();
    rng.shuffle(&mut colors);
    let mut row = vec![0; n];
    row[..blocks.len()].copy_from_slice(&colors[..blocks.len()]);
    for at in &blocks {
        paint(&mut row, at + blocks.len() + 1, size, 5);
    }
    (!blocks.is_empty()).then_some(row)
}

fn blocks_of_two(rng: &mut Rng, n: usize) -> Option<Row> {
    let mut row = vec![0; n];
    let (mut at, mut blocks) = (0, 0);
    while at < n {
        if rng.uniform() < 0.4 {
            let size = between(rng, 2, n / 2);
            if at + size > n {
                break;
            }
            paint(&mut row, at, size, 2);
            blocks += 1;
            at += size;
        }
        at += 1;
    }
    (blocks > 1).then_some(row)
}

fn blocks_to_sort(rng: &mut Rng, n: usize) -> Option<Row> {
    let c = color(rng, 1, 9);
    let mut row = vec![0; n];
    let (mut at, mut blocks) = (0, 0);
    while at < n {
        let room = n - at;
        if rng.uniform() < 0.4 && room >= 2 {
            let size = between(rng, 1, room.min(6));
            paint(&mut row, at, size, c);
            blocks += 1;
            at += size + between(rng, 1, 4);
        } else {
            at += 1;
        }
    }
    (blocks > 1).then_some(row)
}

fn sequence(rng: &mut Rng, n: usize) -> Option<Row> {
    let most = (1..)
        .take_while(|m| m * (m + 3) / 2 <= n)
        .last()
        .filter(|&most| most > 1)?;
    let c = color(rng, 1, 9);
    let mut sizes: Vec<usize> = (1..=most).collect();
    rng.shuffle(&mut sizes);
    let mut row = vec![0; n];
    let mut at = 0;
    for size in sizes {
        paint(&mut row, at, size, c);
        at += size + 1;
    }
    Some(row)
}

fn block_and_seeds(rng: &mut Rng, n: usize) -> Option<Row> {
    let size = between(rng, 2, 4);
    if n <= size + 3 {
        return None;
    }
    let at = between(rng, 2, n - size - 2);
    let (left, right) = *rng.choose(&[(true, true), (true, false), (false, true)]);
    let mut row = vec![0; n];
    paint(&mut row, at, size, 1);
    if left {
        row[at - 2] = color(rng, 1, 9);
    }
    if right {
        row[at + size + 1] = color(rng, 1, 9);
    }
    Some(row)
}

fn block_and_pixel(rng: &mut Rng, n: usize) -> Option<Row> {
    let size = between(rng, 3, n.checked_sub(5)?);
    let at = between(rng, 2, n - size - 2);
    let mut row = block(rng, n, at, size, false);
    row[if rng.below(2) == 0 { at - 1 } else { at + size }] = color_but(rng, row[at]);
    Some(row)
}

fn marker_and_pixels(rng: &mut Rng, n: usize) -> Option<Row> {
    let left = rng.below(2) == 0;
    let mut cells: Vec<usize> = if left {
        (1..n).collect()
    } else {
        (0..n - 1).collect()
    };
    rng.shuffle(&mut cells);
    let mut row = vec![0; n];
    row[if left { 0 } else { n - 1 }] = 5;
    for &cell in &cells[..between(rng, 2, 4)] {
        row[cell] = color_but(rng, 5);
    }
    Some(row)
}

fn small_blocks(rng: &mut Rng, n: usize) -> Option<Row> {
    let (mut sizes, mut at) = (vec![2], 4);
    while at < n {
        if rng.uniform() < 0.4 {
            let size = between(rng, 1, 3);
            if at + size <= n {
                sizes.push(size);
                at += size + 2;
            }
        } else {
            sizes.push(0);
            at += 1;
        }
    }
    rng.shuffle(&mut sizes);
    let (mut row, mut at) = (vec![0; n], 0);
    for size in sizes {
        let c = color_but(rng, 3);
        row.get_mut(at..at + size)?.fill(c);
        at += if size == 0 { 1 } else { size + 2 };
    }
    Some(row)
}
