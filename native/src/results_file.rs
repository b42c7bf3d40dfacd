//! Results on disk: a JSON list, one cell a line, that grows while commands measure.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use drope_core::benchmarks::{self, BenchmarkCell};
use drope_core::perplexity::{self, PerplexityCell};
use drope_core::results::{self, Cell};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::files;

/// Cells of earlier runs; none where there is no file.
pub fn read<T: DeserializeOwned>(json: Option<&Path>) -> Result<Vec<T>> {
    match json {
        Some(path) if path.exists() => parse(path, &files::read_text(path)?),
        _ => Ok(Vec::new()),
    }
}

/// Adds cells to the file, where one was asked for. Other commands may add theirs at the same time.
pub fn append<T: Serialize>(json: Option<&Path>, cells: &[T]) -> Result<()> {
    let Some(path) = json else { return Ok(()) };
    files::update(path, |text| {
        if !text.is_empty() {
            parse::<IgnoredAny>(path, text)?;
        }
        Ok(results::append(text, cells)?)
    })
}

fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<Vec<T>> {
    serde_json::from_str(text)
        .with_context(|| format!("{} does not hold results; choose another --json", path.display()))
}

/// `core merge`: the shards of each cell joined into one file.
pub fn merge(files: &[PathBuf], out: &Path) -> Result<()> {
    let texts = files.iter().map(|file| files::read_text(file)).collect::<Result<Vec<_>>>()?;
    let merged = if let Some(cells) = cells_of_all::<Cell>(&texts) {
        results::to_json(&results::merge(cells)?)
    } else if let Some(cells) = cells_of_all::<PerplexityCell>(&texts) {
        results::to_json(&perplexity::merge(cells)?)
    } else if let Some(cells) = cells_of_all::<BenchmarkCell>(&texts) {
        results::to_json(&benchmarks::merge(cells)?)
    } else {
        bail!("these files do not all hold results of one kind of `core eval`; merge one kind at a time")
    };
    files::write(out, merged?.as_bytes())
}

/// The cells of every file, if all are of this kind.
fn cells_of_all<T: DeserializeOwned>(texts: &[String]) -> Option<Vec<T>> {
    let lists: Result<Vec<Vec<T>>, _> = texts.iter().map(|text| serde_json::from_str(text)).collect();
    Some(lists.ok()?.into_iter().flatten().collect())
}
