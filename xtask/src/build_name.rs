//! One name for the page and its programs.

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The variable that gives the page and its programs one name; with another, each would remove the caches of the others.
pub const BUILD: &str = "DROPE_BUILD";

/// Everything that the page is built from.
const SOURCES: [&str; 14] = [
    ".cargo/config.toml",
    "Cargo.lock",
    "Cargo.toml",
    "Trunk.toml",
    "core/Cargo.toml",
    "core/src",
    "docs/results",
    "instructions/Cargo.toml",
    "instructions/src",
    "models",
    "recipes",
    "web",
    "xtask/src/half_weights.rs",
    "xtask/src/programs.rs",
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
