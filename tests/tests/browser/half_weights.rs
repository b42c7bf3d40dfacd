//! The page's weights have 16 bits, those that are committed 32.

use anyhow::Result;
use drope_core::language::Values;
use drope_core::niah::{Difficulty, Distractors, Spec, Task};
use drope_core::positions::{Method, Parameters};

use super::native::answer_of;

/// The results are of the committed weights.
#[test]
fn weights_in_half_precision_answer_as_the_committed_ones() -> Result<()> {
    let ask = |folder: &str, model: &str, method: Method, seed: u64| -> Result<String> {
        let difficulty = Difficulty { digits: 7, distractors: Distractors::Sharing, ..Difficulty::default() };
        let spec = Spec { depth: Some(0.4), difficulty, ..Spec::new(Task::MultiKey, Values::Numbers, 0, seed) };
        Ok(answer_of(folder, method, &Parameters::default(), model, 2, &spec)?.text)
    };
    let (mut same, mut all) = (0, 0);
    for (model, method) in
        [("study-rope", Method::Yarn), ("study-p-drope-copies", Method::PDrope), ("study-drope-copies", Method::Drope)]
    {
        for seed in 0..8 {
            let [page, committed] = ["dist/models", "models"].map(|folder| ask(folder, model, method, seed));
            same += usize::from(page? == committed?);
            all += 1;
        }
    }
    assert_eq!(same, all, "answers that are the same");
    Ok(())
}
