//! Angles of the rotary position embedding (RoPE, arXiv 2104.09864), in the rotate-half layout of
//! Hugging Face.
//!
//! The tables are made on the host from the positions of the tokens; positions are integers and come
//! from lengths, never from columns of a padded batch.

use std::sync::Arc;

/// Cosines and sines by position.
#[derive(Debug)]
struct Tables {
    /// One row of `half` numbers per position.
    cos: Vec<f32>,
    sin: Vec<f32>,
    half: usize,
}

/// Cosines and sines for the tokens of one forward pass.
#[derive(Clone, Debug)]
pub(crate) struct Rope {
    tables: Arc<Tables>,
    positions: Arc<[usize]>,
}

impl Rope {
    /// For tokens at these positions; `frequencies` is the turn of each pair of coordinates of a head,
    /// from one position to the next.
    pub(crate) fn new(positions: &[usize], frequencies: &[f64]) -> Self {
        let last = positions.iter().copied().max().unwrap_or(0);
        let half = frequencies.len();
        let angles =
            (0..=last).flat_map(|position| frequencies.iter().map(move |f| position as f64 * f));
        let (sin, cos) = angles
            .map(|angle| (angle.sin() as f32, angle.cos() as f32))
            .unzip();
        Self {
            tables: Arc::new(Tables { cos, sin, half }),
            positions: positions.into(),
        }
    }

    /// The same tables for tokens at other positions, none of them behind the last.
    pub(crate) fn at(&self, positions: &[usize]) -> Self {
        Self {
            tables: self.tables.clone(),
            positions: positions.into(),
        }
    }

    /// Pairs of coordinates in a head.
    pub(crate) fn half(&self) -> usize {
        self.tables.half
    }

    /// Cosines and sines of a token, one of each per pair of coordinates.
    pub(crate) fn angles(&self, token: usize) -> (&[f32], &[f32]) {
        let half = self.tables.half;
        let from = self.positions[token] * half;
        (
            &self.tables.cos[from..from + half],
            &self.tables.sin[from..from + half],
        )
    }
}
