//! Saved state of an optimizer, read on the CPU.

use burn::optim::{LearningRate, Optimizer, RecordState, StateSink, StateSource};
use burn::tensor::{Device, Tensor};

/// An optimizer whose saved state is read on the CPU; the next update moves it to the gradients' device.
///
/// Burn reads it on its default device. A build with CUDA has a card as default, also on a machine without one, where reading would
/// panic.
#[derive(Clone)]
pub(super) struct ReadOnCpu<O>(pub(super) O);

/// State of such an optimizer for one parameter.
#[derive(Clone)]
pub(super) struct State<S>(S);

impl<S: RecordState> RecordState for State<S> {
    fn state_flatten(&self, prefix: &str, out: &mut StateSink) {
        self.0.state_flatten(prefix, out);
    }

    fn state_unflatten(prefix: &str, source: &mut StateSource, _: &Device) -> Option<Self> {
        S::state_unflatten(prefix, source, &Device::flex()).map(Self)
    }
}

impl<O: Optimizer> Optimizer for ReadOnCpu<O> {
    type State<const D: usize> = State<O::State<D>>;

    fn step<const D: usize>(
        &self,
        learning_rate: LearningRate,
        weights: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<State<O::State<D>>>,
    ) -> (Tensor<D>, Option<State<O::State<D>>>) {
        let (weights, state) = self.0.step(learning_rate, weights, gradient, state.map(|state| state.0));
        (weights, state.map(State))
    }

    fn to_device<const D: usize>(state: State<O::State<D>>, device: &Device) -> State<O::State<D>> {
        State(O::to_device(state.0, device))
    }
}
