//! The second study, of docs/protocol-2.md: from results files to docs/study-2.md and its figure.
//!
//! Results and the readings that the selection split chose ([`results`]) come first, then hypotheses ([`curve`], [`rivals`]) with
//! their verdicts ([`difference`], [`hypothesis`]), then what is written of them ([`against`], [`document`], [`headline`],
//! [`tables`]).

mod against;
mod curve;
mod difference;
mod document;
mod headline;
mod hypothesis;
mod models;
mod results;
mod rivals;
mod tables;
mod why;

use std::path::Path;

use anyhow::Result;

pub use self::headline::Headline;
use self::headline::{NotTested, headline};
use self::hypothesis::{Hypothesis, judged};
use self::results::Results;
use crate::{files, plot};

/// Writes docs/study-2.md and docs/study-2.svg in `root` from the results files in `folder`; nothing where there are none. Returns what
/// others say of it, where a hypothesis is judged.
pub fn write(folder: &Path, root: &Path) -> Result<Option<Headline>> {
    let results = Results::new(files::cells_in(&folder.join("results"))?, files::cells_in(&folder.join("perplexity"))?);
    if results.is_empty() {
        return Ok(None);
    }
    let hypotheses = hypotheses(&results);
    files::write(&root.join("docs/study-2.md"), &document::document(&results, &hypotheses))?;
    if let Some(curve) = document::figure(&results) {
        files::write(&root.join("docs/study-2.svg"), &plot::plot(&curve)?)?;
    }
    let (heads, patches) = (files::cells_in(&folder.join("heads"))?, files::cells_in(&folder.join("patches"))?);
    let (text, mechanism) = why::document(&results, heads, patches).unwrap_or_default();
    if !text.is_empty() {
        files::write(&root.join("docs/study-2-why.md"), &text)?;
    }
    let not_tested = NotTested {
        below_rope: against::below_rope(&results),
        h3: curve::place_of_the_maximum(&results),
        beside_copies: curve::beside_copies(&results),
        full_among_decoys: curve::among_decoys(&results),
        among_decoys: against::among_decoys(&results),
        costs: against::costs(&results),
        beside_upper_bounds: rivals::beside_upper_bounds(&results),
        partial_curve: curve::of_partial(&results),
        tables: tables::tables(&results),
        mechanism,
    };
    Ok(headline(&hypotheses, not_tested))
}

/// The eight tests; H3 is none.
fn hypotheses(results: &Results) -> Vec<Hypothesis> {
    let first = [
        curve::inner_maximum(results),
        curve::copies_remove_it(results),
        rivals::near(results, "H4 (1 M)", "1m"),
        rivals::near(results, "H4 (8 M)", "8m"),
    ];
    judged(first.into_iter().chain(rivals::far(results)).collect())
}

#[cfg(test)]
mod tests;
