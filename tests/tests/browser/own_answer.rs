//! The answer of a visitor's model about a text, in the page and natively.

use anyhow::{Context, Result};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::generate::{Flow, Options, generate};
use drope_core::loaded_model::LoadedModel;
use drope_core::model::{NumberType, NumberTypes, WeightSource, WeightType};
use drope_core::niah::OwnText;
use drope_core::positions::Method;
use drope_core::tokenizer::Tokenizer;

use super::driver::Browser;

/// The native answer about a text, computed as the page does.
pub(super) fn greedy(
    config: Config,
    tokenizer: Tokenizer,
    weights: &impl WeightSource,
    own: &OwnText,
    chat_affixes: Option<[&str; 2]>,
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
    let prompt = tokenizer.message(&own.sample(0.3)?.prompt(), chat_affixes)?;
    let positions = Method::Rope.positions(&config, 1.0)?;
    let stop = tokenizer.answer_ends(&config.eos_token_ids);
    let options = Options { max_new_tokens: 48, stop, context: 2048, ..Options::default() };
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
