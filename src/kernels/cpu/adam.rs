//! A step of Adam in one pass over parameter, gradient and moments.

use super::op::take;
use crate::kernels::adam_step::AdamStep;
use crate::kernels::simd::dispatch;
use burn::tensor::{Tensor, TensorData};
use rayon::prelude::*;

/// Fewest elements that a thread is given.
const PIECE: usize = 1 << 16;

/// The parameter after the step, and its two moments.
///
/// # Shapes
/// - all: flat
pub(in crate::kernels) fn adam(
    step: AdamStep,
    value: Tensor<1>,
    gradient: Tensor<1>,
    moments: Option<[Tensor<1>; 2]>,
) -> (Tensor<1>, [Tensor<1>; 2]) {
    let (device, len) = (value.device(), gradient.dims()[0]);
    let [mut first, mut second] =
        moments.map_or_else(|| [(); 2].map(|()| vec![0.0; len]), |pair| pair.map(take));
    let (mut value, gradient) = (take(value), take(gradient));
    let piece = len.div_ceil(rayon::current_num_threads()).max(PIECE);
    let moments = first
        .par_chunks_mut(piece)
        .zip(second.par_chunks_mut(piece));
    value
        .par_chunks_mut(piece)
        .zip(gradient.par_chunks(piece))
        .zip(moments)
        .for_each(|((value, gradient), (m, v))| {
            update(step, value, gradient, m, v);
        });
    let tensor = |numbers| Tensor::from_data(TensorData::new(numbers, [len]), &device);
    (tensor(value), [tensor(first), tensor(second)])
}

fn update(
    step: AdamStep,
    value: &mut [f32],
    gradient: &[f32],
    first: &mut [f32],
    second: &mut [f32],
) {
    let AdamStep {
        clip,
        beta1,
        beta2,
        correction,
        epsilon,
        rate,
    } = step;
    let (clip, rate) = (clip as f32, rate as f32);
    dispatch(
        #[inline(always)]
        || {
            for (((x, &g), m), v) in value.iter_mut().zip(gradient).zip(first).zip(second) {
                let g = g * clip;
                *m = *m * beta1 + g * (1.0 - beta1);
                *v = *v * beta2 + g * g * (1.0 - beta2);
                *x -= *m * correction / (v.sqrt() + epsilon) * rate;
            }
        },
    );
}
