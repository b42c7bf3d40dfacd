//! Which workers there are and which of them computes: states, the events that change them, and what has to be done then. Nothing
//! here touches the browser; worker.rs tells of the events and does what follows.
//!
//! The CPU's worker is small and answers first. WebGPU's is tried beside it where the browser has an adapter, and takes over with
//! the next run if it is fit.

mod event;
#[cfg(test)]
mod tests;

use drope_protocol::{Reply, Request};

pub use self::event::{Effect, Event, Page};
use crate::state::engine::{Backend, BackendChoice, Engine};

/// How long a worker may take to stop a run. A worker that takes longer hangs in a computation and is replaced.
pub const GRACE_SECONDS: u64 = 2;

/// The workers.
#[derive(Clone, Debug, Default, PartialEq)]
enum Workers {
    /// None was started, or the last one was ended.
    #[default]
    None,
    /// One, which computes.
    One(Backend, Phase),
    /// The CPU's computes; WebGPU's is tried beside it, and once it was found fit there is the reason for using it.
    Trial { cpu: Phase, fit: Option<String> },
}

/// How far the worker that computes has come.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Its program is on its way; for the CPU's, whether that is the program of several threads.
    Loading { is_shared: bool },
    /// Its program runs, and opens its device.
    Awake,
    /// It computes.
    Open { threads: usize },
}

/// The workers and what was sent to the one that computes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connection {
    workers: Workers,
    /// Why the CPU computes, as the end of a sentence.
    why_cpu: Option<String>,
    /// Whether the program with several threads could not be started, for example because memory cannot be shared.
    is_alone: bool,
    /// Whether WebGPU's worker has failed, so that the CPU computes whatever the reader chose.
    has_given_up_webgpu: bool,
    /// The last request that began a run.
    last: Option<Request>,
    /// The run whose end the worker has not confirmed since it was stopped.
    stopping: Option<u32>,
}

