//! Figure 8 of the DroPE paper: attention on the needle; and Wang's figure 3, entropy.

use anyhow::Result;
use drope_core::probe::{HeadCell, HeadProbe, PARTS};
use drope_core::results::rounded;

use super::Section;
use super::systems::{DROPE, NOPE, PARTIAL_DROPE, PI, ROPE, YARN};
use crate::markdown::{by_length, joined, line, or_dash, percent, picture, table};
use crate::plot::{self, Curve};
use crate::results::{EXTENSIONS, Results, System};
use crate::verdict::Verdict;

const SYSTEMS: [System; 6] = [ROPE, PI, YARN, NOPE, DROPE, PARTIAL_DROPE];
const LONGEST: usize = EXTENSIONS[EXTENSIONS.len() - 1];

/// The share of its attention that a head must lose to count; the means have no intervals.
const TAKEN: f64 = 0.1;

/// The heads of a system, and among them the one that attends to the needle most within the context, followed to longer texts.
struct AttentionRow<'a> {
    system: &'static str,
    heads: Vec<&'a HeadCell>,
    /// One a length.
    followed: Vec<&'a HeadProbe>,
}

pub fn follow_attention(results: &Results) -> Result<Option<Section>> {
    let rows: Vec<AttentionRow> = SYSTEMS.iter().filter_map(|system| follow(system, results.heads(system))).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let kept: Vec<(&str, f64)> = rows.iter().filter_map(|row| Some((row.system, kept(row)?))).collect();
    let shares = kept.iter().map(|(system, share)| format!("{system} {}", percent(*share)));
    let lines = rows.iter().map(|row| {
        let cell = |head: &&HeadProbe| {
            let HeadProbe { needle_of_question, entropy, entropy_bound, .. } = head;
            format!("{needle_of_question:.3}; {entropy:.2} of {entropy_bound:.2}")
        };
        let HeadProbe { layer, head, .. } = row.followed[0];
        line(format!("{} (layer {layer}, head {head})", row.system), row.followed.iter().map(cell))
    });
    let header = by_length("attention on the needle; entropy of the last query, of its bound, nats", &EXTENSIONS);
    Ok(Some(Section {
        paper: "in a semantic head of Qwen2.5-0.5B, YaRN shifts the last query's attention between tokens, which the paper takes for why it finds no needles. Wang et al.: \
                the entropy of NoPE's heads grows with the length towards its bound ln i, and attention is distracted."
            .into(),
        body: format!(
            "The head with most attention on the needle at 1×, of the token of the question that attends to it most: these models \
             look it up at the key inside the question, not at the last token.\n\n{}{}",
            table(header, lines),
            picture("entropy.svg", &format!("Entropy of attention along texts of {LONGEST}×, below its bound."))
        ),
        verdict: format!(
            "At {LONGEST}x the head still gives the needle this share of what it gave at 1x: {}. That YaRN takes attention from \
             the needle {} (a tenth or more would count; one model, one head, of a token of the question and not the last one).",
            or_dash((!kept.is_empty()).then(|| joined(shares, ", "))),
            yarn_takes_attention(&kept).words()
        ),
        charts: vec![("entropy.svg".into(), entropy_chart(&rows))],
    }))
}

/// `None` where no head was probed at 1x.
fn follow<'a>(system: &System, heads: Vec<&'a HeadCell>) -> Option<AttentionRow<'a>> {
    let at = |extension: usize| {
        heads.iter().map(|cell| (cell.extension, &cell.probe)).filter(move |head| head.0 == extension)
    };
    let best = at(1).max_by(|a, b| a.1.needle_of_question.total_cmp(&b.1.needle_of_question))?.1;
    let is_same = |(_, probe): &(usize, &'a HeadProbe)| (probe.layer, probe.head) == (best.layer, best.head);
    let followed = EXTENSIONS.iter().filter_map(|&s| Some(at(s).find(is_same)?.1)).collect();
    Some(AttentionRow { system: system.name, followed, heads })
}

/// What the head still gives the needle in the longest texts, as a share of what it gave at 1x.
fn kept(row: &AttentionRow) -> Option<f64> {
    let [first, .., last] = &row.followed[..] else { return None };
    // In all lengths, so that the last one is the longest.
    if row.followed.len() < EXTENSIONS.len() {
        return None;
    }
    Some(rounded(last.needle_of_question) / rounded(first.needle_of_question))
}

fn yarn_takes_attention(kept: &[(&str, f64)]) -> Verdict {
    let yarn = kept.iter().find(|(system, _)| *system == YARN.name);
    yarn.map_or(Verdict::NotMeasured, |(_, share)| Verdict::of(*share <= 1.0 - TAKEN))
}

/// The mean entropy of all heads along the longest texts.
fn entropy_chart(rows: &[AttentionRow]) -> plot::Plot<'static> {
    let along = |name: &str, row: &AttentionRow, nats: fn(&HeadProbe) -> &[f64]| -> Curve {
        let longest: Vec<_> = row.heads.iter().filter(|cell| cell.extension == LONGEST).collect();
        let mean = |part: usize| longest.iter().map(|cell| nats(&cell.probe)[part]).sum::<f64>() / longest.len() as f64;
        let middle = |part: usize| LONGEST as f64 * (part as f64 + 0.5) / PARTS as f64;
        (name.to_owned(), (0..PARTS).map(|part| (middle(part), mean(part))).collect())
    };
    // RoPE comes first, whose heads all see everything.
    let bound = rows.first().map(|row| along("bound, ln i", row, |probe| &probe.entropy_bounds));
    let entropies = rows.iter().map(|row| along(row.system, row, |probe| &probe.entropies));
    let curves = bound.into_iter().chain(entropies);
    plot::curves("position, in training contexts", "mean entropy of all heads, nats", [false, false], curves)
}

#[cfg(test)]
mod tests {
    use super::{Verdict, YARN, yarn_takes_attention};

    #[test]
    fn yarn_must_lose_a_tenth_to_take_attention() {
        let of = |share| yarn_takes_attention(&[("PI", 0.5), (YARN.name, share)]);
        assert_eq!((of(0.988), of(0.9)), (Verdict::DoesNotHold, Verdict::Holds));
        assert_eq!(yarn_takes_attention(&[]), Verdict::NotMeasured);
    }
}
