//! `core inspect`: the config of a model, its size, and its frequencies under a method.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use drope_core::loaded_model::TOKENIZER_FILE;
use drope_core::positions::{Encoding, Method};
use drope_core::results::ModelRecord;

use crate::arguments::ModelArgs;
use crate::files::model_folder::{self, Identity};
use crate::files::weights_files;
use crate::reading::results_file;
use crate::training::training_record;

/// Arguments of `core inspect`.
#[derive(Args)]
pub struct InspectArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Also write what results files say of the model into this list: its config, size, fingerprints, and how it was trained. An
    /// earlier line about the model is replaced.
    #[arg(long)]
    json: Option<PathBuf>,
    /// With --json: also the fingerprints of the model with these heads for DoPE, files of `core dope select`.
    #[arg(long, value_delimiter = ',', requires = "json")]
    heads: Vec<PathBuf>,
}

/// Prints the config, the number of parameters and the effective frequencies.
pub fn inspect(args: &InspectArgs) -> Result<()> {
    print(&args.model)?;
    let Some(json) = &args.json else { return Ok(()) };
    let record = record(&args.model.path, &args.heads)?;
    results_file::replace(json, record, |known: &ModelRecord, record| known.model == record.model)
}

/// What results files say of a model.
fn record(folder: &Path, heads: &[PathBuf]) -> Result<ModelRecord> {
    let identity = Identity::read(folder)?;
    let of_method = |method: Method| Ok((method.name().to_owned(), identity.fingerprint(method, None)?));
    let of_heads = |path: &PathBuf| {
        let heads = model_folder::dope_heads(path)?;
        Ok((heads.label(), identity.fingerprint(Method::DopeParts, Some(&heads))?))
    };
    Ok(ModelRecord {
        model: model_folder::model_name(folder)?,
        parameters: weights_files::open(folder)?.num_parameters(),
        config: serde_json::from_str(&identity.config.to_json())?,
        fingerprints: Method::ALL
            .into_iter()
            .map(of_method)
            .chain(heads.iter().map(of_heads))
            .collect::<Result<_>>()?,
        training: training_record(folder)?,
    })
}

fn print(model: &ModelArgs) -> Result<()> {
    let (path, config) = (&model.path, &model.config()?);
    let (method, factor, positions) = (model.method(config), model.factor(config), model.positions(config)?);
    let parameters = weights_files::open(path)?.num_parameters();
    print!("{}", config.to_json());
    if weights_files::is_gguf(path) || path.join(TOKENIZER_FILE).exists() {
        println!("fingerprint in results: {}", model_folder::fingerprint(path, method, None)?);
    }
    println!("parameters: {parameters}");
    println!("method: {} at {factor} times the training context of {}", method.name(), config.max_position_embeddings);
    println!("logit scale β: {}", positions.logit_scale);
    let (kinds, _) = positions.kinds();
    for layer in &kinds {
        if kinds.len() > 1 {
            let is_of_kind = |index: &usize| positions.layer(*index) == *layer;
            let layers: Vec<String> =
                (0..config.num_hidden_layers).filter(is_of_kind).map(|index| index.to_string()).collect();
            println!("layers {}:", layers.join(", "));
        }
        if let Some(window) = layer.window {
            println!("sliding window: {window} tokens");
        }
        match &layer.encoding {
            Encoding::None => println!("frequencies: none; read without positions"),
            Encoding::Alibi { slopes } => println!("ALiBi slopes: {slopes:?}"),
            Encoding::Rotary { inv_freq, attention_factor } => {
                println!("attention factor: {attention_factor}");
                frequencies(inv_freq);
            }
            Encoding::PerHead(heads) => {
                for (head, rotation) in heads.iter().enumerate() {
                    let noise = if rotation.noise.is_some() { ", replaced by noise" } else { "" };
                    println!("head {head}{noise}:");
                    frequencies(&rotation.inv_freq);
                }
            }
            Encoding::LengthDependent(dependent) => {
                let length = (factor * config.max_position_embeddings as f64) as usize;
                let (inv_freq, attention_factor) = dependent.rotary(length);
                println!("frequencies depend on the length; at {length} tokens:");
                println!("attention factor: {attention_factor}");
                frequencies(&inv_freq);
            }
        }
    }
    Ok(())
}

fn frequencies(inv_freq: &[f64]) {
    println!("{:>4}  {:>14}  {:>15}", "pair", "radians/token", "tokens/rotation");
    for (pair, omega) in inv_freq.iter().enumerate() {
        println!("{pair:>4}  {omega:>14.8}  {:>15.1}", std::f64::consts::TAU / omega);
    }
}
