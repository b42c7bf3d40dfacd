//! A tokenizer as values of a head.

use serde_json::Value as Json;

use super::head::Head;
use super::tokenizer::{CONTROL, USER_DEFINED, WORDS, Words, words};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;

/// Kinds of tokens beside those that are added.
const NORMAL: u64 = 1;
const UNUSED: u64 = 5;

/// Adds a byte-level BPE tokenizer.
///
/// # Errors
/// If it is another kind, or separates words in a way that llama.cpp has no name for.
pub(super) fn write_tokenizer(head: Head, config: &Config, tokenizer: &Tokenizer) -> Result<Head> {
    let json: Json =
        serde_json::from_str(&tokenizer.to_json()?).map_err(|error| Error::Tokenizer(error.to_string()))?;
    let model = &json["model"];
    let name = WORDS.into_iter().find(|name| words(name).is_some_and(|words| is_separated(&json, &words)));
    let name = name.filter(|_| model["type"] == "BPE" && model["byte_fallback"] != true);
    let name = name.ok_or_else(|| {
        Error::NoGguf(format!(
            "its tokenizer is not byte-level BPE that separates words as one of {} does",
            WORDS.join(", ")
        ))
    })?;
    // Ids that no token has are filled up, since a list has no gaps.
    let mut tokens: Vec<String> = (0..config.vocab_size).map(|id| format!("[PAD{id}]")).collect();
    let mut kinds = vec![UNUSED; config.vocab_size];
    let mut place = |id: &Json, token: &str, kind: u64| {
        if let Some(id) = id.as_u64().map(|id| id as usize).filter(|&id| id < config.vocab_size) {
            token.clone_into(&mut tokens[id]);
            kinds[id] = kind;
        }
    };
    for (token, id) in model["vocab"].as_object().into_iter().flatten() {
        place(id, token, NORMAL);
    }
    for added in json["added_tokens"].as_array().into_iter().flatten() {
        let kind = if added["special"] == true { CONTROL } else { USER_DEFINED };
        place(&added["id"], added["content"].as_str().unwrap_or_default(), kind);
    }
    let merges: Vec<String> = model["merges"].as_array().into_iter().flatten().map(merge).collect();
    let texts = |texts: &[String], name: &str, head: Head| {
        head.texts(name, &texts.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let mut head = head.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", name);
    head = texts(&tokens, "tokenizer.ggml.tokens", head);
    head = head.kinds("tokenizer.ggml.token_type", &kinds.iter().map(|&kind| kind as i32).collect::<Vec<_>>());
    head = texts(&merges, "tokenizer.ggml.merges", head);
    let bos = tokenizer.bos();
    for (name, id) in [
        ("tokenizer.ggml.bos_token_id", bos.or(config.bos_token_id)),
        ("tokenizer.ggml.eos_token_id", config.eos_token_ids.first().copied()),
    ] {
        if let Some(id) = id {
            head = head.u32(name, id);
        }
    }
    Ok(head.bool("tokenizer.ggml.add_bos_token", bos.is_some()))
}

/// "left right", in whichever of its two forms the file has a merge.
fn merge(merge: &Json) -> String {
    match merge.as_array() {
        Some(parts) => parts.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" "),
        None => merge.as_str().unwrap_or_default().to_owned(),
    }
}

/// Whether a `tokenizer.json` separates words so.
fn is_separated(json: &Json, words: &Words) -> bool {
    let same = |a: &Json, b: &Json| without_offsets(a) == without_offsets(b);
    same(&json["normalizer"], &words.normalizer)
        && same(&json["pre_tokenizer"], &words.pre_tokenizer)
        && (json["model"]["ignore_merges"] == true) == words.ignore_merges
}

/// Without what changes no id.
fn without_offsets(json: &Json) -> Json {
    match json {
        Json::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| *name != "trim_offsets");
            Json::Object(fields.map(|(name, value)| (name.clone(), without_offsets(value))).collect())
        }
        Json::Array(values) => Json::Array(values.iter().map(without_offsets).collect()),
        other => other.clone(),
    }
}
