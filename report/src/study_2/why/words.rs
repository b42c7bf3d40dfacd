//! What the tables of section 4 say of decoys, in sentences for the paper.

use drope_core::niah::Filler;
use drope_core::probe::{HeadCell, PatchCell};

use super::super::models::{OTHER_COPIES, OTHER_COPIES_TRUNKS, title, title_with_budget};
use super::super::results::{Asked, Results};
use super::{attention, fillers, patches};
use crate::markdown::{joined, percent};

/// Full and partial DroPE, both with copies.
const COMPARED: [(&str, &str); 2] = [("all-copies", "8m"), ("low-copies", "1m")];

/// Items of a list, of what is measured; empty before anything is.
pub fn text(results: &Results, heads: &[HeadCell], patched: &[PatchCell]) -> String {
    let items = [repeated(results), other_copies(results), attention(heads), one_head(patched)];
    items.into_iter().flatten().map(|item| format!("- {item}\n")).collect()
}

/// The sentences about both models; `None` where one is missing.
fn of_both(sentence: impl Fn((&'static str, &'static str)) -> Option<String>) -> Option<String> {
    let both: Vec<String> = COMPARED.into_iter().map(sentence).collect::<Option<_>>()?;
    Some(joined(both, "; "))
}

fn repeated(results: &Results) -> Option<String> {
    let of = |(run, budget)| {
        let (side, trunks) = fillers::side(results, run, budget)?;
        let at_4x = |asked| results.accuracy_of(trunks.clone(), &side, asked, 4).map(|over| percent(over.mean));
        let [distinct, repeated] = [at_4x(Asked::Decoys)?, at_4x(Asked::RepeatedDecoys)?];
        Some(format!("{} {distinct} and {repeated}", title_with_budget(run, budget)))
    };
    Some(format!("Among distinct decoys, and among few that are repeated, at 4×: {}.", of_both(of)?))
}

fn other_copies(results: &Results) -> Option<String> {
    let (run, budget) = COMPARED[0];
    let at_4x = |run: &str, side| {
        let over = results.accuracy_of(OTHER_COPIES_TRUNKS, &side, Asked::Decoys, 4)?;
        Some(format!("{} {}", title(run), percent(over.mean)))
    };
    let others = OTHER_COPIES.iter().map(|run| at_4x(run, results.only_reading(run, budget)?));
    let usual = at_4x(run, fillers::side(results, run, budget)?.0);
    let all: Vec<String> = [usual].into_iter().chain(others).collect::<Option<_>>()?;
    Some(format!("What counts several times, among decoys at 4×: {}.", joined(all, "; ")))
}

fn attention(heads: &[HeadCell]) -> Option<String> {
    let of = |(run, budget)| {
        let share = |s, number| {
            attention::of_head(heads, (run, budget), Some(Filler::Decoys), s, number)
                .map(|over| format!("{:.0} %", 100.0 * over.mean))
        };
        let [near, far] = [share(1, |head| head.needle_of_question)?, share(8, |head| head.needle_of_question)?];
        let decoys = share(8, |head| head.decoys_of_question)?;
        Some(format!("in {} {near} at 1× and {far} at 8×, where decoys get {decoys}", title_with_budget(run, budget)))
    };
    Some(format!("Of the attention of the head that finds the needle, the needle gets among decoys: {}.", of_both(of)?))
}

fn one_head(patched: &[PatchCell]) -> Option<String> {
    let of = |(run, budget)| {
        let [before, after] = patches::on_the_other_half(patched, (run, budget), Some(Filler::Decoys))?;
        Some(format!("{} from {before:.0} to {after:.0} %", title_with_budget(run, budget)))
    };
    Some(format!(
        "Where one head attends as it does in the short text, answers among decoys at 4× go, on questions that did not choose the head, in {}.",
        of_both(of)?
    ))
}
