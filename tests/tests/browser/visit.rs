//! What a visitor does, on a desk and on a phone.

use anyhow::{Result, bail};
use drope_core::language::Values;
use drope_core::niah::{Spec, Task};
use drope_core::positions::Method;
use fantoccini::Locator;
use serde_json::json;

use super::driver::Browser;
use super::keep;
use super::native::{self, NativeAnswer};
use super::server::Server;

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_runs_both_methods_at_four_times_the_context() -> Result<()> {
    let server = Server::start()?;
    let address = &server.address;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{address}?backend=cpu&extension=4&seed=7&depth=25")).await?;
    // The grid is there before any weights.
    browser.wait(".grid tbody", 60, |text| text.contains('%')).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    let first = browser.milliseconds_to_answer().await?;
    keep("first-token.json", &json!({ "first_token_ms": first }))?;
    let mut heads = Vec::new();
    for (side, method, model) in [("left", Method::Drope, "nano-drope"), ("right", Method::Yarn, "nano-rope")] {
        let verdict = browser.wait(&format!("#{side} .verdict"), 120, |text| text.contains("tokens/s")).await?;
        let spec = Spec { depth: Some(0.25), ..Spec::new(Task::MultiKey, Values::Numbers, 0, 7) };
        let NativeAnswer { text, exact, best_head } = native::answer(method, model, 4, &spec)?;
        heads.push(best_head);
        assert_eq!(browser.text(&format!("{side}-answer")).await?.trim(), text.trim(), "{side}");
        assert_eq!(verdict.starts_with("Found"), exact, "{side}: {verdict}");
    }
    browser.wait("mark.needle", 5, |text| text.starts_with("One of the special magic numbers")).await?;
    browser.click("probe").await?;
    for (column, best) in (1..).zip(&heads) {
        browser.wait(&format!(".inside .answers > div:nth-child({column}) p"), 120, |text| text.contains(best)).await?;
    }
    browser.screenshot("page.png", "header").await?;
    browser.screenshot("inside.png", ".inside").await?;
    let url = browser.client.current_url().await?.to_string();
    assert!(url.contains("left=drope") && url.contains("seed=7"), "the address keeps the choices: {url}");
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn webgpu_is_checked_against_the_cpu_before_it_is_used() -> Result<()> {
    let server = Server::start()?;
    let address = &server.address;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{address}?backend=webgpu")).await?;
    let note = browser.wait("#backend", 300, |text| text.starts_with("Computing on")).await?;
    assert!(note.contains("WebGPU") && note.contains("it gives the CPU's answers"), "{note}");
    // "…: 64 tokens in 12 ms on WebGPU and 3 ms on the CPU."
    let times: Vec<u64> = note.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [tokens, webgpu, cpu] = times[..] else { bail!("no times in {note:?}") };
    keep("webgpu.json", &json!({ "tokens": tokens, "webgpu_ms": webgpu, "cpu_ms": cpu }))?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_in_the_dark_sees_everything() -> Result<()> {
    let server = Server::start()?;
    let address = &server.address;
    let browser = Browser::open(500, true).await?;
    browser.client.goto(&format!("{address}?backend=cpu&extension=2")).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    // By keyboard alone: Enter in the form runs it.
    browser.client.find(Locator::Id("seed")).await?.send_keys("\u{e007}").await?;
    browser.wait("#right .verdict", 120, |text| text.contains("tokens/s")).await?;
    let script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    let overflow = browser.client.execute(script, vec![]).await?;
    assert!(overflow.as_i64().unwrap_or(99) <= 0, "the page is {overflow} pixels wider than the phone");
    browser.screenshot("phone-dark.png", "header").await?;
    browser.screenshot("phone-grid.png", ".grid").await?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}
