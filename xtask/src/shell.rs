//! Running other programs with errors that say which program and what to do.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The command line as a person would type it, for messages.
fn words(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}

/// Runs to the end with output shown; an exit status other than 0 is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let line = words(command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Runs quietly and returns what it printed; `None` when it cannot be started or fails.
pub fn capture(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs with output both shown and returned, with whether the command succeeded.
pub fn tee(command: &mut Command) -> Result<(bool, String)> {
    let line = words(command);
    eprintln!("$ {line}");
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start `{line}`"))?;
    let mut seen = String::new();
    let output = child.stdout.take().context("the child's output is piped")?;
    for text in BufReader::new(output).lines() {
        let text = text?;
        println!("{text}");
        std::io::stdout().flush()?;
        seen.push_str(&text);
        seen.push('\n');
    }
    Ok((child.wait()?.success(), seen))
}

/// Where a program is on PATH.
pub fn which(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Installs Debian packages; only root on a Debian-like machine can.
pub fn apt_install(packages: &[&str]) -> Result<()> {
    let names = packages.join(" ");
    let is_root = capture(Command::new("id").arg("-u")).as_deref() == Some("0");
    if which("apt-get").is_none() || !is_root {
        bail!("please install these programs first (Debian's names): `apt-get install {names}`");
    }
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    run(apt().arg("update"))?;
    run(apt().args(["install", "-y", "--no-install-recommends"]).args(packages))
}
