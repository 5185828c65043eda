//! The 70 rules by name: 45 kinds, some with a distance, some mirrored.

use super::marks::Marks;
use super::row::{Row, View};
use super::{inputs, outputs};
use crate::seed::Rng;
use std::cell::OnceCell;
use std::sync::LazyLock;

/// What a rule does with a row. `K` is a number of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The block moves K cells to the right; it has one colour or many.
    Move {
        by: usize,
        colorful: bool,
    },
    /// The whole row turns K cells to the right.
    Wrap {
        by: usize,
        colorful: bool,
    },
    Gravity,
    GravityCounting,
    GravityAntigravity,
    GravityOneStep,
    GravityWeighted,
    /// The block moves to the dot, K cells at most where there is a limit.
    Touch {
        limit: Option<usize>,
    },
    ScaleToDot,
    NoiseRemove,
    NoiseRemoveInside,
    MoveByOwnSize,
    FillBetween,
    KeepEnds,
    /// The block is copied to every dot, in the dot's own colour or not.
    CopyToDots {
        own_color: bool,
    },
    RepeatPattern,
    /// The block is reversed; it is of one colour but for its border, or of random ones.
    Reflect {
        random: bool,
    },
    ReflectAroundDot,
    PaintBiggest,
    RecolorBySize,
    ChangeToFive,
    RecolorFromPalette,
    ColorLeftHalves,
    SortBlocks,
    SortSequence,
    DuplicateFromSeeds,
    FillFromPixel,
    FillUntilCollision,
    MarkSizeTwo,
}

/// A named rule.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The rule works on the row read from right to left.
    pub(super) mirrored: bool,
    /// What every input and its output have.
    pub(super) marks: Marks,
}

/// All 70, in the order of reasoning-gym.
///
/// Its names for gravity are kept, though "right" packs to the left.
pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let mut rules = Vec::new();
    let mut add =
        |name: String, kind: Kind, mirrored| rules.push(Rule { name, kind, mirrored, marks: Marks::of_kind(kind) });
    for wrapped in [false, true] {
        for (side, mirrored) in [("right", false), ("left", true)] {
            for (colors, colorful) in [("solid", false), ("colorful", true)] {
                for by in 1..=4 {
                    let kind = if wrapped { Kind::Wrap { by, colorful } } else { Kind::Move { by, colorful } };
                    let middle = if wrapped { "_wrapped" } else { "" };
                    add(format!("move_{by}pix_{colors}{middle}_{side}"), kind, mirrored);
                }
            }
        }
    }
    for (side, mirrored) in [("right", false), ("left", true)] {
        for (name, kind) in [
            ("gravity", Kind::Gravity),
            ("gravity_counting", Kind::GravityCounting),
            ("gravity_antigravity", Kind::GravityAntigravity),
            ("gravity_one_step", Kind::GravityOneStep),
            ("gravity_weighted_colors", Kind::GravityWeighted),
        ] {
            add(format!("{name}_{side}"), kind, mirrored);
        }
    }
    add("block_touch_dot".to_owned(), Kind::Touch { limit: None }, false);
    for by in 1..=4 {
        add(format!("block_touch_dot_{by}pix"), Kind::Touch { limit: Some(by) }, false);
    }
    for (name, kind) in SINGLE {
        add(name.to_owned(), kind, false);
    }
    rules
});

