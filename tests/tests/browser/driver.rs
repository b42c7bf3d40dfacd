//! ChromeDriver and one browser, and what the tests do with a page.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::artifacts;

/// Keeps what the page would save as a file.
pub const SAVES: &str =
    "HTMLAnchorElement.prototype.click = function () { window.saved = { name: this.download, href: this.href }; };";

/// ChromeDriver and one browser; both end with the test, also when it fails.
pub struct Browser {
    driver: Child,
    port: u16,
    pub client: Client,
    /// The folder is deleted after the browser has ended.
    _profile: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // ChromeDriver ends the browser when it is asked to shut down; killed, it would leave it running.
        if let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", self.port)) {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
            let _ = stream.write_all(b"GET /shutdown HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
            let _ = stream.read_to_end(&mut Vec::new());
        }
        // Processes that have not ended by then are killed, helpers included.
        let _ =
            Command::new("kill").args(["-9", "--", &format!("-{}", self.driver.id())]).stderr(Stdio::null()).status();
        let _ = self.driver.wait();
    }
}

impl Browser {
    pub async fn open(width: u32, dark: bool) -> Result<Self> {
        let profile = tempfile::tempdir()?;
        let mut arguments = vec![
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-background-networking".to_owned(),
            "--enable-unsafe-webgpu".to_owned(),
            "--use-webgpu-adapter=swiftshader".to_owned(),
            format!("--user-data-dir={}", profile.path().display()),
            format!("--window-size={width},1400"),
        ];
        if dark {
            arguments.push("--blink-settings=preferredColorScheme=0".to_owned());
        }
        let mut capabilities = Capabilities::new();
        capabilities.insert("goog:chromeOptions".into(), json!({ "args": arguments }));
        capabilities.insert("goog:loggingPrefs".into(), json!({ "browser": "ALL" }));
        Self::connect(Command::new("chromedriver"), capabilities, profile).await
    }

    /// Firefox, whose driver is named by a variable; Chromium's own commands do not work there.
    pub async fn open_firefox(driver: &Path) -> Result<Self> {
        let profile = tempfile::tempdir()?;
        let mut capabilities = Capabilities::new();
        capabilities
            .insert("moz:firefoxOptions".into(), json!({ "args": ["-headless"], "binary": "/usr/bin/firefox-esr" }));
        let mut command = Command::new(driver);
        command.arg("--profile-root").arg(profile.path());
        Self::connect(command, capabilities, profile).await
    }

