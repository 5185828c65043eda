//! A step of Adam in Burn's own operations.

use crate::kernels::adam_step::AdamStep;
use burn::tensor::Tensor;

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
    let gradient = if step.clip < 1.0 {
        gradient * step.clip
    } else {
        gradient
    };
    let (first, second) = (
        gradient.clone().mul_scalar(1.0 - step.beta1),
        gradient.square().mul_scalar(1.0 - step.beta2),
    );
    let [first, second] = match moments {
        Some([m, v]) => [
            m.mul_scalar(step.beta1) + first,
            v.mul_scalar(step.beta2) + second,
        ],
        None => [first, second],
    };
    let direction =
        first.clone().mul_scalar(step.correction) / (second.clone().sqrt() + step.epsilon);
    (value - direction.mul_scalar(step.rate), [first, second])
}
