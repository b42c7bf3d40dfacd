//! The page in Firefox, on the CPU.

use std::path::PathBuf;

use anyhow::Result;
use drope_core::language::Values;
use drope_core::niah::{Spec, Task};
use drope_core::positions::{Method, Parameters};

use super::driver::Browser;
use super::native;
use super::own_models::write_zip;
use super::server::Server;

#[tokio::test(flavor = "multi_thread")]
async fn firefox_answers_as_natively() -> Result<()> {
    // Set by `cargo xtask test` where Firefox and its driver are to be had.
    let Some(driver) = std::env::var_os("DROPE_GECKODRIVER").map(PathBuf::from) else {
        println!("NOT RUN: the page in Firefox");
        return Ok(());
    };
    let server = Server::start()?;
    let browser = Browser::open_firefox(&driver).await?;
    browser.client.goto(&format!("{}?extension=2&seed=7&depth=25&columns=drope~yarn", server.address)).await?;
    browser.wait("#backend", 60, |text| text.starts_with("Computing on")).await?;
    browser.click("run").await?;
    for (column, (method, model)) in (1..).zip([(Method::Drope, "nano-drope"), (Method::Yarn, "nano-rope")]) {
        browser.wait(&format!("#column-{column} .verdict"), 120, |text| text.contains("tokens/s")).await?;
        let spec = Spec { depth: Some(0.25), ..Spec::new(Task::MultiKey, Values::Numbers, 0, 7) };
        let expected = native::answer(method, &Parameters::default(), model, 2, &spec)?.text;
        assert_eq!(browser.text(&format!("answer-{column}")).await?.trim(), expected.trim(), "column {column}");
    }
    assert_eq!(browser.text("error").await?, "");
    // Models of one's own are kept here too.
    let folder = tempfile::tempdir()?;
    let zip = write_zip(folder.path().join("my-model.zip"), "", 0)?;
    browser.enter("model").await?;
    browser.choose("model-zip", &[&zip]).await?;
    browser.wait(".stored", 60, |text| text.contains("context 256")).await?;
    browser.screenshot("firefox.png", "header").await
}
