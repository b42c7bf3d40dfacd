//! The peer that a visitor measures beside our programs: onnxruntime-web with nano-rope, in a worker of its own (web/peer).

use futures::StreamExt;
use futures::channel::mpsc::unbounded;
use serde_json::{Value, json};
use web_sys::Worker;

use super::table::Speed;
use crate::link::script::{end, start_module};
use crate::state::benchmark_size::BenchmarkSize;

/// Program and version; xtask/src/peer.rs puts the package into the page.
pub const PEER: &str = "onnxruntime-web 1.30.0";

/// Tokens that it writes behind each prompt.
const ANSWER: usize = 32;
/// Positions that the file of its model has.
const POSITIONS: usize = 4096 + 128;

/// What it computes with, by its own names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Wasm,
    Webgpu,
}

impl Provider {
    fn name(self) -> &'static str {
        match self {
            Self::Wasm => "wasm",
            Self::Webgpu => "webgpu",
        }
    }
}

/// A worker that ends with this value.
struct Peer(Worker);

impl Drop for Peer {
    fn drop(&mut self) {
        end(&self.0);
    }
}

/// As [`super::measured::measure`] does of our programs.
pub async fn measure(
    provider: Provider,
    name: &str,
    threads: usize,
    BenchmarkSize { prompts, rounds }: BenchmarkSize,
    tell: impl Fn(usize, usize),
) -> Result<Vec<Speed>, String> {
    if prompts.iter().any(|prompt| prompt + ANSWER > POSITIONS) {
        return Err(format!("the file of its model ends at {POSITIONS} tokens"));
    }
    let (sender, mut said) = unbounded();
    let hear = sender.clone();
    let worker = start_module(
        "peer/peer.js",
        // Refused only when nobody listens any more.
        move |text| drop(sender.unbounded_send(Ok(text))),
        move |message| {
            // Where the script is not there, the event has no message.
            let reason = if message.is_empty() { "this page was built without it".to_owned() } else { message };
            drop(hear.unbounded_send(Err(reason)));
        },
    );
    let worker = worker.map_err(|_| "this browser starts no workers of modules".to_owned())?;
    let request = json!({ "provider": provider.name(), "threads": threads, "prompts": prompts, "rounds": rounds, "answer": ANSWER });
    let peer = Peer(worker);
    // Fails only for values that cannot be copied; text can be copied.
    let _ = peer.0.post_message(&request.to_string().into());
    let new = |prompt| Speed { program: name.to_owned(), prompt, prefill: Vec::new(), decode: Vec::new() };
    let mut speeds: Vec<Speed> = prompts.into_iter().map(new).collect();
    while let Some(message) = said.next().await {
        let message: Value = serde_json::from_str(&message?).unwrap_or_default();
        let number = |name: &str| message[name].as_u64().map(|number| number as usize);
        if let Some(reason) = message["failed"].as_str() {
            return Err(reason.to_owned());
        }
        if message["finished"] == true {
            return Ok(speeds);
        }
        let Some(speed) = number("at").and_then(|at| speeds.get_mut(at)) else { continue };
        if let Some(round) = number("begins") {
            tell(speed.prompt, round);
        }
        let found = message["prefill"].as_f64().zip(message["decode"].as_f64());
        // Round 0 warms up.
        if let (Some((prefill, decode)), Some(1..)) = (found, number("round")) {
            speed.prefill.push(prefill);
            speed.decode.push(decode);
        }
    }
    Err("the worker is gone".to_owned())
}
