//! Models and texts of the visitor's own.

use std::collections::HashMap;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::generate::{Flow, Options, generate};
use drope_core::gguf::Gguf;
use drope_core::loaded_model::LoadedModel;
use drope_core::model::{Model, NumberType, NumberTypes, SafetensorsFiles, WeightSource, WeightType};
use drope_core::niah::OwnText;
use drope_core::perplexity::token_losses;
use drope_core::positions::Method;
use drope_core::tokenizer::Tokenizer;
use drope_tests::smollm2;
use fantoccini::Locator;
use half::f16;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::driver::Browser;
use super::memory::PeakMemory;
use super::server::Server;
use super::{keep, root};

/// nano-rope in half precision and two files, as large models come.
fn write_shards(folder: &Path) -> Result<()> {
    let source = root().join("models/nano-rope");
    for file in ["config.json", "tokenizer.json"] {
        std::fs::copy(source.join(file), folder.join(file))?;
    }
    let bytes = std::fs::read(source.join("model.safetensors"))?;
    let file = SafeTensors::deserialize(&bytes)?;
    let halve = |data: &[u8]| -> Vec<u8> {
        let numbers = data.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes")));
        numbers.flat_map(|number| f16::from_f32(number).to_le_bytes()).collect()
    };
    let mut halves: Vec<(String, Vec<usize>, Vec<u8>)> =
        file.tensors().iter().map(|(name, view)| (name.clone(), view.shape().to_vec(), halve(view.data()))).collect();
    halves.sort();
    let mut places = HashMap::new();
    for (number, part) in halves.chunks(halves.len().div_ceil(2)).enumerate() {
        let name = format!("model-0000{}-of-00002.safetensors", number + 1);
        let views =
            part.iter().map(|(tensor, shape, data)| Ok((tensor, TensorView::new(Dtype::F16, shape.clone(), data)?)));
        let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
        std::fs::write(folder.join(&name), safetensors::serialize(views, None)?)?;
        places.extend(part.iter().map(|(tensor, ..)| (tensor.clone(), name.clone())));
    }
    let index = json!({ "weight_map": places });
    Ok(std::fs::write(folder.join("model.safetensors.index.json"), index.to_string())?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_in_several_files_is_read_and_kept_until_it_is_removed() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    let folder = tempfile::Builder::new().prefix("my-rope").tempdir()?;
    write_shards(folder.path())?;
    let name = folder.path().file_name().context("a name")?.to_string_lossy().into_owned();
    let page = format!("{}?backend=cpu&extension=2&seed=5&columns=yarn~rope", server.address);
    browser.client.goto(&page).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.enter("model").await?;
    browser.choose("model-folder", &[folder.path()]).await?;
    browser.wait(".stored", 60, |text| text.contains(&name) && text.contains("context 256")).await?;
    browser.screenshot("own-model.png", ".own-models").await?;
    browser.enter("play").await?;
    browser.select("model-2", &name).await?;
    browser.select("method-2", "YaRN").await?;
    browser.click("run").await?;
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    // Half precision changes no answer of so short a text.
    assert_eq!(browser.text("answer-1").await?, browser.text("answer-2").await?);
    // It is still there after a reload, and then no longer.
    browser.client.goto(&page).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.enter("model").await?;
    browser.wait(".stored", 60, |text| text.contains(&name)).await?;
    browser.client.find(Locator::Css(".stored [aria-label^=Remove]")).await?.click().await?;
    browser.client.wait().for_element(Locator::Css("body:not(:has(.stored))")).await?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

/// nano-drope as a zip, without one of its files or the end of its weights.
pub fn write_zip(path: PathBuf, skipped: &str, cut: usize) -> Result<PathBuf> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for file in ["config.json", "tokenizer.json", "model.safetensors"].into_iter().filter(|file| *file != skipped) {
        let bytes = std::fs::read(root().join("models/nano-drope").join(file))?;
        writer.start_file(format!("some/where/{file}"), SimpleFileOptions::default())?;
        writer.write_all(if file.ends_with("safetensors") { &bytes[..bytes.len() - cut] } else { &bytes })?;
    }
    std::fs::write(&path, writer.finish()?.into_inner())?;
    Ok(path)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zip_and_an_address_are_read_and_what_is_no_model_is_refused() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    let folder = tempfile::tempdir()?;
    let zip = |name: &str, skipped: &str, cut: usize| write_zip(folder.path().join(name), skipped, cut);
    browser.client.goto(&format!("{}?backend=cpu&extension=2&columns=drope~rope", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.enter("model").await?;
    browser.choose("model-zip", &[&zip("truncated.zip", "", 1000)?]).await?;
    browser.wait(".drop #model-error", 60, |text| text.contains("damaged")).await?;
    browser.choose("model-zip", &[&zip("without.zip", "tokenizer.json", 0)?]).await?;
    browser.wait(".drop #model-error", 60, |text| text.contains("no tokenizer.json")).await?;
    browser.fill("model-address", &format!("{}models/nowhere", server.address)).await?;
    browser.client.find(Locator::Css(".drop button[type=submit]")).await?.click().await?;
    browser.wait(".drop #model-error", 60, |text| text.contains("404")).await?;
    // The browser has kept nothing of the refused models.
    assert!(browser.client.find(Locator::Css(".stored")).await.is_err());
    browser.choose("model-zip", &[&zip("my-drope.zip", "", 0)?]).await?;
    browser.wait(".stored", 60, |text| text.contains("my-drope") && text.contains("DroPE")).await?;
    browser.fill("model-address", &format!("{}models/nano-rope", server.address)).await?;
    browser.client.find(Locator::Css(".drop button[type=submit]")).await?.click().await?;
    browser.wait(".stored", 60, |text| text.contains("nano-rope")).await?;
    browser.enter("play").await?;
    browser.select("model-1", "nano-rope").await?;
    browser.select("model-2", "my-drope").await?;
    browser.click("run").await?;
    browser.wait("#column-2 .verdict", 120, |text| text.starts_with("Found")).await?;
    // A refused model and a missing file are errors of the network, which browsers log.
    let complaints = browser.complaints().await?;
    assert!(complaints.iter().all(|complaint| complaint.contains("404")), "{complaints:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_the_visitors_is_asked_about() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu&columns=drope~rope&depth=50", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.client.find(Locator::Id("task")).await?.select_by_value("own").await?;
    // The fields begin with an example beyond the training context, which says how long it is.
    let said = browser.wait("#own-estimate", 10, |text| text.starts_with("About ")).await?;
    let tokens: usize = said.split(' ').nth(1).and_then(|word| word.parse().ok()).context("a number")?;
    assert!(tokens > 4 * 256, "{said}");
    browser.fill("own-haystack", &"word ".repeat(20_000)).await?;
    browser.wait("#own-estimate", 10, |text| text.contains("Stop ends it")).await?;
    // Without a text a sentence says so.
    browser.fill("own-haystack", "").await?;
    browser.fill("own-needle", "").await?;
    browser.click("run").await?;
    browser.wait("#error", 60, |text| text.contains("there is no text")).await?;
    let config = Config::from_json(&std::fs::read_to_string(root().join("models/nano-drope/config.json"))?)?;
    let spec = drope_core::niah::Spec::new(
        drope_core::niah::Task::Single,
        drope_core::language::Values::Words,
        2 * config.max_position_embeddings,
        3,
    );
    let tokenizer = Tokenizer::from_json(&std::fs::read(root().join("models/nano-drope/tokenizer.json"))?)?;
    let prose: Vec<String> =
        drope_core::niah::sample(&spec, &tokenizer)?.haystack.into_iter().map(|sentence| sentence.text).collect();
    browser.fill("own-haystack", &prose.join(" ")).await?;
    browser.fill("own-needle", "One of the special magic numbers for amber-acorn is: 4172.").await?;
    browser.click("run").await?;
    browser.wait("#column-1 .verdict", 120, |text| text.starts_with("Found")).await?;
    browser.wait(".haystack mark.needle", 5, |text| text.contains("amber-acorn")).await?;
    browser.wait(".haystack .limit", 5, |text| text.contains("training context")).await?;
    browser.screenshot("own-text.png", ".controls").await?;
    // Both predict it as natively.
    browser.click("predict").await?;
    let own = OwnText {
        haystack: prose.join(" "),
        needle: "One of the special magic numbers for amber-acorn is: 4172.".into(),
        question: "The special magic number for amber-acorn mentioned in the provided text is:".into(),
        answer: String::new(),
    };
    for (column, method, model) in [(1, Method::Drope, "nano-drope"), (2, Method::Rope, "nano-rope")] {
        let css = format!("[aria-label='Perplexity along the text'] .answers > div:nth-child({column}) figcaption");
        let said = browser.wait(&css, 120, |text| text.contains("perplexity")).await?;
        let numbers: Vec<f64> = said.split([' ', ',', ';']).filter_map(|word| word.parse().ok()).collect();
        for (said, native) in numbers.iter().zip(native_perplexities(method, model, &own.sample(0.5)?.prompt())?) {
            assert!((said - native).abs() < 0.06 + 0.01 * native, "{method:?}: {said} on the page, {native} natively");
        }
    }
    browser.screenshot("predicted.png", "[aria-label='Perplexity along the text']").await?;
    // Dragging the strip asks again, with the needle elsewhere.
    let place = "return parseFloat(document.querySelector('.strip .needle').style.left)";
    let before = browser.client.execute(place, vec![]).await?;
    browser.fill("strip", "95").await?;
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    let after = browser.client.execute(place, vec![]).await?;
    assert!(after.as_f64() > before.as_f64(), "{before} {after}");
    // By keyboard as well, and the strip keeps the focus for the next key.
    browser.client.find(Locator::Id("strip")).await?.send_keys("\u{e014}").await?;
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    assert_eq!(
        browser.client.execute("return [document.activeElement.id, document.activeElement.value]", vec![]).await?,
        json!(["strip", "100"])
    );
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

/// Perplexities of the first and the last of 24 parts of a text.
fn native_perplexities(method: Method, model: &str, text: &str) -> Result<[f64; 2]> {
    let folder = root().join("models").join(model);
    let config = Config::from_json(&std::fs::read_to_string(folder.join("config.json"))?)?;
    let tokenizer = Tokenizer::from_json(&std::fs::read(folder.join("tokenizer.json"))?)?;
    let bytes = std::fs::read(folder.join("model.safetensors"))?;
    let model = Model::from_safetensors(&config, &bytes, &Device::flex())?;
    let ids = tokenizer.prompt(text)?;
    let extension = (ids.len() + 48).div_ceil(config.max_position_embeddings);
    let positions = method.positions(&config, extension as f64)?;
    let losses = pollster::block_on(token_losses(&model, &config, &positions, &ids, async |_| Flow::Continue))?;
    let parts: Vec<&[f32]> = losses.chunks(losses.len().div_ceil(24)).collect();
    let perplexity = |part: &[f32]| f64::from((part.iter().sum::<f32>() / part.len() as f32).exp());
    Ok([perplexity(parts[0]), perplexity(parts[parts.len() - 1])])
}

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

/// The native answer about a text, computed as the page does.
pub(super) fn greedy(
    config: Config,
    tokenizer: Tokenizer,
    weights: &impl WeightSource,
    own: &OwnText,
    around: Option<[&str; 2]>,
) -> Result<String> {
    // The page keeps the weights of large models in 8 bits or as a GGUF has them, and their cache in 16.
    let is_large = config.num_parameters() > 64_000_000;
    let embedding = [config.vocab_size, config.hidden_size];
    let is_quantized = weights.quantized_rows("model.embed_tokens.weight", &embedding, 0..1)?.is_some();
    let kind = if is_quantized { WeightType::Stored } else { WeightType::Q8 };
    let large = NumberTypes { weights: kind, cache: NumberType::F16, ..NumberTypes::default() };
    let types = if is_large { large } else { NumberTypes::default() };
    let LoadedModel { config, tokenizer, model, .. } =
        LoadedModel::new(config, tokenizer, weights, String::new(), types, &Device::flex())?;
    let prompt = tokenizer.message(&own.sample(0.3)?.prompt(), around)?;
    let positions = Method::Rope.positions(&config, 1.0)?;
    let stop = if config.eos_token_ids.is_empty() { tokenizer.sentence_ends() } else { config.eos_token_ids.clone() };
    let options = Options { max_new_tokens: 48, stop, context: 2048, crop_length: None, temperature: 0.0, seed: 0 };
    let answer = generate(&model, &config, &positions, &prompt, &options, async |_| Flow::Continue);
    Ok(tokenizer.decode(&pollster::block_on(answer)?)?)
}

/// Asks the first column about a text; its answer and its sentence.
pub(super) async fn ask_about(browser: &Browser, own: &OwnText) -> Result<(String, String)> {
    for (id, text) in [
        ("own-haystack", &own.haystack),
        ("own-needle", &own.needle),
        ("own-question", &own.question),
        ("own-answer", &own.answer),
    ] {
        browser.fill(id, text).await?;
    }
    browser.click("run").await?;
    let verdict = browser.wait("#column-1 .verdict", 400, |text| text.contains("tokens/s")).await?;
    let answer = browser.client.execute("return document.getElementById('answer-1').textContent", vec![]).await?;
    Ok((answer.as_str().context("an answer")?.to_owned(), verdict))
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
        let around = template.around(None)?;
        let answer = |around| greedy(file.config()?, file.tokenizer()?, &file, &own, around);
        (answer(None)?, answer(Some(around.each_ref().map(String::as_str)))?)
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
    browser.wait("#run", 30, |text| text == "Run").await?;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_model_for_which_the_browser_has_no_room_is_refused_and_leaves_nothing() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?room=model&backend=cpu", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    let folder = root().join("models/nano-rope");
    browser.limit_storage(&server.address, 1_000_000).await?;
    browser.choose("model-folder", &[&folder]).await?;
    let said = browser.wait(".drop #model-error", 60, |text| !text.is_empty()).await?;
    ensure!(said.contains("could not be kept in this browser") && said.contains("or free space"), "{said}");
    let kept = browser.client.execute("return document.querySelector('.stored') === null", vec![]).await?;
    assert_eq!(kept, true, "nothing half-written stays");
    browser.limit_storage(&server.address, 1_000_000_000).await?;
    browser.choose("model-folder", &[&folder]).await?;
    browser.wait(".stored", 60, |text| text.contains("nano-rope")).await?;
    Ok(())
}
