//! Gradients: their sum over parts of a batch, and their global norm. Nothing here reads from the device.

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Gradients, Tensor};

use crate::kernels::{scaled, square_sum};
use crate::model::Model;

/// Gradients of a batch, or what a part of it adds to them.
pub struct BatchGradients {
    /// Gradient of each parameter.
    pub gradients: GradientsParams,
    /// Cross entropy of each predicted token in nats, row after row, in parts.
    pub token_losses: Vec<Tensor<1>>,
}

impl BatchGradients {
    /// Those of a model's parameters alone.
    pub(super) fn of(gradients: Gradients, model: &Model) -> Self {
        Self { gradients: GradientsParams::from_grads(gradients, model), token_losses: Vec::new() }
    }

    /// Adds parts in their order, from whatever devices to the model's.
    pub(super) fn add_all(&mut self, model: &Model, parts: Vec<Self>) {
        let device = model.device().inner();
        for part in parts {
            add(model, &mut self.gradients, part.gradients.to_device(&device, model));
            self.token_losses.extend(part.token_losses.into_iter().map(|losses| losses.to_device(&device)));
        }
    }
}

/// Adds gradients to those of the same parameters.
pub(super) fn add(model: &Model, total: &mut GradientsParams, part: GradientsParams) {
    model.visit(&mut Add { total, part });
}

/// Scales the gradients down to a global norm of at most `max_norm`, as PyTorch's `clip_grad_norm_` does. Returns the norm
/// before, `[1]`.
pub(super) fn clip(model: &Model, gradients: &mut GradientsParams, max_norm: f64) -> Tensor<1> {
    let mut squares = Squares { gradients, sums: Vec::new() };
    model.visit(&mut squares);
    let norm = Tensor::cat(squares.sums, 0).sum().sqrt();
    // A norm of 0 gives infinity, and so a factor of 1.
    let factor = norm.clone().recip().mul_scalar(max_norm).clamp_max(1.0);
    model.visit(&mut Scale { gradients, factor });
    norm
}

struct Squares<'a> {
    gradients: &'a GradientsParams,
    /// Σ gradient² of each parameter, `[1]`.
    sums: Vec<Tensor<1>>,
}

impl ModuleVisitor for Squares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.sums.extend(self.gradients.get::<D>(param.id).map(|gradient| square_sum(&gradient)));
    }
}

struct Scale<'a> {
    gradients: &'a mut GradientsParams,
    /// `[1]`
    factor: Tensor<1>,
}

impl ModuleVisitor for Scale<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        change::<D>(self.gradients, param.id, |gradient| scaled(gradient, &self.factor));
    }
}

struct Add<'a> {
    total: &'a mut GradientsParams,
    part: GradientsParams,
}

impl ModuleVisitor for Add<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(more) = self.part.remove::<D>(param.id) {
            let sum = match self.total.remove::<D>(param.id) {
                Some(gradient) => gradient + more,
                None => more,
            };
            self.total.register::<D>(param.id, sum);
        }
    }
}

fn change<const D: usize>(gradients: &mut GradientsParams, id: ParamId, f: impl FnOnce(Tensor<D>) -> Tensor<D>) {
    if let Some(gradient) = gradients.remove::<D>(id) {
        gradients.register::<D>(id, f(gradient));
    }
}
