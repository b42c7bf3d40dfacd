//! The fingerprint of a model: a hash of everything that its answers depend on. It distinguishes results of models of
//! the same name.

use serde_json::{Map, Value};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::hash::short_hash;
use crate::language::{HeldOutUse, Values, held_out_documents};
use crate::niah::{self, Spec, Task};
use crate::positions::Method;
use crate::tokenizer::Tokenizer;

/// A hash of the weights, of what the config says of how they are read, of the tokenizer, of the wording of the questions,
/// and of the method's [`revision`].
///
/// What changes no answer is left out: names of the architecture, fields that are not set or not ours, heads of DoPE where
/// `method` is none of DoPE's, and the layout of the tokenizer's file.
///
/// # Errors
/// If the config or the tokenizer cannot be expressed as JSON, or a question cannot be drawn.
pub fn fingerprint(config: &Config, tokenizer: &Tokenizer, weights_hash: &str, method: Method) -> Result<String> {
    let heads = config.dope_heads.clone().filter(|_| method.is_dope());
    let parts = [
        weights_hash.to_owned(),
        config_fields(&Config { dope_heads: heads, other: Map::new(), ..config.clone() })?,
        tokenizer_fields(tokenizer)?,
        questions(tokenizer)?,
        revision(method).to_string(),
    ];
    // As a JSON list, in which the borders between the parts count too.
    Ok(short_hash(&[Value::from(parts.to_vec()).to_string().as_bytes()]))
}

/// A number to increase when a method is changed to compute other logits from the same config, so that its results are
/// measured again.
fn revision(method: Method) -> u32 {
    match method {
        // In revision 1, every query had the frequencies of the text up to it.
        Method::DynamicNtk => 2,
        _ => 1,
    }
}

fn object(json: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(json).map_err(|error| Error::Results(error.to_string()))
}

/// Fields of the config that are set: a field that a later version adds changes nothing as long as it is absent, false or
/// 0.0. An id of 0 is set.
fn config_fields(config: &Config) -> Result<String> {
    let mut fields = object(&config.to_json())?;
    let is_set = |value: &Value| !(value.is_null() || value == false || value.is_f64() && value.as_f64() == Some(0.0));
    fields.retain(|name, value| is_set(value) && !["architectures", "auto_map", "model_type"].contains(&&**name));
    Ok(Value::from(fields).to_string())
}

/// The fields that decide how text becomes ids and ids become text, and the ids before every prompt; these stand for
/// the post-processor, of which nothing else is used.
fn tokenizer_fields(tokenizer: &Tokenizer) -> Result<String> {
    let mut fields = object(&tokenizer.to_json()?)?;
    fields.retain(|name, value| {
        !value.is_null() && ["added_tokens", "normalizer", "pre_tokenizer", "model", "decoder"].contains(&&**name)
    });
    fields.insert("prompt".into(), tokenizer.prefix().into());
    Ok(Value::from(fields).to_string())
}

/// A question of each kind and a held-out document, so that other words, other keys and another filler make other
/// fingerprints.
fn questions(tokenizer: &Tokenizer) -> Result<String> {
    let mut text = String::new();
    // Newer tasks are left out, so that models keep the fingerprints of their older results.
    for task in [Task::Single, Task::MultiKey, Task::MultiQuery, Task::MultiValue, Task::Passkey] {
        for values in Values::ALL {
            let spec = Spec::new(task, values, 2048, 0);
            let sample = niah::sample(&spec, tokenizer)?;
            text.push_str(&format!("{}\n{}\n", sample.prompt(), sample.expected()));
        }
    }
    let bytes = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
    let mut documents = held_out_documents(HeldOutUse::Perplexity { index: 0 }, 0, 2048, None, &bytes);
    let ids = documents.next().map(|document| document.ids).unwrap_or_default();
    text.extend(ids.into_iter().filter_map(char::from_u32));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::fingerprint;
    use crate::config::{Config, HeadScales};
    use crate::language::tokenizer_corpus;
    use crate::positions::Method;
    use crate::tokenizer::Tokenizer;

    fn config() -> Config {
        Config::from_json(include_str!("../../../tests/fixtures/rope/config.json")).unwrap()
    }

    fn tokenizer(corpus: &[&str]) -> Tokenizer {
        let words = tokenizer_corpus(1, &crate::language::DocumentMix::default())
            .into_iter()
            .chain(corpus.iter().map(|&word| word.to_owned()));
        Tokenizer::train(words.collect()).unwrap()
    }

    #[test]
    fn whatever_changes_an_answer_changes_the_fingerprint() {
        let of = |config: &Config| fingerprint(config, &tokenizer(&[]), "weights", Method::Rope).unwrap();
        let plain = config();
        assert_eq!(of(&plain), of(&plain.clone()));
        let scales = vec![vec![1.1; plain.num_attention_heads]; plain.num_hidden_layers];
        for other in [
            Config { bos_token_id: Some(0), ..plain.clone() },
            Config { bos_token_id: Some(1), ..plain.clone() },
            Config { rms_norm_eps: 1e-4, ..plain.clone() },
            Config { head_scales: Some(HeadScales { factor: 8.0, scales }), ..plain.clone() },
            Config { eos_token_ids: vec![0], ..plain.clone() },
        ] {
            assert_ne!(of(&Config { bos_token_id: None, ..plain.clone() }), of(&other), "{other:?}");
        }
        let other = [("torch_dtype".to_owned(), "float32".into())].into_iter().collect();
        assert_eq!(of(&plain), of(&Config { other, ..plain.clone() }), "a field that is not ours");
        let with = |tokenizer: &Tokenizer, weights| fingerprint(&plain, tokenizer, weights, Method::Rope).unwrap();
        assert_ne!(with(&tokenizer(&[]), "weights"), with(&tokenizer(&[]), "others"));
        // A word that no question has is an id that another word may have had.
        assert_ne!(with(&tokenizer(&[]), "weights"), with(&tokenizer(&["unheard"]), "weights"));
    }

    #[test]
    fn the_layout_of_files_does_not_change_it() {
        let tokenizer = tokenizer(&[]);
        let compact: serde_json::Value = serde_json::from_str(&tokenizer.to_json().unwrap()).unwrap();
        let mut again = compact.clone();
        again["truncation"] = serde_json::json!({
            "direction": "Right", "max_length": 4096, "strategy": "LongestFirst", "stride": 0
        });
        let of = |json: &serde_json::Value| {
            let tokenizer = Tokenizer::from_json(json.to_string().as_bytes()).unwrap();
            fingerprint(&config(), &tokenizer, "weights", Method::Rope).unwrap()
        };
        assert_eq!(of(&compact), of(&again));
    }
}
