//! Wang et al. (2024): pass keys at growing lengths, with and without temperatures.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::RetrievalCell;

use super::Section;
use crate::comparison::Comparison;
use crate::markdown::{by_length, joined, line, or_dash, picture, table};
use crate::number::{Number, Row, find, questions};
use crate::plot;
use crate::results::{Ask, EXTENSIONS, Results, System, system};

const DEPTHS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
const LONGEST: usize = EXTENSIONS[EXTENSIONS.len() - 1];

const SYSTEMS: [System; 5] = [
    system("RoPE", "passkey-rope", Method::Rope),
    system("RoPE with YaRN", "passkey-rope", Method::Yarn),
    system("NoPE", "passkey-nope", Method::Nope),
    system("NoPE, UniformScale", "passkey-nope-uniform", Method::Nope),
    system("NoPE, HeadScale", "passkey-nope-head", Method::Nope),
];

/// What the paper says is better, than what, and at which length here.
const CLAIMS: [(&str, &str, usize); 3] =
    [("NoPE", "RoPE", 2), ("NoPE, UniformScale", "NoPE", 8), ("NoPE, HeadScale", "NoPE, UniformScale", 8)];

pub fn compare_temperatures(results: &Results) -> Result<Option<Section>> {
    let ask = Ask { depths: &DEPTHS, ..Ask::new("passkey", Task::Passkey, &EXTENSIONS) };
    let cells: Vec<Vec<&RetrievalCell>> = SYSTEMS.iter().map(|system| results.answers(system, &ask)).collect();
    if cells.iter().all(Vec::is_empty) {
        return Ok(None);
    }
    let rows: Vec<Row> = SYSTEMS.iter().zip(&cells).map(|(system, cells)| over_depths(system.name, cells)).collect();
    let perplexity = |system: &System| Row::of_perplexities(system.name, &results.perplexities(system, &EXTENSIONS));
    let perplexities: Vec<Row> = SYSTEMS.iter().map(perplexity).collect();
    let lines = rows.iter().zip(&perplexities).map(|(row, perplexity)| {
        let loss = |s| or_dash(perplexity.at(s).map(|number| format!("{:.1}", number.value)));
        line(row.label(), EXTENSIONS.map(|s| format!("{}; {}", row.percent_at(s), loss(s))))
    });
    let by_depth = rows.iter().zip(&cells).map(|(row, cells)| {
        let at = |depth| cells.iter().find(|cell| (cell.extension, cell.depth) == (LONGEST, Some(depth)));
        line(row.label(), DEPTHS.map(|depth| or_dash(at(depth).map(|cell| Number::exact(cell).percent()))))
    });
    let header = line(format!("at {LONGEST}×"), DEPTHS.map(|depth| format!("depth {depth}")));
    Ok(Some(Section {
        paper: "NoPE reads some 20 % beyond its training length, RoPE 10 %; scaling the logits by 1.2 carries NoPE to more than \
                twice, and a temperature for each head further still, with pass keys found that plain NoPE misses."
            .into(),
        body: format!(
            "Models trained on pass keys no longer than C (recipes/reproduction/passkey.toml); {} questions a cell, {} depths, \
             Wang's repeated filler; numbers divisible by 8 are kept from training.\n\n{}{}{}",
            questions(&rows),
            DEPTHS.len(),
            table(by_length("pass key; perplexity of held-out documents", &EXTENSIONS), lines),
            table(header, by_depth),
            picture("passkey.svg", "Perplexity of held-out documents.")
        ),
        verdict: format!("\n\n- {}", joined(CLAIMS.iter().filter_map(|claim| judge(&rows, claim)), "\n- ")),
        charts: vec![("passkey.svg".into(), plot::perplexities(&perplexities))],
    }))
}

/// The questions of all depths of a length together.
fn over_depths(name: &str, cells: &[&RetrievalCell]) -> Row {
    let at = |s: usize| cells.iter().filter(move |cell| cell.extension == s).copied().collect::<Vec<_>>();
    let numbers = EXTENSIONS.into_iter().filter_map(|s| Some((s, Number::pooled(&at(s))?))).collect();
    Row { numbers, ..Row::of_cells(name, cells, Number::exact) }
}

fn judge(rows: &[Row], &(better, worse, extension): &(&str, &str, usize)) -> Option<String> {
    let score = |name: &str| find(rows, name)?.at(extension);
    let (ours, other) = (score(better)?, score(worse)?);
    let order = if ours.is_above(other) {
        "is the paper's order"
    } else if other.is_above(ours) {
        "is not the paper's order"
    } else {
        "the first is better, as in the paper, does not show"
    };
    Some(format!("{} That {order}.", Comparison::new(extension, ours, &[(worse, other)]).sentence(better)))
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::number::made_up::row;

    #[test]
    fn claims_are_judged_by_intervals() {
        let of = |nope, rope| {
            judge(&[row("NoPE", 0.05, &[(2, nope)]), row("RoPE", 0.05, &[(2, rope)])], &("NoPE", "RoPE", 2))
        };
        assert!(of(0.9, 0.5).unwrap().ends_with("is above RoPE. That is the paper's order."));
        assert!(of(0.5, 0.9).unwrap().ends_with("That is not the paper's order."));
        assert!(of(0.5, 0.5).unwrap().ends_with("as in the paper, does not show."));
    }
}
