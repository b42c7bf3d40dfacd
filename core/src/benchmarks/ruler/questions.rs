//! Question answering: a question about one paragraph, or ten, among many others. The data are the user's.

use std::collections::HashMap;

use rand::seq::{SliceRandom, index};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::Sample;
use crate::error::{Error, Result};

/// Paragraphs and the questions about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documents {
    documents: Vec<String>,
    questions: Vec<DocumentQuestion>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct DocumentQuestion {
    text: String,
    answers: Vec<String>,
    /// Documents that are about it, which hold the answer.
    about: Vec<usize>,
    /// Documents of the same article.
    near: Vec<usize>,
}

#[derive(Deserialize)]
struct Squad {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    qas: Vec<SquadQuestion>,
}

#[derive(Deserialize)]
struct SquadQuestion {
    question: String,
    #[serde(default)]
    is_impossible: bool,
    answers: Vec<SquadAnswer>,
}

#[derive(Deserialize)]
struct SquadAnswer {
    text: String,
}

#[derive(Deserialize)]
struct HotpotQuestion {
    question: String,
    answer: String,
    /// Titles and sentences.
    context: Vec<(String, Vec<String>)>,
}

impl Documents {
    /// Reads a file of SQuAD 2.0's form; questions without an answer are left out.
    ///
    /// # Errors
    /// If it is of another form, or has no question.
    pub fn from_squad(json: &str) -> Result<Self> {
        let squad: Squad = serde_json::from_str(json).map_err(|error| wrong("SQuAD", &error.to_string()))?;
        let mut all = Self { documents: Vec::new(), questions: Vec::new() };
        let mut numbers = HashMap::new();
        for article in squad.data {
            let number = |paragraph: &Paragraph| all.number(&mut numbers, paragraph.context.clone());
            let near: Vec<usize> = article.paragraphs.iter().map(number).collect();
            for (paragraph, &about) in article.paragraphs.into_iter().zip(&near) {
                for question in paragraph.qas.into_iter().filter(|question| !question.is_impossible) {
                    all.questions.push(DocumentQuestion {
                        text: question.question,
                        answers: question.answers.into_iter().map(|answer| answer.text).collect(),
                        about: vec![about],
                        near: near.iter().copied().filter(|&near| near != about).collect(),
                    });
                }
            }
        }
        all.checked("SQuAD")
    }

    /// Reads a file of HotpotQA's form.
    ///
    /// # Errors
    /// If it is of another form, or has no question.
    pub fn from_hotpotqa(json: &str) -> Result<Self> {
        let questions: Vec<HotpotQuestion> =
            serde_json::from_str(json).map_err(|error| wrong("HotpotQA", &error.to_string()))?;
        let mut all = Self { documents: Vec::new(), questions: Vec::new() };
        let mut numbers = HashMap::new();
        for HotpotQuestion { question, answer, context } in questions {
            let paragraph = |(title, sentences): (String, Vec<String>)| format!("{title}\n{}", sentences.concat());
            let about =
                context.into_iter().map(paragraph).map(|paragraph| all.number(&mut numbers, paragraph)).collect();
            all.questions.push(DocumentQuestion { text: question, answers: vec![answer], about, near: Vec::new() });
        }
        all.checked("HotpotQA")
    }

    /// Number of questions.
    pub fn questions(&self) -> usize {
        self.questions.len()
    }

    /// The number of a document, which is added if it is new: the questions of HotpotQA share paragraphs.
    fn number(&mut self, numbers: &mut HashMap<String, usize>, document: String) -> usize {
        let next = self.documents.len();
        let number = *numbers.entry(document.clone()).or_insert(next);
        if number == next {
            self.documents.push(document);
        }
        number
    }

    fn checked(self, form: &str) -> Result<Self> {
        let is_answered = |question: &DocumentQuestion| question.answers.iter().all(|answer| !answer.is_empty());
        if self.questions.is_empty() || !self.questions.iter().all(is_answered) {
            return Err(wrong(form, "it has no questions, or one without an answer"));
        }
        if self.documents.is_empty() {
            return Err(wrong(form, "it has no documents"));
        }
        Ok(self)
    }

    pub(super) fn sample(&self, index: usize, size: usize, rng: &mut ChaCha8Rng) -> Sample {
        let DocumentQuestion { text, answers, about, near } = &self.questions[index % self.questions.len()];
        let mut chosen = about.clone();
        let room = size.saturating_sub(chosen.len());
        if room > near.len() {
            chosen.extend(near);
            let others: Vec<usize> = (0..self.documents.len()).filter(|document| !chosen.contains(document)).collect();
            let count = (room - near.len()).min(others.len());
            chosen.extend(index::sample(rng, others.len(), count).into_iter().map(|at| others[at]));
        } else {
            chosen.extend(index::sample(rng, near.len(), room).into_iter().map(|at| near[at]));
        }
        // If more documents are wanted than there are, they are repeated.
        let mut listed: Vec<usize> = chosen.iter().copied().cycle().take(size.max(chosen.len())).collect();
        listed.shuffle(rng);
        let document = |(at, &number): (usize, &usize)| format!("Document {}:\n{}", at + 1, self.documents[number]);
        let context = listed.iter().enumerate().map(document).collect::<Vec<_>>().join("\n\n");
        const TASK: &str = "Answer the question based on the given documents. Only give me the answer and do not output any other words.";
        Sample {
            message: format!("{TASK}\n\nThe following are given documents.\n\n{context}\n\n{TASK}\n\nQuestion: {text}"),
            answer_prefix: " Answer:".to_owned(),
            outputs: answers.clone(),
        }
    }
}

fn wrong(form: &str, reason: &str) -> Error {
    Error::Benchmark(format!("this is not a file in {form}'s form ({reason})"))
}
