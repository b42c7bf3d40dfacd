//! docs/study-why.md: what may explain the results. From the same models, described and not tested: a figure and a paragraph
//! each.

mod attention;
mod cuts;
mod order;
mod two_keys;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use drope_core::probe::HeadCell;
use drope_core::results::RetrievalCell;

use self::attention::HeadStatistic;
use super::super::markdown::picture;
use super::plot::{Plot, PlotLine, PlotPoint, plot};
use super::rows::{OverTrunks, StudyResults};
use crate::files;

/// What the account is made of.
pub struct StudyAccount<'a> {
    /// What the models of the study answered.
    pub results: &'a StudyResults,
    /// What the trunks answered with frequencies below a cut dropped.
    pub cuts: Vec<RetrievalCell>,
    /// What the heads do.
    pub heads: Vec<HeadCell>,
    /// What the pilots answered.
    pub pilots: StudyResults,
}

/// A part of the account.
struct Explanation {
    title: &'static str,
    /// The trunks whose models were read.
    trunks: BTreeSet<usize>,
    /// What is seen, in a paragraph.
    paragraph: String,
    /// Name of the figure's file, and the figure.
    figure: (&'static str, Plot<'static>),
    caption: &'static str,
    table: String,
}

impl StudyAccount<'_> {
    /// Writes the document and its figures; `false`, and nothing is written, where nothing is measured.
    pub fn write(&self, docs: &Path) -> Result<bool> {
        let parts = [
            cuts::cuts(&self.cuts),
            attention::follow(&self.heads, HeadStatistic::Needle),
            attention::follow(&self.heads, HeadStatistic::Entropy),
            two_keys::two_keys(self.results, &self.pilots),
            order::order(self.results),
        ];
        let parts: Vec<Explanation> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            return Ok(false);
        }
        let mut text = "# What may explain the study\n\nWritten by `cargo xtask table` from docs/results/study; do not edit. \
                        From the models of the [study](study.md), described and not tested; each part says of which trunks it is. Of \
                        several, numbers are means and bands reach from the lowest trunk to the highest; of one, bands are Wilson's 95 % \
                        intervals of its questions, and attention and entropy have none; what has a dash is not \
                        measured yet.\n"
            .to_owned();
        for Explanation { title, trunks, paragraph, figure: (file, drawn), caption, table } in parts {
            files::write(&docs.join(file), plot(&drawn)?.as_bytes())?;
            let picture = picture(file, caption);
            let of = of_trunks(&trunks);
            text.push_str(&format!("\n## {title}\n\n{of} {paragraph}\n\n{picture}{}\n", table.trim_end()));
        }
        files::write(&docs.join("study-why.md"), text.as_bytes())?;
        Ok(true)
    }
}

/// `Of trunk 1 alone.`
fn of_trunks(trunks: &BTreeSet<usize>) -> String {
    match &trunks.iter().collect::<Vec<_>>()[..] {
        [one] => format!("Of trunk {one} alone."),
        several => format!("Of {} trunks.", several.len()),
    }
}

/// A line through what was measured at each x; `None` where nothing was. Of one trunk the band is the interval.
fn line(
    name: &str,
    style: usize,
    unit: f64,
    points: impl IntoIterator<Item = (f64, Option<OverTrunks>)>,
) -> Option<PlotLine> {
    let point = |(x, over): (f64, Option<OverTrunks>)| {
        let OverTrunks { mean, ci95, low, high, trunks } = over?;
        let [low, high] = ci95.filter(|_| trunks == 1).unwrap_or([low, high]);
        let [y, low, high] = [mean, low, high].map(|number| unit * number);
        Some(PlotPoint { x, y, low, high })
    };
    let points: Vec<PlotPoint> = points.into_iter().filter_map(point).collect();
    (!points.is_empty()).then(|| PlotLine { name: name.to_owned(), style, points })
}

/// `97.1`, and the number of trunks where there are several.
fn mean_text(over: Option<OverTrunks>, unit: f64, decimals: usize) -> Option<String> {
    let OverTrunks { mean, trunks, .. } = over?;
    let trunks = if trunks > 1 { format!(" ({trunks})") } else { String::new() };
    Some(format!("{:.decimals$}{trunks}", unit * mean))
}

#[cfg(test)]
mod tests;
