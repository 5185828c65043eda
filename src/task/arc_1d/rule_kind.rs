//! The kinds of rules: what each does with a row, whatever its direction.

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
