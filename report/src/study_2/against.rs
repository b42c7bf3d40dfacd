//! What counts against DroPE, and against this project, by the list of docs/protocol-2.md.

use drope_core::results::RetrievalCell;

use super::curve::best_budget;
use super::difference::Verdict;
use super::hypothesis::Hypothesis;
use super::models::{CURVE, FAR_BUDGET, NO_BUDGET, TRUNKS, UNTRAINED, tokens};
use super::results::{Asked, FAR, FAR_SELECTION, NEAR, Results, TIE};
use super::rivals::OURS;
use crate::markdown::{list, percent};

/// Loss at 1× and on the latest value, against RoPE of the same budget, above which it counts.
const AT_1X: f64 = 0.02;
const LATEST: f64 = 0.05;
/// Budgets of H4.
const BUDGETS: [&str; 2] = ["1m", "8m"];

/// Sentences, those that apply.
pub fn against(results: &Results, hypotheses: &[Hypothesis]) -> Vec<String> {
    let verdict = |name: &str| hypotheses.iter().find(|hypothesis| hypothesis.name == name).map(|found| found.verdict);
    let is = |name: &str, verdicts: &[Verdict]| verdict(name).is_some_and(|verdict| verdicts.contains(&verdict));
    let mut said = Vec::new();
    if is("H1", &[Verdict::Refuted]) {
        said.push("Full DroPE has no best budget between the smallest and the largest.".to_owned());
    }
    if is("H1", &[Verdict::NotShown, Verdict::Opposite, Verdict::AsGood]) {
        said.push("That full DroPE has a best budget between the smallest and the largest is not shown.".to_owned());
    }
    said.extend(below_rope(results));
    if is("H2", &[Verdict::NotShown, Verdict::Opposite, Verdict::AsGood]) {
        said.push("Copies are not shown to keep full DroPE from losing accuracy by longer recalibration.".to_owned());
    }
    for (name, budget) in [("H4 (1 M)", "1 M"), ("H4 (8 M)", "8 M")] {
        if is(name, &[Verdict::AsGood]) {
            said.push(format!("After {budget} tokens a rival that was trained fairly is as good, within 5 points."));
        }
        if is(name, &[Verdict::Opposite]) {
            said.push(format!("After {budget} tokens a rival that was trained fairly answers more."));
        }
        if is(name, &[Verdict::NotShown]) {
            said.push(format!("After {budget} tokens a rival that was trained fairly is not shown to answer less."));
        }
    }
    for (primary, decoys) in [("H5, primary", "H5, decoys"), ("H5, primary, share of 1×", "H5, decoys, share of 1×")]
    {
        if is(primary, &[Verdict::Shown]) && is(decoys, &[Verdict::NotShown, Verdict::Opposite, Verdict::AsGood]) {
            said.push("What is shown at 16 to 64× on the primary task is not shown among decoys.".to_owned());
        }
    }
    said.dedup();
    said.extend(among_decoys(results));
    said.extend(costs(results));
    said
}

/// What of the list cannot be said yet.
pub fn unmeasured(results: &Results, hypotheses: &[Hypothesis]) -> Vec<String> {
    let tests = hypotheses.iter().filter(|test| test.verdict == Verdict::NotRun).map(|test| test.name.to_owned());
    let rope = beside_rope(results)
        .is_none()
        .then(|| "full DroPE at its best budget against RoPE of the same budget".to_owned());
    let has_both = |budget| [OURS, "keep"].iter().all(|run| results.best_reading(run, budget, &NEAR).is_some());
    let costs = BUDGETS.into_iter().filter(|budget| !has_both(budget));
    let costs = costs.map(|budget| format!("what partial DroPE with copies costs at 1× after {}", tokens(budget)));
    rope.into_iter().chain(tests).chain(costs).collect()
}

/// Accuracy at 4× of full DroPE after its best budget, and of RoPE of the same budget.
fn beside_rope(results: &Results) -> Option<(&'static str, [f64; 2])> {
    let budget = CURVE[best_budget(results, "all")?];
    Some((budget, [accuracy_at_4x(results, "all", budget)?, accuracy_at_4x(results, "keep", budget)?]))
}

