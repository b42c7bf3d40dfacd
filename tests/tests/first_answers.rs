//! The answers that the page's first screen begins with: `UPDATE_EXPECT=1 cargo test --release -p drope-tests --test first_answers`
//! writes docs/first-answers.json; without the variable the file has to be what would be written.

#[path = "browser/native.rs"]
#[allow(dead_code, reason = "what heads do is for the tests in the browser")]
mod native;

use std::path::PathBuf;

use anyhow::{Result, bail};
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
    PathBuf::from(env!("DROPE_ROOT"))
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
        let answer = native::answer_of("models", method, parameters, model, EXTENSION, &spec(seed))?;
        let (model, method) = (model.to_owned(), method.name().to_owned());
        Ok(FirstAnswer { model, method, text: answer.text, is_right: answer.exact })
    };
    ROWS.iter().zip(parameters).map(answer).collect()
}

/// The seed of the first question that every row answers as it answers most.
fn first_typical(parameters: &[Parameters]) -> Result<u64> {
    for seed in 1..20 {
        let answers = answers(parameters, seed)?;
        if answers.iter().zip(&ROWS).all(|(answer, row)| answer.is_right == row.2) {
            return Ok(seed);
        }
    }
    bail!("none of 19 questions is typical")
}

/// The question of a seed with its answers.
fn first_answers(parameters: &[Parameters], seed: u64) -> Result<FirstAnswers> {
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
        answers: answers(parameters, seed)?,
    })
}

/// The same without the words of wrong answers: they are chosen among tokens that are almost equally probable, so that the rounding of
/// another kind of processor may choose others.
fn without_wrong_words(mut first: FirstAnswers) -> FirstAnswers {
    first.answers.iter_mut().filter(|answer| !answer.is_right).for_each(|answer| answer.text.clear());
    first
}

#[test]
fn the_first_screen_shows_what_the_models_answer() -> Result<()> {
    let study: StudyFigure = serde_json::from_str(&std::fs::read_to_string(root().join("docs/study.json"))?)?;
    let parameters: Vec<Parameters> = study.played.iter().map(|line| line.parameters.clone()).collect();
    let path = root().join("docs/first-answers.json");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let first = first_answers(&parameters, first_typical(&parameters)?)?;
        std::fs::write(&path, serde_json::to_string(&first)? + "\n")?;
    }
    let written: FirstAnswers = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    let computed = first_answers(&parameters, written.seed)?;
    assert_eq!(
        without_wrong_words(written),
        without_wrong_words(computed),
        "UPDATE_EXPECT=1 writes {}",
        path.display()
    );
    Ok(())
}
