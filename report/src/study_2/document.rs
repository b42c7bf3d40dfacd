//! docs/study-2.md: the verdicts first, then what speaks against, then the tables.

use super::against::{against, floors, unmeasured};
use super::curve::place_of_the_maximum;
use super::difference::{Difference, Verdict};
use super::hypothesis::{Hypothesis, scope};
use super::models::{
    BUDGETS, CURVE, CURVE_RUNS, FAR_BUDGET, MECHANISM_MODELS, NO_BUDGET, OTHER_COPIES, OTHER_COPIES_BUDGET, RIVALS,
    TRUNKS, UNTRAINED, UPPER_BOUNDS, millions, title, title_with_budget, tokens,
};
use super::results::{Asked, FAR, FAR_QUESTIONS, FAR_SELECTION, NEAR, Results, Side};
use super::rivals::OURS;
use crate::markdown::{by_length, capitalised, joined, line, list, or_dash, percent, picture, section, table};
use crate::plot::{Axis, Plot, PlotLine, PlotPoint};
use crate::study::{OverTrunks, interval_text, p_text};

/// The whole document.
pub fn document(results: &Results, hypotheses: &[Hypothesis]) -> String {
    let picture = figure(results).map(|_| picture("study-2.svg", &caption(results))).unwrap_or_default();
    let parts = [
        "# The second study\n\nWritten by `cargo xtask table` from docs/results/study-2; do not edit. What was compared and what was to count \
         is in [protocol-2.md](protocol-2.md): models of 0.85 M parameters, C = 256, a synthetic language. Intervals are of 95 %. \
         *Tuned*: read with a temperature, and parameters of a scaling, that were found on other questions; *as trained*: with none.\n"
            .to_owned(),
        section("Hypotheses", &(verdicts(hypotheses) + provisional(hypotheses) + &h3(results) + &weak_trunks(results, hypotheses))),
        section("What speaks against", &speaks_against(results, hypotheses)),
        section("The curve of recalibration", &format!("{picture}{}", curve_table(results, Asked::Primary, &CURVE_RUNS, &BUDGETS))),
        section("The same among decoys", &curve_table(results, Asked::Decoys, &CURVE_RUNS, &BUDGETS)),
        measured_section("Rivals", &rivals_table(results, &NEAR, &["1m", "8m"])),
        measured_section("16, 32 and 64 times", &rivals_table(results, &FAR, &[FAR_BUDGET])),
        section("Other tasks", &others_table(results)),
        not_run(results, hypotheses),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n").trim_end().to_owned() + "\n"
}

fn caption(results: &Results) -> String {
    let of_one = if has_largest_budget(results) { "; 16 million of one" } else { "" };
    format!(
        "Accuracy of the primary task at 4× against tokens of recalibration, with 95 % intervals over five trunks{of_one}."
    )
}

fn has_largest_budget(results: &Results) -> bool {
    CURVE_RUNS.iter().any(|run| results.best_reading(run, "16m", &NEAR).is_some())
}

/// What of the protocol's list applies, and what of it is not measured yet.
fn speaks_against(results: &Results, hypotheses: &[Hypothesis]) -> String {
    let found = against(results, hypotheses);
    let found = if found.is_empty() {
        vec!["Nothing of the protocol's list, as far as it is measured.".to_owned()]
    } else {
        found
    };
    let open = unmeasured(results, hypotheses);
    let open = (!open.is_empty()).then(|| format!("Not measured of the protocol's list: {}.", list(&open)));
    joined(found.into_iter().chain(open).map(|sentence| format!("- {sentence}")), "\n")
}

/// A section; nothing where nothing of it is measured.
fn measured_section(title: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { section(title, text) }
}

/// The table of tests.
fn verdicts(hypotheses: &[Hypothesis]) -> String {
    let row = |hypothesis: &Hypothesis| {
        let Hypothesis { name, claim, parts, p_holm, verdict, .. } = hypothesis;
        let scope = scope(&[hypothesis]);
        let of_parts = |text: fn(&Difference) -> String| or_dash_of(joined(parts.iter().map(text), "; "));
        let p = if parts.is_empty() { String::new() } else { p_text(*p_holm) };
        let claim = if scope.is_empty() { (*claim).to_owned() } else { format!("{claim} ({scope})") };
        line(
            *name,
            [
                claim,
                of_parts(|part| part.what.clone()),
                of_parts(|part| interval_text(&part.interval)),
                of_parts(by_trunk),
                or_dash_of(p),
                verdict.word().to_owned(),
            ],
        )
    };
    let header = ["", "claim", "difference", "size", "trunks", "corrected p", "verdict"];
    table(header, hypotheses.iter().map(row))
}

fn or_dash_of(text: String) -> String {
    or_dash((!text.is_empty()).then_some(text))
}

fn by_trunk(part: &Difference) -> String {
    let points = part.trunks.iter().map(|(_, value)| (100.0 * value).round());
    joined(points.map(|points| if points == 0.0 { "0".to_owned() } else { format!("{points:+.0}") }), " ")
}

/// What Holm's correction takes for the tests that were not run.
fn provisional(hypotheses: &[Hypothesis]) -> &'static str {
    let is_open = hypotheses.iter().any(|test| test.verdict == Verdict::NotRun);
    if is_open {
        "\nHolm's correction counts a test that was not run as p = 1, which can only make the p of the others larger.\n\n"
    } else {
        ""
    }
}

