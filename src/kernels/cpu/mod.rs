//! Kernels of the CPU: several of Burn's operations in one pass over memory, with their gradients, in
//! the machine's widest vectors.

mod adam;
mod attention;
mod attention_gradient;
mod attention_head;
mod cache;
mod keys;
mod op;
mod pointwise;
mod reductions;
mod softmax_head;

pub(super) use adam::adam;
pub(super) use attention::Attention;
pub(super) use cache::Cache;
pub(super) use op::apply;
pub(super) use pointwise::{Affine, RmsNorm, Rotate, Swiglu};
pub(super) use reductions::{all_finite, sum_of_squares};
pub(super) use softmax_head::{log_softmax, log_softmax_gradient};
