//! Whether copies help a real model, by docs/protocol-real.md: where the arm with copies is better than the one without in one of its
//! measures, and worse in none.

use drope_core::perplexity::PerplexityCell;

use super::arms::{Arm, differences, far, mean, signed};
use crate::markdown::{joined, section};

/// Arms without and with copies, and what they have in common.
const PAIRS: [([&str; 2], &str); 2] =
    [(["run-p-drope", "run-p-drope-copies"], "partial DroPE"), (["run-drope", "run-drope-copies"], "DroPE")];

/// A section on the pairs of which both are there; empty where there is none.
pub fn copies(arms: &[Arm], perplexities: &[PerplexityCell]) -> String {
    let sentences: Vec<String> =
        PAIRS.into_iter().filter_map(|(pair, title)| sentence(arms, perplexities, pair, title)).collect();
    if sentences.is_empty() {
        return String::new();
    }
    section(
        "Copies",
        &format!(
            "With copies less without, in nats, paired by window and by stretch; below 0 copies are better.\n\n{}",
            joined(sentences.into_iter().map(|sentence| format!("- {sentence}")), "\n")
        ),
    )
}

fn sentence(arms: &[Arm], perplexities: &[PerplexityCell], pair: [&str; 2], title: &str) -> Option<String> {
    let windows = |name: &str| Arm::of(arms, name).map(Arm::at_the_end);
    let texts = |name: &str| Some(far(perplexities.iter().find(|cell| cell.model == name)?));
    let [plain, with] = pair;
    let within = mean(&differences(&windows(with)?, &windows(plain)?));
    let beyond = mean(&differences(&texts(with)?, &texts(plain)?));
    let is_better = |(mean, half): (f64, f64)| mean + half < 0.0;
    let is_worse = |(mean, half): (f64, f64)| mean - half > 0.0;
    let measures = [within, beyond];
    let verdict = match (measures.into_iter().any(is_better), measures.into_iter().any(is_worse)) {
        (true, false) => "copies help, of what is measured so far",
        (true, true) => "better in one and worse in the other",
        (false, true) => "copies do harm",
        (false, false) => "undecided",
    };
    Some(format!(
        "**{title}**: {} within 1,024 tokens, {} on tokens 8,193 to 16,384: {verdict}.",
        signed(within),
        signed(beyond)
    ))
}
