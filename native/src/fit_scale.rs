//! `core fit-scale`: the temperature of a model without (low) positions, by perplexity on held-out text.
//!
//! Longer texts spread attention thinner; a temperature β = 1 + c·ln s on the logits gathers it again
//! (Wang et al. 2024, UniformScale). For each extension factor s the β of least perplexity is found on a grid,
//! then c is fitted to them. The text is documents of the synthetic language from seeds that training does not
//! use, with training's keys; scores of retrieval tasks play no part. Only the perplexity of answers counts: the
//! prose around them depends on little beyond its own sentence, and would drown what the temperature is for.

use std::path::Path;

use anyhow::Result;
use drope_core::language::{Document, DocumentMix, training_document};
use drope_core::perplexity::token_losses;
use drope_core::positions::Method;
use indicatif::ProgressIterator;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::device::{self, DeviceChoice};
use crate::{interrupt, model_folder};

/// Extension factors of the fit; at s = 1 the formula gives β = 1 whatever c is.
const FACTORS: [usize; 3] = [2, 4, 8];

/// Fits c and writes it into the model's config.
pub fn run(folder: &Path, documents: usize, seed: u64, choice: DeviceChoice) -> Result<()> {
    let mut config = model_folder::config(folder)?;
    let tokenizer = model_folder::tokenizer(folder, &config)?;
    let device = device::open(choice)?.device;
    let model = model_folder::model(folder, &config, &device)?;
    let method = Method::of(&config);
    interrupt::watch()?;
    let encode = |text: &str| tokenizer.encode(text).unwrap_or_default();
    let mix = DocumentMix { repeat: 0.0, facts: 0.0, ..DocumentMix::default() };
    let mut best = Vec::new();
    for factor in FACTORS {
        let length = factor * config.max_position_embeddings;
        // Training seeds are small numbers; these are not.
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ (0x5ca1e << 40) ^ factor as u64);
        let bos = tokenizer.bos().unwrap_or_default();
        let texts: Vec<Document> =
            (0..documents).map(|_| training_document(&mut rng, length, &mix, bos, &encode)).collect();
        let mut curve = Vec::new();
        for step in (0..13u32).progress() {
            let beta = 0.9 + 0.1 * f64::from(step);
            let positions = method.positions(&config, factor as f64)?.with_logit_scale(beta);
            let (mut sum, mut count) = (0.0, 0u32);
            for text in &texts {
                if interrupt::requested() {
                    return Err(interrupt::Stopped("stopped; the config is unchanged".into()).into());
                }
                let losses = pollster::block_on(token_losses(&model, &config, &positions, &text.ids))?;
                let weights = &text.weights[1..];
                let answers = losses.iter().zip(weights).filter(|(_, weight)| **weight == mix.answer_weight);
                for (loss, _) in answers {
                    sum += f64::from(*loss);
                    count += 1;
                }
            }
            curve.push((beta, sum / f64::from(count.max(1))));
        }
        let (beta, loss) = lowest(&curve);
        let plain = curve.iter().find(|(beta, _)| (beta - 1.0).abs() < 1e-9).map_or(loss, |point| point.1);
        println!("s = {factor}: perplexity of answers {:.4} at β = {beta:.3}, {:.4} at β = 1", loss.exp(), plain.exp());
        best.push(((factor as f64).ln(), beta));
    }
    let (c, r_squared) = through_one(&best);
    println!("β = 1 + {c:.4}·ln s, R² = {r_squared:.3}");
    config.temperature_coefficient = c;
    model_folder::save_config(folder, &config)
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
