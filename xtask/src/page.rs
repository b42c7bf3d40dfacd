//! Building and serving the page.

use std::net::TcpListener;
use std::process::Command;

use anyhow::{Context, Result};

use crate::Workplace;
use crate::shell::run;
use crate::tools::Tools;

/// Trunk, with build output outside the checkout.
pub fn trunk(place: &Workplace, tools: &Tools) -> Command {
    let mut command = tools.command("trunk");
    command.current_dir(&place.root).env("CARGO_TARGET_DIR", target_dir(place));
    command
}

/// CARGO_TARGET_DIR if the user set it, else a folder in the user's cache.
pub fn target_dir(place: &Workplace) -> std::path::PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| place.cache.join("target"), Into::into)
}

pub fn play(port: u16, open: bool) -> Result<()> {
    // Trunk would only find out after the build, and say so in the middle of its log.
    TcpListener::bind(("127.0.0.1", port))
        .with_context(|| format!("port {port} on 127.0.0.1 is taken: choose another with --port"))?;
    let place = Workplace::find()?;
    let tools = Tools::for_page(&place)?;
    println!("The playground will be at http://127.0.0.1:{port}/ (Ctrl-C stops it)");
    let mut command = trunk(&place, &tools);
    command.args(["serve", "--release", "--no-autoreload", "--address", "127.0.0.1", "--port"]).arg(port.to_string());
    if open {
        command.arg("--open");
    }
    run(&mut command)
}
