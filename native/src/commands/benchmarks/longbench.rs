//! `core eval longbench`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::Args;
use drope_core::benchmarks::longbench::Row;
use drope_core::benchmarks::{Answer, Benchmark, BenchmarkCell};

use super::{AskingArgs, BenchmarkQuestions, answers, blank, chat_affixes, print_header, read_lines};
use crate::arguments::Sweep;
use crate::arguments::at_least_one;
use crate::reading::{self, measure, samples_of};

/// Arguments of `core eval longbench`.
#[derive(Args)]
pub struct LongBenchArgs {
    #[command(flatten)]
    pub sweep: Sweep,
    #[command(flatten)]
    pub asking: AskingArgs,
    /// Files of LongBench, such as qasper.jsonl, with one dataset each. The middle of a prompt that is too long for a
    /// length is left out.
    #[arg(long, value_delimiter = ',', required = true)]
    pub data: Vec<PathBuf>,
    /// Maximum number of questions of each dataset, counted from the first; default: all.
    #[arg(long, value_parser = at_least_one)]
    pub trials: Option<usize>,
}

/// Measures every cell that the results file does not hold.
pub fn longbench(args: &LongBenchArgs) -> Result<()> {
    let model = reading::load(&args.sweep)?;
    let affixes = chat_affixes(&args.sweep.model, args.asking.chat)?;
    let datasets = args.data.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let tokenizer = &model.loaded.tokenizer;
    let mut cells = Vec::new();
    for method in args.sweep.methods(&model.loaded.config)? {
        for reading in reading::readings(&args.sweep, &model.loaded, method)? {
            for (source, rows) in &datasets {
                let (name, dataset) = (&rows[0].dataset, rows[0].dataset()?);
                let trials = args.trials.unwrap_or(rows.len()).min(rows.len());
                let blank = BenchmarkCell {
                    source: source.clone(),
                    is_chat: args.asking.chat,
                    ..blank(&model, &args.sweep, &reading, (Benchmark::LongBench, name), trials)
                };
                let affixes = affixes.as_ref().filter(|_| dataset.takes_chat);
                let extra =
                    affixes.map_or(Ok(0), |affixes| tokenizer.encode(&affixes.concat()).map(|ids| ids.len()))?;
                let behind = dataset.max_answer_tokens + extra;
                let Some(room) = reading.context.checked_sub(behind).filter(|&room| room > 0) else {
                    bail!(
                        "{name} leaves no room for a text: its answers and the chat template take {behind} of {} tokens; give longer \
                         --lengths",
                        reading.context
                    );
                };
                let (model, reading) = (&model, reading.clone());
                let ask = move |index: usize| {
                    let row: &Row = &rows[index];
                    let text = row.prompt(tokenizer, room)?;
                    let ids =
                        tokenizer.message(&text, affixes.map(|affixes| affixes.each_ref().map(String::as_str)))?;
                    let said = answers(model, &reading, &[ids], dataset.max_answer_tokens)?.concat();
                    let expected = row.answers.clone();
                    Ok(vec![Answer { index, score: row.score(&said)?, normed: None, said, expected }])
                };
                let wanted = samples_of(args.asking.shard, trials, "questions")?;
                cells.push(BenchmarkQuestions { wanted, blank, ask: Box::new(ask) });
            }
        }
    }
    print_header();
    measure(&args.sweep, model.threads, &cells).map(|_| ())
}

/// Reads the rows of a file, which must all belong to one dataset.
fn read(path: &Path) -> Result<(String, Vec<Row>)> {
    let (source, rows) = read_lines(path, Row::from_json)?;
    let is_one = rows.iter().all(|row| row.dataset == rows[0].dataset);
    ensure!(!rows.is_empty() && is_one, "{} needs rows of one dataset", path.display());
    Ok((source, rows))
}
