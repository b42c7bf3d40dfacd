//! Recalibration in the tab: its updates equal the native ones, a paused run can be continued after a reload, and
//! `core` opens the result.

use std::io::{Cursor, Read};

use anyhow::{Context, Result};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::loaded_model::LoadedModel;
use drope_core::model::{Model, NumberTypes, SafetensorsFiles};
use drope_core::positions::Method;
use drope_core::tokenizer::Tokenizer;
use drope_core::train::recipe::Recipe;
use drope_core::train::{DocumentSource, Trainer};
use fantoccini::Locator;
use safetensors::SafeTensors;
use zip::ZipArchive;

use super::driver::{Browser, SAVES};
use super::root;
use super::server::Server;

/// Mean losses of the first updates of a recipe, and the weights after them.
fn native_updates(recipe: &str, updates: usize) -> Result<(Vec<f32>, Vec<u8>)> {
    let recipe: Recipe = toml::from_str(&std::fs::read_to_string(root().join("recipes").join(recipe))?)?;
    let recipe = Recipe { steps: updates, ..recipe };
    let folder = root().join("dist/models/nano-rope");
    let config = recipe.recalibrated(&Config::from_json(&std::fs::read_to_string(folder.join("config.json"))?)?)?;
    let tokenizer = Tokenizer::from_json(&std::fs::read(folder.join("tokenizer.json"))?)?;
    let bytes = std::fs::read(folder.join("model.safetensors"))?;
    let device = Device::flex().autodiff();
    let model = Model::load_with_new_norms(&config, &SafetensorsFiles::from_bytes(&bytes)?, &device)?;
    let positions = Method::of(&config).positions(&config, 1.0)?;
    let mut trainer = Trainer::new(model, positions, recipe.hyperparameters());
    let documents = recipe.documents(&tokenizer, tokenizer.bos());
    let mut losses = Vec::new();
    for step in 0..updates {
        let report;
        (trainer, report) = pollster::block_on(trainer.step(&documents.batch(recipe.seed, step)?))?;
        losses.push(report.token_losses.iter().sum::<f32>() / report.token_losses.len() as f32);
    }
    Ok((losses, pollster::block_on(trainer.model().to_safetensors())?))
}

