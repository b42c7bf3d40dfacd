//! Stop ends what runs at once, whatever the worker is busy with, and the next question is answered.

use std::time::Duration;

use anyhow::{Result, ensure};
use fantoccini::Locator;

use super::driver::Browser;
use super::server::{Fault, Server};

/// After this time the page would have replaced a worker that does not stop.
const LONGER_THAN_THE_GRACE: Duration = Duration::from_secs(4);

async fn answers(browser: &Browser) -> Result<()> {
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_cell_stays_silent_and_the_next_question_is_answered() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?screen=results&backend=cpu&extension=8&seed=8", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.client.find(Locator::XPath("//td/button[starts-with(., 'YaRN at 8')]")).await?.click().await?;
    browser.wait("td button.running .live", 60, |text| text.contains('/')).await?;
    browser.client.find(Locator::Css("td button.running")).await?.click().await?;
    ensure!(browser.client.find(Locator::Css("td button.running")).await.is_err(), "still running after stop");
    let stopped = browser.client.find(Locator::Css(".live")).await?.text().await?;
    tokio::time::sleep(LONGER_THAN_THE_GRACE).await;
    assert_eq!(browser.client.find(Locator::Css(".live")).await?.text().await?, stopped);
    assert_eq!(browser.text("error").await?, "", "a worker that stops is not replaced");
    browser.enter("play").await?;
    browser.click("run").await?;
    answers(&browser).await?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_chunk_of_a_method_with_dynamic_frequencies_sees_stop() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    let address = format!("{}?backend=cpu&extension=16&left=dynamic-ntk&right=dynamic-ntk", server.address);
    browser.client.goto(&address).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.click("run").await?;
    browser.wait("#column-1 .question", 60, |text| text.contains("magic")).await?;
    // Some of the prompt is read.
    tokio::time::sleep(Duration::from_secs(1)).await;
    browser.click("stop").await?;
    tokio::time::sleep(LONGER_THAN_THE_GRACE).await;
    assert_eq!(browser.text("error").await?, "", "the worker stopped by itself");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_stops_and_is_not_shown_any_more() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    server.spoil("models/nano-drope/model.safetensors", Fault::Slow);
    browser.client.goto(&format!("{}?backend=cpu&extension=2", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.click("run").await?;
    browser.wait(".loading", 60, |text| text.contains("Loading nano-drope")).await?;
    browser.click("stop").await?;
    // The pieces that are still on their way must not bring it back.
    for _ in 0..20 {
        ensure!(browser.client.find(Locator::Css(".loading")).await.is_err(), "still loading after Stop");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(browser.text("error").await?, "");
    // Half a download is not kept.
    server.mend();
    browser.click("run").await?;
    answers(&browser).await?;
    assert_eq!(server.requests("models/nano-drope/model.safetensors"), 2);
    Ok(())
}

/// From its first question on the first worker receives no message, like a worker that waits for a GPU for ever.
const HUNG_WORKER: &str = "
    const Real = Worker;
    let workers = 0;
    window.ended = 0;
    window.Worker = class extends Real {
        constructor(...all) { super(...all); this.hangs = workers++ === 0; this.reached = false; }
        postMessage(message) {
            this.reached ||= this.hangs && message.includes('Answer');
            if (!this.reached) super.postMessage(message);
        }
        terminate() { window.ended++; super.terminate(); }
    };";

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_hangs_is_replaced_after_stop() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.before_each_page(HUNG_WORKER).await?;
    browser.client.goto(&format!("{}?backend=cpu&extension=2", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.click("run").await?;
    browser.click("stop").await?;
    browser.wait("#error", 60, |text| text.contains("did not stop within 2 seconds")).await?;
    assert_eq!(browser.client.execute("return window.ended", vec![]).await?, 1);
    browser.click("run").await?;
    answers(&browser).await?;
    assert_eq!(browser.text("error").await?, "");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_while_a_hung_worker_is_replaced_is_answered() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.before_each_page(HUNG_WORKER).await?;
    browser.client.goto(&format!("{}?backend=cpu&extension=2", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    for button in ["run", "stop", "run"] {
        browser.click(button).await?;
    }
    answers(&browser).await?;
    assert_eq!(browser.client.execute("return window.ended", vec![]).await?, 1);
    Ok(())
}
