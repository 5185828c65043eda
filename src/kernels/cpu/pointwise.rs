//! Operations whose result at a row depends on that row alone: affine maps, norms, rotation, SwiGLU.

use super::op::{CpuOp, CpuTensor, dims, into_numbers, matrix, numbers, whole};
use crate::kernels::rope::Rope;
use crate::kernels::simd::{dispatch, dot, exp};
use crate::kernels::threads::rows_of;
use burn::backend::Flex;
use burn::backend::ops::FloatTensorOps;

/// `x W + b`.
///
/// # Shapes
/// - x: `[rows, in]`, W: `[in, out]`, b: `[1, out]`, output: `[rows, out]`
#[derive(Clone, Debug)]
pub(in crate::kernels) struct Affine;

impl CpuOp<3> for Affine {
    type Saved = [CpuTensor; 2];

    fn forward(&self, [x, weight, bias]: [CpuTensor; 3]) -> (CpuTensor, Self::Saved) {
        let mut y = Flex::float_matmul(x.clone(), weight.clone());
        let (bias, width) = (whole(bias), dims(&y)[1]);
        let bias = numbers(&bias);
        rows_of(y.storage_mut(), width, |_, y| {
            dispatch(
                #[inline(always)]
                || {
                    for row in y.chunks_exact_mut(width) {
                        for (y, b) in row.iter_mut().zip(bias) {
                            *y += b;
                        }
                    }
                },
            );
        });
        (y, [x, weight])
    }

    fn backward(&self, [x, weight]: Self::Saved, upstream: CpuTensor) -> [CpuTensor; 3] {
        let upstream = whole(upstream);
        let [_, width] = dims(&upstream);
        let mut by_bias = vec![0.0; width];
        dispatch(
            #[inline(always)]
            || {
                for row in numbers(&upstream).chunks_exact(width) {
                    for (sum, x) in by_bias.iter_mut().zip(row) {
                        *sum += x;
                    }
                }
            },
        );
        let by_x = Flex::float_matmul(upstream.clone(), weight.transpose(0, 1));
        let by_weight = Flex::float_matmul(x.transpose(0, 1), upstream);
        [by_x, by_weight, matrix(by_bias, [1, width])]
    }
}

/// `silu(gate) * up`, with `silu(x) = x / (1 + e^-x)`.
///
/// # Shapes
/// - all: `[rows, width]`
#[derive(Clone, Debug)]
pub(in crate::kernels) struct Swiglu;

impl CpuOp<2> for Swiglu {
    type Saved = [CpuTensor; 2];

    fn forward(&self, inputs: [CpuTensor; 2]) -> (CpuTensor, Self::Saved) {
        let [gate, up] = inputs.map(whole);
        let ([rows, width], g, u) = (dims(&gate), numbers(&gate), numbers(&up));
        let mut out = vec![0.0; g.len()];
        rows_of(&mut out, width, |row, out| {
            let (g, u) = (&g[row * width..], &u[row * width..]);
            dispatch(
                #[inline(always)]
                || {
                    for ((out, &g), &u) in out.iter_mut().zip(g).zip(u) {
                        *out = g / (1.0 + exp(-g)) * u;
                    }
                },
            );
        });
        (matrix(out, [rows, width]), [gate, up])
    }

    fn backward(&self, [gate, up]: Self::Saved, upstream: CpuTensor) -> [CpuTensor; 2] {
        let upstream = whole(upstream);
        let ([rows, width], g, u, by) = (
            dims(&gate),
            numbers(&gate),
            numbers(&up),
            numbers(&upstream),
        );
        // both gradients side by side: each row has the one's row, then the other's
        let mut both = vec![0.0; 2 * g.len()];
        rows_of(&mut both, 2 * width, |row, both| {
            let from = row * width;
            let inputs = g[from..]
                .chunks_exact(width)
                .zip(u[from..].chunks_exact(width));
            dispatch(
                #[inline(always)]
                || {
                    for ((both, (g, u)), by) in both
                        .chunks_exact_mut(2 * width)
                        .zip(inputs)
                        .zip(by[from..].chunks_exact(width))
                    {
                        let (by_g, by_u) = both.split_at_mut(width);
                        for i in 0..width {
                            let s = 1.0 / (1.0 + exp(-g[i]));
                            by_g[i] = by[i] * u[i] * s * (1.0 + g[i] * (1.0 - s));
                            by_u[i] = by[i] * g[i] * s;
                        }
                    }
                },
            );
        });
        let both = matrix(both, [rows, 2 * width]);
        [both.narrow(1, 0, width), both.narrow(1, width, width)]
    }
}

