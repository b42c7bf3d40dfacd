//! What was found: each sentence is computed from the report's rows.

use anyhow::Result;
use drope_core::language::Values;
use drope_core::niah::Task;

use super::{reading, training};
use crate::number::Row;
use crate::results::{Ask, EXTENSIONS, Results};
use crate::sections::systems::{DROPE, PARTIAL_DROPE};
use crate::sections::{self, tasks};

/// docs/findings.md: the findings that there are results for; those of the study, whose comparison is even, come first.
pub fn findings(results: &Results, study: Option<&str>) -> Result<String> {
    let retrieval = sections::task_scores(results);
    // Multi-key, the first of the tasks.
    let multi_key: &[Row] = retrieval.first().map_or(&[], |task| &task.rows);
    let long = sections::longest_texts(results);
    let setting = training::Setting::read(results)?;
    let budget = sections::budget(results)?;
    let dope = sections::dope(results)?;
    let findings = [
        training::uneven_comparison(&setting, multi_key),
        reading::lengths_of_drope(&long),
        reading::among_others("DroPE with copies and SSMax among all others", DROPE.name, multi_key),
        reading::among_others("Partial DroPE with copies and SSMax among all others", PARTIAL_DROPE.name, multi_key),
        reading::parts_of_drope(&long),
        reading::without_training(multi_key),
        reading::trained_from_scratch(multi_key),
        reading::two_keys(&two_keys(results, Values::Numbers), &two_keys(results, Values::Words)),
        reading::four_values(&retrieval),
        reading::mean_over_tasks(&sections::means(results)),
        training::perplexity_within_context(&sections::losses(results)),
        training::equal_budget(&budget),
        training::drop_times(&sections::drop_times(results)),
        training::treatments_of_heads(&dope),
    ];
    let list: String = findings.iter().flatten().map(|finding| format!("- {finding}\n")).collect();
    let even = study.map(|study| {
        format!(
            "## Five seeds\n\nModels of 0.85 million parameters, a training context of 256 tokens (1×), synthetic text, one of four keys asked for. \
             Compared models had the same number of training tokens, except where the number of tokens is the question.\n\n{study}\n\n## Models of different budgets\n\n"
        )
    });
    Ok(format!(
        "# What was found\n\nWritten by `cargo xtask table` from the results files; do not edit.\n\n{}{}\n\n{list}",
        even.unwrap_or_default(),
        training::introduction(&setting)
    ))
}

/// Exact answers where two keys are asked for at once.
fn two_keys(results: &Results, values: Values) -> Vec<Row> {
    let ask = Ask { values, ..Ask::new("niah", Task::MultiQuery, &EXTENSIONS) };
    tasks::SYSTEMS.iter().map(|system| results.exact(system, &ask)).collect()
}
