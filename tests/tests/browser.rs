//! The built page in headless Chromium: what a visitor does, and that the answers are the native ones.
//!
//! Needs the page built by Trunk (`dist/`) and ChromeDriver; `cargo xtask test` sees to both.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::generate::{Flow, Options, generate};
use drope_core::language::Values;
use drope_core::model::Model;
use drope_core::niah::{Spec, Task, sample};
use drope_core::positions::Method;
use drope_core::probe::{TokenizedSample, probe_heads};
use drope_core::tokenizer::Tokenizer;
use fantoccini::wd::Capabilities;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the checkout is there")
}

/// Where pictures and timings are left for people and for `bench/compare.py`.
fn artifacts() -> Result<PathBuf> {
    let folder = root().join("artifacts");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn keep(name: &str, value: &Value) -> Result<()> {
    Ok(std::fs::write(artifacts()?.join(name), value.to_string())?)
}

/// Serves `dist/` on a free port of this machine until the test ends.
fn serve() -> Result<u16> {
    serve_but_for(Arc::default())
}

/// The same, without the worker's wasm while `is_broken`.
fn serve_but_for(is_broken: Arc<AtomicBool>) -> Result<u16> {
    let dist = root().join("dist");
    ensure!(dist.join("index.html").exists(), "dist/index.html is missing: `trunk build --release` first");
    let server = tiny_http::Server::http("127.0.0.1:0").map_err(|error| anyhow::anyhow!(error))?;
    let port = server.server_addr().to_ip().context("an address with a port")?.port();
    std::thread::spawn(move || {
        for request in server.incoming_requests() {
            let path = request.url().split('?').next().unwrap_or_default().trim_start_matches('/');
            let path = if path.is_empty() { "index.html" } else { path };
            let kind = match path.rsplit('.').next() {
                Some("html") => "text/html",
                Some("js") => "text/javascript",
                Some("css") => "text/css",
                Some("wasm") => "application/wasm",
                _ => "application/octet-stream",
            };
            let header = tiny_http::Header::from_bytes("content-type", kind).expect("a valid header");
            let is_missing = path == "worker_bg.wasm" && is_broken.load(Ordering::Relaxed);
            let _ = match std::fs::read(dist.join(path)) {
                Ok(bytes) if !is_missing => request.respond(tiny_http::Response::from_data(bytes).with_header(header)),
                _ => request.respond(tiny_http::Response::empty(404)),
            };
        }
    });
    Ok(port)
}

/// ChromeDriver and one browser; both end with the test.
struct Browser {
    driver: Child,
    client: Client,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
    }
}

