//! Speeds on NVIDIA cards.

use serde::Deserialize;

use super::rounds::range;
use crate::markdown::{or_dash, section, table};

/// Tokens a second of one program at one piece of work; a number for each run.
#[derive(Deserialize)]
pub struct CardSpeed {
    model: String,
    card: String,
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
    let row = |row: &CardSpeed| {
        let speeds = [&row.train, &row.prefill, &row.decode].map(|speeds| or_dash(median(speeds)));
        let runs = [&row.train, &row.prefill].map(Vec::len).into_iter().max().unwrap_or(0);
        let place = [&row.card, &row.work, &row.model, &row.kind, &row.program].map(Clone::clone);
        place.into_iter().chain(speeds).chain([runs.to_string()]).collect()
    };
    let header = ["card", "work", "model", "products", "program", "training", "prompt", "generation", "runs"];
    section(
        "On a card",
        &format!(
            "Tokens a second with CUDA, medians. Rows of one run, and of three beside each other, are what `core bench` and `core recalibrate` printed in \
             fifteen minutes that a card was lent: no other program was measured beside them (`python bench/card.py` does that), and most of that time \
             went into compiling kernels and into trying which form of each product is fastest, which a later run finds in the user's cache folder.\n\n{}",
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
        assert!(text.contains("| c | training, 4x8 | m | bf16 | core | 2 | – | – | 3 |"), "{text}");
        assert_eq!(super::text(&[]), "");
    }
}
