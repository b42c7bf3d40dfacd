//! Measures one program: a worker of its own, a first question that is not counted, then rounds.

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_protocol::{Comparison, Length, Prompt, Question, QuestionKind, Reading, Reply, Request};
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use web_sys::Worker;

use super::table::Speed;
use crate::link::script::{Program, end, post, start_request, start_worker};

/// Rounds that count.
pub const ROUNDS: usize = 5;

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

/// Speeds of a program that computes with so many threads, for prompts of these lengths; `tell` hears of each round. Errors are ends of
/// sentences.
pub async fn measure(
    program: Program,
    name: &str,
    threads: usize,
    reading: &Reading,
    prompts: &[usize],
    tell: impl Fn(usize, usize),
) -> Result<Vec<Speed>, String> {
    let mut measured = Measured::start(program, threads)?;
    measured.opened(threads).await?;
    let mut speeds = Vec::new();
    for &prompt in prompts {
        let mut speed = Speed { program: name.to_owned(), prompt, prefill: Vec::new(), decode: Vec::new() };
        for round in 0..=ROUNDS {
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
    Ok(speeds)
}

impl Measured {
    fn start(program: Program, threads: usize) -> Result<Self, String> {
        let (sender, said) = unbounded();
        let tell = move |said: Said| {
            // Refused only when nobody listens any more.
            let _ = sender.unbounded_send(said);
        };
        let hear = tell.clone();
        let worker = start_worker(program, move |reply, _| hear(Ok(reply)), move |message| tell(Err(message)))
            .map_err(|_| "this browser starts no web workers".to_owned())?;
        post(&worker, &start_request(false, threads, Vec::new()));
        Ok(Self { worker, said })
    }

    async fn next(&mut self) -> Result<Reply, String> {
        match self.said.next().await {
            Some(Ok(Reply::Failed { message, .. })) => Err(message),
            Some(said) => said,
            None => Err("the worker is gone".to_owned()),
        }
    }

    /// Waits for the device, which is to compute with so many threads.
    async fn opened(&mut self, wanted: usize) -> Result<(), String> {
        loop {
            match self.next().await? {
                Reply::Ready { threads, .. } if threads < wanted => {
                    return Err(format!("only {threads} could be started"));
                }
                Reply::Ready { .. } => return Ok(()),
                Reply::Unfit { note } => return Err(note),
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