impl Connection {
    /// Takes in an event.
    pub fn handle(&mut self, event: Event, page: Page) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.decide(event, page, &mut effects);
        effects
    }

    fn decide(&mut self, event: Event, page: Page, effects: &mut Vec<Effect>) {
        let choice = if self.has_given_up_webgpu { BackendChoice::Cpu } else { page.choice };
        let page = Page { choice, ..page };
        match event {
            Event::Wanted => self.connect(page, effects),
            Event::NotTried(why) => self.note_on_cpu(why, effects),
            Event::Adapter => self.try_webgpu(page, effects),
            Event::NotStarted(backend) if self.computes(backend) => {
                self.workers = Workers::None;
                effects.push(Effect::Show(Engine::Stopped));
                let sentence = "This browser starts no web workers, in which the models run; try another.";
                effects.push(Effect::Fail(sentence.to_owned()));
            }
            Event::NotStarted(_) => self.end_trial(),
            Event::Heard(backend, reply) if self.computes(backend) => self.hear(backend, reply, page, effects),
            Event::Heard(_, reply) => self.hear_candidate(reply, page, effects),
            Event::Broke(backend, message) => self.hear_failure(backend, &message, page, effects),
            Event::Asked(request) => self.ask(request, page, effects),
            Event::AskedWithFiles(request) => {
                self.take_over(page, effects);
                effects.extend(self.active().map(|backend| Effect::PostFiles(backend, request)));
                self.last = None;
            }
            Event::Stopped(run) => {
                effects.extend(self.active().map(|backend| Effect::Post(backend, Request::Stop)));
                self.stopping = Some(run);
                effects.push(Effect::AwaitEnd(run));
            }
            Event::GraceOver(run) if self.stopping == Some(run) => self.restart(page, effects),
            Event::GraceOver(_) => {}
        }
    }

    /// The backend whose worker computes.
    fn active(&self) -> Option<Backend> {
        match self.workers {
            Workers::None => None,
            Workers::One(backend, _) => Some(backend),
            Workers::Trial { .. } => Some(Backend::Cpu),
        }
    }

    fn computes(&self, backend: Backend) -> bool {
        self.active() == Some(backend)
    }

    fn phase(&mut self) -> Option<&mut Phase> {
        match &mut self.workers {
            Workers::None => None,
            Workers::One(_, phase) | Workers::Trial { cpu: phase, .. } => Some(phase),
        }
    }

    /// Starts the worker of the backend that the reader chose, unless one computes already.
    fn connect(&mut self, page: Page, effects: &mut Vec<Effect>) {
        if self.workers != Workers::None {
            return;
        }
        let is_webgpu = page.choice == BackendChoice::Webgpu;
        self.start(if is_webgpu { Backend::Webgpu } else { Backend::Cpu }, page, effects);
        if page.choice == BackendChoice::Auto {
            effects.push(Effect::FindAdapter);
        }
    }

    /// Starts a worker that is to compute.
    fn start(&mut self, backend: Backend, page: Page, effects: &mut Vec<Effect>) {
        let threads = if self.is_alone { 1 } else { page.threads };
        let is_shared = backend == Backend::Cpu && threads > 1;
        self.workers = Workers::One(backend, Phase::Loading { is_shared });
        effects.push(Effect::Show(Engine::Loading));
        effects.push(Effect::Start { backend, is_shared, must_be_fast: false, threads });
    }

    /// Starts WebGPU's worker beside the CPU's. The reader's choice and the workers may have changed meanwhile.
    fn try_webgpu(&mut self, page: Page, effects: &mut Vec<Effect>) {
        if let (Workers::One(Backend::Cpu, cpu), BackendChoice::Auto) = (&self.workers, page.choice) {
            self.workers = Workers::Trial { cpu: *cpu, fit: None };
            let backend = Backend::Webgpu;
            effects.push(Effect::Start { backend, is_shared: false, must_be_fast: true, threads: 1 });
        }
    }

    /// Keeps why the CPU computes, and says it where it does.
    fn note_on_cpu(&mut self, note: &str, effects: &mut Vec<Effect>) {
        self.why_cpu = Some(note.to_owned());
        if self.computes(Backend::Cpu)
            && let Some(&mut Phase::Open { threads }) = self.phase()
        {
            let note = note.to_owned();
            effects.push(Effect::Show(Engine::Open { backend: Backend::Cpu, threads, note }));
        }
    }

    /// Sends a request. WebGPU takes over if it was found fit meanwhile.
    fn ask(&mut self, request: Request, page: Page, effects: &mut Vec<Effect>) {
        self.take_over(page, effects);
        effects.extend(self.active().map(|backend| Effect::Post(backend, request.clone())));
        self.last = Some(request);
    }

    /// Lets a candidate that was found fit compute from now on; starts a worker where there is none.
    fn take_over(&mut self, page: Page, effects: &mut Vec<Effect>) {
        self.connect(page, effects);
        let Workers::Trial { fit: Some(note), .. } = &mut self.workers else { return };
        let (backend, threads, note) = (Backend::Webgpu, 1, std::mem::take(note));
        self.workers = Workers::One(backend, Phase::Open { threads });
        // The run that the CPU's worker was to stop ends with that worker.
        self.stopping = None;
        effects.extend([Effect::End(Backend::Cpu), Effect::Show(Engine::Open { backend, threads, note })]);
    }

    /// Ends all workers.
    fn terminate(&mut self, effects: &mut Vec<Effect>) {
        self.stopping = None;
        effects.extend(self.active().map(Effect::End));
        if matches!(self.workers, Workers::Trial { .. }) {
            effects.push(Effect::End(Backend::Webgpu));
        }
        self.workers = Workers::None;
    }

    /// Replaces a worker that does not stop. What was asked since then is asked again.
    fn restart(&mut self, page: Page, effects: &mut Vec<Effect>) {
        let is_webgpu = match self.workers {
            Workers::One(Backend::Webgpu, Phase::Awake | Phase::Open { .. }) => true,
            Workers::One(Backend::Cpu, Phase::Open { .. }) | Workers::Trial { cpu: Phase::Open { .. }, .. } => false,
            // A program that is still on its way does not hang; it will find that the run was stopped.
            _ => return,
        };
        self.terminate(effects);
        let on_the_cpu = if is_webgpu { ", on the CPU" } else { "" };
        let page = if is_webgpu { self.give_up_webgpu("WebGPU did not stop", page, effects) } else { page };
        effects.push(Effect::ClearLoading);
        let grace = GRACE_SECONDS;
        let sentence = format!("The worker did not stop within {grace} seconds and was started anew{on_the_cpu}.");
        effects.push(Effect::Say(sentence));
        self.connect(page, effects);
        self.ask_again(page, effects);
    }

    /// Sends what is being waited for to a worker that was started anew.
    fn ask_again(&mut self, page: Page, effects: &mut Vec<Effect>) {
        let waited_for = self.last.take_if(|request| page.run.is_some() && request.run() == page.run);
        match waited_for {
            Some(request) => self.ask(request, page, effects),
            None if page.run.is_some() => {
                let sentence = "The worker was started anew, and has not got the files; choose them again.";
                effects.push(Effect::Fail(sentence.to_owned()));
            }
            None => {}
        }
    }

    /// Computes on the CPU from now on, and says why.
    fn give_up_webgpu(&mut self, why: &str, page: Page, effects: &mut Vec<Effect>) -> Page {
        self.has_given_up_webgpu = true;
        self.note_on_cpu(why, effects);
        Page { choice: BackendChoice::Cpu, ..page }
    }

    /// Takes in a message from the worker that computes.
    fn hear(&mut self, backend: Backend, reply: Reply, page: Page, effects: &mut Vec<Effect>) {
        match reply {
            Reply::Awake => {
                self.phase().into_iter().for_each(|phase| *phase = Phase::Awake);
                effects.extend((backend == Backend::Webgpu).then_some(Effect::Show(Engine::Opening)));
            }
            Reply::Ready { note, threads, .. } => {
                self.phase().into_iter().for_each(|phase| *phase = Phase::Open { threads });
                let note = match (backend, page.choice) {
                    (Backend::Webgpu, _) => note,
                    (Backend::Cpu, BackendChoice::Cpu) => self.why_cpu.clone().unwrap_or("as you asked".into()),
                    (Backend::Cpu, _) => self.why_cpu.clone().unwrap_or("WebGPU is being tried beside it".into()),
                };
                effects.extend((backend == Backend::Webgpu).then_some(Effect::ClearLoading));
                effects.push(Effect::Show(Engine::Open { backend, threads, note }));
            }
            // WebGPU was asked for.
            Reply::Unfit { note } => {
                self.terminate(effects);
                effects.push(Effect::ClearLoading);
                self.note_on_cpu(&note, effects);
                self.start(Backend::Cpu, page, effects);
                self.ask_again(page, effects);
            }
            reply => {
                if let Reply::Finished { run } | Reply::Failed { run, .. } = &reply {
                    self.stopping.take_if(|stopping| stopping == run);
                }
                effects.push(Effect::Take(reply));
            }
        }
    }

    /// Takes in a message from WebGPU's worker while it is tried. The page does not show what this worker downloads.
    fn hear_candidate(&mut self, reply: Reply, page: Page, effects: &mut Vec<Effect>) {
        match (&mut self.workers, reply) {
            (Workers::Trial { fit, .. }, Reply::Ready { note, .. }) => {
                *fit = Some(note);
                if page.run.is_none() {
                    self.take_over(page, effects);
                }
            }
            (Workers::Trial { .. }, Reply::Unfit { note }) => self.dismiss(&note, effects),
            _ => {}
        }
    }

    /// Ends the candidate; the CPU goes on.
    fn dismiss(&mut self, note: &str, effects: &mut Vec<Effect>) {
        self.end_trial();
        effects.push(Effect::End(Backend::Webgpu));
        self.note_on_cpu(note, effects);
    }

    fn end_trial(&mut self) {
        if let Workers::Trial { cpu, .. } = self.workers {
            self.workers = Workers::One(Backend::Cpu, cpu);
        }
    }

    /// Takes in that a worker's program failed.
    fn hear_failure(&mut self, backend: Backend, message: &str, page: Page, effects: &mut Vec<Effect>) {
        if !self.computes(backend) {
            if matches!(self.workers, Workers::Trial { .. }) {
                self.dismiss(&format!("WebGPU's program stopped ({message})"), effects);
            }
            return;
        }
        let could_not_share = matches!(self.phase(), Some(Phase::Loading { is_shared: true }));
        self.terminate(effects);
        if could_not_share {
            self.is_alone = true;
            self.connect(page, effects);
            self.ask_again(page, effects);
            return;
        }
        // The failed worker answers no more requests; the next run starts another worker.
        effects.push(Effect::Show(Engine::Stopped));
        let on_the_cpu = if backend == Backend::Webgpu { ", on the CPU" } else { "" };
        if backend == Backend::Webgpu {
            self.give_up_webgpu("WebGPU's program stopped", page, effects);
        }
        let sentence = format!("The worker stopped ({message}). Ask again to start it anew{on_the_cpu}.");
        effects.push(Effect::Fail(sentence));
    }
}
