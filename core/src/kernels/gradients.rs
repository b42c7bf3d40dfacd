//! Kernels in Burn's graph of gradients.

use burn::backend::tensor::FloatTensor;
use burn::backend::{
    Autodiff, Backend, BackendTensor, DispatchAutodiffContext, DispatchKindConversion, DispatchTensor,
    GradientCheckpointingStrategy,
};
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::NoCheckpointing;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};

use super::Kernel;

/// Whether the graph keeps what the backward pass needs, and computes nothing twice.
pub(super) fn keeps_everything(tensor: &DispatchTensor) -> bool {
    tensor.autodiff == DispatchAutodiffContext::Enabled(GradientCheckpointingStrategy::Disabled)
}

/// The operation on tensors of an autodiff device of the backend.
pub(super) fn apply<B: Backend, const N: usize, K: Kernel<N, B>>(
    kernel: K,
    inputs: [DispatchTensor; N],
) -> DispatchTensor
where
    DispatchTensor: DispatchKindConversion<Autodiff<B>>,
{
    let parts = inputs.map(|input| {
        let tensor: Result<BackendTensor<Autodiff<B>>, _> = DispatchTensor::try_into_backend(input);
        tensor.expect("the tensor is on a device of the backend").float().into_parts()
    });
    let mut nodes = Vec::with_capacity(N);
    let inputs = parts.map(|(primitive, node)| {
        nodes.push(node);
        primitive
    });
    let nodes = nodes.try_into().unwrap_or_else(|_| unreachable!("there is a node for each input"));
    let (output, saved) = kernel.forward(&inputs);
    let step = Backward::<B, N>::prepare::<NoCheckpointing>(Step(kernel), nodes);
    let output = match step.compute_bound().stateful() {
        OpsKind::Tracked(step) => step.finish((inputs, saved), output),
        OpsKind::UnTracked(step) => step.finish(output),
    };
    DispatchTensor::from_backend(BackendTensor::<Autodiff<B>>::Float(output))
}

#[derive(Clone, Debug)]
struct Step<K>(K);

impl<B: Backend, const N: usize, K: Kernel<N, B>> Backward<B, N> for Step<K> {
    type State = ([FloatTensor<B>; N], K::Saved);

    fn backward(self, ops: Ops<Self::State, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let (inputs, saved) = ops.state;
        let gradient = gradients.consume::<B>(&ops.node);
        let of_inputs = self.0.backward(&inputs, saved, gradient);
        for (parent, gradient) in ops.parents.into_iter().zip(of_inputs) {
            if let Some(parent) = parent {
                gradients.register::<B>(parent.id, gradient);
            }
        }
    }
}
