//! H1 to H3: the curve of recalibration, accuracy at 4 times the context against tokens.

use std::cell::RefCell;

use drope_core::stats::{PairedMeans, PairedOutcomes, paired_bootstrap};

use super::difference::{Difference, Verdict};
use super::hypothesis::Hypothesis;
use super::models::{CURVE, TRUNKS, millions, tokens};
use super::results::{Asked, NEAR, Results, Side, TIE};
use super::rivals::OURS;
use crate::markdown::{list, or_dash, percent};
use crate::study::{RANDOM_SEED, RESAMPLES};

/// Where the curve is judged.
const AT: usize = 4;

/// Budgets among which H3 says that the maximum lies.
const PAPER: [&str; 2] = ["500k", "1m"];

/// Million tokens of pretraining.
const PRETRAINING: f64 = 10.24;

/// Where the bootstrap's share of budgets shows H3.
const CONFIDENT: f64 = 0.95;

/// The best reading of a run with each budget of the curve, all of which have to be measured.
fn sides(results: &Results, run: &str) -> Option<Vec<Side>> {
    CURVE.iter().map(|budget| Some(results.best_reading(run, budget, &NEAR)?.0)).collect()
}

/// b*: the budget with the highest mean accuracy over trunks at 4×, on the selection split; of equal ones the smallest.
pub fn best_budget(results: &Results, run: &str) -> Option<usize> {
    let sides = sides(results, run)?;
    let scores: Vec<f64> = sides.iter().map(|side| results.selection_score(side, &[AT])).collect::<Option<_>>()?;
    Some(highest(&scores))
}

/// The first of the highest numbers.
fn highest(numbers: &[f64]) -> usize {
    let better = |best: usize, next: usize| if numbers[next] > numbers[best] + TIE { next } else { best };
    (0..numbers.len()).reduce(better).unwrap_or(0)
}

/// Answers of several models of a trunk to the questions at 4×, side by side. Where some were asked more questions than others, those that all
/// were asked.
fn side_by_side<const METHODS: usize>(
    answers: impl Fn(usize, usize) -> Option<Vec<f64>>,
) -> Vec<(usize, PairedOutcomes<METHODS>)> {
    let of_trunk = |trunk: usize| {
        let answers: Vec<Vec<f64>> = (0..METHODS).map(|method| answers(trunk, method)).collect::<Option<_>>()?;
        Some((trunk, answers))
    };
    let trunks: Vec<(usize, Vec<Vec<f64>>)> = TRUNKS.filter_map(of_trunk).collect();
    let questions = trunks.iter().flat_map(|(_, answers)| answers).map(Vec::len).min().unwrap_or(0);
    let paired = |(trunk, answers): (usize, Vec<Vec<f64>>)| {
        let question = |at: usize| std::array::from_fn(|method| answers[method][at]);
        (trunk, vec![(0..questions).map(question).collect()])
    };
    trunks.into_iter().map(paired).collect()
}

/// Full DroPE reads furthest after a budget that is neither the smallest nor the largest.
pub fn inner_maximum(results: &Results) -> Hypothesis {
    let claim = "full DroPE reads 4× best after a budget between the smallest and the largest";
    let (Some(sides), Some(best)) = (sides(results, "all"), best_budget(results, "all")) else {
        return Hypothesis::not_run("H1", claim);
    };
    let last = CURVE.len() - 1;
    if best == 0 || best == last {
        let found = format!("the best budget on the selection split is {}", tokens(CURVE[best]));
        return Hypothesis { note: found, verdict: Verdict::Refuted, ..Hypothesis::not_run("H1", claim) };
    }
    let against = |other: usize| {
        let chosen = [&sides[best], &sides[other]];
        let outcomes = side_by_side::<2>(|trunk, side| results.outcomes(chosen[side], trunk, Asked::Primary, AT));
        let what = format!("after {} less after {}", tokens(CURVE[best]), tokens(CURVE[other]));
        Difference::new(what, &outcomes, PairedMeans::difference)
    };
    let at_4x = |budget: usize| {
        let over = results.whole_accuracy(&sides[budget], Asked::Primary, AT);
        let which = if budget == best { " (best on the selection split)" } else { "" };
        format!("{} after {}{which}", or_dash(over.map(|over| percent(over.mean))), tokens(CURVE[budget]))
    };
    let note = format!("exact answers at {AT}×: {}", list(&[0, best, last].map(at_4x)));
    let tested = Hypothesis::tested("H1", claim, note, [0, last].map(against).into_iter().collect());
    Hypothesis { sides: [best, 0, last].map(|budget| sides[budget].clone()).to_vec(), ..tested }
}

