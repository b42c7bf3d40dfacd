//! HeadScale: a temperature λ ≥ 1 for each head, everything else frozen (Wang et al. 2024).
//!
//! Begun at the best uniform value; 200 steps of AdamW, 20 of them to warm up, then a cosine to a tenth.

use std::path::Path;

use anyhow::Result;
use burn::module::Module;
use burn::tensor::Device;
use drope_core::train::{Batch, HeadScaleFit, Schedule};
use indicatif::{ProgressBar, ProgressStyle};

use super::uniform;
use crate::held_out::Subject;
use crate::{interrupt, model_folder};

/// Extension factor that λ is fitted at.
pub const FACTOR: usize = 8;
const STEPS: usize = 200;
const SCHEDULE: Schedule = Schedule { peak: 0.05, warmup: 20, floor: 0.1 };

/// Fits λ, head after head, layer after layer.
pub fn fit(subject: &Subject, folder: &Path, device: &Device) -> Result<Vec<Vec<f64>>> {
    let initial = uniform::best_beta(subject, FACTOR)?.max(1.0);
    // On a device of its own: passes that nobody asks a gradient of would pile up on one that keeps them for it.
    let model = model_folder::model(folder, &subject.config, &device.clone().autodiff())?.no_grad();
    let positions = subject.method.positions(&subject.config, FACTOR as f64)?.with_logit_scale(1.0);
    let mut fit = HeadScaleFit::new(&subject.config, initial, &model.device());
    let mut optimizer = HeadScaleFit::optimizer();
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}  {eta} left")?;
    let bar = ProgressBar::new(STEPS as u64).with_style(style);
    // The first documents were those of the grid.
    for (step, text) in subject.documents(FACTOR, subject.texts + STEPS).skip(subject.texts).enumerate() {
        interrupt::check("stopped; the config is unchanged")?;
        let length = text.ids.len();
        let batch = Batch { ids: text.ids, weights: text.weights, copies: Vec::new(), rows: 1, length };
        let loss;
        (fit, loss) = fit.step(&mut optimizer, &model, &batch, &positions, SCHEDULE.at(step, STEPS))?;
        bar.set_message(format!("perplexity of answers {:.3}", loss.exp()));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let values = fit.values();
    for (layer, scales) in values.iter().enumerate() {
        let scales: Vec<String> = scales.iter().map(|scale| format!("{scale:.3}")).collect();
        println!("layer {layer}: {}", scales.join("  "));
    }
    Ok(values)
}
