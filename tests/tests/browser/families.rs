//! Models of the visitor's own, of families beside Llama.

use std::path::Path;

use anyhow::{Context, Result};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::model::{Model, SafetensorsFiles};
use drope_core::niah::OwnText;
use drope_core::tokenizer::Tokenizer;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::json;

use super::driver::Browser;
use super::own_answer::{ask_about, greedy};
use super::root;
use super::server::Server;

/// A small model of a family, with random weights and nano-rope's tokenizer.
fn write_random(folder: &Path, family: &str, more: &serde_json::Value) -> Result<()> {
    let tokenizer = root().join("models/nano-rope/tokenizer.json");
    let vocab_size = Tokenizer::from_json(&std::fs::read(&tokenizer)?)?.vocab_size();
    let mut config = json!({
        "model_type": family, "vocab_size": vocab_size, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 2048,
    });
    config.as_object_mut().context("an object")?.extend(more.as_object().context("an object")?.clone());
    let text = config.to_string();
    let config = Config::from_json(&text)?;
    let weights = pollster::block_on(Model::random(&config, 11, &Device::flex()).to_safetensors())?;
    let is_fused = family == "phi3";
    std::fs::write(folder.join("config.json"), if is_fused { text } else { config.to_json() })?;
    std::fs::write(folder.join("model.safetensors"), if is_fused { fused(&weights)? } else { weights })?;
    Ok(std::fs::copy(tokenizer, folder.join("tokenizer.json")).map(drop)?)
}

/// The same weights with projections joined as in Phi-3's files.
fn fused(weights: &[u8]) -> Result<Vec<u8>> {
    const JOINED: [(&str, &[&str]); 2] =
        [("qkv_proj", &["q_proj", "k_proj", "v_proj"]), ("gate_up_proj", &["gate_proj", "up_proj"])];
    let weights = SafeTensors::deserialize(weights)?;
    let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    for name in weights.names() {
        let view = weights.tensor(name)?;
        match JOINED.iter().find(|(_, parts)| parts.iter().any(|part| name.contains(part))) {
            None => tensors.push((name.to_owned(), view.shape().to_vec(), view.data().to_vec())),
            Some((whole, parts)) if name.contains(parts[0]) => {
                let views = parts.iter().map(|part| weights.tensor(&name.replace(parts[0], part)));
                let views = views.collect::<Result<Vec<_>, _>>()?;
                let rows = views.iter().map(|view| view.shape()[0]).sum();
                let bytes = views.iter().flat_map(|view| view.data().to_vec()).collect();
                tensors.push((name.replace(parts[0], whole), vec![rows, view.shape()[1]], bytes));
            }
            // A part of one that is there.
            Some(_) => {}
        }
    }
    let views = tensors.iter().map(|(name, shape, data)| Ok((name, TensorView::new(Dtype::F32, shape.clone(), data)?)));
    let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
    Ok(safetensors::serialize(views, None)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn models_of_other_families_answer_as_natively() -> Result<()> {
    let own = OwnText {
        haystack: "The lamp beside the barn was quiet. A gentle river crossed the valley.".into(),
        needle: String::new(),
        question: "The lamp".into(),
        answer: String::new(),
    };
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu&columns=rope~drope", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    for (family, more) in [
        ("mistral", json!({ "sliding_window": 8 })),
        ("qwen2", json!({})),
        ("qwen3", json!({})),
        ("smollm3", json!({ "no_rope_layers": [1, 0] })),
        ("olmo2", json!({})),
        ("gemma3_text", json!({ "sliding_window": 8, "query_pre_attn_scalar": 16 })),
        ("phi3", json!({ "pad_token_id": 0 })),
        ("granite", json!({ "embedding_multiplier": 3.0, "attention_multiplier": 0.2, "logits_scaling": 2.5 })),
        ("seed_oss", json!({})),
    ] {
        let folder = tempfile::Builder::new().prefix(&family.replace('_', "-")).tempdir()?;
        write_random(folder.path(), family, &more)?;
        let native = {
            let read = |name: &str| std::fs::read(folder.path().join(name));
            let config = Config::from_json(&String::from_utf8(read("config.json")?)?)?;
            let tokenizer = Tokenizer::from_json(&read("tokenizer.json")?)?;
            greedy(config, tokenizer, &SafetensorsFiles::from_bytes(&read("model.safetensors")?)?, &own, None)?
        };
        let name = folder.path().file_name().context("a name")?.to_string_lossy().into_owned();
        browser.enter("model").await?;
        browser.choose("model-folder", &[folder.path()]).await?;
        browser.wait(".own-models", 60, |text| text.contains(&name)).await?;
        browser.enter("text").await?;
        browser.select("model-1", &name).await?;
        let (answer, _) = ask_about(&browser, &own).await?;
        assert_eq!(answer.trim(), native.trim(), "{family}");
    }
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}
