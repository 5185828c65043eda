//! Rotary position embedding, in the rotate-half layout of Hugging Face.
//!
//! The tables are made on the host from the positions of the tokens; positions are integers and come
//! from lengths, never from columns of a padded batch.

use burn::tensor::{Device, Tensor, TensorData};
use std::sync::Arc;

/// Cosines and sines by position.
#[derive(Debug)]
struct Tables {
    /// A row of `half` a position.
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
    /// For tokens at these positions.
    pub(crate) fn new(positions: &[usize], head_dim: usize, theta: f64) -> Self {
        let last = positions.iter().copied().max().unwrap_or(0);
        let half = head_dim / 2;
        let frequencies: Vec<f64> = (0..half)
            .map(|i| theta.powf(-2.0 * i as f64 / head_dim as f64))
            .collect();
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

    /// Pairs of coordinates a head.
    pub(crate) fn half(&self) -> usize {
        self.tables.half
    }

    /// Cosines and sines of a token, one a pair of coordinates.
    pub(crate) fn angles(&self, token: usize) -> (&[f32], &[f32]) {
        let half = self.tables.half;
        let from = self.positions[token] * half;
        (
            &self.tables.cos[from..from + half],
            &self.tables.sin[from..from + half],
        )
    }

    /// Turns each pair of coordinates by the angle of its token, on any device. The rotation of the
    /// halves is one product with a constant matrix.
    ///
    /// # Shapes
    /// - x and output: `[tokens, heads * head_dim]`
    pub(crate) fn apply(&self, x: Tensor<2>) -> Tensor<2> {
        let [tokens, width] = x.dims();
        let (half, device) = (self.half(), x.device());
        let (dim, heads) = (2 * half, width / (2 * half));
        let table = |of: fn(&Self, usize) -> &[f32]| {
            let rows = (0..tokens).flat_map(|token| of(self, token).iter().chain(of(self, token)));
            let data = TensorData::new(rows.copied().collect::<Vec<f32>>(), [tokens, 1, dim]);
            Tensor::<3>::from_data(data, &device)
        };
        let (cos, sin) = (
            table(|rope, t| rope.angles(t).0),
            table(|rope, t| rope.angles(t).1),
        );
        let turned = x
            .clone()
            .reshape([tokens * heads, dim])
            .matmul(rotation(half, &device));
        let [x, turned] = [
            x.reshape([tokens, heads, dim]),
            turned.reshape([tokens, heads, dim]),
        ];
        (x * cos + turned * sin).reshape([tokens, width])
    }
}

/// The matrix that maps the halves `(a, b)` to `(-b, a)`.
fn rotation(half: usize, device: &Device) -> Tensor<2> {
    let dim = 2 * half;
    let mut rotate = vec![0f32; dim * dim];
    for i in 0..half {
        rotate[(i + half) * dim + i] = -1.0;
        rotate[i * dim + i + half] = 1.0;
    }
    Tensor::from_data(TensorData::new(rotate, [dim, dim]), device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::host::{Rotate, apply};

    #[test]
    fn turns_by_the_angle_of_the_position() {
        let device = Device::flex();
        let x = Tensor::<2>::from_data([[1.0f32, 2.0, 3.0, 4.0]], &device);
        let rope = Rope::new(&[3], 4, 100.0);
        // frequencies 1 and 1/10: pairs (x0, x2) and (x1, x3)
        let (a, b) = (3.0f32, 0.3f32);
        let expected = [
            a.cos() - 3.0 * a.sin(),
            2.0 * b.cos() - 4.0 * b.sin(),
            3.0 * a.cos() + a.sin(),
            4.0 * b.cos() + 2.0 * b.sin(),
        ];
        for turned in [rope.apply(x.clone()), apply(Rotate(rope.clone()), [x])] {
            let got = turned.into_data().try_into_vec::<f32>().unwrap();
            for (g, e) in got.iter().zip(expected) {
                assert!((g - e).abs() < 1e-5, "{got:?} is not {expected:?}");
            }
        }
    }
}
