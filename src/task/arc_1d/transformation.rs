//! What each rule makes of a row, or that it says nothing about it.

use super::pixel_row::{Row, Run, View, paint};
use super::rule_kind::Kind;

/// The output of a rule that is not mirrored.
pub(super) fn output(kind: Kind, view: &View) -> Option<Row> {
    if view.is_empty() {
        return None;
    }
    match kind {
        Kind::Move { by, .. } => shifted(view, by),
        Kind::Wrap { by, .. } => Some(turned(&view.row, by)),
        Kind::Gravity => Some(packed(&view.row, |color| color)),
        Kind::GravityCounting => Some(packed(&view.row, |_| 1)),
        Kind::GravityAntigravity => two_colors(view, true),
        Kind::GravityWeighted => two_colors(view, false),
        Kind::GravityOneStep => Some(one_step(&view.row)),
        Kind::Touch { limit } => touch(view, limit),
        Kind::ScaleToDot => scale_to_dot(view),
        Kind::NoiseRemove => noise_remove(view),
        Kind::NoiseRemoveInside => noise_remove_inside(view),
        Kind::MoveByOwnSize => shifted(view, view.block().map(|(start, end)| end - start)?),
        Kind::FillBetween => fill_between(view),
        Kind::KeepEnds => keep_ends(view),
        Kind::CopyToDots { own_color } => copy_to_dots(view, own_color),
        Kind::RepeatPattern => repeat_pattern(view),
        Kind::Reflect { .. } => reflect(view),
        Kind::ReflectAroundDot => reflect_around_dot(view),
        Kind::PaintBiggest => paint_biggest(view),
        Kind::RecolorBySize => recolor_by_size(view),
        Kind::ChangeToFive => Some(
            view.row
                .iter()
                .map(|&color| if color == 0 { 0 } else { 5 })
                .collect(),
        ),
        Kind::RecolorFromPalette => recolor_from_palette(view),
        Kind::ColorLeftHalves => color_left_halves(view),
        Kind::SortBlocks | Kind::SortSequence => sort_blocks(view, kind == Kind::SortSequence),
        Kind::DuplicateFromSeeds => duplicate_from_seeds(view),
        Kind::FillFromPixel => fill_from_pixel(view),
        Kind::FillUntilCollision => fill_until_collision(view),
        Kind::MarkSizeTwo => mark_size_two(view),
    }
}

fn turned(row: &[u8], by: usize) -> Row {
    let (first, last) = row.split_at(row.len() - by);
    [last, first].concat()
}

/// The one block moved to the right, where there is room.
fn shifted(view: &View, by: usize) -> Option<Row> {
    let (_, end) = view.block()?;
    (end + by <= view.len()).then(|| turned(&view.row, by))
}

/// The cells that are not empty, in order, from the left end on.
fn packed(row: &[u8], color: impl Fn(u8) -> u8) -> Row {
    let mut out = vec![0; row.len()];
    let filled = row.iter().filter(|cell| **cell != 0);
    out.iter_mut()
        .zip(filled)
        .for_each(|(to, cell)| *to = color(*cell));
    out
}

/// All 2s at the left end; the 1s at the right end, or right behind them.
fn two_colors(view: &View, apart: bool) -> Option<Row> {
    if view.row.iter().any(|&color| color > 2) {
        return None;
    }
    let count = |color| view.row.iter().filter(|cell| **cell == color).count();
    let (ones, twos) = (count(1), count(2));
    let mut out = view.blank();
    paint(&mut out, 0, twos, 2);
    paint(
        &mut out,
        if apart { view.len() - ones } else { twos },
        ones,
        1,
    );
    Some(out)
}

/// Every cell one step to the left but those that have no empty cell before them.
fn one_step(row: &[u8]) -> Row {
    let mut out = row.to_vec();
    if let Some(gap) = row.iter().position(|&color| color == 0) {
        out.remove(gap);
        out.push(0);
    }
    out
}

