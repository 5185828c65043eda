//! Operations on tensors of the CPU as steps of Burn's graph, and the way to the numbers of such tensors.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Flex};
use burn::tensor::{Tensor, TensorData};
use std::fmt::Debug;

/// A tensor of the CPU backend, without a graph.
pub(in crate::kernels) type CpuTensor = FloatTensor<Flex>;

/// An operation from `N` tensors to one.
pub(in crate::kernels) trait CpuOp<const N: usize>:
    Clone + Debug + Send + 'static
{
    /// What the gradient needs.
    type Saved: Clone + Debug + Send + 'static;

    /// The result.
    fn forward(&self, inputs: [CpuTensor; N]) -> (CpuTensor, Self::Saved);

    /// The gradient by each input, given that by the result.
    fn backward(&self, saved: Self::Saved, upstream: CpuTensor) -> [CpuTensor; N];
}

/// The operation as a step of Burn's graph.
#[derive(Debug)]
struct Node<O>(O);

impl<O: CpuOp<N> + Sync, const N: usize> Backward<Flex, N> for Node<O> {
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
pub(in crate::kernels) fn apply<O: CpuOp<N> + Sync, const N: usize>(
    op: O,
    inputs: [Tensor<2>; N],
) -> Tensor<2> {
    let expected = "the tensors live on the CPU, all with a graph or all without";
    if !inputs[0].device().is_autodiff() {
        let inputs = inputs.map(|input| input.try_into_primitive::<Flex>().expect(expected));
        return Tensor::from_primitive::<Flex>(op.forward(inputs).0);
    }
    let inputs = inputs.map(|input| {
        input
            .try_into_primitive::<Autodiff<Flex>>()
            .expect(expected)
    });
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

/// The tensor beneath one of Burn's.
///
/// # Panics
/// When it lives elsewhere or has a graph.
pub(super) fn primitive<const D: usize>(tensor: Tensor<D>) -> CpuTensor {
    tensor
        .try_into_primitive::<Flex>()
        .expect("a tensor of the CPU without a graph")
}

/// The numbers of a tensor without a graph, to be kept or written over; copied only where others see
/// them too.
pub(super) fn take<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    into_numbers(primitive(tensor))
}

/// What `work` makes of the numbers of a tensor without a graph.
pub(super) fn read<R, const D: usize>(tensor: Tensor<D>, work: impl FnOnce(&[f32]) -> R) -> R {
    work(numbers(&whole(primitive(tensor))))
}

/// The tensor with its numbers one row after the other.
pub(super) fn whole(tensor: CpuTensor) -> CpuTensor {
    if tensor.is_contiguous() {
        tensor
    } else {
        tensor.to_contiguous()
    }
}

/// The numbers of a tensor made [`whole`].
pub(super) fn numbers(tensor: &CpuTensor) -> &[f32] {
    tensor.as_slice().expect("made whole, and f32")
}

/// The numbers of a tensor, to be kept or written over.
pub(super) fn into_numbers(tensor: CpuTensor) -> Vec<f32> {
    tensor
        .into_data()
        .try_into_vec()
        .expect("weights and activations are f32")
}

/// Rows and columns.
pub(super) fn dims(tensor: &CpuTensor) -> [usize; 2] {
    let shape = tensor.layout().shape();
    [shape[0], shape[1]]
}

/// A tensor of these rows and columns.
pub(super) fn matrix(numbers: Vec<f32>, shape: [usize; 2]) -> CpuTensor {
    CpuTensor::from_data(TensorData::new(numbers, shape))
}
