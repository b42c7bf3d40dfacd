//! Wang et al. (2024): pass keys at growing lengths, with and without temperatures.

use std::path::Path;

use anyhow::Result;
use drope_core::loaded_model::{CONFIG_FILE, TOKENIZER_FILE, WEIGHTS_FILE};
use drope_core::niah::Task;
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;
use drope_core::results::Cell;
use serde_json::json;

use super::chart::{self, Axes, Series};
use super::comparison::compare;
use super::context::{Ask, EXTENSIONS, ReportContext};
use super::report::{Section, by_length, percent, picture, table};
use crate::fit_scale::{self, Kind};
use crate::recipe::PositionEmbedding;
use crate::{files, model_folder};

const DEPTHS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
const TRIALS: usize = 20;

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    if context.is_quick() {
        return Ok(None);
    }
    context.pretrained("passkey-rope", "reproduction/passkey.toml", PositionEmbedding::Rope)?;
    let nope = context.pretrained("passkey-nope", "reproduction/passkey.toml", PositionEmbedding::Nope)?;
    fitted(context, &nope, "passkey-nope-uniform", Kind::Uniform)?;
    fitted(context, &nope, "passkey-nope-head", Kind::Head)?;
    let systems = [
        ("RoPE", "passkey-rope", Method::Rope),
        ("RoPE with YaRN", "passkey-rope", Method::Yarn),
        ("NoPE", "passkey-nope", Method::Nope),
        ("NoPE, UniformScale", "passkey-nope-uniform", Method::Nope),
        ("NoPE, HeadScale", "passkey-nope-head", Method::Nope),
    ];
    let extensions = EXTENSIONS.to_vec();
    let mut rows: Vec<(&str, Vec<Cell>, Vec<PerplexityCell>)> = Vec::new();
    for (name, model, method) in systems {
        let ask = Ask { depths: DEPTHS.to_vec(), ..Ask::new(method, Task::Passkey, extensions.clone(), TRIALS) };
        rows.push((
            name,
            context.niah("passkey.json", model, &ask)?,
            context.perplexity(model, method, None, &EXTENSIONS)?,
        ));
    }
    // All depths of a length together.
    let whole = |cells: &[Cell], extension: usize| {
        let at: Vec<&Cell> = cells.iter().filter(|cell| cell.extension == extension).collect();
        let (trials, correct) = (at.iter().map(|cell| cell.trials).sum(), at.iter().map(|cell| cell.correct).sum());
        Cell { trials, correct, ..at[0].clone() }.scored(0.0)
    };
    let header = by_length("pass key; perplexity of held-out documents", &extensions);
    let line = |(name, cells, losses): &(&str, Vec<Cell>, Vec<PerplexityCell>)| {
        let cell = |&s: &usize| {
            let loss = losses.iter().find(|cell| cell.extension == s).map_or(f64::NAN, |cell| cell.perplexity);
            format!("{}; {loss:.1}", percent(Some(&whole(cells, s))))
        };
        std::iter::once((*name).to_owned()).chain(extensions.iter().map(cell)).collect()
    };
    let mut body = table(&header, &rows.iter().map(line).collect::<Vec<Vec<String>>>());
    let depths = DEPTHS.iter().map(|depth| format!("depth {depth}"));
    let longest = extensions.last().copied().unwrap_or(1);
    let header: Vec<String> = std::iter::once(format!("at {longest}×")).chain(depths).collect();
    let by_depth = |(name, cells, _): &(&str, Vec<Cell>, Vec<PerplexityCell>)| {
        let scores = cells.iter().filter(|cell| cell.extension == longest).map(|cell| percent(Some(cell)));
        std::iter::once((*name).to_owned()).chain(scores).collect()
    };
    body.push_str(&table(&header, &rows.iter().map(by_depth).collect::<Vec<Vec<String>>>()));
    let of_losses = |(name, _, losses): &(&str, Vec<Cell>, Vec<PerplexityCell>)| Series {
        name: (*name).to_owned(),
        points: losses.iter().map(|cell| (cell.extension as f64, cell.perplexity)).collect(),
    };
    let axes = Axes { x: "s, multiples of the training context", y: "perplexity", is_log: [true, true] };
    let svg = chart::lines(&axes, &rows.iter().map(of_losses).collect::<Vec<_>>())?;
    body.push_str(&picture("passkey.svg", "Perplexity of held-out documents."));
    // What the paper says is better, and than what, by rows of the table.
    let claims = [(2, 0, 2), (3, 2, longest), (4, 3, longest)].map(|(better, worse, extension)| {
        let [ours, other] = [better, worse].map(|row: usize| whole(&rows[row].1, extension));
        let place = compare(&ours, &[(rows[worse].0, &other)]);
        format!(
            "{} That {}.",
            place.sentence(rows[better].0, &ours),
            if place.is_first() {
                "is the paper's order"
            } else {
                "the first is better, as in the paper, does not show"
            }
        )
    });
    Ok(Some(Section {
        title: "Pass keys and temperatures of NoPE (Wang et al. 2024, figures 1 and 4)",
        paper: "NoPE reads some 20 % beyond its training length, RoPE 10 %; scaling the logits by 1.2 carries NoPE to more than \
            twice, and a temperature for each head further still, with pass keys found that plain NoPE misses."
            .into(),
        body: format!(
            "Models trained on pass keys no longer than C (recipes/reproduction/passkey.toml); {} questions a cell, {} depths, \
             Wang's repeated filler; numbers divisible by 8 are kept from training.\n\n{body}",
            TRIALS * DEPTHS.len(),
            DEPTHS.len()
        ),
        verdict: format!("\n\n- {}", claims.join("\n- ")),
        numbers: json!(rows.iter().flat_map(|row| &row.1).collect::<Vec<_>>()),
        charts: vec![("passkey.svg".into(), svg)],
    }))
}

/// A copy of a model with a temperature of its own.
fn fitted(context: &ReportContext, from: &Path, name: &str, kind: Kind) -> Result<()> {
    if context.model(name).is_some() {
        return Ok(());
    }
    let out = context.own(name);
    for file in [CONFIG_FILE, TOKENIZER_FILE] {
        files::write(&out.join(file), &files::read(&from.join(file))?)?;
    }
    // The weights come last: a folder with weights is done.
    files::write(&out.join("unfitted.safetensors"), &files::read(&from.join(WEIGHTS_FILE))?)?;
    let config = fit_scale::fit(from, kind, 16, 1, context.device())?;
    model_folder::save_config(&out, &config)?;
    Ok(std::fs::rename(out.join("unfitted.safetensors"), out.join(WEIGHTS_FILE))?)
}
