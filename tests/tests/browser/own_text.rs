//! A text of the visitor's own: a question about it, and its perplexity.

use anyhow::{Context, Result};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::generate::Flow;
use drope_core::model::Model;
use drope_core::niah::OwnText;
use drope_core::perplexity::token_losses;
use drope_core::positions::Method;
use drope_core::tokenizer::Tokenizer;
use fantoccini::Locator;
use serde_json::json;

use super::driver::Browser;
use super::root;
use super::server::Server;

#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_the_visitors_is_asked_about() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu&columns=drope~rope&depth=50", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.client.find(Locator::Id("task")).await?.select_by_value("own").await?;
    // The fields begin with an example beyond the training context, which says how long it is.
    let said = browser.wait("#own-estimate", 60, |text| text.starts_with("About ")).await?;
    let tokens: usize = said.split(' ').nth(1).and_then(|word| word.parse().ok()).context("a number")?;
    assert!(tokens > 4 * 256, "{said}");
    browser.fill("own-haystack", &"word ".repeat(20_000)).await?;
    browser.wait("#own-estimate", 60, |text| text.contains("Stop ends it")).await?;
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
    browser.wait(".haystack mark.needle", 60, |text| text.contains("amber-acorn")).await?;
    browser.wait(".haystack .limit", 60, |text| text.contains("training context")).await?;
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
