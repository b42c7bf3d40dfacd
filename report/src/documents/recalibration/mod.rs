//! docs/recalibration.md: a real model whose positions were dropped, by docs/protocol-real.md: recovery within the context, losses along
//! longer texts, needles. Arms that are not measured are missing from it.

use std::path::Path;

use anyhow::{Context, Result};
use drope_core::benchmarks::BenchmarkCell;
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;
use drope_core::results::{HeldOutLine, current};

use super::arms::{Arm, RANGES, differences, far, mean, of_range, signed};
use super::copies::copies;
use super::recovery;
use super::ruler::ruler_table;
use crate::files;
use crate::markdown::{DASH, line, list, or_dash, picture, section, table};
use crate::plot::{curves, plot};

/// Models of the study in the order of the protocol: the folder of a run, and what it is called.
const ARMS: [(&str, &str); 5] = [
    ("run-rope", "control (RoPE, trained as long)"),
    ("run-p-drope", "partial DroPE"),
    ("run-p-drope-copies", "partial DroPE with copies"),
    ("run-drope", "DroPE"),
    ("run-drope-copies", "DroPE with copies"),
];
/// Arms without any positions; of the first the protocol asks for the tokens to recovery.
const FULL: [&str; 2] = ["run-drope", "run-drope-copies"];
/// The model as training begins with it.
const UNTRAINED: &str = "smollm2";
/// Needles of the protocol, and the lengths at which every model is asked for them.
const NEEDLES: [&str; 2] = ["niah_single_1", "niah_single_2"];
const NEEDLE_LENGTHS: [usize; 3] = [1024, 2048, 4096];
/// What the control is asked besides, in tokens, and how it is read then.
const FURTHEST: usize = 16_384;
const READINGS: [Method; 4] = [Method::Rope, Method::Yarn, Method::Llama3, Method::DynamicNtk];
/// An arm has recovered where its loss lies at most so far above the control's, in nats.
const RECOVERED: f64 = 0.1;

