//! Operations of our own on the CPU: several of Burn's in one pass over memory, with their gradients.
//!
//! Each takes whole matrices and gives one. On other devices the plain formulas of
//! [`plain`](super::plain) stand in for them, and tests hold the two together.

mod attend;
mod cached;
mod pointwise;
#[cfg(test)]
mod tests;
pub(crate) mod vector;

pub(crate) use attend::Attend;
pub(crate) use cached::HostCache;
pub(crate) use pointwise::{Linear, RmsNorm, Rotate, Swiglu};

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, DispatchDevice, Flex};
use burn::tensor::{Device, Tensor, TensorData};
use std::fmt::Debug;

/// A tensor of the CPU backend.
pub(crate) type Host = FloatTensor<Flex>;

/// True where these operations are at home.
pub(crate) fn is_host(device: &Device) -> bool {
    match device.as_dispatch() {
        DispatchDevice::Flex(_) => true,
        DispatchDevice::Autodiff(inner) => matches!(**inner, DispatchDevice::Flex(_)),
        #[allow(unreachable_patterns, reason = "the other backends are features")]
        _ => false,
    }
}

/// An operation from `N` tensors to one.
pub(crate) trait HostOp<const N: usize>: Clone + Debug + Send + 'static {
    /// What the gradient needs.
    type Saved: Clone + Debug + Send + 'static;

    /// The result.
    fn forward(&self, inputs: [Host; N]) -> (Host, Self::Saved);

    /// The gradient by each input, given that by the result.
    fn backward(&self, saved: Self::Saved, upstream: Host) -> [Host; N];
}

/// The operation as a step of Burn's graph.
#[derive(Debug)]
struct Node<O>(O);

impl<O: HostOp<N> + Sync, const N: usize> Backward<Flex, N> for Node<O> {
    type State = O::Saved;

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<Flex>(&ops.node);
        let by_inputs = self.0.backward(ops.state, upstream);
        for (parent, by_input) in ops.parents.into_iter().zip(by_inputs) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, by_input);
            }
        }
    }
}

/// Applies an operation to tensors of the CPU, with a graph where they have one.
///
/// # Panics
/// When they live elsewhere, or some have a graph and others not.
pub(crate) fn apply<O: HostOp<N> + Sync, const N: usize>(
    op: O,
    inputs: [Tensor<2>; N],
) -> Tensor<2> {
    let here = "the tensors live on the CPU, all with a graph or all without";
    if !inputs[0].device().is_autodiff() {
        let inputs = inputs.map(|input| input.try_into_primitive::<Flex>().expect(here));
        return Tensor::from_primitive::<Flex>(op.forward(inputs).0);
    }
    let inputs = inputs.map(|input| input.try_into_primitive::<Autodiff<Flex>>().expect(here));
    let guards = std::array::from_fn(|i| inputs[i].node());
    let (output, saved) = op.forward(inputs.map(|input| input.primitive().clone()));
    let output = match Node(op)
        .prepare::<NoCheckpointing>(guards)
        .compute_bound()
        .stateful()
    {
        OpsKind::Tracked(prep) => prep.finish(saved, output),
        OpsKind::UnTracked(prep) => prep.finish(output),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

/// What `work` makes of the numbers of a tensor without a graph.
pub(crate) fn read<R, const D: usize>(tensor: Tensor<D>, work: impl FnOnce(&[f32]) -> R) -> R {
    if is_host(&tensor.device()) {
        return work(numbers(&whole(
            tensor
                .try_into_primitive::<Flex>()
                .expect("a tensor without a graph"),
        )));
    }
    work(
        &tensor
            .into_data()
            .try_into_vec::<f32>()
            .expect("weights and activations are f32"),
    )
}

/// The numbers of a tensor of the CPU without a graph, to be kept or written over; copied only where
/// others see them too.
pub(crate) fn take<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    into_numbers(
        tensor
            .try_into_primitive::<Flex>()
            .expect("a tensor of the CPU without a graph"),
    )
}

/// A tensor whose numbers stand in one row after the other.
fn whole(tensor: Host) -> Host {
    if tensor.is_contiguous() {
        tensor
    } else {
        tensor.to_contiguous()
    }
}

/// Its numbers.
fn numbers(tensor: &Host) -> &[f32] {
    tensor.as_slice().expect("made whole, and f32")
}

/// Its numbers, to be kept or written over.
fn into_numbers(tensor: Host) -> Vec<f32> {
    tensor
        .into_data()
        .try_into_vec()
        .expect("weights and activations are f32")
}

/// Rows and columns.
fn dims(tensor: &Host) -> [usize; 2] {
    let shape = tensor.layout().shape();
    [shape[0], shape[1]]
}

fn matrix(numbers: Vec<f32>, shape: [usize; 2]) -> Host {
    Host::from_data(TensorData::new(numbers, shape))
}