/// Of a run in its best reading, on the primary task.
fn accuracy_at_4x(results: &Results, run: &str, budget: &str) -> Option<f64> {
    let (side, _) = results.best_reading(run, budget, &NEAR)?;
    Some(results.whole_accuracy(&side, Asked::Primary, 4)?.mean)
}

/// The protocol's headline where full DroPE is below RoPE even after its best budget.
pub fn below_rope(results: &Results) -> Option<String> {
    let (budget, [ours, rope]) = beside_rope(results)?;
    let untrained = accuracy_at_4x(results, UNTRAINED, NO_BUDGET).map(|untrained| {
        format!(", and RoPE without further training, read with its best scaling, {:.1} %", 100.0 * untrained)
    });
    (ours < rope).then(|| {
        format!(
            "After its best budget ({}) full DroPE answers {:.1} % at 4×, RoPE of the same budget, read with its best scaling, {:.1} %{}.",
            tokens(budget),
            100.0 * ours,
            100.0 * rope,
            untrained.unwrap_or_default()
        )
    })
}

/// Of partial DroPE with copies among decoys at 16, 32 and 64×, where choosing by one of the key's two words is right more often at one
/// of these lengths.
pub fn among_decoys(results: &Results) -> Option<String> {
    let (side, _) = results.best_reading(OURS, FAR_BUDGET, &FAR_SELECTION)?;
    let accuracy = |&extension: &usize| Some(results.whole_accuracy(&side, Asked::Decoys, extension)?.mean);
    let accuracies: Vec<f64> = FAR.iter().map(accuracy).collect::<Option<_>>()?;
    let cell = results.cell(&side, *TRUNKS.start(), Asked::Decoys, FAR[0])?;
    let floor = cell.one_word_chance_level().unwrap_or(cell.chance_level());
    accuracies.iter().any(|&accuracy| accuracy < floor).then(|| {
        let shares: Vec<String> = accuracies.iter().map(|accuracy| format!("{:.1}", 100.0 * accuracy)).collect();
        format!(
            "Among decoys at 16, 32 and 64×, after {} tokens, partial DroPE with copies answers {} %; {}.",
            tokens(FAR_BUDGET),
            list(&shares),
            floors(cell)
        )
    })
}

/// `choosing one of the needles' numbers at random is right in 25.0 %, choosing by one of the key's two words in 41.7 %`
pub fn floors(cell: &RetrievalCell) -> String {
    let one_word = cell.one_word_chance_level();
    let one_word = one_word.map(|floor| format!(", choosing by one of the key's two words in {}", percent(floor)));
    format!(
        "choosing one of the needles' numbers at random is right in {}{}",
        percent(cell.chance_level()),
        one_word.unwrap_or_default()
    )
}

/// What partial DroPE with copies loses against RoPE of the same budget, as far as it is measured.
pub fn costs(results: &Results) -> Vec<String> {
    let tasks: [(Asked, &str, &[usize], f64); 2] = [
        (Asked::Primary, "On the primary task", &[1], AT_1X),
        (Asked::Latest, "Where a key has several values and the last is asked for", &[1, 4], LATEST),
    ];
    let cost = |budget: &str, (asked, task, extensions, most): (Asked, &str, &[usize], f64)| {
        let loss = |&extension: &usize| {
            let accuracy = |run: &str| {
                let (side, _) = results.best_reading(run, budget, &NEAR)?;
                Some(results.whole_accuracy(&side, asked, extension)?.mean)
            };
            let (ours, rope) = (accuracy(OURS)?, accuracy("keep")?);
            (rope - ours > most + TIE).then(|| (format!("{} at {extension}×", percent(ours)), percent(rope)))
        };
        let (ours, rope): (Vec<String>, Vec<String>) = extensions.iter().filter_map(loss).unzip();
        (!ours.is_empty()).then(|| {
            format!(
                "{task}, partial DroPE with copies is right in {}, RoPE in {} (after {} tokens).",
                list(&ours),
                list(&rope),
                tokens(budget)
            )
        })
    };
    BUDGETS.into_iter().flat_map(|budget| tasks.into_iter().filter_map(move |task| cost(budget, task))).collect()
}
