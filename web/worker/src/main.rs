//! The worker: takes requests one after another and never blocks longer than one chunk of a prompt.

mod ask;
mod backend;
mod download;
mod models;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

use self::models::ModelCache;
use crate::protocol::{Reply, Request};

/// What the worker holds between two messages.
struct Worker {
    queue: RefCell<VecDeque<Request>>,
    busy: Cell<bool>,
    /// The run that may go on; any other stops at its next look.
    current: Cell<Option<u32>>,
}

/// Entry point of the worker's wasm.
pub fn start() {
    console_error_panic_hook::set_once();
    let worker = Rc::new(Worker { queue: RefCell::default(), busy: Cell::new(false), current: Cell::new(None) });
    let models = Rc::new(RefCell::new(None::<ModelCache>));
    let on_message = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
        let request = event.data().as_string().and_then(|text| serde_json::from_str::<Request>(&text).ok());
        let Some(request) = request else { return };
        worker.current.set(request.run());
        worker.queue.borrow_mut().push_back(request);
        if !worker.busy.replace(true) {
            wasm_bindgen_futures::spawn_local(drain(worker.clone(), models.clone()));
        }
    });
    scope().set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    // The handler lives as long as the worker.
    on_message.forget();
    reply(&Reply::Awake);
}

/// Carries out requests until there are none.
async fn drain(worker: Rc<Worker>, models: Rc<RefCell<Option<ModelCache>>>) {
    loop {
        let Some(request) = worker.queue.borrow_mut().pop_front() else { break };
        let run = request.run();
        // Requests come one at a time, so the models is never borrowed twice.
        let mut held = models.take();
        if let Err(message) = carry_out(&worker, &mut held, request).await {
            reply(&Reply::Failed { run, message });
        }
        models.replace(held);
    }
    worker.busy.set(false);
}

async fn carry_out(worker: &Worker, models: &mut Option<ModelCache>, request: Request) -> Result<(), String> {
    if let Request::Start { backend, base } = request {
        download::set_base(base);
        let (chosen, ready) = backend::choose(backend).await?;
        *models = Some(chosen);
        reply(&ready);
        return Ok(());
    }
    let models = models.as_mut().ok_or("The models are not ready yet; reload the page.")?;
    let goes_on = |run| worker.current.get() == Some(run);
    match request {
        Request::Answer(asked) => {
            ask::answer(models, asked, &|| goes_on(asked.run)).await?;
            reply(&Reply::Finished { run: asked.run });
        }
        Request::Look(asked) => {
            ask::probe_heads_of_both(models, asked, &|| goes_on(asked.run)).await?;
            reply(&Reply::Finished { run: asked.run });
        }
        Request::Measure { run, question, method, trials } => {
            ask::measure(models, run, question, method, trials, &|| goes_on(run)).await?;
            reply(&Reply::Finished { run });
        }
        Request::Start { .. } | Request::Stop => {}
    }
    Ok(())
}

/// Sends a message to the page.
fn reply(message: &Reply) {
    if let Ok(text) = serde_json::to_string(message) {
        // Fails only when the page is gone.
        let _ = scope().post_message(&text.into());
    }
}

fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}

/// Lets messages from the page arrive.
async fn yield_to_messages() {
    gloo_timers::future::TimeoutFuture::new(0).await;
}

/// Milliseconds, for durations.
fn now() -> f64 {
    scope().performance().map_or(0.0, |clock| clock.now())
}
