//! Kernels in Burn's graph of gradients.

use burn::backend::{
    Autodiff, BackendTensor, DispatchAutodiffContext, DispatchKindConversion, DispatchTensor, Flex,
    GradientCheckpointingStrategy,
};
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::NoCheckpointing;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};
use burn_flex::FlexTensor;

use super::Kernel;

/// Whether the graph keeps what the backward pass needs, and computes nothing twice.
pub(super) fn keeps_everything(tensor: &DispatchTensor) -> bool {
    tensor.autodiff == DispatchAutodiffContext::Enabled(GradientCheckpointingStrategy::Disabled)
}

/// The operation on tensors of an autodiff device of the CPU.
pub(super) fn apply<const N: usize, K: Kernel<N>>(kernel: K, inputs: [DispatchTensor; N]) -> DispatchTensor {
    let parts = inputs.map(|input| {
        let tensor: Result<BackendTensor<Autodiff<Flex>>, _> = DispatchTensor::try_into_backend(input);
        tensor.expect("the tensor is on the CPU").float().into_parts()
    });
    let mut nodes = Vec::with_capacity(N);
    let inputs = parts.map(|(primitive, node)| {
        nodes.push(node);
        primitive
    });
    let nodes = nodes.try_into().unwrap_or_else(|_| unreachable!("there is a node for each input"));
    let (output, saved) = kernel.forward(&inputs);
    let output = match Step(kernel).prepare::<NoCheckpointing>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(step) => step.finish((inputs, saved), output),
        OpsKind::UnTracked(step) => step.finish(output),
    };
    DispatchTensor::from_backend(BackendTensor::<Autodiff<Flex>>::Float(output))
}

#[derive(Clone, Debug)]
struct Step<K>(K);

impl<const N: usize, K: Kernel<N>> Backward<Flex, N> for Step<K> {
    type State = ([FlexTensor; N], K::Saved);

    fn backward(self, ops: Ops<Self::State, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let (inputs, saved) = ops.state;
        let gradient = gradients.consume::<Flex>(&ops.node);
        let of_inputs = self.0.backward(&inputs, saved, gradient);
        for (parent, gradient) in ops.parents.into_iter().zip(of_inputs) {
            if let Some(parent) = parent {
                gradients.register::<Flex>(parent.id, gradient);
            }
        }
    }
}
