//! Figure 8 of the DroPE paper: attention on the needle; and Wang's figure 3, entropy.

use anyhow::{Context, Result};
use drope_core::positions::Method;
use drope_core::probe::{HeadCell, HeadProbe, PARTS};
use serde_json::json;

use super::chart::{self, Axes, Series};
use super::context::{EXTENSIONS, ReportContext};
use super::report::{Section, by_length, picture, table};
use crate::probe;

const METHODS: [(&str, &str, Method); 6] = [
    ("RoPE", "nano-rope", Method::Rope),
    ("PI", "nano-rope", Method::Pi),
    ("YaRN", "nano-rope", Method::Yarn),
    ("NoPE", "nano-nope", Method::Nope),
    ("DroPE", "nano-drope", Method::Drope),
    ("partial DroPE", "nano-p-drope", Method::PDrope),
];

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    let extensions = EXTENSIONS.to_vec();
    let (mut rows, mut numbers) = (Vec::new(), Vec::new());
    let (mut kept, mut lines) = (Vec::new(), Vec::new());
    let longest = extensions.last().copied().unwrap_or(1);
    for (name, model, method) in METHODS {
        let Some(folder) = context.model(model) else { continue };
        let trials = if context.is_quick() { 15 } else { 50 };
        let sweep = context.sweep(folder, method, extensions.clone(), None, "probe.json");
        let cells = probe::probe(&probe::ProbeArgs { sweep, trials, gradients: 0 })?;
        // The head that probes up the needle within the context is followed to longer texts.
        let at = |extension: usize| cells.iter().filter(move |cell| cell.extension == extension);
        let best = at(1).max_by(|a, b| a.probe.needle_of_question.total_cmp(&b.probe.needle_of_question));
        let best = best.context("no head was probed")?.clone();
        let same = |cell: &&HeadCell| (cell.probe.layer, cell.probe.head) == (best.probe.layer, best.probe.head);
        let followed: Vec<&HeadCell> = extensions.iter().filter_map(|&s| at(s).find(same)).collect();
        let cell = |cell: &&HeadCell| {
            let look = &cell.probe;
            format!("{:.3}; {:.2} of {:.2}", look.needle_of_question, look.entropy, look.entropy_bound)
        };
        let named = format!("{name} (layer {}, head {})", best.probe.layer, best.probe.head);
        rows.push(std::iter::once(named).chain(followed.iter().map(cell)).collect::<Vec<String>>());
        if let [first, .., last] = followed[..] {
            kept.push((name, last.probe.needle_of_question / first.probe.needle_of_question));
        }
        numbers.extend(followed.iter().map(|cell| (*cell).clone()));
        let long: Vec<&HeadProbe> = at(longest).map(|cell| &cell.probe).collect();
        if lines.is_empty() {
            // RoPE comes first, whose heads all see everything.
            lines.extend(long.first().map(|look| along("bound, ln i", longest, &[&look.entropy_bounds])));
        }
        lines.push(along(name, longest, &long.iter().map(|look| &look.entropies[..]).collect::<Vec<_>>()));
    }
    let header = by_length("attention on the needle; entropy of the last query, of its bound, nats", &extensions);
    let axes =
        Axes { x: "position, in training contexts", y: "mean entropy of all heads, nats", is_log: [false, false] };
    let svg = chart::lines(&axes, &lines)?;
    let kept: Vec<String> = kept.iter().map(|(name, share)| format!("{name} {:.0} %", 100.0 * share)).collect();
    Ok(Some(Section {
        title: "Attention on the needle (DroPE paper, figure 8; Wang et al., figure 3)",
        paper: "in a semantic head of Qwen2.5-0.5B, YaRN shifts the last query's attention away from the needle. Wang et al.: \
            the entropy of NoPE's heads grows with the length towards its bound ln i, and attention is distracted."
            .into(),
        body: format!(
            "The head with most attention on the needle at 1×, of the token of the question that probes at it most: these models \
             look it up at the key inside the question, not at the last token.\n\n{}{}",
            table(&header, &rows),
            picture("entropy.svg", &format!("Entropy of attention along texts of {longest}×, below its bound."))
        ),
        verdict: format!(
            "At {longest}x the head still gives the needle this share of what it gave at 1x: {}.",
            kept.join(", ")
        ),
        numbers: json!(numbers),
        charts: vec![("entropy.svg".into(), svg)],
    }))
}

/// The mean of several heads along the text.
fn along(name: &str, longest: usize, heads: &[&[f64]]) -> Series {
    let mean = |part: usize| heads.iter().map(|nats| nats[part]).sum::<f64>() / heads.len().max(1) as f64;
    let middle = |part: usize| longest as f64 * (part as f64 + 0.5) / PARTS as f64;
    Series { name: name.to_owned(), points: (0..PARTS).map(|part| (middle(part), mean(part))).collect() }
}