fn touch(view: &View, limit: Option<usize>) -> Option<Row> {
    let color = if limit.is_some() { 2 } else { 1 };
    let (dot, block) = view.dot_and_run(color)?;
    let from_left = block.start < dot;
    let gap = if from_left {
        dot - block.end()
    } else {
        block.start - dot - 1
    };
    let by = limit.map_or(gap, |limit| limit.min(gap));
    let mut out = view.blank();
    out[dot] = color;
    paint(
        &mut out,
        if from_left {
            block.start + by
        } else {
            block.start - by
        },
        block.length,
        block.color,
    );
    Some(out)
}

fn scale_to_dot(view: &View) -> Option<Row> {
    let (dot, block) = view.dot_and_run(2)?;
    let (start, end) = (dot.min(block.start), block.end().max(dot + 1));
    let mut out = view.blank();
    paint(&mut out, start, end - start, block.color);
    Some(out)
}

fn noise_remove(view: &View) -> Option<Row> {
    let color = view.color()?;
    let mut blocks = view.runs().iter().filter(|run| run.length > 1);
    let (block, None) = (blocks.next()?, blocks.next()) else {
        return None;
    };
    let mut out = view.blank();
    paint(&mut out, block.start, block.length, color);
    Some(out)
}

fn noise_remove_inside(view: &View) -> Option<Row> {
    let (start, end) = view.block()?;
    let main = majority(&view.row[start..end])?;
    let mut out = view.blank();
    paint(&mut out, start, end - start, main);
    Some(out)
}

/// The colour of more than half of the cells.
fn majority(cells: &[u8]) -> Option<u8> {
    (1..=9).find(|color| 2 * cells.iter().filter(|cell| *cell == color).count() > cells.len())
}

fn fill_between(view: &View) -> Option<Row> {
    let color = view.color()?;
    if view.runs().iter().map(|run| run.length).sum::<usize>() != 2 {
        return None;
    }
    let (start, end) = (view.runs().first()?.start, view.runs().last()?.end());
    let mut out = view.blank();
    paint(&mut out, start, end - start, color);
    Some(out)
}

fn keep_ends(view: &View) -> Option<Row> {
    let [block @ Run { length: 2.., .. }] = view.runs()[..] else {
        return None;
    };
    let mut out = view.blank();
    out[block.start] = block.color;
    out[block.end() - 1] = block.color;
    Some(out)
}

fn copy_to_dots(view: &View, own_color: bool) -> Option<Row> {
    let (block, dots) = view.runs().split_first()?;
    if block.start != 0 || !matches!(block.length, 3 | 5) || dots.is_empty() {
        return None;
    }
    let mut out = view.blank();
    paint(&mut out, 0, block.length, block.color);
    for dot in dots {
        let start = dot.start.checked_sub(block.length / 2)?;
        if dot.length > 1
            || start + block.length > view.len()
            || (!own_color && dot.color != block.color)
        {
            return None;
        }
        paint(&mut out, start, block.length, dot.color);
    }
    Some(out)
}

fn repeat_pattern(view: &View) -> Option<Row> {
    let (start, end) = view.block()?;
    let size = end / 2;
    let twice = start == 0 && end % 2 == 0 && size > 1 && view.row[..size] == view.row[size..end];
    twice.then(|| (0..view.len()).map(|i| view.row[i % size]).collect())
}

fn reflect(view: &View) -> Option<Row> {
    let (start, end) = view.block()?;
    let mut out = view.row.clone();
    out[start..end].reverse();
    Some(out)
}

fn reflect_around_dot(view: &View) -> Option<Row> {
    let (dot, block) = view.dot_and_run(2)?;
    let start = (2 * dot + 1).checked_sub(block.end())?;
    let mut out = view.blank();
    out[dot] = 2;
    out.get_mut(start..start + block.length)?.fill(block.color);
    Some(out)
}

fn paint_biggest(view: &View) -> Option<Row> {
    let biggest = view.runs().iter().max_by_key(|run| run.length)?;
    let alone = view
        .runs()
        .iter()
        .filter(|run| run.length == biggest.length)
        .count()
        == 1;
    if !alone || view.runs().len() == 1 {
        return None;
    }
    let mut out = view.row.clone();
    paint(&mut out, biggest.start, biggest.length, 1);
    Some(out)
}

