//! `cargo xtask fuzz`: searches for files that make a reader fail.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::run;
use crate::test::programs_in;
use crate::tools::cargo_fuzz;
use crate::workplace::Workplace;

/// Runs each target for `minutes`. A file that breaks one is left in `fuzz/artifacts` and ends the search.
pub fn search(minutes: u64) -> Result<()> {
    let place = Workplace::find()?;
    let cargo_fuzz = cargo_fuzz(&place)?;
    for target in programs_in(&place.root.join("fuzz/fuzz_targets"))? {
        // New inputs that cargo-fuzz keeps are stored outside the repository's corpus.
        let found: PathBuf = place.cache.join("corpora").join(&target);
        std::fs::create_dir_all(&found)?;
        let mut command = Command::new(&cargo_fuzz);
        command.current_dir(&place.root).args(["fuzz", "run", "--features", "fuzzer"]);
        // The readers have no unsafe blocks, so no sanitizer is needed; without one the stable compiler is enough.
        command.args(["--sanitizer", "none", "--target-dir"]).arg(place.cache.join("target/fuzz"));
        command.arg(&target).arg(&found).arg(place.root.join("fuzz/corpus").join(&target));
        command.args(["--", "-rss_limit_mb=2048", "-timeout=20", "-max_len=65536", "-print_final_stats=1"]);
        run(command.arg(format!("-max_total_time={}", 60 * minutes)))
            .with_context(|| format!("the reader of {target} broke; see above"))?;
    }
    Ok(())
}
