//! Questions: one for all columns, or many for a cell of the grid.

use std::rc::Rc;

use drope_core::generate::{Event, Options, generate};
use drope_core::language::Values;
use drope_core::loaded_model::LoadedModel;
use drope_core::niah::{Sample, Spec, sample};
use drope_core::positions::{Method, Positions};
use drope_core::probe::{TokenizedSample, probe_heads};
use drope_protocol::{Comparison, Question, Reading, Reply};

use super::models::ModelCache;
use super::run::{Interruption, Run};
use super::{now, reply};

/// Lets every column answer the same question, one after the other.
pub async fn answer(
    models: &mut ModelCache,
    Comparison { question, depth, readings, .. }: Comparison,
    run: &Run,
) -> Result<(), Interruption> {
    for (column, reading) in readings.iter().enumerate() {
        let (model, positions) = load(models, reading, question.extension, run).await?;
        let sample = draw(&model, question, Some(depth))?;
        let prompt = model.tokenizer.prompt(&sample.prompt())?;
        if column == 0 {
            reply(&asked(run, &model, &sample, prompt.len()));
        }
        let start = now();
        let (mut read, mut read_at) = (0, start);
        let (mut stream, mut text) = (model.tokenizer.stream(), String::new());
        let observe = async |event| {
            match event {
                Event::Read(tokens) => {
                    (read, read_at) = (tokens, now());
                    reply(&Reply::Read { run: run.number, column, tokens });
                }
                Event::Token(token) => {
                    text.push_str(&stream.push(token).unwrap_or_default());
                    reply(&Reply::Generated { run: run.number, column, text: text.clone() });
                }
            }
            run.yield_to_messages().await
        };
        let options = options(&model, reading.method, question);
        let answer = generate(&model.model, &model.config, &positions, &prompt, &options, observe).await?;
        run.check()?;
        reply(&Reply::Answered {
            run: run.number,
            column,
            exact: sample.score(&model.tokenizer.decode(&answer)?).exact,
            prefill: per_second(read, read_at - start),
            // The first token came with the prompt.
            decode: per_second(answer.len().saturating_sub(1), now() - read_at),
        });
    }
    Ok(())
}

/// Lets every column read the same question and measures what attention does in their heads.
pub async fn probe(
    models: &mut ModelCache,
    Comparison { question, depth, readings, .. }: Comparison,
    run: &Run,
) -> Result<(), Interruption> {
    for (column, reading) in readings.iter().enumerate() {
        let (model, positions) = load(models, reading, question.extension, run).await?;
        let sample = draw(&model, question, Some(depth))?;
        let tokenized = TokenizedSample::new(&sample, &model.tokenizer)?;
        if column == 0 {
            reply(&asked(run, &model, &sample, tokenized.ids.len()));
        }
        let tokenized = tokenized
            .cropped(reading.method.crop_length(&model.config), question.task.max_answer_tokens(Values::DIGITS));
        let observe = async |tokens| {
            reply(&Reply::Read { run: run.number, column, tokens });
            run.yield_to_messages().await
        };
        let heads = probe_heads(&model.model, &model.config, &positions, &tokenized, observe).await?;
        let heads = heads.ok_or(Interruption::Stopped)?;
        reply(&Reply::Probed { run: run.number, column, extension: question.extension, heads });
    }
    Ok(())
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
    let (model, positions) = load(models, reading, question.extension, run).await?;
    let options = options(&model, reading.method, question);
    let mut correct = 0;
    for trial in 0..trials {
        let sample = draw(&model, Question { seed: question.seed + trial as u64, ..question }, depth)?;
        let prompt = model.tokenizer.prompt(&sample.prompt())?;
        let observe = async |_| run.yield_to_messages().await;
        let answer = generate(&model.model, &model.config, &positions, &prompt, &options, observe).await?;
        run.check()?;
        correct += usize::from(sample.score(&model.tokenizer.decode(&answer)?).exact);
        reply(&Reply::Trial { run: run.number, correct, done: trial + 1 });
    }
    Ok(())
}

async fn load(
    models: &mut ModelCache,
    Reading { method, parameters }: &Reading,
    extension: usize,
    run: &Run,
) -> Result<(Rc<LoadedModel>, Positions), Interruption> {
    let model = models.model(method.info().nano_model, run).await?;
    let positions = method.positions_with(&model.config, extension as f64, parameters)?;
    Ok((model, positions))
}

fn draw(model: &LoadedModel, question: Question, depth: Option<f64>) -> Result<Sample, Interruption> {
    let context = question.extension * model.config.max_position_embeddings;
    let spec = Spec { depth, ..Spec::new(question.task, question.values, context, question.seed) };
    Ok(sample(&spec, &model.tokenizer)?)
}

/// The question as the page shows it.
fn asked(run: &Run, model: &LoadedModel, sample: &Sample, tokens: usize) -> Reply {
    Reply::Asked {
        run: run.number,
        haystack: sample.haystack.iter().map(|sentence| (sentence.text.clone(), sentence.kind)).collect(),
        question: sample.question.clone(),
        references: sample.references.clone(),
        ordered: sample.ordered,
        tokens,
        context: model.config.max_position_embeddings,
    }
}

fn options(model: &LoadedModel, method: Method, question: Question) -> Options {
    let max_new_tokens = question.task.max_answer_tokens(Values::DIGITS);
    Options {
        max_new_tokens,
        stop: model.tokenizer.sentence_ends(),
        context: question.extension * model.config.max_position_embeddings + max_new_tokens,
        crop_length: method.crop_length(&model.config),
        temperature: 0.0,
        seed: 0,
    }
}

fn per_second(tokens: usize, milliseconds: f64) -> f64 {
    tokens as f64 * 1000.0 / milliseconds.max(0.1)
}