/// H3, which is no test.
fn h3(results: &Results) -> String {
    place_of_the_maximum(results).map_or(String::new(), |sentence| format!("H3. {sentence}\n"))
}

/// Trunks of the models that are compared which answer too few questions within their context.
fn weak_trunks(results: &Results, hypotheses: &[Hypothesis]) -> String {
    const FEW: f64 = 0.8;
    let mut named: Vec<String> = Vec::new();
    for side in hypotheses.iter().flat_map(|hypothesis| &hypothesis.sides) {
        let weak = TRUNKS.filter_map(|trunk| {
            let cell = results.cell(side, trunk, Asked::Primary, 1).filter(|cell| cell.accuracy < FEW)?;
            Some(format!("{trunk} ({})", percent(cell.accuracy)))
        });
        let weak: Vec<String> = weak.collect();
        let name = format!("{} after {} in trunks {}", title(&side.run), tokens(&side.budget), list(&weak));
        if !weak.is_empty() && !named.contains(&name) {
            named.push(name);
        }
    }
    if named.is_empty() {
        String::new()
    } else {
        format!("\nOf the models in these tests, less than 80 % at 1×: {}.\n", joined(named, "; "))
    }
}

/// What copies cost on other tasks.
fn others_table(results: &Results) -> String {
    let pairs = ["1m", "8m"].into_iter().flat_map(|budget| CURVE_RUNS.map(|run| (run, budget)));
    let rows = pairs.filter_map(|(run, budget)| {
        let (side, _) = results.best_reading(run, budget, &NEAR)?;
        let shares = [Asked::Unrelated, Asked::Latest]
            .into_iter()
            .flat_map(|asked| [1, 4].map(|extension| spread(results.accuracy(&side, asked, extension))));
        Some(line(title(run), [tokens(budget)].into_iter().chain(shares)))
    });
    let heads = [Asked::Unrelated, Asked::Latest].map(Asked::title).into_iter();
    let heads = heads.flat_map(|name| ["1×", "4×"].map(|length| format!("{name}, {length}")));
    table(line("model", [String::from("tokens")].into_iter().chain(heads)), rows.collect::<Vec<_>>())
}

/// `97.1 [95.0, 99.2]`, and of two trunks `46.5 (43, 50)`.
pub fn spread(over: Option<OverTrunks>) -> String {
    or_dash(over.map(|OverTrunks { mean, ci95, low, high, trunks }| {
        // An interval of two numbers says less than the two.
        if trunks == 2 {
            return format!("{:.1} ({:.0}, {:.0})", 100.0 * mean, 100.0 * low, 100.0 * high);
        }
        let interval = ci95.map(|ci95| ci95.map(|end| format!("{:.1}", 100.0 * end)));
        let interval = interval.map(|[low, high]| format!(" [{low}, {high}]")).unwrap_or_default();
        format!("{:.1}{interval}{}", 100.0 * mean, of_trunks(trunks))
    }))
}

