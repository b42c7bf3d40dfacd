//! One step past the papers: longer texts than theirs.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::Method;
use serde::Serialize;

use super::comparison::Comparison;
use super::context::ReportContext;
use super::markdown::{by_length, table};
use super::measured::Ask;
use super::report::{Section, SectionText};
use super::score::{self, Score, ScoreRow};

pub const LENGTHS: [usize; 5] = [1, 2, 4, 8, LONGEST];
pub const LONGEST: usize = 16;
/// The longest texts in which the paper hides needles, and of its LongBench, in multiples of the context.
const PRINTED_NEEDLES: usize = 8;
const PRINTED_LONGBENCH: usize = 80;

const SYSTEMS: [(&str, &str, Method); 8] = [
    (PLAIN, "drope-plain", Method::Drope),
    (SSMAX, "drope-ssmax", Method::Drope),
    (COPIES, "drope-copies", Method::Drope),
    (BOTH, "nano-drope", Method::Drope),
    (PARTIAL, "nano-p-drope", Method::PDrope),
    ("Llama 3", "nano-rope", Method::Llama3),
    ("YaRN", "nano-rope", Method::Yarn),
    ("NTK", "nano-rope", Method::Ntk),
];
/// Scalings of RoPE, which are not trained.
const UNTRAINED: [&str; 3] = ["Llama 3", "YaRN", "NTK"];
pub const PLAIN: &str = "DroPE as in the paper";
pub const SSMAX: &str = "with SSMax";
pub const COPIES: &str = "with copies";
pub const BOTH: &str = "with both (nano-drope)";
pub const PARTIAL: &str = "partial, with both (nano-p-drope)";

/// What each part of nano-drope does at the longest length.
#[derive(Serialize)]
struct LongVerdict {
    /// nano-drope beside DroPE as in the paper and the best of the scalings, which are not trained.
    both: Option<Comparison>,
    plain: Option<Score>,
    best: Option<(&'static str, Score)>,
    copies: Option<Score>,
    ssmax: Option<Score>,
}

/// How far the variants read, and what each of their parts does.
pub fn read_longest_texts(context: &ReportContext) -> Result<Section> {
    let rows = rows(context)?;
    let last = |name: &str| rows.iter().find(|row| row.system == name).and_then(|row| row.at(LONGEST)).copied();
    let untrained = UNTRAINED.iter().filter_map(|&name| Some((name, last(name)?)));
    let best = untrained.max_by(|a, b| a.1.share.total_cmp(&b.1.share));
    let against = [last(PLAIN).map(|score| (PLAIN, score)), best];
    let others: Vec<(&str, &Score)> = against.iter().flatten().map(|(name, score)| (*name, score)).collect();
    let both = last(BOTH).map(|both| Comparison::new(&both, &others));
    let verdict = LongVerdict { both, plain: last(PLAIN), best, copies: last(COPIES), ssmax: last(SSMAX) };
    let text = SectionText {
        paper: format!(
            "its needles lie in texts of up to {PRINTED_NEEDLES}x (tables 1 and 10); LongBench's questions go beyond \
             {PRINTED_LONGBENCH}x of SmolLM's context (section 5.1), and models of this size cannot answer them. SSMax lets the \
             logits of a query grow with the logarithm of the number of its keys; copies let attention count filler as if it \
             stood there many times (models/README.md)."
        ),
        body: table(
            &by_length("multi-key, numbers", &LENGTHS),
            &rows.iter().map(|row| row.line(&LENGTHS)).collect::<Vec<_>>(),
        ),
        verdict: sentence(&verdict),
        charts: Vec::new(),
    };
    Section::new(&rows, &verdict, text)
}

pub fn rows(context: &ReportContext) -> Result<Vec<ScoreRow>> {
    let mut rows = Vec::new();
    for (name, model, method) in SYSTEMS {
        let ask =
            |extensions: &[usize], trials| Ask::new(method, Task::MultiKey, extensions, context.trials(trials, trials));
        let cells = if model.starts_with("drope-") {
            context.recalibrated_once("ablation.json", model, &context.recipe(&format!("ablation/{model}.toml"))?)?;
            context.niah("ablation.json", model, &ask(&LENGTHS, 100))?
        } else {
            let mut cells = context.niah("niah.json", model, &ask(&LENGTHS[..LENGTHS.len() - 1], 500))?;
            cells.extend(context.niah("niah-16x.json", model, &ask(&[LONGEST], 100))?);
            cells
        };
        if !cells.is_empty() {
            rows.push(ScoreRow::exact(name, &cells));
        }
    }
    Ok(rows)
}

fn sentence(LongVerdict { both, plain, best, copies, ssmax }: &LongVerdict) -> String {
    let (Some(both), Some(plain)) = (both, plain) else { return "Not all of it is measured yet.".to_owned() };
    let best = best.map_or(String::new(), |(name, score)| {
        format!(", and the best scaling without training, {name}, {}", score.text())
    });
    let [copies, ssmax] = [copies, ssmax].map(|score| score::text(score.as_ref()));
    format!(
        "DroPE as in the paper answers {} at the same budget{best}. {} Its temperature was fitted at 2x, 4x and 8x, and goes on by \
         1 + c·ln s. With copies alone it is {copies}, with SSMax alone {ssmax}.",
        plain.text(),
        both.sentence("nano-drope")
    )
}
