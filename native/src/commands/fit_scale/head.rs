//! HeadScale: a temperature λ ≥ 1 for each head, all weights frozen (Wang et al. 2024, arXiv 2404.12224).
//!
//! It starts from the best uniform value; 200 updates of AdamW, 20 of them of warm-up, then a cosine to a tenth.

use std::path::Path;

use anyhow::Result;
use burn::module::Module;
use burn::tensor::Device;
use drope_core::language::Document;
use drope_core::train::{Batch, HeadScaleFit, Schedule};

use super::uniform;
use crate::files::model_folder;
use crate::interrupt;
use crate::messages::show;
use crate::progress::Progress;
use crate::reading::held_out::FittingContext;

/// Extension factor that λ is fitted at.
pub const FACTOR: usize = 8;
const STEPS: usize = 200;
const SCHEDULE: Schedule = Schedule::cosine(0.05, 20, 0.1);

/// Fits λ of each head of each layer.
pub fn fit(context: &FittingContext, folder: &Path, device: &Device) -> Result<Vec<Vec<f64>>> {
    let initial = uniform::best_beta(context, FACTOR)?.max(1.0);
    // On a device of its own: an autodiff device would keep the graphs of all passes whose gradients are never taken.
    let model = model_folder::model(folder, &context.loaded.config, &device.clone().autodiff())?.no_grad();
    let positions = context.method.positions(&context.loaded.config, FACTOR as f64)?.with_logit_scale(1.0);
    let mut fit = HeadScaleFit::new(&context.loaded.config, initial, &model.device());
    let mut optimizer = HeadScaleFit::optimizer();
    let bar = Progress::of_items(STEPS)?;
    // The first documents are left out, because the uniform fit has used them.
    let documents = context.documents(FACTOR, context.texts + STEPS).into_iter().skip(context.texts);
    for (step, document) in documents.enumerate() {
        interrupt::check("stopped; the config is unchanged")?;
        let batch = answers_alone(document);
        let update = fit.step(&mut optimizer, &model, &batch, &positions, SCHEDULE.at(step, STEPS));
        let loss;
        (fit, loss) = pollster::block_on(update)?;
        bar.set_message(format!("perplexity of answers {:.3}", loss.exp()));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let values = pollster::block_on(fit.values())?;
    for (layer, scales) in values.iter().enumerate() {
        let scales: Vec<String> = scales.iter().map(|scale| format!("{scale:.3}")).collect();
        show(format_args!("layer {layer}: {}", scales.join("  ")));
    }
    Ok(values)
}

/// A batch of one document, in which only answers have a loss weight.
fn answers_alone(document: Document) -> Batch {
    let loss_weights = document.answers().map(|is_answer| f32::from(u8::from(is_answer))).collect();
    let length = document.ids.len();
    Batch { loss_weights, ..Batch::plain(document.ids, length) }
}
