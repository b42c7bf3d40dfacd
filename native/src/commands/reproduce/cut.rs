//! Partial DroPE as a family: scores and perplexity against the cut.

use std::f64::consts::TAU;

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::{Method, rope_frequencies};
use serde::Serialize;

use super::context::{EXTENSIONS, ReportContext};
use super::markdown::{DASH, by_length, percent, table};
use super::measured::Ask;
use super::perplexities::{self, PerplexityRow};
use super::report::{Section, SectionText};
use super::score::{self, ScoreRow};

const MODELS: [(&str, &str); 2] =
    [("nano-rope", "nano-rope, never recalibrated"), ("nano-p-drope", "nano-p-drope, recalibrated with the usual cut")];

/// Beyond the longest of the other tables.
const LONGEST: usize = 16;

/// A model that answers so much at 1x still works.
const WORKING: f64 = 0.9;

/// A model with all frequencies below a cut dropped.
#[derive(Serialize)]
struct CutRow {
    model: &'static str,
    /// Pairs of coordinates whose frequency is kept, of how many.
    kept: usize,
    of: usize,
    cut: f64,
    /// Whether it is the cut at 2π/C.
    is_usual: bool,
    multi_key: ScoreRow,
    perplexity: Vec<PerplexityRow>,
}

/// The fewest pairs with which a model still works at 1x.
#[derive(Serialize)]
struct FewestPairs {
    model: &'static str,
    /// `None`: it works with none of the cuts.
    kept: Option<usize>,
    of: usize,
}

pub fn vary_cut(context: &ReportContext) -> Result<Section> {
    let extensions = if context.is_quick() { vec![1, 4] } else { vec![1, 2, 4, 8, LONGEST] };
    let rows = rows(context, &extensions)?;
    let fewest: Vec<FewestPairs> = MODELS.iter().filter_map(|(model, _)| fewest_pairs(model, &rows)).collect();
    let line = |row: &CutRow| -> Vec<String> {
        let mark = if row.is_usual { " (2π/C)" } else { "" };
        let cell = |&s: &usize| {
            let loss = perplexities::at(&row.perplexity, s);
            let loss = loss.map_or(DASH.to_owned(), |row| format!("{:.1}", row.perplexity));
            format!("{}; {loss}", score::text(row.multi_key.at(s)))
        };
        std::iter::once(format!("{} of {}{mark}", row.kept, row.of)).chain(extensions.iter().map(cell)).collect()
    };
    let tables = MODELS.iter().map(|(model, what)| {
        let lines: Vec<_> = rows.iter().filter(|row| row.model == *model).map(line).collect();
        table(&by_length(&format!("{what}; pairs kept"), &extensions), &lines)
    });
    let text = SectionText {
        paper: "not in it. Frequencies below the cut become the identity; none kept is DroPE, all kept is RoPE.".into(),
        body: format!(
            "Multi-key numbers, {} questions; behind the semicolon the perplexity of held-out text, at {LONGEST}× of texts \
             of twice the length.\n\n{}",
            score::questions(rows.iter().flat_map(|row| &row.multi_key.scores)),
            tables.collect::<String>()
        ),
        verdict: fewest.iter().map(sentence).collect::<Vec<_>>().join(" "),
        charts: Vec::new(),
    };
    Section::new(&rows, &fewest, text)
}

fn rows(context: &ReportContext, extensions: &[usize]) -> Result<Vec<CutRow>> {
    let config = context.config("nano-rope")?;
    let frequencies = rope_frequencies(config.rope.rope_theta, config.head_dim);
    let usual = frequencies.iter().filter(|&&omega| omega >= TAU / config.max_position_embeddings as f64).count();
    let kept = if context.is_quick() { [16, 9, usual, 5, 3, 0].to_vec() } else { [16, 12, 9, usual, 4, 2, 0].to_vec() };
    let mut rows = Vec::new();
    for (model, _) in MODELS {
        for &kept in kept.iter().filter(|&&kept| kept <= frequencies.len()) {
            let cut = cut_between(&frequencies, kept);
            let ask =
                Ask { cut: Some(cut), ..Ask::new(Method::PDrope, Task::MultiKey, extensions, context.trials(30, 40)) };
            let cells = context.niah("cut.json", model, &ask)?;
            let mut losses = context.perplexity(model, Method::PDrope, Some(cut), &EXTENSIONS)?;
            if extensions.contains(&LONGEST) {
                losses.extend(context.perplexity(model, Method::PDrope, Some(cut), &[LONGEST])?);
            }
            rows.push(CutRow {
                model,
                kept,
                of: frequencies.len(),
                cut,
                is_usual: kept == usual,
                multi_key: ScoreRow::exact(model, &cells),
                perplexity: losses.iter().map(|cell| PerplexityRow::new(model, cell, None)).collect(),
            });
        }
    }
    Ok(rows)
}

/// A cut between two pairs, so that `kept` of them are kept.
fn cut_between(frequencies: &[f64], kept: usize) -> f64 {
    match kept {
        0 => 2.0 * frequencies[0],
        k if k == frequencies.len() => 0.5 * frequencies[k - 1],
        k => (frequencies[k - 1] * frequencies[k]).sqrt(),
    }
}

fn fewest_pairs(model: &str, rows: &[CutRow]) -> Option<FewestPairs> {
    let of_model = || rows.iter().filter(|row| row.model == model);
    let works = |row: &&CutRow| row.multi_key.at(1).is_some_and(|score| score.share >= WORKING);
    let CutRow { model, of, .. } = of_model().next()?;
    Some(FewestPairs { model, kept: of_model().filter(works).map(|row| row.kept).min(), of: *of })
}

fn sentence(FewestPairs { model, kept, of }: &FewestPairs) -> String {
    let working = percent(WORKING);
    match kept {
        Some(kept) => format!("{model} still answers {working} at 1x with {kept} of {of} pairs."),
        None => format!("{model} answers {working} at 1x with none of these cuts."),
    }
}

#[cfg(test)]
mod tests {
    use super::super::score::{Score, ScoreRow};
    use super::{CutRow, cut_between, fewest_pairs, sentence};

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
        let row = |kept, share| CutRow {
            model: "m",
            kept,
            of: 16,
            cut: 1.0,
            is_usual: false,
            multi_key: ScoreRow {
                system: "m".into(),
                is_of_known_weights: true,
                scores: vec![Score { extension: 1, share, ci95: [0.0, 1.0], trials: 30 }],
            },
            perplexity: Vec::new(),
        };
        let fewest = fewest_pairs("m", &[row(16, 1.0), row(9, 0.9), row(4, 0.5)]).unwrap();
        assert_eq!(sentence(&fewest), "m still answers 90.0 % at 1x with 9 of 16 pairs.");
        assert_eq!(
            sentence(&fewest_pairs("m", &[row(4, 0.5)]).unwrap()),
            "m answers 90.0 % at 1x with none of these cuts."
        );
    }
}
