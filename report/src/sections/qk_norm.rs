//! Norms of queries and keys against the learning rate of recalibration (DroPE paper, table 11 and figure 12).

use anyhow::Result;
use drope_core::positions::Method;

use super::Section;
use crate::markdown::{picture, table};
use crate::results::{Results, system};
use crate::verdict::Verdict;

/// Peak learning rates, and models without the norm and with it.
const RUNS: [(&str, [&str; 2]); 3] = [
    ("2e-3", ["qk-norm-none-2e-3", "qk-norm-qk-2e-3"]),
    ("1e-2", ["qk-norm-none-1e-2", "qk-norm-qk-1e-2"]),
    ("5e-2", ["qk-norm-none-5e-2", "qk-norm-qk-5e-2"]),
];

/// How the models are recalibrated.
const STEPS: usize = 600;
const TOKENS_PER_STEP: usize = 2048;

pub fn vary_norm_and_rate(results: &Results) -> Result<Option<Section>> {
    let loss = |model| Some(results.perplexity_at_1x(&system("", model, Method::Drope))?.loss);
    let losses = RUNS.map(|(_, models)| Some([loss(models[0])?, loss(models[1])?]));
    let [Some(lowest), Some(_), Some(highest)] = losses else { return Ok(None) };
    let lines = RUNS
        .iter()
        .zip(losses.into_iter().flatten())
        .map(|((rate, _), [without, with])| vec![(*rate).to_owned(), format!("{without:.3}"), format!("{with:.3}")]);
    Ok(Some(Section {
        paper: "SmolLM-360M, final loss with / without QK norm at three learning rates: 1e-3: 2.496 / 6.334, 3e-4: 2.555 / 2.530, \
                3e-5: 3.102 / 2.713. The norm helps at high rates, where it prevents spikes, and costs at low ones."
            .into(),
        body: format!(
            "Held-out loss at 1× after {STEPS} steps (about {:.1} M tokens) of recalibration from nano-rope with Muon.\n\n{}{}",
            (STEPS * TOKENS_PER_STEP) as f64 / 1e6,
            table(["peak learning rate", "without norm", "with QK norm"], lines),
            // Drawn when the models were trained; their curves were not kept.
            picture("qk-norm.svg", "Training loss, with and without QK norm.")
        ),
        verdict: format!(
            "At the highest rate the loss is {:.3} with the norm and {:.3} without, at the lowest {:.3} and {:.3}: the paper's \
             ordering {} (one run each).",
            highest[1],
            highest[0],
            lowest[1],
            lowest[0],
            judge(lowest, highest).words()
        ),
        charts: Vec::new(),
    }))
}

/// That the norm helps at the highest rate and costs at the lowest; losses without the norm and with it.
fn judge(lowest: [f64; 2], highest: [f64; 2]) -> Verdict {
    Verdict::of(highest[1] < highest[0] && lowest[1] > lowest[0])
}

#[cfg(test)]
mod tests {
    use super::{STEPS, TOKENS_PER_STEP, Verdict, judge};
    use crate::sections::number_in;

    #[test]
    fn steps_and_tokens_are_those_of_the_recipe() {
        let recipe = include_str!("../../../recipes/reproduction/qk-norm.toml");
        let numbers = ["steps", "tokens_per_step"].map(|field| number_in(recipe, field));
        assert_eq!(numbers, [STEPS, TOKENS_PER_STEP]);
    }

    #[test]
    fn the_norm_must_help_at_the_top_and_cost_at_the_bottom() {
        assert_eq!(judge([2.5, 2.6], [6.0, 2.4]), Verdict::Holds);
        assert_eq!(judge([2.6, 2.5], [6.0, 2.4]), Verdict::DoesNotHold);
        assert_eq!(judge([2.5, 2.6], [2.3, 2.4]), Verdict::DoesNotHold);
    }
}
