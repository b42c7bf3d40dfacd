//! A model and held-out documents that temperatures and LongRoPE's factors are fitted to.
//!
//! Only answers count: prose depends on little beyond its own sentence, and there is so much of it that its loss would decide
//! the fit.

use std::path::Path;

use anyhow::Result;
use burn::tensor::Device;
use drope_core::generate::Flow;
use drope_core::language::{Document, HeldOutUse, held_out_documents};
use drope_core::loaded_model::LoadedModel;
use drope_core::model::NumberTypes;
use drope_core::perplexity::token_losses;
use drope_core::positions::{Method, Positions};

use crate::files::model_folder;
use crate::interrupt;

/// A model and the documents that something of it is fitted to.
pub struct FittingContext {
    pub loaded: LoadedModel,
    pub method: Method,
    /// Number of texts by which a candidate is judged.
    pub texts: usize,
    /// What Ctrl-C makes of the work.
    pub stopped: &'static str,
    pub seed: u64,
}

impl FittingContext {
    /// Reads a model's folder.
    pub fn open(folder: &Path, texts: usize, seed: u64, device: &Device) -> Result<Self> {
        let loaded = model_folder::load(folder, NumberTypes::default(), device)?;
        let method = Method::of(&loaded.config);
        Ok(Self { loaded, method, texts, seed, stopped: "stopped; the model is unchanged" })
    }

    /// Mean cross entropy of the answers in `texts`.
    pub fn answer_loss(&self, positions: &Positions, texts: &[Document]) -> Result<f64> {
        let (mut sum, mut count) = (0.0, 0u32);
        for text in texts {
            interrupt::check(self.stopped)?;
            let losses = pollster::block_on(token_losses(
                &self.loaded.model,
                &self.loaded.config,
                positions,
                &text.ids,
                async |_| Flow::Continue,
            ))?;
            for (loss, _) in losses.iter().zip(text.answers().skip(1)).filter(|(_, is_answer)| *is_answer) {
                sum += f64::from(*loss);
                count += 1;
            }
        }
        Ok(sum / f64::from(count.max(1)))
    }

    /// The first `count` documents of `factor` times the context.
    pub fn documents(&self, factor: usize, count: usize) -> Vec<Document> {
        let encode = |text: &str| self.loaded.tokenizer.encode(text).unwrap_or_default();
        let bos = self.loaded.tokenizer.bos();
        let length = factor * self.loaded.config.max_position_embeddings;
        held_out_documents(HeldOutUse::Fitting { factor }, self.seed, length, bos, &encode).take(count).collect()
    }
}
