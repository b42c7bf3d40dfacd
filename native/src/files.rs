//! Files that are either old or new and never half-written.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}; check that the path is right", path.display()))
}

/// Reads a text file.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).with_context(|| format!("{} is not a text file", path.display()))
}

/// Writes beside the target, then renames: after a crash or on a full disk the old file is still whole.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = with_suffix(path, "tmp");
    let write = || -> std::io::Result<()> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&temporary);
        anyhow::Error::new(error).context(format!("cannot write {}; check free space and permissions", path.display()))
    })
}

/// Whether [`write()`] will be able to write there, known before hours of work; makes the folder.
pub fn check_writable(path: &Path) -> Result<()> {
    let probe = with_suffix(path, "tmp");
    write(&probe, &[])?;
    fs::remove_file(&probe).with_context(|| format!("cannot remove {}; check permissions", probe.display()))
}

/// Replaces a folder as a whole; `fill` writes the new one.
pub fn replace_folder(folder: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let (new, old) = (with_suffix(folder, "tmp"), with_suffix(folder, "old"));
    let _ = fs::remove_dir_all(&new);
    fill(&new).inspect_err(|_| {
        let _ = fs::remove_dir_all(&new);
    })?;
    let swap = || -> std::io::Result<()> {
        if folder.exists() {
            let _ = fs::remove_dir_all(&old);
            fs::rename(folder, &old)?;
        }
        fs::rename(&new, folder)
    };
    swap().with_context(|| format!("cannot replace {}; check permissions", folder.display()))?;
    let _ = fs::remove_dir_all(&old);
    Ok(())
}

/// The folder, or the one that [`replace_folder`] had put aside when it was cut off between its two renames.
pub fn current_folder(folder: &Path) -> PathBuf {
    let old = with_suffix(folder, "old");
    if !folder.exists() && old.exists() { old } else { folder.to_owned() }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{suffix}"));
    path.with_file_name(name)
}
