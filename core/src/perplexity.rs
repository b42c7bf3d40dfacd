//! How well a model predicts a text.

use burn::tensor::{Int, Tensor, TensorData, activation::log_softmax};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::generate::CHUNK;
use crate::model::{Cache, Model};
use crate::positions::Positions;

/// Cross entropy in nats of each token but the first, given all before it. Perplexity is exp of the mean.
///
/// # Errors
/// If there are fewer than two tokens, one is outside the vocabulary, or the device fails.
pub async fn token_losses(model: &Model, config: &Config, positions: &Positions, ids: &[u32]) -> Result<Vec<f32>> {
    if ids.len() < 2 {
        return Err(Error::Zero("the number of tokens to predict"));
    }
    if let Some(&id) = ids.iter().find(|&&id| id as usize >= config.vocab_size) {
        return Err(Error::TokenId { id, vocab_size: config.vocab_size });
    }
    let device = model.device();
    let tensor = |ids: &[u32], shape: [usize; 2]| {
        let values: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
        Tensor::<2, Int>::from_data(TensorData::new(values, shape), &device)
    };
    let mut cache = Cache::new(config, positions, ids.len(), &device);
    let mut losses = Vec::with_capacity(ids.len() - 1);
    let (inputs, targets) = (&ids[..ids.len() - 1], &ids[1..]);
    for (input, target) in inputs.chunks(CHUNK).zip(targets.chunks(CHUNK)) {
        let seq = input.len();
        let logits = model.forward(tensor(input, [1, seq]), positions, Some(&mut cache)); // [1, seq, vocab]
        let log_probabilities = log_softmax(logits.reshape([seq, config.vocab_size]), 1);
        let chosen = log_probabilities.gather(1, tensor(target, [seq, 1]));
        let data = chosen.into_data_async().await.map_err(|error| Error::Device(error.to_string()))?;
        losses.extend(data.iter::<f32>().map(|log_probability| -log_probability));
    }
    Ok(losses)
}
