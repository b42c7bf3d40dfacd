//! Speeds on NVIDIA cards.

use serde::Deserialize;

use super::rounds::{beside, distinct, range};
use crate::markdown::{list, or_dash, section, table};

/// What the others are compared with.
const OURS: &str = "core";

/// Tokens a second of one program at one piece of work; a number for each run.
#[derive(Deserialize)]
pub struct CardSpeed {
    model: String,
    card: String,
    #[serde(default)]
    torch: String,
    work: String,
    #[serde(rename = "type")]
    kind: String,
    program: String,
    #[serde(default)]
    train: Vec<f64>,
    #[serde(default)]
    prefill: Vec<f64>,
    #[serde(default)]
    decode: Vec<f64>,
}

/// The section; nothing where there are no results.
pub fn text(rows: &[CardSpeed]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let beside_it = |row: &CardSpeed| {
        let of = |row: &CardSpeed| [&row.card, &row.work, &row.model, &row.kind, &row.torch].map(Clone::clone);
        let ours = rows.iter().find(|ours| ours.program == OURS && row.program != OURS && of(ours) == of(row));
        ours.filter(|_| row.train.len() > 1).map(|ours| beside(&ours.train, &row.train))
    };
    let row = |row: &CardSpeed| {
        let speeds = [&row.train, &row.prefill, &row.decode].map(|speeds| or_dash(median(speeds)));
        let runs = [&row.train, &row.prefill].map(Vec::len).into_iter().max().unwrap_or(0);
        let place = [&row.card, &row.work, &row.model, &row.kind, &row.program].map(Clone::clone);
        place.into_iter().chain(speeds).chain([or_dash(beside_it(row)), runs.to_string()]).collect()
    };
    let header = [
        "card",
        "work",
        "model",
        "products",
        "program",
        "training",
        "prompt",
        "generation",
        "core ÷ this program, training",
        "runs",
    ];
    let mut versions = distinct(rows, |row| row.torch.clone());
    versions.retain(|version| !version.is_empty());
    section(
        "On a card",
        &format!(
            "Tokens a second with CUDA, medians; where there are several rounds, in each of which every program runs once, the ratio is their median and range (`python bench/card.py`). \
             Rows with one run, and the row of three trainings at the same time, are not from that script: they are what the programs printed in the half hour for which a card could be used. \
             PyTorch ({}) trains a batch of several rows in four micro-batches and keeps all activations, with its own fused attention; `core` takes all rows at once, with activation checkpointing, and \
             has attention weights in memory, since it has no fused attention for tensor cores; compiled, PyTorch is several times as fast. Nothing was measured with WebGPU on a card. The first run on a card compiles kernels and tries which form of each product is fastest, one or two \
             minutes for a training; a later run finds both in the user's cache folder.\n\n{}",
            list(&versions),
            table(header, rows.iter().map(row))
        ),
    )
}

/// The median, in whole tokens; `None` where there is none.
fn median(speeds: &[f64]) -> Option<String> {
    (!speeds.is_empty()).then(|| format!("{:.0}", range(speeds)[0]))
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_row_has_medians_of_what_was_measured() {
        let rows = r#"[{"model": "m", "card": "c", "work": "training, 4x8", "type": "bf16", "program": "core", "train": [3.0, 1.0, 2.0]}]"#;
        let text = text(&serde_json::from_str::<Vec<_>>(rows).unwrap());
        assert!(text.contains("| c | training, 4x8 | m | bf16 | core | 2 | – | – | – | 3 |"), "{text}");
        assert_eq!(super::text(&[]), "");
    }

    #[test]
    fn another_program_is_compared_round_by_round() {
        let of = |program: &str, train: &str| {
            format!(
                r#"{{"model": "m", "card": "c", "work": "w", "type": "bf16", "program": "{program}", "train": {train}}}"#
            )
        };
        let rows = format!("[{}, {}]", of("core", "[1.0, 2.0, 3.0]"), of("peer", "[2.0, 2.0, 2.0]"));
        let text = text(&serde_json::from_str::<Vec<_>>(&rows).unwrap());
        assert!(text.contains("| peer | 2 | – | – | 1.00 [0.50, 1.50] | 3 |"), "{text}");
    }
}