    async fn connect(mut driver: Command, capabilities: Capabilities, profile: TempDir) -> Result<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let name = driver.get_program().to_string_lossy().into_owned();
        driver.arg(format!("--port={port}")).stdout(Stdio::null()).process_group(0);
        let mut driver =
            driver.spawn().with_context(|| format!("{name} does not start; `cargo xtask test` installs it"))?;
        let address = format!("http://127.0.0.1:{port}");
        for _ in 0..600 {
            if let Ok(client) =
                ClientBuilder::new(HttpConnector::new()).capabilities(capabilities.clone()).connect(&address).await
            {
                return Ok(Self { driver, port, client, _profile: profile });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // It has a group of its own, which nothing else would end.
        let group = format!("-{}", driver.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).status();
        let _ = driver.wait();
        bail!("{name} does not open a browser")
    }

    /// Number of ChromeDriver's process.
    pub fn driver_id(&self) -> u32 {
        self.driver.id()
    }

    /// Runs a script in every page from now on, before the page's own.
    pub async fn before_each_page(&self, source: &str) -> Result<()> {
        self.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": source })).await
    }

    /// Runs a script in every worker from now on, before the worker's own.
    pub async fn before_each_worker(&self, source: &str) -> Result<()> {
        let wrapped = format!(
            "window.Worker = class extends Worker {{
               constructor(address) {{
                 const text = `${{{}}}; importScripts(${{JSON.stringify(address)}})`;
                 super(URL.createObjectURL(new Blob([text], {{ type: 'text/javascript' }})));
               }}
             }};",
            json!(source)
        );
        self.before_each_page(&wrapped).await
    }

    /// Limits how many bytes the browser keeps for a page.
    pub async fn limit_storage(&self, origin: &str, bytes: u64) -> Result<()> {
        self.devtools("Storage.overrideQuotaForOrigin", &json!({ "origin": origin, "quotaSize": bytes })).await
    }

    /// Makes the page as wide and as high as that, smaller than a window can be.
    pub async fn resize(&self, width: u32, height: u32) -> Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.devtools("Emulation.setDeviceMetricsOverride", &size).await
    }

    async fn devtools(&self, command: &str, parameters: &Value) -> Result<()> {
        let body = json!({ "cmd": command, "params": parameters });
        self.client.issue_cmd(DriverCommand { path: "goog/cdp/execute", body }).await?;
        Ok(())
    }

    pub async fn text(&self, id: &str) -> Result<String> {
        Ok(self.client.find(Locator::Id(id)).await?.text().await?)
    }

    pub async fn click(&self, id: &str) -> Result<()> {
        Ok(self.client.find(Locator::Id(id)).await?.click().await?)
    }

    /// Goes to a screen of the page.
    pub async fn enter(&self, screen: &str) -> Result<()> {
        self.click(&format!("screen-{screen}")).await
    }

    /// Waits until the text of an element satisfies `is_done`.
    pub async fn wait(&self, css: &str, seconds: u64, is_done: impl Fn(&str) -> bool) -> Result<String> {
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

    /// Chooses files for an input.
    pub async fn choose(&self, id: &str, paths: &[&Path]) -> Result<()> {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        Ok(self.client.find(Locator::Id(id)).await?.send_keys(&paths.join("\n")).await?)
    }

    /// Chooses from a list by what is written there, once that is there.
    pub async fn select(&self, id: &str, label: &str) -> Result<()> {
        for _ in 0..600 {
            let list = self.client.find(Locator::Id(id)).await;
            if let Ok(list) = list
                && list.select_by_label(label).await.is_ok()
            {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("{id} has no {label:?}")
    }

    /// Replaces what a field holds.
    pub async fn fill(&self, id: &str, text: &str) -> Result<()> {
        let script = "const field = document.getElementById(arguments[0]); field.value = arguments[1];
            field.dispatchEvent(new Event('input', { bubbles: true })); field.dispatchEvent(new Event('change', { bubbles: true }));";
        self.client.execute(script, vec![json!(id), json!(text)]).await?;
        Ok(())
    }

    /// The last file that the page saved, by name and bytes. Needs [`SAVES`] before the page.
    pub async fn saved(&self) -> Result<(String, Vec<u8>)> {
        let script = "const done = arguments[0]; const look = async () => {
              if (!window.saved) { setTimeout(look, 100); return; }
              const bytes = new Uint8Array(await (await fetch(window.saved.href)).arrayBuffer());
              const pieces = [];
              for (let at = 0; at < bytes.length; at += 32768) pieces.push(String.fromCharCode(...bytes.subarray(at, at + 32768)));
              done([window.saved.name, pieces.join('')]);
            }; look();";
        let found = self.client.execute_async(script, vec![]).await?;
        let text = |place: usize| found[place].as_str().map(str::to_owned).context("a saved file");
        // The script returns one character for each byte.
        Ok((text(0)?, text(1)?.chars().map(|letter| letter as u8).collect()))
    }

    /// All errors on the console.
    pub async fn complaints(&self) -> Result<Vec<String>> {
        let log = self.client.issue_cmd(DriverCommand { path: "se/log", body: json!({ "type": "browser" }) }).await?;
        let lines = log.as_array().cloned().unwrap_or_default();
        let bad = |line: &&Value| matches!(line["level"].as_str(), Some("SEVERE"));
        Ok(lines.iter().filter(bad).map(|line| line["message"].to_string()).collect())
    }

    /// Presses Run; milliseconds until the left column shows its first token.
    pub async fn milliseconds_to_answer(&self) -> Result<f64> {
        let script = "const done = arguments[0], start = performance.now(), answer = document.getElementById('answer-1');\
                      new MutationObserver((_, watch) => {\
                        if (answer.textContent) { watch.disconnect(); done(performance.now() - start); }\
                      }).observe(answer, { childList: true, subtree: true, characterData: true });\
                      document.getElementById('run').click();";
        let time = self.client.execute_async(script, vec![]).await?;
        time.as_f64().with_context(|| format!("no time but {time}"))
    }

    /// A picture of the page from an element on.
    pub async fn screenshot(&self, name: &str, from: &str) -> Result<()> {
        let script = "document.querySelector(arguments[0]).scrollIntoView()";
        self.client.execute(script, vec![json!(from)]).await?;
        Ok(std::fs::write(artifacts()?.join(name), self.client.screenshot().await?)?)
    }
}

/// A command of ChromeDriver's own.
#[derive(Debug)]
struct DriverCommand {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for DriverCommand {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.body.to_string()))
    }
}
