//! Building and serving the page.

use std::net::TcpListener;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result};

use crate::build_name::{BUILD, build_name};
use crate::programs;
use crate::shell::run;
use crate::sizes;
use crate::tools::Tools;
use crate::workplace::Workplace;

/// Trunk, with build output outside the checkout.
fn trunk(place: &Workplace, tools: &Tools) -> Result<Command> {
    let mut command = tools.command("trunk");
    command
        .current_dir(&place.root)
        .env("CARGO_TARGET_DIR", place.target_dir())
        .env(BUILD, build_name(&place.root)?)
        .env("DROPE_XTASK", std::env::current_exe()?);
    Ok(command)
}

/// Builds the page into `dist/`, with its program for threads or without.
pub fn build(place: &Workplace, tools: &Tools, has_threads: bool) -> Result<()> {
    let mut trunk = trunk(place, tools)?;
    if !has_threads {
        trunk.env(programs::NO_THREADS, "1");
    }
    run(trunk.args(["build", "--release"]))
}

/// Builds the page and prints its sizes.
pub fn write() -> Result<()> {
    let place = Workplace::find()?;
    build(&place, &Tools::for_page(&place)?, true)?;
    sizes::print(&place.root.join("dist"))
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
    if let Some((name, value)) = programs::later(&place) {
        command.env(name, value);
        let build_name = build_name(&place.root)?;
        thread::spawn(move || {
            if let Err(error) = programs::build_behind(port, &build_name) {
                eprintln!("error: the page lacks some of its programs: {error:#}");
            }
        });
    }
    run(&mut command)
}
