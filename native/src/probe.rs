//! `core probe`: what each head looks at when the question has been read.

use std::ops::Range;
use std::path::PathBuf;

use anyhow::Result;
use drope_core::niah::{self, Sample, SentenceKind, Spec, Task};
use drope_core::positions::Method;
use drope_core::probe::{HeadCell, HeadWeights, entropy, last_queries, mass};
use drope_core::tokenizer::Tokenizer;
use drope_core::{config::Config, language::Values};
use indicatif::ProgressIterator;

use crate::{device, evaluate, interrupt, model_folder};

/// What `core probe` is told.
pub struct Request {
    pub model: PathBuf,
    pub methods: Vec<Method>,
    pub extensions: Vec<usize>,
    pub trials: usize,
    pub seed: u64,
    pub json: Option<PathBuf>,
    pub device: device::DeviceChoice,
}

/// A number of a head.
type Part = fn(&HeadCell) -> f64;

/// Asks multi-key questions and writes the means of every head.
pub fn run(request: &Request) -> Result<Vec<HeadCell>> {
    let config = model_folder::config(&request.model)?;
    let tokenizer = model_folder::tokenizer(&request.model, &config)?;
    let device = device::open(request.device)?.device;
    let model = model_folder::model(&request.model, &config, &device)?;
    interrupt::watch()?;
    let mut cells: Vec<HeadCell> = Vec::new();
    for &method in &request.methods {
        for &extension in &request.extensions {
            let positions = method.positions(&config, extension as f64)?;
            let mut sums: Vec<HeadCell> = Vec::new();
            for trial in (0..request.trials).progress() {
                if interrupt::requested() {
                    return Err(interrupt::Stopped("stopped; nothing is written".into()).into());
                }
                let Question { ids, spans, queries } = question(request, &config, &tokenizer, extension, trial)?;
                let layers = pollster::block_on(last_queries(&model, &config, &positions, &ids, queries))?;
                let heads = layers.iter().enumerate().flat_map(|(layer, heads)| {
                    heads.iter().enumerate().map(move |(head, weights): (usize, &HeadWeights)| (layer, head, weights))
                });
                for (index, (layer, head, weights)) in heads.enumerate() {
                    if trial == 0 {
                        sums.push(HeadCell {
                            model: evaluate::model_name(&request.model)?,
                            method: method.name().to_owned(),
                            extension,
                            layer,
                            head,
                            needle: 0.0,
                            needle_of_question: 0.0,
                            distractors: 0.0,
                            first: 0.0,
                            entropy: 0.0,
                            entropy_bound: 0.0,
                            trials: request.trials,
                            seed: request.seed,
                        });
                    }
                    let share = 1.0 / request.trials as f64;
                    let on = |kind: SentenceKind, weights: &[f32]| -> f64 {
                        spans.iter().filter(|span| span.1 == kind).map(|span| mass(weights, &span.0, ids.len())).sum()
                    };
                    let of_question = weights.iter().map(|weights| on(SentenceKind::Needle, weights));
                    let last = &weights[queries - 1];
                    let cell = &mut sums[index];
                    cell.needle += share * on(SentenceKind::Needle, last);
                    cell.needle_of_question += share * of_question.fold(0.0, f64::max);
                    cell.distractors += share * on(SentenceKind::Distractor, last);
                    cell.first += share * mass(last, &(0..1), ids.len());
                    cell.entropy += share * entropy(last);
                    cell.entropy_bound += share * (last.len() as f64).ln();
                }
            }
            let parts: [(&str, Part); 2] =
                [("last query", |cell| cell.needle), ("a query of the question", |cell| cell.needle_of_question)];
            for (who, part) in parts {
                if let Some(best) = sums.iter().max_by(|a, b| part(a).total_cmp(&part(b))) {
                    let (method, share, layer, head) = (method.name(), part(best), best.layer, best.head);
                    println!(
                        "{method} at {extension}x: most on the needle by {who}: {share:.3}, layer {layer} head {head}"
                    );
                }
            }
            cells.extend(sums);
        }
    }
    evaluate::write(request.json.as_deref(), &cells)?;
    Ok(cells)
}

/// A question as tokens.
struct Question {
    ids: Vec<u32>,
    /// Tokens of each sentence of the haystack.
    spans: Vec<(Range<usize>, SentenceKind)>,
    /// Tokens behind it.
    queries: usize,
}

fn question(
    request: &Request,
    config: &Config,
    tokenizer: &Tokenizer,
    extension: usize,
    trial: usize,
) -> Result<Question> {
    let context = extension * config.max_position_embeddings;
    let seed = request.seed.wrapping_add(trial as u64);
    let spec = Spec::new(Task::MultiKey, Values::Numbers, context, seed);
    let sample: Sample = niah::sample(&spec, &|text| tokenizer.count(text))?;
    let ids = tokenizer.prompt(&sample.prompt(), config.bos_token_id)?;
    let mut text = String::new();
    let mut spans = Vec::new();
    let mut from = usize::from(config.bos_token_id.is_some());
    let start = from;
    for sentence in &sample.haystack {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&sentence.text);
        let to = start + tokenizer.count(&text);
        spans.push((from..to, sentence.kind));
        from = to;
    }
    let queries = ids.len() - from;
    Ok(Question { ids, spans, queries })
}