/// ` (1 trunk)`, where not all are there.
fn of_trunks(trunks: usize) -> String {
    let noun = if trunks == 1 { "trunk" } else { "trunks" };
    if trunks == TRUNKS.count() { String::new() } else { format!(" ({trunks} {noun})") }
}

/// Every run and budget in its best reading, at 1 to 8×.
fn curve_table(results: &Results, asked: Asked, runs: &[&str], budgets: &[&str]) -> String {
    let has_perplexity = has_perplexity(results);
    let row = |(run, budget): (&&str, &&str)| {
        let (side, _) = results.best_reading(run, budget, &NEAR)?;
        let perplexity =
            results.perplexity(run, budget).map(|over| format!("{:.2}{}", over.mean, of_trunks(over.trunks)));
        let perplexity = has_perplexity.then(|| or_dash(perplexity));
        Some(measured(results, &side, asked, &[1, 2, 4, 8]).into_iter().chain(perplexity).collect())
    };
    let pairs = runs.iter().flat_map(|run| budgets.iter().map(move |budget| (run, budget)));
    let rows: Vec<Vec<String>> = pairs.filter_map(row).collect();
    table(header(&[1, 2, 4, 8]).into_iter().chain(has_perplexity.then(|| "perplexity at 1×".to_owned())), rows)
}

fn has_perplexity(results: &Results) -> bool {
    CURVE_RUNS.iter().any(|run| BUDGETS.iter().any(|budget| results.perplexity(run, budget).is_some()))
}

fn header(lengths: &[usize]) -> Vec<String> {
    line("model", line("tokens", line("read with", by_length("", lengths).into_iter().skip(1))))
}

fn measured(results: &Results, side: &Side, asked: Asked, lengths: &[usize]) -> Vec<String> {
    let shares = lengths.iter().map(|&extension| spread(results.accuracy(side, asked, extension)));
    line(title(&side.run), [tokens(&side.budget), side.reading.text()].into_iter().chain(shares))
}

/// Ours, its rivals and the upper bounds, at 1× and the lengths at which they were chosen, with what guesses score.
fn rivals_table(results: &Results, lengths: &[usize], budgets: &[&str]) -> String {
    let lengths_with_own = [&[1], lengths].concat();
    let part = |asked: Asked| {
        let runs: Vec<&str> = [OURS].into_iter().chain(RIVALS).chain(UPPER_BOUNDS).collect();
        let pairs = budgets.iter().flat_map(|budget| runs.iter().map(move |run| (*run, *budget)));
        let pairs = pairs.chain([(UNTRAINED, NO_BUDGET)]);
        let chosen_at = if *lengths == FAR { &FAR_SELECTION[..] } else { lengths };
        let sides: Vec<Side> =
            pairs.filter_map(|(run, budget)| Some(results.best_reading(run, budget, chosen_at)?.0)).collect();
        if sides.is_empty() {
            return String::new();
        }
        let rows: Vec<Vec<String>> =
            sides.iter().map(|side| measured(results, side, asked, &lengths_with_own)).collect();
        let mut cells =
            sides.iter().flat_map(|side| TRUNKS.filter_map(|trunk| results.cell(side, trunk, asked, lengths[0])));
        let floors = cells.next().map(|cell| format!(": {}.", floors(cell))).unwrap_or_default();
        format!("{}{floors}\n\n{}", capitalised(asked.title()), table(header(&lengths_with_own), rows))
    };
    part(Asked::Primary) + &part(Asked::Decoys)
}

