//! The plan: a TOML file of variables and jobs, every mistake of which is found before anything runs.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;

use super::expand::{self, Variables};
use super::job::PlannedJob;
use super::{command, graph};
use crate::files;

/// Contents of the plan's file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    /// Every job is there once for each combination of the variables that its name uses; the first varies slowest.
    #[serde(default)]
    variables: toml::Table,
    /// Whether the order here is that of the jobs. Otherwise all jobs of the first variable's first value come first, and those without it
    /// last, so that a study that is stopped has finished the first values.
    #[serde(default)]
    file_order: bool,
    /// Values of variables: jobs that have those of the first entry come before all others, then those of the second, and so on. Jobs
    /// that they wait for come with them.
    #[serde(default)]
    first: Vec<toml::Table>,
    job: Vec<JobTemplate>,
}

/// A job of the file; `{x}` stands for the value of the variable x, and `{out}` for `--out`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobTemplate {
    name: String,
    /// Names of jobs that must be done before.
    #[serde(default)]
    after: Vec<String>,
    /// Arguments of this program, separated by spaces.
    command: String,
    /// The job's cost relative to other jobs, such as millions of tokens. Only the estimate of the time left uses it.
    #[serde(default = "default_cost")]
    cost: f64,
    /// Values of variables to which the job is restricted.
    #[serde(default)]
    only: toml::Table,
}

fn default_cost() -> f64 {
    1.0
}

/// Reads a plan; all of its jobs in the order of their priority.
///
/// # Errors
/// If the file is not a plan, a name does not exist or exists twice, jobs wait for each other in a circle, or a command
/// is not one that `parser` reads.
pub fn read(path: &Path, out: &Path, parser: &clap::Command) -> Result<Vec<PlannedJob>> {
    let text = files::read_text(path)?;
    let plan = || -> Result<Vec<PlannedJob>> {
        let file: PlanFile = toml::from_str(&text).map_err(|error| {
            let line = files::line_of(&text, error.span().map_or(0, |span| span.start));
            anyhow!("this is not a plan: {} (line {line})", error.message().replace('\n', " "))
        })?;
        jobs(&file, out, parser)
    };
    plan().with_context(|| path.display().to_string())
}

fn jobs(file: &PlanFile, out: &Path, parser: &clap::Command) -> Result<Vec<PlannedJob>> {
    let variables = Variables::read(&file.variables)?;
    let mut jobs = Vec::new();
    let mut names_before = Vec::new();
    for template in &file.job {
        let expanded = expanded(template, file, &variables, out, parser);
        let expanded = expanded.with_context(|| format!("job {}", template.name))?;
        for (job, after) in expanded {
            jobs.push(job);
            names_before.push(after);
        }
    }
    ensure!(!jobs.is_empty(), "the plan has no jobs");
    let mut ordered: Vec<_> = jobs.into_iter().zip(names_before).collect();
    propagate_priorities(&mut ordered);
    ordered.sort_by_key(|(job, _)| (job.priority, if file.file_order { 0 } else { job.group }));
    let (mut jobs, names_before): (Vec<_>, Vec<_>) = ordered.into_iter().unzip();
    check_unique(&jobs)?;
    for (index, names) in names_before.iter().enumerate() {
        jobs[index].after = names.iter().map(|name| find(&jobs, index, name)).collect::<Result<_>>()?;
    }
    let outputs = jobs.iter().filter_map(|job| job.command.output().map(PathBuf::as_path));
    let made: Vec<PathBuf> = outputs.chain([out]).map(files::absolute).collect();
    let mut hashes = HashMap::new();
    for index in graph::order(&jobs)? {
        let before: Vec<&str> = jobs[index].after.iter().map(|&before| &*jobs[before].key).collect();
        let key = jobs[index].command.key(&made, &before, &mut hashes);
        let key = key.with_context(|| format!("job {}", jobs[index].name))?;
        jobs[index].key = key;
    }
    Ok(jobs)
}

/// Gives each job the priority of the first one that waits for it; beside each job are the names of those before it.
fn propagate_priorities(jobs: &mut [(PlannedJob, Vec<String>)]) {
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        let most = |name: &String| {
            let waiting = jobs.iter().filter(|(_, before)| before.contains(name));
            waiting.map(|(job, _)| job.priority).min().unwrap_or(usize::MAX)
        };
        let priorities: Vec<usize> = jobs.iter().map(|(job, _)| most(&job.name).min(job.priority)).collect();
        for ((job, _), priority) in jobs.iter_mut().zip(priorities) {
            has_changed |= job.priority != priority;
            job.priority = priority;
        }
    }
}

/// The jobs of a template, and the names of the jobs before each.
fn expanded(
    template: &JobTemplate,
    file: &PlanFile,
    variables: &Variables,
    out: &Path,
    parser: &clap::Command,
) -> Result<Vec<(PlannedJob, Vec<String>)>> {
    let JobTemplate { name, after, command, cost, only } = template;
    ensure!(cost.is_finite() && *cost >= 0.0, "cost is {cost} but must be a number of at least 0");
    let mut jobs = Vec::new();
    for assignment in variables.assignments(&expand::placeholders(name)?, only)? {
        let fill = |text: &str| assignment.fill(text, None);
        let name = fill(name)?;
        check_name(&name)?;
        // Split before the values come in, so that a value or a folder may hold spaces.
        let words_in = |out: &Path| -> Result<Vec<String>> {
            command.split_whitespace().map(|word| assignment.fill(word, Some(out))).collect()
        };
        let after = after.iter().map(|name| fill(name)).collect::<Result<_>>()?;
        let has: Vec<bool> = file.first.iter().map(|values| assignment.has(values)).collect::<Result<_>>()?;
        let job = PlannedJob {
            priority: has.iter().position(|&has| has).unwrap_or(has.len()),
            name,
            after: Vec::new(),
            command: command::parse(words_in(out)?, words_in(Path::new("{out}"))?, parser)?,
            cost: *cost,
            key: String::new(),
            group: assignment.first(variables),
        };
        jobs.push((job, after));
    }
    Ok(jobs)
}

/// Checks the name of a job, which is also the name of its files.
fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    ensure!(
        name.chars().all(is_plain) && name.starts_with(|c: char| c.is_ascii_alphanumeric()),
        "the name {name:?} must be of letters, digits, -, _ and . and begin with a letter or digit"
    );
    Ok(())
}

fn check_unique(jobs: &[PlannedJob]) -> Result<()> {
    let mut names = BTreeSet::new();
    let mut outputs: BTreeSet<&PathBuf> = BTreeSet::new();
    for job in jobs {
        ensure!(names.insert(&job.name), "there are two jobs with the name {}", job.name);
        if let Some(path) = job.command.output() {
            ensure!(outputs.insert(path), "there are two jobs that make {}", path.display());
        }
    }
    Ok(())
}

fn find(jobs: &[PlannedJob], index: usize, name: &str) -> Result<usize> {
    match jobs.iter().position(|job| job.name == *name) {
        Some(before) => Ok(before),
        None => bail!("job {} is after {name}, which is not a job", jobs[index].name),
    }
}
