//! What the page says when something fails, and that the next attempt succeeds once the fault is removed.

use std::time::Duration;

use anyhow::{Result, ensure};
use fantoccini::Locator;

use super::driver::Browser;
use super::server::{Fault, Server};

const WEIGHTS: &str = "models/nano-drope/model.safetensors";

/// A page whose worker computes on the CPU.
async fn open(server: &Server) -> Result<Browser> {
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu&extension=1", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    Ok(browser)
}

async fn runs(browser: &Browser) -> Result<()> {
    browser.click("run").await?;
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    assert_eq!(browser.text("error").await?, "");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_what_its_name_says_is_refused_and_not_kept() -> Result<()> {
    let server = Server::start()?;
    let browser = open(&server).await?;
    // In the order in which they are loaded: a file that was once loaded well is kept.
    let faults = [
        ("models/nano-drope/config.json", Fault::WebPage, "the server sent a web page in its place"),
        ("models/nano-drope/tokenizer.json", Fault::WebPage, "the server sent a web page in its place"),
        ("models/nano-drope/tokenizer.json", Fault::Half, "what the server sent is damaged"),
        (WEIGHTS, Fault::WebPage, "the server sent a web page in its place"),
        (WEIGHTS, Fault::Half, "what the server sent is damaged"),
        (WEIGHTS, Fault::Missing, "the server answered 404"),
    ];
    for (path, fault, reason) in faults {
        server.spoil(path, fault);
        browser.click("run").await?;
        let start = format!("{path} could not be loaded: {reason}");
        // The page may still show the previous sentence.
        let said = browser.wait("#error", 60, |text| text.starts_with(&start)).await?;
        ensure!(said.ends_with("Check the connection and reload the page."), "{said}");
        server.mend();
    }
    runs(&browser).await
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_kept_between_visits_and_a_damaged_copy_is_loaded_anew() -> Result<()> {
    let server = Server::start()?;
    let browser = open(&server).await?;
    runs(&browser).await?;
    browser.client.refresh().await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    runs(&browser).await?;
    assert_eq!(server.requests(WEIGHTS), 1, "the second visit takes the copy");
    let damage = "const done = arguments[0];
        (async () => {
            const [name] = (await caches.keys()).filter((name) => name.startsWith('drope-'));
            const cache = await caches.open(name);
            const kept = (await cache.keys()).filter((request) => request.url.includes('nano-drope/model.safetensors'));
            for (const request of kept) await cache.put(request, new Response('<html>'));
            done(kept.length);
        })();";
    assert_eq!(browser.client.execute_async(damage, vec![]).await?, 1);
    browser.client.refresh().await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    runs(&browser).await?;
    assert_eq!(server.requests(WEIGHTS), 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn webgpu_that_cannot_be_compared_is_not_used() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    server.spoil("models/nano-rope/config.json", Fault::Missing);
    browser.client.goto(&format!("{}?backend=webgpu&extension=1&columns=drope~p-drope", server.address)).await?;
    // What is asked before the comparison fails is answered on the CPU.
    browser.wait("#run", 60, |text| text == "Run").await?;
    browser.click("run").await?;
    let note = browser.wait("#backend", 120, |text| text.starts_with("Computing on")).await?;
    ensure!(
        note.starts_with("Computing on CPU: WebGPU was not compared, because models/nano-rope/config.json"),
        "{note}"
    );
    ensure!(note.contains("the server answered 404"), "{note}");
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    assert_eq!(browser.text("error").await?, "");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_without_workers_is_told_so() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.before_each_page("delete window.Worker").await?;
    browser.client.goto(&server.address).await?;
    browser.wait("#error", 60, |text| text.starts_with("This browser starts no web workers")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_could_not_start_is_started_anew() -> Result<()> {
    let server = Server::start()?;
    server.spoil("worker_bg.wasm", Fault::Missing);
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?extension=8", server.address)).await?;
    browser.wait("#error", 60, |text| text.contains("The worker stopped") && text.contains("Ask again")).await?;
    server.mend();
    browser.click("run").await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    // Another method is chosen while the first one answers: its column stays empty, whatever still arrives.
    browser.wait("#column-1 .question", 60, |text| text.contains("magic")).await?;
    browser.client.find(Locator::Id("method-1")).await?.select_by_value("rope").await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!((browser.text("answer-1").await?, browser.text("answer-2").await?), Default::default());
    runs(&browser).await
}

/// Makes the page lose its WebGPU device, as happens when the driver restarts.
const LOSING: &str = "
    const request = GPUAdapter.prototype.requestDevice;
    GPUAdapter.prototype.requestDevice = async function (...given) {
      const device = await request.apply(this, given);
      new BroadcastChannel('lose').onmessage = () => device.destroy();
      return device;
    };";

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_device_is_replaced_by_the_cpu() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.before_each_worker(LOSING).await?;
    browser.client.goto(&format!("{}?backend=webgpu&extension=1&columns=drope~p-drope", server.address)).await?;
    browser.wait("#backend", 300, |text| text.starts_with("Computing on WebGPU")).await?;
    browser.client.execute("new BroadcastChannel('lose').postMessage(1)", vec![]).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    browser.click("run").await?;
    // The CPU then gets the same questions.
    browser.wait("#backend", 60, |text| text == "Computing on CPU: WebGPU lost its device.").await?;
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    Ok(())
}
