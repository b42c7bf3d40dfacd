//! DroPE's bargain at one budget: every model has the same tokens, and differs in what is dropped on the way.

use anyhow::{Context, Result};
use drope_core::language::DocumentMix;
use drope_core::niah::Task;
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;
use serde_json::json;

use super::context::{Ask, EXTENSIONS, ReportContext};
use super::report::{Section, apart, at, by_length, percent, perplexity, summaries, table, within_two_percent};
use crate::recipe::{DropSettings, Dropped, Recipe};

/// Of nano-rope's 16 frequencies the first nine are above.
const CUT: f64 = 0.0075;

const LENGTHS: [usize; 5] = [1, 2, 4, 8, 16];

/// Results file of the scores.
const FILE: &str = "budget.json";

struct System {
    name: &'static str,
    model: &'static str,
    dropped: Dropped,
    /// Most copies in recalibration; `None`: not recalibrated.
    copies: Option<f64>,
}

const SYSTEMS: [System; 7] = [
    System { name: "RoPE", model: "nano-rope", dropped: Dropped::None, copies: None },
    System { name: "9 of 16 frequencies kept", model: "nano-rope", dropped: Dropped::Low, copies: None },
    System { name: "RoPE", model: "budget-rope", dropped: Dropped::None, copies: Some(1.0) },
    System { name: "9 of 16 frequencies kept", model: "budget-partial-1", dropped: Dropped::Low, copies: Some(1.0) },
    System { name: "the same, up to 4 copies", model: "budget-partial-4", dropped: Dropped::Low, copies: Some(4.0) },
    System { name: "the same, up to 8 copies", model: "budget-partial-8", dropped: Dropped::Low, copies: Some(8.0) },
    System { name: "DroPE, up to 8 copies", model: "budget-drope-8", dropped: Dropped::All, copies: Some(8.0) },
];

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    if context.is_quick() {
        return Ok(None);
    }
    let recipe = context.recipe("reproduction/budget.toml")?;
    let (mut rows, mut numbers, mut sentences) = (Vec::new(), Vec::new(), Vec::new());
    // The last of RoPE so far: what the systems behind it are compared with.
    let mut rope: Option<PerplexityCell> = None;
    for System { name, model, dropped, copies } in SYSTEMS {
        if let Some(copies) = copies {
            context.recalibrated_once(FILE, model, &with(&recipe, dropped, copies))?;
        }
        let method = match dropped {
            Dropped::None => Method::Rope,
            Dropped::Low => Method::PDrope,
            Dropped::All => Method::Drope,
        };
        // A model that was recalibrated has its cut in its config.
        let cut = (dropped == Dropped::Low && copies.is_none()).then_some(CUT);
        let losses = context.perplexity(model, method, cut, &EXTENSIONS)?;
        let Some(loss) = losses.into_iter().find(|cell| cell.extension == 1) else { continue };
        let cells =
            context.niah(FILE, model, &Ask { cut, ..Ask::new(method, Task::MultiKey, LENGTHS.to_vec(), 100) })?;
        if dropped == Dropped::None {
            rope = Some(loss.clone());
        }
        let rope = rope.as_ref().context("RoPE is not measured")?;
        let steps = if copies.is_some() { "9000" } else { "8000" };
        let mut row = vec![name.to_owned(), steps.to_owned(), perplexity(Some(&loss)), apart(&loss, rope)];
        row.extend(LENGTHS.map(|s| percent(at(&cells, s))));
        rows.push(row);
        if dropped != Dropped::None {
            sentences.push(format!(
                "- {name}, {steps} steps: {}, {}.",
                apart(&loss, rope),
                within_two_percent(&loss, rope)
            ));
        }
        numbers.push(json!({ "system": name, "steps": steps, "perplexity": summaries([&loss]), "multi-key": cells }));
    }
    if rows.is_empty() {
        return Ok(None);
    }
    let header = ["multi-key numbers", "steps", "perplexity at 1×", "against RoPE"].map(str::to_owned);
    let header = [&header[..], &by_length("", &LENGTHS)[1..]].concat();
    Ok(Some(Section {
        title: "Equal budget (DroPE paper, figure 2)",
        paper: "DroPE that drops after 14 K of 16 K steps ends at the loss of RoPE that is trained for 16 K.".into(),
        body: format!(
            "nano-rope has 8000 steps of about 2048 tokens; the others go on from it for 1000, with the same schedule, seed and kinds \
             of documents (recipes/reproduction/budget.toml), and temperatures by core fit-scale. Perplexities are compared text by \
             text, with RoPE's of as many steps. 100 questions a cell.\n\n{}",
            table(&header, &rows)
        ),
        verdict: format!("Perplexity at 1x against RoPE's at the same budget:\n\n{}", sentences.join("\n")),
        numbers: json!(numbers),
        charts: Vec::new(),
    }))
}

/// The recipe that drops so much, with so many copies.
fn with(recipe: &Recipe, positions: Dropped, max_copies: f64) -> Recipe {
    let drop = recipe.drop.clone().map(|drop| DropSettings {
        positions,
        cut: (positions == Dropped::Low).then_some(CUT),
        ..drop
    });
    Recipe { drop, documents: DocumentMix { max_copies, ..recipe.documents.clone() }, ..recipe.clone() }
}
