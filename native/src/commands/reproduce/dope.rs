//! Table 1 of the DoPE paper, in small.

use std::path::PathBuf;

use anyhow::Result;
use drope_core::config::dope::{DopeHeads, Noise, Order, Parts, Projection, Removal, Stage};
use drope_core::niah::Task;
use drope_core::positions::Method;
use serde::Serialize;

use super::comparison::Comparison;
use super::context::ReportContext;
use super::markdown::table;
use super::measured::Ask;
use super::paper::{PrintedRow, printed};
use super::report::{Section, SectionText};
use super::score::{self, Score, ScoreRow};
use super::verdict::Verdict;
use crate::commands::dope;
use crate::files::model_folder;

/// Queries or keys, r, number of heads, stage, order: rows of the paper's table that did best in some column.
const CHOICES: [(Projection, usize, usize, Stage, Order); 4] = [
    (Projection::Key, 32, 3, Stage::PostNtk, Order::Ascending),
    (Projection::Query, 1, 5, Stage::PostNtk, Order::Ascending),
    (Projection::Key, 8, 1, Stage::PostNtk, Order::Descending),
    (Projection::Query, 16, 3, Stage::PreNtk, Order::Ascending),
];

const TREATMENTS: [Method; 3] = [Method::DopeGaussian, Method::DopeAll, Method::DopeParts];

/// Sink tokens behind the needle; the paper does not say how many.
const SINKS: usize = 8;

/// Extension factor and documents that heads are chosen by.
const CHOSEN_AT: (usize, usize) = (4, 4);

/// The paper's table 1: noisy, original.
const PRINTED: [PrintedRow<2>; 4] = [
    ("dynamic NTK", [75.4, 91.9]),
    ("by Gaussian (3 heads by keys, r = 32, post_ntk, ascending)", [84.4, 94.4]),
    ("by all (the same heads)", [82.0, 93.8]),
    ("by parts at best", [76.6, 93.1]),
];

/// A treatment with a choice of heads, with sinks behind the needle and without.
#[derive(Serialize)]
pub struct DopeRow {
    /// `None`: NTK alone.
    pub treatment: Option<Method>,
    pub noisy: ScoreRow,
    pub plain: ScoreRow,
}

/// That the best row of DoPE gains on NTK, in one column.
#[derive(Serialize)]
struct Gain {
    is_noisy: bool,
    best: String,
    comparison: Comparison,
    gains: Verdict,
}

pub fn compare_treatments(context: &ReportContext) -> Result<Section> {
    let extensions = extensions(context);
    let rows = rows(context)?;
    let columns = extensions.iter().flat_map(|&s| [(s, true), (s, false)]);
    let gains: Vec<Gain> = columns.clone().filter_map(|(s, is_noisy)| gain(&rows, s, is_noisy)).collect();
    let header = columns.map(|(s, is_noisy)| if is_noisy { format!("{s}×, noisy") } else { format!("{s}×") });
    let header: Vec<String> = std::iter::once("multi-key, numbers".to_owned()).chain(header).collect();
    let line = |row: &DopeRow| -> Vec<String> {
        let scores = extensions.iter().flat_map(|&s| [score::text(row.noisy.at(s)), score::text(row.plain.at(s))]);
        std::iter::once(row.plain.label()).chain(scores).collect()
    };
    let sentence = |Gain { is_noisy, best, comparison, gains }: &Gain| {
        let noisy = if *is_noisy { ", noisy" } else { "" };
        format!("- The best of DoPE{noisy}: {} That DoPE gains {}.", comparison.sentence(best), gains.words())
    };
    let text = SectionText {
        paper: format!("Llama-3-8B-Instruct at 24K, noisy / original: {}.", printed(&PRINTED, 1)),
        body: format!(
            "{} questions a cell; noisy: {SINKS} beginning-of-text tokens right behind the needle.\n\n{}",
            score::questions(rows.iter().flat_map(|row| row.noisy.scores.iter().chain(&row.plain.scores))),
            table(&header, &rows.iter().map(line).collect::<Vec<_>>())
        ),
        verdict: format!(
            "(The best row is picked on the questions that it is judged by, which flatters it.)\n\n{}",
            gains.iter().map(sentence).collect::<Vec<_>>().join("\n")
        ),
        charts: Vec::new(),
    };
    Section::new(&rows, &gains, text)
}

