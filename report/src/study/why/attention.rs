//! What copies change in attention: its mass on the needle, and its entropy, along the length.

use drope_core::positions::Method;
use drope_core::probe::{HeadCell, HeadProbe, PARTS};
use drope_core::results::ResultCell;

use super::super::models::{StudyReading, TRUNKS, run_and_trunk, title};
use super::super::questions::{LENGTHS, QUESTION_SEED};
use super::super::rows::OverTrunks;
use super::{Along, Explanation};
use crate::markdown::{by_length, joined, table};
use crate::plot::{self, Axis};

/// Runs and how they are read. Copies come before none, so that styles are those of the main figure.
const FOLLOWED: [(&str, Method); 8] = [
    ("all-copies", Method::Drope),
    ("low-copies", Method::PDrope),
    ("all", Method::Drope),
    ("low", Method::PDrope),
    ("keep-copies", Method::Rope),
    ("keep", Method::Rope),
    ("keep-copies", Method::Yarn),
    ("keep", Method::Yarn),
];

const LONGEST: usize = LENGTHS[LENGTHS.len() - 1];

/// The share of attention on the needle of the head that gives it most at 1×.
pub fn needle(cells: &[HeadCell]) -> Option<Explanation> {
    let of_heads = |heads: &[&HeadCell], extension: usize| {
        let at = |s: usize| heads.iter().filter(move |cell| cell.extension == s).map(|cell| &cell.probe);
        let most = at(1).max_by(|a, b| a.needle_of_question.total_cmp(&b.needle_of_question))?;
        let is_same = |probe: &&HeadProbe| (probe.layer, probe.head) == (most.layer, most.head);
        Some(at(extension).find(is_same)?.needle_of_question)
    };
    follow(
        cells,
        &Statistic {
            title: "What copies change in the attention on the needle",
            introduction: "In each model the head that gives the asked needle most attention at 1×, of the token of the question \
                           that attends to it most, is followed to longer texts. At 8× it gives the needle this share of what it \
                           gave at 1×:",
            caption: "Attention on the asked needle along the length, of the head that gives it most at 1×.",
            file: "study-needle.svg",
            of_heads: &of_heads,
            bound: None,
            change: &|first, last| format!("{:.0} %", 100.0 * last / first),
            unit: 100.0,
            decimals: 1,
            axis: ("attention on the needle, %", &|y| format!("{y:.0}")),
        },
    )
}

/// The mean entropy of all heads, of the queries in the last part of the text, nats.
pub fn entropy(cells: &[HeadCell]) -> Option<Explanation> {
    let last = |nats: &[f64]| nats.get(PARTS - 1).copied().unwrap_or_default();
    let of_heads = |heads: &[&HeadCell], s: usize| {
        let here = heads.iter().filter(|cell| cell.extension == s);
        Some(OverTrunks::of(&here.map(|cell| last(&cell.probe.entropies)).collect::<Vec<f64>>())?.mean)
    };
    let bound = |s: usize| {
        let cell = cells.iter().find(|cell| is_asked(cell) && cell.extension == s)?;
        OverTrunks::of(&[last(&cell.probe.entropy_bounds)])
    };
    follow(
        cells,
        &Statistic {
            title: "What copies change in the entropy of attention",
            introduction: "The mean entropy of all heads over the last sixteenth of the text: the more texts grow, the more keys \
                           share the attention, unless something sharpens it; its bound, ln i at the i-th token, grows by \
                           ln 8 = 2.08 nats from 1× to 8×. What it grows by in nats:",
            caption: "Mean entropy of all heads in the last sixteenth of the text along the length, below its bound.",
            file: "study-entropy.svg",
            of_heads: &of_heads,
            bound: Some(&bound),
            change: &|first, last| format!("{:+.2}", last - first),
            unit: 1.0,
            decimals: 2,
            axis: ("entropy, nats", &|y| format!("{y:.1}")),
        },
    )
}

