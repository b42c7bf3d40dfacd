//! The folders in which the page keeps models: a model stays until another one of its name is whole.

use anyhow::Result;

use super::driver::Browser;
use super::own_models::write_zip;
use super::server::Server;

/// Names of the folders in which the page keeps models.
async fn stored_folders(browser: &Browser) -> Result<Vec<String>> {
    let script = "const done = arguments[0]; (async () => {
        const top = await navigator.storage.getDirectory();
        const models = await top.getDirectoryHandle('models', {create: true});
        const names = [];
        for await (const name of models.keys()) names.push(name);
        done(names.sort());
    })();";
    Ok(serde_json::from_value(browser.client.execute_async(script, vec![]).await?)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_stays_while_another_is_written_and_what_somebody_writes_is_not_removed() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    let folder = tempfile::tempdir()?;
    browser.client.goto(&format!("{}?screen=model&backend=cpu", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    let good = write_zip(folder.path().join("mine.zip"), "", 0)?;
    browser.choose("model-zip", &[&good]).await?;
    browser.wait(".stored", 60, |text| text.contains("mine")).await?;
    let before = stored_folders(&browser).await?;
    // A broken file of the same name.
    let broken = write_zip(folder.path().join("mine.zip"), "", 1000)?;
    browser.choose("model-zip", &[&broken]).await?;
    browser.wait(".drop #model-error", 60, |text| !text.is_empty()).await?;
    browser.wait(".stored", 60, |text| text.contains("mine")).await?;
    assert_eq!(stored_folders(&browser).await?, before, "its folder stays, and nothing else does");

    // Another tab is writing a model, and what a third one left is half-written.
    let script = "const done = arguments[0]; (async () => {
        const top = await navigator.storage.getDirectory();
        const models = await top.getDirectoryHandle('models');
        await models.getDirectoryHandle('half~1', {create: true});
        await models.getDirectoryHandle('left~1', {create: true});
        navigator.locks.request('drope-model-half~1', () => {
            done(true);
            return new Promise((resolve) => { window.finish = resolve; });
        });
    })();";
    browser.client.execute_async(script, vec![]).await?;
    let good = write_zip(folder.path().join("mine.zip"), "", 0)?;
    browser.choose("model-zip", &[&good]).await?;
    let mut after = before;
    for _ in 0..600 {
        after = stored_folders(&browser).await?;
        if after == ["half~1", "mine~2"] {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(after, ["half~1", "mine~2"], "the new model takes the old one's place");
    browser.client.execute("window.finish();", vec![]).await?;
    browser.client.refresh().await?;
    browser.wait(".stored", 60, |text| text.contains("mine")).await?;
    assert_eq!(stored_folders(&browser).await?, ["mine~2"]);
    Ok(())
}
