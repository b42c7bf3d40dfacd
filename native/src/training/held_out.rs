//! The loss on text that training never sees, during a run.

use std::path::{Path, PathBuf};

use anyhow::Result;
use drope_core::train::{Batch, Trainer, row_losses};
use serde::{Deserialize, Serialize};

use super::checkpoint::TrainingState;
use super::json_lines;

/// The held-out losses in a model's folder.
pub const FILE: &str = "held_out.jsonl";

/// One line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeldOutLine {
    /// Updates before it; 0: the model as training begins.
    pub step: usize,
    /// Tokens in them.
    pub tokens: u64,
    /// Mean cross entropy of all windows.
    pub loss: f64,
    /// That of each window.
    pub windows: Vec<f64>,
}

/// Measures of a run.
pub struct HeldOut {
    file: PathBuf,
    windows: Batch,
    lines: Vec<HeldOutLine>,
}

impl HeldOut {
    /// Begins, or goes on from a checkpoint: lines of steps after it are dropped.
    pub fn start(out: &Path, windows: Batch, state: &TrainingState) -> Self {
        let file = out.join(FILE);
        let mut lines: Vec<HeldOutLine> = if state.step > 0 { json_lines::read(&file) } else { Vec::new() };
        lines.retain(|line| line.step <= state.step);
        Self { file, windows, lines }
    }

    /// Whether the model of this step was measured.
    pub fn has(&self, step: usize) -> bool {
        self.lines.last().is_some_and(|line| line.step >= step)
    }

    /// Whether no earlier model of the run had a loss as low as the last that was measured.
    pub fn last_is_lowest(&self) -> bool {
        self.lines.split_last().is_some_and(|(last, earlier)| earlier.iter().all(|line| line.loss > last.loss))
    }

    /// Measures the model and writes the file.
    pub fn measure(&mut self, trainer: &Trainer, state: &TrainingState) -> Result<f64> {
        let windows = pollster::block_on(row_losses(trainer.model(), &self.windows, trainer.positions()))?;
        let loss = windows.iter().sum::<f64>() / windows.len() as f64;
        self.lines.push(HeldOutLine { step: state.step, tokens: state.tokens, loss, windows });
        json_lines::write(&self.file, &self.lines)?;
        Ok(loss)
    }
}
