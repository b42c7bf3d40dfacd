//! DroPE's bargain at one budget: every model has the same tokens, and differs in what is dropped on the way.

use anyhow::{Context, Result};
use drope_core::language::DocumentMix;
use drope_core::niah::Task;
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;
use serde::Serialize;

use super::context::{EXTENSIONS, ReportContext};
use super::markdown::{by_length, cells, table};
use super::measured::Ask;
use super::perplexities::PerplexityRow;
use super::report::{Section, SectionText};
use super::score::{self, ScoreRow};
use super::verdict::Verdict;
use drope_core::train::recipe::{DropSettings, Dropped, Recipe};

/// Of nano-rope's 16 frequencies the first nine are above.
const CUT: f64 = 0.0075;

const LENGTHS: [usize; 5] = [1, 2, 4, 8, 16];

/// Results file of the scores.
const FILE: &str = "budget.json";
const RECIPE: &str = "reproduction/budget.toml";

struct BudgetSystem {
    name: &'static str,
    model: &'static str,
    dropped: Dropped,
    /// Most copies in recalibration; `None`: not recalibrated.
    copies: Option<f64>,
}

const SYSTEMS: [BudgetSystem; 7] = [
    BudgetSystem { name: "RoPE", model: "nano-rope", dropped: Dropped::None, copies: None },
    BudgetSystem { name: "9 of 16 frequencies kept", model: "nano-rope", dropped: Dropped::Low, copies: None },
    BudgetSystem { name: "RoPE", model: "budget-rope", dropped: Dropped::None, copies: Some(1.0) },
    BudgetSystem {
        name: "9 of 16 frequencies kept",
        model: "budget-partial-1",
        dropped: Dropped::Low,
        copies: Some(1.0),
    },
    BudgetSystem {
        name: "the same, up to 4 copies",
        model: "budget-partial-4",
        dropped: Dropped::Low,
        copies: Some(4.0),
    },
    BudgetSystem {
        name: "the same, up to 8 copies",
        model: "budget-partial-8",
        dropped: Dropped::Low,
        copies: Some(8.0),
    },
    BudgetSystem { name: "DroPE, up to 8 copies", model: "budget-drope-8", dropped: Dropped::All, copies: Some(8.0) },
];

#[derive(Serialize)]
pub struct BudgetRow {
    pub system: &'static str,
    pub dropped: Dropped,
    /// Most copies in recalibration; `None`: not recalibrated.
    pub copies: Option<f64>,
    /// Of pretraining and recalibration together.
    pub steps: usize,
    /// At 1x, beside RoPE's of as many steps.
    pub perplexity: PerplexityRow,
    pub multi_key: ScoreRow,
    pub is_within_margin: Verdict,
}

pub fn compare_at_equal_budget(context: &ReportContext) -> Result<Section> {
    let rows = rows(context)?;
    let (pretraining, recalibration) = (context.recipe_of("nano-rope")?, context.recipe(RECIPE)?);
    let line = |row: &BudgetRow| -> Vec<String> {
        let line = [row.system.to_owned(), row.steps.to_string(), row.perplexity.text(), row.perplexity.excess_text()];
        line.into_iter().chain(LENGTHS.iter().map(|&s| score::text(row.multi_key.at(s)))).collect()
    };
    let header = cells(["multi-key numbers", "steps", "perplexity at 1×", "against RoPE"]);
    let header = [&header[..], &by_length("", &LENGTHS)[1..]].concat();
    let dropped: Vec<&BudgetRow> = rows.iter().filter(|row| row.dropped != Dropped::None).collect();
    let sentence = |row: &&BudgetRow| {
        let BudgetRow { system, steps, perplexity, is_within_margin, .. } = row;
        format!("- {system}, {steps} steps: {}, {}.", perplexity.excess_text(), is_within_margin.within_words())
    };
    let text = SectionText {
        paper: "DroPE that drops after 14 K of 16 K steps ends at the loss of RoPE that is trained for 16 K.".into(),
        body: format!(
            "nano-rope has {} steps of about {} tokens; the others go on from it for {}, with the same schedule, seed and kinds \
             of documents (recipes/{RECIPE}), and temperatures by core fit-scale. Perplexities are compared text by \
             text, with RoPE's of as many steps. {} questions a cell.\n\n{}",
            pretraining.steps,
            pretraining.tokens_per_step,
            recalibration.steps,
            score::questions(rows.iter().flat_map(|row| &row.multi_key.scores)),
            table(&header, &rows.iter().map(line).collect::<Vec<_>>())
        ),
        verdict: format!(
            "Perplexity at 1x against RoPE's at the same budget:\n\n{}",
            dropped.iter().map(sentence).collect::<Vec<_>>().join("\n")
        ),
        charts: Vec::new(),
    };
    Section::new(&rows, &dropped.iter().map(|row| row.is_within_margin).collect::<Vec<_>>(), text)
}

pub fn rows(context: &ReportContext) -> Result<Vec<BudgetRow>> {
    let pretraining = context.recipe_of("nano-rope")?.steps;
    let recipe = context.recipe(RECIPE)?;
    let mut rows = Vec::new();
    // The last of RoPE so far: what the systems behind it are compared with.
    let mut rope: Option<PerplexityCell> = None;
    for BudgetSystem { name, model, dropped, copies } in SYSTEMS {
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
        let ask = Ask { cut, ..Ask::new(method, Task::MultiKey, &LENGTHS, context.trials(100, 100)) };
        let cells = context.niah(FILE, model, &ask)?;
        if dropped == Dropped::None {
            rope = Some(loss.clone());
        }
        let perplexity = PerplexityRow::new(name, &loss, Some(rope.as_ref().context("RoPE is not measured")?));
        rows.push(BudgetRow {
            system: name,
            dropped,
            copies,
            steps: pretraining + copies.map_or(0, |_| recipe.steps),
            is_within_margin: Verdict::is_within_margin(perplexity.excess.as_ref()),
            perplexity,
            multi_key: ScoreRow::exact(name, &cells),
        });
    }
    Ok(rows)
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
