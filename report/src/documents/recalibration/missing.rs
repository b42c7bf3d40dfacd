//! What docs/protocol-real.md asks for and the results files do not hold.

use drope_core::benchmarks::BenchmarkCell;
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;

use super::arms::{Arm, RUNS, UNTRAINED};
use crate::markdown::list;

/// Needles of the protocol, and the lengths at which every model is asked for them.
const NEEDLES: [&str; 2] = ["niah_single_1", "niah_single_2"];
const NEEDLE_LENGTHS: [usize; 3] = [1024, 2048, 4096];
/// What the control is asked besides, in tokens, and how it is read then.
const FURTHEST: usize = 16_384;
const READINGS: [Method; 4] = [Method::Rope, Method::Yarn, Method::Llama3, Method::DynamicNtk];

/// A sentence on it; empty where everything is there.
pub fn not_measured(arms: &[Arm], cells: &[PerplexityCell], needles: &[BenchmarkCell]) -> String {
    let mut missing: Vec<String> = Vec::new();
    for run in RUNS.iter().filter(|run| !run.is_long()) {
        if Arm::of(arms, run.folder).is_none() {
            missing.push(format!("{} at all", run.title));
            continue;
        }
        if cells.iter().all(|cell| cell.model != run.folder) {
            missing.push(format!("losses along texts of {}", run.title));
        }
        missing.extend(needles_missing(needles, run.folder).map(|asked| format!("{asked} of {}", run.title)));
    }
    missing.extend(needles_missing(needles, UNTRAINED).map(|asked| format!("{asked} of the original model")));
    let is_read = |method: Method| {
        needles.iter().any(|cell| (&*cell.model, cell.method, cell.context) == (RUNS[0].folder, method, FURTHEST))
    };
    let readings = READINGS.into_iter().filter(|&method| !is_read(method));
    missing
        .extend(readings.map(|method| format!("needles of the control at {FURTHEST} tokens with {}", method.title())));
    for run in RUNS.iter().filter(|run| run.is_long() && Arm::of(arms, run.folder).is_none()) {
        missing.push(run.title.to_owned());
    }
    if missing.is_empty() { String::new() } else { format!(" Not measured yet: {}.", list(&missing)) }
}

/// Tasks and lengths of the protocol that a model was not asked; one that answers nothing at the first length is not asked at others.
fn needles_missing<'a>(needles: &'a [BenchmarkCell], model: &'a str) -> impl Iterator<Item = String> + 'a {
    let asked = move |task: &str, tokens: usize| {
        needles.iter().find(|cell| (&*cell.header.model, &*cell.task, cell.context) == (model, task, tokens))
    };
    NEEDLES.into_iter().flat_map(move |task| {
        let answers_nothing = asked(task, NEEDLE_LENGTHS[0]).is_some_and(|cell| cell.score == 0.0);
        let lengths = if answers_nothing { &NEEDLE_LENGTHS[..1] } else { &NEEDLE_LENGTHS[..] };
        let missing = lengths.iter().filter(move |&&tokens| asked(task, tokens).is_none());
        missing.map(move |tokens| format!("{task} at {tokens} tokens"))
    })
}
