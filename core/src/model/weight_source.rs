//! Where weights come from: tensors by name, whatever the files are.

use std::ops::Range;

use burn::tensor::TensorData;

use crate::config::{Architecture, Config, ProjectionNorm};
use crate::error::{Error, Result};
use crate::kernels::QuantizedFormat;

/// Tensors by the names that Hugging Face's Llama gives them.
///
/// A model takes one tensor at a time, and a large one piece by piece, so that a source can read, widen and drop each on its own.
pub trait WeightSource {
    /// Rows of the tensor `name`, which has a float type of 16 or 32 bits: `[rows, …]`. The rows of a vector are its
    /// numbers. The caller asks only for rows that the tensor has.
    ///
    /// # Errors
    /// If it is missing, of another shape than `shape`, of another type, or damaged.
    fn rows(&self, name: &str, shape: &[usize], rows: Range<usize>) -> Result<TensorData>;

    /// All rows.
    ///
    /// # Errors
    /// As [`WeightSource::rows`].
    fn tensor(&self, name: &str, shape: &[usize]) -> Result<TensorData> {
        self.rows(name, shape, 0..shape[0])
    }

    /// The same rows as the source has them, where that is in few bits.
    ///
    /// # Errors
    /// As [`WeightSource::rows`].
    fn quantized_rows(&self, name: &str, shape: &[usize], rows: Range<usize>) -> Result<Option<QuantizedRows>> {
        let (_, _, _) = (name, shape, rows);
        Ok(None)
    }

    /// Names of all tensors that there are.
    fn names(&self) -> Vec<String>;
}

/// Rows of a matrix in few bits.
pub struct QuantizedRows {
    /// How they are kept.
    pub format: QuantizedFormat,
    /// Block after block, row after row.
    pub bytes: Vec<u8>,
}

/// A source whose missing norms of queries and keys are 1: a model that gets them on recalibration was trained without
/// them.
pub(super) struct WithNewNorms<'a, S>(pub(super) &'a S);

impl<S: WeightSource> WeightSource for WithNewNorms<'_, S> {
    fn rows(&self, name: &str, shape: &[usize], rows: Range<usize>) -> Result<TensorData> {
        match self.0.rows(name, shape, rows.clone()) {
            Err(Error::MissingTensor(_)) if name.ends_with("q_norm.weight") || name.ends_with("k_norm.weight") => {
                Ok(TensorData::new(vec![1.0f32; rows.len()], [rows.len()]))
            }
            other => other,
        }
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }
}

/// A source whose fused projections (Phi-3) are read as one tensor each.
pub(crate) struct Unfused<'a, S> {
    config: &'a Config,
    source: &'a S,
}

/// A fused projection, and those whose rows it has one behind another.
const FUSED: [(&str, &[&str]); 2] =
    [("qkv_proj", &["q_proj", "k_proj", "v_proj"]), ("gate_up_proj", &["gate_proj", "up_proj"])];

/// Whether a source has fused projections: configs that this library writes are of families that have none.
pub fn has_fused_projections(source: &impl WeightSource) -> bool {
    source.names().iter().any(|name| fused(name).is_some())
}

