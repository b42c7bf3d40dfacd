//! Multiple choice, in the published forms of seven benchmarks, asked and scored as lm-evaluation-harness 0.4 does: the
//! answer is the choice with the highest log-likelihood after the question, in total (`acc`) or per letter
//! (`acc_norm`).

mod forms;

pub use self::forms::Form;
use crate::error::{Error, Result};
use crate::generate::Flow;
use crate::loaded_model::LoadedModel;
use crate::perplexity::{Continuation, continuation_losses};
use crate::positions::Positions;
use crate::tokenizer::Tokenizer;

/// A question: a context and a continuation for each choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// A context and a continuation for each choice.
    pub choices: Vec<[String; 2]>,
    /// Number of letters of each choice, by which its log-likelihood is divided; `None` if the choices differ in their
    /// contexts.
    pub letters: Option<Vec<usize>>,
    /// Index of the right choice.
    pub gold: usize,
}

impl Question {
    /// Index of the choice with the highest log-likelihood; of equal ones, the first.
    pub fn chosen(&self, likelihoods: &[f64]) -> usize {
        first_highest(likelihoods)
    }

    /// As [`Question::chosen`], by log-likelihood per letter; `None` if the question has no `letters`.
    pub fn chosen_normed(&self, likelihoods: &[f64]) -> Option<usize> {
        let letters = self.letters.as_ref()?;
        let normed: Vec<f64> =
            likelihoods.iter().zip(letters).map(|(sum, &letters)| sum / letters.max(1) as f64).collect();
        Some(first_highest(&normed))
    }
}

fn first_highest(numbers: &[f64]) -> usize {
    let higher = |best: usize, (at, number): (usize, &f64)| if *number > numbers[best] { at } else { best };
    numbers.iter().enumerate().fold(0, higher)
}

/// Log-likelihood of each choice after its context, in nats. If a text has more than `context` + 1 tokens, its first
/// ones are left out. If `observe` stops the run, the result has what was computed until then.
///
/// # Errors
/// If the tokenizer cannot encode a text, a choice has no tokens, there is nothing before it to predict it from, or the
/// device fails.
pub async fn log_likelihoods(
    loaded: &LoadedModel,
    positions: &Positions,
    context: usize,
    question: &Question,
    observe: impl AsyncFnMut(usize) -> Flow,
) -> Result<Vec<f64>> {
    let end = loaded.config.eos_token_ids.first().copied();
    let ids_of = |choice: &[String; 2]| -> Result<(Vec<u32>, usize)> {
        let (mut ids, count) = encoded(&loaded.tokenizer, choice, end)?;
        ids.drain(..ids.len().saturating_sub(context + 1));
        let count = count.min(ids.len() - 1);
        Ok((ids, count))
    };
    let choices = question.choices.iter().map(ids_of).collect::<Result<Vec<_>>>()?;
    let texts: Vec<_> = choices.iter().map(|(ids, count)| Continuation { ids, count: *count }).collect();
    let losses = continuation_losses(&loaded.model, &loaded.config, positions, &texts, observe).await?;
    Ok(losses.iter().map(|losses| -losses.iter().map(|&loss| f64::from(loss)).sum::<f64>()).collect())
}

/// Ids of a context and its continuation, and the number of ids that belong to the continuation. Spaces at the end of
/// the context belong to the continuation. An empty context is replaced by the token that begins or ends texts.
///
/// # Errors
/// If the tokenizer cannot encode them, the continuation adds no token, or an empty context cannot be replaced.
fn encoded(
    tokenizer: &Tokenizer,
    [context, continuation]: &[String; 2],
    end: Option<u32>,
) -> Result<(Vec<u32>, usize)> {
    let kept = context.trim_end();
    let continuation = format!("{}{continuation}", &context[kept.len()..]);
    if kept.is_empty() {
        let first = tokenizer.bos().or(end).ok_or_else(|| {
            Error::Benchmark("a question without a context needs a model with a token that begins or ends texts".into())
        })?;
        let ids = tokenizer.encode(&continuation)?;
        let count = ids.len();
        return Ok(([vec![first], ids].concat(), count));
    }
    let (whole, before) = (tokenizer.prompt(&format!("{kept}{continuation}"))?, tokenizer.prompt(kept)?);
    let after = whole.get(before.len()..).unwrap_or_default();
    if after.is_empty() {
        return Err(Error::Benchmark(format!("the choice {continuation:?} adds no token to its context")));
    }
    Ok(([&before, after].concat(), after.len()))
}

#[cfg(test)]
mod tests {
    use super::{Form, Question};

    #[test]
    fn the_likeliest_is_chosen_in_all_or_for_each_letter() {
        let line = r#"{"query": "q", "choices": ["ab", "abcd"], "gold": 0}"#;
        let question = Question::from_json(Form::Plain, line).unwrap();
        assert_eq!((question.chosen(&[-4.0, -5.0]), question.chosen_normed(&[-4.0, -5.0])), (0, Some(1)));
        assert_eq!(question.chosen(&[-4.0, -4.0]), 0);
    }

    #[test]
    fn a_choice_that_is_no_text_is_not_left_out() {
        let line = r#"{"query": "2+2?", "choices": [3, "4", "5"], "gold": 1}"#;
        let said = Question::from_json(Form::Plain, line).unwrap_err().to_string();
        assert!(said.contains("choices is not a list of texts"), "{said}");
    }
}
