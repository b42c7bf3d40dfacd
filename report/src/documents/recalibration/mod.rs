//! docs/recalibration.md: a real model whose positions were dropped, by docs/protocol-real.md: recovery within the context, losses along
//! longer texts, needles. Arms that are not measured are missing from it.

mod arms;
mod copies;
mod missing;
mod recovery;
mod texts;

use std::path::Path;

use anyhow::{Context, Result};
use drope_core::benchmarks::BenchmarkCell;
use drope_core::perplexity::PerplexityCell;
use drope_core::results::{HeldOutLine, current};

use self::arms::{Arm, Dropped, RUNS, differences, mean, signed, title};
use self::copies::copies;
use self::missing::not_measured;
use self::texts::{along_the_text, worse_than_scalings, worse_than_untrained};
use super::ruler::ruler_table;
use crate::files;
use crate::markdown::{line, or_dash, picture, section, table};
use crate::plot::{curves, plot};

/// Runs of full DroPE without copies; of the longest the protocol asks for the tokens to recovery.
const FULL: [&str; 2] = ["run-drope", "run-drope-500"];
/// An arm has recovered where its loss lies at most so far above the control's, in nats.
const RECOVERED: f64 = 0.1;

/// Writes the document and its picture; nothing where there are no runs. Returns what others say of it: what speaks against, and the table
/// of recovery.
pub fn write(folder: &Path, root: &Path) -> Result<Option<String>> {
    let mut arms = Vec::new();
    for run in &RUNS {
        let path = folder.join(run.folder).join("held_out.jsonl");
        if path.exists() {
            let lines = files::read_text(&path)?.lines().map(serde_json::from_str).collect::<serde_json::Result<_>>();
            let lines = lines.with_context(|| format!("{} does not hold such losses", path.display()))?;
            arms.push(Arm { run, lines });
        }
    }
    if arms.is_empty() {
        return Ok(None);
    }
    // An arm that was trained again is measured again: its earlier model's results stay in the files.
    let perplexities: Vec<PerplexityCell> = files::cells(&folder.join("perplexity.json"))?;
    let perplexities = current(perplexities, |_| None);
    let needles: Vec<BenchmarkCell> = files::cells(&folder.join("ruler.json"))?;
    let needles = current(needles, |_| None);
    let recovery = curves(
        "tokens of recalibration, thousands",
        "held-out loss, nats",
        [false, true],
        arms.iter().map(|arm| {
            let points = arm.lines.iter().map(|line| (line.tokens as f64 / 1e3, line.loss)).collect();
            (arm.run.title.to_owned(), points)
        }),
    );
    files::write(&root.join("docs/recalibration.svg"), &plot(&recovery)?)?;
    files::write(&root.join("docs/recalibration.md"), &document(&arms, &perplexities, &needles))?;
    Ok(Some(format!("{}\n{}", against(&arms, &perplexities), recovery_table(&arms))))
}

