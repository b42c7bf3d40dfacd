//! `core eval ppl`: perplexity over a sliding window, and the loss by position within it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use drope_core::hash::short_hash;
use drope_core::language::{HeldOutUse, held_out_documents};
use drope_core::loaded_model::LoadedModel;
use drope_core::perplexity::{PARTS, PerplexityCell, TextLoss, Window, synthetic_source, token_losses, windows};
use drope_core::results::{CellHeader, ResultCell, Shard};
use drope_core::train::TokenText;
use drope_core::train::recipe::is_held_out;

use crate::arguments::{Sweep, at_least_one, share};
use crate::data::{DataShards, ShardText};
use crate::messages::say;
use crate::reading::{self, MeasuredModel, Measurement, PlannedReading, measure, samples_of};
use crate::{files, interrupt};

/// Arguments of `core eval ppl`.
#[derive(Args)]
pub struct PerplexityArgs {
    #[command(flatten)]
    sweep: Sweep,
    /// Number of tokens between the starts of two windows; default: half a window.
    #[arg(long, value_parser = at_least_one)]
    stride: Option<usize>,
    /// A text file to predict, or a folder of shards of `core data prepare`; default: held-out documents of the synthetic language.
    #[arg(long)]
    text: Option<PathBuf>,
    /// With shards: predict only the documents that training left out; give the recipe's data.held_out. Default: all documents.
    #[arg(long, requires = "text", value_parser = share)]
    held_out: Option<f64>,
    /// Texts, each as long as the longest window.
    #[arg(long, default_value = "16", value_parser = at_least_one)]
    texts: usize,
    /// Predict the whole file as one text, in windows of each length.
    #[arg(long, requires = "text", conflicts_with = "texts")]
    whole: bool,
    /// Read only this part of the texts, such as 3/16; `core merge` joins the parts.
    #[arg(long, default_value = "1/1")]
    shard: Shard,
}

/// A text that is predicted.
struct PredictedText {
    ids: Vec<u32>,
    /// Which of the tokens are answers.
    is_answer: Vec<bool>,
}

/// Measures every cell that the results file does not hold.
pub fn perplexities(args: &PerplexityArgs) -> Result<()> {
    let model = reading::load(&args.sweep)?;
    let lengths = args.sweep.contexts(&model.loaded.config).into_iter().map(|(_, length)| length);
    let longest = lengths.max().context("--extension is empty; give at least one factor")?;
    let (source, texts) = match &args.text {
        Some(path) => own_texts(path, &model.loaded, longest, args)?,
        None => (synthetic_source(args.sweep.seed), documents(&model.loaded, longest, args)),
    };
    let length = texts.first().map_or(longest, |text| text.ids.len());
    let wanted = samples_of(args.shard, texts.len(), "texts")?;
    let mut cells = Vec::new();
    for method in args.sweep.methods(&model.loaded.config)? {
        for reading in reading::readings(&args.sweep, &model.loaded, method)? {
            let blank = PerplexityCell { length, ..blank_cell(&model, args, &reading, &source, texts.len()) };
            // A stride that fits no window is refused before the work.
            windows(length, blank.context, blank.stride)?;
            cells.push(TextsToPredict { model: &model.loaded, reading, texts: &texts, wanted: &wanted, blank });
        }
    }
    println!(
        "{:12} {:12} {:>4} {:>7} {:>10}  {:22} {:>8}",
        "model", "method", "s", "tokens", "perplexity", "95 %", "answers"
    );
    measure(&args.sweep, model.threads, &cells)?;
    Ok(())
}

fn blank_cell(
    model: &MeasuredModel,
    args: &PerplexityArgs,
    reading: &PlannedReading,
    source: &str,
    of_texts: usize,
) -> PerplexityCell {
    let most = reading.method.crop_length(&model.loaded.config).unwrap_or(usize::MAX);
    let window = most.min(reading.context);
    PerplexityCell {
        header: reading.header(model, &args.sweep),
        context: window,
        stride: args.stride.unwrap_or(window / 2),
        source: source.to_owned(),
        length: 0,
        of_texts,
        tokens: 0,
        loss: 0.0,
        perplexity: 0.0,
        ci95: None,
        answer_perplexity: None,
        curve: Vec::new(),
        texts: Vec::new(),
    }
}

/// A cell that is to be measured.
struct TextsToPredict<'a> {
    model: &'a LoadedModel,
    reading: PlannedReading,
    texts: &'a [PredictedText],
    /// Numbers of the texts.
    wanted: &'a [usize],
    /// The cell without its results.
    blank: PerplexityCell,
}

