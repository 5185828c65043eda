//! What is seen at a glance in a row and what became of it: enough to rule out most rules without
//! applying them.

use super::row::View;
use super::rule::Kind;

/// A set of marks, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks(u32);

impl Marks {
    const NONE: Self = Self(0);
    /// The output has the cells of the input in some order.
    const SAME_CELLS: Self = Self(1);
    /// The same cells are empty in both.
    const SAME_PLACES: Self = Self(1 << 1);
    /// The output has not more filled cells.
    const NOT_MORE: Self = Self(1 << 2);
    /// It has not fewer.
    const NOT_FEWER: Self = Self(1 << 3);
    /// The filled cells of the input stand together.
    const ONE_BLOCK: Self = Self(1 << 4);
    /// The input has two runs.
    const TWO_RUNS: Self = Self(1 << 5);
    /// All its runs have one colour.
    const ONE_COLOR: Self = Self(1 << 6);

    /// The output has this colour.
    const fn color(color: u8) -> Self {
        Self(1 << (7 + color))
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// All marks of a row and what became of it.
    pub(super) fn of(from: &View, to: &[u8]) -> Self {
        let mut more = [0_i32; 10];
        let (mut same_places, mut marks) = (true, Self::NONE);
        for (&a, &b) in from.row.iter().zip(to) {
            more[usize::from(a)] -= 1;
            more[usize::from(b)] += 1;
            same_places &= (a == 0) == (b == 0);
            marks = marks.and(Self::color(b));
        }
        for (is, mark) in [
            (more == [0; 10], Self::SAME_CELLS),
            (same_places, Self::SAME_PLACES),
            (more[0] >= 0, Self::NOT_MORE),
            (more[0] <= 0, Self::NOT_FEWER),
            (from.block().is_some(), Self::ONE_BLOCK),
            (from.runs().len() == 2, Self::TWO_RUNS),
            (from.color().is_some(), Self::ONE_COLOR),
        ] {
            marks = if is { marks.and(mark) } else { marks };
        }
        marks
    }

    /// The marks that every row and its output have, whatever the rule of this kind makes of it.
    pub(super) fn of_kind(kind: Kind) -> Self {
        let moved = Self::SAME_CELLS.and(Self::NOT_MORE).and(Self::NOT_FEWER);
        let recolored = Self::SAME_PLACES.and(Self::NOT_MORE).and(Self::NOT_FEWER);
        let (filled, cleared) = (Self::NOT_FEWER, Self::NOT_MORE);
        match kind {
            Kind::Move { .. } | Kind::MoveByOwnSize => moved.and(Self::ONE_BLOCK),
            Kind::Wrap { .. }
            | Kind::Gravity
            | Kind::GravityAntigravity
            | Kind::GravityOneStep
            | Kind::GravityWeighted => moved,
            Kind::GravityCounting => filled.and(cleared).and(Self::color(1)),
            Kind::Touch { .. } | Kind::ReflectAroundDot => moved.and(Self::TWO_RUNS),
            Kind::SortBlocks | Kind::SortSequence => moved.and(Self::ONE_COLOR),
            Kind::Reflect { .. } => moved.and(recolored).and(Self::ONE_BLOCK),
            Kind::ScaleToDot => filled.and(Self::TWO_RUNS),
            Kind::FillBetween => filled.and(Self::ONE_COLOR),
            Kind::NoiseRemove | Kind::KeepEnds => cleared.and(Self::ONE_COLOR),
            Kind::NoiseRemoveInside => recolored.and(Self::ONE_BLOCK),
            Kind::RepeatPattern => filled.and(Self::ONE_BLOCK),
            Kind::FillFromPixel => filled.and(Self::ONE_BLOCK).and(Self::TWO_RUNS),
            Kind::CopyToDots { .. } | Kind::DuplicateFromSeeds => filled,
            Kind::FillUntilCollision => filled.and(Self::color(5)),
            Kind::MarkSizeTwo => filled.and(Self::color(3)),
            Kind::PaintBiggest => recolored.and(Self::color(1)),
            Kind::RecolorBySize => recolored.and(Self::color(1)).and(Self::color(2)).and(Self::TWO_RUNS),
            Kind::ChangeToFive => recolored.and(Self::color(5)),
            Kind::RecolorFromPalette => recolored,
            Kind::ColorLeftHalves => recolored.and(Self::ONE_COLOR),
        }
    }

    /// True where all marks of the other are among these.
    pub(super) fn include(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }
}
