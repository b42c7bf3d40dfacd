//! `report`: writes every document of this repository that is made of results files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

/// Writes every document of this repository that is made of results files.
#[derive(Parser)]
struct Cli {
    /// Folder of the repository.
    #[arg(long, default_value = ".")]
    root: PathBuf,
}

fn main() -> ExitCode {
    match write(&Cli::parse().root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn write(root: &Path) -> Result<()> {
    let data = root.join("docs/results");
    drope_report::write_reproduction(&data, &root.join("docs/reproduction"))?;
    drope_report::write_documents(&data, root)
}
