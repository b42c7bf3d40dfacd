//! Models of the visitor's own: folders, archives and addresses; what is refused, and what is kept.

use std::collections::HashMap;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fantoccini::Locator;
use half::f16;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::driver::Browser;
use super::root;
use super::server::Server;

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

/// Its template is rendered by another program, and the page hears of that when the answer has begun.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_with_a_chat_template_answers_what_is_asked_at_once() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    let folder = tempfile::Builder::new().prefix("my-chat").tempdir()?;
    write_shards(folder.path())?;
    let template =
        json!({ "chat_template": "{% for message in messages %}The {{ message['content'] }} is {% endfor %}" });
    std::fs::write(folder.path().join("tokenizer_config.json"), template.to_string())?;
    let name = folder.path().file_name().context("a name")?.to_string_lossy().into_owned();
    browser.client.goto(&format!("{}?backend=cpu&tokens=8192&columns=rope~rope&embed=0", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    let ask_at_once = "const [name] = arguments;
        const timer = setInterval(() => {
            const list = document.getElementById('model-1');
            const option = [...list.options].find((option) => option.text === name);
            if (!option) return;
            clearInterval(timer);
            list.value = option.value;
            list.dispatchEvent(new Event('change', { bubbles: true }));
            document.getElementById('run').click();
        }, 1);";
    browser.client.execute(ask_at_once, vec![json!(name)]).await?;
    browser.choose("model-folder", &[folder.path()]).await?;
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    browser.enter("model").await?;
    browser.wait(".stored", 60, |text| text.contains("chat messages")).await?;
    browser.enter("play").await?;
    browser.wait("#column-1 .verdict", 1, |text| text.contains("tokens/s")).await?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
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
    for _ in 0..2 {
        browser.client.find(Locator::Css(".stored .remove")).await?.click().await?;
    }
    browser.client.wait().for_element(Locator::Css("body:not(:has(.stored))")).await?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

/// nano-drope as a zip, without one of its files or the end of its weights; before it lies a checkpoint of something else.
pub fn write_zip(path: PathBuf, skipped: &str, cut: usize) -> Result<PathBuf> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        writer.start_file(format!("some/where/checkpoint-5/{file}"), SimpleFileOptions::default())?;
        writer.write_all(b"of another model")?;
    }
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
async fn a_model_for_which_the_browser_has_no_room_is_refused_and_leaves_nothing() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?screen=model&backend=cpu", server.address)).await?;
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
