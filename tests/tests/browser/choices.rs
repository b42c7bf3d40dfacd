//! What a visitor and the page both choose, and what is said of choices that cannot be followed.

use std::time::Duration;

use anyhow::{Result, bail};
use fantoccini::Locator;
use serde_json::{Value, json};

use super::driver::Browser;
use super::server::Server;

/// Waits until a script gives a value.
async fn until(browser: &Browser, script: &str, expected: impl Into<Value>) -> Result<()> {
    let (expected, mut last) = (expected.into(), Value::Null);
    for _ in 0..1200 {
        last = browser.client.execute(script, vec![]).await?;
        if last == expected {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bail!("{script} is {last} after a minute, not {expected}")
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_show_what_is_chosen_whoever_chose_it() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu&columns=drope~rope", server.address)).await?;
    browser.wait("#run", 60, |text| text == "Run").await?;
    for method in ["yarn", "drope", "rope"] {
        browser.client.find(Locator::Id("method-1")).await?.select_by_value(method).await?;
    }
    // A model of the study brings its own method.
    browser.client.find(Locator::Id("model-1")).await?.select_by_value("study-drope-copies").await?;
    let shown = "return [document.getElementById('method-1').value, new URL(location).searchParams.get('columns')]";
    let shown = browser.client.execute(shown, vec![]).await?;
    assert_eq!(shown[0], "drope", "{shown}");
    assert!(shown[1].as_str().unwrap_or_default().starts_with("drope"), "{shown}");
    // So does the screen of the visitor's text.
    for task in ["own", "single"] {
        browser.client.find(Locator::Id("task")).await?.select_by_value(task).await?;
    }
    browser.enter("text").await?;
    assert_eq!(browser.client.execute("return document.getElementById('task').value", vec![]).await?, "own");
    // Readers of a screen hear where they are, and the history has names; after a reload too.
    assert!(browser.client.title().await?.starts_with("Your text"));
    browser.client.refresh().await?;
    browser.wait("#run", 60, |text| text == "Run").await?;
    assert!(browser.client.title().await?.starts_with("Your text"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_no_text_are_refused_and_leave_the_text_alone() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu&screen=text", server.address)).await?;
    browser.wait("#run", 60, |text| text == "Run").await?;
    let folder = tempfile::tempdir()?;
    let [text, program, long] = ["words.txt", "program.txt", "long.txt"].map(|name| folder.path().join(name));
    std::fs::write(&text, "The old house stood there.")?;
    std::fs::write(&program, [0x7f, b'E', b'L', b'F', 0, 0xff])?;
    std::fs::write(&long, vec![b'a'; 5_000_000])?;
    let held = "return document.getElementById('own-haystack').value";
    browser.choose("own-file", &[&text]).await?;
    until(&browser, held, "The old house stood there.").await?;
    for (path, words) in [(&program, "program.txt cannot be read as text"), (&long, "long.txt has 5.0 MB")] {
        browser.choose("own-file", &[path]).await?;
        browser.wait("#error", 60, |text| text.contains(words)).await?;
        assert_eq!(browser.client.execute(held, vec![]).await?, "The old house stood there.");
    }
    // The same file can be chosen again, after the text was changed by hand.
    browser.choose("own-file", &[&text]).await?;
    browser.wait("#error", 60, str::is_empty).await?;
    browser.fill("own-haystack", "Another text.").await?;
    browser.choose("own-file", &[&text]).await?;
    until(&browser, held, "The old house stood there.").await
}

/// The largest program of the page is not loaded where the browser says that its user pays for data.
#[tokio::test(flavor = "multi_thread")]
async fn webgpu_is_not_tried_where_data_is_to_be_saved() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    let saves = "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })";
    browser.before_each_page(saves).await?;
    browser.client.goto(&server.address).await?;
    browser.wait("#backend", 60, |text| text == "Computing on CPU: WebGPU is not tried, to save data.").await?;
    assert_eq!(server.requests("worker-webgpu_bg.wasm"), 0);
    // Where nothing says so, it is.
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&server.address).await?;
    for _ in 0..600 {
        if server.requests("worker-webgpu_bg.wasm") > 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bail!("WebGPU is not tried in a browser that has it")
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_say_how_far_they_are_in_a_long_text_and_are_asked_again_after_stop() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu&story=64,30,7,1", server.address)).await?;
    browser.wait("#ask-far", 60, |text| text.starts_with("Ask them at 64×")).await?;
    // The fourth row is in the address.
    browser.wait("#row-4", 60, |text| text.contains("RoPE")).await?;
    browser.click("ask-far").await?;
    browser.wait("#row-1", 120, |text| text.contains(" tokens read, about ")).await?;
    browser.click("halt").await?;
    browser.wait("#ask-far", 60, |text| text.starts_with("Ask them at 64×")).await?;
    assert!(!browser.text("row-1").await?.contains("left"), "nothing is read any more");
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_version_of_the_page_is_offered_to_who_comes_back() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    // The server has another page from then on, and the visitor comes back after an hour.
    let script = "const [real, fetched] = [Date.now, window.fetch];
        let later = 0;
        Date.now = () => real() + later;
        window.fetch = (what, options) => options?.cache === 'no-store'
          ? Promise.resolve(new Response('<html>another program</html>')) : fetched(what, options);
        window.comeBack = () => { later = 3_600_000; document.dispatchEvent(new Event('visibilitychange', { bubbles: true })); };";
    browser.before_each_page(script).await?;
    browser.client.goto(&format!("{}?backend=cpu", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    let is_hidden = "return document.querySelector('.new-version').hidden";
    assert_eq!(browser.client.execute(is_hidden, vec![]).await?, json!(true));
    browser.client.execute("comeBack()", vec![]).await?;
    browser.wait(".new-version", 60, |text| text.starts_with("There is a new version of this page.")).await?;
    browser.client.execute("window.isOld = true", vec![]).await?;
    browser.client.find(Locator::Css(".new-version button")).await?.click().await?;
    browser.client.wait().for_element(Locator::Css("#row-1")).await?;
    until(&browser, "return window.isOld === undefined", true).await
}
