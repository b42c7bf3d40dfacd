//! One step past the papers: longer texts than theirs.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::Method;
use serde::Serialize;

use super::context::ReportContext;
use super::markdown::{by_length, table};
use super::measured::Ask;
use super::report::{Section, SectionText};
use super::score::{self, Score, ScoreRow};

pub const LENGTHS: [usize; 5] = [1, 2, 4, 8, LONGEST];
pub const LONGEST: usize = 16;
/// The longest that the paper reads, in multiples of its context.
const PRINTED_LONGEST: usize = 8;

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
pub const PLAIN: &str = "DroPE as in the paper";
pub const SSMAX: &str = "with SSMax";
pub const COPIES: &str = "with copies";
pub const BOTH: &str = "with both (nano-drope)";
pub const PARTIAL: &str = "partial, with both (nano-p-drope)";

/// What each part of nano-drope does at the longest length.
#[derive(Serialize)]
struct LongVerdict {
    both: Option<Score>,
    plain: Option<Score>,
    copies: Option<Score>,
    ssmax: Option<Score>,
}

/// How far the variants read, and what each of their parts does.
pub fn read_longest_texts(context: &ReportContext) -> Result<Section> {
    let rows = rows(context)?;
    let last = |name: &str| rows.iter().find(|row| row.system == name).and_then(|row| row.at(LONGEST)).copied();
    let verdict = LongVerdict { both: last(BOTH), plain: last(PLAIN), copies: last(COPIES), ssmax: last(SSMAX) };
    let text = SectionText {
        paper: format!(
            "no model in it reads beyond {PRINTED_LONGEST}x. SSMax lets the logits of a query grow with the logarithm of the \
             number of its keys; copies let attention count filler as if it stood there many times (models/README.md)."
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

fn sentence(LongVerdict { both, plain, copies, ssmax }: &LongVerdict) -> String {
    if both.is_none() || plain.is_none() {
        return "Not all of it is measured yet.".to_owned();
    }
    let [both, plain, copies, ssmax] = [both, plain, copies, ssmax].map(|score| score::text(score.as_ref()));
    format!(
        "At {LONGEST}x, with no fit for the length, nano-drope answers {both} and DroPE as in the paper at the same budget \
         {plain}; with copies alone it is {copies}, with SSMax alone {ssmax}."
    )
}
