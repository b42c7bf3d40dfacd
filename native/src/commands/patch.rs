//! `core patch`: which head's attention decides on the answers in long texts.

use anyhow::{Context, Result, ensure};
use clap::Args;
use drope_core::niah::{self, Filler};
use drope_core::positions::Positions;
use drope_core::probe::{PatchCell, QuestionPair};
use drope_core::results::{self, Outcomes, ResultCell};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::arguments::{HeadQuestionsArgs, Sweep};
use crate::interrupt;
use crate::reading::{self, MeasuredModel, Measurement, PlannedReading, measure};

/// Arguments of `core patch`.
#[derive(Args)]
pub struct PatchArgs {
    #[command(flatten)]
    sweep: Sweep,
    #[command(flatten)]
    questions: HeadQuestionsArgs,
}

/// Asks multi-key questions, and again with the pattern of each head from a text of the training context.
pub fn patch(args: &PatchArgs) -> Result<()> {
    ensure!(
        args.sweep.lengths.is_empty() && args.sweep.extensions.iter().any(|&extension| extension > 1),
        "patterns are of the training context and are put into longer texts; give --extension 2 or more"
    );
    ensure!(
        matches!(args.questions.filler, Filler::Prose | Filler::Decoys | Filler::RepeatedDecoys),
        "{} has no sentences that a short text could do without; use prose, decoys or repeated-decoys",
        args.questions.filler.name()
    );
    let model = reading::load(&args.sweep)?;
    let trials: Vec<usize> = (0..args.questions.trials).collect();
    let mut cells = Vec::new();
    for method in args.sweep.methods(&model.loaded.config)? {
        ensure!(
            method.crop_length(&model.loaded.config).is_none(),
            "{} reads no more than the training context, so that nothing can be put into it; leave it out",
            method.name()
        );
        let short = reading::positions_at(&args.sweep, &model.loaded, method, 1)?;
        let mut readings = reading::readings(&args.sweep, &model.loaded, method)?;
        // A text of the training context is the short text itself.
        readings.retain(|reading| reading.extension > 1);
        for reading in readings {
            let blank = PatchCell {
                header: reading.header(&model, &args.sweep),
                questions: args.questions.of(args.sweep.seed),
                patched: None,
                correct: 0,
                correct_in_short: 0,
                outcomes: Outcomes::default(),
            };
            cells.push(HeadsToPatch { model: &model, reading, short: short.clone(), trials: &trials, blank });
        }
    }
    measure(&args.sweep, model.threads, &cells)?;
    Ok(())
}

/// The heads of a model that is read with a method at a length.
struct HeadsToPatch<'a> {
    model: &'a MeasuredModel,
    reading: PlannedReading,
    /// Positions at the training context.
    short: Positions,
    /// Numbers of the questions.
    trials: &'a [usize],
    /// A cell without its results.
    blank: PatchCell,
}

impl Measurement for HeadsToPatch<'_> {
    type Cell = PatchCell;
    /// Whether a question is answered in the short text, in the long one, and in the long one with each head patched.
    type Outcome = Vec<bool>;

    fn title(&self) -> String {
        format!("{} {} tokens", self.blank.method.name(), self.reading.context)
    }

    fn blank(&self) -> &PatchCell {
        &self.blank
    }

    fn samples(&self) -> &[usize] {
        self.trials
    }

    fn find(&self, known: &[PatchCell]) -> Vec<PatchCell> {
        let is_of =
            |cell: &&PatchCell| cell.reading() == self.blank.reading() && cell.questions == self.blank.questions;
        // Commands that ran at the same time may have measured the same heads.
        results::current(known.iter().filter(is_of).cloned(), |_| None)
    }

    fn sample(&self, trial: usize) -> Result<Vec<bool>> {
        let loaded = &self.model.loaded;
        let questions = &self.blank.questions;
        let sample = niah::sample(&questions.spec(trial, self.reading.context), &loaded.tokenizer)?;
        let rng = &mut ChaCha8Rng::seed_from_u64(questions.seed_of(trial));
        let pair = QuestionPair::new(rng, &sample, &loaded.tokenizer, loaded.config.max_position_embeddings)?;
        let observe = async || interrupt::observe(()).await;
        let positions = [&self.short, &self.reading.positions];
        let answers = pair.answers(&loaded.model, &loaded.config, positions, observe);
        let answers = pollster::block_on(answers)?.context("stopped")?;
        Ok([vec![answers.short, answers.long], answers.heads].concat())
    }

    fn cells(&self, questions: Vec<Vec<bool>>) -> Result<Vec<PatchCell>> {
        let heads = self.model.loaded.config.num_attention_heads;
        let outcomes = |at: usize| questions.iter().map(|outcomes| outcomes[at]).collect::<Outcomes>();
        let correct_in_short = outcomes(0).count();
        let cell = |at: usize| {
            let outcomes = outcomes(at);
            let patched = at.checked_sub(2).map(|head| [head / heads, head % heads]);
            PatchCell { patched, correct: outcomes.count(), correct_in_short, outcomes, ..self.blank.clone() }
        };
        Ok((1..questions.first().map_or(1, Vec::len)).map(cell).collect())
    }

    fn print(&self, cells: &[PatchCell]) {
        let percent = |correct: usize| 100.0 * correct as f64 / self.blank.questions.trials as f64;
        let Some(unpatched) = cells.iter().find(|cell| cell.patched.is_none()) else { return };
        println!(
            "{} {} at {}x: {:.0}% exact, {:.0}% in texts of the training context",
            self.blank.model,
            self.blank.method.name(),
            self.blank.extension,
            percent(unpatched.correct),
            percent(unpatched.correct_in_short)
        );
        let mut heads: Vec<&PatchCell> = cells.iter().filter(|cell| cell.patched.is_some()).collect();
        heads.sort_by_key(|cell| std::cmp::Reverse(cell.correct));
        for cell in heads {
            let [layer, head] = cell.patched.unwrap_or_default();
            println!("  layer {layer} head {head} as in the short text: {:.0}%", percent(cell.correct));
        }
    }
}
