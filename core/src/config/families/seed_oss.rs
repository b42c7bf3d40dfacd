//! Seed-OSS (ByteDance): a Llama whose queries, keys and values have biases, and whose heads
//! are 128 wide, unless the config says otherwise, whatever the model's width.

use serde_json::{Map, Value, json};

use super::{Decoder, Defaults, Family, GgufFamily};
use crate::config::Config;
use crate::config::architecture::Architecture;
use crate::config::fields::ConfigJson;
use crate::error::{Error, Result};

pub(super) const SEED_OSS: Family = Family {
    model_type: "seed_oss",
    class: "SeedOss",
    architecture: Architecture { qkv_bias: true, ..Architecture::LLAMA },
    defaults: Defaults { head_dim: Some(128), num_key_value_heads: Some(8), ..Family::BASE.defaults },
    mentions_biases: false,
    read,
    write,
    gguf: GgufFamily {
        architecture: "seed_oss",
        // Llama's name for the norm before the MLP.
        names: &[["post_attention_norm", "post_attention_layernorm"]],
        ..GgufFamily::HALVES
    },
    ..Family::BASE
};

const QUERIES_KEYS_VALUES: &str = "attention_bias";
const OUTPUT: &str = "attention_out_bias";

fn read(json: &mut ConfigJson, decoder: &mut Decoder) -> Result<()> {
    if let Some(has) = json.attention_bias.take() {
        decoder.architecture.qkv_bias = has;
    }
    match json.other.remove(OUTPUT) {
        None | Some(Value::Null | Value::Bool(false)) => Ok(()),
        Some(_) => Err(Error::Config(format!("{OUTPUT} is true, but a bias of attention's output is not supported"))),
    }
}

fn write(config: &Config) -> Map<String, Value> {
    let fields = [(QUERIES_KEYS_VALUES, config.architecture.qkv_bias), (OUTPUT, false)];
    fields.into_iter().map(|(name, has)| (name.to_owned(), json!(has))).collect()
}
