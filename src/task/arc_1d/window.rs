//! Up to 64 cells of a row at once: as a colour has four bits, four words hold them, and one operation
//! compares them all.

/// How many cells a window has.
pub(super) const WIDTH: usize = 64;

/// A bit of every colour in each word, the lowest first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Planes([u64; 4]);

impl Planes {
    fn of(cells: &[u8]) -> Self {
        let mut padded = [0; WIDTH];
        padded[..cells.len()].copy_from_slice(cells);
        let (mut planes, mut at) = (Self::default(), 0);
        for eight in &padded.as_chunks().0[..cells.len().div_ceil(8)] {
            let bytes = u64::from_le_bytes(*eight);
            let bits = |k| lowest_bits(bytes >> k) << at;
            planes = planes.or(Self([bits(0), bits(1), bits(2), bits(3)]));
            at += 8;
        }
        planes
    }

    fn with(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let (Self([a, b, c, d]), Self([e, f, g, h])) = (self, other);
        Self([combine(a, e), combine(b, f), combine(c, g), combine(d, h)])
    }

    pub(super) fn or(self, other: Self) -> Self {
        self.with(other, |a, b| a | b)
    }

    /// What is set in any of them.
    fn any(self) -> u64 {
        let Self([a, b, c, d]) = self;
        a | b | c | d
    }

    fn differs(self, other: Self) -> u64 {
        self.with(other, |a, b| a ^ b).any()
    }

    /// Which of them have anything set.
    pub(super) fn used(self) -> [bool; 4] {
        let Self([a, b, c, d]) = self;
        [a != 0, b != 0, c != 0, d != 0]
    }
}

/// The lowest bits of eight bytes, side by side.
fn lowest_bits(bytes: u64) -> u64 {
    (bytes & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Cells that follow on each other; beyond the end of their row they are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    pub(super) planes: Planes,
    /// Of the cells that stand before each of these.
    before: Planes,
    /// Where they are not empty.
    pub(super) filled: u64,
}

impl Window {
    /// The cells of a row from `start` on, which follow on these.
    pub(super) fn next(self, row: &[u8], start: usize) -> Self {
        let planes = Planes::of(&row[start..row.len().min(start + WIDTH)]);
        let before = planes.with(self.planes, |now, last| now << 1 | last >> (WIDTH - 1));
        Self {
            planes,
            before,
            filled: planes.any(),
        }
    }

    /// Where the cells have other colours than those of another window.
    pub(super) fn differs(&self, other: &Self) -> u64 {
        self.planes.differs(other.planes)
    }

    /// Where runs start.
    pub(super) fn run_starts(&self) -> u64 {
        self.planes.differs(self.before) & self.filled
    }

    /// Where filled cells follow on empty ones.
    pub(super) fn block_starts(&self) -> u64 {
        self.filled & !self.before.any()
    }

    /// The colours of filled cells, each bit turned over.
    pub(super) fn inverse(&self) -> Planes {
        self.planes
            .with(Planes([self.filled; 4]), |plane, filled| filled & !plane)
    }

    /// Where the cells have this colour.
    pub(super) fn of_color(&self, color: u8) -> u64 {
        let bit = |k: u8| if color >> k & 1 == 1 { u64::MAX } else { 0 };
        !self
            .planes
            .differs(Planes([bit(0), bit(1), bit(2), bit(3)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    /// Where this is true of a cell and the one before it.
    fn bits(row: &[u8], start: usize, is: impl Fn(u8, u8) -> bool) -> u64 {
        let before = |at: usize| if at == 0 { 0 } else { row[at - 1] };
        (start..row.len().min(start + WIDTH))
            .filter(|&at| is(before(at), row[at]))
            .fold(0, |bits, at| bits | 1 << (at - start))
    }

    #[test]
    fn windows_see_what_the_cells_show() {
        let mut rng = Seed::new(3).rng();
        for length in [1, 7, 8, 9, 63, 64, 65, 130] {
            let mut row = || -> Vec<u8> {
                (0..length)
                    .map(|_| rng.int(0, 3) as u8 * rng.int(0, 3) as u8)
                    .collect()
            };
            let (row, other) = (row(), row());
            let (mut window, mut beside) = (Window::default(), Window::default());
            for start in (0..length).step_by(WIDTH) {
                (window, beside) = (window.next(&row, start), beside.next(&other, start));
                let changed: Vec<u8> = row
                    .iter()
                    .zip(&other)
                    .map(|(a, b)| u8::from(a != b))
                    .collect();
                assert_eq!(window.filled, bits(&row, start, |_, cell| cell != 0));
                assert_eq!(
                    window.differs(&beside),
                    bits(&changed, start, |_, cell| cell == 1)
                );
                assert_eq!(
                    window.run_starts(),
                    bits(&row, start, |before, cell| cell != 0 && cell != before)
                );
                assert_eq!(
                    window.block_starts(),
                    bits(&row, start, |before, cell| cell != 0 && before == 0)
                );
                assert_eq!(
                    window.planes.0[1],
                    bits(&row, start, |_, cell| cell & 2 != 0)
                );
                assert_eq!(
                    window.inverse().0[1],
                    bits(&row, start, |_, cell| cell != 0 && cell & 2 == 0)
                );
                for color in 1..=9 {
                    assert_eq!(
                        window.of_color(color),
                        bits(&row, start, |_, cell| cell == color)
                    );
                }
            }
        }
    }
}
