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
    /// Index of the rule that does the same wherever this one says anything.
    pub(super) cover: usize,
}

/// All 70, in the order of reasoning-gym.
///
/// Its names for gravity are kept, though "right" packs to the left.
pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let mut rules = Vec::new();
    let mut add = |name: String, kind: Kind, mirrored| {
        rules.push(Rule {
            name,
            kind,
            mirrored,
            marks: Marks::of_rule(kind, mirrored),
            cover: 0,
        });
    };
    for wrapped in [false, true] {
        for (side, mirrored) in [("right", false), ("left", true)] {
            for (colors, colorful) in [("solid", false), ("colorful", true)] {
                for by in 1..=4 {
                    let kind = if wrapped {
                        Kind::Wrap { by, colorful }
                    } else {
                        Kind::Move { by, colorful }
                    };
                    let middle = if wrapped { "_wrapped" } else { "" };
                    add(
                        format!("move_{by}pix_{colors}{middle}_{side}"),
                        kind,
                        mirrored,
                    );
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
    add(
        "block_touch_dot".to_owned(),
        Kind::Touch { limit: None },
        false,
    );
    for by in 1..=4 {
        add(
            format!("block_touch_dot_{by}pix"),
            Kind::Touch { limit: Some(by) },
            false,
        );
    }
    for (name, kind) in SINGLE {
        add(name.to_owned(), kind, false);
    }
    for i in 0..rules.len() {
        let (widest, mirrored) = (rules[i].kind.widest(), rules[i].mirrored);
        let covers = |rule: &Rule| (rule.kind, rule.mirrored) == (widest, mirrored);
        rules[i].cover = rules
            .iter()
            .position(covers)
            .expect("the widest kind has a rule");
    }
    rules
});

/// The rules to try on examples, with their marks beside each other: those that no other rule covers.
pub(super) static TRIED: LazyLock<Vec<(Marks, &'static Rule)>> = LazyLock::new(|| {
    let covers = RULES
        .iter()
        .enumerate()
        .filter(|(i, rule)| rule.cover == *i);
    covers.map(|(_, rule)| (rule.marks, rule)).collect()
});

/// The rules that have one name.
const SINGLE: [(&str, Kind); 23] = [
    ("block_scale_to_dot", Kind::ScaleToDot),
    ("block_and_noise_remove", Kind::NoiseRemove),
    ("block_and_noise_remove_inside", Kind::NoiseRemoveInside),
    ("move_block_by_own_size", Kind::MoveByOwnSize),
    ("two_points_and_fill", Kind::FillBetween),
    ("two_points_and_fill_inv", Kind::KeepEnds),
    ("copy_block_to_dots", Kind::CopyToDots { own_color: false }),
    (
        "copy_block_to_dots_colors",
        Kind::CopyToDots { own_color: true },
    ),
    ("repeat_pattern_full", Kind::RepeatPattern),
    (
        "reflect_block_with_border_pixel",
        Kind::Reflect { random: false },
    ),
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
        Self {
            view: View::new(row),
            mirrored: OnceCell::new(),
        }
    }

    pub(super) fn row(&self) -> &[u8] {
        &self.view.row
    }

    fn mirrored(&self) -> &View {
        self.mirrored.get_or_init(|| self.view.mirrored())
    }

    /// The mirrored row, which has this one as its mirrored one.
    fn turned(self) -> Self {
        Self {
            view: self.view.mirrored(),
            mirrored: self.view.into(),
        }
    }
}

impl Rule {
    /// A row that the rule is about; `None` where the draw does not fit, and is to be repeated.
    pub(super) fn draw(&self, rng: &mut Rng, length: usize) -> Option<Input> {
        let row = inputs::draw(self.kind, rng, length)?;
        Some(if self.mirrored {
            Input::new(row).turned()
        } else {
            Input::new(row)
        })
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

    /// True where the rule makes the output of the input; no row is made to see it of the rules that are
    /// tried most.
    pub(super) fn maps(&self, input: &Input, output: &[u8]) -> bool {
        let row = input.row();
        match self.kind {
            Kind::Wrap { by, .. } => {
                let (first, last) = row.split_at(if self.mirrored { by } else { row.len() - by });
                last[0] == output[0] && is_joined(output, [last, first])
            }
            Kind::GravityOneStep if self.mirrored => {
                let gap = row.iter().rposition(|&color| color == 0);
                gap.map_or(output == row, |gap| {
                    is_joined(output, [&[0], &row[..gap], &row[gap + 1..]])
                })
            }
            Kind::GravityOneStep => {
                let gap = row.iter().position(|&color| color == 0);
                gap.map_or(output == row, |gap| {
                    is_joined(output, [&row[..gap], &row[gap + 1..], &[0]])
                })
            }
            _ => self.apply(input).is_some_and(|made| made == output),
        }
    }
}

/// True where the row is made of these parts.
fn is_joined<const N: usize>(mut row: &[u8], parts: [&[u8]; N]) -> bool {
    parts
        .iter()
        .all(|part| row.strip_prefix(*part).map(|rest| row = rest).is_some())
}

impl Kind {
    /// The kind that does the same wherever this one says anything, and says something about the most rows.
    fn widest(self) -> Self {
        match self {
            Self::Move { by, .. } | Self::Wrap { by, .. } => Self::Wrap { by, colorful: true },
            Self::CopyToDots { .. } => Self::CopyToDots { own_color: true },
            Self::Reflect { .. } => Self::Reflect { random: true },
            Self::SortSequence => Self::SortBlocks,
            _ => self,
        }
    }
}
