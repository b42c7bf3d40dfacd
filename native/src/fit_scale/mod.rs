//! `core fit-scale`: the temperature of a model without (low) positions, by perplexity on held-out text.
//!
//! Longer texts spread attention thinner; a factor of the logits gathers it again. The text is documents of the
//! synthetic language from seeds that training does not use, with training's keys; scores of retrieval tasks play no
//! part. Only answers count: the prose around them depends on little beyond its own sentence, and would drown what the
//! temperature is for.

mod head;
mod uniform;

use std::path::Path;

use anyhow::Result;
use drope_core::config::{Config, HeadScales};
use drope_core::language::{Document, DocumentMix, training_document};
use drope_core::model::Model;
use drope_core::positions::Method;
use drope_core::tokenizer::Tokenizer;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::device::{self, DeviceChoice};
use crate::{interrupt, model_folder};

/// What is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// One temperature for all heads, 1 + c·ln s.
    Uniform,
    /// One for each head, fitted at 8 times the context.
    Head,
}

/// A model and the texts it is fitted to.
struct Subject {
    config: Config,
    tokenizer: Tokenizer,
    model: Model,
    method: Method,
    documents: usize,
    seed: u64,
}

/// Fits and writes the result into the model's config.
pub fn run(folder: &Path, kind: Kind, documents: usize, seed: u64, choice: DeviceChoice) -> Result<()> {
    let config = model_folder::config(folder)?;
    let device = device::open(choice)?.device;
    let device = if kind == Kind::Head { device.autodiff() } else { device };
    let subject = Subject {
        tokenizer: model_folder::tokenizer(folder, &config)?,
        model: model_folder::model(folder, &config, &device)?,
        method: Method::of(&config),
        config,
        documents,
        seed,
    };
    interrupt::watch()?;
    let mut config = subject.config.clone();
    match kind {
        Kind::Uniform => {
            config.temperature_coefficient = uniform::fit(&subject)?;
            config.head_scales = None;
        }
        Kind::Head => {
            config.head_scales = Some(HeadScales { factor: head::FACTOR as f64, scales: head::fit(&subject)? });
        }
    }
    model_folder::save_config(folder, &config)
}

impl Subject {
    /// Documents of `factor` times the context, in which the answers alone have a weight.
    fn documents(&self, factor: usize, count: usize) -> impl Iterator<Item = Document> {
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
