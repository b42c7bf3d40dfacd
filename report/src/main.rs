//! `report`: writes every document of this repository that is made of results files.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;

/// Writes every document of this repository that is made of results files.
#[derive(Parser)]
struct Cli {
    /// Folder of the repository.
    #[arg(long, default_value = ".")]
    root: PathBuf,
}

fn main() -> Result<()> {
    let Cli { root } = Cli::parse();
    let data = root.join("docs/results");
    drope_report::write_reproduction(&data, &root.join("docs/reproduction"))?;
    drope_report::write_documents(&data, &root)
}
