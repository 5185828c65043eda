//! A row of coloured cells, and what is seen in it at a glance.

use std::cell::OnceCell;

/// Colours of cells, from 0 (empty) to 9.
pub(super) type Row = Vec<u8>;

/// Neighbouring cells of one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) length: usize,
    pub(super) color: u8,
}

impl Run {
    /// The first cell behind it.
    pub(super) fn end(self) -> usize {
        self.start + self.length
    }
}

/// A row and, once they are asked for, its runs of cells that are not empty.
#[derive(Debug)]
pub(super) struct View {
    pub(super) row: Row,
    runs: OnceCell<Vec<Run>>,
}

impl View {
    pub(super) fn new(row: Row) -> Self {
        Self {
            row,
            runs: OnceCell::new(),
        }
    }

    /// The row read from right to left.
    pub(super) fn mirrored(&self) -> Self {
        let mut row = self.row.clone();
        row.reverse();
        Self::new(row)
    }

    /// Its runs from left to right.
    pub(super) fn runs(&self) -> &[Run] {
        self.runs.get_or_init(|| {
            let mut runs = Vec::with_capacity(self.len());
            let mut start = 0;
            for cells in self.row.chunk_by(PartialEq::eq) {
                if cells[0] != 0 {
                    runs.push(Run {
                        start,
                        length: cells.len(),
                        color: cells[0],
                    });
                }
                start += cells.len();
            }
            runs
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.row.iter().all(|&color| color == 0)
    }

    pub(super) fn len(&self) -> usize {
        self.row.len()
    }

    /// An empty row as long as this one.
    pub(super) fn blank(&self) -> Row {
        vec![0; self.len()]
    }

    /// First cell and end of the one stretch without an empty cell inside; `None` for none or several.
    pub(super) fn block(&self) -> Option<(usize, usize)> {
        let filled = |color: &u8| *color != 0;
        let (start, last) = (
            self.row.iter().position(filled)?,
            self.row.iter().rposition(filled)?,
        );
        self.row[start..last]
            .iter()
            .all(filled)
            .then_some((start, last + 1))
    }

    /// The colour of all cells that are not empty, where they have the same.
    pub(super) fn color(&self) -> Option<u8> {
        let color = *self.row.iter().find(|color| **color != 0)?;
        self.row
            .iter()
            .all(|&other| other == 0 || other == color)
            .then_some(color)
    }

    /// A single cell of the colour and the one run beside it; `None` for anything else.
    pub(super) fn dot_and_run(&self, dot: u8) -> Option<(usize, Run)> {
        let [a, b] = self.runs()[..] else { return None };
        match (
            a.color == dot && a.length == 1,
            b.color == dot && b.length == 1,
        ) {
            (true, false) => Some((a.start, b)),
            (false, true) => Some((b.start, a)),
            _ => None,
        }
    }
}

/// Paints cells.
pub(super) fn paint(row: &mut [u8], start: usize, length: usize, color: u8) {
    row[start..start + length].fill(color);
}
