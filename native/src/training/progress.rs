//! The bar in the terminal and the loss curve on disk.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use drope_core::language::TokenRole;
use drope_core::train::{Batch, StepReport};
use serde::{Deserialize, Serialize};

use super::checkpoint::TrainingState;
use super::json_lines;
use crate::machine;
use crate::messages::{say, show};
use crate::progress::Progress;
use drope_core::train::recipe::Recipe;

/// Updates that a line of the curve averages over.
const EVERY: usize = 20;

/// The loss curve in a model's folder.
pub const CURVE_FILE: &str = "loss.jsonl";

/// One line of the loss curve.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CurveLine {
    pub step: usize,
    pub tokens: u64,
    /// Mean cross entropy of all predicted tokens.
    pub loss: f64,
    /// Mean cross entropy of answer tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_loss: Option<f64>,
    pub learning_rate: f64,
    /// Of the last of its updates; `None` where that is not finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_norm: Option<f64>,
    pub tokens_per_second: f64,
    /// Seconds since the start, over all resumed parts.
    pub seconds: f64,
}

/// Shows and records a run.
pub struct RunProgress {
    bar: Progress,
    curve: PathBuf,
    lines: Vec<CurveLine>,
    started: Instant,
    seconds_before: f64,
}

/// Sums since the last line of the curve.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunningMeans {
    tokens: u64,
    seconds: f64,
    loss: f64,
    predicted: usize,
    answer_loss: f64,
    answers: usize,
}

impl RunningMeans {
    /// The line of the updates so far, of which `report` is the last.
    fn line(&self, state: &TrainingState, report: &StepReport) -> CurveLine {
        CurveLine {
            step: state.step,
            tokens: state.tokens,
            loss: self.loss / self.predicted.max(1) as f64,
            answer_loss: (self.answers > 0).then(|| self.answer_loss / self.answers as f64),
            learning_rate: report.learning_rate,
            gradient_norm: Some(report.gradient_norm).filter(|norm| norm.is_finite()),
            tokens_per_second: self.tokens as f64 / self.seconds,
            seconds: state.seconds,
        }
    }
}

impl RunProgress {
    /// Begins, or goes on from a checkpoint: lines of steps after it are dropped.
    pub fn start(out: &Path, state: &TrainingState, recipe: &Recipe) -> Result<Self> {
        let curve = out.join(CURVE_FILE);
        let mut lines: Vec<CurveLine> = if state.step > 0 { json_lines::read(&curve) } else { Vec::new() };
        lines.retain(|line| line.step <= state.step);
        let bar = Progress::new(recipe.steps as u64, "step {pos}/{len}  {msg}")?;
        bar.go_on_from(state.step as u64);
        Ok(Self { bar, curve, lines, started: Instant::now(), seconds_before: state.seconds })
    }

    /// After an update that took so many seconds; measures, checkpoints and waiting for a batch do not count in the speed.
    pub fn record(
        &mut self,
        state: &mut TrainingState,
        batch: &Batch,
        report: &StepReport,
        seconds: f64,
    ) -> Result<()> {
        state.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        let means = &mut state.means;
        means.tokens += batch.ids.len() as u64;
        means.seconds += seconds;
        // The losses of an update that the guard left out may be infinite.
        let losses = if report.is_left_out { &[] } else { &report.token_losses[..] };
        for (&loss, role) in losses.iter().zip(batch.predicted_roles()) {
            means.loss += f64::from(loss);
            means.predicted += 1;
            if role == TokenRole::Answer {
                means.answer_loss += f64::from(loss);
                means.answers += 1;
            }
        }
        self.bar.set_position(state.step as u64);
        let means = &state.means;
        let line = means.line(state, report);
        // Text of one's own has no answers.
        let answers = line.answer_loss.map(|loss| format!("  answers {loss:.3}")).unwrap_or_default();
        let loss = if means.predicted == 0 { "no update made".to_owned() } else { format!("loss {:.3}", line.loss) };
        self.bar.set_message(format!("{loss}{answers}  {:.0} tokens/s", line.tokens_per_second));
        if state.step.is_multiple_of(EVERY) || self.bar.length() == Some(state.step as u64) {
            if means.predicted > 0 {
                self.lines.push(line);
                self.write()?;
            }
            state.means = RunningMeans::default();
        }
        Ok(())
    }

    /// Prints a line beside the bar.
    pub fn say(&self, line: &str) {
        self.bar.suspend(|| say(line));
    }

    /// At the end.
    pub fn finish(&self, state: &TrainingState) -> Result<()> {
        self.bar.finish();
        let memory = machine::peak_memory().map(|bytes| format!(", {:.2} GB of memory at most", bytes as f64 / 1e9));
        let memory = memory.unwrap_or_default();
        show(format_args!("{} steps, {} tokens in {:.0} s{memory}", state.step, state.tokens, state.seconds));
        if state.left_out > 0 {
            show(format_args!("{} of the updates were left out by the guard", state.left_out));
        }
        self.write()
    }

    fn write(&self) -> Result<()> {
        json_lines::write(&self.curve, &self.lines)
    }
}
