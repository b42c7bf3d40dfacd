//! The playground's workers, in which the models run: one on the CPU; with the feature `webgpu`, one on WebGPU; with `train`, one
//! that recalibrates and saves; with `threads`, one on the CPU with several threads. They carry out requests one after another and let messages arrive at short intervals, so that Stop
//! takes effect.

mod blob_file;
mod capacity;
mod chat;
mod content;
mod download;
#[cfg(feature = "train")]
mod export;
mod folder_name;
mod import;
mod import_source;
mod lock;
mod models;
mod questions;
#[cfg(feature = "train")]
mod recalibrate;
mod run;
mod store;
#[cfg(feature = "webgpu")]
mod subgroups;
#[cfg(feature = "threads")]
mod threads;
#[cfg(feature = "webgpu")]
mod webgpu;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use burn::tensor::Device;
use drope_core::generate::Flow;
use drope_protocol::{Reply, Request, StudyModel};
use js_sys::Array;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
#[cfg(feature = "train")]
use web_sys::Blob;
use web_sys::{DedicatedWorkerGlobalScope, File, MessageEvent};

use self::capacity::Capacity;
use self::models::ModelCache;
use self::run::{Interruption, Run};

#[cfg(feature = "webgpu")]
pub use self::subgroups::open_webgpu;

/// Requests that wait, and the run that may go on.
#[derive(Default)]
struct Queue {
    /// Each request with the files that came with it.
    waiting: RefCell<VecDeque<(Request, Vec<File>)>>,
    is_busy: Cell<bool>,
    current: Rc<Cell<Option<u32>>>,
}

/// Answers the page's requests as long as the worker lives.
pub fn serve() {
    console_error_panic_hook::set_once();
    #[cfg(feature = "threads")]
    if threads::is_thread() {
        threads::serve();
        return;
    }
    let queue = Rc::new(Queue::default());
    let models = Rc::new(RefCell::new(None::<ModelCache>));
    let on_message = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
        // Text, or a list of a text and files.
        let list = event.data().dyn_into::<Array>().ok();
        let text = list.as_ref().map_or_else(|| event.data(), |list| list.get(0)).as_string();
        let Some(text) = text else { return };
        let Ok(request) = serde_json::from_str::<Request>(&text) else { return refuse_unknown(&text) };
        let files = list.as_ref().map(store::files_of).unwrap_or_default();
        queue.current.set(request.run());
        confirm_superseded(&mut queue.waiting.borrow_mut());
        queue.waiting.borrow_mut().push_back((request, files));
        if !queue.is_busy.replace(true) {
            wasm_bindgen_futures::spawn_local(carry_out_all(queue.clone(), models.clone()));
        }
    });
    scope().set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    // The handler lives as long as the worker.
    on_message.forget();
    reply(&Reply::Awake);
}

/// Answers a request of another version: a page that was opened before an update may load the program of the new version.
fn refuse_unknown(text: &str) {
    let request: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let mut fields = request.as_object().into_iter().flat_map(serde_json::Map::values);
    let run = fields.find_map(|fields| u32::try_from(fields.get("run")?.as_u64()?).ok());
    if let Some(run) = run {
        reply(&Reply::Failed { run, message: "There is a new version of this page; reload it.".to_owned() });
    }
}

/// Ends the waiting runs when another request arrives, but for those that change what is kept. They end at once; only the run that is being
/// carried out needs time to stop.
fn confirm_superseded(waiting: &mut VecDeque<(Request, Vec<File>)>) {
    let changes_the_store = |request: &Request| matches!(request, Request::Remove { .. } | Request::Chat { .. });
    waiting.retain(|(request, _)| match request.run() {
        Some(run) if !changes_the_store(request) => {
            reply(&Reply::Finished { run });
            false
        }
        _ => true,
    });
}

/// Carries out requests until there are none, and then what the first screen needs.
async fn carry_out_all(queue: Rc<Queue>, models: Rc<RefCell<Option<ModelCache>>>) {
    loop {
        let next = queue.waiting.borrow_mut().pop_front();
        // Requests come one at a time, so the models are never borrowed twice.
        let mut held = models.take();
        let Some((request, files)) = next else {
            if let Some(models) = &mut held {
                prepare(models, &queue).await;
            }
            models.replace(held);
            if queue.waiting.borrow().is_empty() {
                break;
            }
            continue;
        };
        let run = request.run();
        let outcome = carry_out(&queue, &mut held, request, files).await;
        models.replace(held);
        // The requests `Start` and `Stop` begin no run, and they do not fail.
        let Some(run) = run else { continue };
        match outcome {
            Err(Interruption::Failed(message)) => reply(&Reply::Failed { run, message }),
            // The page asks the same of the CPU.
            Err(Interruption::DeviceLost) => reply(&Reply::Unfit { note: "WebGPU lost its device".to_owned() }),
            Ok(()) | Err(Interruption::Stopped) => reply(&Reply::Finished { run }),
        }
    }
    queue.is_busy.set(false);
}

