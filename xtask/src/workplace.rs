//! Where the tasks run.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Everything the tasks need to know about where they run.
pub struct Workplace {
    /// Top of the checkout.
    pub root: PathBuf,
    /// Tools and build output live here, outside the checkout, so that fresh clones start warm.
    pub cache: PathBuf,
}

impl Workplace {
    pub fn find() -> Result<Self> {
        // As cargo says now, not when it compiled: checkouts that share build output share this binary.
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo xtask`")?;
        let root = Path::new(&manifest).join("..").canonicalize()?;
        let cache = std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
            .context("no home folder: set XDG_CACHE_HOME to a folder for build output")?
            .join("drope");
        std::fs::create_dir_all(&cache)?;
        Ok(Self { root, cache })
    }

    /// CARGO_TARGET_DIR if the user set it, else a folder in the user's cache.
    pub fn target_dir(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.cache.join("target"), Into::into)
    }
}
