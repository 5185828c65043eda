//! What is seen at a glance in a row and what became of it: enough to rule out most rules without
//! applying them.

use super::rule::Kind;
use super::window::{Planes, WIDTH, Window};

/// A set of marks, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks(u32);

/// Marks of a row and its output.
impl Marks {
    const NONE: Self = Self(0);
    /// The output may have the cells of the input in another order.
    const LIKE_CELLS: Self = Self(1);
    /// The same cells are empty in both.
    const SAME_PLACES: Self = Self(1 << 1);
    /// No filled cell stays filled.
    const OTHER_PLACES: Self = Self(1 << 2);
    /// The output has not more filled cells.
    const NOT_MORE: Self = Self(1 << 3);
    /// It has not fewer.
    const NOT_FEWER: Self = Self(1 << 4);
    /// Every filled cell keeps its colour.
    const KEPT: Self = Self(1 << 5);
    /// Every cell keeps its colour or is emptied.
    const NOTHING_NEW: Self = Self(1 << 6);
}

/// Marks of the input.
impl Marks {
    /// Its filled cells stand together.
    const ONE_BLOCK: Self = Self(1 << 7);
    /// It has two runs.
    const TWO_RUNS: Self = Self(1 << 8);
    /// All its runs have one colour.
    const ONE_COLOR: Self = Self(1 << 9);
    /// It starts with three cells of one colour.
    const STARTS_WITH_THREE: Self = Self(1 << 10);
}

/// Marks of the output.
impl Marks {
    /// No cell is empty.
    const FULL: Self = Self(1 << 11);
    /// Its filled cells stand together.
    const ONE_BLOCK_LEFT: Self = Self(1 << 12);
    /// It has one run.
    const ONE_RUN_LEFT: Self = Self(1 << 13);
    /// Its first cell is filled.
    const AT_START: Self = Self(1 << 14);
    /// Its last cell is filled.
    const AT_END: Self = Self(1 << 15);
    /// It has no colour above 3.
    const LOW_COLORS: Self = Self(1 << 16);

    /// It has this colour, one of those that rules give: 1, 2, 3 or 5.
    const fn color(color: u8) -> Self {
        Self(1 << (17 + color))
    }
}

/// What is seen in one row.
#[derive(Default)]
struct Look {
    filled: u32,
    blocks: u32,
    runs: u32,
    /// Of the colours of filled cells, where they have each bit and where they lack it.
    with: Planes,
    without: Planes,
}

impl Look {
    fn add(&mut self, window: &Window) {
        self.filled += window.filled.count_ones();
        self.blocks += window.block_starts().count_ones();
        self.runs += window.run_starts().count_ones();
        self.with = self.with.or(window.planes);
        self.without = self.without.or(window.inverse());
    }

    /// True of rows of the same cells, and of some others.
    fn is_like(&self, other: &Self) -> bool {
        self.filled == other.filled && self.with.used() == other.with.used()
    }

    fn has_one_color(&self) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.with.used(), self.without.used());
        !(a & e | b & f | c & g | d & h)
    }
}

impl Marks {
    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// All marks of a row and what became of it, which is as long.
    pub(super) fn of(from: &[u8], to: &[u8]) -> Self {
        let (mut before, mut after) = (Look::default(), Look::default());
        let (mut moved, mut stayed, mut lost, mut new) = (0, 0, 0, 0);
        let mut colors = [(1, 0), (2, 0), (3, 0), (5, 0)];
        let (mut a, mut b) = (Window::default(), Window::default());
        for start in (0..from.len()).step_by(WIDTH) {
            (a, b) = (a.next(from, start), b.next(to, start));
            before.add(&a);
            after.add(&b);
            moved |= a.filled ^ b.filled;
            stayed |= a.filled & b.filled;
            lost |= a.differs(&b) & a.filled;
            new |= a.differs(&b) & b.filled;
            for (color, cells) in &mut colors {
                *cells |= b.of_color(*color);
            }
        }
        let mut marks = Self::NONE;
        for (color, cells) in colors {
            marks = if cells == 0 {
                marks
            } else {
                marks.and(Self::color(color))
            };
        }
        for (is, mark) in [
            (before.is_like(&after), Self::LIKE_CELLS),
            (moved == 0, Self::SAME_PLACES),
            (stayed == 0, Self::OTHER_PLACES),
            (after.filled <= before.filled, Self::NOT_MORE),
            (after.filled >= before.filled, Self::NOT_FEWER),
            (lost == 0, Self::KEPT),
            (new == 0, Self::NOTHING_NEW),
            (before.blocks == 1, Self::ONE_BLOCK),
            (before.runs == 2, Self::TWO_RUNS),
            (before.has_one_color(), Self::ONE_COLOR),
            (
                matches!(from, [a @ 1..=9, b, c, ..] if a == b && a == c),
                Self::STARTS_WITH_THREE,
            ),
            (after.filled as usize == to.len(), Self::FULL),
            (after.blocks == 1, Self::ONE_BLOCK_LEFT),
            (after.runs == 1, Self::ONE_RUN_LEFT),
            (matches!(to, [1..=9, ..]), Self::AT_START),
            (matches!(to, [.., 1..=9]), Self::AT_END),
            (
                matches!(after.with.used(), [_, _, false, false]),
                Self::LOW_COLORS,
            ),
        ] {
            marks = if is { marks.and(mark) } else { marks };
        }
        marks
    }