fn document(arms: &[Arm], perplexities: &[PerplexityCell], needles: &[BenchmarkCell]) -> String {
    let parts = [
        format!(
            "# A real model recalibrated\n\nWritten by `cargo xtask table` from docs/results/recalibration; do not edit. What was done, and \
             what was to count, is in [protocol-real.md](protocol-real.md): SmolLM2-135M-Instruct, dequantised from 4 bits, trained on \
             windows of 1,024 tokens. One seed an arm.{}\n{}",
            not_measured(arms, perplexities, needles),
            against(arms, perplexities)
        ),
        section("Recovery within 1,024 tokens", &recovered(arms)),
        along_the_text(perplexities),
        copies(arms, perplexities),
        retrieval(needles),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n").trim_end().to_owned() + "\n"
}

/// Losses on held-out windows before and after, a row an arm.
fn recovery_table(arms: &[Arm]) -> String {
    let row = |arm: &Arm| {
        let end = arm.lines.last();
        let number = |line: Option<&HeldOutLine>| or_dash(line.map(|line| format!("{:.3}", line.loss)));
        let apart = arm.control(arms).map(|control| {
            let (apart, verdict) = recovery_of(arm, control);
            format!("{}: {verdict}", signed(apart))
        });
        let tokens = or_dash(end.map(|line| format!("{:.2} M", line.tokens as f64 / 1e6)));
        line(arm.run.title, [tokens, number(arm.lines.first()), number(end), or_dash(apart)])
    };
    table(["model", "tokens", "before", "after", "above the control"], arms.iter().map(row))
}

fn recovered(arms: &[Arm]) -> String {
    let windows = arms.first().map_or(0, |arm| arm.at_the_end().len());
    let mut full: Vec<&Arm> = FULL.iter().filter_map(|folder| Arm::of(arms, folder)).collect();
    full.sort_by_key(|arm| std::cmp::Reverse(arm.lines.last().map_or(0, |line| line.tokens)));
    let tokens = full.into_iter().enumerate().filter_map(|(place, arm)| {
        let limit = arm.control(arms)?.at_the_end();
        let sentence = if place == 0 { recovery::sentence } else { recovery::of_shorter_run };
        Some(sentence(arm.run.title, &arm.lines, &limit, RECOVERED))
    });
    let tokens: String = tokens.collect();
    format!(
        "Loss in nats on {windows} held-out windows of 1,024 tokens, and how far it lies above the control's at the end, window by window \
         (95 % interval by Student's t). Recovered is what lies at most {RECOVERED} above.\n\n{}\n{}\n{}",
        recovery_table(arms),
        picture("recalibration.svg", "Held-out loss during recalibration; the axis of losses is logarithmic."),
        tokens
    )
}

/// What the protocol wants to be reported first: that no arm without any positions recovers, and models without positions that read less far
/// than a scaling which needs no training.
fn against(arms: &[Arm], cells: &[PerplexityCell]) -> String {
    let mut full = RUNS.iter().filter(|run| run.dropped == Dropped::All && !run.is_long());
    let is_lost = |arm: &Arm| arm.control(arms).is_some_and(|control| recovery_of(arm, control).1 == "not recovered");
    let mut said = Vec::new();
    if full.all(|run| Arm::of(arms, run.folder).is_some())
        && arms.iter().filter(|arm| arm.run.dropped == Dropped::All).all(is_lost)
    {
        said.push("no arm that dropped all positions recovered.".to_owned());
    }
    said.extend(worse_than_untrained(cells));
    said.extend(worse_than_scalings(cells));
    if said.is_empty() { String::new() } else { format!("\n**Against DroPE**: {}\n", said.join(" ")) }
}

/// How far an arm's losses lie above the control's at the end, and whether it has recovered.
fn recovery_of(arm: &Arm, control: &Arm) -> ((f64, f64), &'static str) {
    let (mean, half) = mean(&differences(&arm.at_the_end(), &control.at_the_end()));
    let verdict = if mean + half <= RECOVERED {
        "recovered"
    } else if mean - half > RECOVERED {
        "not recovered"
    } else {
        "undecided"
    };
    ((mean, half), verdict)
}

fn retrieval(cells: &[BenchmarkCell]) -> String {
    if cells.is_empty() {
        return String::new();
    }
    section(
        "Needles",
        &format!(
            "RULER's questions in the model's chat template, RULER's score in percent with Wilson's interval.\n\n{}",
            ruler_table(cells.iter().collect(), |cell| title(&cell.model, cell.method))
        ),
    )
}

#[cfg(test)]
mod tests {
    use drope_core::perplexity::{PARTS, PerplexityCell, TextLoss};
    use drope_core::positions::Method;
    use serde_json::json;

    use super::arms::Run;
    use super::{Arm, HeldOutLine, document};

    fn arm(folder: &str, windows: [f64; 4]) -> Arm {
        let line = |step, tokens, windows: Vec<f64>| {
            let loss = windows.iter().sum::<f64>() / 4.0;
            HeldOutLine { step, tokens, loss, windows, needles: None, sample: None }
        };
        let lines = vec![line(0, 0, vec![5.0; 4]), line(250, 1_000_000, windows.to_vec())];
        Arm { run: Run::of(folder).unwrap(), lines }
    }

    /// Losses that differ by text, and rise behind the middle.
    fn cell(model: &str, method: Method, far: f64) -> PerplexityCell {
        let text = |index: usize| {
            let loss = |part: usize| (if part < 8 { 2.0 } else { far }) + index as f64;
            TextLoss {
                index,
                tokens: 1600,
                curve: (0..PARTS).map(|part| (100, 100.0 * loss(part))).collect(),
                ..TextLoss::default()
            }
        };
        let json = json!({
            "model": model, "method": method, "extension": 2, "context": 16384, "stride": 8192, "source": "shards", "beta": 1.0,
            "length": 16384, "of_texts": 3, "tokens": 0, "loss": 0.0, "perplexity": 0.0, "ci95": null,
            "answer_perplexity": null, "curve": [], "texts": [text(0), text(1), text(2)],
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn arms_are_compared_with_the_control_window_by_window_and_stretch_by_stretch() {
        let arms = [
            arm("run-rope", [2.0, 3.0, 4.0, 5.0]),
            arm("run-p-drope", [2.04, 3.05, 4.05, 5.06]),
            arm("run-drope", [3.0, 4.1, 5.0, 6.1]),
            arm("run-drope-copies", [3.0, 4.1, 5.0, 6.1]),
        ];
        let cells = [
            cell("run-rope", Method::Rope, 6.0),
            cell("run-rope", Method::Yarn, 2.5),
            cell("run-rope", Method::Llama3, 2.6),
            cell("run-p-drope", Method::PDrope, 2.4),
            cell("run-drope", Method::Drope, 4.0),
            cell("run-drope-copies", Method::Drope, 3.0),
        ];
        let text = document(&arms, &cells, &[]);
        assert!(
            text.contains("| partial DroPE | 1.00 M | 5.000 | 3.550 | +0.050 [+0.037, +0.063]: recovered |"),
            "{text}"
        );
        assert!(text.contains("| DroPE | 1.00 M | 5.000 | 4.550 | +1.050 [+0.958, +1.142]: not recovered |"), "{text}");
        assert!(
            text.contains(
                "no arm that dropped all positions recovered. On tokens 8,193 to 16,384 the loss of DroPE and DroPE with copies lies above \
                 that of RoPE read with a scaling (control (RoPE, trained as long), YaRN: 3.500)."
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "One seed an arm. Not measured yet: niah_single_1 at 1024 tokens of control (RoPE, trained as long), "
            ),
            "{text}"
        );
        assert!(text.contains("partial DroPE with copies at all, niah_single_1 at 1024 tokens of DroPE"), "{text}");
        assert!(
            text.contains(
                "niah_single_2 at 4096 tokens of the original model, needles of the control at 16384 tokens with"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "**DroPE**: +0.000 [+0.000, +0.000] within 1,024 tokens, -1.000 [-1.000, -1.000] on tokens 8,193 to 16,384: copies help"
            ),
            "{text}"
        );
        assert!(text.contains("The best scaling measured beyond it: control (RoPE, trained as long), YaRN;"), "{text}");
        assert!(
            text.contains(
                "| partial DroPE | 3.000 | 3.000 | 3.000 | 3.000 | 3.400 | -0.100 [-0.100, -0.100]: reads beyond |"
            ),
            "{text}"
        );
    }

    #[test]
    fn models_that_read_their_own_context_worse_than_before_are_named() {
        let mut worse = cell("run-p-drope", Method::PDrope, 2.4);
        for text in &mut worse.texts {
            text.curve[4..8].iter_mut().for_each(|part| part.1 += 100.0);
        }
        let cells = [worse, cell("run-drope", Method::Drope, 2.4), cell("smollm2", Method::Rope, 6.0)];
        let text = document(&[arm("run-rope", [2.0; 4])], &cells, &[]);
        assert!(
            text.contains(
                "On tokens 4,097 to 8,192, which the model could read before, the loss of partial DroPE (4.000) lies above that of the \
                 original model (3.000)."
            ),
            "{text}"
        );
    }

    #[test]
    fn longer_runs_are_compared_with_a_control_that_was_trained_as_long() {
        let arms = [
            arm("run-rope", [2.0, 3.0, 4.0, 5.0]),
            arm("run-drope", [3.0, 4.1, 5.0, 6.1]),
            arm("run-drope-copies", [3.0, 4.1, 5.0, 6.1]),
            arm("run-rope-500", [1.9, 2.9, 3.9, 4.9]),
            arm("run-drope-500", [1.94, 2.94, 3.94, 4.94]),
        ];
        let cells = [
            cell("run-rope", Method::Yarn, 2.5),
            cell("run-rope-500", Method::Rope, 6.0),
            cell("run-rope-500", Method::Llama3, 2.3),
            cell("run-drope-500", Method::Drope, 2.4),
        ];
        let text = document(&arms, &cells, &[]);
        assert!(
            text.contains("| DroPE, 500 updates | 1.00 M | 5.000 | 3.440 | +0.040 [+0.040, +0.040]: recovered |"),
            "{text}"
        );
        assert!(!text.contains("no arm that dropped all positions recovered"), "{text}");
        assert!(
            text.contains(
                "| DroPE, 500 updates | 3.000 | 3.000 | 3.000 | 3.000 | 3.400 | +0.100 [+0.100, +0.100]: worse |"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "beyond it: control (RoPE, trained as long), YaRN and control, 500 updates, Llama 3's scaling;"
            ),
            "{text}"
        );
        let missing = text.lines().find(|line| line.contains("Not measured yet")).unwrap();
        assert!(!missing.contains("500 updates"), "{missing}");
    }
}
