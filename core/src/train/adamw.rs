//! Burn's AdamW with our kernels: the same state, so that checkpoints do not depend on the device.

use burn::optim::{AdamW, AdamWConfig, AdamWState, LearningRate, Optimizer};
use burn::tensor::{Device, Tensor};

use crate::kernels::AdamWStep;

const BETAS: [f32; 2] = [0.9, 0.95];
const EPSILON: f32 = 1e-8;

/// AdamW with β (.9, .95) and ε 1e-8.
#[derive(Clone)]
pub(super) struct FusedAdamW {
    plain: AdamW,
    weight_decay: f32,
}

impl FusedAdamW {
    pub(super) fn new(weight_decay: f32) -> Self {
        let [beta_1, beta_2] = BETAS;
        let config = AdamWConfig::new().with_beta_1(beta_1).with_beta_2(beta_2).with_epsilon(EPSILON);
        Self { plain: config.with_weight_decay(weight_decay).build(), weight_decay }
    }
}

impl Optimizer for FusedAdamW {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        learning_rate: LearningRate,
        weights: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamWState<D>>,
    ) -> (Tensor<D>, Option<AdamWState<D>>) {
        let mut momentum = match state {
            Some(AdamWState { momentum }) if AdamWStep::takes(&weights) => momentum,
            // On devices without our kernels, and in the first update of a run, which makes the moments.
            state => return self.plain.step(learning_rate, weights, gradient, state),
        };
        momentum.time += 1;
        let step = AdamWStep {
            betas: BETAS,
            epsilon: EPSILON,
            learning_rate,
            weight_decay: self.weight_decay.into(),
            step: momentum.time as i32,
        };
        let [weights, first, second] = step.update([weights, momentum.moment_1, momentum.moment_2], gradient);
        (momentum.moment_1, momentum.moment_2) = (first, second);
        (weights, Some(AdamWState { momentum }))
    }

    fn to_device<const D: usize>(state: AdamWState<D>, device: &Device) -> AdamWState<D> {
        AdamW::to_device(state, device)
    }
}
