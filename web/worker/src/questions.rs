//! Questions: one for all columns, or many for a cell of the grid.

use std::rc::Rc;

use drope_core::generate::{Event, Flow, Options, generate, prompt_room};
use drope_core::loaded_model::LoadedModel;
use drope_core::niah::{Sample, Spec, answer_options, sample};
use drope_core::perplexity::{token_losses, windows};
use drope_core::positions::{Method, Positions};
use drope_core::probe::{TokenizedSample, probe_heads};
use drope_protocol::{Comparison, Length, Prompt, Question, Reading, Reply};

use super::models::ModelCache;
use super::run::{Interruption, Run, next_task};
use super::{now, reply};

/// Parts of a text whose losses are shown.
const PREDICTED_PARTS: usize = 24;
/// Tokens of an answer about a text of the reader's, at most.
const OWN_ANSWER: usize = 48;

/// Lets every column answer the same question, one after the other.
pub async fn answer(models: &mut ModelCache, comparison: Comparison, run: &Run) -> Result<(), Interruption> {
    let Comparison { prompt, depth, readings, .. } = comparison;
    models.keep_only(&readings);
    for (column, reading) in readings.iter().enumerate() {
        let Read { model, positions, sample, prompt: ids, options, .. } =
            Read::new(models, reading, &prompt, depth, run).await?;
        if column == 0 {
            reply(&asked(run, &model, &sample)?);
        }
        let start = now();
        let (mut read, mut read_at) = (0, start);
        let total = ids.len().min(prompt_room(options.crop_length, options.max_new_tokens));
        let (mut stream, mut text) = (model.tokenizer.stream(), String::new());
        let observe = async |event| {
            match event {
                Event::Read(tokens) => {
                    (read, read_at) = (tokens, now());
                    reply(&Reply::Read { run: run.number, column, tokens, total });
                }
                Event::Token(token) => {
                    text.push_str(&stream.push(token).unwrap_or_default());
                    reply(&Reply::Generated { run: run.number, column, text: text.clone() });
                }
                Event::ReadAgain(_) => {}
            }
            run.yield_to_messages().await
        };
        let answer = generate(&model.model, &model.config, &positions, &ids, &options, observe).await?;
        run.check()?;
        reply(&Reply::Answered {
            run: run.number,
            column,
            is_right: is_right(&prompt, &sample, &model.tokenizer.decode(&answer)?),
            prefill: per_second(read, read_at - start),
            // The first token came with the prompt.
            decode: per_second(answer.len().saturating_sub(1), now() - read_at),
        });
    }
    Ok(())
}

/// Lets a model read a text that nobody asked for, as long as the first screen's; messages may arrive meanwhile.
pub async fn read_anything(model: &LoadedModel, flow: impl Fn() -> Flow) -> Result<(), Interruption> {
    let LoadedModel { config, model, .. } = model;
    let tokens = 8 * config.max_position_embeddings;
    let positions = Method::of(config).positions(config, 8.0)?;
    let ids: Vec<u32> = (0..tokens).map(|at| (at % config.vocab_size) as u32).collect();
    let options = Options { max_new_tokens: 16, context: tokens + 16, ..Options::default() };
    generate(model, config, &positions, &ids, &options, async |_| {
        next_task().await;
        flow()
    })
    .await?;
    Ok(())
}

/// Lets every column read the same question and measures what attention does in their heads.
pub async fn probe(models: &mut ModelCache, comparison: Comparison, run: &Run) -> Result<(), Interruption> {
    let Comparison { prompt, depth, readings, .. } = comparison;
    models.keep_only(&readings);
    for (column, reading) in readings.iter().enumerate() {
        let read = Read::new(models, reading, &prompt, depth, run).await?;
        let Read { model, positions, sample, options, extension, .. } = &read;
        let tokenized = TokenizedSample::new(sample, &model.tokenizer, models.chat_affixes(reading))?;
        if column == 0 {
            reply(&asked(run, model, sample)?);
        }
        let tokenized = tokenized.cropped(options.crop_length, options.max_new_tokens);
        let total = tokenized.ids.len();
        let observe = async |tokens| {
            reply(&Reply::Read { run: run.number, column, tokens, total });
            run.yield_to_messages().await
        };
        let heads = probe_heads(&model.model, &model.config, positions, &tokenized, observe).await?;
        let heads = heads.ok_or(Interruption::Stopped)?;
        let ends = ends(model, sample)?;
        reply(&Reply::Probed { run: run.number, column, extension: *extension, heads, ends });
    }
    Ok(())
}

