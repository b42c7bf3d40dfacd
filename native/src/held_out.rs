//! What is fitted to held-out text: temperatures and LongRoPE's factors.
//!
//! The text is documents of the synthetic language from seeds that training does not use, with training's keys. Only
//! answers count: the prose around them depends on little beyond its own sentence, and would drown what is fitted.

use std::path::Path;

use anyhow::Result;
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::language::{Document, DocumentMix, training_document};
use drope_core::model::Model;
use drope_core::perplexity::token_losses;
use drope_core::positions::{Method, Positions};
use drope_core::tokenizer::Tokenizer;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::{interrupt, model_folder};

/// A model and the texts that something of it is fitted to.
pub struct Subject {
    pub config: Config,
    pub tokenizer: Tokenizer,
    pub model: Model,
    pub method: Method,
    /// Texts that a candidate is judged by.
    pub texts: usize,
    pub seed: u64,
}

impl Subject {
    /// Reads a model's folder.
    pub fn open(folder: &Path, texts: usize, seed: u64, device: &Device) -> Result<Self> {
        let config = model_folder::config(folder)?;
        Ok(Self {
            tokenizer: model_folder::tokenizer(folder, &config)?,
            model: model_folder::model(folder, &config, device)?,
            method: Method::of(&config),
            config,
            texts,
            seed,
        })
    }

    /// Mean cross entropy of the answers in `texts`.
    pub fn answer_loss(&self, positions: &Positions, texts: &[Document]) -> Result<f64> {
        let (mut sum, mut count) = (0.0, 0u32);
        for text in texts {
            interrupt::check("stopped; the model is unchanged")?;
            let losses = pollster::block_on(token_losses(&self.model, &self.config, positions, &text.ids))?;
            for (loss, _) in losses.iter().zip(&text.weights[1..]).filter(|(_, weight)| **weight > 0.0) {
                sum += f64::from(*loss);
                count += 1;
            }
        }
        Ok(sum / f64::from(count.max(1)))
    }

    /// Documents of `factor` times the context, in which the answers alone have a weight.
    pub fn documents(&self, factor: usize, count: usize) -> impl Iterator<Item = Document> {
        let mix = DocumentMix { repeat: 0.0, facts: 0.0, ..DocumentMix::default() };
        // Training seeds are small numbers; these are not.
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ (0x5ca1e << 40) ^ factor as u64);
        let bos = self.config.bos_token_id.or(self.tokenizer.bos()).unwrap_or_default();
        let encode = |text: &str| self.tokenizer.encode(text).unwrap_or_default();
        let length = factor * self.config.max_position_embeddings;
        (0..count).map(move |_| {
            let mut document = training_document(&mut rng, length, &mix, bos, &encode);
            for weight in &mut document.weights {
                *weight = f32::from(*weight == mix.answer_weight);
            }
            document
        })
    }
}
