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

use super::rows::{OverTrunks, StudyResults};
use crate::files;
use crate::markdown::{line, or_dash, picture};
use crate::plot::{Plot, PlotLine, PlotPoint, plot};

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
            attention::needle(&self.heads),
            attention::entropy(&self.heads),
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
            files::write(&docs.join(file), &plot(&drawn)?)?;
            let picture = picture(file, caption);
            let of = of_trunks(&trunks);
            text.push_str(&format!("\n## {title}\n\n{of} {paragraph}\n\n{picture}{}\n", table.trim_end()));
        }
        files::write(&docs.join("study-why.md"), &text)?;
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

/// What is measured of several models or kinds of questions along one axis, and how it is written.
struct Along<'a, T, X> {
    things: &'a [T],
    name: &'a dyn Fn(&T) -> String,
    xs: &'a [X],
    /// Where an x is drawn.
    place: &'a dyn Fn(&X) -> f64,
    at: &'a dyn Fn(&T, &X) -> Option<OverTrunks>,
    /// Multiplies all numbers: 100 for percent.
    unit: f64,
    decimals: usize,
}

impl<T, X> Along<'_, T, X> {
    /// A line for each thing that is measured somewhere. Of one trunk the band is the interval.
    fn lines(&self) -> Vec<PlotLine> {
        let point = |thing: &T, x: &X| {
            let OverTrunks { mean, ci95, low, high, trunks } = (self.at)(thing, x)?;
            let [low, high] = ci95.filter(|_| trunks == 1).unwrap_or([low, high]);
            let [y, low, high] = [mean, low, high].map(|number| self.unit * number);
            Some(PlotPoint { x: (self.place)(x), y, low, high })
        };
        let line = |(style, thing): (usize, &T)| {
            let points: Vec<PlotPoint> = self.xs.iter().filter_map(|x| point(thing, x)).collect();
            (!points.is_empty()).then(|| PlotLine { name: (self.name)(thing), style, points })
        };
        self.things.iter().enumerate().filter_map(line).collect()
    }

    /// A number in a table, and of how many trunks it is the mean, where there are several.
    fn text(&self, thing: &T, x: &X) -> String {
        or_dash((self.at)(thing, x).map(|OverTrunks { mean, trunks, .. }| {
            let trunks = if trunks > 1 { format!(" ({trunks})") } else { String::new() };
            format!("{:.*}{trunks}", self.decimals, self.unit * mean)
        }))
    }

    /// A line of a table for each thing that is measured somewhere.
    fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        let is_measured = |thing: &&T| self.xs.iter().any(|x| (self.at)(thing, x).is_some());
        let row = |thing| line((self.name)(thing), self.xs.iter().map(|x| self.text(thing, x)));
        self.things.iter().filter(is_measured).map(row)
    }
}

#[cfg(test)]
mod tests;
