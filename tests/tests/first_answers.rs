//! The answers that the page's first screen begins with: `UPDATE_EXPECT=1 cargo test --release -p drope-tests --test first_answers`
//! writes docs/first-answers.json; without the variable the file has to be what would be written.

#[path = "browser/native.rs"]
#[allow(dead_code, reason = "what heads do is for the tests in the browser")]
mod native;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use drope_core::language::Values;
use drope_core::niah::{Difficulty, Distractors, Spec, Task, sample};
use drope_core::positions::{Method, Parameters};
use drope_core::results::StudyFigure;
use drope_core::tokenizer::Tokenizer;
use drope_protocol::{FirstAnswer, FirstAnswers};

const EXTENSION: usize = 8;
const DEPTH: u32 = 30;
/// Of nano-rope, and of every model of the study.
const CONTEXT: usize = 256;

/// The models of the rows, and whether each answers most questions at this length.
const ROWS: [(&str, Method, bool); 4] = [
    ("study-rope", Method::Rope, false),
    ("study-rope", Method::Yarn, true),
    ("study-p-drope-copies", Method::PDrope, true),
    ("study-rope-copies", Method::DynamicNtk, true),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the checkout is there")
}

/// The study's primary task.
fn spec(seed: u64) -> Spec<'static> {
    let difficulty = Difficulty { digits: 7, distractors: Distractors::Sharing, ..Difficulty::default() };
    let depth = Some(f64::from(DEPTH) / 100.0);
    Spec { depth, difficulty, ..Spec::new(Task::MultiKey, Values::Numbers, EXTENSION * CONTEXT, seed) }
}

/// The rows' answers to a question.
fn answers(parameters: &[Parameters], seed: u64) -> Result<Vec<FirstAnswer>> {
    let answer = |(&(model, method, _), parameters): (&(&str, Method, bool), &Parameters)| {
        let answer = native::answer(method, parameters, model, EXTENSION, &spec(seed))?;
        let (model, method) = (model.to_owned(), method.name().to_owned());
        Ok(FirstAnswer { model, method, text: answer.text, is_right: answer.exact })
    };
    ROWS.iter().zip(parameters).map(answer).collect()
}

/// The first question, by its seed, that every row answers as it answers most.
fn first_typical(parameters: &[Parameters]) -> Result<FirstAnswers> {
    let is_typical = |answers: &[FirstAnswer]| answers.iter().zip(&ROWS).all(|(answer, row)| answer.is_right == row.2);
    let mut asked = (1..20).map(|seed| Ok((seed, answers(parameters, seed)?)));
    let found = asked.find(|found: &Result<_>| found.as_ref().map_or(true, |(_, answers)| is_typical(answers)));
    let (seed, answers) = found.context("none of 19 questions is typical")??;
    let tokenizer = std::fs::read(root().join("models").join(ROWS[0].0).join("tokenizer.json"))?;
    let tokenizer = Tokenizer::from_json(&tokenizer)?;
    let sample = sample(&spec(seed), &tokenizer)?;
    let (_, spans) = tokenizer.prompt_with_spans(&sample.prompt())?;
    Ok(FirstAnswers {
        extension: EXTENSION,
        context: CONTEXT,
        depth: DEPTH,
        seed,
        haystack: sample.haystack.iter().map(|sentence| (sentence.text.clone(), sentence.kind)).collect(),
        question: sample.question.clone(),
        references: sample.references.clone(),
        ends: spans.iter().map(|span| span.end as u32).collect(),
        answers,
    })
}

#[test]
fn the_first_screen_shows_what_the_models_answer() -> Result<()> {
    let study: StudyFigure = serde_json::from_str(&std::fs::read_to_string(root().join("docs/study.json"))?)?;
    let parameters: Vec<Parameters> = study.played.iter().map(|line| line.parameters.clone()).collect();
    let path = root().join("docs/first-answers.json");
    let computed = serde_json::to_string(&first_typical(&parameters)?)? + "\n";
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &computed)?;
    }
    assert_eq!(std::fs::read_to_string(&path)?, computed, "UPDATE_EXPECT=1 writes {}", path.display());
    Ok(())
}
