//! Which reading of a run is its best, by the questions of the selection split.

use drope_core::positions::{Method, Parameters};
use serde::Deserialize;

use super::models::{StudyReading, run_and_trunk};

/// One line of `selection.json`: how well a model did on the selection split.
#[derive(Clone, Debug, Deserialize)]
pub struct SelectionEntry {
    pub model: String,
    pub method: Method,
    #[serde(default)]
    pub parameters: Parameters,
    /// Mean accuracy over 2×, 4× and 8×.
    pub score: f64,
}

/// A reading and the trunks that it was scored on.
struct SelectionCandidate {
    reading: StudyReading,
    scores: Vec<(usize, f64)>,
}

impl SelectionCandidate {
    fn mean(&self) -> f64 {
        self.scores.iter().map(|(_, score)| score).sum::<f64>() / self.scores.len() as f64
    }
}

/// The reading of a run with the highest mean score over trunks, of those that were scored on most trunks; of equal means the
/// plain reading, then the one in the earlier line. `None` where nothing was scored. Of two scores of one model and reading
/// the later one counts.
pub fn best(entries: &[SelectionEntry], run: &str) -> Option<StudyReading> {
    let mut candidates: Vec<SelectionCandidate> = Vec::new();
    for entry in entries {
        let Some((_, trunk)) = run_and_trunk(&entry.model).filter(|(of, _)| *of == run) else { continue };
        let reading = StudyReading { method: entry.method, parameters: entry.parameters.clone() };
        match candidates.iter_mut().find(|candidate| candidate.reading == reading) {
            Some(candidate) => {
                candidate.scores.retain(|&(known, _)| known != trunk);
                candidate.scores.push((trunk, entry.score));
            }
            None => candidates.push(SelectionCandidate { reading, scores: vec![(trunk, entry.score)] }),
        }
    }
    let most = candidates.iter().map(|candidate| candidate.scores.len()).max()?;
    candidates.retain(|candidate| candidate.scores.len() == most);
    // A stable sort: the plain reading first, then the order of the lines.
    candidates.sort_by_key(|candidate| candidate.reading != StudyReading::plain(run));
    // Sums of the same scores in another order differ in their last bits.
    let is_better = |a: &SelectionCandidate, b: &SelectionCandidate| a.mean() > b.mean() + 1e-9;
    candidates
        .into_iter()
        .reduce(|best, next| if is_better(&next, &best) { next } else { best })
        .map(|best| best.reading)
}

#[cfg(test)]
mod tests {
    use drope_core::positions::Method;
    use serde_json::json;

    use super::{SelectionEntry, best};

    fn entries(lines: &[(&str, &str, f64)]) -> Vec<SelectionEntry> {
        let entry = |&(model, method, score): &(&str, &str, f64)| {
            serde_json::from_value(json!({ "model": model, "method": method, "score": score })).unwrap()
        };
        lines.iter().map(entry).collect()
    }

    #[test]
    fn the_best_mean_over_trunks_is_chosen_and_the_plain_reading_of_equal_ones() {
        let mut lines = vec![("keep-1", "yarn", 0.9), ("keep-2", "yarn", 0.5), ("keep-1", "llama3", 0.8)];
        lines.extend([("keep-2", "llama3", 0.8), ("keep-copies-1", "pi", 1.0), ("keep-1", "pi", 1.0)]);
        let method = |lines: &[_], run| best(&entries(lines), run).map(|reading| reading.method);
        assert_eq!(method(&lines, "keep"), Some(Method::Llama3), "one good trunk is not the best mean");
        lines.extend([("keep-1", "rope", 0.7), ("keep-2", "rope", 0.9)]);
        assert_eq!(method(&lines, "keep"), Some(Method::Rope));
        assert_eq!(method(&lines, "keep-copies"), Some(Method::Pi));
        assert_eq!(method(&lines, "all"), None);
    }

    #[test]
    fn other_parameters_are_another_reading() {
        let tuned = json!({
            "model": "keep-1", "method": "yarn", "parameters": { "beta_fast": 16.0 }, "score": 0.9,
        });
        let mut lines = entries(&[("keep-1", "yarn", 0.5), ("keep-1", "rope", 0.7)]);
        lines.push(serde_json::from_value(tuned).unwrap());
        assert_eq!(best(&lines, "keep").unwrap().text(), "YaRN, beta_fast=16");
    }
}