async fn carry_out(
    queue: &Queue,
    models: &mut Option<ModelCache>,
    request: Request,
    files: Vec<File>,
) -> Result<(), Interruption> {
    if let Request::Start { must_be_fast, may_use_subgroups, threads, base, first } = request {
        download::set_base(base);
        let threads = share_kernels(threads).await;
        match open_device(must_be_fast, may_use_subgroups).await {
            Ok(Opened { device, note, subgroups, keeps_wide_cache }) => {
                let first = first.iter().filter_map(|name| StudyModel::named(name)).collect();
                let capacity = Capacity { keeps_wide_cache, ..capacity().await };
                *models = Some(ModelCache::new(device, capacity, first));
                reply(&Reply::Ready { note, threads, subgroups });
                store::tell().await;
            }
            Err(note) => reply(&Reply::Unfit { note }),
        }
        return Ok(());
    }
    let Some(number) = request.run() else { return Ok(()) };
    let models = models.as_mut().ok_or_else(|| "The models are not ready yet; reload the page.".to_owned())?;
    let run = Run::new(number, queue.current.clone());
    match request {
        Request::Answer(comparison) => questions::answer(models, comparison, &run).await,
        Request::Probe(comparison) => questions::probe(models, comparison, &run).await,
        Request::Predict(comparison) => questions::predict(models, comparison, &run).await,
        Request::Measure { question, depth, reading, trials, .. } => {
            questions::measure(models, question, depth, &reading, trials, &run).await
        }
        Request::Import { name, origin, .. } => import::import(&name, origin, files, &models.capacity, &run).await,
        Request::Remove { name, .. } => {
            models.forget(&name);
            let removed = store::remove(&name).await;
            store::tell().await;
            removed
        }
        Request::Chat { name, is_used, .. } => chat::choose(&name, is_used).await,
        #[cfg(feature = "train")]
        Request::Template { name, .. } => chat::render(&name).await,
        #[cfg(feature = "train")]
        Request::Export { name, .. } => export::export(&name, &run).await,
        #[cfg(feature = "train")]
        Request::Drop(recalibration) => recalibrate::try_drop(&recalibration, &run).await,
        #[cfg(feature = "train")]
        Request::Recalibrate(recalibration) => recalibrate::recalibrate(&recalibration, &run).await,
        #[cfg(not(feature = "train"))]
        Request::Drop(_) | Request::Recalibrate(_) | Request::Export { .. } | Request::Template { .. } => {
            Err(Interruption::Failed("This worker only reads.".into()))
        }
        Request::Start { .. } | Request::Stop => Ok(()),
    }
}

/// Loads the models of the first screen, and lets them read a text, until something is asked.
async fn prepare(models: &mut ModelCache, queue: &Queue) {
    let flow = || if queue.waiting.borrow().is_empty() { Flow::Continue } else { Flow::Stop };
    while flow() == Flow::Continue
        && let Some(model) = models.to_load.pop_front()
    {
        // A run that waits for the models shows how much of them is there.
        let progress = |received, total| {
            if let Some(run) = queue.current.get() {
                reply(&Reply::Loading { run, model: model.name.to_owned(), received, total });
            }
            Flow::Continue
        };
        // What fails here is asked for again by the run that needs it, which says why it fails.
        let loaded = models.prepare(model, &progress).await;
        models.to_read.extend(loaded);
    }
    while flow() == Flow::Continue
        && let Some(model) = models.to_read.pop_front()
    {
        // Browsers compile their faster code of what is used much; without this the first answer would wait for it.
        let _ = questions::read_anything(&model, flow).await;
    }
}

/// Sends a message to the page.
fn reply(message: &Reply) {
    if let Ok(text) = serde_json::to_string(message) {
        // Fails only when the page is gone.
        let _ = scope().post_message(&text.into());
    }
}

/// Sends a message together with a blob, which JSON cannot contain.
#[cfg(feature = "train")]
fn reply_with(message: &Reply, blob: &Blob) {
    if let Ok(text) = serde_json::to_string(message) {
        // Fails only when the page is gone.
        let _ = scope().post_message(&Array::of2(&text.into(), blob));
    }
}

fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}

/// Milliseconds, for durations.
fn now() -> f64 {
    scope().performance().map_or(0.0, |clock| clock.now())
}

/// The device on which the models compute.
struct Opened {
    device: Device,
    /// Why it is a good choice, as the end of a sentence.
    note: String,
    /// Units of a GPU that join numbers by subgroups; 1: none.
    subgroups: usize,
    /// As [`Capacity`] has it.
    keeps_wide_cache: bool,
}

/// The device; else the reason why there is none, as the end of a sentence.
#[cfg(feature = "webgpu")]
async fn open_device(must_be_fast: bool, may_use_subgroups: bool) -> Result<Opened, String> {
    webgpu::open(must_be_fast, may_use_subgroups).await
}

#[cfg(not(feature = "webgpu"))]
async fn open_device(_must_be_fast: bool, _may_use_subgroups: bool) -> Result<Opened, String> {
    Ok(Opened { device: Device::flex(), note: "it is always there".to_owned(), subgroups: 1, keeps_wide_cache: false })
}

/// Lets so many threads share the kernels, and says how many do.
#[cfg(feature = "threads")]
async fn share_kernels(threads: usize) -> usize {
    match threads::start(threads).await {
        Ok(()) => threads,
        Err(_) => 1,
    }
}

#[cfg(not(feature = "threads"))]
async fn share_kernels(_threads: usize) -> usize {
    1
}

/// What the device holds.
#[cfg(feature = "webgpu")]
async fn capacity() -> Capacity {
    webgpu::capacity().await
}

#[cfg(not(feature = "webgpu"))]
async fn capacity() -> Capacity {
    Capacity::default()
}
