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
        Self { row, runs: OnceCell::new() }
    }

    /// Its runs from left to right.
    pub(super) fn runs(&self) -> &[Run] {
        self.runs.get_or_init(|| {
            let mut runs = Vec::with_capacity(self.len());
            let mut end = 0;
            while let Some(&color) = self.row.get(end) {
                let start = end;
                while self.row.get(end) == Some(&color) {
                    end += 1;
                }
                if color != 0 {
                    runs.push(Run { start, length: end - start, color });
                }
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
        let (first, last) = (self.runs().first()?, self.runs().last()?);
        let filled: usize = self.runs().iter().map(|run| run.length).sum();
        (filled == last.end() - first.start).then(|| (first.start, last.end()))
    }

    /// The colour of all runs, where they have the same.
    pub(super) fn color(&self) -> Option<u8> {
        let color = self.runs().first()?.color;
        self.runs().iter().all(|run| run.color == color).then_some(color)
    }

    /// A single cell of the colour and the one run beside it; `None` for anything else.
    pub(super) fn dot_and_run(&self, dot: u8) -> Option<(usize, Run)> {
        let [a, b] = self.runs()[..] else { return None };
        match (a.color == dot && a.length == 1, b.color == dot && b.length == 1) {
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
