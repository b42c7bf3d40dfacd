//! docs/study.md.

use drope_core::results::StudyFigure;

use super::against::{Check, checks};
use super::hypotheses::HypothesisTest;
use super::missing::missing;
use super::models::{RUNS, ReadRun, title};
use super::paired_tests::paired_tests;
use super::plain_words::plain_words;
use super::post_hoc::findings;
use super::questions::{self, GREATER_LENGTHS, PRIMARY, SECONDARY};
use super::rows::StudyResults;
use super::sentences::{self, sentence};
use super::tables;
use super::verdict::HypothesisVerdict;
use crate::markdown::{joined, picture, section};

/// The whole document.
pub fn document(results: &StudyResults, tests: &[HypothesisTest], figure: &StudyFigure) -> String {
    let parts = [
        introduction(figure),
        plain_words(results),
        trunks(results),
        primary(results),
        hypotheses(results, tests),
        paired(results, tests),
        secondary(results),
        against(results, tests),
        section("What was not run", &joined(missing(results).iter().map(|line| format!("- {line}")), "\n")),
    ];
    parts.join("\n").trim_end().to_owned() + "\n"
}

/// Whether what was found may change, and what was found.
pub fn headline(figure: &StudyFigure) -> Vec<String> {
    let [complete, planned] = figure.trunks;
    let interim = figure
        .is_interim()
        .then(|| format!("Interim, {complete} of {planned} trunks; the queue goes on whatever they say."));
    interim.into_iter().chain(sentences::headline(&figure.findings)).collect()
}

fn introduction(figure: &StudyFigure) -> String {
    format!(
        "# The study\n\nWritten by `cargo xtask table` from docs/results/study; do not edit. The [protocol](protocol.md) was \
         committed before anything was measured, and says what is compared and what counts as what.\n\n**Scope**: models of 0.85 million \
         parameters, trained on synthetic text of at most 256 tokens (1×) and asked for the number of one of four keys. Nothing \
         here says anything of larger models or of natural text. Beyond 1×: the mean of 2×, 4× and 8×; retention: that mean, of the \
         model's own at 1×. Tuned: with settings that were chosen on other questions.\n\n{}\n\n{}",
        joined(headline(figure).into_iter().map(|sentence| format!("- {sentence}")), "\n"),
        picture(
            "study.svg",
            "Accuracy on the primary task against length: mean over trunks, with a band from the lowest to the highest."
        )
    )
}

fn trunks(results: &StudyResults) -> String {
    section("Trunks", &format!("{} At 1×, read plainly:\n\n{}", tables::binding(results), tables::trunks(results)))
}

fn primary(results: &StudyResults) -> String {
    let greater = tables::gated(results, &PRIMARY, &GREATER_LENGTHS);
    let greater = greater.map(|table| format!("At greater lengths, with the marks of the secondary tasks:\n\n{table}"));
    section(
        "Primary task",
        &format!(
            "{}: exact answers in percent, as the mean over all trunks, with Student's 95 % interval and the lowest and highest \
             trunk; {}. Retention is the mean accuracy over 2×, 4× and 8×, divided by the model's own at 1×, over trunks that \
             answer at least 80 % there; above 100 % a model answers more beyond 1× than at 1×. Intervals end at what is possible: \
             100 % of the questions. Of one trunk the interval is Wilson's.\n\n{}{}",
            PRIMARY.name,
            tables::floor(results, &PRIMARY),
            tables::primary(results),
            greater.unwrap_or_default()
        ),
    )
}

fn hypotheses(results: &StudyResults, tests: &[HypothesisTest]) -> String {
    let chosen = |run: &&str| Some(format!("{}: {}", title(run), results.at_its_best(run)?.reading.in_words()));
    let chosen: Vec<String> = RUNS.iter().filter_map(chosen).collect();
    let chosen = if chosen.is_empty() { "none".to_owned() } else { chosen.join("; ") };
    let sentences = joined(tests.iter().map(|test| format!("{}. {}", test.number, sentence(test))), "\n");
    let is_untested = |test: &&HypothesisTest| matches!(test.verdict, HypothesisVerdict::NotTested(_));
    let untested: String = tests.iter().filter(is_untested).map(|test| plain_accuracies(results, test)).collect();
    section(
        "Hypotheses",
        &format!(
            "Of the mean difference in retention, first less second: paired bootstrap over trunks and questions, 10,000 \
             resamples; the means over trunks are taken first, their ratio then. Holm's correction is over the four, and one \
             that is not tested counts as p = 1. *Shown*: corrected p below 0.05, and all trunks with one sign. *As good as*: \
             interval within ±5 points, whatever p is. Beside each model its plain accuracy at 1×, 2×, 4× and 8×, over all \
             trunks. Readings chosen on the selection split: {chosen}.\n\n{}{sentences}\n\n{untested}",
            tables::hypotheses(results, tests)
        ),
    )
}

