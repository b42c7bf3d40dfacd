//! Writes a tokenizer as values of a header.

use serde_json::Value as Json;

use super::builder::GgufBuilder;
use super::sentence_piece::{self, Scored, pair};
use super::tokenizer::{CONTROL, UNKNOWN, USER_DEFINED, WORDS, Words, words};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;

/// Types of tokens other than added ones.
const NORMAL: u64 = 1;
const UNUSED: u64 = 5;
const BYTE: u64 = 6;
/// The score of tokens that no merge produces: bytes, single characters, added tokens.
const NEVER_MERGED: f32 = -1e9;

/// Adds a BPE tokenizer, of bytes or SentencePiece's.
///
/// # Errors
/// If the tokenizer is of another kind, or llama.cpp cannot express it.
pub(super) fn write_tokenizer(head: GgufBuilder, config: &Config, tokenizer: &Tokenizer) -> Result<GgufBuilder> {
    let json: Json =
        serde_json::from_str(&tokenizer.to_json()?).map_err(|error| Error::Tokenizer(error.to_string()))?;
    let model = &json["model"];
    let scored = sentence_piece::scored(&json)?;
    // Ids without a token get a placeholder, since the list has no gaps.
    let mut tokens: Vec<String> = (0..config.vocab_size).map(|id| format!("[PAD{id}]")).collect();
    let mut kinds = vec![UNUSED; config.vocab_size];
    let mut place = |id: &Json, token: &str, kind: u64| {
        if let Some(id) = id.as_u64().map(|id| id as usize).filter(|&id| id < config.vocab_size) {
            token.clone_into(&mut tokens[id]);
            kinds[id] = kind;
        }
    };
    for (token, id) in model["vocab"].as_object().into_iter().flatten() {
        place(id, token, if scored.is_some() && is_byte(token) { BYTE } else { NORMAL });
    }
    let mut unknown = None;
    for added in json["added_tokens"].as_array().into_iter().flatten() {
        let content = added["content"].as_str().unwrap_or_default();
        let is_unknown = scored.is_some() && model["unk_token"] == content;
        let kind = match added["special"] == true {
            _ if is_unknown => UNKNOWN,
            true => CONTROL,
            false => USER_DEFINED,
        };
        unknown = unknown.or(added["id"].as_u64().filter(|_| is_unknown));
        place(&added["id"], content, kind);
    }
    let names: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let mut head = head.texts("tokenizer.ggml.tokens", &names);
    head = head.i32s("tokenizer.ggml.token_type", &kinds.iter().map(|&kind| kind as i32).collect::<Vec<_>>());
    head = match scored {
        Some(Scored { scores, prefix }) => {
            let scores: Vec<f32> =
                names.iter().map(|&token| scores.get(token).copied().unwrap_or(NEVER_MERGED)).collect();
            head.text("tokenizer.ggml.model", "llama")
                .text("tokenizer.ggml.pre", "default")
                .f32s("tokenizer.ggml.scores", &scores)
                .bool("tokenizer.ggml.add_space_prefix", prefix)
        }
        None => byte_level(head, &json)?,
    };
    let bos = tokenizer.bos();
    for (name, id) in [
        ("tokenizer.ggml.bos_token_id", bos.or(config.bos_token_id)),
        ("tokenizer.ggml.eos_token_id", config.eos_token_ids.first().copied()),
        ("tokenizer.ggml.unknown_token_id", unknown.map(|id| id as u32)),
    ] {
        if let Some(id) = id {
            head = head.u32(name, id);
        }
    }
    Ok(head.bool("tokenizer.ggml.add_bos_token", bos.is_some()))
}

/// How words are separated, and the merges.
fn byte_level(head: GgufBuilder, json: &Json) -> Result<GgufBuilder> {
    let model = &json["model"];
    let name = WORDS.into_iter().find(|name| words(name).is_some_and(|words| is_separated(json, &words)));
    let name = name.filter(|_| model["type"] == "BPE" && model["byte_fallback"] != true);
    let name = name.ok_or_else(|| {
        Error::NoGguf(format!(
            "its tokenizer is neither SentencePiece's BPE nor byte-level BPE that separates words as one of {} does",
            WORDS.join(", ")
        ))
    })?;
    let merges = model["merges"].as_array().into_iter().flatten().filter_map(pair);
    let merges: Vec<String> = merges.map(|pair| pair.join(" ")).collect();
    let merges: Vec<&str> = merges.iter().map(String::as_str).collect();
    let head = head.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", name);
    Ok(head.texts("tokenizer.ggml.merges", &merges))
}

/// Whether a token stands for one byte: `<0x0A>`.
fn is_byte(token: &str) -> bool {
    let digits = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    digits.is_some_and(|digits| digits.len() == 2 && u8::from_str_radix(digits, 16).is_ok())
}

/// Whether a `tokenizer.json` separates words in this way.
fn is_separated(json: &Json, words: &Words) -> bool {
    let same = |a: &Json, b: &Json| without_offsets(a) == without_offsets(b);
    same(&json["normalizer"], &words.normalizer)
        && same(&json["pre_tokenizer"], &words.pre_tokenizer)
        && (json["model"]["ignore_merges"] == true) == words.ignore_merges
}

/// The same JSON without `trim_offsets`, which changes no id.
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
