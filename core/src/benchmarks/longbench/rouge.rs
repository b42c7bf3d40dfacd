//! ROUGE-L as LongBench has it: summary-level, by the Python package `rouge` 1.0.1.

use std::collections::HashSet;

/// F1 of the words that the sentences of both texts have in common in their order; a word counts once. A text without a
/// letter scores 0.
///
/// Where two sentences have thousands of words, the package ends with an error, which LongBench counts as 0; here they are
/// compared.
pub(super) fn rouge_l(answer: &str, right: &str) -> f64 {
    let [answer, right] = [answer, right].map(sentences);
    let distinct = |sentences: &[Vec<&str>]| sentences.iter().flatten().collect::<HashSet<_>>().len() as f64;
    if answer.is_empty() || right.is_empty() {
        return 0.0;
    }
    let mut common: HashSet<&str> = HashSet::new();
    for expected in &right {
        for said in &answer {
            common.extend(longest_common(expected, said));
        }
    }
    let (recall, precision) = (common.len() as f64 / distinct(&right), common.len() as f64 / distinct(&answer));
    2.0 * precision * recall / (precision + recall + 1e-8)
}

/// Words of each sentence; a sentence ends at a full stop. A sentence that consists of spaces has one empty word.
fn sentences(text: &str) -> Vec<Vec<&str>> {
    let or_empty = |words: Vec<_>| if words.is_empty() { vec![""] } else { words };
    let sentences = text.split('.').filter(|sentence| !sentence.is_empty());
    sentences.map(|sentence| or_empty(sentence.split_whitespace().collect())).collect()
}

/// The words of a longest common subsequence; if there are several, of the one that the package chooses.
fn longest_common<'a>(expected: &[&'a str], said: &[&str]) -> Vec<&'a str> {
    let width = said.len() + 1;
    let mut lengths = vec![0u32; (expected.len() + 1) * width];
    for i in 1..=expected.len() {
        for j in 1..=said.len() {
            lengths[i * width + j] = if expected[i - 1] == said[j - 1] {
                lengths[(i - 1) * width + j - 1] + 1
            } else {
                lengths[(i - 1) * width + j].max(lengths[i * width + j - 1])
            };
        }
    }
    let (mut i, mut j, mut words) = (expected.len(), said.len(), Vec::new());
    while i > 0 && j > 0 {
        if expected[i - 1] == said[j - 1] {
            words.push(expected[i - 1]);
            (i, j) = (i - 1, j - 1);
        } else if lengths[(i - 1) * width + j] > lengths[i * width + j - 1] {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    words
}
