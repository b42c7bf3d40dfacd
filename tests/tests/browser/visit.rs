//! What a visitor does, on a desk and on a phone.

use anyhow::{Result, bail};
use drope_core::language::Values;
use drope_core::niah::{Difficulty, Distractors, Filler, Spec, Task};
use drope_core::positions::{Method, Parameters};
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
    browser.client.goto(&format!("{address}?backend=cpu&extension=4&seed=7&depth=25&left=drope&right=yarn")).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    let first = browser.milliseconds_to_answer().await?;
    keep("first-token.json", &json!({ "first_token_ms": first }))?;
    let mut heads = Vec::new();
    // A third column with its own setting is added after the answers, because elements move while answers arrive.
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    browser.click("add").await?;
    // The page renders after the click has returned.
    let appeared = async |selector| browser.client.wait().for_element(Locator::Css(selector)).await;
    appeared("#method-3").await?.select_by_value("yarn").await?;
    appeared("#column-3 summary").await?.click().await?;
    let field = appeared("#column-3 input[name=beta_fast]").await?;
    field.send_keys("8\u{e007}").await?;
    let chosen: Parameters = "beta_fast=8".parse()?;
    let columns = [
        (Method::Drope, "nano-drope", Parameters::default()),
        (Method::Yarn, "nano-rope", Parameters::default()),
        (Method::Yarn, "nano-rope", chosen),
    ];
    browser.click("run").await?;
    for (column, (method, model, parameters)) in (1..).zip(columns) {
        let verdict =
            browser.wait(&format!("#column-{column} .verdict"), 120, |text| text.contains("tokens/s")).await?;
        let spec = Spec { depth: Some(0.25), ..Spec::new(Task::MultiKey, Values::Numbers, 0, 7) };
        let NativeAnswer { text, exact, best_head } = native::answer(method, &parameters, model, 4, &spec)?;
        heads.push(best_head);
        assert_eq!(browser.text(&format!("answer-{column}")).await?.trim(), text.trim(), "column {column}");
        assert_eq!(verdict.starts_with("Found"), exact, "column {column}: {verdict}");
    }
    let needle =
        browser.wait(".haystack mark.needle", 60, |text| text.starts_with("One of the special magic numbers")).await?;
    // The mark of the training context's end may stand in it.
    let needle = needle.replace("\ntraining context ends here\n", "");
    browser.enter("why").await?;
    browser.click("probe").await?;
    for (column, best) in (1..).zip(&heads) {
        browser.wait(&format!(".inside .answers > div:nth-child({column}) p"), 120, |text| text.contains(best)).await?;
    }
    // DroPE's best head gives the needle more attention than every other sentence of the text.
    let darkest = "return [...document.querySelectorAll('.inside .answers > div:nth-child(1) .seen')]
        .find((sentence) => sentence.style.getPropertyValue('--share') == '1.00').textContent";
    let darkest = browser.client.execute(darkest, vec![]).await?;
    assert_eq!(darkest.as_str().map(str::trim), Some(needle.trim()));
    browser.screenshot("inside.png", ".inside").await?;
    browser.enter("play").await?;
    browser.click("copy-link").await?;
    browser.wait("#copy-link", 60, |text| text == "Link copied").await?;
    let url = browser.client.current_url().await?.to_string();
    assert!(
        url.contains("columns=drope~yarn~yarn:beta_fast=8") && url.contains("seed=7"),
        "the address keeps the choices: {url}"
    );
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
async fn the_cpu_answers_while_webgpu_is_tried_beside_it() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?screen=results", server.address)).await?;
    // The figure and the button are there before any weights.
    browser.wait(".headline", 60, |text| text.contains("with equal training")).await?;
    browser.wait("#backend", 60, |text| text.starts_with("Computing on CPU: WebGPU is being tried")).await?;
    browser.click("show").await?;
    // The study's models, its primary task, 8 times their training length.
    let difficulty = Difficulty { digits: 7, distractors: Distractors::Sharing, ..Difficulty::default() };
    let spec = Spec { depth: Some(0.3), difficulty, ..Spec::new(Task::MultiKey, Values::Numbers, 0, 2) };
    let shown = [
        (Method::Drope, "study-drope-copies", "Found"),
        (Method::DynamicNtk, "study-rope-copies", "Found"),
        (Method::Drope, "study-drope", "Wrong"),
    ];
    for (column, (method, model, outcome)) in (1..).zip(shown) {
        browser.wait(&format!("#column-{column} .verdict"), 120, |text| text.starts_with(outcome)).await?;
        let expected = native::answer(method, &Parameters::default(), model, 8, &spec)?.text;
        let answer = browser.text(&format!("answer-{column}")).await?.replace('·', "");
        assert_eq!(answer.trim(), expected.trim(), "{model}");
    }
    let url = browser.client.current_url().await?.to_string();
    assert!(url.contains("columns=drope@study-drope-copies~dynamic-ntk@study-rope-copies~drope@study-drope"), "{url}");
    browser.screenshot("study.png", ".columns").await?;
    // Whichever is faster here, the page says so with both times, and computes with it.
    let note = browser.wait("#backend", 300, |text| text.contains("ms on WebGPU")).await?;
    let backend = if note.contains("slower here") { "CPU" } else { "WebGPU" };
    assert!(note.starts_with(&format!("Computing on {backend}: ")), "{note}");
    browser.click("run").await?;
    browser.wait("#column-3 .verdict", 120, |text| text.starts_with("Wrong")).await?;
    assert_eq!(server.requests("worker-webgpu_bg.wasm"), 1);
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_without_webgpu_loads_no_program_for_it() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.before_each_page("delete Navigator.prototype.gpu").await?;
    browser.client.goto(&server.address).await?;
    browser.wait("#backend", 60, |text| text == "Computing on CPU: WebGPU has no adapter in this browser.").await?;
    assert_eq!(server.requests("worker-webgpu_bg.wasm"), 0);
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
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    let script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    let overflow = browser.client.execute(script, vec![]).await?;
    assert!(overflow.as_i64().unwrap_or(99) <= 0, "the page is {overflow} pixels wider than the phone");
    browser.enter("results").await?;
    browser.screenshot("phone-grid.png", ".grid").await?;
    for screen in ["results", "why", "text", "model", "recalibrate"] {
        browser.enter(screen).await?;
        let overflow = browser.client.execute(script, vec![]).await?;
        assert!(overflow.as_i64().unwrap_or(99) <= 0, "the screen {screen} is {overflow} pixels wider than the phone");
    }
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_heatmap_fills_cell_by_cell_until_it_is_stopped() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?screen=results&backend=cpu&columns=drope~rope", server.address)).await?;
    // The committed results are there before any weights.
    browser.wait(".depths tbody", 60, |text| text.contains("100")).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    let asked_here =
        "return [...document.querySelectorAll('.depths button')].filter((cell) => cell.title.includes('of 10')).length";
    browser.click("fill").await?;
    let mut filled = 0;
    for _ in 0..600 {
        filled = browser.client.execute(asked_here, vec![]).await?.as_u64().unwrap_or_default();
        if filled >= 4 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(filled >= 4, "{filled} cells");
    browser.screenshot("heatmap.png", ".heatmap").await?;
    browser.click("fill").await?;
    browser.wait("#fill", 60, |text| text == "Fill every cell here").await?;
    let stopped_at = browser.client.execute(asked_here, vec![]).await?;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_eq!(browser.client.execute(asked_here, vec![]).await?, stopped_at, "nothing goes on after Stop");
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_is_in_the_address_and_can_be_left() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu&tour=4", server.address)).await?;
    browser.wait(".tour", 60, |text| text.contains("4 of 5")).await?;
    browser.click("tour-next").await?;
    browser.wait(".tour", 60, |text| text.contains("5 of 5") && text.contains("Done")).await?;
    browser.client.wait().for_element(Locator::Css(".heatmap.toured")).await?;
    assert!(browser.client.current_url().await?.as_str().contains("tour=5"));
    browser.screenshot("tour.png", ".heatmap").await?;
    browser.click("tour-end").await?;
    browser.client.wait().for_element(Locator::Css("body:not(:has(.tour))")).await?;
    assert!(!browser.client.current_url().await?.as_str().contains("tour"));
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn harder_questions_are_the_native_ones() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    let page =
        format!("{}?backend=cpu&extension=2&seed=3&depth=50&columns=drope~yarn&digits=7&filler=decoys", server.address);
    browser.client.goto(&page).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.wait(".harder summary", 60, |text| text == "Harder questions: filler=decoys digits=7").await?;
    browser.client.find(Locator::Css(".harder summary")).await?.click().await?;
    browser.select("distractors", "share a word with it").await?;
    browser.enter("results").await?;
    // There are no committed results for these questions.
    browser.wait(".grid .hint", 60, |text| text.starts_with("No committed results")).await?;
    browser.enter("play").await?;
    browser.click("run").await?;
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    let difficulty = Difficulty { digits: 7, distractors: Distractors::Sharing, ..Difficulty::default() };
    let spec = Spec {
        depth: Some(0.5),
        filler: Filler::Decoys,
        difficulty,
        ..Spec::new(Task::MultiKey, Values::Numbers, 0, 3)
    };
    for (column, (method, model)) in (1..).zip([(Method::Drope, "nano-drope"), (Method::Yarn, "nano-rope")]) {
        let expected = native::answer(method, &Parameters::default(), model, 2, &spec)?.text;
        // The page marks digits that are missing.
        let answer = browser.text(&format!("answer-{column}")).await?.replace('·', "");
        assert_eq!(answer.trim(), expected.trim(), "column {column}");
    }
    browser.screenshot("harder.png", ".controls").await?;
    // The page reports settings that no question can have, and they can be corrected.
    browser.client.find(Locator::Id("task")).await?.select_by_value("single").await?;
    browser.click("run").await?;
    browser.wait("#error", 60, |text| text.contains("use multi-key")).await?;
    browser.client.find(Locator::Id("task")).await?.select_by_value("latest-value").await?;
    browser.click("run").await?;
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    let url = browser.client.current_url().await?.to_string();
    assert!(url.contains("filler=decoys&digits=7&distractors=sharing"), "{url}");
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}