fn recolor_by_size(view: &View) -> Option<Row> {
    let [a, b] = view.runs()[..] else { return None };
    if a.length == b.length || a.end() == b.start {
        return None;
    }
    let mut out = view.blank();
    for (run, other) in [(a, b), (b, a)] {
        paint(
            &mut out,
            run.start,
            run.length,
            if run.length > other.length { 1 } else { 2 },
        );
    }
    Some(out)
}

fn recolor_from_palette(view: &View) -> Option<Row> {
    let palette = view.row.iter().position(|&color| color == 0)?;
    let blocks: Vec<&Run> = view
        .runs()
        .iter()
        .filter(|run| run.start >= palette)
        .collect();
    let all_fives = blocks.iter().all(|run| run.color == 5);
    if palette == 0 || blocks.len() != palette || !all_fives {
        return None;
    }
    let mut out = view.row.clone();
    for (run, color) in blocks.iter().zip(&view.row[..palette]) {
        paint(&mut out, run.start, run.length, *color);
    }
    Some(out)
}

fn color_left_halves(view: &View) -> Option<Row> {
    view.color().filter(|&color| color == 2)?;
    let mut out = view.row.clone();
    for run in view.runs() {
        paint(&mut out, run.start, run.length / 2, 8);
    }
    Some(out)
}

fn sort_blocks(view: &View, complete: bool) -> Option<Row> {
    let color = view.color()?;
    let mut lengths: Vec<usize> = view.runs().iter().map(|run| run.length).collect();
    lengths.sort_unstable();
    if lengths.len() < 2
        || (complete
            && lengths
                .iter()
                .enumerate()
                .any(|(i, &length)| length != i + 1))
    {
        return None;
    }
    let mut out = view.blank();
    let mut at = 0;
    for length in lengths {
        paint(&mut out, at, length, color);
        at += length + 1;
    }
    Some(out)
}

fn duplicate_from_seeds(view: &View) -> Option<Row> {
    let block = view.runs().iter().find(|run| run.length > 1)?;
    let is_left = |run: &Run| run.start + 2 == block.start;
    let is_seed = |run: &Run| run.length == 1 && (is_left(run) || run.start == block.end() + 1);
    if view.runs().len() == 1 || !view.runs().iter().all(|run| run == block || is_seed(run)) {
        return None;
    }
    let mut out = view.row.clone();
    for run in view.runs().iter().filter(|run| *run != block) {
        let left = is_left(run);
        let outward: &mut dyn Iterator<Item = usize> = if left {
            &mut (0..=run.start).rev()
        } else {
            &mut (run.start..view.len())
        };
        for (step, cell) in outward.enumerate() {
            out[cell] = if step % (block.length + 1) < block.length {
                run.color
            } else {
                0
            };
        }
    }
    Some(out)
}

fn fill_from_pixel(view: &View) -> Option<Row> {
    let (start, end) = view.block()?;
    let [a, b] = view.runs()[..] else { return None };
    if (a.length == 1) == (b.length == 1) {
        return None;
    }
    let mut out = view.row.clone();
    if a.length == 1 {
        out[..start].fill(a.color);
    } else {
        out[end..].fill(b.color);
    }
    Some(out)
}

fn fill_until_collision(view: &View) -> Option<Row> {
    let (row, last) = (&view.row, view.len() - 1);
    let markers = row.iter().filter(|color| **color == 5).count();
    if markers != 1 || !(row[0] == 5 || row[last] == 5) {
        return None;
    }
    let mut out = row.clone();
    let mut color = 0;
    let from_far_end: &mut dyn Iterator<Item = usize> = if row[0] == 5 {
        &mut (1..=last).rev()
    } else {
        &mut (0..last)
    };
    for cell in from_far_end {
        color = if row[cell] == 0 { color } else { row[cell] };
        out[cell] = color;
    }
    Some(out)
}

fn mark_size_two(view: &View) -> Option<Row> {
    let twos = view.runs().iter().filter(|run| run.length == 2);
    twos.clone().next()?;
    let mut out = view.row.clone();
    for run in twos {
        for side in [run.start.checked_sub(1), Some(run.end())]
            .into_iter()
            .flatten()
        {
            let Some(cell) = out.get_mut(side) else {
                continue;
            };
            if *cell != 0 && *cell != 3 {
                return None;
            }
            *cell = 3;
        }
    }
    Some(out)
}
