//! One step past the papers: 16 times the context.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::Method;
use serde_json::json;

use super::context::{Ask, ReportContext};
use super::report::{Section, by_length, percent, row, table};

const EXTENSIONS: [usize; 5] = [1, 2, 4, 8, 16];

/// How far the variants read, and what each of their parts does.
pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    if context.is_quick() {
        return Ok(None);
    }
    let systems = [
        ("DroPE as in the paper", "drope-plain", Method::Drope),
        ("with SSMax", "drope-ssmax", Method::Drope),
        ("with copies", "drope-copies", Method::Drope),
        ("with both (nano-drope)", "nano-drope", Method::Drope),
        ("partial, with both (nano-p-drope)", "nano-p-drope", Method::PDrope),
        ("Llama 3", "nano-rope", Method::Llama3),
        ("YaRN", "nano-rope", Method::Yarn),
        ("NTK", "nano-rope", Method::Ntk),
    ];
    let mut rows = Vec::new();
    let mut all = Vec::new();
    for (name, model, method) in systems {
        let ask = |extensions, trials| Ask::new(method, Task::MultiKey, extensions, trials);
        let cells = if model.starts_with("drope-") {
            context.recalibrated_once("ablation.json", model, &context.recipe(&format!("ablation/{model}.toml"))?)?;
            context.niah("ablation.json", model, &ask(EXTENSIONS.to_vec(), 100))?
        } else {
            let mut cells = context.niah("niah.json", model, &ask(vec![1, 2, 4, 8], 500))?;
            cells.extend(context.niah("niah-16x.json", model, &ask(vec![16], 100))?);
            cells
        };
        if !cells.is_empty() {
            rows.push(row(name, &cells, &EXTENSIONS));
        }
        all.extend(cells);
    }
    let last = |name: &str| all.iter().find(|cell| cell.model == name && cell.extension == 16);
    let verdict = match ["nano-drope", "drope-plain", "drope-copies", "drope-ssmax"].map(last) {
        [ours @ Some(_), plain @ Some(_), copies, ssmax] => format!(
            "At 16x, with no fit for the length, nano-drope answers {} and DroPE as in the paper at the same budget {}; with copies \
             alone it is {}, with SSMax alone {}.",
            percent(ours),
            percent(plain),
            percent(copies),
            percent(ssmax)
        ),
        _ => "Not all of it is measured yet.".to_owned(),
    };
    Ok(Some(Section {
        title: "One step past the paper: 16 times the context",
        paper: "no model in it reads beyond 8x. SSMax lets the logits of a query grow with the logarithm of the number of its \
            keys; copies let attention count filler as if it stood there many times (models/README.md)."
            .into(),
        body: table(&by_length("multi-key, numbers", &EXTENSIONS), &rows),
        verdict,
        numbers: json!(all),
        charts: Vec::new(),
    }))
}
