//! Results on disk: a JSON list, one cell a line, that grows while a command measures.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use drope_core::perplexity::{self, PerplexityCell};
use drope_core::results::{self, Cell};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files;

/// Cells of an earlier run into the same file.
pub fn read<T: DeserializeOwned>(json: Option<&Path>) -> Result<Vec<T>> {
    match json {
        Some(path) if path.exists() => serde_json::from_str(&files::read_text(path)?)
            .with_context(|| format!("{} does not hold results; choose another --json", path.display())),
        _ => Ok(Vec::new()),
    }
}

/// As [`read`], for a command that will write there: fails before the work if that cannot be.
pub fn open<T: DeserializeOwned>(json: Option<&Path>) -> Result<Vec<T>> {
    if let Some(path) = json {
        files::check_writable(path)?;
    }
    read(json)
}

/// Adds cells to the file, where one was asked for. Reads it anew, as another command may have added others.
pub fn add<T: Serialize + DeserializeOwned + Clone>(json: Option<&Path>, cells: &[T]) -> Result<()> {
    let Some(path) = json else { return Ok(()) };
    write(path, &[read(json)?, cells.to_vec()].concat())
}

/// What a stopped measurement has to say.
pub fn stopped(json: Option<&Path>) -> &'static str {
    match json {
        Some(_) => "stopped; the same command goes on with the next cell",
        None => "stopped; nothing is kept without --json",
    }
}

fn write<T: Serialize>(path: &Path, cells: &[T]) -> Result<()> {
    files::write(path, results::to_json(cells)?.as_bytes())
}

/// `core merge`: the shards of each cell joined into one file.
pub fn merge(files: &[PathBuf], out: &Path) -> Result<()> {
    let texts = files.iter().map(|file| files::read_text(file)).collect::<Result<Vec<_>>>()?;
    if let Some(cells) = all::<Cell>(&texts) {
        write(out, &results::merge(cells)?)
    } else if let Some(cells) = all::<PerplexityCell>(&texts) {
        write(out, &perplexity::merge(cells)?)
    } else {
        bail!("these files are not all of `eval niah` or all of `eval ppl`; merge one kind at a time")
    }
}

/// The cells of every file, if all are of this kind.
fn all<T: DeserializeOwned>(texts: &[String]) -> Option<Vec<T>> {
    let lists: Result<Vec<Vec<T>>, _> = texts.iter().map(|text| serde_json::from_str(text)).collect();
    Some(lists.ok()?.into_iter().flatten().collect())
}
