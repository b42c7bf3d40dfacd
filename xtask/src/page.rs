//! Building and serving the page.

use std::hash::{Hash, Hasher};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result};

use crate::Workplace;
use crate::programs;
use crate::shell::run;
use crate::sizes;
use crate::tools::Tools;

/// The variable that gives the page and its programs one name; with another, each would remove the caches of the others.
pub const BUILD: &str = "DROPE_BUILD";

/// Trunk, with build output outside the checkout.
fn trunk(place: &Workplace, tools: &Tools) -> Result<Command> {
    let mut command = tools.command("trunk");
    command
        .current_dir(&place.root)
        .env("CARGO_TARGET_DIR", target_dir(place))
        .env(BUILD, build_name(&place.root)?)
        .env("DROPE_XTASK", std::env::current_exe()?);
    Ok(command)
}

/// Builds the page into `dist/`.
pub fn build(place: &Workplace, tools: &Tools) -> Result<()> {
    run(trunk(place, tools)?.args(["build", "--release"]))
}

/// Builds the page and prints its sizes.
pub fn write() -> Result<()> {
    let place = Workplace::find()?;
    build(&place, &Tools::for_page(&place)?)?;
    sizes::print(&place.root.join("dist"))
}

/// Everything that the page is built from.
const SOURCES: [&str; 10] = [
    ".cargo/config.toml",
    "Cargo.lock",
    "Cargo.toml",
    "Trunk.toml",
    "core/Cargo.toml",
    "core/src",
    "docs/results",
    "models",
    "web",
    "xtask/src/half_weights.rs",
];

/// A name for what the page serves under fixed names: it changes when a model or what the programs are built from does.
pub fn build_name(root: &Path) -> Result<String> {
    let mut hasher = std::hash::DefaultHasher::new();
    let mut waiting: Vec<PathBuf> = SOURCES.map(|path| root.join(path)).into();
    while let Some(path) = waiting.pop() {
        let cannot_read = || format!("cannot read {}", path.display());
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).with_context(cannot_read)?;
            let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
            // Locks and other files that are not part of the checkout.
            paths.retain(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')));
            paths.sort();
            waiting.append(&mut paths);
        } else {
            path.strip_prefix(root)?.hash(&mut hasher);
            std::fs::read(&path).with_context(cannot_read)?.hash(&mut hasher);
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{SOURCES, build_name};

    #[test]
    fn every_source_changes_the_name_of_the_build() {
        let root = tempfile::tempdir().unwrap();
        // Folders and files alike: what is in a folder counts too.
        let files =
            SOURCES.map(|path| if Path::new(path).extension().is_some() { path.into() } else { format!("{path}/a/b") });
        let write = |file: &str, text: &str| {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        files.iter().for_each(|file| write(file, "before"));
        for file in &files {
            let before = build_name(root.path()).unwrap();
            assert_eq!(before, build_name(root.path()).unwrap());
            write(file, "after");
            assert_ne!(before, build_name(root.path()).unwrap(), "{file}");
        }
    }
}
