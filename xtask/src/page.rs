//! Building and serving the page.

use std::hash::{Hash, Hasher};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::Workplace;
use crate::shell::run;
use crate::tools::Tools;

/// Trunk, with build output outside the checkout.
fn trunk(place: &Workplace, tools: &Tools) -> Result<Command> {
    let mut command = tools.command("trunk");
    command.current_dir(&place.root).env("CARGO_TARGET_DIR", target_dir(place)).env("DROPE_BUILD", build_name(place)?);
    Ok(command)
}

/// Builds the page into `dist/`.
pub fn build(place: &Workplace, tools: &Tools) -> Result<()> {
    run(trunk(place, tools)?.args(["build", "--release"]))
}

/// A name for what the page serves under fixed names: it changes when a model or the code does.
fn build_name(place: &Workplace) -> Result<String> {
    let mut hasher = std::hash::DefaultHasher::new();
    let mut folders: Vec<PathBuf> = ["models", "core/src", "web/src"].map(|folder| place.root.join(folder)).into();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else {
                std::fs::read(&path)?.hash(&mut hasher);
            }
        }
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// CARGO_TARGET_DIR if the user set it, else a folder in the user's cache.
pub fn target_dir(place: &Workplace) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| place.cache.join("target"), Into::into)
}

pub fn play(port: u16, open: bool) -> Result<()> {
    // Trunk would only find out after the build, and say so in the middle of its log.
    TcpListener::bind(("127.0.0.1", port))
        .with_context(|| format!("port {port} on 127.0.0.1 is taken: choose another with --port"))?;
    let place = Workplace::find()?;
    let tools = Tools::for_page(&place)?;
    println!("The playground will be at http://127.0.0.1:{port}/ (Ctrl-C stops it)");
    let mut command = trunk(&place, &tools)?;
    command.args(["serve", "--release", "--no-autoreload", "--address", "127.0.0.1", "--port"]).arg(port.to_string());
    if open {
        command.arg("--open");
    }
    run(&mut command)
}