    /// The marks that every row and its output have, whatever the rule of this kind makes of it.
    pub(super) fn of_rule(kind: Kind, mirrored: bool) -> Self {
        let moved = Self::LIKE_CELLS.and(Self::NOT_MORE).and(Self::NOT_FEWER);
        let recolored = Self::SAME_PLACES.and(Self::NOT_MORE).and(Self::NOT_FEWER);
        let (filled, cleared) = (Self::NOT_FEWER, Self::NOT_MORE);
        let grown = filled.and(Self::KEPT);
        let packed = Self::ONE_BLOCK_LEFT.and(if mirrored {
            Self::AT_END
        } else {
            Self::AT_START
        });
        match kind {
            Kind::Move { .. } => moved.and(Self::ONE_BLOCK),
            Kind::MoveByOwnSize => moved.and(Self::ONE_BLOCK).and(Self::OTHER_PLACES),
            Kind::Wrap { .. } | Kind::GravityOneStep => moved,
            Kind::Gravity => moved.and(packed),
            Kind::GravityWeighted => moved.and(packed).and(Self::LOW_COLORS),
            Kind::GravityCounting => filled
                .and(cleared)
                .and(packed)
                .and(Self::ONE_RUN_LEFT)
                .and(Self::color(1)),
            Kind::GravityAntigravity => moved.and(Self::LOW_COLORS),
            Kind::Touch { limit: None } => moved.and(Self::TWO_RUNS).and(Self::color(1)),
            Kind::Touch { limit: Some(_) } | Kind::ReflectAroundDot => {
                moved.and(Self::TWO_RUNS).and(Self::color(2))
            }
            Kind::SortBlocks | Kind::SortSequence => moved.and(Self::ONE_COLOR).and(Self::AT_START),
            Kind::Reflect { .. } => moved.and(recolored).and(Self::ONE_BLOCK),
            Kind::ScaleToDot => filled.and(Self::TWO_RUNS).and(Self::ONE_RUN_LEFT),
            Kind::FillBetween => grown.and(Self::ONE_COLOR).and(Self::ONE_RUN_LEFT),
            Kind::NoiseRemove => cleared
                .and(Self::NOTHING_NEW)
                .and(Self::ONE_COLOR)
                .and(Self::ONE_RUN_LEFT),
            Kind::KeepEnds => cleared
                .and(Self::NOTHING_NEW)
                .and(Self::ONE_COLOR)
                .and(Self::ONE_BLOCK),
            Kind::NoiseRemoveInside => recolored.and(Self::ONE_BLOCK).and(Self::ONE_RUN_LEFT),
            Kind::RepeatPattern => grown.and(Self::ONE_BLOCK).and(Self::FULL),
            Kind::FillFromPixel => grown.and(Self::ONE_BLOCK).and(Self::TWO_RUNS),
            Kind::CopyToDots { .. } => filled.and(Self::STARTS_WITH_THREE).and(Self::AT_START),
            Kind::DuplicateFromSeeds => grown,
            Kind::FillUntilCollision => grown.and(Self::color(5)),
            Kind::MarkSizeTwo => grown.and(Self::color(3)),
            Kind::PaintBiggest => recolored.and(Self::color(1)),
            Kind::RecolorBySize => recolored
                .and(Self::color(1))
                .and(Self::color(2))
                .and(Self::TWO_RUNS),
            Kind::ChangeToFive => recolored.and(Self::color(5)),
            Kind::RecolorFromPalette => recolored.and(Self::AT_START),
            Kind::ColorLeftHalves => recolored.and(Self::ONE_COLOR),
        }
    }

    /// True where all marks of the other are among these.
    pub(super) fn include(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }
}