/// Lets every column predict the text of a question, and its model in windows of the training context.
pub async fn predict(models: &mut ModelCache, comparison: Comparison, run: &Run) -> Result<(), Interruption> {
    let Comparison { prompt, depth, readings, .. } = comparison;
    models.keep_only(&readings);
    for (column, reading) in readings.iter().enumerate() {
        let Read { model, positions, sample, prompt: ids, .. } =
            Read::new(models, reading, &prompt, depth, run).await?;
        if column == 0 {
            reply(&asked(run, &model, &sample)?);
        }
        let LoadedModel { config, model, .. } = &*model;
        let read = |tokens| reply(&Reply::Read { run: run.number, column, tokens, total: 2 * ids.len() });
        let observe = async |losses| {
            read(losses);
            run.yield_to_messages().await
        };
        let losses = token_losses(model, config, &positions, &ids, observe).await?;
        run.check()?;
        let observe = async |_| run.yield_to_messages().await;
        let own = Method::of(config).positions(config, 1.0)?;
        let context = config.max_position_embeddings;
        let mut cropped = Vec::new();
        for window in windows(ids.len(), context, context / 2)? {
            let of_window = token_losses(model, config, &own, &ids[window.read.clone()], observe).await?;
            run.check()?;
            cropped.extend_from_slice(&of_window[window.counted.start - window.read.start - 1..]);
            read(ids.len() + window.counted.end);
        }
        let [losses, cropped] = [&losses, &cropped].map(|losses| means_of_parts(losses));
        reply(&Reply::Predicted { run: run.number, column, losses, cropped });
    }
    Ok(())
}

/// Means of equal parts.
fn means_of_parts(losses: &[f32]) -> Vec<f32> {
    let size = losses.len().div_ceil(PREDICTED_PARTS).max(1);
    losses.chunks(size).map(|part| part.iter().sum::<f32>() / part.len() as f32).collect()
}

/// Counts exact answers over questions, with random depths where none is asked for.
pub async fn measure(
    models: &mut ModelCache,
    question: Question,
    depth: Option<f64>,
    reading: &Reading,
    trials: usize,
    run: &Run,
) -> Result<(), Interruption> {
    let model = models.model(reading, run).await?;
    let mut correct = 0;
    for trial in 0..trials {
        let question = Question { seed: question.seed + trial as u64, ..question };
        if is_exact(&model, reading, models.chat_affixes(reading), question, depth, run).await? {
            correct += 1;
        }
        reply(&Reply::Trial { run: run.number, correct, done: trial + 1 });
    }
    Ok(())
}

/// Whether a model answers a question exactly; `chat_affixes` is what its chat template writes around prompts.
pub async fn is_exact(
    model: &LoadedModel,
    reading: &Reading,
    chat_affixes: Option<[&str; 2]>,
    question: Question,
    depth: Option<f64>,
    run: &Run,
) -> Result<bool, Interruption> {
    let extension = question.length.extension(model.config.max_position_embeddings);
    let positions = reading.method.positions_with(&model.config, extension, &reading.parameters)?;
    let (sample, options) = drawn(model, reading, &question, depth, chat_affixes)?;
    let prompt = model.tokenizer.message(&sample.prompt(), chat_affixes)?;
    let observe = async |_| run.yield_to_messages().await;
    let answer = generate(&model.model, &model.config, &positions, &prompt, &options, observe).await?;
    run.check()?;
    Ok(sample.score(&model.tokenizer.decode(&answer)?).exact)
}

