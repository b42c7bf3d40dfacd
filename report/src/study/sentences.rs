//! What follows from each verdict, in a sentence.

use drope_core::results::Finding;
use drope_core::stats::BootstrapInterval;

use super::hypotheses::{HypothesisTest, TrunkPart};
use super::models::{ReadRun, title};
use super::questions::{LENGTHS, PRIMARY};
use super::rows::StudyResults;
use super::verdict::{HypothesisVerdict, Untested, counts_against_first};
use crate::markdown::{DASH, capitalised, list, or_dash};

/// `+3.1 points`
pub fn points(difference: f64) -> String {
    format!("{:+.1} points", rounded(difference))
}

/// `+3.1 points [-0.4, +6.5]`
pub fn interval_text(interval: &BootstrapInterval) -> String {
    let [low, high] = interval.ci95.map(rounded);
    format!("{} [{low:+.1}, {high:+.1}]", points(interval.estimate))
}

/// `0.012`, `< 0.001`
pub fn p_text(p_value: f64) -> String {
    if p_value < 0.001 { "< 0.001".to_owned() } else { format!("{p_value:.3}") }
}

/// `corrected p = 0.012`, `corrected p < 0.001`
pub fn corrected_p_text(p_value: f64) -> String {
    let p = p_text(p_value);
    let sign = if p.starts_with('<') { "" } else { "= " };
    format!("corrected p {sign}{p}")
}

/// Plain accuracies at 1×, 2×, 4× and 8× over all trunks: `98.0 / 97.1 / 93.0 / 80.2`.
pub fn plain_text(results: &StudyResults, read: &ReadRun) -> String {
    let share = |s| results.accuracy(read, &PRIMARY, s).map(|over| format!("{:.1}", 100.0 * over.mean));
    LENGTHS.map(|s| share(s).unwrap_or_else(|| DASH.to_owned())).join(" / ")
}

/// In points, so that nothing is a negative zero.
fn rounded(share: f64) -> f64 {
    (1000.0 * share).round() / 10.0 + 0.0
}

/// What was found, in full.
pub fn sentence(test: &HypothesisTest) -> String {
    let [first, second] = test.sides.each_ref().map(|side| format!("*{}*", side.in_words()));
    let numbers = numbers(test);
    match test.verdict {
        HypothesisVerdict::AsGood => format!("{first} is as good as {second}: retention differs by {numbers}."),
        HypothesisVerdict::FirstBetter => format!("{first} keeps more of its accuracy than {second}: {numbers}."),
        HypothesisVerdict::SecondBetter => format!("{second} keeps more of its accuracy than {first}: {numbers}."),
        HypothesisVerdict::NotShown => format!("A difference between {first} and {second} is not shown: {numbers}."),
        HypothesisVerdict::NotTested(untested) => {
            format!("{first} against {second} is not tested: {}.", why(untested, test))
        }
    }
}

fn numbers(test: &HypothesisTest) -> String {
    let interval = test.interval.as_ref().map(interval_text).unwrap_or_default();
    let p = test.p_holm.map(corrected_p_text).unwrap_or_default();
    format!("{interval}, {p}, {} trunks", test.differences().len())
}

fn why(untested: Untested, test: &HypothesisTest) -> String {
    match untested {
        Untested::NothingChosen => {
            format!("no reading of {} was chosen on the selection split", title(&test.sides[1].run))
        }
        Untested::QuestionsDiffer => "trunks were asked different questions".to_owned(),
        Untested::TooFewTrunks => format!("three trunks are needed, and {}", trunks_that_enter(test)),
    }
}

/// `trunks 1 and 2 enter; trunk 3 is below the threshold`
pub fn trunks_that_enter(test: &HypothesisTest) -> String {
    let group = |name: &str, is_in: &dyn Fn(&TrunkPart) -> bool| {
        let trunks: Vec<String> =
            test.trunks.iter().filter(|(_, part)| is_in(part)).map(|(trunk, _)| trunk.to_string()).collect();
        match trunks.len() {
            0 => None,
            1 => Some(format!("trunk {} {}", list(&trunks), name.replace("are ", "is ").replace("enter", "enters"))),
            _ => Some(format!("trunks {} {name}", list(&trunks))),
        }
    };
    let groups = [
        group("enter", &|part| matches!(part, TrunkPart::Enters(_))).or_else(|| Some("no trunk enters".to_owned())),
        group("are below the threshold", &|part| *part == TrunkPart::BelowThreshold),
        group("are incomplete", &|part| *part == TrunkPart::Incomplete),
        group("are not measured with both readings", &|part| *part == TrunkPart::NotPaired),
    ];
    groups.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The headline: a sentence for each of the [`findings`], in bold, with their numbers.
pub fn headline(findings: &[Finding]) -> Vec<String> {
    let text = |Finding { claim, numbers }: &Finding| match &numbers[..] {
        "" => format!("{claim}."),
        _ => format!("**{claim}**: {numbers}."),
    };
    findings.iter().map(text).collect()
}

/// What hypotheses 1 to 3 say of DroPE and RoPE, that against DroPE first; beside retention the plain accuracy.
pub fn findings(results: &StudyResults, tests: &[HypothesisTest]) -> Vec<Finding> {
    in_order(tests).into_iter().map(|test| finding(results, test)).collect()
}

fn in_order(tests: &[HypothesisTest]) -> Vec<&HypothesisTest> {
    let mut tests: Vec<&HypothesisTest> = tests.iter().filter(|test| (1..=3).contains(&test.number)).collect();
    tests.sort_by_key(|test| !test.interval.is_some_and(|interval| counts_against_first(&interval)));
    tests
}

fn finding(results: &StudyResults, test: &HypothesisTest) -> Finding {
    let claim = claim(test);
    if matches!(test.verdict, HypothesisVerdict::NotTested(_)) {
        return Finding { claim, numbers: String::new() };
    }
    let [drope, rope] = test.sides.each_ref().map(|side| title(&side.run));
    let [own, other] = test.sides.each_ref().map(|side| plain_text(results, side));
    let (numbers, reading) = (numbers(test), test.sides[1].reading.in_words());
    let numbers = format!(
        "accuracy at 1×, 2×, 4× and 8×: {drope} {own} %, {rope} {other} %, read with {reading}; difference beyond 1× {}, in retention \
         {numbers}",
        plain_difference(test)
    );
    Finding { claim, numbers }
}

fn plain_difference(test: &HypothesisTest) -> String {
    or_dash(test.plain.as_ref().map(interval_text))
}

fn claim(test: &HypothesisTest) -> String {
    let [drope, rope] = test.sides.each_ref().map(|side| title(&side.run));
    capitalised(&match (test.verdict, test.interval) {
        (HypothesisVerdict::AsGood, _) => format!("{rope} of equal budget is as good as {drope}"),
        (HypothesisVerdict::FirstBetter, _) => format!("{drope} reads longer texts better than {rope} of equal budget"),
        (HypothesisVerdict::SecondBetter, _) => {
            format!("{rope} of equal budget reads longer texts better than {drope}")
        }
        (HypothesisVerdict::NotShown, Some(interval)) if interval.ci95[1] < 0.0 => {
            format!("{rope} of equal budget does as well as {drope} or better")
        }
        (HypothesisVerdict::NotShown, _) => {
            format!("whether {drope} reads longer texts better than {rope} of equal budget is not shown")
        }
        (HypothesisVerdict::NotTested(untested), _) => {
            return format!("{drope} against {rope} of equal budget: nothing is claimed, {}", why(untested, test));
        }
    })
}

#[cfg(test)]
mod tests;
