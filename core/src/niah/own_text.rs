//! A question about a text of the user's own.

use serde::{Deserialize, Serialize};

use super::{Sample, Sentence, SentenceKind};
use crate::error::{Error, Result};

/// Bytes after which a sentence that does not end is cut at a space, so that a needle finds a place.
const LONGEST_SENTENCE: usize = 240;

/// A text, a sentence that is hidden in it, and what is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnText {
    /// The text.
    pub haystack: String,
    /// The sentence to hide in it; empty if the text has the answer already.
    pub needle: String,
    /// The question after the text, or the beginning of an answer, which the model continues.
    pub question: String,
    /// What the answer has to contain; empty if the answer is not judged.
    pub answer: String,
}

impl OwnText {
    /// The text with the needle at `depth`, from 0 (start) to 1 (end), between two sentences. Apart from the needle,
    /// the prompt is the unchanged text, a space, and the question.
    ///
    /// # Errors
    /// If there is nothing to read.
    pub fn sample(&self, depth: f64) -> Result<Sample> {
        if self.haystack.trim().is_empty() && self.needle.trim().is_empty() {
            return Err(Error::Question("there is no text to read; write or drop one".into()));
        }
        if self.question.trim().is_empty() {
            return Err(Error::Question(
                "nothing is asked about the text; write a question or the beginning of an answer".into(),
            ));
        }
        let prose = |text: &str| Sentence { text: text.to_owned(), kind: SentenceKind::Prose };
        let mut haystack: Vec<Sentence> = sentences(&self.haystack).into_iter().map(prose).collect();
        if !self.needle.trim().is_empty() {
            let before = (depth * self.haystack.len() as f64) as usize;
            let mut bytes = 0;
            let starts_later = |sentence: &Sentence| {
                let start = bytes;
                bytes += sentence.text.len() + 1;
                start >= before
            };
            let place = haystack.iter().position(starts_later).unwrap_or(haystack.len());
            haystack.insert(place, Sentence { text: self.needle.trim().to_owned(), kind: SentenceKind::Needle });
        }
        let answer = self.answer.trim();
        let references = (!answer.is_empty()).then(|| answer.to_owned()).into_iter().collect();
        Ok(Sample { haystack, question: self.question.clone(), references, ordered: true })
    }
}

/// Splits a text into parts. Joined by spaces, they give the text again, without spaces at its end.
fn sentences(text: &str) -> Vec<&str> {
    let text = text.trim_end();
    let mut parts = Vec::new();
    let mut start = 0;
    for (space, _) in text.match_indices(' ') {
        let ends = text[start..space].ends_with(['.', '!', '?']);
        if ends || space - start >= LONGEST_SENTENCE {
            parts.push(&text[start..space]);
            start = space + 1;
        }
    }
    if start < text.len() {
        parts.push(&text[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_SENTENCE, OwnText, sentences};
    use crate::niah::SentenceKind;

    fn own(haystack: &str) -> OwnText {
        OwnText {
            haystack: haystack.into(),
            needle: "Here it is.".into(),
            question: "Where?".into(),
            answer: "here".into(),
        }
    }

    #[test]
    fn the_prompt_is_the_text_as_it_is_with_the_needle_between_two_sentences() {
        let text = "One. Two!\n\n  fn main() {} Three? Four";
        for (depth, expected) in [
            (0.0, "Here it is. One. Two!\n\n  fn main() {} Three? Four Where?"),
            (0.2, "One. Two!\n\n  fn main() {} Three? Here it is. Four Where?"),
            (1.0, "One. Two!\n\n  fn main() {} Three? Four Here it is. Where?"),
        ] {
            let sample = own(text).sample(depth).unwrap();
            assert_eq!(sample.prompt(), expected, "{depth}");
            let needles = sample.haystack.iter().filter(|sentence| sentence.kind == SentenceKind::Needle);
            assert_eq!((needles.count(), &*sample.references), (1, &["here".to_owned()][..]));
        }
        let without = OwnText { needle: " ".into(), answer: String::new(), ..own(text) }.sample(0.5).unwrap();
        assert_eq!((without.prompt(), without.references.len()), (format!("{text} Where?"), 0));
    }

    #[test]
    fn answers_of_several_words_are_scored_in_any_case() {
        let sample = OwnText { answer: "The Louvre, in Paris".into(), ..own("Text.") }.sample(0.5).unwrap();
        let score = |answer: &str| sample.score(answer);
        assert!(score(" the louvre, in paris.").exact && score("It is the Louvre, in Paris").string_match == 1.0);
        assert!(!score("Paris").exact && score("Paris").string_match == 0.0);
        let none = OwnText { answer: String::new(), ..own("Text.") }.sample(0.5).unwrap();
        assert_eq!(none.score("anything").string_match, 0.0);
    }

    #[test]
    fn long_lines_and_odd_spaces_are_kept() {
        for text in ["word ".repeat(200), " a  b. ".to_owned(), String::new(), "é ü ".repeat(300)] {
            let parts = sentences(&text);
            assert_eq!(parts.join(" "), text.trim_end(), "{text:?}");
            assert!(parts.iter().all(|part| part.len() <= LONGEST_SENTENCE + 8), "{text:?}");
        }
    }

    #[test]
    fn nothing_to_read_or_to_ask_is_said() {
        let empty = OwnText { needle: String::new(), ..own(" \n") };
        assert!(empty.sample(0.5).unwrap_err().to_string().starts_with("there is no text"));
        let silent = OwnText { question: " ".into(), ..own("Text.") };
        assert!(silent.sample(0.5).unwrap_err().to_string().starts_with("nothing is asked"));
    }
}
