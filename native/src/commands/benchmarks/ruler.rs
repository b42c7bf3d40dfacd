//! `core eval ruler`.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use drope_core::benchmarks::ruler::{Documents, Questions, Sample, Task, Texts, score};
use drope_core::benchmarks::{Answer, Benchmark, BenchmarkCell};

use super::{AskingArgs, BenchmarkQuestions, answers, blank, chat_affixes, print_header, questions_about};
use crate::arguments::Sweep;
use crate::arguments::at_least_one;
use crate::files;
use crate::reading::{self, measure, samples_of};

/// Arguments of `core eval ruler`.
#[derive(Args)]
pub struct RulerArgs {
    #[command(flatten)]
    pub sweep: Sweep,
    #[command(flatten)]
    pub asking: AskingArgs,
    /// Tasks: niah_single_1 to 3, niah_multikey_1 to 3, niah_multivalue, niah_multiquery, vt, cwe, fwe, qa_1, qa_2; default: those
    /// for which there are texts.
    #[arg(long = "task", value_delimiter = ',')]
    pub tasks: Vec<Task>,
    /// Questions of each task and length.
    #[arg(long, default_value = "100", value_parser = at_least_one)]
    pub trials: usize,
    /// Number of questions about each haystack, which is read once for all of them if the method allows it. Only
    /// niah_multikey_1 (at most 4), niah_multikey_2 and niah_multikey_3 have several; the other tasks have one.
    #[arg(long, default_value = "1", value_parser = at_least_one)]
    pub questions_per_haystack: usize,
    /// A text to hide needles in where RULER has essays.
    #[arg(long)]
    pub haystack: Option<PathBuf>,
    /// SQuAD's dev-v2.0.json, for qa_1.
    #[arg(long)]
    pub squad: Option<PathBuf>,
    /// HotpotQA's hotpot_dev_distractor_v1.json, for qa_2.
    #[arg(long)]
    pub hotpotqa: Option<PathBuf>,
}

/// Measures every cell that the results file does not hold.
pub fn ruler(args: &RulerArgs) -> Result<()> {
    let model = reading::load(&args.sweep)?;
    let affixes = chat_affixes(&args.sweep.model, args.asking.chat)?;
    let [essays, squad, hotpotqa] = [&args.haystack, &args.squad, &args.hotpotqa]
        .map(|path| path.as_ref().map(|path| files::read_source(path)).transpose());
    let [essays, squad, hotpotqa] = [essays?, squad?, hotpotqa?];
    let read = |text: &Option<(String, String)>, documents: fn(&str) -> drope_core::Result<Documents>| {
        text.as_ref().map(|(text, source)| documents(text).with_context(|| format!("cannot use {source}"))).transpose()
    };
    let texts = Texts {
        essays: essays.as_ref().map(|(text, _)| text.clone()),
        squad: read(&squad, Documents::from_squad)?,
        hotpotqa: read(&hotpotqa, Documents::from_hotpotqa)?,
    };
    // The user's file from which the questions of a task are made, if the task needs one.
    let file_of = |task: Task| match task {
        Task::Squad => Some(&squad),
        Task::HotpotQa => Some(&hotpotqa),
        task => task.needs_essays().then_some(&essays),
    };
    let source_of = |task| file_of(task).and_then(Option::as_ref).map_or(String::new(), |(_, source)| source.clone());
    let has_text = |&task: &Task| file_of(task).is_none_or(Option::is_some);
    let tasks = match &args.tasks[..] {
        [] => Task::ALL.into_iter().filter(has_text).collect(),
        tasks => tasks.to_vec(),
    };
    let tokenizer = &model.loaded.tokenizer;
    let prompt = |sample: &Sample| match &affixes {
        None => [&*sample.message, &sample.answer_prefix].concat(),
        Some([before, behind]) => [before, &*sample.message, behind, &sample.answer_prefix].concat(),
    };
    // Tokens are counted as in RULER, without the beginning-of-text token. A prompt that cannot be encoded counts as
    // too long for every length.
    let count = |sample: &Sample| tokenizer.encode(&prompt(sample)).map_or(usize::MAX, |ids| ids.len());
    // Every method is asked the same questions.
    let mut questions = HashMap::new();
    for (_, length) in args.sweep.contexts(&model.loaded.config) {
        for &task in &tasks {
            questions.insert((task, length), Questions::new(task, length, args.sweep.seed, &texts, &count)?);
        }
    }
    let mut cells = Vec::new();
    for method in args.sweep.methods(&model.loaded.config)? {
        for reading in reading::readings(&args.sweep, &model.loaded, method)? {
            for &task in &tasks {
                let questions = &questions[&(task, reading.context)];
                let trials = questions.limit().unwrap_or(usize::MAX).min(args.trials);
                let per_haystack = questions.most_about_one().min(args.questions_per_haystack);
                let blank = BenchmarkCell {
                    source: source_of(task),
                    is_chat: args.asking.chat,
                    questions_per_haystack: per_haystack,
                    ..blank(&model, &args.sweep, &reading, (Benchmark::Ruler, task.name()), trials)
                };
                let (model, reading, prompt, is_chat) = (&model, reading.clone(), &prompt, args.asking.chat);
                let ask = move |haystack| {
                    let indices = questions_about(haystack, per_haystack, trials);
                    let samples = questions.samples(haystack, indices.len());
                    ensure!(
                        samples.len() == indices.len(),
                        "{} has too few questions about a haystack; lower --questions-per-haystack",
                        task.name()
                    );
                    let ids = |text: String| if is_chat { tokenizer.encode(&text) } else { tokenizer.prompt(&text) };
                    let prompts = samples.iter().map(|sample| ids(prompt(sample))).collect::<Result<Vec<_>, _>>()?;
                    let said = answers(model, &reading, &prompts, task.max_answer_tokens())?;
                    let answer = |((index, sample), said): ((usize, Sample), String)| {
                        let score = score(task, &sample.outputs, &said);
                        Answer { index, score, normed: None, said, expected: sample.outputs }
                    };
                    Ok(indices.zip(samples).zip(said).map(answer).collect())
                };
                let wanted = samples_of(
                    args.asking.shard,
                    trials.div_ceil(per_haystack),
                    if per_haystack == 1 { "questions" } else { "haystacks" },
                )?;
                cells.push(BenchmarkQuestions { wanted, blank, ask: Box::new(ask) });
            }
        }
    }
    print_header();
    measure(&args.sweep, model.threads, &cells).map(|_| ())
}
