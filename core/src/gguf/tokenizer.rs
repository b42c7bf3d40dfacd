//! Makes a tokenizer of the values in the header: the `tokenizer.json` that a Hugging Face folder would have.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use super::metadata::Metadata;
use super::sentence_piece;
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;

/// Kinds of tokens in `tokenizer.ggml.token_type`.
pub(super) const UNKNOWN: u64 = 2;
pub(super) const CONTROL: u64 = 3;
pub(super) const USER_DEFINED: u64 = 4;

/// What separates words before they are cut into tokens: Llama 3's, and Qwen 2's, which has digits one by one.
const LLAMA_3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN_2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Names under which llama.cpp separates words as Llama 3 does.
const LLAMA_3_NAMES: [&str; 3] = ["llama-bpe", "llama3", "llama-v3"];

/// The value that names how words are separated.
const PRE: &str = "tokenizer.ggml.pre";

/// The tokenizer of a file.
pub(super) fn tokenizer(metadata: &Metadata) -> Result<Tokenizer> {
    let tokens = metadata.texts("tokenizer.ggml.tokens")?;
    let kinds = kinds(metadata, tokens.len())?;
    let mut parts = match metadata.text("tokenizer.ggml.model")? {
        "gpt2" => byte_level(metadata, &tokens)?,
        "llama" => sentence_piece::read(metadata, &tokens, &vocabulary(&tokens))?,
        other => {
            return Err(Error::Gguf(format!("its tokenizer is of the kind {other}, but only gpt2 and llama are read")));
        }
    };
    let added =
        tokens.iter().zip(&kinds).enumerate().filter(|(_, (_, kind))| [UNKNOWN, CONTROL, USER_DEFINED].contains(kind));
    // Files do not say whether the spaces behind a token belong to it. As in llama.cpp, those of Phi-3 do, as Hugging Face's files have it.
    let has_phi3_tokens =
        metadata.text("general.architecture")? == "phi3" && metadata.text("tokenizer.ggml.model")? == "llama";
    let takes_spaces = |token: &&str| has_phi3_tokens && !["<unk>", "<s>", "<|endoftext|>"].contains(token);
    let added: Vec<Json> = added
        .map(|(id, (token, &kind))| {
            json!({
                "id": id, "content": token, "single_word": false, "lstrip": false,
                "rstrip": takes_spaces(token), "normalized": false,
                "special": kind != USER_DEFINED,
            })
        })
        .collect();
    parts["version"] = json!("1.0");
    parts["added_tokens"] = Json::Array(added);
    let adds_bos = metadata.optional_bool("tokenizer.ggml.add_bos_token")?;
    if adds_bos.unwrap_or(adds_bos_by_default(metadata)?) {
        let id = metadata.u64("tokenizer.ggml.bos_token_id")? as usize;
        let token = tokens
            .get(id)
            .ok_or_else(|| Error::Gguf(format!("its beginning-of-text token {id} is not in its vocabulary")))?;
        let [bos, text] = [
            json!({ "SpecialToken": { "id": token, "type_id": 0 } }),
            json!({ "Sequence": { "id": "A", "type_id": 0 } }),
        ];
        parts["post_processor"] = json!({
            "type": "TemplateProcessing",
            "single": [bos, text],
            "pair": [bos, text, { "Sequence": { "id": "B", "type_id": 1 } }],
            "special_tokens": { *token: { "id": token, "ids": [id], "tokens": [token] } },
        });
    }
    Tokenizer::from_json(parts.to_string().as_bytes())
}

/// Whether llama.cpp begins texts with a token where the file does not say: with SentencePiece and with Llama 3's words.
fn adds_bos_by_default(metadata: &Metadata) -> Result<bool> {
    let is_sentence_piece = metadata.text("tokenizer.ggml.model")? == "llama";
    Ok(is_sentence_piece || metadata.has(PRE) && LLAMA_3_NAMES.contains(&metadata.text(PRE)?))
}

fn kinds(metadata: &Metadata, tokens: usize) -> Result<Vec<u64>> {
    let kinds: Vec<u64> = metadata.numbers("tokenizer.ggml.token_type")?.into_iter().map(|kind| kind as u64).collect();
    if kinds.len() != tokens {
        return Err(Error::Gguf(format!("it has {tokens} tokens but {} token types", kinds.len())));
    }
    Ok(kinds)
}

/// Ids by token. If a token occurs twice, the first id counts, as in llama.cpp.
fn vocabulary<'a>(tokens: &[&'a str]) -> HashMap<&'a str, usize> {
    let mut vocabulary = HashMap::new();
    for (id, token) in tokens.iter().enumerate() {
        vocabulary.entry(*token).or_insert(id);
    }
    vocabulary
}

/// How words are separated, by the names that llama.cpp gives it.
pub(super) const WORDS: [&str; 4] = ["gpt-2", "llama-bpe", "smollm", "qwen2"];

/// What separates words before they are cut into tokens.
pub(super) struct Words {
    pub(super) normalizer: Json,
    pub(super) pre_tokenizer: Json,
    /// Whether a word that is a token stays whole, whatever the merges say.
    pub(super) ignore_merges: bool,
}

/// How words are separated under a name.
pub(super) fn words(kind: &str) -> Option<Words> {
    let bytes = |use_regex: bool| json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex });
    let sequence = |first: Json, second: Json| json!({ "type": "Sequence", "pretokenizers": [first, second] });
    let split = |pattern: &str| {
        let split =
            json!({ "type": "Split", "pattern": { "Regex": pattern }, "behavior": "Isolated", "invert": false });
        sequence(split, bytes(false))
    };
    let (normalizer, pre_tokenizer, ignore_merges) = match kind {
        "gpt-2" => (Json::Null, bytes(true), false),
        kind if LLAMA_3_NAMES.contains(&kind) => (Json::Null, split(LLAMA_3), true),
        "smollm" => (Json::Null, sequence(json!({ "type": "Digits", "individual_digits": true }), bytes(true)), false),
        "qwen2" => (json!({ "type": "NFC" }), split(QWEN_2), false),
        _ => return None,
    };
    Some(Words { normalizer, pre_tokenizer, ignore_merges })
}

/// Byte-level BPE, as GPT-2's, Llama 3's, SmolLM's and Qwen 2's.
fn byte_level(metadata: &Metadata, tokens: &[&str]) -> Result<Json> {
    let kind = if metadata.has(PRE) { metadata.text(PRE)? } else { "default" };
    let Some(Words { normalizer, pre_tokenizer, ignore_merges }) = words(kind) else {
        return Err(Error::Gguf(format!(
            "its words are separated as in {kind}, but only {} are read",
            WORDS.join(", ")
        )));
    };
    let merges = metadata.texts("tokenizer.ggml.merges")?;
    Ok(json!({
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": null,
        "decoder": { "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true },
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
            "fuse_unk": false, "byte_fallback": false, "ignore_merges": ignore_merges, "vocab": vocabulary(tokens), "merges": merges,
        },
    }))
}
