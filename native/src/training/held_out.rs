//! The loss on text that training never sees, during a run.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use burn::module::Module;
use drope_core::generate::{Flow, Options, generate};
use drope_core::language::Values;
use drope_core::niah::{AskedModel, Difficulty, QuestionSplit, Spec, Task, ask};
use drope_core::results::HeldOutLine;
use drope_core::train::recipe::EvaluationSettings;
use drope_core::train::{Batch, Trainer, row_losses};

use super::checkpoint::TrainingState;
use super::job::Job;
use super::json_lines;
use crate::interrupt;

/// The held-out losses in a model's folder.
pub const FILE: &str = "held_out.jsonl";

/// Measures of a run.
pub struct HeldOut<'a> {
    job: &'a Job<'a>,
    settings: EvaluationSettings,
    file: PathBuf,
    windows: Batch,
    lines: Vec<HeldOutLine>,
}

impl<'a> HeldOut<'a> {
    /// Begins, or goes on from a checkpoint: lines of steps after it are dropped. `None` where the recipe measures nothing.
    pub fn start(out: &Path, job: &'a Job, windows: Option<Batch>, state: &TrainingState) -> Option<Self> {
        let (settings, windows) = (job.recipe.evaluation?, windows?);
        let file = out.join(FILE);
        let mut lines: Vec<HeldOutLine> = if state.step > 0 { json_lines::read(&file) } else { Vec::new() };
        lines.retain(|line| line.step <= state.step);
        Some(Self { job, settings, file, windows, lines })
    }

    /// Whether the model of this step is to be measured and was not yet.
    pub fn is_due(&self, step: usize) -> bool {
        let is_measured = self.lines.last().is_some_and(|line| line.step >= step);
        !is_measured && (step.is_multiple_of(self.settings.every) || step == self.job.recipe.steps)
    }

    /// Whether no earlier model of the run had a loss as low as the last that was measured.
    pub fn last_is_lowest(&self) -> bool {
        self.lines.split_last().is_some_and(|(last, earlier)| earlier.iter().all(|line| line.loss > last.loss))
    }

    /// Measures the model, writes the file, and says what was found; after Ctrl-C it writes nothing and returns `None`, so that the run
    /// that goes on measures this model.
    pub fn measure(&mut self, trainer: &Trainer, state: &TrainingState) -> Result<Option<String>> {
        let windows = pollster::block_on(row_losses(trainer.model(), &self.windows, trainer.positions()))?;
        let loss = windows.iter().sum::<f64>() / windows.len() as f64;
        let (needles, sample) = self.answers(trainer)?;
        if interrupt::requested() {
            return Ok(None);
        }
        let mut said = format!("step {}: held-out loss {loss:.4}", state.step);
        if let Some(found) = needles {
            write!(said, ", {found} of {} needles", self.settings.needles)?;
        }
        if let Some(sample) = &sample {
            write!(said, "; it continues {sample:?}")?;
        }
        self.lines.push(HeldOutLine { step: state.step, tokens: state.tokens, loss, windows, needles, sample });
        json_lines::write(&self.file, &self.lines)?;
        Ok(Some(said))
    }

    /// Needles that the model finds, and what it writes, where the recipe asks for them. After Ctrl-C no further
    /// question is asked.
    fn answers(&self, trainer: &Trainer) -> Result<(Option<usize>, Option<String>)> {
        let EvaluationSettings { needles, sample, .. } = self.settings;
        if needles == 0 && sample == 0 {
            return Ok((None, None));
        }
        let model = trainer.model().valid();
        let Job { config, tokenizer, recipe, .. } = *self.job;
        let asked = AskedModel { model: &model, config, tokenizer, positions: trainer.positions(), crop_length: None };
        let difficulty = Difficulty { split: QuestionSplit::Selection, ..Difficulty::default() };
        let mut found = 0;
        for question in (0..needles).take_while(|_| !interrupt::requested()) {
            let spec = Spec::new(Task::Single, Values::Numbers, recipe.context, question as u64);
            let score = pollster::block_on(ask(asked, &Spec { difficulty, ..spec }, async |_| Flow::Continue))?;
            found += usize::from(score.exact);
        }
        let prompt = &self.windows.ids[..self.windows.length.div_ceil(2)];
        let options = Options { max_new_tokens: sample, context: prompt.len() + sample, ..Options::default() };
        let written = (sample > 0).then(|| {
            let ids = generate(&model, config, trainer.positions(), prompt, &options, async |_| Flow::Continue);
            anyhow::Ok(tokenizer.decode(&pollster::block_on(ids)?)?)
        });
        Ok(((needles > 0).then_some(found), written.transpose()?))
    }
}