/// Root-mean-square norm of each row, times one weight per column.
///
/// # Shapes
/// - x and output: `[rows, width]`, weight: `[1, width]`
#[derive(Clone, Debug)]
pub(in crate::kernels) struct RmsNorm {
    /// Added to the mean of squares.
    pub(in crate::kernels) epsilon: f64,
}

impl RmsNorm {
    #[inline(always)]
    fn scale(&self, row: &[f32]) -> f32 {
        (dot(row, row) / row.len() as f32 + self.epsilon as f32)
            .sqrt()
            .recip()
    }
}

impl CpuOp<2> for RmsNorm {
    type Saved = [CpuTensor; 2];

    fn forward(&self, inputs: [CpuTensor; 2]) -> (CpuTensor, Self::Saved) {
        let [x, weight] = inputs.map(whole);
        let ([rows, width], from, gamma) = (dims(&x), numbers(&x), numbers(&weight));
        let mut out = vec![0.0; from.len()];
        rows_of(&mut out, width, |row, out| {
            let from = from[row * width..].chunks_exact(width);
            dispatch(
                #[inline(always)]
                || {
                    for (out, x) in out.chunks_exact_mut(width).zip(from) {
                        let scale = self.scale(x);
                        for i in 0..width {
                            out[i] = x[i] * scale * gamma[i];
                        }
                    }
                },
            );
        });
        (matrix(out, [rows, width]), [x, weight])
    }

    fn backward(&self, [x, weight]: Self::Saved, upstream: CpuTensor) -> [CpuTensor; 2] {
        let [rows, width] = dims(&x);
        let (x, gamma) = (numbers(&x), numbers(&weight));
        let mut by = into_numbers(upstream);
        let mut by_gamma = vec![0.0; width];
        dispatch(
            #[inline(always)]
            || {
                for (by, x) in by.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
                    let scale = self.scale(x);
                    for i in 0..width {
                        by_gamma[i] += by[i] * x[i] * scale;
                        by[i] *= gamma[i];
                    }
                    let along = dot(by, x) * scale * scale * scale / width as f32;
                    for i in 0..width {
                        by[i] = by[i] * scale - x[i] * along;
                    }
                }
            },
        );
        [matrix(by, [rows, width]), matrix(by_gamma, [1, width])]
    }
}

/// Rotary position embedding of every head of a row, see [`Rope`].
///
/// # Shapes
/// - input and output: `[rows, heads * head_dim]`
#[derive(Clone, Debug)]
pub(in crate::kernels) struct Rotate(pub(crate) Rope);

impl Rotate {
    /// Turned by the angles of the positions, or back.
    fn turn(&self, x: CpuTensor, back: bool) -> CpuTensor {
        let shape = dims(&x);
        let mut x = into_numbers(x);
        let (rope, sign) = (&self.0, if back { -1.0 } else { 1.0 });
        let half = rope.half();
        rows_of(&mut x, shape[1], |first, x| {
            dispatch(
                #[inline(always)]
                || {
                    for (i, row) in x.chunks_exact_mut(shape[1]).enumerate() {
                        let (cos, sin) = rope.angles(first + i);
                        for head in row.chunks_exact_mut(2 * half) {
                            let (a, b) = head.split_at_mut(half);
                            for i in 0..half {
                                let s = sign * sin[i];
                                (a[i], b[i]) = (a[i] * cos[i] - b[i] * s, b[i] * cos[i] + a[i] * s);
                            }
                        }
                    }
                },
            );
        });
        matrix(x, shape)
    }
}

impl CpuOp<1> for Rotate {
    type Saved = ();

    fn forward(&self, [x]: [CpuTensor; 1]) -> (CpuTensor, ()) {
        (self.turn(x, false), ())
    }

    fn backward(&self, (): (), upstream: CpuTensor) -> [CpuTensor; 1] {
        [self.turn(upstream, true)]
    }
}
