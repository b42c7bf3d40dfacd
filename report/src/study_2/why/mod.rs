//! docs/study-2-why.md: what may explain the second study's results, section 4 of its protocol. Described and not tested.

mod attention;
mod fillers;
mod patches;
mod words;

use drope_core::probe::{HeadCell, PatchCell};
use drope_core::results::{ResultCell, current};

use super::models::{MECHANISM_MODELS, ModelName};
use super::results::Results;
use crate::markdown::section;

/// The whole document, and a list of what it says of decoys; `None` where nothing of it is measured.
pub fn document(results: &Results, heads: Vec<HeadCell>, patches: Vec<PatchCell>) -> Option<(String, String)> {
    let (heads, patches) = (of_study(heads), of_study(patches));
    let words = words::text(results, &heads, &patches);
    let parts = [
        ("Which filler breaks which model", fillers::text(results)),
        ("Attention on the needle and beside it", attention::text(&heads)),
        ("Heads whose attention changes in long texts", patches::text(&patches)),
    ];
    let missing: Vec<&str> = parts.iter().filter(|(_, text)| text.is_none()).map(|(title, _)| *title).collect();
    let mut parts: Vec<String> = parts.into_iter().filter_map(|(title, text)| Some(section(title, &text?))).collect();
    if parts.is_empty() {
        return None;
    }
    if !missing.is_empty() {
        parts.push(section("What was not measured", &format!("{}.", missing.join("; "))));
    }
    let of_decoys = if words.is_empty() { String::new() } else { section("What they say of decoys", &words) + "\n" };
    let document = format!(
        "# What may explain the second study\n\nWritten by `cargo xtask table` from docs/results/study-2; do not edit. Models of the \
         [second study](study-2.md), described and not tested. Numbers are means over trunks. Of accuracies, brackets are 95 % intervals over \
         five trunks, and parentheses the two of two trunks; elsewhere parentheses say of how many trunks, where these are not \
         five.\n\n{of_decoys}{}",
        parts.join("\n")
    );
    Some((document, words))
}

/// The present results of the models that are looked into.
fn of_study<T: ResultCell>(cells: Vec<T>) -> Vec<T> {
    let is_looked_into = |cell: &T| {
        ModelName::of(cell.reading().model).is_some_and(|name| MECHANISM_MODELS.contains(&(name.run, name.budget)))
    };
    current(cells.into_iter().filter(is_looked_into), |_| None)
}
