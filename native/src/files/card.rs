//! The model card of a folder that `core convert` wrote.

use std::path::Path;

use anyhow::Result;
use drope_core::config::Config;
use drope_core::positions::Method;

use crate::files;

/// File of a model card on the Hugging Face Hub.
pub const CARD_FILE: &str = "README.md";
/// By which such a card is known.
const WRITTEN_BY: &str = "Written by `core convert`";
/// What stands behind the name of the model that was converted.
const READ_WITH: &str = ". Read with";

/// Whether a card is of such a folder.
pub fn is_ours(card: &str) -> bool {
    card.contains(WRITTEN_BY)
}

/// Writes the card of a folder again, if it is of a converted one, for the config that was written there: another class may open it.
pub fn write_again(folder: &Path, config: &Config) -> Result<()> {
    let path = folder.join(CARD_FILE);
    if !path.exists() {
        return Ok(());
    }
    let card = files::read_text(&path)?;
    let from = card.split_once(WRITTEN_BY).and_then(|(_, rest)| rest.strip_prefix(" from ")?.split_once(READ_WITH));
    match from {
        Some((from, _)) => {
            let card = of_converted(from, &files::name(folder), config, &config.to_json())?;
            files::write(&path, card.as_bytes())
        }
        None => Ok(()),
    }
}

/// The card of a converted folder, whose `config.json` is `written`: where it comes from, how long texts may be, and who opens it.
pub fn of_converted(from: &str, folder: &str, config: &Config, written: &str) -> Result<String> {
    let written: serde_json::Value = serde_json::from_str(written)?;
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
        "# {folder}\n\n{WRITTEN_BY} from {from}{READ_WITH} the position method `{}`; trained on {} tokens, for texts of up to {}.\n\n\
         {opened}\n{warning}",
        Method::of(config).name(),
        config.max_position_embeddings,
        config.max_position_embeddings * config.extension,
    ))
}
