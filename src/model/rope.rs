//! Rotary position embedding, in the rotate-half layout of Hugging Face.
//!
//! The tables are made in f32 on the host from the positions of the rows; positions are integers
//! and come from lengths, never from columns of a padded batch. The rotation of the halves is one
//! product with a constant matrix.

use burn::tensor::{Device, Tensor, TensorData};

/// Cosines and sines for the tokens of one forward pass.
#[derive(Clone, Debug)]
pub(crate) struct Rope {
    cos: Tensor<4>,
    sin: Tensor<4>,
    rotate: Tensor<2>,
}

impl Rope {
    /// Tables for rows of `seq` tokens, row `i` starting at position `starts[i]`.
    ///
    /// # Shapes
    /// - tables: `[rows, seq, 1, head_dim]`
    pub(crate) fn new(starts: &[usize], seq: usize, head_dim: usize, theta: f64, device: &Device) -> Self {
        let half = head_dim / 2;
        let first = starts.iter().copied().min().unwrap_or(0);
        let last = starts.iter().copied().max().unwrap_or(0) + seq;
        let mut table = [Vec::new(), Vec::new()]; // cosines and sines of positions first..last
        for position in first..last {
            let angle = |i: usize| position as f64 * theta.powf(-2.0 * (i % half) as f64 / head_dim as f64);
            table[0].extend((0..head_dim).map(|i| angle(i).cos() as f32));
            table[1].extend((0..head_dim).map(|i| angle(i).sin() as f32));
        }
        let of_rows = |table: &[f32]| {
            let rows = starts.iter().flat_map(|start| &table[(start - first) * head_dim..][..seq * head_dim]);
            let data = TensorData::new(rows.copied().collect::<Vec<_>>(), [starts.len(), seq, 1, head_dim]);
            Tensor::from_data(data, device)
        };
        let mut rotate = vec![0f32; head_dim * head_dim];
        for i in 0..half {
            rotate[(i + half) * head_dim + i] = -1.0;
            rotate[i * head_dim + i + half] = 1.0;
        }
        let rotate = Tensor::from_data(TensorData::new(rotate, [head_dim, head_dim]), device);
        Self { cos: of_rows(&table[0]), sin: of_rows(&table[1]), rotate }
    }

    /// Turns each pair of coordinates by the angle of its token.
    ///
    /// # Shapes
    /// - x: `[rows, seq, heads, head_dim]`
    pub(crate) fn apply(&self, x: Tensor<4>) -> Tensor<4> {
        let [rows, seq, heads, head_dim] = x.dims();
        let flat = x.clone().reshape([rows * seq * heads, head_dim]);
        let turned = flat.matmul(self.rotate.clone()).reshape([rows, seq, heads, head_dim]);
        x * self.cos.clone() + turned * self.sin.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_by_the_angle_of_the_position() {
        let device = Device::flex();
        let x = Tensor::<4>::from_data([[[[1.0f32, 2.0, 3.0, 4.0]]]], &device);
        let rope = Rope::new(&[3], 1, 4, 100.0, &device);
        let got = rope.apply(x).into_data().try_into_vec::<f32>().unwrap();
        // frequencies 1 and 1/10: pairs (x0, x2) and (x1, x3)
        let (a, b) = (3.0f32, 0.3f32);
        let expected = [
            a.cos() - 3.0 * a.sin(),
            2.0 * b.cos() - 4.0 * b.sin(),
            3.0 * a.cos() + a.sin(),
            4.0 * b.cos() + 2.0 * b.sin(),
        ];
        for (g, e) in got.iter().zip(expected) {
            assert!((g - e).abs() < 1e-5, "{got:?} is not {expected:?}");
        }
    }
}