/// The fused projection that a tensor is.
fn fused(tensor: &str) -> Option<(&'static str, &'static [&'static str])> {
    FUSED.into_iter().find(|(fused, _)| tensor.ends_with(&format!(".{fused}.weight")))
}

impl<'a, S: WeightSource> Unfused<'a, S> {
    pub(crate) fn new(config: &'a Config, source: &'a S) -> Self {
        Self { config, source }
    }

    /// Rows of a projection.
    fn height(&self, projection: &str) -> usize {
        match projection {
            "q_proj" => self.config.num_attention_heads * self.config.head_dim,
            "k_proj" | "v_proj" => self.config.num_key_value_heads * self.config.head_dim,
            _ => self.config.intermediate_size,
        }
    }

    /// What `read` finds of a tensor, or else of the fused one that has its rows.
    fn find<T>(
        &self,
        name: &str,
        shape: &[usize],
        rows: Range<usize>,
        read: impl Fn(&str, &[usize], Range<usize>) -> Result<T>,
    ) -> Result<T> {
        let missing = match read(name, shape, rows.clone()) {
            Err(Error::MissingTensor(missing)) => missing,
            other => return other,
        };
        for (fused, projections) in FUSED {
            let mut start = 0;
            for projection in projections {
                if let Some(before) = name.strip_suffix(&format!("{projection}.weight")) {
                    let height = projections.iter().map(|projection| self.height(projection)).sum();
                    let rows = start + rows.start..start + rows.end;
                    // What is missing is what was asked for.
                    return match read(&format!("{before}{fused}.weight"), &[height, shape[1]], rows) {
                        Err(Error::MissingTensor(_)) => Err(Error::MissingTensor(missing)),
                        other => other,
                    };
                }
                start += self.height(projection);
            }
        }
        Err(Error::MissingTensor(missing))
    }
}

impl<S: WeightSource> WeightSource for Unfused<'_, S> {
    fn rows(&self, name: &str, shape: &[usize], rows: Range<usize>) -> Result<TensorData> {
        self.find(name, shape, rows, |name, shape, rows| self.source.rows(name, shape, rows))
    }

    fn quantized_rows(&self, name: &str, shape: &[usize], rows: Range<usize>) -> Result<Option<QuantizedRows>> {
        self.find(name, shape, rows, |name, shape, rows| self.source.quantized_rows(name, shape, rows))
    }

    fn names(&self) -> Vec<String> {
        let parts = |name: String| match fused(&name) {
            None => vec![name],
            Some((fused, projections)) => projections.iter().map(|part| name.replace(fused, part)).collect(),
        };
        self.source.names().into_iter().flat_map(parts).collect()
    }
}

/// A source whose queries are multiplied: the weight of their norm, or else their projections' weights and biases.
pub struct ScaledQueries<'a, S> {
    source: Unfused<'a, S>,
    factor: f64,
}

impl<'a, S: WeightSource> ScaledQueries<'a, S> {
    /// Multiplies the queries of a model of this config by a factor.
    pub fn new(config: &'a Config, source: &'a S, factor: f64) -> Self {
        Self { source: Unfused::new(config, source), factor }
    }
}

impl<S: WeightSource> WeightSource for ScaledQueries<'_, S> {
    fn rows(&self, name: &str, shape: &[usize], rows: Range<usize>) -> Result<TensorData> {
        let data = self.source.rows(name, shape, rows)?;
        let Architecture { query_norm, norm_offset, .. } = self.source.config.architecture;
        let has_norm = query_norm != ProjectionNorm::None;
        let (is_scaled, offset) = match has_norm {
            true => (name.ends_with("q_norm.weight"), norm_offset),
            false => (name.ends_with("q_proj.weight") || name.ends_with("q_proj.bias"), 0.0),
        };
        if !is_scaled || self.factor == 1.0 {
            return Ok(data);
        }
        let shape = data.shape().clone();
        let scaled = |number: f32| ((offset + f64::from(number)) * self.factor - offset) as f32;
        Ok(TensorData::new(data.iter::<f32>().map(scaled).collect::<Vec<_>>(), shape))
    }

    fn names(&self) -> Vec<String> {
        self.source.names()
    }
}

/// The unused tensors, if the model can do without all of them.
///
/// # Errors
/// If one of them would change what the model computes: the config does not describe this checkpoint.
pub(super) fn check_unused(unused: Vec<String>, is_tied: bool) -> Result<Vec<String>> {
    // Old checkpoints hold the frequencies, which follow from the config; a tied model uses its embedding as output
    // projection.
    let is_redundant = |name: &str| name.ends_with("rotary_emb.inv_freq") || (is_tied && name == "lm_head.weight");
    let changes_outputs = |name: &str| name.starts_with("model.") || name.ends_with(".bias");
    match unused.iter().find(|name| changes_outputs(name) && !is_redundant(name)) {
        Some(name) => Err(Error::SurplusTensor(name.clone())),
        None => Ok(unused),
    }
}
