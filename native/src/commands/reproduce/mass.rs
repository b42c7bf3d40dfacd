//! Figure 8 of the DroPE paper: attention on the needle; and Wang's figure 3, entropy.

use anyhow::{Context, Result};
use drope_core::positions::Method;
use drope_core::probe::{HeadCell, HeadProbe, PARTS};
use drope_core::results::rounded;
use serde::Serialize;

use super::chart::{self, Axes, Series};
use super::context::{EXTENSIONS, ReportContext};
use super::markdown::{by_length, percent, picture, table};
use super::report::{Section, SectionText};
use super::verdict::Verdict;

const METHODS: [(&str, &str, Method); 6] = [
    ("RoPE", "nano-rope", Method::Rope),
    ("PI", "nano-rope", Method::Pi),
    (YARN, "nano-rope", Method::Yarn),
    ("NoPE", "nano-nope", Method::Nope),
    ("DroPE", "nano-drope", Method::Drope),
    ("partial DroPE", "nano-p-drope", Method::PDrope),
];

const YARN: &str = "YaRN";

/// The head that attends to the needle most within the context, followed to longer texts.
#[derive(Serialize)]
struct AttentionRow {
    system: &'static str,
    layer: usize,
    head: usize,
    /// One a length.
    followed: Vec<FollowedHead>,
    /// Mean entropy of all heads along the longest texts, nats, and its bound.
    entropies: Vec<f64>,
    bounds: Vec<f64>,
}

/// What the head does at one length.
#[derive(Serialize)]
struct FollowedHead {
    extension: usize,
    /// Share of attention on the needle, of the token of the question that attends to it most.
    attention: f64,
    /// Of the last query, nats, and its bound.
    entropy: f64,
    bound: f64,
}

/// What the head still gives the needle in the longest texts, as a share of what it gave at 1x.
#[derive(Serialize)]
struct KeptAttention {
    system: &'static str,
    share: f64,
}

#[derive(Serialize)]
struct MassVerdict {
    kept: Vec<KeptAttention>,
    /// That YaRN takes attention from the needle.
    yarn_takes: Verdict,
}

/// The share of its attention that a head must lose to count; the means have no intervals.
const TAKEN: f64 = 0.1;

fn yarn_takes_attention(kept: &[KeptAttention]) -> Verdict {
    let yarn = kept.iter().find(|kept| kept.system == YARN);
    yarn.map_or(Verdict::NotMeasured, |yarn| Verdict::of(yarn.share <= 1.0 - TAKEN))
}

pub fn follow_attention(context: &ReportContext) -> Result<Section> {
    let mut rows = Vec::new();
    for (system, model, method) in METHODS {
        let cells = context.heads(model, method, &EXTENSIONS)?;
        if !cells.is_empty() {
            rows.push(follow(system, &cells)?);
        }
    }
    let kept: Vec<KeptAttention> = rows.iter().filter_map(kept).collect();
    let verdict = MassVerdict { yarn_takes: yarn_takes_attention(&kept), kept };
    let kept = &verdict.kept;
    let shares: Vec<String> = kept.iter().map(|kept| format!("{} {}", kept.system, percent(kept.share))).collect();
    let longest = longest();
    let line = |row: &AttentionRow| -> Vec<String> {
        let cell = |head: &FollowedHead| format!("{:.3}; {:.2} of {:.2}", head.attention, head.entropy, head.bound);
        let named = format!("{} (layer {}, head {})", row.system, row.layer, row.head);
        std::iter::once(named).chain(row.followed.iter().map(cell)).collect()
    };
    let header = by_length("attention on the needle; entropy of the last query, of its bound, nats", &EXTENSIONS);
    let text = SectionText {
        paper: "in a semantic head of Qwen2.5-0.5B, YaRN shifts the last query's attention between tokens, which the paper takes for why it finds no needles. Wang et al.: \
            the entropy of NoPE's heads grows with the length towards its bound ln i, and attention is distracted."
            .into(),
        body: format!(
            "The head with most attention on the needle at 1×, of the token of the question that attends to it most: these models \
             look it up at the key inside the question, not at the last token.\n\n{}{}",
            table(&header, &rows.iter().map(line).collect::<Vec<_>>()),
            picture("entropy.svg", &format!("Entropy of attention along texts of {longest}×, below its bound."))
        ),
        verdict: format!(
            "At {longest}x the head still gives the needle this share of what it gave at 1x: {}. That YaRN takes attention from \
             the needle {} (a tenth or more would count; one model, one head, of a token of the question and not the last one).",
            shares.join(", "),
            verdict.yarn_takes.words()
        ),
        charts: vec![("entropy.svg".into(), entropy_chart(&rows)?)],
    };
    Section::new(&rows, &verdict, text)
}

