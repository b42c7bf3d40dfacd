//! The number of kernel launches for a decoded token on WebGPU, which limits the speed of small models on every GPU.

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::driver::Browser;
use super::keep;
use super::server::Server;

/// Layers of the page's models.
const LAYERS: u64 = 4;
/// Most launches of a layer.
const A_LAYER: u64 = 6;
/// Launches outside the layers: embedding, logits and the choice of the token.
const BESIDE: u64 = 3;

/// Counts launches and readbacks in a worker, and tells the counts so far with each token that was generated.
const COUNTING: &str = "
    let launches = 0, readbacks = 0;
    const wrap = (prototype, name, count) => {
      const own = prototype[name];
      prototype[name] = function (...given) { count(); return own.apply(this, given); };
    };
    wrap(GPUComputePassEncoder.prototype, 'dispatchWorkgroups', () => launches++);
    wrap(GPUComputePassEncoder.prototype, 'dispatchWorkgroupsIndirect', () => launches++);
    wrap(GPUBuffer.prototype, 'mapAsync', () => readbacks++);
    const told = new BroadcastChannel('kernels');
    const post = self.postMessage.bind(self);
    self.postMessage = (...given) => {
      if (String(given[0]).includes('Generated')) told.postMessage([JSON.parse(given[0]).Generated.column, launches, readbacks]);
      post(...given);
    };";

/// Collects the counts that [`COUNTING`] sends.
const GATHERING: &str = "window.kernels = [];
    new BroadcastChannel('kernels').onmessage = (event) => window.kernels.push(event.data);";

#[tokio::test(flavor = "multi_thread")]
async fn a_decoded_token_takes_few_kernels_on_webgpu() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.before_each_page(GATHERING).await?;
    browser.before_each_worker(COUNTING).await?;
    browser.client.goto(&format!("{}?backend=webgpu&extension=1&columns=drope~yarn", server.address)).await?;
    browser.wait("#backend", 300, |text| text.starts_with("Computing on WebGPU")).await?;
    browser.click("run").await?;
    let verdict = browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    let counts = browser.client.execute("return window.kernels", vec![]).await?;
    let counts: Vec<[u64; 3]> = serde_json::from_value(counts).context("counts")?;
    let mut launches = Vec::new();
    for pair in counts.windows(2).filter(|pair| pair[0][0] == pair[1][0]) {
        let [of_token, readbacks] = [1, 2].map(|place| pair[1][place] - pair[0][place]);
        ensure!(of_token <= A_LAYER * LAYERS + BESIDE, "{of_token} launches of a token in {counts:?}");
        ensure!(readbacks == 1, "{readbacks} readbacks of a token in {counts:?}");
        launches.push(of_token);
    }
    ensure!(launches.len() >= 6, "{counts:?}");
    keep("kernels.json", &json!({ "layers": LAYERS, "launches": launches, "verdict": verdict }))
}
