//! Granite 3 (IBM): a Llama with factors of the embedding, of attention, of what is added to the residual stream, and of the logits.

use serde_json::{Map, Value, json};

use super::{Decoder, Family, GgufFamily};
use crate::config::Config;
use crate::config::fields::ConfigJson;
use crate::error::Result;

pub(super) const GRANITE: Family = Family {
    model_type: "granite",
    class: "Granite",
    read,
    write,
    gguf: GgufFamily {
        architecture: "granite",
        numbers: &[
            ["embedding_scale", EMBEDDING],
            ["attention.scale", ATTENTION],
            ["residual_scale", RESIDUAL],
            ["logit_scale", LOGITS],
        ],
        ..GgufFamily::BASE
    },
    ..Family::BASE
};

const EMBEDDING: &str = "embedding_multiplier";
const ATTENTION: &str = "attention_multiplier";
const RESIDUAL: &str = "residual_multiplier";
const LOGITS: &str = "logits_scaling";

fn read(json: &mut ConfigJson, decoder: &mut Decoder) -> Result<()> {
    let mut number = |name| json.take_number(name, 1.0);
    decoder.architecture.embedding_multiplier = number(EMBEDDING)?;
    decoder.architecture.attention_multiplier = Some(number(ATTENTION)?);
    decoder.architecture.residual_multiplier = number(RESIDUAL)?;
    decoder.architecture.logits_scaling = number(LOGITS)?;
    Ok(())
}

fn write(config: &Config) -> Map<String, Value> {
    let architecture = &config.architecture;
    let numbers = [
        (EMBEDDING, architecture.embedding_multiplier),
        (ATTENTION, architecture.attention_multiplier.unwrap_or(1.0)),
        (RESIDUAL, architecture.residual_multiplier),
        (LOGITS, architecture.logits_scaling),
    ];
    numbers.into_iter().map(|(name, number)| (name.to_owned(), json!(number))).collect()
}
