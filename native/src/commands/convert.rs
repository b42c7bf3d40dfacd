//! `core convert`: writes a model as a Hugging Face folder or as a GGUF, whichever of the two it was read from.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use drope_core::config::Config;
use drope_core::export::config_for_length;
use drope_core::gguf::write_gguf;
use drope_core::model::{ScaledQueries, StoredType};
use drope_core::positions::Method;

use crate::arguments::at_least_one;
use crate::files::model_folder::{self, CARD_FILE, ModelMetadata};
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

/// What the card of a converted folder says, by which it is known.
const WRITTEN_BY: &str = "Written by `core convert`";

/// Reads the model at `from` and writes it to the folder `to`, which must not hold one, or to the file `to` if it ends in .gguf.
pub fn convert(ConvertArgs { from, to, extension, dtype }: &ConvertArgs) -> Result<()> {
    let is_file = to.extension().is_some_and(|kind| kind == "gguf");
    let taken = if is_file { to.exists() } else { weights_files::holds_weights(to) };
    ensure!(!taken, "{} holds a model already; choose another --to", to.display());
    let card_file = to.join(CARD_FILE);
    ensure!(
        is_file || !card_file.exists() || files::read_text(&card_file)?.contains(WRITTEN_BY),
        "{} is there already; choose another --to",
        card_file.display()
    );
    let template = model_folder::chat_template(from)?;
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
        let mut unused = Vec::new();
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
        let metadata = ModelMetadata { config: &config, tokenizer: &tokenizer, chat_template: template.as_ref() };
        model_folder::copy(from, &weights, to, metadata, *dtype, &card(from, to, &config)?)?;
    }
    println!("{} parameters in {}", config.num_parameters(), to.display());
    Ok(())
}

/// The card of a converted folder: where it comes from, how long texts may be, and who opens it.
fn card(from: &Path, to: &Path, config: &Config) -> Result<String> {
    let name = |path: &Path| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let written = config.to_plain_json().unwrap_or_else(|| config.to_json());
    let written: serde_json::Value = serde_json::from_str(&written)?;
    let class = written["architectures"][0].as_str().unwrap_or_default();
    let opened = if written["auto_map"].is_null() {
        format!("transformers opens it by its own class {class}, without `trust_remote_code`.")
    } else {
        "transformers opens it by the program beside it, with `trust_remote_code=True`.".to_owned()
    };
    let is_as_smollm3 = config.has_layers_without_positions()
        && config.layer_types.iter().enumerate().all(|(at, layer)| layer.rotates == ((at + 1) % 4 != 0));
    let warning = if class.starts_with("SmolLM3") && !is_as_smollm3 {
        let instead = if config.has_layers_without_positions() {
            "llama.cpp cannot compute this model"
        } else {
            "`core convert --to MODEL.gguf` writes what llama.cpp computes rightly"
        };
        format!(
            "\n**Never give this folder to llama.cpp's own converter**: it takes every fourth layer to be without positions, whatever the \
             config says. {instead}.\n"
        )
    } else {
        String::new()
    };
    Ok(format!(
        "# {}\n\n{WRITTEN_BY} from {}. Read with the position method `{}`; trained on {} tokens, for texts of up to {}.\n\n\
         {opened}\n{warning}",
        name(to),
        name(from),
        Method::of(config).name(),
        config.max_position_embeddings,
        config.max_position_embeddings * config.extension,
    ))
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
