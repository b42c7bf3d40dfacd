//! Partial DroPE as a family: scores and perplexity against the cut.

use std::f64::consts::TAU;

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::{Method, rope_frequencies};

use super::Section;
use crate::markdown::{by_length, joined, line, or_dash, percent, table};
use crate::number::{Row, questions};
use crate::results::{Ask, EXTENSIONS, Results, System, system};

const MODELS: [(&str, &str); 2] =
    [("nano-rope", "nano-rope, never recalibrated"), ("nano-p-drope", "nano-p-drope, recalibrated with the usual cut")];

const LENGTHS: [usize; 5] = [1, 2, 4, 8, LONGEST];
const LONGEST: usize = 16;

/// A model that answers so much at 1x still works.
const WORKING: f64 = 0.9;

/// A model with all frequencies below a cut dropped.
struct CutRow {
    model: &'static str,
    /// Pairs of coordinates whose frequency is kept.
    kept: usize,
    scores: Row,
    perplexities: Row,
}

pub fn vary_cut(results: &Results) -> Result<Option<Section>> {
    let config = results.model("nano-rope")?.config()?;
    let frequencies = rope_frequencies(config.rope.rope_theta, config.head_dim);
    let of = frequencies.len();
    let usual = frequencies.iter().filter(|&&omega| omega >= TAU / config.max_position_embeddings as f64).count();
    let kept = [16, 12, 9, usual, 4, 2, 0].into_iter().filter(|&kept| kept <= of);
    let row = |(model, kept): (&'static str, usize)| {
        let cut = Some(cut_between(&frequencies, kept));
        let system = System { cut, ..system(model, model, Method::PDrope) };
        let losses = [results.perplexities(&system, &EXTENSIONS), results.perplexities(&system, &[LONGEST])].concat();
        let scores = results.exact(&system, &Ask::new("cut", Task::MultiKey, &LENGTHS));
        CutRow { model, kept, scores, perplexities: Row::of_perplexities(model, &losses) }
    };
    let rows: Vec<CutRow> =
        MODELS.iter().flat_map(|&(model, _)| kept.clone().map(move |kept| (model, kept))).map(row).collect();
    if rows.iter().all(|row| row.scores.numbers.is_empty()) {
        return Ok(None);
    }
    let line = |row: &CutRow| {
        let mark = if row.kept == usual { " (2π/C)" } else { "" };
        let loss = |s| or_dash(row.perplexities.at(s).map(|perplexity| format!("{:.1}", perplexity.value)));
        let cells = LENGTHS.map(|s| format!("{}; {}", row.scores.percent_at(s), loss(s)));
        line(format!("{} of {of}{mark}", row.kept), cells)
    };
    let tables = MODELS.iter().map(|(model, what)| {
        let lines = rows.iter().filter(|row| row.model == *model).map(line);
        table(by_length(&format!("{what}; pairs kept"), &LENGTHS), lines)
    });
    Ok(Some(Section {
        paper: "not in it. Frequencies below the cut become the identity; none kept is DroPE, all kept is RoPE.".into(),
        body: format!(
            "Multi-key numbers, {} questions; behind the semicolon the perplexity of held-out text, at {LONGEST}× of texts \
             of twice the length.\n\n{}",
            questions(rows.iter().map(|row| &row.scores)),
            tables.collect::<String>()
        ),
        verdict: joined(MODELS.iter().map(|(model, _)| fewest_pairs(model, &rows, of)), " "),
        charts: Vec::new(),
    }))
}

/// A cut between two pairs, so that `kept` of them are kept.
fn cut_between(frequencies: &[f64], kept: usize) -> f64 {
    match kept {
        0 => 2.0 * frequencies[0],
        k if k == frequencies.len() => 0.5 * frequencies[k - 1],
        k => (frequencies[k - 1] * frequencies[k]).sqrt(),
    }
}

/// The fewest pairs with which a model still works at 1x.
fn fewest_pairs(model: &str, rows: &[CutRow], of: usize) -> String {
    let works = |row: &&CutRow| row.model == model && row.scores.at(1).is_some_and(|score| score.value >= WORKING);
    let working = percent(WORKING);
    match rows.iter().filter(works).map(|row| row.kept).min() {
        Some(kept) => format!("{model} still answers {working} at 1x with {kept} of {of} pairs."),
        None => format!("{model} answers {working} at 1x with none of these cuts."),
    }
}

#[cfg(test)]
mod tests {
    use super::{CutRow, cut_between, fewest_pairs};
    use crate::number::made_up::row;

    #[test]
    fn a_cut_keeps_the_frequencies_above_it() {
        let frequencies = [1.0, 0.1, 0.01];
        for kept in 0..=3 {
            let cut = cut_between(&frequencies, kept);
            assert_eq!(frequencies.iter().filter(|&&omega| omega >= cut).count(), kept);
        }
    }

    #[test]
    fn the_fewest_pairs_that_work_are_found() {
        let row = |kept, share| {
            let scores = row("m", 0.1, &[(1, share)]);
            CutRow { model: "m", kept, perplexities: scores.clone(), scores }
        };
        let all = [row(16, 1.0), row(9, 0.9), row(4, 0.5)];
        assert_eq!(fewest_pairs("m", &all, 16), "m still answers 90.0 % at 1x with 9 of 16 pairs.");
        assert_eq!(fewest_pairs("m", &all[2..], 16), "m answers 90.0 % at 1x with none of these cuts.");
    }
}
