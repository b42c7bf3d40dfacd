//! Table 1 of the DoPE paper, in small.

use std::path::PathBuf;

use anyhow::Result;
use drope_core::config::dope::{DopeHeads, Noise, Order, Parts, Removal, ScoredVectors, Stage};
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
const CHOICES: [(ScoredVectors, usize, usize, Stage, Order); 4] = [
    (ScoredVectors::Key, 32, 3, Stage::PostNtk, Order::Ascending),
    (ScoredVectors::Query, 1, 5, Stage::PostNtk, Order::Ascending),
    (ScoredVectors::Key, 8, 1, Stage::PostNtk, Order::Descending),
    (ScoredVectors::Query, 16, 3, Stage::PreNtk, Order::Ascending),
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

/// Whether a treatment gains on NTK in one column, with the heads by which the paper did best.
#[derive(Serialize)]
struct Gain {
    treatment: Method,
    extension: usize,
    is_noisy: bool,
    comparison: Comparison,
    gains: Verdict,
}

pub fn compare_treatments(context: &ReportContext) -> Result<Section> {
    let extensions = extensions(context);
    let rows = rows(context)?;
    let columns = extensions.iter().flat_map(|&s| [(s, true), (s, false)]);
    let of_treatment = |treatment: Method| columns.clone().map(move |column| (treatment, column));
    let gains: Vec<Gain> = TREATMENTS
        .into_iter()
        .flat_map(of_treatment)
        .filter_map(|(treatment, (s, is_noisy))| gain(&rows, treatment, s, is_noisy))
        .collect();
    let header = columns.map(|(s, is_noisy)| if is_noisy { format!("{s}×, noisy") } else { format!("{s}×") });
    let header: Vec<String> = std::iter::once("multi-key, numbers".to_owned()).chain(header).collect();
    let line = |row: &DopeRow| -> Vec<String> {
        let scores = extensions.iter().flat_map(|&s| [score::text(row.noisy.at(s)), score::text(row.plain.at(s))]);
        std::iter::once(row.plain.label()).chain(scores).collect()
    };
    let text = SectionText {
        paper: format!("Llama-3-8B-Instruct at 24K, noisy / original: {}.", printed(&PRINTED, 1)),
        body: format!(
            "{} questions a cell; noisy: {SINKS} beginning-of-text tokens right behind the needle.\n\n{}",
            score::questions(rows.iter().flat_map(|row| row.noisy.scores.iter().chain(&row.plain.scores))),
            table(&header, &rows.iter().map(line).collect::<Vec<_>>())
        ),
        verdict: format!(
            "Beside NTK, with the heads by which the paper did best ({}):\n\n{}",
            rows.get(1).map_or(String::new(), |row| chosen_heads(&row.plain.system).to_owned()),
            TREATMENTS.map(|treatment| sentence(&gains, treatment)).join("\n")
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
    (from, rank, heads, stage, order): (ScoredVectors, usize, usize, Stage, Order),
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

/// `dope-all: key r32 …` without the treatment.
fn chosen_heads(system: &str) -> &str {
    system.split_once(": ").map_or(system, |(_, heads)| heads)
}

/// A treatment with the paper's heads, the first of its rows, beside NTK, the first of all.
fn gain(rows: &[DopeRow], treatment: Method, extension: usize, is_noisy: bool) -> Option<Gain> {
    let score = |row: &DopeRow| -> Option<Score> {
        let scores = if is_noisy { &row.noisy } else { &row.plain };
        scores.at(extension).copied()
    };
    let [ntk, treated @ ..] = rows else { return None };
    let (ntk, ours) = (score(ntk)?, score(treated.iter().find(|row| row.treatment == Some(treatment))?)?);
    let gains = Verdict::is_higher(Some(&ours), Some(&ntk));
    Some(Gain { treatment, extension, is_noisy, comparison: Comparison::new(&ours, &[("NTK", &ntk)]), gains })
}

/// `- dope-parts: 98.0 [93.0, 99.4] at 2x, level with NTK; …. That it gains holds here at 4x.`
fn sentence(gains: &[Gain], treatment: Method) -> String {
    let of_treatment: Vec<&Gain> = gains.iter().filter(|gain| gain.treatment == treatment).collect();
    let column = |gain: &Gain| format!("{}x{}", gain.extension, if gain.is_noisy { ", noisy" } else { "" });
    let scores: Vec<String> = of_treatment
        .iter()
        .map(|gain| {
            format!("{} at {}, {}", gain.comparison.score.text(), column(gain), gain.comparison.relations_to_all())
        })
        .collect();
    let gained: Vec<String> =
        of_treatment.iter().filter(|gain| gain.gains == Verdict::Holds).map(|gain| column(gain)).collect();
    let papers = if treatment == Method::DopeGaussian { ", the paper's method" } else { "" };
    let verdict = match &gained[..] {
        [] if of_treatment.is_empty() => Verdict::NotMeasured.words().to_owned(),
        [] => Verdict::all(of_treatment.iter().map(|gain| gain.gains)).words().to_owned(),
        columns => format!("holds here at {}", columns.join(" and ")),
    };
    format!("- {}{papers}: {}. That it gains {verdict}.", treatment.name(), scores.join("; "))
}

#[cfg(test)]
mod tests {
    use super::{DopeRow, Method, Score, ScoreRow, Verdict, gain, sentence};

    #[test]
    fn a_treatment_is_judged_by_its_first_heads() {
        let row = |treatment, system: &str, share: f64| {
            let score = Score { extension: 4, share, ci95: [share - 0.05, share + 0.05], trials: 100 };
            let row = ScoreRow { system: system.to_owned(), is_of_known_weights: true, scores: vec![score] };
            DopeRow { treatment, noisy: row.clone(), plain: row }
        };
        let all = Some(Method::DopeAll);
        let rows = [row(None, "NTK", 0.5), row(all, "all: a", 0.3), row(all, "all: b", 0.9)];
        let of = |treatment, extension| gain(&rows, treatment, extension, true);
        assert_eq!(of(Method::DopeAll, 4).unwrap().gains, Verdict::DoesNotHold, "the second heads are not picked");
        assert!(of(Method::DopeAll, 2).is_none() && of(Method::DopeParts, 4).is_none());
        let said = sentence(&[of(Method::DopeAll, 4).unwrap()], Method::DopeAll);
        assert_eq!(said, "- dope-all: 30.0 [25.0, 35.0] at 4x, noisy, below NTK. That it gains does not hold here.");
    }
}
