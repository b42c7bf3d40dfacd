//! What a study remembers of its jobs: files in `started/` and `done/`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::files;

/// The folder of a study.
pub struct Records(PathBuf);

/// `started/NAME.json` or `done/NAME.json`.
#[derive(Serialize, Deserialize)]
struct Record {
    command: String,
    /// The key of the job as it was run.
    key: String,
    /// Seconds that it ran, over all resumed parts.
    seconds: f64,
}

/// How far a job is.
pub enum State {
    New,
    /// It was run with another command or recipe, or after earlier jobs that have changed since.
    Changed,
    Started {
        seconds: f64,
    },
    Done {
        seconds: f64,
    },
}

impl Records {
    pub fn new(out: &Path) -> Self {
        Self(out.to_owned())
    }

    pub fn state(&self, name: &str, key: &str) -> Result<State> {
        let (done, started) = (self.read("done", name)?, self.read("started", name)?);
        Ok(match (done, started) {
            (Some(Record { key: found, seconds, .. }), _) if found == key => State::Done { seconds },
            (_, Some(Record { key: found, seconds, .. })) if found == key => State::Started { seconds },
            (None, None) => State::New,
            _ => State::Changed,
        })
    }

    /// Records that a job begins, or for how many seconds an unfinished job has run.
    pub fn write_started(&self, name: &str, key: &str, command: &str, seconds: f64) -> Result<()> {
        self.write("started", name, &Record { command: command.to_owned(), key: key.to_owned(), seconds })
    }

    /// Records that a job is done.
    pub fn write_done(&self, name: &str, key: &str, command: &str, seconds: f64) -> Result<()> {
        self.write("done", name, &Record { command: command.to_owned(), key: key.to_owned(), seconds })?;
        remove(&self.path("started", name)).map(|_| ())
    }

    /// Forgets that a job was done, so that it is run again; whether it was.
    pub fn forget(&self, name: &str) -> Result<bool> {
        remove(&self.path("done", name))
    }

    /// The log of a job: what it has printed in all its runs.
    pub fn log(&self, name: &str) -> PathBuf {
        self.0.join("logs").join(format!("{name}.log"))
    }

    /// Locks a job, as long as the file or a copy of its handle is open; `None` while another process has locked it.
    pub fn claim(&self, name: &str) -> Result<Option<File>> {
        files::try_lock(&self.path("started", name))
    }

    fn path(&self, kind: &str, name: &str) -> PathBuf {
        self.0.join(kind).join(format!("{name}.json"))
    }

    fn read(&self, kind: &str, name: &str) -> Result<Option<Record>> {
        let path = self.path(kind, name);
        if !path.exists() {
            return Ok(None);
        }
        let record = serde_json::from_slice(&files::read(&path)?);
        record.map(Some).with_context(|| format!("{} is damaged; delete it to run the job again", path.display()))
    }

    fn write(&self, kind: &str, name: &str, record: &Record) -> Result<()> {
        files::write(&self.path(kind, name), serde_json::to_string_pretty(record)?.as_bytes())
    }
}

/// Removes a file; whether there was one.
fn remove(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot remove {}", path.display())),
    }
}
