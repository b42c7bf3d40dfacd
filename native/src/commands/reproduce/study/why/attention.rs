//! What copies change in attention: its mass on the needle, and its entropy, along the length.

use drope_core::positions::Method;
use drope_core::probe::{HeadCell, HeadProbe, PARTS};
use drope_core::results::ResultCell;

use super::super::super::markdown::{DASH, by_length, table};
use super::super::models::{StudyReading, TRUNKS, run_and_trunk, title};
use super::super::plot::{self, Axis, PlotLine};
use super::super::questions::{LENGTHS, QUESTION_SEED};
use super::super::rows::OverTrunks;
use super::{Explanation, line, mean_text};

/// What is followed along the length.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum HeadStatistic {
    /// Share of attention on the needle of the head that gives it most at 1×.
    Needle,
    /// Mean entropy of all heads, of the queries in the last part of the text, nats.
    Entropy,
}

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

/// Follows heads from 1× to the longest texts.
pub fn follow(cells: &[HeadCell], statistic: HeadStatistic) -> Option<Explanation> {
    let at = |run: &str, method: Method, s: usize| {
        let of_trunk = |trunk| statistic.of(&heads(cells, (run, trunk), method), s);
        OverTrunks::of(&TRUNKS.filter_map(of_trunk).collect::<Vec<f64>>())
    };
    let name = |run: &str, method: Method| {
        let reading = StudyReading { method, parameters: Default::default() };
        if reading == StudyReading::plain(run) { title(run) } else { format!("{}, {}", title(run), method.title()) }
    };
    let along = |run, method| LENGTHS.map(|s| ((s as f64).log2(), at(run, method, s)));
    let mut lines: Vec<PlotLine> = FOLLOWED
        .iter()
        .enumerate()
        .filter_map(|(style, &(run, method))| line(&name(run, method), style, statistic.unit(), along(run, method)))
        .collect();
    if lines.is_empty() {
        return None;
    }
    if statistic == HeadStatistic::Entropy {
        let bound = |s: usize| {
            let cell = cells.iter().find(|cell| is_asked(cell) && cell.extension == s)?;
            OverTrunks::of(&[last(&cell.probe.entropy_bounds)])
        };
        lines.extend(line("bound, ln i", FOLLOWED.len(), 1.0, LENGTHS.map(|s| ((s as f64).log2(), bound(s)))));
    }
    let highest = lines.iter().flat_map(|line| &line.points).map(|point| point.high).fold(0.0, f64::max);
    let row = |&(run, method): &(&str, Method)| {
        let numbers = LENGTHS.map(|s| mean_text(at(run, method, s), statistic.unit(), statistic.decimals()));
        numbers.iter().any(Option::is_some).then(|| {
            let numbers = numbers.map(|number| number.unwrap_or_else(|| DASH.to_owned()));
            std::iter::once(name(run, method)).chain(numbers).collect::<Vec<_>>()
        })
    };
    let change = |&(run, method): &(&str, Method)| {
        let [first, last] = [1, LONGEST].map(|s| at(run, method, s));
        Some(statistic.change(&name(run, method), first?.mean, last?.mean))
    };
    let changes: Vec<String> = FOLLOWED.iter().filter_map(change).collect();
    let y = Axis {
        name: statistic.axis(),
        range: [0.0, 1.04 * highest],
        labels: 9,
        label: if statistic == HeadStatistic::Needle { &|y| format!("{y:.0}") } else { &|y| format!("{y:.1}") },
    };
    Some(Explanation {
        title: statistic.title(),
        trunks: cells
            .iter()
            .filter(|cell| is_asked(cell))
            .filter_map(|cell| Some(run_and_trunk(&cell.model)?.1))
            .collect(),
        paragraph: format!("{} {}.", statistic.introduction(), changes.join("; ")),
        figure: (statistic.file(), plot::by_length(LONGEST, y, lines)),
        caption: statistic.caption(),
        table: table(&by_length("", &LENGTHS), &FOLLOWED.iter().filter_map(row).collect::<Vec<_>>()),
    })
}

fn is_asked(cell: &HeadCell) -> bool {
    let reading = cell.reading();
    cell.seed == QUESTION_SEED && (reading.beta_given, reading.cut) == (false, None) && reading.parameters.is_empty()
}

/// The heads of a model at all lengths.
fn heads<'a>(cells: &'a [HeadCell], model: (&str, usize), method: Method) -> Vec<&'a HeadCell> {
    let is_of = |cell: &&HeadCell| is_asked(cell) && cell.method == method && run_and_trunk(&cell.model) == Some(model);
    cells.iter().filter(is_of).collect()
}

/// Nats in the last part of the text.
fn last(nats: &[f64]) -> f64 {
    nats.get(PARTS - 1).copied().unwrap_or_default()
}

impl HeadStatistic {
    /// Of the heads of one model at a length; `None` where they were not probed.
    fn of(self, heads: &[&HeadCell], extension: usize) -> Option<f64> {
        let at = |s: usize| heads.iter().filter(move |cell| cell.extension == s).map(|cell| &cell.probe);
        match self {
            Self::Needle => {
                let most = at(1).max_by(|a, b| a.needle_of_question.total_cmp(&b.needle_of_question))?;
                let is_same = |probe: &&HeadProbe| (probe.layer, probe.head) == (most.layer, most.head);
                Some(at(extension).find(is_same)?.needle_of_question)
            }
            Self::Entropy => {
                let entropies: Vec<f64> = at(extension).map(|probe| last(&probe.entropies)).collect();
                OverTrunks::of(&entropies).map(|over| over.mean)
            }
        }
    }

    fn change(self, name: &str, first: f64, last: f64) -> String {
        match self {
            Self::Needle => format!("{name} {:.0} %", 100.0 * last / first),
            Self::Entropy => format!("{name} {:+.2}", last - first),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Needle => "What copies change in the attention on the needle",
            Self::Entropy => "What copies change in the entropy of attention",
        }
    }

    fn introduction(self) -> &'static str {
        match self {
            Self::Needle => {
                "In each model the head that gives the asked needle most attention at 1×, of the token of the question that \
                 attends to it most, is followed to longer texts. At 8× it gives the needle this share of what it gave at 1×:"
            }
            Self::Entropy => {
                "The mean entropy of all heads over the last sixteenth of the text: the more texts grow, the more keys \
                 share the attention, unless something sharpens it; its bound, ln i at the i-th token, grows by ln 8 = 2.08 nats from \
                 1× to 8×. What it grows by in nats:"
            }
        }
    }

    fn caption(self) -> &'static str {
        match self {
            Self::Needle => "Attention on the asked needle along the length, of the head that gives it most at 1×.",
            Self::Entropy => {
                "Mean entropy of all heads in the last sixteenth of the text along the length, below its bound."
            }
        }
    }

    fn axis(self) -> &'static str {
        match self {
            Self::Needle => "attention on the needle, %",
            Self::Entropy => "entropy, nats",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::Needle => "study-needle.svg",
            Self::Entropy => "study-entropy.svg",
        }
    }

    fn unit(self) -> f64 {
        if self == Self::Needle { 100.0 } else { 1.0 }
    }

    fn decimals(self) -> usize {
        if self == Self::Needle { 1 } else { 2 }
    }
}
