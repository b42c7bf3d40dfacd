//! How many tokens full DroPE would take to recover: docs/protocol-real.md, measure 4.

use drope_core::results::HeldOutLine;
use drope_core::stats::{PowerLaw, bootstrap_of_trials};

/// Resamples of the held-out windows.
const RESAMPLES: usize = 2000;
const SEED: u64 = 1;
/// More than so many times the tokens of the run are marked as an extrapolation.
const EXTRAPOLATED: f64 = 10.0;

/// After how many tokens a model's losses lie `target` nats above `limit`, the losses of the control's windows at its end. Empty where
/// there are too few measures for a power law.
pub fn sentence(title: &str, lines: &[HeldOutLine], limit: &[f64], target: f64) -> String {
    let all: Vec<usize> = (0..limit.len()).collect();
    let (Some(last), Some(points)) = (lines.last(), excesses(lines, limit, &all)) else { return String::new() };
    let measured = last.tokens as f64;
    if let Some(tokens) = reached(&points, target) {
        return format!(
            "**Tokens to recovery.** {title} lies at most {target} above the control's end after {} tokens.\n",
            millions(tokens)
        );
    }
    let Some((law, estimate, interval)) = fitted(lines, limit, target) else { return String::new() };
    let extrapolated = extrapolation(estimate, measured);
    format!(
        "**Tokens to recovery.** The losses of {title} above the control's at its end fall as {:.2}·(1 + t/{})^−{:.2}; they lie {target} \
         above it after {} [{}, {}] tokens (95 % interval of a bootstrap over the windows, which does not cover the choice of form, text and \
         learning rate).{extrapolated} The paper recalibrates SmolLM-360M on 30 billion tokens.\n",
        law.a,
        millions(law.t0),
        law.b,
        millions(estimate),
        millions(interval[0]),
        millions(interval[1]),
    )
}

/// What the same form, fitted to a shorter run, says. Empty where nothing is fitted.
pub fn of_shorter_run(title: &str, lines: &[HeldOutLine], limit: &[f64], target: f64) -> String {
    let Some((_, estimate, interval)) = fitted(lines, limit, target) else { return String::new() };
    let measured = lines.last().map_or(0.0, |line| line.tokens as f64);
    format!(
        "The same form, fitted to {title} after {}, says {} [{}, {}].{} Where these two intervals do not overlap, the form does not describe \
         the losses well enough, and neither number is a prediction.\n",
        millions(measured),
        millions(estimate),
        millions(interval[0]),
        millions(interval[1]),
        extrapolation(estimate, measured),
    )
}

/// That an estimate lies far beyond what was measured, where it does.
fn extrapolation(estimate: f64, measured: f64) -> String {
    if estimate <= EXTRAPOLATED * measured {
        return String::new();
    }
    format!(" This is an **extrapolation** to {:.0} times the tokens that were measured.", estimate / measured)
}

/// The power law of all windows, the tokens at which it reaches the target, and their interval over the windows.
fn fitted(lines: &[HeldOutLine], limit: &[f64], target: f64) -> Option<(PowerLaw, f64, [f64; 2])> {
    let all: Vec<usize> = (0..limit.len()).collect();
    let law = PowerLaw::fit(&excesses(lines, limit, &all)?)?;
    let tokens = |windows: &[usize]| match excesses(lines, limit, windows) {
        Some(points) => reached(&points, target)
            // A resample without a law that falls does not reach the target.
            .unwrap_or_else(|| PowerLaw::fit(&points).map_or(f64::INFINITY, |law| law.tokens_to(target))),
        None => f64::NAN,
    };
    let interval = bootstrap_of_trials(limit.len(), tokens, RESAMPLES, SEED)?;
    Some((law, law.tokens_to(target), interval))
}

