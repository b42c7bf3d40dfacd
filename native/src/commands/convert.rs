//! `core convert`: writes a model as a Hugging Face folder or as a GGUF, whichever of the two it was read from.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use drope_core::config::Config;
use drope_core::export::config_for_length;
use drope_core::gguf::write_gguf;
use drope_core::model::{ScaledQueries, StoredType};

use crate::arguments::at_least_one;
use crate::files::card::{self, CARD_FILE};
use crate::files::model_folder::{self, ModelMetadata};
use crate::files::{self, weights_files};
use crate::messages::say;

/// Arguments of `core convert`.
#[derive(Args)]
pub struct ConvertArgs {
    /// Folder of the model, or a GGUF.
    #[arg(long)]
    from: PathBuf,
    /// Folder for the result, or a file that ends in .gguf.
    #[arg(long)]
    to: PathBuf,
    /// Extension factor of the texts that the result is for: other programs find that many times the training context. A temperature
    /// fitted for such texts becomes a factor of the weights.
    #[arg(long, value_parser = at_least_one)]
    extension: Option<usize>,
    /// Type of the weights: f32, f16 or bf16.
    #[arg(long, default_value = "f32")]
    dtype: StoredType,
}

/// Reads the model at `from` and writes it to the folder `to`, which must not hold one, or to the file `to` if it ends in .gguf.
pub fn convert(ConvertArgs { from, to, extension, dtype }: &ConvertArgs) -> Result<()> {
    let is_file = to.extension().is_some_and(|kind| kind == "gguf");
    let taken = if is_file { to.exists() } else { weights_files::holds_weights(to) };
    ensure!(!taken, "{} holds a model already; choose another --to", to.display());
    let card_file = to.join(CARD_FILE);
    ensure!(
        is_file || !card_file.exists() || card::is_ours(&files::read_text(&card_file)?),
        "{} is there already; choose another --to",
        card_file.display()
    );
    let config = model_folder::config(from)?;
    let tokenizer = model_folder::tokenizer(from, &config)?;
    let (config, factor) = match extension {
        Some(extension) => {
            config_for_length(&config, *extension).with_context(|| format!("cannot convert {}", from.display()))?
        }
        None => (config, 1.0),
    };
    let source = weights_files::open(from)?;
    let weights = ScaledQueries::new(&config, &source, factor);
    if is_file {
        let (template, mut unused) = (model_folder::chat_template(from)?, Vec::new());
        let bar = model_folder::bar_of_weights(&config, *dtype)?;
        let written = files::stage(to, |out| {
            unused = write_gguf(&config, &tokenizer, template.as_ref(), &weights, *dtype, &mut bar.wrap_write(out))
                .with_context(|| format!("cannot write {} as {}", from.display(), to.display()))?;
            Ok(())
        })?;
        bar.finish_and_clear();
        model_folder::warn_of_unused(from, &unused);
        written.commit()?;
        note_temperature(&config);
    } else {
        let side_files = model_folder::side_files(from)?;
        let metadata = ModelMetadata { config: &config, tokenizer: &tokenizer, side_files: &side_files };
        model_folder::copy(from, &weights, to, metadata, *dtype)?;
    }
    println!("{} parameters in {}", config.num_parameters(), to.display());
    Ok(())
}

fn note_temperature(config: &Config) {
    if config.temperature_coefficient != 0.0 {
        say(format_args!(
            "note: llama.cpp has no temperature of attention; beyond {} tokens its answers differ from those of `core`, unless --extension \
             says how long its texts are",
            config.max_position_embeddings
        ));
    }
}
