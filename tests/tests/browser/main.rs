//! The built page in headless Chromium: what a visitor does, that the answers are the native ones, and what the page says
//! when something fails.
//!
//! Needs the page built by Trunk (`dist/`) and ChromeDriver; `cargo xtask test` sees to both.

mod benchmark;
mod choices;
mod driver;
mod failures;
mod families;
mod firefox;
mod half_weights;
mod kernels;
mod large_models;
mod manners;
mod memory;
mod native;
mod own_answer;
mod own_models;
mod own_text;
mod processes;
mod recalibrate;
mod refused;
mod screens;
mod server;
mod stop;
mod store;
mod story;
mod threads;
mod visit;

use std::path::PathBuf;

use anyhow::Result;
use serde_json::Value;

fn root() -> PathBuf {
    PathBuf::from(env!("DROPE_ROOT"))
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
