//! `core reproduce`: the papers' tables and figures at nano size, each beside what the paper found.

mod budget;
mod chart;
mod comparison;
mod context;
mod crop;
mod cut;
mod dope;
mod drop_time;
mod frequencies;
mod gradients;
mod long;
mod loss;
mod mass;
mod passkey;
mod qk_norm;
mod report;
mod retrieval;
mod tasks;

use std::path::PathBuf;

use anyhow::{Result, bail};

use self::context::ReportContext;
use self::report::Section;
use crate::device::DeviceChoice;
use crate::{files, interrupt};

/// What `core reproduce` is told.
pub struct ReproduceOptions {
    /// Folder for the report.
    pub out: PathBuf,
    /// Folder of results files: what they hold is not measured again.
    pub data: PathBuf,
    /// Folder of the models to begin with.
    pub models: PathBuf,
    /// Folder of the recipes of those that are missing.
    pub recipes: PathBuf,
    /// Few questions, nothing trained.
    pub quick: bool,
    /// Measure and train nothing: only what the results files hold.
    pub render: bool,
    /// Only sections with these names; empty: all.
    pub only: Vec<String>,
    pub device: DeviceChoice,
    pub threads: usize,
}

/// A table or figure: its name, and what makes it. `None` where a quick run leaves it out.
type Maker = fn(&ReportContext) -> Result<Option<Section>>;

const SECTIONS: [(&str, Maker); 14] = [
    ("retrieval", retrieval::section),
    ("tasks", tasks::section),
    ("loss", loss::section),
    ("gradients", gradients::section),
    ("crop", crop::section),
    ("frequencies", frequencies::section),
    ("mass", mass::section),
    ("dope", dope::section),
    ("cut", cut::section),
    ("passkey", passkey::section),
    ("drop-time", drop_time::section),
    ("budget", budget::section),
    ("qk-norm", qk_norm::section),
    ("long", long::section),
];

/// Sections that can be made from results files alone.
const RENDERED: [&str; 8] = ["retrieval", "tasks", "loss", "crop", "frequencies", "cut", "budget", "long"];

/// For help texts.
pub fn section_names() -> String {
    SECTIONS.map(|(name, _)| name).join(", ")
}

/// Makes every section, and the report after each, so that a stopped run has what it got to.
pub fn run(options: &ReproduceOptions) -> Result<()> {
    if let Some(name) = options.only.iter().find(|name| !SECTIONS.iter().any(|(known, _)| known == name)) {
        bail!("there is no section {name:?}; use {}", section_names());
    }
    // Sections of one kind beside a heading of the other would mislead.
    let report = files::read_text(&options.out.join("README.md")).unwrap_or_default();
    if !report.is_empty() && report::is_quick(&report) != options.quick {
        bail!("{} holds a report of the other kind, full or --quick; choose another --out", options.out.display());
    }
    interrupt::watch()?;
    let context = ReportContext::new(options)?;
    for (name, make) in SECTIONS {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        if options.render && !RENDERED.contains(&name) {
            continue;
        }
        println!("\n== {name}");
        match make(&context)? {
            Some(section) => report::save(&options.out, name, &section)?,
            None => println!("left out"),
        }
        report::join(&options.out, &SECTIONS.map(|(name, _)| name), options.quick)?;
    }
    println!("\nthe report is {}", options.out.join("README.md").display());
    Ok(())
}