impl Measurement for TextsToPredict<'_> {
    type Cell = PerplexityCell;
    type Outcome = TextLoss;

    fn title(&self) -> String {
        format!("{} {} tokens", self.blank.method.name(), self.blank.context)
    }

    fn blank(&self) -> &PerplexityCell {
        &self.blank
    }

    fn samples(&self) -> &[usize] {
        self.wanted
    }

    fn find(&self, known: &[PerplexityCell]) -> Vec<PerplexityCell> {
        let is_done = |cell: &&PerplexityCell| {
            cell.same_measurement(&self.blank)
                && cell.of_texts == self.blank.of_texts
                && cell.texts.iter().map(|text| text.index).eq(self.wanted.iter().copied())
        };
        known.iter().find(is_done).cloned().into_iter().collect()
    }

    fn sample(&self, index: usize) -> Result<TextLoss> {
        let (text, cell) = (&self.texts[index], &self.blank);
        let mut sums = TextLoss { index, curve: vec![(0, 0.0); PARTS], ..TextLoss::default() };
        for Window { read, counted } in windows(text.ids.len(), cell.context, cell.stride)? {
            interrupt::check("stopped")?;
            let mut ids = text.ids[read.clone()].to_vec();
            // Models, above all those without positions, give much attention to the first token of a text. Therefore
            // every window begins with the beginning-of-text token.
            ids[0] = self.model.tokenizer.bos().unwrap_or(ids[0]);
            let losses =
                token_losses(&self.model.model, &self.model.config, &self.reading.positions, &ids, interrupt::observe);
            let losses = pollster::block_on(losses)?;
            interrupt::check("stopped")?;
            for at in counted {
                let loss = f64::from(losses[at - read.start - 1]);
                sums.tokens += 1;
                sums.loss += loss;
                if text.is_answer[at] {
                    sums.answers += 1;
                    sums.answer_loss += loss;
                }
                if read.start == 0 {
                    let part = &mut sums.curve[at * PARTS / cell.context];
                    *part = (part.0 + 1, part.1 + loss);
                }
            }
        }
        Ok(sums.rounded())
    }

    fn cells(&self, texts: Vec<TextLoss>) -> Result<Vec<PerplexityCell>> {
        Ok(vec![PerplexityCell { texts, ..self.blank.clone() }.recomputed()])
    }

    fn print(&self, cells: &[PerplexityCell]) {
        for cell in cells {
            let CellHeader { model, method, extension, .. } = &cell.header;
            let PerplexityCell { context, perplexity, ci95, answer_perplexity, .. } = cell;
            println!(
                "{model:12} {:12} {extension:>3}x {context:>7} {perplexity:>10.3}  {:22} {:>8}  {}",
                method.name(),
                ci95.map_or(String::new(), |[low, high]| format!("[{low:.3}, {high:.3}]")),
                answer_perplexity.map_or(String::new(), |answers| format!("{answers:.3}")),
                cell.parameters,
            );
        }
    }
}

/// Documents of the synthetic language that training does not see: full length, with training's keys.
fn documents(model: &LoadedModel, length: usize, args: &PerplexityArgs) -> Vec<PredictedText> {
    let encode = |text: &str| model.tokenizer.encode(text).unwrap_or_default();
    let text = |index: usize| {
        let (purpose, bos) = (HeldOutUse::Perplexity { index }, model.tokenizer.bos());
        let document = held_out_documents(purpose, args.sweep.seed, length, bos, &encode).next();
        document.map(|document| PredictedText { is_answer: document.answers().collect(), ids: document.ids })
    };
    (0..args.texts).filter_map(text).collect()
}

/// The name of the user's text, and the text whole or cut into pieces of `length` tokens.
fn own_texts(
    path: &Path,
    model: &LoadedModel,
    length: usize,
    args: &PerplexityArgs,
) -> Result<(String, Vec<PredictedText>)> {
    let (ids, source) = if path.is_dir() {
        let most = if args.whole { u64::MAX } else { (args.texts * length) as u64 };
        shard_tokens(path, model, args.held_out, most)?
    } else {
        ensure!(
            args.held_out.is_none(),
            "--held-out is for a folder of shards, but {} is a file, which would be read whole; leave it out",
            path.display()
        );
        let (text, source) = files::read_source(path)?;
        (model.tokenizer.encode(&text)?, source)
    };
    let bos = model.tokenizer.prefix();
    let predicted = |piece: &[u32]| {
        let ids = [&bos, piece].concat();
        PredictedText { is_answer: vec![false; ids.len()], ids }
    };
    if args.whole && ids.len() > 1 {
        return Ok((source, vec![predicted(&ids)]));
    }
    let pieces = ids.chunks_exact(length.saturating_sub(bos.len()).max(1)).take(args.texts);
    let pieces: Vec<PredictedText> = pieces.map(predicted).collect();
    if pieces.is_empty() {
        let part = if args.held_out.is_some() { "the held-out documents of " } else { "" };
        bail!(
            "{part}{} have {} tokens, fewer than the {length} of the longest window; give shorter --lengths or more text",
            path.display(),
            ids.len()
        );
    }
    if pieces.len() < args.texts {
        let name = path.display();
        say(format_args!(
            "note: {name} has {} texts of {length} tokens, fewer than --texts {}",
            pieces.len(),
            args.texts
        ));
    }
    Ok((source, pieces))
}

/// The first `most` tokens of shards or of their held-out documents, and what they are called.
fn shard_tokens(path: &Path, model: &LoadedModel, held_out: Option<f64>, most: u64) -> Result<(Vec<u32>, String)> {
    let shards = DataShards::open(path)?;
    shards.check_tokenizer(&model.tokenizer)?;
    shards.verify()?;
    let hash = short_hash(&[serde_json::to_string(&shards.manifest)?.as_bytes()]);
    let name = files::name(path);
    let source = held_out.map_or_else(|| format!("{name} {hash}"), |share| format!("{name} {hash}, held out {share}"));
    let text = ShardText::new(Arc::new(shards), |document| held_out.is_none_or(|share| is_held_out(document, share)));
    Ok((text.tokens(0..text.len().min(most))?, source))
}
