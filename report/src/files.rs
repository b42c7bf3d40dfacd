//! Results files are read, documents are written.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

/// Reads a text file.
///
/// # Errors
/// If it cannot be read.
pub fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}; check that the path is right", path.display()))
}

/// The cells of a results file; none where there is no file.
///
/// # Errors
/// If it is no list of such cells.
pub fn cells<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    serde_json::from_str(&read_text(path)?).with_context(|| format!("{} does not hold such results", path.display()))
}

/// The cells of all files of a folder, in the order of the files' names; none where there is no folder.
///
/// # Errors
/// As [`cells`].
pub fn cells_in<T: DeserializeOwned>(folder: &Path) -> Result<Vec<T>> {
    let entries = if folder.is_dir() { fs::read_dir(folder)?.collect::<std::io::Result<_>>()? } else { Vec::new() };
    let mut paths: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let files: Vec<Vec<T>> = paths.iter().map(|path| cells(path)).collect::<Result<_>>()?;
    Ok(files.into_iter().flatten().collect())
}

/// Writes beside the target, then renames: after a crash or on a full disk the old file is still whole.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        // A temporary file is its owner's alone, a document is everyone's to read.
        #[cfg(unix)]
        file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write {}; check free space and permissions", path.display()))
}