/// What is followed along the length.
struct Statistic<'a> {
    title: &'static str,
    /// What the changes that follow it are of.
    introduction: &'static str,
    caption: &'static str,
    file: &'static str,
    /// Of the heads of one model at a length; `None` where they were not probed.
    of_heads: &'a dyn Fn(&[&HeadCell], usize) -> Option<f64>,
    /// What it cannot exceed at a length.
    bound: Option<&'a dyn Fn(usize) -> Option<OverTrunks>>,
    /// How it changes from 1× to the longest texts.
    change: &'a dyn Fn(f64, f64) -> String,
    unit: f64,
    decimals: usize,
    /// Name of the axis, and what stands at its numbers.
    axis: (&'static str, &'static dyn Fn(f64) -> String),
}

/// `DroPE with copies`, `RoPE, YaRN`
fn name(&(run, method): &(&str, Method)) -> String {
    let reading = StudyReading { method, parameters: Default::default() };
    if reading == StudyReading::plain(run) { title(run) } else { format!("{}, {}", title(run), method.title()) }
}

/// Follows heads from 1× to the longest texts.
fn follow(cells: &[HeadCell], statistic: &Statistic) -> Option<Explanation> {
    let asked: Vec<(&HeadCell, (&str, usize))> = cells
        .iter()
        .filter(|cell| is_asked(cell))
        .filter_map(|cell| Some((cell, run_and_trunk(&cell.model)?)))
        .collect();
    let at = |&(run, method): &(&str, Method), s: &usize| {
        let of_trunk = |trunk| {
            let is_of = |(cell, model): &&(&HeadCell, _)| cell.method == method && *model == (run, trunk);
            let heads: Vec<&HeadCell> = asked.iter().filter(is_of).map(|(cell, _)| *cell).collect();
            (statistic.of_heads)(&heads, *s)
        };
        OverTrunks::of(&TRUNKS.filter_map(of_trunk).collect::<Vec<f64>>())
    };
    let place = |s: &usize| (*s as f64).log2();
    let Statistic { unit, decimals, axis, .. } = *statistic;
    let along = Along { things: &FOLLOWED, name: &name, xs: &LENGTHS, place: &place, at: &at, unit, decimals };
    let mut lines = along.lines();
    if lines.is_empty() {
        return None;
    }
    if let Some(bound) = statistic.bound {
        let at = |_: &&str, s: &usize| bound(*s);
        let name = |name: &&str| (*name).to_owned();
        let things = &["bound, ln i"];
        let bounds = Along { things, name: &name, xs: &LENGTHS, place: &place, at: &at, unit, decimals }.lines();
        lines.extend(bounds.into_iter().map(|line| plot::PlotLine { style: FOLLOWED.len(), ..line }));
    }
    let highest = lines.iter().flat_map(|line| &line.points).map(|point| point.high).fold(0.0, f64::max);
    let change = |followed| {
        let [first, last] = [1, LONGEST].map(|s| at(followed, &s));
        Some(format!("{} {}", name(followed), (statistic.change)(first?.mean, last?.mean)))
    };
    let y = Axis { name: axis.0, range: [0.0, 1.04 * highest], labels: 9, label: axis.1 };
    Some(Explanation {
        title: statistic.title,
        trunks: asked.iter().map(|(_, (_, trunk))| *trunk).collect(),
        paragraph: format!("{} {}.", statistic.introduction, joined(FOLLOWED.iter().filter_map(change), "; ")),
        figure: (statistic.file, plot::by_length(LONGEST, y, lines)),
        caption: statistic.caption,
        table: table(by_length("", &LENGTHS), along.rows()),
    })
}

fn is_asked(cell: &HeadCell) -> bool {
    let reading = cell.reading();
    cell.questions.are_usual(QUESTION_SEED)
        && (reading.beta_given, reading.cut) == (false, None)
        && reading.parameters.is_empty()
}
