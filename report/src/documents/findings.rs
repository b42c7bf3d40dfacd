//! What was found: each sentence is computed from the report's rows.

use anyhow::Result;
use drope_core::language::Values;
use drope_core::niah::Task;

use super::{reading, training};
use crate::number::Row;
use crate::results::{Ask, EXTENSIONS, Results};
use crate::sections::{self, tasks};

/// docs/findings.md, and what of it stands in the README.
pub struct Findings {
    pub in_short: String,
    pub in_full: String,
}

/// The findings that there are results for.
pub fn findings(results: &Results) -> Result<Findings> {
    let retrieval = sections::task_scores(results);
    // Multi-key, the first of the tasks.
    let multi_key: &[Row] = retrieval.first().map_or(&[], |task| &task.rows);
    let long = sections::longest_texts(results);
    let setting = training::Setting::read(results)?;
    let budget = sections::budget(results)?;
    let dope = sections::dope(results)?;
    // Each with whether it is among those in short.
    let findings = [
        (true, training::uneven_comparison(&setting, multi_key)),
        (true, reading::lengths_of_drope(&long)),
        (true, reading::among_others("DroPE among all others", "DroPE", multi_key)),
        (false, reading::among_others("Partial DroPE among all others", "partial DroPE", multi_key)),
        (true, reading::parts_of_drope(&long)),
        (true, reading::without_training(multi_key)),
        (false, reading::trained_from_scratch(multi_key)),
        (true, reading::two_keys(&two_keys(results, Values::Numbers), &two_keys(results, Values::Words))),
        (false, reading::four_values(&retrieval)),
        (false, reading::mean_over_tasks(&sections::means(results))),
        (true, training::perplexity_within_context(&sections::losses(results))),
        (true, training::equal_budget(&budget)),
        (false, training::drop_times(&sections::drop_times(results))),
        (false, training::treatments_of_heads(&dope)),
    ];
    let bullets = |is_wanted: fn(bool) -> bool| {
        let wanted = findings.iter().filter(|(is_in_short, _)| is_wanted(*is_in_short));
        wanted.filter_map(|(_, finding)| Some(format!("- {}", finding.as_ref()?))).collect::<Vec<_>>().join("\n")
    };
    Ok(Findings {
        in_short: bullets(|is_in_short| is_in_short),
        in_full: format!(
            "# What was found\n\nWritten by `cargo xtask table` from the results files; do not edit. {}\n\n{}\n",
            training::introduction(&setting),
            bullets(|_| true)
        ),
    })
}

/// Exact answers where two keys are asked for at once.
fn two_keys(results: &Results, values: Values) -> Vec<Row> {
    let ask = Ask { values, ..Ask::new("niah", Task::MultiQuery, &EXTENSIONS) };
    tasks::SYSTEMS.iter().map(|system| results.exact(system, &ask)).collect()
}