impl Browser {
    async fn open(width: u32, dark: bool) -> Result<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .spawn()
            .context("chromedriver does not start; install Debian's chromium-driver")?;
        let mut arguments = vec![
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-background-networking".to_owned(),
            "--enable-unsafe-webgpu".to_owned(),
            "--use-webgpu-adapter=swiftshader".to_owned(),
            format!("--window-size={width},1400"),
        ];
        if dark {
            arguments.push("--blink-settings=preferredColorScheme=0".to_owned());
        }
        let mut capabilities = Capabilities::new();
        capabilities.insert("goog:chromeOptions".into(), json!({ "args": arguments }));
        capabilities.insert("goog:loggingPrefs".into(), json!({ "browser": "ALL" }));
        let address = format!("http://127.0.0.1:{port}");
        for _ in 0..100 {
            if let Ok(client) =
                ClientBuilder::new(HttpConnector::new()).capabilities(capabilities.clone()).connect(&address).await
            {
                return Ok(Self { driver, client });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("ChromeDriver does not open a browser")
    }

    async fn text(&self, id: &str) -> Result<String> {
        Ok(self.client.find(Locator::Id(id)).await?.text().await?)
    }

    async fn click(&self, id: &str) -> Result<()> {
        Ok(self.client.find(Locator::Id(id)).await?.click().await?)
    }

    /// Waits until the text of an element satisfies `is_done`.
    async fn wait(&self, css: &str, seconds: u64, is_done: impl Fn(&str) -> bool) -> Result<String> {
        let mut last = String::new();
        for _ in 0..seconds * 10 {
            if let Ok(element) = self.client.find(Locator::Css(css)).await {
                last = element.text().await.unwrap_or_default();
                if is_done(&last) {
                    return Ok(last);
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("{css} still says {last:?} after {seconds} s")
    }

    /// Everything on the console that is worse than a note.
    async fn complaints(&self) -> Result<Vec<String>> {
        let log = self.client.issue_cmd(BrowserLog).await?;
        let lines = log.as_array().cloned().unwrap_or_default();
        let bad = |line: &&Value| matches!(line["level"].as_str(), Some("SEVERE"));
        Ok(lines.iter().filter(bad).map(|line| line["message"].to_string()).collect())
    }

    /// Presses Run; milliseconds until the left column shows its first token.
    async fn milliseconds_to_answer(&self) -> Result<f64> {
        let script = "const done = arguments[0], start = performance.now(), answer = document.getElementById('left-answer');\
                      new MutationObserver((_, watch) => {\
                        if (answer.textContent) { watch.disconnect(); done(performance.now() - start); }\
                      }).observe(answer, { childList: true, subtree: true, characterData: true });\
                      document.getElementById('run').click();";
        let time = self.client.execute_async(script, vec![]).await?;
        time.as_f64().with_context(|| format!("no time but {time}"))
    }

    /// A picture of the page from an element on.
    async fn screenshot(&self, name: &str, from: &str) -> Result<()> {
        let script = format!("document.querySelector('{from}').scrollIntoView()");
        self.client.execute(&script, vec![]).await?;
        Ok(std::fs::write(artifacts()?.join(name), self.client.screenshot().await?)?)
    }
}

/// ChromeDriver's own command for the console.
#[derive(Debug)]
struct BrowserLog;

impl fantoccini::wd::WebDriverCompatibleCommand for BrowserLog {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}

/// What the native code makes of the page's question: the answer, whether it is exact, and the head that gives the needle
/// most, with its share in percent.
fn native(method: Method, model: &str, spec: &Spec) -> Result<(String, bool, String)> {
    let folder = root().join("models").join(model);
    let config = Config::from_json(&std::fs::read_to_string(folder.join("config.json"))?)?;
    let tokenizer = Tokenizer::from_json(&std::fs::read(folder.join("tokenizer.json"))?)?;
    let model = Model::from_safetensors(&config, &std::fs::read(folder.join("model.safetensors"))?, &Device::flex())?;
    let spec = Spec { context: spec.context * config.max_position_embeddings, ..*spec };
    let sample = sample(&spec, &tokenizer)?;
    let positions = method.positions(&config, (spec.context / config.max_position_embeddings) as f64)?;
    let marked = TokenizedSample::new(&sample, &tokenizer)?;
    let heads = pollster::block_on(probe_heads(&model, &config, &positions, &marked, async |_| Flow::Continue))?;
    let heads = heads.context("nobody stopped it")?;
    let best = heads.iter().max_by(|a, b| a.needle_of_question.total_cmp(&b.needle_of_question)).context("a head")?;
    let share = 100.0 * best.needle_of_question;
    // WebDriver gives the sign's unbreakable space as a plain one.
    let best = format!("layer {}, head {} gives the needle most, {share:.0} %", best.layer, best.head);
    let options = Options {
        max_new_tokens: spec.task.max_answer_tokens(),
        stop: tokenizer.sentence_ends(),
        context: 2 * spec.context,
        crop_length: method.crop_length(&config),
        temperature: 0.0,
        seed: 0,
    };
    let prompt = tokenizer.prompt(&sample.prompt())?;
    let ids = pollster::block_on(generate(&model, &config, &positions, &prompt, &options, async |_| Flow::Continue))?;
    let text = tokenizer.decode(&ids)?;
    let exact = sample.score(&text).exact;
    Ok((text, exact, best))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_runs_both_methods_at_four_times_the_context() -> Result<()> {
    let address = format!("http://127.0.0.1:{}/", serve()?);
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
        let spec = Spec { depth: Some(0.25), ..Spec::new(Task::MultiKey, Values::Numbers, 4, 7) };
        let (answer, exact, best) = native(method, model, &spec)?;
        heads.push(best);
        assert_eq!(browser.text(&format!("{side}-answer")).await?.trim(), answer.trim(), "{side}");
        assert_eq!(verdict.starts_with("Found"), exact, "{side}: {verdict}");
    }
    browser.wait("mark.needle", 5, |text| text.starts_with("One of the special magic numbers")).await?;
    browser.click("look").await?;
    for (column, best) in (1..).zip(&heads) {
        browser.wait(&format!(".inside .answers > div:nth-child({column}) p"), 120, |text| text.contains(best)).await?;
    }
    browser.screenshot("page.png", "header").await?;
    browser.screenshot("inside.png", ".inside").await?;
    let url = browser.client.current_url().await?.to_string();
    assert!(url.contains("left=drope") && url.contains("seed=7"), "the address keeps the choices: {url}");

    // Stop works at once, and what was stopped stays silent.
    browser.client.goto(&format!("{address}?backend=cpu&extension=8&seed=8")).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.client.find(Locator::Css("td button[aria-label^='YaRN at 8']")).await?.click().await?;
    browser.wait("td button.running .live", 60, |text| text.contains('/')).await?;
    browser.client.find(Locator::Css("td button.running")).await?.click().await?;
    ensure!(browser.client.find(Locator::Css("td button.running")).await.is_err(), "still running after stop");
    let stopped = browser.client.find(Locator::Css(".live")).await?.text().await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(browser.client.find(Locator::Css(".live")).await?.text().await?, stopped);
    // The worker takes the next question after a stop.
    browser.click("run").await?;
    browser.wait("#right .verdict", 120, |text| text.contains("tokens/s")).await?;
    assert_eq!(browser.complaints().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_could_not_start_is_started_anew() -> Result<()> {
    let is_broken = Arc::new(AtomicBool::new(true));
    let address = format!("http://127.0.0.1:{}/", serve_but_for(is_broken.clone())?);
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{address}?extension=8")).await?;
    browser.wait("#error", 60, |text| text.contains("The worker stopped") && text.contains("Press Run")).await?;
    is_broken.store(false, Ordering::Relaxed);
    browser.click("run").await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    // Another method is chosen while the first one answers: its column stays empty, whatever still arrives.
    browser.wait("#left .question", 60, |text| text.contains("magic")).await?;
    browser.client.find(Locator::Id("left-method")).await?.select_by_value("rope").await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!((browser.text("left-answer").await?, browser.text("right-answer").await?), Default::default());
    browser.click("run").await?;
    browser.wait("#right .verdict", 120, |text| text.contains("tokens/s")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn webgpu_is_checked_against_the_cpu_before_it_is_used() -> Result<()> {
    let address = format!("http://127.0.0.1:{}/", serve()?);
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
    let address = format!("http://127.0.0.1:{}/", serve()?);
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