/// The rules to try on examples, with their marks beside each other: those that no other rule stands for.
pub(super) static TRIED: LazyLock<Vec<(Marks, &'static Rule)>> =
    LazyLock::new(|| RULES.iter().filter(|rule| !rule.is_double()).map(|rule| (rule.marks, rule)).collect());

/// The rules that have one name.
const SINGLE: [(&str, Kind); 23] = [
    ("block_scale_to_dot", Kind::ScaleToDot),
    ("block_and_noise_remove", Kind::NoiseRemove),
    ("block_and_noise_remove_inside", Kind::NoiseRemoveInside),
    ("move_block_by_own_size", Kind::MoveByOwnSize),
    ("two_points_and_fill", Kind::FillBetween),
    ("two_points_and_fill_inv", Kind::KeepEnds),
    ("copy_block_to_dots", Kind::CopyToDots { own_color: false }),
    ("copy_block_to_dots_colors", Kind::CopyToDots { own_color: true }),
    ("repeat_pattern_full", Kind::RepeatPattern),
    ("reflect_block_with_border_pixel", Kind::Reflect { random: false }),
    ("reflect_block_random", Kind::Reflect { random: true }),
    ("reflect_block_around_dot", Kind::ReflectAroundDot),
    ("paint_biggest_block", Kind::PaintBiggest),
    ("recolor_blocks_by_size", Kind::RecolorBySize),
    ("change_to_five", Kind::ChangeToFive),
    ("recolor_blocks_from_palette", Kind::RecolorFromPalette),
    ("color_left_half_blocks", Kind::ColorLeftHalves),
    ("sort_blocks_by_size", Kind::SortBlocks),
    ("sort_complete_sequence", Kind::SortSequence),
    ("duplicate_block_from_seeds", Kind::DuplicateFromSeeds),
    ("fill_from_pixel", Kind::FillFromPixel),
    ("fill_until_collision", Kind::FillUntilCollision),
    ("mark_size_two_blocks", Kind::MarkSizeTwo),
];

/// A row as it is and, once it is asked for, mirrored.
#[derive(Debug)]
pub(super) struct Input {
    view: View,
    mirrored: OnceCell<View>,
}

impl Input {
    pub(super) fn new(row: Row) -> Self {
        Self { view: View::new(row), mirrored: OnceCell::new() }
    }

    pub(super) fn row(&self) -> &[u8] {
        &self.view.row
    }

    pub(super) fn view(&self) -> &View {
        &self.view
    }

    fn mirrored(&self) -> &View {
        self.mirrored.get_or_init(|| View::new(self.view.row.iter().rev().copied().collect()))
    }
}

impl Rule {
    /// A row that the rule is about; `None` where the draw does not fit, and is to be repeated.
    pub(super) fn draw(&self, rng: &mut Rng, length: usize) -> Option<Row> {
        let mut row = inputs::draw(self.kind, rng, length)?;
        if self.mirrored {
            row.reverse();
        }
        Some(row)
    }

    /// What the rule makes of a row; `None` where it says nothing about such a row.
    pub(super) fn apply(&self, input: &Input) -> Option<Row> {
        if !self.mirrored {
            return outputs::output(self.kind, &input.view);
        }
        let mut row = outputs::output(self.kind, input.mirrored())?;
        row.reverse();
        Some(row)
    }

    /// True where the rule makes the row of the other.
    pub(super) fn maps(&self, input: &Input, output: &[u8]) -> bool {
        self.may_map(input.row(), output) && self.apply(input).is_some_and(|row| row == output)
    }

    /// False for most rows that the rule does not map, without a new one being made.
    fn may_map(&self, from: &[u8], to: &[u8]) -> bool {
        match self.kind {
            Kind::Wrap { by, .. } | Kind::Move { by, .. } => {
                let by = if self.mirrored { by } else { from.len() - by };
                let (first, last) = from.split_at(by);
                last[0] == to[0] && to.strip_prefix(last) == Some(first)
            }
            Kind::GravityWeighted if from.iter().any(|&color| color > 2) => false,
            Kind::Gravity | Kind::GravityCounting | Kind::GravityWeighted => {
                let before = |a: &u8, b: &u8| *a != 0 || *b == 0;
                to.is_sorted_by(|a, b| if self.mirrored { before(b, a) } else { before(a, b) })
            }
            Kind::GravityOneStep => {
                let first = |row: &[u8]| match self.mirrored {
                    false => row.iter().position(|&color| color != 0),
                    true => row.iter().rev().position(|&color| color != 0),
                };
                first(from).is_some_and(|at| first(to) == Some(at.saturating_sub(1)))
            }
            Kind::GravityAntigravity => from.iter().all(|&color| color <= 2),
            Kind::CopyToDots { .. } => from[0] != 0 && from[0] == from[2] && from[0] == to[0],
            _ => true,
        }
    }

    /// True where another rule always does the same, and need not be tried as well.
    pub(super) fn is_double(&self) -> bool {
        matches!(
            self.kind,
            Kind::Move { colorful: false, .. } | Kind::Wrap { colorful: false, .. } | Kind::Reflect { random: false }
        )
    }
}