/// What of the protocol was not run.
fn not_run(results: &Results, hypotheses: &[Hypothesis]) -> String {
    let names = hypotheses
        .iter()
        .filter(|test| test.verdict == Verdict::NotRun)
        .map(|test| format!("the test of {}", test.name));
    let missing = |run: &str| -> Vec<String> {
        let is_missing = |budget: &&&str| results.best_reading(run, budget, &NEAR).is_none();
        CURVE.iter().filter(is_missing).map(|budget| tokens(budget)).collect()
    };
    let curves = CURVE_RUNS.iter().filter_map(|run| match missing(run) {
        budgets if budgets.is_empty() => None,
        budgets if budgets.len() == CURVE.len() => Some(format!("the curve of {}", title(run))),
        budgets => Some(format!("{} after {}", title(run), list(&budgets))),
    });
    let titles_without = |runs: &[&str], is_measured: &dyn Fn(&str) -> bool| -> Vec<String> {
        runs.iter().filter(|run| !is_measured(run)).map(|run| title(run)).collect()
    };
    let other_copies = titles_without(&OTHER_COPIES, &|run| results.only_reading(run, OTHER_COPIES_BUDGET).is_some());
    let of_budget = ["1m", "8m"].map(|budget| {
        let missing = |runs: &[&str]| titles_without(runs, &|run| results.best_reading(run, budget, &NEAR).is_some());
        let others: Vec<&str> = RIVALS.into_iter().filter(|run| !CURVE_RUNS.contains(run)).collect();
        let missing = [missing(&others), missing(&UPPER_BOUNDS)].concat();
        (!missing.is_empty(), format!("after {} tokens: {}", tokens(budget), list(&missing)))
    });
    let has_whole_far_cells = results.best_reading(OURS, FAR_BUDGET, &FAR_SELECTION).is_some_and(|(side, _)| {
        results.cell(&side, *TRUNKS.start(), Asked::Primary, FAR[0]).is_some_and(|cell| cell.trials >= FAR_QUESTIONS)
    });
    let looked_into = MECHANISM_MODELS.iter().filter_map(|&(run, budget)| {
        let (side, _) = results.best_reading(run, budget, &NEAR)?;
        let over = results.accuracy(&side, Asked::RepeatedDecoys, 4);
        let trunks = over.map_or(0, |over| over.trunks);
        (trunks < TRUNKS.count())
            .then(|| format!("{}: {trunks} of {} trunks", title_with_budget(run, budget), TRUNKS.count()))
    });
    let looked_into = joined(looked_into, "; ");
    let parts = of_budget.into_iter().chain([
        (!has_largest_budget(results), "16 M tokens".to_owned()),
        (!has_whole_far_cells, "the 200 further questions at 16 to 64×".to_owned()),
        (!has_perplexity(results), "perplexity at 1×".to_owned()),
        (!other_copies.is_empty(), format!("of section 4 (mechanism): {}", list(&other_copies))),
        (!looked_into.is_empty(), format!("of section 4, all trunks: {looked_into}")),
        (true, "section 5 (size)".to_owned()),
    ]);
    let parts = parts.filter(|(is_missing, _)| *is_missing).map(|(_, name)| name);
    let all = names.chain(curves).chain(parts);
    section("What was not run", &joined(all.map(|name| format!("- {name}")), "\n"))
}

/// The curve at 4×; `None` before any run of it was measured.
pub fn figure(results: &Results) -> Option<Plot<'static>> {
    let line_of = |(style, run): (usize, &&str)| {
        let point = |budget: &&str| {
            let (side, _) = results.best_reading(run, budget, &NEAR)?;
            let OverTrunks { mean, ci95, .. } = results.whole_accuracy(&side, Asked::Primary, 4)?;
            let [low, high] = ci95.unwrap_or([mean; 2]).map(|share| 100.0 * share);
            Some(PlotPoint { x: millions(budget).log2(), y: 100.0 * mean, low, high })
        };
        PlotLine { name: title(run), style, points: BUDGETS.iter().filter_map(point).collect() }
    };
    let lines: Vec<PlotLine> =
        CURVE_RUNS.iter().enumerate().map(line_of).filter(|line| !line.points.is_empty()).collect();
    (!lines.is_empty()).then_some(Plot {
        x: Axis {
            name: "tokens of recalibration, millions",
            range: [-2.0, 4.0],
            labels: 7,
            label: &|log| format!("{}", log.exp2()),
        },
        y: Axis {
            name: "exact answers at 4×, percent",
            range: [0.0, 100.0],
            labels: 6,
            label: &|percent| format!("{percent:.0}"),
        },
        lines,
        level: None,
    })
}
