//! Numbers that sum up a whole tensor, computed where it is.

use burn::tensor::Tensor;

/// The sum of squares.
pub(in crate::kernels) fn sum_of_squares<const D: usize>(tensor: Tensor<D>) -> f64 {
    f64::from(tensor.square().sum().into_scalar::<f32>())
}

/// True when no value is infinite or NaN: a sum of absolute values keeps either.
pub(in crate::kernels) fn all_finite<const D: usize>(tensor: Tensor<D>) -> bool {
    tensor.abs().sum().into_scalar::<f32>().is_finite()
}
