//! `?benchmark`: what a visitor measures and sends on.

use anyhow::{Context, Result, bail};
use fantoccini::Locator;
use serde_json::json;

use super::driver::Browser;
use super::server::Server;
use super::threads::are_built;

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_measures_every_program_and_copies_the_table() -> Result<()> {
    let server = Server::isolating()?;
    let threads = if are_built() { 2 } else { 1 };
    let browser = Browser::open(1280, false).await?;
    // WebGPU computes in software here, so that only a reader who asks for it waits for it.
    browser
        .client
        .goto(&format!("{}?benchmark=128,129&rounds=1&threads={threads}&backend=webgpu", server.address))
        .await?;
    browser.wait("#measure", 60, |text| text == "Measure").await?;
    browser.click("measure").await?;
    browser.wait(".benchmark tbody", 300, |text| text.contains("onnxruntime-web 1.30.0, WebGPU")).await?;
    browser.wait("#measure", 300, |text| text == "Measure").await?;
    let rows = browser.client.execute(
        "return [...document.querySelectorAll('.benchmark tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))",
        vec![],
    );
    assert!(browser.text("main").await?.contains("tokens and answers, once on each program"));
    let rows = rows.await?;
    let rows = rows.as_array().context("rows")?;
    let programs: Vec<&str> = rows.iter().filter_map(|row| row[0].as_str()).collect();
    let ours = ["CPU, 1 thread", "CPU, 2 threads", "WebGPU"]
        .into_iter()
        .filter(|&name| threads == 2 || name != "CPU, 2 threads");
    // Each of our programs at both lengths, then the peer's.
    let expected = ours.map(|place| [place.to_owned(), format!("onnxruntime-web 1.30.0, {place}")]);
    let expected: Vec<String> = expected.flatten().flat_map(|name| [name.clone(), name]).collect();
    // Where the browser's WebGPU has subgroups, the same without them comes last.
    let has_subgroups = browser.client.execute_async(
        "navigator.gpu.requestAdapter().then((adapter) => arguments[0](adapter.features.has('subgroups')))",
        vec![],
    );
    let without = if has_subgroups.await? == json!(true) { 2 } else { 0 };
    let expected = [expected, vec!["WebGPU without subgroups".to_owned(); without]].concat();
    assert_eq!(programs, expected);
    let places = browser.wait(".benchmark", 60, |_| true).await?;
    assert_eq!(without > 0, places.contains("; subgroups of "), "{places}");
    for row in rows {
        assert!(["128", "129"].contains(&row[1].as_str().unwrap_or_default()), "{row}");
        for speed in [&row[2], &row[3]] {
            // Such as "900 [700, 1000]".
            let numbers = speed.as_str().context("a text")?.split(|sign: char| !sign.is_ascii_digit());
            let numbers: Vec<f64> = numbers.filter_map(|number| number.parse().ok()).collect();
            let [middle, least, most] = numbers[..] else { bail!("no range in {row}") };
            assert!(0.0 < least && least <= middle && middle <= most, "{row}");
        }
    }
    browser.screenshot("benchmark.png", "main").await?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());

    browser.client.goto(&format!("{}?benchmark=128,128", server.address)).await?;
    browser.wait("#measure", 60, |text| text == "Measure").await?;
    browser.click("measure").await?;
    browser
        .wait(".benchmark .missing", 60, |text| text == "WebGPU was not measured: it computes on the processor here.")
        .await?;
    browser.wait(".benchmark tbody", 120, |text| text.contains("CPU")).await?;
    browser.wait("#measure", 60, |text| text == "Stop").await?;
    browser.click("measure").await?;
    browser.wait("#measure", 60, |text| text == "Measure").await?;
    // What was measured before the stop stays.
    assert!(browser.client.find(Locator::Css("#copy-table")).await?.is_displayed().await?);
    assert_eq!(
        browser.client.execute("return document.querySelectorAll('.benchmark progress').length", vec![]).await?,
        json!(0)
    );
    assert_eq!(browser.client.execute("return document.querySelectorAll('.overview').length", vec![]).await?, json!(0));
    Ok(())
}
