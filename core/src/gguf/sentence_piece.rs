//! SentencePiece's BPE, as Llama 2's and TinyLlama's: GGUF has a score for each token, `tokenizer.json` a list of merges.

use std::collections::{HashMap, HashSet};

use serde_json::{Value as Json, json};

use super::metadata::Metadata;
use crate::error::{Error, Result};

/// The tokenizer of a file: its merges follow from the scores, as in transformers' converter.
pub(super) fn read(metadata: &Metadata, tokens: &[&str], vocabulary: &HashMap<&str, usize>) -> Result<Json> {
    let scores = metadata.numbers("tokenizer.ggml.scores")?;
    if scores.len() != tokens.len() {
        return Err(Error::Gguf(format!("it has {} tokens but {} scores", tokens.len(), scores.len())));
    }
    let mut merges: Vec<(f64, [usize; 2])> = Vec::new();
    for (token, &score) in tokens.iter().zip(&scores) {
        let mut found: Vec<[usize; 2]> =
            cuts(token).filter_map(|(left, right)| Some([*vocabulary.get(left)?, *vocabulary.get(right)?])).collect();
        found.sort_unstable();
        merges.extend(found.into_iter().map(|pair| (score, pair)));
    }
    // Stable, so that merges of one score keep the order of their tokens.
    merges.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let merges: Vec<[&str; 2]> = merges.into_iter().map(|(_, pair)| pair.map(|id| tokens[id])).collect();
    let name = "tokenizer.ggml.add_space_prefix";
    let prefix = metadata.optional_bool(name)?.unwrap_or(true);
    let mut decoders = vec![
        json!({ "type": "Replace", "pattern": { "String": "▁" }, "content": " " }),
        json!({ "type": "ByteFallback" }),
        json!({ "type": "Fuse" }),
    ];
    if prefix {
        decoders.push(json!({ "type": "Strip", "content": " ", "start": 1, "stop": 0 }));
    }
    let unknown = metadata.optional_u64("tokenizer.ggml.unknown_token_id")?.and_then(|id| tokens.get(id as usize));
    Ok(json!({
        "normalizer": normalizer(prefix),
        "pre_tokenizer": null,
        "post_processor": null,
        "decoder": { "type": "Sequence", "decoders": decoders },
        "model": {
            "type": "BPE", "dropout": null, "unk_token": unknown, "continuing_subword_prefix": null, "end_of_word_suffix": null,
            "fuse_unk": true, "byte_fallback": true, "ignore_merges": false, "vocab": vocabulary, "merges": merges,
        },
    }))
}

/// Every way to cut a token in two.
fn cuts(token: &str) -> impl Iterator<Item = (&str, &str)> {
    token.char_indices().skip(1).map(|(cut, _)| token.split_at(cut))
}

/// Spaces as tokens have them, and one before the text where `prefix` says so.
pub(super) fn normalizer(prefix: bool) -> Json {
    let replace = json!({ "type": "Replace", "pattern": { "String": " " }, "content": "▁" });
    let normalizers =
        if prefix { vec![json!({ "type": "Prepend", "prepend": "▁" }), replace] } else { vec![replace] };
    json!({ "type": "Sequence", "normalizers": normalizers })
}

/// What llama.cpp needs in addition to the tokens.
pub(super) struct Scored {
    /// The score of each token that merges produce; other tokens are never produced.
    pub(super) scores: HashMap<String, f32>,
    /// Whether a space is put before the text.
    pub(super) prefix: bool,
}

/// Scores that give the same merges as a `tokenizer.json`; `None` if that is a tokenizer of another kind.
///
/// # Errors
/// If no scores give these merges: llama.cpp always merges the pair that makes the token with the highest score.
pub(super) fn scored(tokenizer: &Json) -> Result<Option<Scored>> {
    let model = &tokenizer["model"];
    let prefix = [true, false].into_iter().find(|&prefix| tokenizer["normalizer"] == normalizer(prefix));
    let is_plain = model["type"] == "BPE" && model["byte_fallback"] == true && tokenizer["pre_tokenizer"].is_null();
    let Some(prefix) = prefix.filter(|_| is_plain && model["ignore_merges"] != true) else { return Ok(None) };
    let refuse = |token: &str| Error::NoGguf(format!("the merges to {token} in its tokenizer need several scores"));
    let merges: Vec<[String; 2]> = model["merges"].as_array().into_iter().flatten().filter_map(pair).collect();
    let mut scores: HashMap<String, f32> = HashMap::new();
    let mut last = String::new();
    for token in merges.iter().map(|pair| pair.concat()) {
        if token != last {
            let rank = scores.len() as f32;
            if scores.insert(token.clone(), -rank).is_some() {
                return Err(refuse(&token));
            }
            last = token;
        }
    }
    let merges: HashSet<[&str; 2]> = merges.iter().map(|pair| pair.each_ref().map(String::as_str)).collect();
    let Some(vocabulary) = model["vocab"].as_object() else { return Ok(None) };
    let is_missing = |(left, right): (&str, &str)| {
        vocabulary.contains_key(left) && vocabulary.contains_key(right) && !merges.contains(&[left, right])
    };
    // Added tokens are found in the text before it is merged.
    let added: HashSet<&str> = tokenizer["added_tokens"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|token| token["content"].as_str())
        .collect();
    let mut merged = vocabulary.keys().filter(|token| !added.contains(token.as_str()));
    match merged.find(|token| cuts(token).any(is_missing)) {
        Some(token) => Err(refuse(token)),
        None => Ok(Some(Scored { scores, prefix })),
    }
}

/// A merge, in whichever of its two forms the file has it.
pub(super) fn pair(merge: &Json) -> Option<[String; 2]> {
    match merge {
        Json::Array(parts) => match &parts[..] {
            [left, right] => Some([left.as_str()?.to_owned(), right.as_str()?.to_owned()]),
            _ => None,
        },
        _ => merge.as_str()?.split_once(' ').map(|(left, right)| [left.to_owned(), right.to_owned()]),
    }
}
