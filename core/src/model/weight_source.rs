//! Where weights come from: tensors by name, whatever the files are.

use std::ops::Range;

use burn::tensor::TensorData;

use crate::error::{Error, Result};

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

    /// Names of all tensors that there are.
    fn names(&self) -> Vec<String>;
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

/// A source whose queries are multiplied: their projections' weights and biases.
pub struct ScaledQueries<'a, S> {
    /// The weights.
    pub source: &'a S,
    /// What queries are multiplied by.
    pub factor: f64,
}

impl<S: WeightSource> WeightSource for ScaledQueries<'_, S> {
    fn rows(&self, name: &str, shape: &[usize], rows: Range<usize>) -> Result<TensorData> {
        let data = self.source.rows(name, shape, rows)?;
        let is_of_queries = name.ends_with("q_proj.weight") || name.ends_with("q_proj.bias");
        if !is_of_queries || self.factor == 1.0 {
            return Ok(data);
        }
        let shape = data.shape().clone();
        let scaled: Vec<f32> = data.iter::<f32>().map(|number| (f64::from(number) * self.factor) as f32).collect();
        Ok(TensorData::new(scaled, shape))
    }

    fn names(&self) -> Vec<String> {
        self.source.names()
    }
}

/// The unused tensors, if the model can do without all of them.
///
/// # Errors
/// If one of them would change what the model computes: the config does not describe this checkpoint.
pub(super) fn harmless_surplus(unused: Vec<String>, is_tied: bool) -> Result<Vec<String>> {
    // Old checkpoints hold the frequencies, which follow from the config; a tied model uses its embedding as output
    // projection.
    let is_redundant = |name: &str| name.ends_with("rotary_emb.inv_freq") || (is_tied && name == "lm_head.weight");
    let changes_outputs = |name: &str| name.starts_with("model.") || name.ends_with(".bias");
    match unused.iter().find(|name| changes_outputs(name) && !is_redundant(name)) {
        Some(name) => Err(Error::SurplusTensor(name.clone())),
        None => Ok(unused),
    }
}
