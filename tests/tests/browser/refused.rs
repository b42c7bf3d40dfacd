//! Files that are no model: refused by a sentence before they are unpacked.

use std::io::{Cursor, Write};
use std::path::PathBuf;

use anyhow::Result;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::driver::Browser;
use super::root;
use super::server::Server;

/// nano-rope with other weights: so many zeros, of which a zip is a thousandth.
fn write_bomb(path: PathBuf, zeros: usize) -> Result<PathBuf> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for file in ["config.json", "tokenizer.json"] {
        writer.start_file(file, SimpleFileOptions::default())?;
        writer.write_all(&std::fs::read(root().join("models/nano-rope").join(file))?)?;
    }
    writer.start_file("model.safetensors", SimpleFileOptions::default())?;
    let piece = vec![0; 1 << 20];
    for _ in 0..zeros >> 20 {
        writer.write_all(&piece)?;
    }
    std::fs::write(&path, writer.finish()?.into_inner())?;
    Ok(path)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zip_bomb_and_what_is_no_zip_are_refused_before_they_are_unpacked() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?screen=model&backend=cpu", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    // Larger than any model of that config, and one that could be as large but has no head.
    let large = write_bomb(folder.path().join("large.zip"), 600 << 20)?;
    let small = write_bomb(folder.path().join("small.zip"), 8 << 20)?;
    for (path, said) in [(&large, "config.json calls for"), (&small, "its header")] {
        browser.choose("model-zip", &[path]).await?;
        browser.wait(".drop #model-error", 60, |text| text.contains(said)).await?;
    }
    let text = folder.path().join("letter.zip");
    std::fs::write(&text, "Dear reader, this is a letter.")?;
    browser.choose("model-zip", &[&text]).await?;
    let said = browser.wait(".drop #model-error", 60, |text| text.contains("is not a whole zip")).await?;
    assert!(!said.contains("EOCD"), "{said}");
    assert_eq!(browser.client.execute("return document.querySelector('.stored') === null", vec![]).await?, true);
    Ok(())
}