fn plain_accuracies(results: &StudyResults, test: &HypothesisTest) -> String {
    format!("Hypothesis {}, plain accuracies of all trunks:\n\n{}", test.number, tables::untested(results, test))
}

fn paired(results: &StudyResults, tests: &[HypothesisTest]) -> String {
    let of_pair = |test: &HypothesisTest| {
        let paired = paired_tests(results, test);
        let [first, second] = test.sides.each_ref().map(ReadRun::in_words);
        let title = format!("**{}. {first} against {second}**", test.number);
        match tables::paired(&paired) {
            Some(table) => format!("{title}\n\n{table}"),
            None => format!("{title}: no trunk has both models past the gate, on the same questions.\n\n"),
        }
    };
    section(
        "Question by question",
        &format!(
            "McNemar's exact test in each trunk: questions that only the first answered, those that only the second did, and p, \
             by Holm's correction over all tests of the pair; bold below 0.05. Cells of models below the gate's threshold are left out.\n\n{}",
            tests.iter().map(of_pair).collect::<String>()
        ),
    )
}

fn secondary(results: &StudyResults) -> String {
    let of_task = |task: &questions::StudyTask| {
        let table = tables::gated(results, task, task.lengths)?;
        Some(format!("**{}**: {}.\n\n{table}", task.name, tables::floor(results, task)))
    };
    let tasks: String = SECONDARY.iter().filter_map(of_task).collect();
    let tasks = if tasks.is_empty() { "None is measured.".to_owned() } else { tasks };
    section(
        "Secondary tasks",
        &format!(
            "Exact answers in percent, the mean over trunks that answer at least 80 % of the task at 1×, and their number; \
             marked with †, the mean over those that do not, which enters no comparison.\n\n{tasks}"
        ),
    )
}

fn against(results: &StudyResults, tests: &[HypothesisTest]) -> String {
    let registered = joined(checks(results, tests).iter().map(Check::text), "\n");
    let found = findings(results);
    let found = if found.is_empty() {
        String::new()
    } else {
        format!("\n\nNot registered, found in the results afterwards:\n\n{}", found.join("\n"))
    };
    section("What counts against DroPE", &format!("{registered}{found}"))
}

#[cfg(test)]
mod tests {
    use super::super::rows::StudyResults;
    use super::super::test_cells::{measured, study};
    use super::super::{figure, hypotheses};

    fn document(results: &StudyResults) -> String {
        let tests = hypotheses::test_all(results);
        super::document(results, &tests, &figure::figure(results, &tests))
    }

    #[test]
    fn the_document_is_the_same_each_time_and_has_every_part() {
        let shares = |run: &str, _: usize| if run == "keep-copies" { [0.9, 0.5, 0.1, 0.1] } else { [0.9; 4] };
        let text = document(&study(shares));
        assert_eq!(text, document(&study(shares)));
        let parts: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let expected =
            ["In plain words", "Trunks", "Primary task", "Hypotheses", "Question by question", "Secondary tasks"];
        assert_eq!(parts, [&expected[..], &["What counts against DroPE", "What was not run"]].concat());
        // 0.9 at every length, against (0.5 + 0.1 + 0.1) / 3 / 0.9 = 25.9 %.
        assert!(
            text.contains("1. *DroPE with copies* keeps more of its accuracy than *RoPE with copies*: +74.1 points ["),
            "{text}"
        );
        assert!(
            text.contains(
                "Readings chosen on the selection split: RoPE with copies: RoPE as trained; RoPE: RoPE as trained."
            ),
            "{text}"
        );
    }

    #[test]
    fn a_study_that_has_just_begun_claims_nothing_and_shows_what_there_is() {
        let text = document(&StudyResults::new(measured("all-copies-1", [0.9, 0.8, 0.7, 0.6])));
        assert_eq!(text.matches("nothing is claimed").count(), 3, "{text}");
        assert!(text.contains("Interim, 0 of 5 trunks; the queue goes on whatever they say."), "{text}");
        assert!(text.contains("| 90.0 [85.1, 93.4] | 80.0 ["), "{text}");
        assert!(text.contains("| DroPE with copies | 1 | 90.0 % | 80.0 % | 70.0 % | 60.0 % |"), "{text}");
        assert!(text.contains("0 of 0 trunks learned") && text.contains("Secondary tasks\n\nExact answers"), "{text}");
    }
}
