//! What a run records along the way: JSON lines, one a measure.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files;

/// The lines of a file; none where there is no file. A line that is no such record is left out.
pub fn read<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let text = files::read_text(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Replaces the file.
pub fn write<T: Serialize>(path: &Path, lines: &[T]) -> Result<()> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    files::write(path, text.as_bytes())
}
