//! The papers' tables and figures at nano size, each beside what the paper found: a file a section.

mod budget;
mod crop;
mod cut;
mod dope;
pub mod drop_time;
mod frequencies;
mod gradients;
pub mod long;
mod loss;
mod mass;
mod passkey;
mod qk_norm;
pub mod retrieval;
pub mod systems;
pub mod tasks;

use std::path::Path;

use anyhow::Result;
use drope_core::results::SEED;

pub use self::budget::{BudgetRow, rows as budget};
pub use self::dope::{DopeRow, rows as dope};
pub use self::drop_time::{DropTimeRow, rows as drop_times};
pub use self::long::rows as longest_texts;
pub use self::loss::{LossRow, rows as losses};
pub use self::retrieval::{TaskScores, task_scores};
pub use self::tasks::means;
use crate::files;
use crate::plot::{Plot, plot};
use crate::results::Results;

/// The version of the DroPE paper whose numbers and tables are meant.
const DROPE_PAPER: &str = "arXiv 2512.12167v1 (13 December 2025)";

/// A table or figure, in Markdown.
pub struct Section {
    /// What the paper has there, in a sentence or table.
    paper: String,
    /// Tables and pictures.
    body: String,
    /// Whether the paper's ordering holds here.
    verdict: String,
    /// Names of files beside it, and what is drawn there.
    charts: Vec<(String, Plot<'static>)>,
}

/// Its file, what makes it of the results (nothing where there are none for it), and its title.
type Entry = (&'static str, fn(&Results) -> Result<Option<Section>>, &'static str);

/// All sections, in the order of the report.
#[rustfmt::skip]
const SECTIONS: [Entry; 14] = [
    ("retrieval", retrieval::compare_systems, "Retrieval beyond the training context (DroPE paper, tables 1 and 10)"),
    ("tasks", tasks::average_over_tasks, "The mean over tasks, in place of LongBench (DroPE paper, table 3)"),
    ("loss", loss::compare_losses, "Loss of RoPE, NoPE and DroPE (DroPE paper, figures 2 and 3)"),
    ("gradients", gradients::compare_gradients, "Positional bias at initialisation (DroPE paper, figure 4 and theorem 3.4)"),
    ("crop", crop::compare_with_cropping, "YaRN against cropping (DroPE paper, figure 5)"),
    ("frequencies", frequencies::compare_frequencies, "Scaling of the frequencies (DroPE paper, figures 6 and 11)"),
    ("mass", mass::follow_attention, "Attention on the needle (DroPE paper, figure 8; Wang et al., figure 3)"),
    ("dope", dope::compare_treatments, "DoPE in small (DoPE paper, table 1)"),
    ("cut", cut::vary_cut, "Partial DroPE: the cut"),
    ("passkey", passkey::compare_temperatures, "Pass keys and temperatures of NoPE (Wang et al. 2024, figures 1 and 4)"),
    ("drop-time", drop_time::vary_drop_time, "When to drop (DroPE paper, table 6)"),
    ("budget", budget::compare_at_equal_budget, "Equal budget (DroPE paper, figure 2)"),
    ("qk-norm", qk_norm::vary_norm_and_rate, "QK norm and learning rate (DroPE paper, table 11 and figure 12)"),
    ("long", long::read_longest_texts, "Needles in longer texts than the paper's"),
];

/// Writes a file a section with its charts, and README.md with their verdicts.
pub fn write(results: &Results, folder: &Path) -> Result<()> {
    let mut report = introduction(results)?;
    let mut verdicts = String::new();
    let mut missing = Vec::new();
    for (name, make, title) in SECTIONS {
        let Some(Section { paper, body, verdict, charts }) = make(results)? else {
            missing.push(name);
            continue;
        };
        for (file, chart) in &charts {
            files::write(&folder.join(file), &plot(chart)?)?;
        }
        let text = format!(
            "## {title}\n\n**The paper:** {}\n\n**Here:**\n\n{}\n\n**Verdict:** {verdict}\n",
            paper.trim(),
            body.trim(),
        );
        files::write(&folder.join(format!("{name}.md")), &text)?;
        verdicts.push_str(&format!("- [{title}]({name}.md): {}\n", verdict.trim()));
    }
    if !missing.is_empty() {
        report.push_str(&format!("Not measured so far: {}. `core reproduce` measures them.\n\n", missing.join(", ")));
    }
    files::write(&folder.join("README.md"), &(report + &verdicts))
}

fn introduction(results: &Results) -> Result<String> {
    let rope = results.model("nano-rope")?;
    Ok(format!(
        "# The papers' tables and figures at nano size\n\nWritten by `core reproduce`; do not edit. Models have {:.2} M parameters \
         and a training context C of {} tokens; s is a multiple of C. Scores are percentages of questions answered exactly, \
         greedily, with Wilson's 95 % interval; questions have seed {SEED}, with keys that no training document has. Nothing \
         was trained or tuned on it, but earlier models were measured with it before these took their place. *Above* and \
         *below* mean that the intervals do not touch; where a sentence names no interval it compares the numbers themselves, \
         of one run each. Tables and figures of the DroPE paper are \
         numbered, and its numbers are quoted, as in {DROPE_PAPER}; later versions number them otherwise. A dash is a cell that is not measured. *Model not kept*: the results do not say of which weights they \
         are, and the model is not shipped.\n\n",
        rope.parameters as f64 / 1e6,
        rope.config()?.max_position_embeddings
    ))
}

/// A whole number of a recipe: what stands behind `field = `.
#[cfg(test)]
fn number_in(recipe: &str, field: &str) -> usize {
    let number = recipe.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(" = ")?.parse().ok());
    number.unwrap_or_else(|| panic!("the recipe has no {field}"))
}