/// Copies take the fall behind the maximum away.
pub fn copies_remove_it(results: &Results) -> Hypothesis {
    let claim = "with copies full DroPE loses less accuracy at 4× when it is recalibrated longer";
    let of_run = |run: &str| Some((sides(results, run)?, best_budget(results, run)?));
    let (Some(plain), Some(copies)) = (of_run("all"), of_run("all-copies")) else {
        return Hypothesis::not_run("H2", claim);
    };
    let last = CURVE.len() - 1;
    let chosen = [&plain.0[plain.1], &plain.0[last], &copies.0[copies.1], &copies.0[last]];
    let outcomes = side_by_side::<4>(|trunk, side| results.outcomes(chosen[side], trunk, Asked::Primary, AT));
    let [best, end, best_with_copies] = [plain.1, last, copies.1].map(|budget| tokens(CURVE[budget]));
    let what = if copies.1 == last {
        format!(
            "what full DroPE loses from its best budget ({best}) to {end} without copies; with copies {end}, the largest that was run, is the \
             best, so that the loss is 0"
        )
    } else {
        format!(
            "what full DroPE loses from its best budget ({best}) to {end} without copies, less what it loses from {best_with_copies} to {end} \
             with copies"
        )
    };
    let loss = |means: [f64; 4]| (means[0] - means[1]) - (means[2] - means[3]);
    let difference = Difference::new(what, &outcomes, |means| loss(means.0[0]));
    let tested = Hypothesis::tested("H2", claim, String::new(), difference.map(|difference| vec![difference]));
    Hypothesis { sides: chosen.map(Side::clone).to_vec(), ..tested }
}

/// What full DroPE answers among decoys at 4× after the largest budgets, where prose has its maximum; no test.
pub fn among_decoys(results: &Results) -> Option<String> {
    let best = best_budget(results, "all")?;
    let sides = sides(results, "all")?;
    let at = |budget: usize| {
        let over = results.whole_accuracy(&sides[budget], Asked::Decoys, AT)?;
        Some(format!("{} after {}", percent(over.mean), tokens(CURVE[budget])))
    };
    let found: Vec<String> = (best..CURVE.len()).map(at).collect::<Option<_>>()?;
    Some(format!("Among decoys full DroPE answers at {AT}× {}.", list(&found)))
}

/// What partial DroPE with copies answers after each budget, with the smallest's share of pretraining; no test. `None` before two are measured.
pub fn of_partial(results: &Results) -> Option<String> {
    let after = |&budget: &&'static str| {
        let (side, _) = results.best_reading(OURS, budget, &NEAR)?;
        let at = |extension: usize| Some(100.0 * results.whole_accuracy(&side, Asked::Primary, extension)?.mean);
        Some((budget, at(1)?, at(8)?))
    };
    let found: Vec<(&str, f64, f64)> = CURVE.iter().filter_map(after).collect();
    let (smallest, ..) = found.first().filter(|_| found.len() > 1)?;
    let all = |text: fn(&(&str, f64, f64)) -> String| list(&found.iter().map(text).collect::<Vec<_>>());
    Some(format!(
        "Partial DroPE with copies after {} tokens, of which {} are {:.1} % of pretraining, answers {} % at 1× and {} % at 8×.",
        all(|(budget, ..)| tokens(budget)),
        tokens(smallest),
        100.0 * millions(smallest) / PRETRAINING,
        all(|(_, near, _)| format!("{near:.1}")),
        all(|(.., far)| format!("{far:.1}")),
    ))
}