/// Writes the document and its picture; nothing where there are no runs. Returns what others say of it: what speaks against, and the table
/// of recovery.
pub fn write(folder: &Path, root: &Path) -> Result<Option<String>> {
    let mut arms = Vec::new();
    for (name, title) in ARMS {
        let path = folder.join(name).join("held_out.jsonl");
        if path.exists() {
            let lines = files::read_text(&path)?.lines().map(serde_json::from_str).collect::<serde_json::Result<_>>();
            let lines = lines.with_context(|| format!("{} does not hold such losses", path.display()))?;
            arms.push(Arm { folder: name, title, lines });
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
            (arm.title.to_owned(), points)
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
             windows of 1,024 tokens.{}\n{}",
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
    let control = arms.iter().find(|arm| arm.folder == ARMS[0].0);
    let row = |arm: &Arm| {
        let end = arm.lines.last();
        let number = |line: Option<&HeldOutLine>| or_dash(line.map(|line| format!("{:.3}", line.loss)));
        let apart = control.filter(|_| arm.folder != ARMS[0].0).map(|control| {
            let (apart, verdict) = recovery_of(arm, control);
            format!("{}: {verdict}", signed(apart))
        });
        let tokens = or_dash(end.map(|line| format!("{:.2} M", line.tokens as f64 / 1e6)));
        line(arm.title, [tokens, number(arm.lines.first()), number(end), or_dash(apart)])
    };
    table(["model", "tokens", "before", "after", "above the control"], arms.iter().map(row))
}

fn recovered(arms: &[Arm]) -> String {
    let control = arms.iter().find(|arm| arm.folder == ARMS[0].0);
    let limit = control.and_then(|control| control.lines.last()).map(|line| line.windows.clone());
    let windows = limit.as_ref().map_or(0, Vec::len);
    let full = arms.iter().find(|arm| arm.folder == FULL[0]).zip(limit.as_ref());
    let tokens =
        full.map(|(arm, limit)| recovery::sentence(arm.title, &arm.lines, limit, RECOVERED)).unwrap_or_default();
    format!(
        "Loss in nats on {windows} held-out windows of 1,024 tokens, and how far it lies above the control's at the end, window by window \
         (95 % interval by Student's t). Recovered is what lies at most {RECOVERED} above.\n\n{}\n{}\n{}",
        recovery_table(arms),
        picture("recalibration.svg", "Held-out loss during recalibration; the axis of losses is logarithmic."),
        tokens
    )
}

/// `control (RoPE, trained as long), YaRN`
fn reading(cell: &PerplexityCell) -> String {
    title(&cell.model, cell.method)
}

fn title(model: &str, method: Method) -> String {
    let arm = ARMS.iter().find(|(name, _)| *name == model).map_or("untrained", |(_, title)| *title);
    if [ARMS[0].0, UNTRAINED].contains(&model) { format!("{arm}, {}", method.title()) } else { arm.to_owned() }
}

/// The control under the scaling with the lowest loss in the last range.
fn best_scaling(cells: &[PerplexityCell]) -> Option<&PerplexityCell> {
    let scalings = cells.iter().filter(|cell| cell.model == ARMS[0].0 && cell.method != Method::Rope);
    scalings.min_by(|a, b| mean(&far(a)).0.total_cmp(&mean(&far(b)).0))
}

/// Whether a model lost positions, as the control did not.
fn is_recalibrated(cell: &PerplexityCell) -> bool {
    ARMS[1..].iter().any(|(name, _)| *name == cell.model)
}

/// How far the losses of the last range lie above a rival's, paired by text, and what that means.
fn beyond(cell: &PerplexityCell, rival: &PerplexityCell) -> ((f64, f64), &'static str) {
    let (mean, half) = mean(&differences(&far(cell), &far(rival)));
    let verdict = if mean + half < 0.0 {
        "reads beyond"
    } else if mean - half > 0.0 {
        "worse"
    } else {
        "undecided"
    };
    ((mean, half), verdict)
}

/// What the protocol wants to be reported first: that no arm without any positions recovers, and models without positions that read less far
/// than a scaling which needs no training.
fn against(arms: &[Arm], cells: &[PerplexityCell]) -> String {
    let full: Vec<&Arm> = arms.iter().filter(|arm| FULL.contains(&arm.folder)).collect();
    let control = arms.iter().find(|arm| arm.folder == ARMS[0].0);
    let verdicts = control.map(|control| full.iter().map(|arm| recovery_of(arm, control).1).collect::<Vec<_>>());
    let mut said = Vec::new();
    if verdicts
        .is_some_and(|verdicts| verdicts.len() == FULL.len() && verdicts.iter().all(|word| *word == "not recovered"))
    {
        said.push("no arm that dropped all positions recovered.".to_owned());
    }
    if let Some(rival) = best_scaling(cells) {
        let is_worse = |cell: &&PerplexityCell| is_recalibrated(cell) && beyond(cell, rival).1 == "worse";
        let worse: Vec<String> = cells.iter().filter(is_worse).map(reading).collect();
        let untrained = cells.iter().find(|cell| cell.model == UNTRAINED && cell.method == rival.method);
        let untrained = untrained.map_or(String::new(), |cell| format!("; untrained {:.3}", mean(&far(cell)).0));
        if !worse.is_empty() {
            said.push(format!(
                "On tokens 8,193 to 16,384 the loss of {} lies above that of RoPE read with a scaling ({}: {:.3}{untrained}).",
                list(&worse),
                reading(rival),
                mean(&far(rival)).0,
            ));
        }
    }
    if said.is_empty() { String::new() } else { format!("\n**Against DroPE**: {}\n", said.join(" ")) }
}

/// What the protocol asks for and the results files do not hold.
fn not_measured(arms: &[Arm], cells: &[PerplexityCell], needles: &[BenchmarkCell]) -> String {
    let mut missing: Vec<String> = Vec::new();
    for (name, title) in ARMS {
        if arms.iter().all(|arm| arm.folder != name) {
            missing.push(format!("{title} at all"));
            continue;
        }
        if cells.iter().all(|cell| cell.model != name) {
            missing.push(format!("losses along texts of {title}"));
        }
        missing.extend(needles_missing(needles, name).map(|asked| format!("{asked} of {title}")));
    }
    missing.extend(needles_missing(needles, UNTRAINED).map(|asked| format!("{asked} of the untrained model")));
    let is_read = |method: Method| {
        needles.iter().any(|cell| (&*cell.model, cell.method, cell.context) == (ARMS[0].0, method, FURTHEST))
    };
    let readings = READINGS.into_iter().filter(|&method| !is_read(method));
    missing
        .extend(readings.map(|method| format!("needles of the control at {FURTHEST} tokens with {}", method.title())));
    let longer = arms.iter().any(|arm| arm.lines.last().is_some_and(|line| line.step > 250));
    if !longer {
        missing.push("runs of 500 updates".to_owned());
    }
    let missing = if missing.is_empty() { String::new() } else { format!(" Not measured yet: {}.", list(&missing)) };
    format!(" One seed an arm.{missing}")
}

/// Tasks and lengths of the protocol that a model was not asked; one that answers nothing at the first length is not asked at others.
fn needles_missing<'a>(needles: &'a [BenchmarkCell], model: &'a str) -> impl Iterator<Item = String> + 'a {
    let asked = move |task: &str, tokens: usize| {
        needles.iter().find(|cell| (&*cell.header.model, &*cell.task, cell.context) == (model, task, tokens))
    };
    NEEDLES.into_iter().flat_map(move |task| {
        let answers_nothing = asked(task, NEEDLE_LENGTHS[0]).is_some_and(|cell| cell.score == 0.0);
        let lengths = if answers_nothing { &NEEDLE_LENGTHS[..1] } else { &NEEDLE_LENGTHS[..] };
        let missing = lengths.iter().filter(move |&&tokens| asked(task, tokens).is_none());
        missing.map(move |tokens| format!("{task} at {tokens} tokens"))
    })
}

/// How far an arm's losses lie above the control's at the end, and whether it has recovered.
fn recovery_of(arm: &Arm, control: &Arm) -> ((f64, f64), &'static str) {
    let last = |arm: &Arm| arm.lines.last().map(|line| line.windows.clone()).unwrap_or_default();
    let (mean, half) = mean(&differences(&last(arm), &last(control)));
    let verdict = if mean + half <= RECOVERED {
        "recovered"
    } else if mean - half > RECOVERED {
        "not recovered"
    } else {
        "undecided"
    };
    ((mean, half), verdict)
}

/// Losses by position.
fn along_the_text(cells: &[PerplexityCell]) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let rival = best_scaling(cells);
    let row = |cell: &PerplexityCell| {
        let losses = RANGES.iter().map(|(range, _)| {
            let of_texts: Vec<f64> = cell.texts.iter().map(|text| of_range(text, range)).collect();
            format!("{:.3}", mean(&of_texts).0)
        });
        let apart = rival.filter(|_| is_recalibrated(cell)).map(|rival| {
            let (apart, verdict) = beyond(cell, rival);
            format!("{}: {verdict}", signed(apart))
        });
        line(reading(cell), losses.chain([or_dash(apart)]))
    };
    let mut sorted: Vec<&PerplexityCell> = cells.iter().collect();
    let place = |cell: &PerplexityCell| ARMS.iter().position(|(name, _)| *name == cell.model).unwrap_or(ARMS.len());
    sorted.sort_by_key(|cell| (place(cell), cell.method.name()));
    let header = line("reading", RANGES.iter().map(|(_, title)| (*title).to_owned()));
    let header = header.into_iter().chain(["last column, against the best scaling".to_owned()]);
    let texts = cells.iter().map(|cell| cell.texts.len()).max().unwrap_or(0);
    let rival = rival.map_or(DASH.to_owned(), reading);
    section(
        "Loss along texts of 16,384 tokens",
        &format!(
            "{texts} stretches of held-out documents; mean loss in nats of the tokens up to each place. The model was made for 8,192 tokens; \
             scalings read with s = 2. The best scaling measured beyond it: {rival}; differences are paired by stretch.\n\n{}",
            table(header, sorted.into_iter().map(row))
        ),
    )
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

    use super::{Arm, HeldOutLine, document};

    fn arm(folder: &'static str, title: &'static str, windows: [f64; 4]) -> Arm {
        let line = |step, tokens, windows: Vec<f64>| {
            let loss = windows.iter().sum::<f64>() / 4.0;
            HeldOutLine { step, tokens, loss, windows, needles: None, sample: None }
        };
        Arm { folder, title, lines: vec![line(0, 0, vec![5.0; 4]), line(250, 1_000_000, windows.to_vec())] }
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
            arm("run-rope", "control", [2.0, 3.0, 4.0, 5.0]),
            arm("run-p-drope", "partial", [2.04, 3.05, 4.05, 5.06]),
            arm("run-drope", "full", [3.0, 4.1, 5.0, 6.1]),
            arm("run-drope-copies", "full with copies", [3.0, 4.1, 5.0, 6.1]),
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
        assert!(text.contains("| partial | 1.00 M | 5.000 | 3.550 | +0.050 [+0.037, +0.063]: recovered |"), "{text}");
        assert!(text.contains("| full | 1.00 M | 5.000 | 4.550 | +1.050 [+0.958, +1.142]: not recovered |"), "{text}");
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
                "niah_single_2 at 4096 tokens of the untrained model, needles of the control at 16384 tokens with"
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
}
