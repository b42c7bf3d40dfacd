//! `core reproduce`: the papers' tables and figures at nano size, each beside what the paper found.
//!
//! A section measures typed rows, draws verdicts from the rows, and renders both as text.

mod budget;
mod chart;
mod comparison;
mod context;
mod crop;
mod cut;
mod documents;
mod dope;
mod drop_time;
mod frequencies;
mod gradients;
mod long;
mod loss;
mod markdown;
mod mass;
mod measured;
mod paper;
mod passkey;
mod perplexities;
mod qk_norm;
mod report;
mod retrieval;
mod score;
mod study;
mod tasks;
mod trained;
mod verdict;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use self::context::ReportContext;
use self::report::Section;
use crate::arguments::at_least_one;
use crate::device::DeviceChoice;
use crate::{interrupt, threads};

/// Arguments of `core reproduce`.
#[derive(Args)]
pub struct ReproduceArgs {
    /// Folder for the report.
    #[arg(long)]
    out: PathBuf,
    /// Minutes in place of hours: few questions, nothing trained.
    #[arg(long)]
    quick: bool,
    /// Measure and train nothing: write the report again from the results files.
    #[arg(long)]
    render: bool,
    /// Folder of results files, which are added to; what they hold is not measured again; default: data in --out.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Folder of the shipped models; what other models a section needs is trained into models in --out.
    #[arg(long, default_value = "models")]
    models: PathBuf,
    /// Folder of the recipes.
    #[arg(long, default_value = "recipes")]
    recipes: PathBuf,
    /// Also write the tables and findings of README.md, docs/findings.md and docs/results/README.md in this folder.
    #[arg(long)]
    documents: Option<PathBuf>,
    #[arg(long, value_delimiter = ',', help = format!("Only these sections: {}", section_names()))]
    only: Vec<String>,
    /// Questions a cell, texts and random models, in place of each section's own number.
    #[arg(long, value_parser = at_least_one)]
    trials: Option<usize>,
    /// Most steps of each model that is trained, in place of its recipe's.
    #[arg(long, value_parser = at_least_one)]
    steps: Option<usize>,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads that compute: questions or texts at a time; training uses one.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    threads: usize,
}

/// A section of the report: how it is called, whether `--quick` has it, and what makes it.
struct SectionEntry {
    name: &'static str,
    title: &'static str,
    is_quick: bool,
    make: fn(&ReportContext) -> Result<Section>,
}

const fn entry(
    name: &'static str,
    is_quick: bool,
    make: fn(&ReportContext) -> Result<Section>,
    title: &'static str,
) -> SectionEntry {
    SectionEntry { name, title, is_quick, make }
}

/// All sections, in the order of the report. Every one can be rendered from files alone.
#[rustfmt::skip]
const SECTIONS: [SectionEntry; 14] = [
    entry("retrieval", true, retrieval::compare_systems, "Retrieval beyond the training context (DroPE paper, tables 1 and 10)"),
    entry("tasks", false, tasks::average_over_tasks, "The mean over tasks, in place of LongBench (DroPE paper, table 3)"),
    entry("loss", true, loss::compare_losses, "Loss of RoPE, NoPE and DroPE (DroPE paper, figures 2 and 3)"),
    entry("gradients", true, gradients::compare_gradients, "Positional bias at initialisation (DroPE paper, figure 4 and theorem 3.4)"),
    entry("crop", true, crop::compare_with_cropping, "YaRN against cropping (DroPE paper, figure 5)"),
    entry("frequencies", true, frequencies::compare_frequencies, "Scaling of the frequencies (DroPE paper, figures 6 and 11)"),
    entry("mass", true, mass::follow_attention, "Attention on the needle (DroPE paper, figure 8; Wang et al., figure 3)"),
    entry("dope", true, dope::compare_treatments, "DoPE in small (DoPE paper, table 1)"),
    entry("cut", true, cut::vary_cut, "Partial DroPE: the cut"),
    entry("passkey", false, passkey::compare_temperatures, "Pass keys and temperatures of NoPE (Wang et al. 2024, figures 1 and 4)"),
    entry("drop-time", false, drop_time::vary_drop_time, "When to drop (DroPE paper, table 6)"),
    entry("budget", false, budget::compare_at_equal_budget, "Equal budget (DroPE paper, figure 2)"),
    entry("qk-norm", false, qk_norm::vary_norm_and_rate, "QK norm and learning rate (DroPE paper, table 11 and figure 12)"),
    entry("long", false, long::read_longest_texts, "Needles in longer texts than the paper's"),
];

/// For help texts.
fn section_names() -> String {
    SECTIONS.each_ref().map(|entry| entry.name).join(", ")
}

/// Makes every section, and the report after each, so that a stopped run has what it got to.
pub fn write_report(args: &ReproduceArgs) -> Result<()> {
    if let Some(name) = args.only.iter().find(|name| !SECTIONS.iter().any(|entry| entry.name == **name)) {
        bail!("there is no section {name:?}; use {}", section_names());
    }
    report::check_kind(&args.out, &args.kind())?;
    interrupt::watch()?;
    let context = ReportContext::new(args)?;
    for entry in SECTIONS {
        if !args.only.is_empty() && !args.only.iter().any(|only| only == entry.name) {
            continue;
        }
        println!("\n== {}", entry.name);
        if args.quick && !entry.is_quick {
            println!("left out");
        } else {
            report::save(&args.out, &entry, &(entry.make)(&context)?)?;
        }
        report::join(&context, &args.out, &args.kind())?;
    }
    if let Some(root) = &args.documents {
        documents::write(&context, root)?;
    }
    println!("\nthe report is {}", args.out.join("README.md").display());
    Ok(())
}

impl ReproduceArgs {
    /// The command that a report was written by, as far as it decides what is measured.
    fn kind(&self) -> String {
        let number =
            |name: &str, value: Option<usize>| value.map_or(String::new(), |value| format!(" --{name} {value}"));
        let quick = if self.quick { " --quick" } else { "" };
        format!("core reproduce{quick}{}{}", number("trials", self.trials), number("steps", self.steps))
    }
}
