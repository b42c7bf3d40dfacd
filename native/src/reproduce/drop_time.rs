//! When to drop (DroPE paper, table 6 or 7): after 0, 50, 87.5 and 100 % of the budget.

use std::path::PathBuf;

use anyhow::{Context, Result};
use drope_core::niah::Task;
use drope_core::positions::Method;
use serde_json::json;

use super::lab::{Ask, EXTENSIONS, Lab};
use super::report::{Section, percent, table};
use crate::recipe::PositionEmbedding;

const PAPER: &str = "500 M parameters, 16 B tokens, perplexity at the end by the step of the drop: 0 K (NoPE) 23.77, 8 K 22.42, \
    14 K 21.73, 16 K (RoPE, never dropped) 21.72.";

pub fn section(lab: &Lab) -> Result<Option<Section>> {
    if lab.is_quick() {
        return Ok(None);
    }
    let half = trunk(lab, "drop-time-trunk-50", 4000)?;
    let most = trunk(lab, "drop-time-trunk-87", 7000)?;
    lab.pretrained("nano-nope", "nano-rope.toml", PositionEmbedding::Nope, None)?;
    lab.recalibrated("drop-time-50", "reproduction/drop-after-50.toml", &half)?;
    lab.recalibrated("drop-time-87", "reproduction/drop-after-87.toml", &most)?;
    let systems = [
        ("0 % (NoPE)", "nano-nope", Method::Nope),
        ("50 %", "drop-time-50", Method::Drope),
        ("87.5 %", "drop-time-87", Method::Drope),
        ("100 % (RoPE, never dropped)", "nano-rope", Method::Rope),
        ("100 %, dropped without recalibration", "nano-rope", Method::Drope),
    ];
    let (mut rows, mut numbers, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for (name, model, method) in systems {
        let loss = lab.perplexity(model, method, None)?.into_iter().next().context("no perplexity at 1x")?;
        let cells = lab.niah("drop-time.json", model, &Ask::new(method, Task::MultiKey, EXTENSIONS.to_vec(), 100))?;
        let scores = cells.iter().map(|cell| percent(Some(cell)));
        rows.push([name.to_owned(), format!("{:.2}", loss.perplexity)].into_iter().chain(scores).collect::<Vec<_>>());
        ends.push(loss.perplexity);
        numbers.push(json!({ "dropped after": name, "perplexity": loss, "multi-key": cells }));
    }
    let header = EXTENSIONS.into_iter().map(|s| format!("multi-key {s}×"));
    let header: Vec<String> =
        ["dropped after", "perplexity at 1×"].map(str::to_owned).into_iter().chain(header).collect();
    let holds = ends[0] > ends[1] && ends[1] > ends[2];
    Ok(Some(Section {
        title: "When to drop (DroPE paper, table 6; 7 in another version)",
        paper: PAPER.into(),
        body: format!(
            "8000 steps of about 2048 tokens in all: RoPE by nano-rope's recipe up to the drop, then nano-drope's without \
             copies and SSMax.\n\n{}",
            table(&header, &rows)
        ),
        verdict: format!(
            "Perplexity at 1x after 0, 50, 87.5 and 100 %: {:.2}, {:.2}, {:.2}, {:.2}. That the later drop is the better one {}.",
            ends[0],
            ends[1],
            ends[2],
            ends[3],
            if holds { "holds here" } else { "does not hold here" }
        ),
        numbers: json!(numbers),
        charts: Vec::new(),
    }))
}

/// The model of nano-rope's run after so many steps.
fn trunk(lab: &Lab, name: &str, steps: usize) -> Result<PathBuf> {
    let paused = lab.own(name).join("checkpoint");
    if paused.join("state.json").exists() && lab.is_paused_at(name, steps)? {
        return Ok(paused);
    }
    lab.pretrained(name, "nano-rope.toml", PositionEmbedding::Rope, Some(steps))?;
    Ok(paused)
}
