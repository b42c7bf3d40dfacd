//! What happens to the workers, and what is done then.

use drope_protocol::{Reply, Request};

use crate::state::engine::{Backend, BackendChoice, Engine};

/// What happens to the workers.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A worker is wanted, unless there is one.
    Wanted,
    /// The browser has an adapter for WebGPU.
    Adapter,
    /// WebGPU is not tried, and why, as the end of a sentence.
    NotTried(&'static str),
    /// The browser starts no such worker.
    NotStarted(Backend),
    /// A worker sent a message.
    Heard(Backend, Reply),
    /// A worker's program failed, with a message.
    Broke(Backend, String),
    /// The reader begins a run.
    Asked(Request),
    /// The reader begins a run with files. A worker that is started anew is not sent them again.
    AskedWithFiles(Request),
    /// The reader stops a run.
    Stopped(u32),
    /// A worker had its time to stop a run.
    GraceOver(u32),
}

/// What is to be done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Start a worker, with the program of several threads or of one, and send it its first message.
    Start { backend: Backend, is_shared: bool, must_be_fast: bool, threads: usize },
    /// End a worker; nothing that it sent arrives any more.
    End(Backend),
    /// Send a request.
    Post(Backend, Request),
    /// Send a request with the files of the event.
    PostFiles(Backend, Request),
    /// Find out whether WebGPU is to be tried.
    FindAdapter,
    /// Come back after the grace that a worker has to stop a run.
    AwaitEnd(u32),
    /// Show which worker computes.
    Show(Engine),
    /// Nothing is being downloaded any more.
    ClearLoading,
    /// Show what went wrong.
    Say(String),
    /// Show what went wrong; nothing runs any more.
    Fail(String),
    /// Take in a message of the worker that computes.
    Take(Reply),
}

/// What the page says at the time of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page {
    /// Which backend the reader wants.
    pub choice: BackendChoice,
    /// Threads that the CPU's worker may have.
    pub threads: usize,
    /// The run that is waited for.
    pub run: Option<u32>,
}
