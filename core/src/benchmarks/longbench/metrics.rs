//! LongBench's metrics: each compares an answer with one right answer and gives a score from 0 to 1.

use rapidfuzz::fuzz;

use super::rouge::rouge_l;

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    /// F1 of words, without articles and punctuation.
    QaF1,
    /// ROUGE-L of sentences.
    RougeL,
    /// 1 divided by the number of classes that the answer names, if the right one is among them; else 0.
    Classification,
    /// Share of the numbers in the answer that are the right one.
    Count,
    /// Share of the numbers in the answer that are the right paragraph's number.
    Retrieval,
    /// Similarity of the first line of code to the right one.
    CodeSimilarity,
}

impl Metric {
    pub(super) fn score(self, answer: &str, right: &str, classes: &[String]) -> f64 {
        match self {
            Self::QaF1 => qa_f1(answer, right),
            Self::RougeL => rouge_l(answer, right),
            Self::Classification => classification(answer, right, classes),
            Self::Count => share_of_numbers(answer, right),
            Self::Retrieval => {
                let after = right.split_once("Paragraph ").map_or("", |(_, after)| after);
                let number: String = after.chars().take_while(char::is_ascii_digit).collect();
                share_of_numbers(answer, &number)
            }
            Self::CodeSimilarity => code_similarity(answer, right),
        }
    }
}

/// Lower case, without ASCII punctuation, articles and needless spaces.
fn normalized(text: &str) -> String {
    let text: String = text.to_lowercase().chars().filter(|letter| !letter.is_ascii_punctuation()).collect();
    let mut kept = String::new();
    for part in text.split_inclusive(|letter: char| !letter.is_alphanumeric()) {
        let word = part.trim_end_matches(|letter: char| !letter.is_alphanumeric());
        kept.push_str(if ["a", "an", "the"].contains(&word) { " " } else { word });
        kept.push_str(&part[word.len()..]);
    }
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn qa_f1(answer: &str, right: &str) -> f64 {
    let [answer, right] = [answer, right].map(normalized);
    let mut left: Vec<&str> = right.split(' ').filter(|word| !word.is_empty()).collect();
    let (said, expected) = (answer.split(' ').filter(|word| !word.is_empty()).count(), left.len());
    let mut same = 0;
    for word in answer.split(' ') {
        if let Some(place) = left.iter().position(|other| *other == word) {
            left.swap_remove(place);
            same += 1;
        }
    }
    if same == 0 {
        return 0.0;
    }
    let (precision, recall) = (f64::from(same) / said as f64, f64::from(same) / expected as f64);
    2.0 * precision * recall / (precision + recall)
}

/// As in LongBench: classes whose names are parts of the right class's name do not count. Its loop skips the class that
/// follows a removed one, and so does this one.
fn classification(answer: &str, right: &str, classes: &[String]) -> f64 {
    let mut named: Vec<&str> = classes.iter().map(String::as_str).filter(|class| answer.contains(class)).collect();
    let mut at = 0;
    while at < named.len() {
        if right.contains(named[at]) && named[at] != right {
            // The first of that name, as Python's `remove` does.
            let first = named.iter().position(|class| *class == named[at]).unwrap_or(at);
            named.remove(first);
        }
        at += 1;
    }
    if named.contains(&right) { 1.0 / named.len() as f64 } else { 0.0 }
}

fn share_of_numbers(answer: &str, right: &str) -> f64 {
    let numbers: Vec<&str> =
        answer.split(|letter: char| !letter.is_ascii_digit()).filter(|number| !number.is_empty()).collect();
    let same = numbers.iter().filter(|number| **number == right).count();
    if numbers.is_empty() { 0.0 } else { same as f64 / numbers.len() as f64 }
}

/// fuzzywuzzy's ratio in whole percent, of the first line that is neither a comment nor a fence.
fn code_similarity(answer: &str, right: &str) -> f64 {
    let is_code = |line: &&str| !(line.contains('`') || line.contains('#') || line.contains("//"));
    let line = answer.trim_start_matches('\n').split('\n').find(is_code).unwrap_or_default();
    match (line == right, line.is_empty() || right.is_empty()) {
        (true, _) => 1.0,
        (_, true) => 0.0,
        _ => (100.0 * fuzz::ratio(line.chars(), right.chars())).round_ties_even() / 100.0,
    }
}
