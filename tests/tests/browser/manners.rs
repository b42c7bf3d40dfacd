//! The page without a connection, its accessibility, the page inside other pages, and its memory over many runs.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use drope_tests::fetched;
use fantoccini::Locator;
use serde_json::json;

use super::driver::Browser;
use super::processes::family;
use super::server::{Server, media_type};
use super::{keep, root};

/// A server of the page that can be switched off: it then closes every connection without an answer.
struct Switchable {
    address: String,
    is_off: Arc<AtomicBool>,
}

impl Switchable {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}/", listener.local_addr()?);
        let is_off = Arc::new(AtomicBool::new(false));
        let off = is_off.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if !off.load(Ordering::Relaxed) {
                    std::thread::spawn(move || drop(answer(stream)));
                }
            }
        });
        Ok(Self { address, is_off })
    }
}

/// Answers one request and closes the connection.
fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut head = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    reader.read_line(&mut head)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = head.split([' ', '?']).nth(1).unwrap_or("/").trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let kind = media_type(path);
    match std::fs::read(root().join("dist").join(path)) {
        Ok(bytes) => {
            let length = bytes.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            )?;
            stream.write_all(&bytes)
        }
        Err(_) => write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_computes_on_webgpu_keeps_the_cpus_program_too() -> Result<()> {
    let server = Switchable::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=webgpu", server.address)).await?;
    browser.wait("#backend", 120, |text| text.contains("Computing on WebGPU")).await?;
    let kept = "const done = arguments[0]; const look = async () => {
        const keys = await (await caches.open('playground')).keys();
        const has = (part) => keys.some((key) => key.url.includes(part));
        if (has('worker-webgpu_bg.wasm') && has('/worker_bg.wasm')) done(true); else setTimeout(look, 100); }; look();";
    browser.client.execute_async(kept, vec![]).await?;
    // A document beside the page does not take its place.
    browser.client.goto(&format!("{}docs/study.html", server.address)).await?;
    server.is_off.store(true, Ordering::Relaxed);
    browser.client.goto(&format!("{}?backend=cpu", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("Computing on CPU")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_answers_without_a_connection_after_the_first_visit() -> Result<()> {
    let server = Switchable::start()?;
    let browser = Browser::open(1280, false).await?;
    let page = format!("{}?backend=cpu&extension=2&columns=drope~rope", server.address);
    browser.client.goto(&page).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.click("run").await?;
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    // The program, and what the first screen's three rows need, though none of them was asked.
    let kept = "const done = arguments[0]; const look = async () => {
        const keys = await (await caches.open('playground')).keys();
        const names = (await caches.keys()).filter((name) => name.startsWith('drope-'));
        const models = (await Promise.all(names.map(async (name) => (await caches.open(name)).keys()))).flat();
        const has = (list, part) => list.some((key) => key.url.includes(part));
        if (has(keys, 'worker_bg.wasm') && has(models, 'study-rope/model') && has(models, 'study-p-drope-copies/model')) done(keys.length);
        else setTimeout(look, 100); }; look();";
    let kept = browser.client.execute_async(kept, vec![]).await?;
    assert!(kept.as_u64() >= Some(5), "{kept} files");
    server.is_off.store(true, Ordering::Relaxed);
    browser.client.goto(&page).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.click("run").await?;
    browser.wait("#column-1 .verdict", 120, |text| text.starts_with("Found")).await?;
    browser.click("another").await?;
    browser.client.wait().for_element(Locator::Css("#row-3[class]:not([class=''])")).await?;
    // What was never used cannot be there, and is named.
    browser.client.find(Locator::Id("method-1")).await?.select_by_value("alibi").await?;
    browser.click("run").await?;
    browser
        .wait("#error", 60, |text| text.contains("could not be loaded") || text.contains("There is no connection"))
        .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_passes_wcag_aa_in_the_light_in_the_dark_and_on_a_phone() -> Result<()> {
    let server = Server::start()?;
    let axe = std::fs::read_to_string(fetched("DROPE_AXE", "axe-4.11.0.min.js"))?;
    for (width, dark) in [(1280, false), (1280, true), (500, false)] {
        let browser = Browser::open(width, dark).await?;
        browser.client.goto(&format!("{}?backend=cpu&extension=2&columns=drope~rope", server.address)).await?;
        browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
        browser.click("run").await?;
        browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
        browser.enter("why").await?;
        browser.click("probe").await?;
        browser.wait(".inside .answers > div:nth-child(2) p", 120, |text| text.contains("layer")).await?;
        browser.client.execute(&axe, vec![]).await?;
        let script = "const done = arguments[0];
            const on = { enabled: true };
            axe.run(document, {
              runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
              rules: { 'label-content-name-mismatch': on, 'landmark-unique': on, 'aria-allowed-role': on, 'skip-link': on },
            }).then((found) =>
              done(found.violations.flatMap((rule) => rule.nodes.map((node) => rule.id + ': ' + node.html.slice(0, 200)))));";
        for screen in ["why", "play", "results", "text", "model", "recalibrate"] {
            browser.enter(screen).await?;
            let violations = browser.client.execute_async(script, vec![]).await?;
            assert_eq!(violations, json!([]), "{screen}, {width} wide, dark: {dark}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_can_be_part_of_another_page() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(700, false).await?;
    browser.client.goto(&format!("{}?backend=cpu&extension=2&columns=drope~rope&embed=1", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.click("run").await?;
    browser.wait("#column-1 .verdict", 120, |text| text.starts_with("Found")).await?;
    assert!(browser.client.find(Locator::Css(".overview, .heatmap, .grid")).await.is_err());
    let bottom = "return document.querySelector('.answers').getBoundingClientRect().bottom + scrollY";
    let bottom = browser.client.execute(bottom, vec![]).await?;
    assert!(bottom.as_f64() < Some(640.0), "the answers end at {bottom}, below the 640 pixels of docs/page.md");
    let link = async || -> Result<String> {
        browser.client.find(Locator::Css("footer a")).await?.attr("href").await?.context("a link")
    };
    let first = link().await?;
    assert!(first.contains("columns=drope~rope") && !first.contains("embed"), "{first}");
    browser.client.find(Locator::Id("method-2")).await?.select_by_value("yarn").await?;
    let second = link().await?;
    assert!(second.contains("columns=drope~yarn"), "it leads to what is chosen now: {second}");
    browser.screenshot("embedded.png", "main").await?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

/// Resident memory of all of the browser's processes, in bytes.
fn memory(browser: &Browser) -> u64 {
    let pages = |number: u32| -> Option<u64> {
        std::fs::read_to_string(format!("/proc/{number}/statm")).ok()?.split_whitespace().nth(1)?.parse().ok()
    };
    4096 * family(browser.driver_id()).into_iter().filter_map(|(number, _)| pages(number)).sum::<u64>()
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_does_not_grow_over_fifty_runs_and_the_page_never_blocks() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu&extension=4&columns=drope~rope", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    let run = "const done = arguments[0], verdict = document.querySelector('#column-2 .verdict');
        new MutationObserver((_, watch) => { if (verdict.textContent) { watch.disconnect(); done(true); } })
          .observe(verdict, { childList: true, subtree: true, characterData: true });
        document.getElementById('next').click();";
    let observe = "window.long = []; new PerformanceObserver((list) =>
        list.getEntries().forEach((entry) => window.long.push(entry.duration))).observe({ type: 'longtask' });";
    let mut after = Vec::new();
    for number in 1..=60 {
        if number == 11 {
            browser.client.execute(observe, vec![]).await?;
        }
        browser.client.execute_async(run, vec![]).await?;
        if [10, 60].contains(&number) {
            after.push(memory(&browser));
        }
    }
    let grown = after[1].saturating_sub(after[0]);
    let long = browser.client.execute("return window.long", vec![]).await?;
    keep("fifty-runs.json", &json!({ "grown_bytes": grown, "long_tasks_ms": long }))?;
    ensure!(grown < 60_000_000, "{grown} bytes more after fifty runs");
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}
