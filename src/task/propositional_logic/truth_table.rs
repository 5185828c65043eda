//! Truth tables as words of bits, and what joins them.

/// A column of a truth table, one bit per row. A table of fewer than 64 rows repeats them.
pub(super) type Table = Vec<u64>;

/// The rows in which each of the first six atoms is true, in every word.
const WITHIN_A_WORD: [u64; 6] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

/// What joins two formulas, the loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Connective {
    Iff,
    Implies,
    Or,
    And,
}

impl Connective {
    /// Where it holds: of both, the left, the right operand, and none. A table costs no branch.
    const HOLDS: [[u64; 4]; 4] = [
        [!0, 0, 0, !0],
        [!0, 0, !0, !0],
        [!0, !0, !0, 0],
        [!0, 0, 0, 0],
    ];

    /// Joins one word of two tables.
    pub(super) fn apply(self, a: u64, b: u64) -> u64 {
        let [both, left, right, none] = Self::HOLDS[self as usize];
        (a & b & both) | (a & !b & left) | (!a & b & right) | (!a & !b & none)
    }

    pub(super) fn symbol(self) -> char {
        match self {
            Self::Iff => '↔',
            Self::Implies => '→',
            Self::Or => '∨',
            Self::And => '∧',
        }
    }

    pub(super) fn read(symbol: char) -> Option<Self> {
        match symbol {
            '↔' => Some(Self::Iff),
            '→' => Some(Self::Implies),
            '∨' => Some(Self::Or),
            '∧' => Some(Self::And),
            _ => None,
        }
    }
}

/// The rows in which an atom is true: every second one, every second pair, and so on.
pub(super) fn fill_atom(table: &mut [u64], atom: usize) {
    table
        .iter_mut()
        .enumerate()
        .for_each(|(i, word)| *word = atom_word(atom, i));
}

/// One word of the table of an atom.
pub(super) fn atom_word(atom: usize, i: usize) -> u64 {
    match WITHIN_A_WORD.get(atom) {
        Some(word) => *word,
        None if i >> (atom - 6) & 1 == 1 => !0,
        None => 0,
    }
}

/// Joins two tables, into the first one.
pub(super) fn join(left: &mut [u64], right: &[u64], connective: Connective) {
    left.iter_mut()
        .zip(right)
        .for_each(|(a, b)| *a = connective.apply(*a, *b));
}

/// The rows that a table lacks.
pub(super) fn negated(table: &[u64]) -> Table {
    table.iter().map(|word| !word).collect()
}

/// The rows that are in the table whatever the value of an atom.
pub(super) fn whatever(table: &[u64], atom: usize) -> Table {
    (0..table.len())
        .map(|i| whatever_word(|i| table[i], atom, i))
        .collect()
}

/// One word of that, of a table that is given word by word.
pub(super) fn whatever_word(table: impl Fn(usize) -> u64, atom: usize, i: usize) -> u64 {
    let word = table(i);
    match WITHIN_A_WORD.get(atom) {
        Some(mask) => word & ((word & mask) >> (1 << atom) | (word & !mask) << (1 << atom)),
        None => word & table(i ^ 1 << (atom - 6)),
    }
}

/// True where every row of the first table is in the second.
pub(super) fn entails(premises: &[u64], conclusion: &[u64]) -> bool {
    premises.iter().zip(conclusion).all(|(a, b)| a & !b == 0)
}
