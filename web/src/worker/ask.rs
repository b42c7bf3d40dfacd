//! Questions: one for both columns, or many for a cell of the grid.

use std::rc::Rc;

use drope_core::generate::{Event, Flow, Options, generate};
use drope_core::niah::{Sample, Spec, sample};
use drope_core::positions::{Method, Positions};
use drope_core::probe::{TokenizedSample, probe_heads};

use super::models::{LoadedModel, ModelCache};
use super::{now, reply, yield_to_messages};
use crate::protocol::{Comparison, MethodName, Question, Reply, model_of};

/// Lets both methods answer the same question, one after the other.
pub async fn answer(
    models: &mut ModelCache,
    Comparison { run, question, depth, methods }: Comparison,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), String> {
    for (column, method) in methods.into_iter().enumerate() {
        let (model, positions) = open(models, method, question.extension).await?;
        let sample = draw(&model, question, Some(depth))?;
        let prompt = tokens(&model, &sample)?;
        if column == 0 {
            reply(&asked(run, &model, &sample, prompt.len()));
        }
        let start = now();
        let (mut read, mut read_at, mut generated) = (0, start, Vec::new());
        let observe = async |event| {
            match event {
                Event::Read(tokens) => {
                    (read, read_at) = (tokens, now());
                    reply(&Reply::Read { run, column, tokens });
                }
                Event::Token(token) => {
                    generated.push(token);
                    let text = model.tokenizer.decode(&generated).unwrap_or_default();
                    reply(&Reply::Text { run, column, text });
                }
            }
            yield_to_messages().await;
            if goes_on() { Flow::Continue } else { Flow::Stop }
        };
        let answer =
            generate(&model.model, &model.config, &positions, &prompt, &options(&model, method.0, question), observe)
                .await;
        let answer = answer.map_err(|error| error.to_string())?;
        if !goes_on() {
            return Ok(());
        }
        let text = model.tokenizer.decode(&answer).map_err(|error| error.to_string())?;
        reply(&Reply::Answered {
            run,
            column,
            exact: sample.score(&text).exact,
            prefill: per_second(read, read_at - start),
            decode: per_second(answer.len(), now() - read_at),
        });
    }
    Ok(())
}

/// Lets both methods read the same question and says what their heads do.
pub async fn probe_heads_of_both(
    models: &mut ModelCache,
    Comparison { run, question, depth, methods }: Comparison,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), String> {
    for (column, method) in methods.into_iter().enumerate() {
        let (model, positions) = open(models, method, question.extension).await?;
        let sample = draw(&model, question, Some(depth))?;
        let marked = TokenizedSample::new(&sample, &model.tokenizer);
        let marked = marked.map_err(|error| error.to_string())?;
        if column == 0 {
            reply(&asked(run, &model, &sample, marked.ids.len()));
        }
        let marked = marked.cropped(method.0.crop_length(&model.config), question.task.max_answer_tokens());
        let observe = async |tokens| {
            reply(&Reply::Read { run, column, tokens });
            yield_to_messages().await;
            if goes_on() { Flow::Continue } else { Flow::Stop }
        };
        let heads = probe_heads(&model.model, &model.config, &positions, &marked, observe).await;
        match heads.map_err(|error| error.to_string())? {
            Some(heads) => reply(&Reply::Looked { run, column, method, extension: question.extension, heads }),
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Counts exact answers over questions with random depths.
pub async fn measure(
    models: &mut ModelCache,
    run: u32,
    question: Question,
    method: MethodName,
    trials: usize,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), String> {
    let (model, positions) = open(models, method, question.extension).await?;
    let mut correct = 0;
    for trial in 0..trials {
        let question = Question { seed: question.seed + trial as u64, ..question };
        let sample = draw(&model, question, None)?;
        let prompt = tokens(&model, &sample)?;
        let observe = async |_| {
            yield_to_messages().await;
            if goes_on() { Flow::Continue } else { Flow::Stop }
        };
        let answer =
            generate(&model.model, &model.config, &positions, &prompt, &options(&model, method.0, question), observe)
                .await;
        if !goes_on() {
            return Ok(());
        }
        let text = answer.and_then(|ids| model.tokenizer.decode(&ids)).map_err(|error| error.to_string())?;
        correct += usize::from(sample.score(&text).exact);
        reply(&Reply::Trial { run, correct, done: trial + 1 });
    }
    Ok(())
}

async fn open(
    models: &mut ModelCache,
    method: MethodName,
    extension: usize,
) -> Result<(Rc<LoadedModel>, Positions), String> {
    let model = models.model(model_of(method.0)).await?;
    let positions = method.0.positions(&model.config, extension as f64).map_err(|error| error.to_string())?;
    Ok((model, positions))
}

fn draw(model: &LoadedModel, question: Question, depth: Option<f64>) -> Result<Sample, String> {
    let spec = Spec {
        depth,
        ..Spec::new(
            question.task,
            question.values,
            question.extension * model.config.max_position_embeddings,
            question.seed,
        )
    };
    sample(&spec, &model.tokenizer).map_err(|error| error.to_string())
}

/// The question as the page shows it.
fn asked(run: u32, model: &LoadedModel, sample: &Sample, tokens: usize) -> Reply {
    Reply::Asked {
        run,
        haystack: sample.haystack.iter().map(|sentence| (sentence.text.clone(), sentence.kind)).collect(),
        question: sample.question.clone(),
        references: sample.references.clone(),
        ordered: sample.ordered,
        tokens,
        context: model.config.max_position_embeddings,
    }
}

fn tokens(model: &LoadedModel, sample: &Sample) -> Result<Vec<u32>, String> {
    model.tokenizer.prompt(&sample.prompt()).map_err(|error| error.to_string())
}

fn options(model: &LoadedModel, method: Method, question: Question) -> Options {
    let max_new_tokens = question.task.max_answer_tokens();
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
