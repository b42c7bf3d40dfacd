//! `core probe`: where the attention of each head goes when a question has been read, and how it depends on positions.

use anyhow::{Context, Result};
use clap::Args;
use drope_core::niah;
use drope_core::probe::{HeadCell, HeadProbe, HeadQuestions, TokenizedSample, mean, probe_heads};
use drope_core::results::{self, ResultCell};

use crate::arguments::{HeadQuestionsArgs, Sweep};
use crate::device::DeviceChoice;
use crate::interrupt;
use crate::reading::bias_norms::bias_norms;
use crate::reading::{self, MeasuredModel, Measurement, PlannedReading, measure};

/// Arguments of `core probe`.
#[derive(Args)]
pub struct ProbeArgs {
    #[command(flatten)]
    sweep: Sweep,
    #[command(flatten)]
    questions: HeadQuestionsArgs,
    /// Also measure the gradients of the positional biases, averaged over this many models of the same shape with
    /// random weights.
    #[arg(long, default_value_t = 0)]
    gradients: usize,
}

/// Asks multi-key questions and writes the means of every head.
pub fn probe(args: &ProbeArgs) -> Result<()> {
    let model = reading::load(&args.sweep)?;
    let trials: Vec<usize> = (0..args.questions.trials).collect();
    let mut cells = Vec::new();
    for method in args.sweep.methods(&model.loaded.config)? {
        for reading in reading::readings(&args.sweep, &model.loaded, method)? {
            let blank = HeadCell {
                header: reading.header(&model, &args.sweep),
                tokens: (!args.sweep.lengths.is_empty()).then_some(reading.context),
                questions: args.questions.of(args.sweep.seed),
                runs: args.gradients,
                probe: HeadProbe::default(),
                gradients: None,
            };
            cells.push(HeadsToProbe { model: &model, device: args.sweep.device, reading, trials: &trials, blank });
        }
    }
    measure(&args.sweep, model.threads, &cells)?;
    Ok(())
}

/// The heads of a model that is read with a method at a length.
struct HeadsToProbe<'a> {
    model: &'a MeasuredModel,
    device: DeviceChoice,
    reading: PlannedReading,
    /// Numbers of the questions.
    trials: &'a [usize],
    /// A cell without its results.
    blank: HeadCell,
}

impl Measurement for HeadsToProbe<'_> {
    type Cell = HeadCell;
    /// The measurements of every head for one question.
    type Outcome = Vec<HeadProbe>;

    fn title(&self) -> String {
        format!("{} {} tokens", self.blank.method.name(), self.reading.context)
    }

    fn blank(&self) -> &HeadCell {
        &self.blank
    }

    fn samples(&self) -> &[usize] {
        self.trials
    }

    fn find(&self, known: &[HeadCell]) -> Vec<HeadCell> {
        let asked = |cell: &HeadCell| (cell.questions, cell.runs);
        let is_of = |cell: &&HeadCell| cell.reading() == self.blank.reading() && asked(cell) == asked(&self.blank);
        // Commands that ran at the same time may have measured the same heads.
        results::current(known.iter().filter(is_of).cloned(), |_| None)
    }

    fn sample(&self, trial: usize) -> Result<Vec<HeadProbe>> {
        let (loaded, reading) = (&self.model.loaded, &self.reading);
        let questions = &self.blank.questions;
        let sample = niah::sample(&questions.spec(trial, reading.context), &loaded.tokenizer)?;
        let answer_tokens = HeadQuestions::TASK.max_answer_tokens(questions.difficulty.digits);
        let sample = TokenizedSample::new(&sample, &loaded.tokenizer, None)?
            .cropped(reading.method.crop_length(&loaded.config), answer_tokens);
        let heads = probe_heads(&loaded.model, &loaded.config, &reading.positions, &sample, interrupt::observe);
        pollster::block_on(heads)?.context("stopped")
    }

    fn cells(&self, questions: Vec<Vec<HeadProbe>>) -> Result<Vec<HeadCell>> {
        let loaded = &self.model.loaded;
        let gradients = match self.blank.runs {
            0 => None,
            runs => Some(bias_norms(
                &loaded.config,
                &loaded.tokenizer,
                &self.reading.positions,
                runs,
                self.blank.questions.seed,
                self.device,
            )?),
        };
        let of_layer = |layer: usize| gradients.as_ref().map(|gradients| gradients[layer]);
        let cell = |probe: HeadProbe| HeadCell { gradients: of_layer(probe.layer), probe, ..self.blank.clone() };
        Ok(mean(&questions).into_iter().map(cell).collect())
    }

    fn print(&self, cells: &[HeadCell]) {
        let shares: [(&str, HeadNumber); 2] =
            [("last query", |head| head.needle), ("a query of the question", |head| head.needle_of_question)];
        for (query, share) in shares {
            if let Some(best) = cells.iter().max_by(|a, b| share(&a.probe).total_cmp(&share(&b.probe))) {
                let HeadProbe { layer, head, entropy, entropy_bound, .. } = best.probe;
                println!(
                    "{} at {}x: most on the needle by {query}: {:.3}, layer {layer} head {head} \
                     (entropy {entropy:.2} of at most {entropy_bound:.2})",
                    best.method.name(),
                    best.extension,
                    share(&best.probe)
                );
            }
        }
    }
}

/// Gets one number from the measurements of a head.
type HeadNumber = fn(&HeadProbe) -> f64;
