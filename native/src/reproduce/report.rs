//! Sections on disk, and the report that joins them.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use drope_core::perplexity::{PerplexityCell, excess};
use drope_core::results::Cell;
use serde_json::{Value, json};

use crate::files;

/// A table or figure.
pub struct Section {
    pub title: &'static str,
    /// What the paper has there, in a sentence or table.
    pub paper: String,
    /// Tables and pictures, in Markdown.
    pub body: String,
    /// Whether the paper's ordering holds here.
    pub verdict: String,
    /// The numbers.
    pub numbers: Value,
    /// Files beside it, and their contents.
    pub charts: Vec<(String, String)>,
}

/// Writes `NAME.json`, `NAME.md` and the pictures.
pub fn save(out: &Path, name: &str, section: &Section) -> Result<()> {
    for (file, svg) in &section.charts {
        files::write(&out.join(file), svg.as_bytes())?;
    }
    let numbers = json!({ "title": section.title, "verdict": section.verdict, "numbers": section.numbers });
    files::write(&out.join(format!("{name}.json")), format!("{numbers:#}\n").as_bytes())?;
    let text = format!(
        "## {}\n\n**The paper:** {}\n\n**Here:**\n\n{}\n\n**Verdict:** {}\n",
        section.title,
        section.paper.trim(),
        section.body.trim(),
        section.verdict
    );
    println!("{}", section.verdict);
    files::write(&out.join(format!("{name}.md")), text.as_bytes())
}

/// Joins the sections that are there into one report; says which are not.
pub fn join(out: &Path, names: &[&str], quick: bool) -> Result<()> {
    let mut report = String::from("# The papers' tables and figures at nano size\n\nWritten by `core reproduce");
    if quick {
        report.push_str(" --quick");
    }
    report.push_str(
        "`; do not edit. Models have 0.85 M parameters and a training context C of 256 tokens; s is a multiple of C. \
         Scores are percentages of questions answered exactly, greedily, with Wilson's 95 % interval; questions have seed \
         20000, with keys that no training document has. Nothing was trained or tuned on it, but earlier models were measured \
         with it before these took their place. *Above* and *below* mean that the intervals do not touch; where a sentence \
         names no interval it compares the numbers themselves, of one run each. A dash is a cell that is not measured.\n\n",
    );
    let (mut there, mut missing) = (String::new(), Vec::new());
    for name in names {
        match files::read_text(&out.join(format!("{name}.md"))) {
            Ok(text) => there.push_str(&format!("{text}\n")),
            Err(_) => missing.push(*name),
        }
    }
    if !missing.is_empty() {
        writeln!(report, "Left out so far: {}. `core reproduce` without `--quick` runs them.\n", missing.join(", "))?;
    }
    report.push_str(&there);
    files::write(&out.join("README.md"), report.as_bytes())
}

/// Whether a report is that of a quick run.
pub fn is_quick(report: &str) -> bool {
    report.contains("`core reproduce --quick`")
}

/// A Markdown table.
pub fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", "---|".repeat(header.len()));
    let rows: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{rule}{rows}\n", line(header))
}

/// The header of a table with a column a length.
pub fn by_length(first: &str, extensions: &[usize]) -> Vec<String> {
    std::iter::once(first.to_owned()).chain(extensions.iter().map(|s| format!("{s}×"))).collect()
}

/// The cell of one length.
pub fn at(cells: &[Cell], extension: usize) -> Option<&Cell> {
    cells.iter().find(|cell| cell.extension == extension)
}

/// A system's name and its scores.
pub fn row(name: &str, cells: &[Cell], extensions: &[usize]) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(extensions.iter().map(|&s| percent(at(cells, s)))).collect()
}

/// `98.2 [96.6, 99.1]`, or a dash.
pub fn percent(cell: Option<&Cell>) -> String {
    cell.map_or("–".to_owned(), |cell| {
        let [low, high] = cell.ci95.map(|bound| 100.0 * bound);
        format!("{:.1} [{low:.1}, {high:.1}]", 100.0 * cell.accuracy)
    })
}

/// What a report keeps of perplexities; the results file has every text.
pub fn summaries<'a>(cells: impl IntoIterator<Item = &'a PerplexityCell>) -> Vec<Value> {
    let summary = |cell: &PerplexityCell| {
        json!({
            "model": cell.model,
            "method": cell.method,
            "extension": cell.extension,
            "cut": cell.cut,
            "loss": cell.loss,
            "perplexity": cell.perplexity,
            "ci95": cell.ci95,
            "answer_perplexity": cell.answer_perplexity,
        })
    };
    cells.into_iter().map(summary).collect()
}

/// `19.17 [18.73, 19.62]`, or a dash.
pub fn perplexity(cell: Option<&PerplexityCell>) -> String {
    cell.map_or("–".to_owned(), |cell| match cell.ci95 {
        Some([low, high]) => format!("{:.2} [{low:.2}, {high:.2}]", cell.perplexity),
        None => format!("{:.2}", cell.perplexity),
    })
}

/// `+5.3 % [4.6, 6.1]`: how far one perplexity lies above another's, on the same texts.
pub fn apart(ours: &PerplexityCell, other: &PerplexityCell) -> String {
    match excess(ours, other) {
        Some((share, [low, high])) => {
            format!("{:+.1} % [{:+.1}, {:+.1}]", 100.0 * share, 100.0 * low, 100.0 * high)
        }
        None => format!("{:+.1} %", 100.0 * (ours.perplexity / other.perplexity - 1.0)),
    }
}

/// Whether the paper's promise holds, by the upper end of the interval: to be better is to be within.
pub fn within_two_percent(ours: &PerplexityCell, rope: &PerplexityCell) -> &'static str {
    match excess(ours, rope) {
        Some((_, [_, high])) if high <= 0.02 => "within 2 % of RoPE or better",
        Some((_, [low, _])) if low > 0.02 => "not within 2 % of RoPE",
        _ => "whether that is within 2 % does not show",
    }
}

/// A picture in Markdown.
pub fn picture(file: &str, caption: &str) -> String {
    format!("![{caption}]({file})\n\n*{caption}*\n\n")
}
