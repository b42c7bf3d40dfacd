//! UniformScale: one temperature β = 1 + c·ln s for all heads (Wang et al. 2024).
//!
//! For each extension factor s the β of least perplexity is found on a grid, then c is fitted to them.

use crate::messages::show;
use crate::progress::Progress;
use crate::reading::held_out::FittingContext;
use anyhow::Result;

/// Extension factors of the fit; at s = 1 the formula gives β = 1 whatever c is.
const FACTORS: [usize; 3] = [2, 4, 8];

/// Values of β on the grid, 0.1 apart from 0.9 on.
const GRID: u32 = 13;

/// Fits c.
pub fn fit(context: &FittingContext) -> Result<f64> {
    let mut best = Vec::new();
    for factor in FACTORS {
        best.push(((factor as f64).ln(), best_beta(context, factor)?));
    }
    let (c, r_squared) = through_one(&best);
    show(format_args!("β = 1 + {c:.4}·ln s, R² = {r_squared:.3}"));
    Ok(c)
}

/// The β of least perplexity at one factor.
pub fn best_beta(context: &FittingContext, factor: usize) -> Result<f64> {
    let texts = context.documents(factor, context.texts);
    let mut curve = Vec::new();
    let bar = Progress::of_items(GRID as usize)?;
    for step in 0..GRID {
        let beta = 0.9 + 0.1 * f64::from(step);
        let positions = context.method.positions(&context.loaded.config, factor as f64)?.with_logit_scale(beta);
        curve.push((beta, context.answer_loss(&positions, &texts)?));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let (beta, loss) = lowest(&curve);
    let plain = curve.iter().find(|(beta, _)| (beta - 1.0).abs() < 1e-9).map_or(loss, |point| point.1);
    show(format_args!(
        "s = {factor}: perplexity of answers {:.4} at β = {beta:.3}, {:.4} at β = 1",
        loss.exp(),
        plain.exp()
    ));
    Ok(beta)
}

/// The lowest point of the parabola through the best grid point and its neighbours.
fn lowest(curve: &[(f64, f64)]) -> (f64, f64) {
    let at = (0..curve.len()).min_by(|&a, &b| curve[a].1.total_cmp(&curve[b].1)).unwrap_or(0);
    let ((beta, loss), Some(before), Some(after)) = (curve[at], at.checked_sub(1).map(|i| curve[i]), curve.get(at + 1))
    else {
        return curve[at];
    };
    let step = after.0 - beta;
    let bend = before.1 - 2.0 * loss + after.1;
    if bend <= 0.0 { (beta, loss) } else { (beta + 0.5 * step * (before.1 - after.1) / bend, loss) }
}

/// Least squares of β = 1 + c·x, and how much of the spread of β it explains.
fn through_one(points: &[(f64, f64)]) -> (f64, f64) {
    let c =
        points.iter().map(|(x, beta)| x * (beta - 1.0)).sum::<f64>() / points.iter().map(|(x, _)| x * x).sum::<f64>();
    let mean = points.iter().map(|(_, beta)| beta).sum::<f64>() / points.len() as f64;
    let spread: f64 = points.iter().map(|(_, beta)| (beta - mean).powi(2)).sum();
    let left: f64 = points.iter().map(|(x, beta)| (beta - 1.0 - c * x).powi(2)).sum();
    (c, if spread > 0.0 { 1.0 - left / spread } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::{lowest, through_one};

    #[test]
    fn a_parabola_and_a_line_are_found_exactly() {
        let curve: Vec<(f64, f64)> = (0..10).map(|i| f64::from(i) / 10.0).map(|x| (x, (x - 0.43).powi(2))).collect();
        assert!((lowest(&curve).0 - 0.43).abs() < 1e-9);
        let (c, r_squared) = through_one(&[(0.5, 1.1), (1.0, 1.2), (2.0, 1.4)]);
        assert!((c - 0.2).abs() < 1e-12 && (r_squared - 1.0).abs() < 1e-9);
    }
}
