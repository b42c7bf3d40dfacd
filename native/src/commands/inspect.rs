//! `core inspect`: the config of a model, its size, and its frequencies under a method.

use anyhow::Result;
use clap::Args;
use drope_core::loaded_model::TOKENIZER_FILE;
use drope_core::positions::Encoding;

use crate::arguments::ReadingArgs;
use crate::files::{model_folder, weights_files};

/// Arguments of `core inspect`.
#[derive(Args)]
pub struct InspectArgs {
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Prints the config, the number of parameters and the effective frequencies.
pub fn inspect(InspectArgs { reading }: &InspectArgs) -> Result<()> {
    let (folder, config) = (&reading.model, &reading.config()?);
    let (method, factor, positions) = (reading.method(config), reading.factor(config), reading.positions(config)?);
    let parameters = weights_files::open(folder)?.num_parameters();
    print!("{}", config.to_json());
    if folder.join(TOKENIZER_FILE).exists() {
        println!("fingerprint in results: {}", model_folder::fingerprint(folder, method, None)?);
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
