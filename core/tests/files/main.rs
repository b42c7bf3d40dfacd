//! Configs and weights as files: what is read, what survives a round trip, and what is refused.
#![cfg(not(target_arch = "wasm32"))]

mod config;
#[path = "../parity/mod.rs"]
mod parity;
mod weights;

use drope_core::config::Config;
use drope_core::error::Error;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/rope/{name}", env!("DROPE_ROOT"))).unwrap()
}

fn config_with(old: &str, new: &str) -> Result<Config, Error> {
    let text = String::from_utf8(fixture("config.json")).unwrap();
    assert!(text.contains(old), "{old}");
    Config::from_json(&text.replace(old, new))
}
