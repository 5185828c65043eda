//! The same kernels in Burn's own operations, for every device.

mod adam;
mod attention;
mod cache;
mod indices;
mod pointwise;
mod reductions;
mod softmax_head;

pub(super) use adam::adam;
pub(super) use attention::attend;
pub(super) use cache::Cache;
pub(crate) use indices::indices;
pub(super) use pointwise::{rms_norm, rotate, swiglu};
pub(super) use reductions::{all_finite, sum_of_squares};
pub(super) use softmax_head::{log_softmax, log_softmax_gradient};
