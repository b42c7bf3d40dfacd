//! Sections on disk, and the report that joins them.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::context::{ReportContext, SEED};
use super::paper::DROPE_PAPER;
use super::{SECTIONS, SectionEntry};
use crate::files;

/// A table or figure: its rows, what follows from them, and both as text.
pub struct Section {
    rows: Value,
    verdicts: Value,
    text: SectionText,
}

/// The text of a section, in Markdown.
pub struct SectionText {
    /// What the paper has there, in a sentence or table.
    pub paper: String,
    /// Tables and pictures.
    pub body: String,
    /// Whether the paper's ordering holds here.
    pub verdict: String,
    /// Files beside it, and their contents.
    pub charts: Vec<(String, String)>,
}

impl Section {
    pub fn new(rows: &impl Serialize, verdicts: &impl Serialize, text: SectionText) -> Result<Self> {
        Ok(Self { rows: serde_json::to_value(rows)?, verdicts: serde_json::to_value(verdicts)?, text })
    }
}

/// Writes `NAME.json`, `NAME.md` and the pictures.
pub fn save(out: &Path, entry: &SectionEntry, section: &Section) -> Result<()> {
    let Section { rows, verdicts, text } = section;
    for (file, svg) in &text.charts {
        files::write(&out.join(file), svg.as_bytes())?;
    }
    let data = json!({ "title": entry.title, "rows": rows, "verdicts": verdicts });
    files::write(&out.join(format!("{}.json", entry.name)), format!("{data:#}\n").as_bytes())?;
    println!("{}", text.verdict);
    let text = format!(
        "## {}\n\n**The paper:** {}\n\n**Here:**\n\n{}\n\n**Verdict:** {}\n",
        entry.title,
        text.paper.trim(),
        text.body.trim(),
        text.verdict
    );
    files::write(&out.join(format!("{}.md", entry.name)), text.as_bytes())
}

/// The rows of a section that was made before, for sections whose rows are in no results file.
pub fn saved_rows<T: DeserializeOwned>(out: &Path, name: &str) -> Result<T> {
    let path = out.join(format!("{name}.json"));
    let mut data: Value = serde_json::from_str(&files::read_text(&path)?)?;
    serde_json::from_value(data["rows"].take()).with_context(|| {
        format!("{} has no rows of this version; measure the section without --render", path.display())
    })
}

/// Joins the sections that are there into one report; says which are not.
pub fn join(context: &ReportContext, out: &Path, kind: &str) -> Result<()> {
    let mut report = introduction(context, kind)?;
    let text = |entry: &SectionEntry| files::read_text(&out.join(format!("{}.md", entry.name))).ok();
    let missing: Vec<&str> = SECTIONS.iter().filter(|entry| text(entry).is_none()).map(|entry| entry.name).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        report.push_str(&format!("Left out so far: {missing}. `core reproduce` without `--quick` runs them.\n\n"));
    }
    for text in SECTIONS.iter().filter_map(text) {
        report.push_str(&format!("{text}\n"));
    }
    files::write(&out.join("README.md"), report.as_bytes())
}

fn introduction(context: &ReportContext, kind: &str) -> Result<String> {
    let (size, config) = (context.parameters("nano-rope")? as f64 / 1e6, context.config("nano-rope")?);
    Ok(format!(
        "# The papers' tables and figures at nano size\n\nWritten by `{kind}`; do not edit. Models have {size:.2} M parameters \
         and a training context C of {} tokens; s is a multiple of C. Scores are percentages of questions answered exactly, \
         greedily, with Wilson's 95 % interval; questions have seed {SEED}, with keys that no training document has. Nothing \
         was trained or tuned on it, but earlier models were measured with it before these took their place. *Above* and \
         *below* mean that the intervals do not touch; where a sentence names no interval it compares the numbers themselves, \
         of one run each. Tables and figures of the DroPE paper are \
         numbered, and its numbers are quoted, as in {DROPE_PAPER}; later versions number them otherwise. A dash is a cell that is not measured. *Model not kept*: the results do not say of which weights they \
         are, and the model is not shipped.\n\n",
        config.max_position_embeddings
    ))
}

/// Refuses to add sections to a report that another command wrote: beside each other they would mislead.
pub fn check_kind(out: &Path, kind: &str) -> Result<()> {
    let report = files::read_text(&out.join("README.md")).unwrap_or_default();
    if !report.is_empty() && !report.contains(&format!("`{kind}`")) {
        bail!("{} holds a report that was not written by `{kind}`; choose another --out", out.display());
    }
    Ok(())
}
