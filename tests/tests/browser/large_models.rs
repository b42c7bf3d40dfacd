//! Models of 135 million parameters: they answer as natively, in bounded memory.

use std::path::Path;

use anyhow::{Context, Result};
use drope_core::config::Config;
use drope_core::gguf::Gguf;
use drope_core::model::SafetensorsFiles;
use drope_core::niah::OwnText;
use drope_core::tokenizer::Tokenizer;
use drope_tests::smollm2;
use fantoccini::Locator;
use half::f16;
use safetensors::{Dtype, tensor::TensorView};
use serde_json::json;

use super::driver::Browser;
use super::memory::PeakMemory;
use super::own_answer::{ask_about, greedy};
use super::server::Server;
use super::{keep, root};

/// Random weights of SmolLM-135M's shape in half precision, 269 MB, with nano-rope's tokenizer.
fn write_large(folder: &Path) -> Result<()> {
    let config = json!({
        "model_type": "llama", "vocab_size": 49152, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
        "num_attention_heads": 9, "num_key_value_heads": 3, "max_position_embeddings": 2048, "rope_theta": 10000.0,
        "rms_norm_eps": 1e-5, "tie_word_embeddings": true, "hidden_act": "silu",
    });
    std::fs::write(folder.join("config.json"), config.to_string())?;
    std::fs::copy(root().join("models/nano-rope/tokenizer.json"), folder.join("tokenizer.json"))?;
    let mut shapes =
        vec![("model.embed_tokens.weight".to_owned(), vec![49152, 576]), ("model.norm.weight".to_owned(), vec![576])];
    for layer in 0..30 {
        for (name, shape) in [
            ("self_attn.q_proj", vec![576, 576]),
            ("self_attn.k_proj", vec![192, 576]),
            ("self_attn.v_proj", vec![192, 576]),
            ("self_attn.o_proj", vec![576, 576]),
            ("mlp.gate_proj", vec![1536, 576]),
            ("mlp.up_proj", vec![1536, 576]),
            ("mlp.down_proj", vec![576, 1536]),
            ("input_layernorm", vec![576]),
            ("post_attention_layernorm", vec![576]),
        ] {
            shapes.push((format!("model.layers.{layer}.{name}.weight"), shape));
        }
    }
    let mut state = 88_172_645_463_325_252u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        f16::from_f32(((state >> 40) as f32 / (1u64 << 24) as f32 - 0.5) * 0.12)
    };
    let one = f16::from_f32(1.0);
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = shapes
        .into_iter()
        .map(|(name, shape)| {
            let size: usize = shape.iter().product();
            let is_norm = shape.len() == 1;
            let data = (0..size).flat_map(|_| if is_norm { one } else { random() }.to_le_bytes()).collect();
            (name, shape, data)
        })
        .collect();
    let views = tensors.iter().map(|(name, shape, data)| Ok((name, TensorView::new(Dtype::F16, shape.clone(), data)?)));
    let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
    Ok(safetensors::serialize_to_file(views, None, &folder.join("model.safetensors"))?)
}

/// Bytes that a process of the browser may take for itself with 135 million weights in 8 bits, which are 151 MB.
const MOST_MEMORY: u64 = 400_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_model_of_135_million_parameters_is_streamed_and_answers_as_natively() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("large").tempdir()?;
    write_large(folder.path())?;
    let own = OwnText {
        haystack: "The lamp beside the barn was quiet. A gentle river crossed the valley.".into(),
        needle: String::new(),
        question: "The lamp".into(),
        answer: String::new(),
    };
    let native = {
        let read = |name: &str| std::fs::read(folder.path().join(name));
        let config = Config::from_json(&String::from_utf8(read("config.json")?)?)?;
        let tokenizer = Tokenizer::from_json(&read("tokenizer.json")?)?;
        greedy(config, tokenizer, &SafetensorsFiles::from_bytes(&read("model.safetensors")?)?, &own, None)?
    };
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    let memory = PeakMemory::watch(&browser);
    let name = folder.path().file_name().context("a name")?.to_string_lossy().into_owned();
    browser.client.goto(&format!("{}?backend=cpu&columns=rope~drope", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.enter("model").await?;
    browser.choose("model-folder", &[folder.path()]).await?;
    browser.wait(".stored", 240, |text| text.contains(&name) && text.contains("134.5 million")).await?;
    browser.enter("text").await?;
    browser.select("model-1", &name).await?;
    let (answer, verdict) = ask_about(&browser, &own).await?;
    assert_eq!(answer.trim(), native.trim());
    let peak = memory.bytes();
    keep("large-model.json", &json!({ "parameters": 134_515_008, "verdict": verdict, "peak_memory_bytes": peak }))?;
    assert!((151_000_000..MOST_MEMORY).contains(&peak), "{peak} bytes");
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn smollm2_as_a_gguf_answers_as_natively() -> Result<()> {
    let path = smollm2();
    let own = OwnText {
        haystack: "France is a country in Europe — its cafés are famous.".into(),
        needle: String::new(),
        question: "The capital of France is".into(),
        answer: "Paris".into(),
    };
    let (native, native_chat) = {
        let bytes =
            std::fs::read(&path).with_context(|| format!("{}: run `cargo xtask fetch smollm2`", path.display()))?;
        let file = Gguf::open(&bytes[..])?;
        let template = file.chat_template()?.context("its chat template")?;
        let chat_affixes = template.affixes(None)?;
        let answer = |chat_affixes| greedy(file.config()?, file.tokenizer()?, &file, &own, chat_affixes);
        (answer(None)?, answer(Some(chat_affixes.each_ref().map(String::as_str)))?)
    };
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    let memory = PeakMemory::watch(&browser);
    browser.client.goto(&format!("{}?backend=cpu&columns=rope~drope", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.enter("model").await?;
    browser.choose("model-zip", &[&path]).await?;
    let name = "SmolLM2-135M-Instruct.Q4_1";
    browser.wait(".stored", 240, |text| text.contains(name) && text.contains("context 8192")).await?;
    browser.enter("text").await?;
    browser.select("model-1", name).await?;
    let (answer, verdict) = ask_about(&browser, &own).await?;
    assert_eq!(answer.trim(), native.trim());
    assert!(verdict.starts_with("Found"), "{verdict}");
    // The same text as a message, as the file's own template has it.
    browser.enter("model").await?;
    browser.wait(".stored", 60, |text| text.contains("chat messages")).await?;
    browser.client.find(Locator::Css(".stored .chat")).await?.click().await?;
    browser.enter("text").await?;
    browser.wait("#run", 60, |text| text == "Run").await?;
    let (as_message, _) = ask_about(&browser, &own).await?;
    assert_eq!(as_message.trim(), native_chat.trim());
    assert_ne!(as_message, answer);
    let peak = memory.bytes();
    keep("smollm2.json", &json!({ "verdict": verdict, "peak_memory_bytes": peak }))?;
    // The file has 98 MB.
    assert!((98_000_000..MOST_MEMORY).contains(&peak), "{peak} bytes");
    browser.screenshot("smollm2.png", ".columns").await?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}
