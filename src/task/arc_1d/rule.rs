//! The 70 rules by name: 45 kinds, some with a distance, some mirrored.

use super::pixel_row::{Row, View};
use super::rule_kind::Kind;
use super::{input_generator, transformation};
use crate::seed::Rng;
use std::cell::OnceCell;
use std::sync::LazyLock;

/// A named rule.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The rule works on the row read from right to left.
    pub(super) mirrored: bool,
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
    rules
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
    /// A row that the rule is about; `None` where the attempt failed, and is to be repeated.
    pub(super) fn generate(&self, rng: &mut Rng, length: usize) -> Option<Input> {
        let row = input_generator::generate(self.kind, rng, length)?;
        Some(if self.mirrored {
            Input::new(row).turned()
        } else {
            Input::new(row)
        })
    }

    /// What the rule makes of a row; `None` where it says nothing about such a row.
    pub(super) fn apply(&self, input: &Input) -> Option<Row> {
        if !self.mirrored {
            return transformation::output(self.kind, &input.view);
        }
        let mut row = transformation::output(self.kind, input.mirrored())?;
        row.reverse();
        Some(row)
    }
}