/// What a column reads, and how.
struct Read {
    model: Rc<LoadedModel>,
    positions: Positions,
    sample: Sample,
    prompt: Vec<u32>,
    options: Options,
    extension: f64,
}

impl Read {
    async fn new(
        models: &mut ModelCache,
        reading: &Reading,
        prompt: &Prompt,
        depth: f64,
        run: &Run,
    ) -> Result<Self, Interruption> {
        let model = models.model(reading, run).await?;
        let context = model.config.max_position_embeddings;
        let (sample, mut options) = match prompt {
            Prompt::Drawn(question) => drawn(&model, reading, question, Some(depth), models.chat_affixes(reading))?,
            Prompt::Own(own) => (own.sample(depth)?, own_options(&model, reading)),
        };
        let ids = model.tokenizer.message(&sample.prompt(), models.chat_affixes(reading))?;
        let extension = match prompt {
            Prompt::Drawn(question) => question.length.extension(context),
            Prompt::Own(_) => {
                options.context = ids.len() + options.max_new_tokens;
                // The smallest whole extension factor that holds the text and the answer, as a user would set it.
                Length::Contexts(options.context.div_ceil(context)).extension(context)
            }
        };
        let positions = reading.method.positions_with(&model.config, extension, &reading.parameters)?;
        Ok(Self { model, positions, sample, prompt: ids, options, extension })
    }
}

/// A question for a model, and how it is to be answered; `chat_affixes` is what its chat template writes around prompts.
fn drawn(
    model: &LoadedModel,
    reading: &Reading,
    question: &Question,
    depth: Option<f64>,
    chat_affixes: Option<[&str; 2]>,
) -> Result<(Sample, Options), Interruption> {
    let spec = Spec { chat_affixes, ..question.spec(model.config.max_position_embeddings, depth) };
    spec.check()?;
    let crop_length = reading.method.crop_length(&model.config);
    let options = answer_options(&spec, &model.config, &model.tokenizer, crop_length);
    Ok((sample(&spec, &model.tokenizer)?, options))
}

/// How a model answers a question about the user's own text.
fn own_options(model: &LoadedModel, reading: &Reading) -> Options {
    Options {
        max_new_tokens: OWN_ANSWER,
        stop: model.tokenizer.answer_ends(&model.config.eos_token_ids),
        crop_length: reading.method.crop_length(&model.config),
        ..Options::default()
    }
}

/// Whether an answer is right: the values that were asked for and nothing else; about a text of the reader's, one that holds
/// what was expected.
fn is_right(prompt: &Prompt, sample: &Sample, answer: &str) -> Option<bool> {
    match prompt {
        Prompt::Drawn(_) => Some(sample.score(answer).exact),
        Prompt::Own(_) => (!sample.references.is_empty()).then(|| sample.score(answer).string_match == 1.0),
    }
}

/// The question as the page shows it.
fn asked(run: &Run, model: &LoadedModel, sample: &Sample) -> Result<Reply, Interruption> {
    Ok(Reply::Asked {
        run: run.number,
        haystack: sample.haystack.iter().map(|sentence| (sentence.text.clone(), sentence.kind)).collect(),
        question: sample.question.clone(),
        references: sample.references.clone(),
        ordered: sample.ordered,
        ends: ends(model, sample)?,
        context: model.config.max_position_embeddings,
    })
}

/// Where each token of a prompt ends in its text, in bytes.
fn ends(model: &LoadedModel, sample: &Sample) -> Result<Vec<u32>, Interruption> {
    let (_, spans) = model.tokenizer.prompt_with_spans(&sample.prompt())?;
    Ok(spans.iter().map(|span| span.end as u32).collect())
}

fn per_second(tokens: usize, milliseconds: f64) -> f64 {
    tokens as f64 * 1000.0 / milliseconds.max(0.1)
}