/// What full DroPE answers after its best budget within the context and beyond it, without copies and with them; `None` before the curves are measured.
pub fn beside_copies(results: &Results) -> Option<String> {
    let best = best_budget(results, "all")?;
    let accuracies = |run: &str| {
        let side = &sides(results, run)?[best];
        let at = |extension: usize| {
            let over = results.whole_accuracy(side, Asked::Primary, extension)?;
            Some(format!("{} at {extension}×", percent(over.mean)))
        };
        Some(format!("{} and {}", at(1)?, at(AT)?))
    };
    let (without, with) = (accuracies("all")?, accuracies("all-copies")?);
    Some(format!("After {} tokens full DroPE answers {without}; with copies {with}.", tokens(CURVE[best])))
}

/// How often the bootstrap over trunks and questions of the selection split finds each budget of the curve as the best of a run.
pub fn shares_of_budgets(results: &Results, run: &str) -> Option<[f64; CURVE.len()]> {
    let sides = sides(results, run)?;
    let outcomes = side_by_side::<{ CURVE.len() }>(|trunk, side| results.selection_outcomes(&sides[side], trunk, AT));
    let paired: Vec<PairedOutcomes<{ CURVE.len() }>> = outcomes.into_iter().map(|(_, paired)| paired).collect();
    let resamples: RefCell<Vec<[f64; CURVE.len()]>> = RefCell::default();
    let keep = |means: &PairedMeans<{ CURVE.len() }>| {
        resamples.borrow_mut().push(means.0[0]);
        0.0
    };
    paired_bootstrap(&paired, keep, RESAMPLES, RANDOM_SEED)?;
    let mut shares = [0.0; CURVE.len()];
    // The first is what was measured and no resample.
    for scores in &resamples.into_inner()[1..] {
        let most = scores[highest(scores)];
        let best: Vec<usize> = (0..scores.len()).filter(|&budget| scores[budget] > most - TIE).collect();
        // Equal ones share a resample.
        best.iter().for_each(|&budget| shares[budget] += 1.0 / (best.len() * RESAMPLES) as f64);
    }
    Some(shares)
}

/// H3 in a sentence: where the maximum lies, by the bootstrap; `None` before the curve is measured.
pub fn place_of_the_maximum(results: &Results) -> Option<String> {
    let shares = shares_of_budgets(results, "all")?;
    let found = CURVE.iter().zip(&shares).filter(|(_, share)| **share > 0.0);
    let found: Vec<String> =
        found.map(|(budget, &share)| format!("{} in {}", tokens(budget), percent(share))).collect();
    let (most, _) = CURVE.iter().zip(&shares).max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let word = if lies_where_the_paper_recalibrates(&shares) { "shown" } else { "not shown" };
    Some(format!(
        "**That the best budget of full DroPE is 5 to 15 % of pretraining (0.5 or 1 of 10.2 M tokens) is {word}**: resamples of trunks and \
         questions find it at {}. {} is {:.0} % of pretraining.",
        list(&found),
        tokens(most),
        100.0 * millions(most) / PRETRAINING
    ))
}

/// Whether H3 counts as shown: the budgets of the paper's share of pretraining have 95 % together.
pub fn lies_where_the_paper_recalibrates(shares: &[f64; CURVE.len()]) -> bool {
    let of_paper = CURVE.iter().zip(shares).filter(|(budget, _)| PAPER.contains(budget));
    of_paper.map(|(_, share)| share).sum::<f64>() >= CONFIDENT
}
