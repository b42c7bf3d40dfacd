//! Measures one program: a worker of its own, a first question that is not counted, then rounds.

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_protocol::{Comparison, Length, Prompt, Question, QuestionKind, Reading, Reply, Request};
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use web_sys::Worker;

use super::table::Speed;
use crate::link::script::{Program, base, end, post, start_worker};
use crate::state::benchmark_size::BenchmarkSize;

/// What a worker said, or why it stopped.
type Said = Result<Reply, String>;

/// A worker that ends with this value.
struct Measured {
    worker: Worker,
    said: UnboundedReceiver<Said>,
}

impl Drop for Measured {
    fn drop(&mut self) {
        end(&self.worker);
    }
}

/// A program, and what it may use.
#[derive(Clone, Copy)]
pub struct Setting {
    pub program: Program,
    pub threads: usize,
    pub may_use_subgroups: bool,
}

/// Speeds of a program for each prompt, and how many units of the GPU joined numbers by subgroups; `tell` hears of each
/// round. Errors are ends of sentences.
pub async fn measure(
    setting: Setting,
    name: &str,
    reading: &Reading,
    BenchmarkSize { prompts, rounds }: BenchmarkSize,
    tell: impl Fn(usize, usize),
) -> Result<(Vec<Speed>, usize), String> {
    let mut measured = Measured::start(setting)?;
    let subgroups = measured.opened(setting.threads).await?;
    let mut speeds = Vec::new();
    for prompt in prompts {
        let mut speed = Speed { program: name.to_owned(), prompt, prefill: Vec::new(), decode: Vec::new() };
        for round in 0..=rounds {
            tell(prompt, round);
            let (prefill, decode) = measured.answer(reading, prompt, round).await?;
            // Browsers compile their faster code in the first round.
            if round > 0 {
                speed.prefill.push(prefill);
                speed.decode.push(decode);
            }
        }
        speeds.push(speed);
    }
    Ok((speeds, subgroups))
}

impl Measured {
    fn start(Setting { program, threads, may_use_subgroups }: Setting) -> Result<Self, String> {
        let (sender, said) = unbounded();
        let tell = move |said: Said| {
            // Refused only when nobody listens any more.
            let _ = sender.unbounded_send(said);
        };
        let hear = tell.clone();
        let worker = start_worker(program, move |reply, _| hear(Ok(reply)), move |message| tell(Err(message)))
            .map_err(|_| "this browser starts no web workers".to_owned())?;
        let start = Request::Start { must_be_fast: false, may_use_subgroups, threads, base: base(), first: Vec::new() };
        post(&worker, &start);
        Ok(Self { worker, said })
    }

    async fn next(&mut self) -> Result<Reply, String> {
        match self.said.next().await {
            Some(Ok(Reply::Failed { message: reason, .. } | Reply::Unfit { note: reason })) => Err(reason),
            Some(said) => said,
            None => Err("the worker is gone".to_owned()),
        }
    }

    /// Waits for the device, which is to compute with so many threads, and says how many units of it join numbers by subgroups.
    async fn opened(&mut self, wanted: usize) -> Result<usize, String> {
        loop {
            match self.next().await? {
                Reply::Ready { threads, .. } if threads < wanted => {
                    return Err(format!("only {threads} could be started"));
                }
                Reply::Ready { subgroups, .. } => return Ok(subgroups),
                _ => {}
            }
        }
    }

    /// Tokens a second of one question: of its prompt, and of the answer.
    async fn answer(&mut self, reading: &Reading, prompt: usize, round: usize) -> Result<(f64, f64), String> {
        let question = Question {
            kind: QuestionKind::standard(Task::MultiKey, Values::Numbers),
            length: Length::Tokens(prompt),
            seed: round as u64 + 1,
        };
        let comparison = Comparison {
            run: round as u32 + 1,
            prompt: Prompt::Drawn(question),
            depth: 0.5,
            readings: vec![reading.clone()],
        };
        post(&self.worker, &Request::Answer(comparison));
        let mut speeds = None;
        loop {
            match self.next().await? {
                Reply::Answered { prefill, decode, .. } => speeds = Some((prefill, decode)),
                Reply::Finished { .. } => return speeds.ok_or_else(|| "the question was not answered".to_owned()),
                _ => {}
            }
        }
    }
}
