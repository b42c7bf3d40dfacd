//! A job as a process of its own.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

/// A running job.
pub struct RunningChild {
    child: Child,
    log: PathBuf,
    /// Bytes of the log that earlier runs wrote.
    written_before: u64,
    started: Instant,
}

impl RunningChild {
    /// Starts this program with other arguments. What it prints is added to `log`. It holds `claim` open until it ends, so
    /// that a job which outlives its study is not run by another study at the same time.
    pub fn start(arguments: &[String], log: &Path, claim: File) -> Result<Self> {
        let mut file = open_log(log).with_context(|| format!("cannot write {}; check permissions", log.display()))?;
        writeln!(file, "> core {}", arguments.join(" "))?;
        let written_before = file.metadata()?.len();
        let mut command = Command::new(program()?);
        command.args(arguments).stdin(Stdio::from(claim)).stdout(file.try_clone()?).stderr(file);
        // In a process group of its own the child gets no Ctrl-C from the terminal. The study interrupts its children
        // once, because a second interrupt would end them before they have saved.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().context("cannot start another process of this program")?;
        Ok(Self { child, log: log.to_owned(), written_before, started: Instant::now() })
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().context("cannot wait for a process")
    }

    /// Asks it to save and stop, as Ctrl-C does.
    pub fn interrupt(&self) {
        // Elsewhere Ctrl-C reaches all processes of the console.
        #[cfg(unix)]
        {
            use nix::sys::signal::{Signal, kill};
            // The child has not been waited for, so no other process can have its id. If it has just ended, the signal
            // does nothing.
            let pid = nix::unistd::Pid::from_raw(self.child.id().cast_signed());
            // A study that was started behind a script's `&` ignores SIGINT, and so do its children.
            let _ = kill(pid, Signal::SIGTERM);
        }
    }

    /// The last line that it wrote.
    pub fn last_line(&self) -> Option<String> {
        let bytes = fs::read(&self.log).ok()?;
        let text = String::from_utf8_lossy(bytes.get(self.written_before as usize..)?).into_owned();
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.trim_start_matches("error: ").to_owned())
    }
}

fn open_log(log: &Path) -> std::io::Result<File> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)?;
    }
    File::options().create(true).append(true).open(log)
}

/// The path of this program. On Linux it leads to the running program even if its file was replaced, so that the same
/// program runs all jobs.
fn program() -> Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe().context("cannot find this program")
}