impl FollowedHead {
    /// In steps that a file keeps, so that a report rendered from it is the same.
    fn new(cell: &HeadCell) -> Self {
        let HeadCell { probe, .. } = cell;
        Self {
            extension: cell.extension,
            attention: rounded(probe.needle_of_question),
            entropy: rounded(probe.entropy),
            bound: rounded(probe.entropy_bound),
        }
    }
}

fn longest() -> usize {
    EXTENSIONS.into_iter().max().unwrap_or(1)
}

fn follow(system: &'static str, cells: &[HeadCell]) -> Result<AttentionRow> {
    let at = |extension: usize| cells.iter().filter(move |cell| cell.extension == extension);
    let best = at(1).max_by(|a, b| a.probe.needle_of_question.total_cmp(&b.probe.needle_of_question));
    let HeadProbe { layer, head, .. } = best.context("no head was probed at 1x")?.probe;
    let same = |cell: &&HeadCell| (cell.probe.layer, cell.probe.head) == (layer, head);
    let longest: Vec<&HeadProbe> = at(longest()).map(|cell| &cell.probe).collect();
    let mean = |nats: fn(&HeadProbe) -> &[f64]| -> Vec<f64> {
        let sum = |part: usize| longest.iter().map(|probe| nats(probe)[part]).sum::<f64>();
        (0..PARTS).map(|part| rounded(sum(part) / longest.len().max(1) as f64)).collect()
    };
    Ok(AttentionRow {
        system,
        layer,
        head,
        followed: EXTENSIONS.into_iter().filter_map(|s| at(s).find(same)).map(FollowedHead::new).collect(),
        entropies: mean(|probe| &probe.entropies),
        bounds: mean(|probe| &probe.entropy_bounds),
    })
}

fn kept(row: &AttentionRow) -> Option<KeptAttention> {
    let [first, .., last] = &row.followed[..] else { return None };
    Some(KeptAttention { system: row.system, share: last.attention / first.attention })
}

fn entropy_chart(rows: &[AttentionRow]) -> Result<String> {
    let middle = |part: usize| longest() as f64 * (part as f64 + 0.5) / PARTS as f64;
    let along = |name: &str, nats: &[f64]| Series {
        name: name.to_owned(),
        points: nats.iter().enumerate().map(|(part, &nats)| (middle(part), nats)).collect(),
    };
    // RoPE comes first, whose heads all see everything.
    let bound = rows.first().map(|row| along("bound, ln i", &row.bounds));
    let lines: Vec<Series> =
        bound.into_iter().chain(rows.iter().map(|row| along(row.system, &row.entropies))).collect();
    let axes =
        Axes { x: "position, in training contexts", y: "mean entropy of all heads, nats", is_log: [false, false] };
    chart::lines(&axes, &lines)
}

#[cfg(test)]
mod tests {
    use super::{KeptAttention, Verdict, YARN, yarn_takes_attention};

    #[test]
    fn yarn_must_lose_a_tenth_to_take_attention() {
        let kept = |share| [KeptAttention { system: "PI", share: 0.5 }, KeptAttention { system: YARN, share }];
        assert_eq!(yarn_takes_attention(&kept(0.988)), Verdict::DoesNotHold);
        assert_eq!(yarn_takes_attention(&kept(0.9)), Verdict::Holds);
        assert_eq!(yarn_takes_attention(&[]), Verdict::NotMeasured);
    }
}
