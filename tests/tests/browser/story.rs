//! The first screen: it tells its story before any model is loaded, fits a desk and a phone, and its rows answer as natively.

use anyhow::{Context, Result};
use drope_core::language::Values;
use drope_core::niah::{Difficulty, Distractors, Spec, Task};
use drope_core::positions::Method;
use drope_core::results::StudyFigure;
use fantoccini::Locator;
use serde_json::{Value, json};

use super::driver::Browser;
use super::server::{Fault, Server};
use super::{keep, native, root};

/// The models of the first three rows.
const ROWS: [(&str, Method); 3] =
    [("study-rope", Method::Rope), ("study-rope", Method::Yarn), ("study-p-drope-copies", Method::PDrope)];

/// Every width that is looked at, with the height that has to hold the rows.
const SCREENS: [(&str, u32, u32, bool); 4] = [
    ("story.png", 1280, 720, false),
    ("story-dark.png", 1280, 720, true),
    ("story-phone.png", 360, 640, false),
    ("story-narrow.png", 320, 640, false),
];

async fn number(browser: &Browser, script: &str) -> Result<f64> {
    let value: Value = browser.client.execute(script, vec![]).await?;
    value.as_f64().with_context(|| format!("{script} is {value}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_story_is_told_on_one_screen_before_any_model_is_loaded() -> Result<()> {
    for (picture, width, height, dark) in SCREENS {
        let server = Server::start()?;
        // The worker's program never comes.
        server.spoil("worker_bg.wasm", Fault::Missing);
        let browser = Browser::open(width.max(500), dark).await?;
        browser.resize(width, height).await?;
        browser.client.goto(&format!("{}?backend=cpu", server.address)).await?;
        browser.wait("#row-1", 60, |text| text.contains("RoPE") && text.contains("0 %")).await?;
        let told = number(&browser, "return performance.now()").await?;
        browser.wait("#row-3", 1, |text| text.contains("partial DroPE with copies")).await?;
        let outcomes = "return [...document.querySelectorAll('.story .rows li')].map((row) => row.className)";
        let outcomes = browser.client.execute(outcomes, vec![]).await?;
        assert_eq!(outcomes, json!(["wrong", "right", "right"]));
        let bottom = "return document.querySelector('.story .buttons').getBoundingClientRect().bottom + scrollY";
        let bottom = number(&browser, bottom).await?;
        browser.screenshot(picture, "body").await?;
        assert!(bottom <= f64::from(height), "{picture}: the rows end at {bottom}, below {height}");
        let overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
        let squeezed = "return [...document.querySelectorAll('.rows .who')].filter((who) => who.scrollWidth > who.clientWidth + 1).length";
        for screen in ["play", "why", "results", "text", "model", "recalibrate"] {
            browser.enter(screen).await?;
            assert!(
                number(&browser, squeezed).await? <= 0.0,
                "{picture}: names of rows in {screen} have too little room"
            );
            assert!(
                number(&browser, overflow).await? <= 0.0,
                "{picture}: the screen {screen} is wider than the window"
            );
        }
        keep(&format!("{picture}.json"), &json!({ "told_after_ms": told }))?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_slider_changes_what_is_known_at_once_and_asks_the_models_when_it_is_let_go() -> Result<()> {
    let study: StudyFigure = serde_json::from_str(&std::fs::read_to_string(root().join("docs/study.json"))?)?;
    // With the headers of `cargo xtask play` and `dist`, with which the page computes in threads.
    let server = Server::isolating()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    // Dragged, and not let go yet: nothing is asked.
    let drag = "const slider = document.getElementById('length'); slider.value = arguments[0];
        slider.dispatchEvent(new Event('input', { bubbles: true }));";
    for (place, extension) in [(6, 64), (2, 4)] {
        browser.client.execute(drag, vec![json!(place)]).await?;
        for (row, line) in (1..).zip(&study.played[..3]) {
            let point = line.points.iter().find(|point| point.extension == extension);
            let share = point.map_or_else(|| "not measured".to_owned(), |point| format!("{:.0} %", 100.0 * point.mean));
            browser
                .wait(&format!("#row-{row} .share"), 60, |text| text.replace('\u{a0}', " ").contains(&share))
                .await?;
        }
    }
    let outcomes = "return [...document.querySelectorAll('.story .rows li')].map((row) => row.className)";
    assert_eq!(browser.client.execute(outcomes, vec![]).await?, json!(["wrong", "right", "right"]));
    let answered = "const done = arguments[0], start = performance.now();
        let cleared = false;
        const look = () => {
          const rows = [...document.querySelectorAll('.story .rows li')];
          cleared ||= rows.some((row) => !row.className);
          if (cleared && rows.every((row) => row.className)) done(performance.now() - start);
          else setTimeout(look, 2);
        };
        const slider = document.getElementById('length'); slider.value = 3;
        slider.dispatchEvent(new Event('input', { bubbles: true })); document.getElementById('another').click(); look();";
    let mut times = Vec::new();
    for question in 0..3 {
        times.push(browser.client.execute_async(answered, vec![]).await?);
        let url = browser.client.current_url().await?.to_string();
        let story = url.split("&story=").nth(1).context("the address keeps the question")?;
        let chosen: Vec<u64> =
            story.split('&').next().unwrap_or_default().split(',').map(str::parse).collect::<Result<_, _>>()?;
        let [extension, depth, seed] = chosen[..] else { anyhow::bail!("{url}") };
        assert_eq!(extension, 8);
        for (row, (model, method)) in (1..).zip(ROWS) {
            let difficulty = Difficulty { digits: 7, distractors: Distractors::Sharing, ..Difficulty::default() };
            let spec = Spec {
                depth: Some(depth as f64 / 100.0),
                difficulty,
                ..Spec::new(Task::MultiKey, Values::Numbers, 0, seed)
            };
            let native = native::answer(method, &study.played[row - 1].parameters, model, 8, &spec)?;
            let row = browser.client.find(Locator::Id(&format!("row-{row}"))).await?;
            // As a whole: what does not fit into the row is cut off there.
            let said = row.find(Locator::Css(".found")).await?.prop("textContent").await?.unwrap_or_default();
            let outcome = row.attr("class").await?;
            let said = said.trim_end_matches("right").trim_end_matches("wrong").replace('·', "");
            assert_eq!(said.trim(), native.text.trim(), "question {question}: {model}, {}", method.name());
            assert_eq!(outcome.as_deref(), Some(if native.exact { "right" } else { "wrong" }));
        }
    }
    keep("story-times.json", &json!({ "three_rows_ms": times }))?;
    // The fourth row is asked the same question.
    browser.click("fourth").await?;
    browser.client.wait().for_element(Locator::Css("#row-4[class]:not([class=''])")).await?;
    // Answers on their way are not those to a longer text that is chosen meanwhile.
    let longer = "document.getElementById('another').click(); const slider = document.getElementById('length'); slider.value = 5;
        for (const name of ['input', 'change']) slider.dispatchEvent(new Event(name, { bubbles: true }));";
    browser.client.execute(longer, vec![]).await?;
    browser.wait(".said", 60, |text| text.contains("Not asked yet")).await?;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(browser.client.execute(outcomes, vec![]).await?, json!(["", "", "", ""]));
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn screens_have_addresses_and_the_way_back() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu&screen=results", server.address)).await?;
    browser.wait(".headline", 60, |text| text.contains("RoPE")).await?;
    assert_eq!(
        browser.client.find(Locator::Css(".story .rows")).await?.text().await?,
        "",
        "another screen is shown than the first"
    );
    browser.enter("why").await?;
    browser.wait(".frequencies h2", 60, |text| text.contains("angles")).await?;
    assert!(browser.client.current_url().await?.as_str().contains("screen=why"));
    browser.client.back().await?;
    browser.wait(".headline", 60, |text| text.contains("RoPE")).await?;
    browser.enter("text").await?;
    browser.wait(".own-text", 60, |text| text.contains("paste one")).await?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}