fn extensions(context: &ReportContext) -> Vec<usize> {
    if context.is_quick() { vec![4] } else { vec![2, 4] }
}

fn trials(context: &ReportContext) -> usize {
    context.trials(100, 40)
}

/// NTK first, then every treatment with every choice of heads.
pub fn rows(context: &ReportContext) -> Result<Vec<DopeRow>> {
    let row = |system: &str, method: Method, heads: Option<PathBuf>| -> Result<DopeRow> {
        let scores = |sinks: usize| -> Result<ScoreRow> {
            let ask = Ask::new(method, Task::MultiKey, &extensions(context), trials(context));
            let cells = context.niah("dope.json", "nano-rope", &Ask { sinks, heads: heads.clone(), ..ask })?;
            Ok(ScoreRow::exact(system, &cells))
        };
        Ok(DopeRow { treatment: method.is_dope().then_some(method), noisy: scores(SINKS)?, plain: scores(0)? })
    };
    let mut rows = vec![row("NTK by s (dynamic NTK with α = s)", Method::Ntk, None)?];
    for choice in if context.is_quick() { &CHOICES[..1] } else { &CHOICES[..] } {
        let (file, chosen) = choose(context, *choice)?;
        for method in TREATMENTS {
            rows.push(row(&format!("{}: {}", method.name(), chosen.label()), method, Some(file.clone()))?);
        }
    }
    Ok(rows)
}

/// Heads by a criterion of the paper, and the file that names them.
fn choose(
    context: &ReportContext,
    (from, rank, heads, stage, order): (Projection, usize, usize, Stage, Order),
) -> Result<(PathBuf, DopeHeads)> {
    let file =
        context.data(&format!("dope-heads-{}-{rank}-{heads}-{}-{}.json", from.name(), stage.name(), order.name()));
    if context.args.render {
        let chosen = model_folder::dope_heads(&file)?;
        return Ok((file, chosen));
    }
    let chosen = dope::select(&dope::SelectArgs {
        model: context.model("nano-rope").unwrap_or_default(),
        heads,
        from,
        stage,
        rank,
        order,
        extension: CHOSEN_AT.0,
        removal: Removal::default(),
        parts: Parts::default(),
        noise: Noise::default(),
        texts: CHOSEN_AT.1,
        seed: 1,
        json: Some(file.clone()),
        save: false,
        device: context.device(),
        threads: 1,
    })?;
    Ok((file, chosen))
}

/// The best treatment of a column beside NTK, the first row.
fn gain(rows: &[DopeRow], extension: usize, is_noisy: bool) -> Option<Gain> {
    let scores = |row: &DopeRow| -> ScoreRow { if is_noisy { row.noisy.clone() } else { row.plain.clone() } };
    let [ntk, treated @ ..] = rows else { return None };
    let ntk = *scores(ntk).at(extension)?;
    let scored = treated.iter().map(scores).filter_map(|row| Some((row.system.clone(), *row.at(extension)?)));
    let (best, score): (String, Score) = scored.max_by(|a, b| a.1.share.total_cmp(&b.1.share))?;
    let gains = Verdict::is_higher(Some(&score), Some(&ntk));
    Some(Gain { is_noisy, best, comparison: Comparison::new(&score, &[("NTK", &ntk)]), gains })
}

#[cfg(test)]
mod tests {
    use super::{DopeRow, Method, Score, ScoreRow, Verdict, gain};

    #[test]
    fn the_best_treatment_is_compared_with_ntk() {
        let row = |treatment, system: &str, share: f64| {
            let score = Score { extension: 4, share, ci95: [share - 0.05, share + 0.05], trials: 100 };
            let row = ScoreRow { system: system.to_owned(), is_of_known_weights: true, scores: vec![score] };
            DopeRow { treatment, noisy: row.clone(), plain: row }
        };
        let rows =
            [row(None, "NTK", 0.5), row(Some(Method::DopeAll), "all", 0.3), row(Some(Method::DopeParts), "parts", 0.7)];
        let best = gain(&rows, 4, true).unwrap();
        assert_eq!((&*best.best, best.gains), ("parts", Verdict::Holds));
        assert_eq!(gain(&rows[..2], 4, false).unwrap().gains, Verdict::DoesNotHold);
        assert!(gain(&rows, 2, true).is_none());
    }
}
