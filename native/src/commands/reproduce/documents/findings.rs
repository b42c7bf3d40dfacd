//! What was found: each sentence is a function of the report's rows.

use anyhow::Result;
use drope_core::language::Values;
use drope_core::niah::Task;

use super::super::budget::{self, BudgetRow};
use super::super::context::{EXTENSIONS, ReportContext};
use super::super::dope::{self, DopeRow};
use super::super::drop_time::{self, DropTimeRow};
use super::super::measured::Ask;
use super::super::perplexities::PerplexityRow;
use super::super::retrieval::{self, TaskScores};
use super::super::score::ScoreRow;
use super::super::{long, loss, tasks};
use super::training::Setting;
use super::{reading, training};

/// The rows that findings are made of.
pub struct Findings {
    setting: Setting,
    retrieval: Vec<TaskScores>,
    /// Two keys at once: numbers, words.
    two_keys: [Vec<ScoreRow>; 2],
    long: Vec<ScoreRow>,
    means: Vec<ScoreRow>,
    loss: Vec<PerplexityRow>,
    budget: Vec<BudgetRow>,
    drop_time: Vec<DropTimeRow>,
    dope: Vec<DopeRow>,
}

impl Findings {
    /// Reads the rows as the report does.
    pub fn new(context: &ReportContext) -> Result<Self> {
        Ok(Self {
            setting: Setting::read(context)?,
            retrieval: retrieval::task_scores(context)?,
            two_keys: [two_keys(context, Values::Numbers)?, two_keys(context, Values::Words)?],
            long: long::rows(context)?,
            means: tasks::means(context)?,
            loss: loss::rows(context)?,
            budget: budget::rows(context)?,
            drop_time: drop_time::rows(context)?,
            dope: dope::rows(context)?,
        })
    }

    /// For the README.
    pub fn in_short(&self) -> String {
        let multi_key = reading::multi_key(&self.retrieval);
        bullets(&[
            training::uneven_comparison(&self.setting, multi_key),
            reading::lengths_of_drope(&self.long),
            reading::drope_among_others(multi_key),
            reading::parts_of_drope(&self.long),
            reading::without_training(multi_key),
            reading::two_keys(&self.two_keys),
            training::perplexity_within_context(&self.loss),
            training::equal_budget(&self.budget),
        ])
    }

    /// The whole of docs/findings.md.
    pub fn in_full(&self) -> String {
        let multi_key = reading::multi_key(&self.retrieval);
        let findings = bullets(&[
            training::uneven_comparison(&self.setting, multi_key),
            reading::lengths_of_drope(&self.long),
            reading::drope_among_others(multi_key),
            reading::partial_among_others(multi_key),
            reading::parts_of_drope(&self.long),
            reading::without_training(multi_key),
            reading::trained_from_scratch(multi_key),
            reading::two_keys(&self.two_keys),
            reading::four_values(&self.retrieval),
            reading::mean_over_tasks(&self.means),
            training::perplexity_within_context(&self.loss),
            training::equal_budget(&self.budget),
            training::drop_times(&self.drop_time),
            training::treatments_of_heads(&self.dope),
        ]);
        format!(
            "# What was found\n\nWritten by `cargo xtask table` from the results files; do not edit. {}\n\n{findings}\n",
            training::introduction(&self.setting)
        )
    }
}

fn two_keys(context: &ReportContext, values: Values) -> Result<Vec<ScoreRow>> {
    let mut rows = Vec::new();
    for (name, model, method) in tasks::SYSTEMS {
        let ask = Ask { values, ..Ask::new(method, Task::MultiQuery, &EXTENSIONS, context.trials(100, 40)) };
        rows.push(ScoreRow::exact(name, &context.niah("niah.json", model, &ask)?));
    }
    Ok(rows)
}

/// A list of the findings that there is data for.
fn bullets(findings: &[Option<String>]) -> String {
    findings.iter().flatten().map(|finding| format!("- {finding}")).collect::<Vec<_>>().join("\n")
}
