//! Results on disk: a JSON list, one cell a line, that grows while commands measure.

use std::path::Path;

use anyhow::{Context, Result};
use drope_core::results;
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

/// Adds a cell to the file in place of those that it replaces.
pub fn replace<T: Serialize + DeserializeOwned>(path: &Path, cell: T, replaces: impl Fn(&T, &T) -> bool) -> Result<()> {
    files::update(path, |text| {
        let mut cells: Vec<T> = if text.is_empty() { Vec::new() } else { parse(path, text)? };
        cells.retain(|known| !replaces(known, &cell));
        cells.push(cell);
        Ok(results::to_json(&cells)?)
    })
}

fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<Vec<T>> {
    serde_json::from_str(text)
        .with_context(|| format!("{} does not hold results; choose another --json", path.display()))
}
