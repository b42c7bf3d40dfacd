//! Gradients of the positional biases at random weights (arXiv 2512.12167, section 3).

use anyhow::Result;
use drope_core::config::Config;
use drope_core::language::{HeldOutUse, held_out_documents};
use drope_core::model::{Model, token_ids};
use drope_core::positions::Positions;
use drope_core::probe::bias_gradients;
use drope_core::tokenizer::Tokenizer;

use crate::device::{self, DeviceChoice};
use crate::interrupt;

/// Number of tokens of the texts that gradients are taken on.
pub const TOKENS: usize = 128;

/// Norms of the gradients of both positional biases for each layer, of random weights and documents.
pub fn bias_norms(
    config: &Config,
    tokenizer: &Tokenizer,
    positions: &Positions,
    runs: usize,
    seed: u64,
    device: DeviceChoice,
) -> Result<Vec<[f64; 2]>> {
    let device = device::open(device)?.device.autodiff();
    let mut means = vec![[0.0; 2]; config.num_hidden_layers];
    for run in 0..runs as u64 {
        interrupt::check("stopped while computing gradients; the same command computes them again")?;
        let model = Model::random(config, run, &device);
        let ids = document(tokenizer, seed.wrapping_add(run));
        let ids = token_ids(&ids, [1, ids.len()], &device);
        for back in [0, 1] {
            let norms = bias_gradients(&model, config.num_hidden_layers, &ids, positions, back);
            let norms = pollster::block_on(norms)?;
            for (mean, norm) in means.iter_mut().zip(norms) {
                mean[back] += norm / runs as f64;
            }
        }
    }
    Ok(means)
}

/// A document of the synthetic language that training does not see.
pub fn document(tokenizer: &Tokenizer, seed: u64) -> Vec<u32> {
    let encode = |text: &str| tokenizer.encode(text).unwrap_or_default();
    let mut documents = held_out_documents(HeldOutUse::BiasGradients, seed, TOKENS, tokenizer.bos(), &encode);
    documents.next().map(|document| document.ids).unwrap_or_default()
}
