//! SmolLM3: a Llama in which every fourth layer has no positions. Read as a Llama whose layers differ.

use super::{Defaults, Family, GgufFamily, LLAMA};
use crate::config::layer_types;
use crate::error::Error;

pub(in crate::config) const SMOLLM3: Family = Family {
    model_type: "smollm3",
    class: "SmolLM3",
    defaults: Defaults { rope_theta: 2_000_000.0, tie_word_embeddings: true, ..Family::BASE.defaults },
    read: |json, decoder| {
        if json.use_sliding_window.take() == Some(true) {
            return Err(Error::Config("use_sliding_window is true, but SmolLM3's windows are not supported".into()));
        }
        decoder.family = &LLAMA;
        decoder.layer_types = layer_types::of_smollm3(&mut json.other, json.num_hidden_layers)?;
        Ok(())
    },
    // llama.cpp has it, but drops the positions of every fourth layer whatever the file says.
    gguf: GgufFamily { architecture: "smollm3", ..GgufFamily::BASE },
    ..Family::BASE
};
