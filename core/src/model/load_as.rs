//! Loads a model for inference: its matrices are kept in 32, 16 or 8 bits, or as the file has them.

use std::collections::HashMap;
use std::ops::Range;

use burn::tensor::{DType, Device};

use super::projection::PackedWeights;
use super::weight_source::{Unfused, WeightSource};
use super::weights::finite_f32;
use super::{Model, NumberTypes};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::kernels::{NumberType, PackedMatrix, QuantizedFormat, QuantizedMatrix};
use crate::names::named;

/// Numbers that are read and widened at once: 4 MiB.
const PIECE: usize = 1 << 20;

named! {
    /// How matrices of weights are kept in memory.
    #[derive(Default)]
    WeightType: "type of weights in memory" {
        /// 32 bits.
        #[default]
        F32 = "f32",
        /// 16 bits: as exact as a file of such weights.
        F16 = "f16",
        /// The upper 16 bits of 32: as exact as a file of such weights.
        Bf16 = "bf16",
        /// 8 bits, and a scale for each 32 numbers of a row (Q8_0).
        Q8 = "q8",
        /// As the file has them: 4, 6 or 8 bits of a GGUF, else 16 or 32.
        Stored = "stored",
    }
}

impl Model {
    /// As [`Model::load`], with projections and embedding kept as `types` says; a few of their rows are read at a time. The model is for
    /// inference only. On GPUs, matrices of 32 bits are as [`Model::load`] makes them, and 8 is the least number of bits.
    ///
    /// # Errors
    /// As [`Model::load`], and if a weight is too large for the type.
    pub fn load_as(
        config: &Config,
        source: &impl WeightSource,
        types: NumberTypes,
        device: &Device,
    ) -> Result<(Self, Vec<String>)> {
        let is_cpu = device == &Device::flex();
        if device.is_autodiff() || !is_cpu && (types.weights == WeightType::F32 || cfg!(not(feature = "gpu"))) {
            let (mut model, unused) = Self::load(config, source, device)?;
            model.cache_type = types.cache;
            return Ok((model.compute_in(types.compute), unused));
        }
        let source = &Unfused::new(config, source);
        let mut packed = HashMap::new();
        let (mut model, unused) = Self::load_by(config, source, device, |name, shape| {
            let &[rows, columns] = shape else { return finite_f32(name, source.tensor(name, shape)?).map(Some) };
            let weights = Matrix { source, name, rows, columns }.packed(types.weights, is_cpu)?;
            packed.insert(name.to_owned(), weights.into_device(device));
            Ok(None)
        })?;
        model.take_packed(packed);
        model.cache_type = types.cache;
        Ok((model.compute_in(types.compute), unused))
    }

    /// Puts each matrix where its name says.
    fn take_packed(&mut self, mut packed: HashMap<String, PackedWeights>) {
        if let Some(matrix) = packed.remove("model.embed_tokens.weight") {
            self.embed_tokens.inference.pack(matrix);
        }
        for (name, projection) in self.projections() {
            if let Some(matrix) = packed.remove(&format!("{name}.weight")) {
                projection.inference.pack(matrix);
            }
        }
    }
}

/// A matrix `[rows, columns]` of a source.
struct Matrix<'a, S> {
    source: &'a S,
    name: &'a str,
    rows: usize,
    columns: usize,
}

impl<S: WeightSource> Matrix<'_, S> {
    fn packed(&self, kind: WeightType, is_cpu: bool) -> Result<PackedWeights> {
        let shape = [self.rows, self.columns];
        match kind {
            WeightType::F32 => self.floats(NumberType::F32),
            WeightType::F16 => self.floats(NumberType::F16),
            WeightType::Bf16 => self.floats(NumberType::Bf16),
            WeightType::Q8 if is_cpu => self.rounded(),
            WeightType::Q8 => self.floats(NumberType::Q8),
            WeightType::Stored => match self.source.quantized_rows(self.name, &shape, 0..1)? {
                Some(found) if is_cpu => self.blocks(found.format),
                Some(_) => self.floats(NumberType::Q8),
                None => match self.source.rows(self.name, &shape, 0..1)?.dtype() {
                    DType::F16 => self.floats(NumberType::F16),
                    DType::BF16 => self.floats(NumberType::Bf16),
                    _ => self.floats(NumberType::F32),
                },
            },
        }
    }

    fn floats(&self, kind: NumberType) -> Result<PackedWeights> {
        let mut matrix = PackedMatrix::new(kind, self.rows, self.columns);
        self.widened(|numbers| matrix.push(&numbers))?;
        self.fits(matrix.is_finite(), kind.name())?;
        Ok(PackedWeights::Cpu(matrix))
    }

    fn rounded(&self) -> Result<PackedWeights> {
        let mut matrix = QuantizedMatrix::new(QuantizedFormat::Q8_0, self.rows, self.columns);
        self.widened(|numbers| matrix.push_rounded(&numbers))?;
        self.fits(matrix.is_finite(), NumberType::Q8.name())?;
        Ok(PackedWeights::Quantized(matrix))
    }

    fn blocks(&self, format: QuantizedFormat) -> Result<PackedWeights> {
        let mut matrix = QuantizedMatrix::new(format, self.rows, self.columns);
        for rows in self.pieces() {
            let rows = self.source.quantized_rows(self.name, &[self.rows, self.columns], rows)?;
            matrix.push_blocks(&rows.ok_or_else(|| Error::MissingTensor(self.name.to_owned()))?.bytes);
        }
        if !matrix.is_finite() {
            return Err(Error::NotFinite(self.name.to_owned()));
        }
        Ok(PackedWeights::Quantized(matrix))
    }

    /// Finite numbers that were rounded to a type are not finite where one is too large for it.
    fn fits(&self, is_finite: bool, number_type: &'static str) -> Result<()> {
        if is_finite { Ok(()) } else { Err(Error::TooLarge { tensor: self.name.to_owned(), number_type }) }
    }

    /// Rows that are read at once, one piece after the other.
    fn pieces(&self) -> impl Iterator<Item = Range<usize>> {
        let (all, step) = (self.rows, PIECE.div_ceil(self.columns));
        (0..all).step_by(step).map(move |first| first..all.min(first + step))
    }

    /// Gives `take` the rows of all pieces, widened.
    fn widened(&self, mut take: impl FnMut(Vec<f32>)) -> Result<()> {
        for rows in self.pieces() {
            take(finite_f32(self.name, self.source.rows(self.name, &[self.rows, self.columns], rows)?)?);
        }
        Ok(())
    }
}
