//! Loads a model for inference: its matrices are kept row by row, in 32, 16 or 8 bits.

use std::collections::HashMap;

use burn::tensor::Device;

use super::projection::PackedWeights;
use super::weight_source::{Unfused, WeightSource};
use super::weights::finite_f32;
use super::{Model, NumberTypes};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::kernels::{NumberType, PackedMatrix};

/// Numbers that are read and widened at once: 4 MiB.
const PIECE: usize = 1 << 20;

impl Model {
    /// As [`Model::load`], with projections and embedding kept as `types` says; a few of their rows are widened at a
    /// time. The model is for inference only. On GPUs, matrices of 32 bits are as [`Model::load`] makes them.
    ///
    /// # Errors
    /// As [`Model::load`], and if a weight is too large for the type.
    pub fn load_as(
        config: &Config,
        source: &impl WeightSource,
        types: NumberTypes,
        device: &Device,
    ) -> Result<(Self, Vec<String>)> {
        let kind = types.weights;
        let is_cpu = device == &Device::flex();
        if device.is_autodiff() || !is_cpu && (kind == NumberType::F32 || cfg!(not(feature = "gpu"))) {
            let (model, unused) = Self::load(config, source, device)?;
            return Ok((model.compute_in(types.compute), unused));
        }
        let source = &Unfused::new(config, source);
        let mut packed = HashMap::new();
        let (mut model, unused) = Self::load_by(config, source, device, |name, shape| {
            let &[rows, columns] = shape else { return finite_f32(name, source.tensor(name, shape)?).map(Some) };
            let mut matrix = PackedMatrix::new(kind, rows, columns);
            let step = PIECE.div_ceil(columns);
            for first in (0..rows).step_by(step) {
                let part = source.rows(name, shape, first..rows.min(first + step))?;
                matrix.push(&finite_f32(name, part)?);
            }
            if !matrix.is_finite() {
                return Err(Error::NotFinite(name.to_owned()));
            }
            packed.insert(name.to_owned(), PackedWeights::new(matrix, device));
            Ok(None)
        })?;
        model.take_packed(packed);
        model.cache_type = types.cache;
        Ok((model.compute_in(types.compute), unused))
    }

    /// Puts each matrix where its name says.
    fn take_packed(&mut self, mut packed: HashMap<String, PackedWeights>) {
        if let Some(matrix) = packed.remove("model.embed_tokens.weight") {
            self.embed_tokens.pack(matrix);
        }
        for (name, projection) in self.projections() {
            if let Some(matrix) = packed.remove(&format!("{name}.weight")) {
                projection.pack(matrix);
            }
        }
    }
}
