//! Table 1 of the DoPE paper, in small.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::Method;

use super::Section;
use crate::comparison::Comparison;
use crate::markdown::{joined, line, table};
use crate::number::{Number, Row, questions};
use crate::results::{Ask, Results, system};
use crate::verdict::Verdict;

/// Queries or keys, r, number of heads, stage, order, as `core dope select` names its files: rows of the paper's table that did
/// best in some column.
const CHOICES: [&str; 4] = [
    "key-32-3-post_ntk-ascending",
    "query-1-5-post_ntk-ascending",
    "key-8-1-post_ntk-descending",
    "query-16-3-pre_ntk-ascending",
];

const TREATMENTS: [Method; 3] = [Method::DopeGaussian, Method::DopeAll, Method::DopeParts];
const EXTENSIONS: [usize; 2] = [2, 4];

/// Sink tokens behind the needle; the paper does not say how many.
const SINKS: usize = 8;

/// A treatment with a choice of heads, with sinks behind the needle and without.
pub struct DopeRow {
    /// NTK alone, or one of DoPE's.
    pub treatment: Method,
    noisy: Row,
    pub plain: Row,
}

impl DopeRow {
    fn at(&self, extension: usize, is_noisy: bool) -> Option<&Number> {
        if is_noisy { self.noisy.at(extension) } else { self.plain.at(extension) }
    }
}

/// Lengths, and whether there are sinks: the columns of the table.
fn columns() -> impl Iterator<Item = (usize, bool)> {
    EXTENSIONS.into_iter().flat_map(|s| [(s, true), (s, false)])
}

pub fn compare_treatments(results: &Results) -> Result<Option<Section>> {
    let rows = rows(results)?;
    let Some(first) = rows.get(1) else { return Ok(None) };
    let header = columns().map(|(s, is_noisy)| if is_noisy { format!("{s}×, noisy") } else { format!("{s}×") });
    let lines = rows.iter().map(|row| {
        let scores = EXTENSIONS.into_iter().flat_map(|s| [row.noisy.percent_at(s), row.plain.percent_at(s)]);
        line(row.plain.label(), scores)
    });
    // `dope-all: key r32 …` without the treatment.
    let heads = first.plain.system.split_once(": ").map_or("", |(_, heads)| heads);
    Ok(Some(Section {
        paper: "Llama-3-8B-Instruct at 24K, noisy / original: dynamic NTK 75.4 / 91.9, by Gaussian (3 heads by keys, r = 32, \
                post_ntk, ascending) 84.4 / 94.4, by all (the same heads) 82.0 / 93.8, by parts at best 76.6 / 93.1."
            .into(),
        body: format!(
            "{} questions a cell; noisy: {SINKS} beginning-of-text tokens right behind the needle.\n\n{}",
            questions(rows.iter().flat_map(|row| [&row.noisy, &row.plain])),
            table(line("multi-key, numbers", header), lines)
        ),
        verdict: format!(
            "Beside NTK, with the heads by which the paper did best ({heads}):\n\n{}",
            TREATMENTS.map(|treatment| sentence(&rows, treatment)).join("\n")
        ),
        charts: Vec::new(),
    }))
}

/// NTK first, then every treatment with every choice of heads.
pub fn rows(results: &Results) -> Result<Vec<DopeRow>> {
    let row = |name: &str, treatment: Method, heads: Option<&str>| {
        let scores = |sinks: usize| {
            let ask = Ask { sinks, heads, ..Ask::new("dope", Task::MultiKey, &EXTENSIONS) };
            let row = results.exact(&system("", "nano-rope", treatment), &ask);
            Row { system: name.to_owned(), ..row }
        };
        DopeRow { treatment, noisy: scores(SINKS), plain: scores(0) }
    };
    let mut rows = vec![row("NTK by s (dynamic NTK with α = s)", Method::Ntk, None)];
    for choice in CHOICES {
        let Some(heads) = results.heads_in(&format!("dope-heads-{choice}.json"))? else { continue };
        rows.extend(TREATMENTS.map(|method| row(&format!("{}: {heads}", method.name()), method, Some(&heads))));
    }
    Ok(rows)
}

/// A treatment with the paper's heads, the first of its rows, beside NTK, the first of all:
/// `- dope-parts: 98.0 [93.0, 99.4] at 2x, level with NTK; …. That it gains holds here at 4x.`
fn sentence(rows: &[DopeRow], treatment: Method) -> String {
    let row = rows.iter().find(|row| row.treatment == treatment);
    let (mut scores, mut verdicts, mut gained) = (Vec::new(), Vec::new(), Vec::new());
    for (s, is_noisy) in columns() {
        let pair = row.and_then(|row| row.at(s, is_noisy)).zip(rows.first().and_then(|ntk| ntk.at(s, is_noisy)));
        let Some((ours, ntk)) = pair else { continue };
        let column = format!("{s}x{}", if is_noisy { ", noisy" } else { "" });
        let relation = Comparison::new(s, ours, &[("NTK", ntk)]).relations_to_all();
        scores.push(format!("{} at {column}, {relation}", ours.percent()));
        verdicts.push(Verdict::is_higher(Some(ours), Some(ntk)));
        gained.extend(ours.is_above(ntk).then_some(column));
    }
    let papers = if treatment == Method::DopeGaussian { ", the paper's method" } else { "" };
    let verdict = match &gained[..] {
        [] => Verdict::all(verdicts).words().to_owned(),
        columns => format!("holds here at {}", columns.join(" and ")),
    };
    format!("- {}{papers}: {}. That it gains {verdict}.", treatment.name(), joined(scores, "; "))
}

#[cfg(test)]
mod tests {
    use super::{DopeRow, Method, sentence};
    use crate::number::made_up::row;

    #[test]
    fn a_treatment_is_judged_by_its_first_heads() {
        let row = |treatment, share: f64| {
            let row = row("", 0.05, &[(4, share)]);
            DopeRow { treatment, noisy: row.clone(), plain: row }
        };
        let rows = [row(Method::Ntk, 0.5), row(Method::DopeAll, 0.3), row(Method::DopeAll, 0.9)];
        assert_eq!(
            sentence(&rows, Method::DopeAll),
            "- dope-all: 30.0 [25.0, 35.0] at 4x, noisy, below NTK; 30.0 [25.0, 35.0] at 4x, below NTK. That it gains does not \
             hold here."
        );
        assert!(sentence(&rows, Method::DopeParts).ends_with("That it gains is not measured."));
    }
}