/// Tokens, and how far the mean loss of some windows lies above that of the control's.
fn excesses(lines: &[HeldOutLine], limit: &[f64], windows: &[usize]) -> Option<Vec<(f64, f64)>> {
    let mean = |losses: &[f64]| {
        let sum: Option<f64> = windows.iter().map(|&window| losses.get(window)).sum();
        sum.map(|sum| sum / windows.len() as f64)
    };
    let limit = mean(limit)?;
    lines.iter().map(|line| Some((line.tokens as f64, mean(&line.windows)? - limit))).collect()
}

/// Tokens of the first measure that lies at the target or below.
fn reached(points: &[(f64, f64)], target: f64) -> Option<f64> {
    points.iter().find(|point| point.1 <= target).map(|point| point.0)
}

fn millions(tokens: f64) -> String {
    if !tokens.is_finite() || tokens >= 1e15 {
        return "more than 10¹⁵".to_owned();
    }
    if tokens >= 1e10 { format!("{:.0} billion", tokens / 1e9) } else { format!("{:.2} million", tokens / 1e6) }
}

#[cfg(test)]
mod tests {
    use drope_core::results::HeldOutLine;

    use super::{of_shorter_run, sentence};

    /// Windows whose losses above the limit follow 3·(1 + t/10⁵)^−½, each with its own share of it.
    fn lines(last: u64) -> Vec<HeldOutLine> {
        let line = |step: u64| {
            let tokens = step * last / 10;
            let above = 3.0 / (1.0 + tokens as f64 / 1e5).sqrt();
            let windows: Vec<f64> = [0.9, 1.0, 1.1, 1.0].iter().map(|share| 2.0 + share * above).collect();
            let loss = windows.iter().sum::<f64>() / 4.0;
            HeldOutLine { step: step as usize, tokens, loss, windows, needles: None, sample: None }
        };
        (0..=10).map(line).collect()
    }

    #[test]
    fn the_tokens_of_a_known_law_are_read_off_with_an_interval() {
        // 3/√(1 + t/10⁵) = 0.1 at t = 899·10⁵.
        let text = sentence("DroPE", &lines(1_000_000), &[2.0; 4], 0.1);
        let law = "fall as 3.00·(1 + t/0.10 million)^−0.50; they lie 0.1 above it after 89.90 million [";
        assert!(text.contains(law), "{text}");
        // The mean share of four windows lies within 7.5 % of 1, so that 3 becomes 2.775 to 3.225 and the tokens 77 to 104 million.
        let interval = text.split(law).nth(1).unwrap().split_once("] tokens").unwrap().0;
        let ends: Vec<f64> =
            interval.split(", ").map(|end| end.trim_end_matches(" million").parse().unwrap()).collect();
        assert!((76.0..85.0).contains(&ends[0]) && (95.0..104.0).contains(&ends[1]), "{text}");
        assert!(text.contains("an **extrapolation** to 90 times the tokens"), "{text}");
        let shorter = of_shorter_run("DroPE", &lines(500_000), &[2.0; 4], 0.1);
        assert!(shorter.contains("fitted to DroPE after 0.50 million, says 89.90 million ["), "{shorter}");
        assert!(shorter.contains("an **extrapolation** to 180 times the tokens"), "{shorter}");
        let text = sentence("DroPE", &lines(50_000_000), &[2.0; 4], 0.1);
        assert!(text.contains("they lie 0.1 above") && !text.contains("extrapolation"), "{text}");
        let text = sentence("DroPE", &lines(1_000_000_000), &[2.0; 4], 0.1);
        assert!(text.contains("at most 0.1 above the control's end after 100.00 million tokens"), "{text}");
    }

    #[test]
    fn nothing_is_said_of_few_measures() {
        assert_eq!(sentence("DroPE", &lines(1_000_000)[..3], &[2.0; 4], 0.1), "");
        assert_eq!(sentence("DroPE", &[], &[2.0; 4], 0.1), "");
        assert_eq!(of_shorter_run("DroPE", &[], &[2.0; 4], 0.1), "");
    }
}