/// What the page keeps of a recalibration.
async fn kept_losses(browser: &Browser, name: &str) -> Result<Vec<f64>> {
    let script = "const done = arguments[1];
        navigator.storage.getDirectory().then((top) => top.getDirectoryHandle('models'))
          .then((models) => models.getDirectoryHandle(arguments[0] + '~1')).then((folder) => folder.getFileHandle('model.json'))
          .then((file) => file.getFile()).then((file) => file.text()).then((text) => done(JSON.parse(text).recalibration.losses))
          .catch((error) => done(String(error)));";
    let losses = browser.client.execute_async(script, vec![name.into()]).await?;
    losses
        .as_array()
        .with_context(|| losses.to_string())?
        .iter()
        .map(|loss| loss.as_f64().context("a number"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_updates_are_the_native_ones_and_their_zip_is_a_model() -> Result<()> {
    let (losses, weights) = native_updates("nano-p-drope.toml", 10)?;
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.before_each_page(SAVES).await?;
    browser
        .client
        .goto(&format!("{}?screen=recalibrate&backend=cpu&columns=rope~yarn&extension=2", server.address))
        .await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.client.find(Locator::Id("dropped")).await?.select_by_value("all").await?;
    browser.fill("steps", "10").await?;
    browser.click("drop").await?;
    let cost = browser.wait("#drop-cost", 120, |text| text.contains("An update takes")).await?;
    let numbers: Vec<f64> = cost.split([' ', ',']).filter_map(|word| word.trim_end_matches('.').parse().ok()).collect();
    assert!(numbers[1] > numbers[0] + 0.5, "the loss jumps: {cost}");
    browser.wait("#recalibrate", 60, |text| text == "Recalibrate").await?;
    browser.client.find(Locator::Id("dropped")).await?.select_by_value("low").await?;
    browser.click("recalibrate").await?;
    browser.wait("#recalibration", 240, |text| text.starts_with("Done: 10 updates")).await?;
    browser.wait(".recalibrate figure:nth-child(2) figcaption", 60, |text| text.contains("8× ")).await?;
    // Before and after, by depth and length; the model is asked once more after the last update.
    browser.wait("#recalibrate", 120, |text| text == "Recalibrate").await?;
    let cells = "return [...document.querySelectorAll('#before-after td')].map((cell) => cell.textContent)";
    let cells = browser.client.execute(cells, vec![]).await?;
    let cells: Vec<&str> = cells.as_array().context("cells")?.iter().filter_map(|cell| cell.as_str()).collect();
    assert_eq!(cells.len(), 40);
    assert!(cells.iter().all(|cell| cell.parse::<u8>().is_ok()), "{cells:?}");
    browser.screenshot("recalibrate.png", ".recalibrate").await?;
    browser.enter("model").await?;
    browser.wait(".stored", 60, |text| text.contains("my-partial-drope")).await?;
    browser.enter("recalibrate").await?;
    let kept = kept_losses(&browser, "my-partial-drope").await?;
    assert_eq!(kept.len(), losses.len());
    for (step, (kept, native)) in kept.iter().zip(&losses).enumerate() {
        assert!((kept - f64::from(*native)).abs() < 2e-3 * kept, "update {step}: {kept} in the tab, {native} natively");
    }
    // The page answers with it, and the zip is a folder of the same model.
    browser.click("use-recalibrated").await?;
    // It leads to where the model can be asked.
    browser.client.wait().for_element(Locator::Css("#column-3")).await?;
    browser.click("run").await?;
    browser.wait("#column-3 .verdict", 120, |text| text.contains("tokens/s")).await?;
    browser.enter("model").await?;
    browser.client.find(Locator::XPath("//button[contains(., 'Save zip of my-partial-drope')]")).await?.click().await?;
    let (name, bytes) = browser.saved().await?;
    assert_eq!(name, "my-partial-drope.zip");
    let mut zip = ZipArchive::new(Cursor::new(bytes))?;
    let mut read = |file: &str| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        zip.by_name(&format!("my-partial-drope/{file}"))?.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let config = Config::from_json(&String::from_utf8(read("config.json")?)?)?;
    assert_eq!(Method::of(&config), Method::PDrope);
    let saved = read("model.safetensors")?;
    let files = SafetensorsFiles::from_bytes(&saved)?;
    LoadedModel::new(
        config,
        Tokenizer::from_json(&read("tokenizer.json")?)?,
        &files,
        String::new(),
        NumberTypes::default(),
        &Device::flex(),
    )?;
    let [tab, native] = [&saved, &weights].map(|bytes| SafeTensors::deserialize(bytes));
    let (tab, native) = (tab?, native?);
    let numbers = |data: &[u8]| -> Vec<f32> {
        data.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes"))).collect()
    };
    for (name, tensor) in native.tensors() {
        let difference = numbers(tab.tensor(&name)?.data())
            .iter()
            .zip(numbers(tensor.data()))
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        assert!(difference < 5e-3, "{name} differs by {difference}");
    }
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_run_goes_on_after_a_reload_while_the_page_answers() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    let page = format!("{}?screen=recalibrate&backend=cpu&columns=drope~rope&extension=1", server.address);
    browser.client.goto(&page).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.click("recalibrate").await?;
    browser.wait("#recalibration", 120, |text| text.starts_with("Update 2 of 500")).await?;
    // The page answers meanwhile.
    browser.enter("play").await?;
    browser.click("run").await?;
    browser.wait("#column-1 .verdict", 120, |text| text.starts_with("Found")).await?;
    browser.enter("recalibrate").await?;
    browser.click("recalibrate").await?;
    let offer = browser.wait("#recalibrate", 60, |text| text.starts_with("Go on from update")).await?;
    let step: usize = offer.split(' ').nth(4).and_then(|word| word.parse().ok()).context("a number")?;
    let before = kept_losses(&browser, "my-partial-drope").await?;
    assert_eq!(before.len(), step);
    browser.client.goto(&page).await?;
    browser.wait("#recalibrate", 60, |text| text == offer).await?;
    browser.wait("#recalibration", 60, |text| text.starts_with("Update") && !text.contains("left")).await?;
    browser.wait(".recalibrate", 60, |text| text.contains("are computed again")).await?;
    browser.click("recalibrate").await?;
    browser.wait("#recalibration", 120, |text| text.starts_with(&format!("Update {} of 500", step + 2))).await?;
    browser.click("recalibrate").await?;
    browser.wait("#recalibrate", 60, |text| text.starts_with("Go on from update") && text != offer).await?;
    let after = kept_losses(&browser, "my-partial-drope").await?;
    assert_eq!(after[..step], before);
    // A setting that is changed is another run.
    browser.fill("rate", "0.001").await?;
    browser.wait("#recalibrate", 60, |text| text == "Recalibrate").await?;
    browser.fill("rate", "-1").await?;
    browser.click("recalibrate").await?;
    browser.wait(".recalibrate .failure", 60, |text| text.contains("schedule.peak")).await?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}
