//! The page on several threads of the CPU, where it may share memory.

use anyhow::Result;
use drope_core::language::Values;
use drope_core::niah::{Spec, Task};
use drope_core::positions::{Method, Parameters};

use super::driver::Browser;
use super::native;
use super::own_models::write_zip;
use super::root;
use super::server::{Fault, Server};

/// Whether the page was built with its program for threads.
pub fn are_built() -> bool {
    root().join("dist/worker-threads.js").is_file()
}

/// As [`are_built`]. Where they are not, this says so, and `cargo xtask test` counts the test as not run.
fn can_be_tested() -> bool {
    if !are_built() {
        println!("NOT RUN: the page was built without its program for threads");
    }
    are_built()
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_answer_as_natively_and_keep_models() -> Result<()> {
    if !can_be_tested() {
        return Ok(());
    }
    let server = Server::isolating()?;
    let browser = Browser::open(1280, false).await?;
    let question = "backend=cpu&threads=3&extension=8&seed=7&depth=25&columns=drope~yarn";
    browser.client.goto(&format!("{}?{question}", server.address)).await?;
    browser.wait("#backend", 60, |text| text == "Computing on CPU in 3 threads: as you asked.").await?;
    browser.click("run").await?;
    for (column, (method, model)) in (1..).zip([(Method::Drope, "nano-drope"), (Method::Yarn, "nano-rope")]) {
        browser.wait(&format!("#column-{column} .verdict"), 120, |text| text.contains("tokens/s")).await?;
        let spec = Spec { depth: Some(0.25), ..Spec::new(Task::MultiKey, Values::Numbers, 0, 7) };
        let expected = native::answer(method, &Parameters::default(), model, 8, &spec)?.text;
        assert_eq!(browser.text(&format!("answer-{column}")).await?.trim(), expected.trim(), "column {column}");
    }
    assert_eq!(server.requests("worker_bg.wasm"), 0);
    // Files are written from memory that is shared.
    let folder = tempfile::tempdir()?;
    let zip = write_zip(folder.path().join("my-model.zip"), "", 0)?;
    browser.enter("model").await?;
    browser.choose("model-zip", &[&zip]).await?;
    browser.wait(".stored", 60, |text| text.contains("context 256")).await?;
    browser.enter("play").await?;
    browser.select("model-1", "my-model").await?;
    browser.click("run").await?;
    browser.wait("#column-1 .verdict", 120, |text| text.contains("tokens/s")).await?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_visit_has_threads_where_the_server_sends_no_headers() -> Result<()> {
    if !can_be_tested() {
        return Ok(());
    }
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    let page = format!("{}?backend=cpu&threads=2&extension=2&columns=drope~rope", server.address);
    browser.client.goto(&page).await?;
    browser.wait("#backend", 60, |text| text == "Computing on CPU: as you asked.").await?;
    let controlled = "const done = arguments[0]; const look = () => {
        if (navigator.serviceWorker.controller) done(true); else setTimeout(look, 100); }; look();";
    browser.client.execute_async(controlled, vec![]).await?;
    browser.client.goto(&page).await?;
    browser.wait("#backend", 60, |text| text == "Computing on CPU in 2 threads: as you asked.").await?;
    browser.click("run").await?;
    browser.wait("#column-1 .verdict", 120, |text| text.starts_with("Found")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_thread_computes_where_the_program_for_several_does_not_start() -> Result<()> {
    for fault in [Fault::Missing, Fault::WebPage] {
        let server = Server::isolating()?;
        server.spoil("worker-threads.js", fault);
        let browser = Browser::open(1280, false).await?;
        browser
            .client
            .goto(&format!("{}?backend=cpu&threads=2&extension=2&columns=drope~rope", server.address))
            .await?;
        browser.wait("#run", 60, |text| text == "Run").await?;
        browser.click("run").await?;
        browser.wait("#column-1 .verdict", 120, |text| text.starts_with("Found")).await?;
        assert_eq!(browser.text("backend").await?, "Computing on CPU: as you asked.");
        assert_eq!(browser.text("error").await?, "");
    }
    Ok(())
}
