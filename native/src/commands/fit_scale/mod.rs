//! `core fit-scale`: the temperature of a model without (low) positions, by perplexity on held-out text.
//!
//! In longer texts attention is spread over more keys; a factor of the logits above 1 concentrates it. Scores of retrieval
//! tasks play no part (held_out.rs).

mod head;
mod uniform;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::Args;
use drope_core::config::{Config, HeadScales};
use drope_core::language::is_made_of_tokens;
use drope_core::loaded_model::CONFIG_FILE;
use drope_core::positions::Method;

use crate::arguments::at_least_one;
use crate::device::{self, DeviceChoice};
use crate::files::{self, model_folder, weights_files};
use crate::messages::say;
use crate::reading::held_out::FittingContext;
use crate::{interrupt, threads};

/// What is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// One temperature for all heads, 1 + c·ln s.
    Uniform,
    /// One for each head, fitted at 8 times the context.
    Head,
}

/// Arguments of `core fit-scale`.
#[derive(Args)]
pub struct FitScaleArgs {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// Folder for a copy of the model with the temperature; default: the temperature is written into the model's own config.
    #[arg(long)]
    out: Option<PathBuf>,
    /// One temperature for all heads, or one for each.
    #[arg(long, value_enum, default_value = "uniform")]
    kind: Kind,
    /// Number of documents for each length.
    #[arg(long, default_value = "16", value_parser = at_least_one)]
    documents: usize,
    /// Seed of the documents.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads that compute.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    pub threads: usize,
}

/// Fits, and writes the result into the model's config or a copy of the model.
pub fn fit_and_save(args: &FitScaleArgs) -> Result<()> {
    let FitScaleArgs { model, out, kind, documents, seed, device, .. } = args;
    weights_files::check_has_config(model, "field for the temperature")?;
    if let Some(out) = out {
        ensure!(!weights_files::holds_weights(out), "{} holds a model already; choose another --out", out.display());
    }
    files::check_writable(&out.as_ref().unwrap_or(model).join(CONFIG_FILE))?;
    let config = fit(model, *kind, *documents, *seed, *device)?;
    match out {
        None => model_folder::change_config(model, &config),
        Some(out) => model_folder::copy_files(model, out, &config),
    }
}

/// The model's config with the result in it.
fn fit(folder: &Path, kind: Kind, documents: usize, seed: u64, choice: DeviceChoice) -> Result<Config> {
    let device = device::open(choice)?.device;
    let context = FittingContext::open(folder, documents, seed, &device)?;
    if !matches!(context.method, Method::Drope | Method::PDrope | Method::Nope) {
        bail!(
            "{} is read with {}, which takes no temperature; fit one to a model without positions or without low frequencies",
            folder.display(),
            context.method.name()
        );
    }
    if !is_made_of_tokens(&context.loaded.tokenizer) {
        say(format_args!(
            "warning: temperatures are fitted to documents of this program's synthetic language, of 2, 4 and 8 times {} tokens, whose words \
             are not tokens of this model; for text of your own compare some by `core eval ppl --set temperature_coefficient=0.1`",
            context.loaded.config.max_position_embeddings
        ));
    }
    interrupt::watch();
    let mut config = context.loaded.config.clone();
    match kind {
        Kind::Uniform => {
            config.temperature_coefficient = uniform::fit(&context)?;
            config.head_scales = None;
        }
        Kind::Head => {
            config.head_scales =
                Some(HeadScales { factor: head::FACTOR as f64, scales: head::fit(&context, folder, &device)? });
        }
    }
    Ok(config)
}
