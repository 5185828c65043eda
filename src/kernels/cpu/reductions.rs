//! Numbers that sum up a whole tensor.

use super::op::read;
use crate::kernels::simd;
use burn::tensor::Tensor;

/// The sum of squares, in double precision.
pub(in crate::kernels) fn sum_of_squares<const D: usize>(tensor: Tensor<D>) -> f64 {
    read(tensor, simd::squares)
}

/// True when no value is infinite or NaN.
pub(in crate::kernels) fn all_finite<const D: usize>(tensor: Tensor<D>) -> bool {
    read(tensor, simd::all_finite)
}
