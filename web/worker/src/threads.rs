//! Threads of the CPU: workers on this worker's memory, which carry out parts of its kernels.

use std::sync::{Condvar, Mutex, PoisonError};

use js_sys::{Array, Promise};
use rayon::{ThreadBuilder, ThreadPoolBuilder};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, BlobPropertyBag, Url, Worker, WorkerOptions};

use super::download::address;
use super::scope;

/// Name of a worker that is a thread of the pool.
const NAME: &str = "thread";

/// Threads of the pool that no worker has taken yet; free workers wait for them.
static WAITING: Mutex<Vec<ThreadBuilder>> = Mutex::new(Vec::new());
static CAME: Condvar = Condvar::new();

/// Whether this worker is a thread of another.
pub fn is_thread() -> bool {
    scope().name() == NAME
}

/// Becomes a thread of the pool, as long as the worker lives.
pub fn serve() {
    // Its parent waits for any message.
    let _ = scope().post_message(&JsValue::TRUE);
    let waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    let waiting = CAME.wait_while(waiting, |waiting| waiting.is_empty());
    let thread = waiting.unwrap_or_else(PoisonError::into_inner).pop();
    if let Some(thread) = thread {
        thread.run();
    }
}

/// Lets so many threads, of which this worker is one, share kernels from now on.
pub async fn start(count: usize) -> Result<(), JsValue> {
    let script = script()?;
    let started: Array = (1..count).map(|_| start_worker(&script)).collect::<Result<_, _>>()?;
    // A browser may start a worker only while this one gives it time, so all of them must have started before the pool
    // waits for them.
    JsFuture::from(Promise::all(&started)).await?;
    // This worker is a thread of the pool too. It computes the parts that no other thread has taken.
    let pool = ThreadPoolBuilder::new().num_threads(count).use_current_thread().spawn_handler(|thread| {
        WAITING.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        CAME.notify_one();
        Ok(())
    });
    pool.build_global().map_err(|error| error.to_string().into())
}

/// The address of the script of a thread: this worker's program, on the memory that comes with the first message. A
/// program starts by itself only on its own memory, so the script calls `main`.
fn script() -> Result<String, JsValue> {
    let program = address("worker-threads.js")?;
    let text = format!(
        "importScripts('{program}');\
         self.onmessage = ({{ data: [module, memory] }}) => wasm_bindgen.initSync({{ module, memory }}).main(0, 0);"
    );
    let options = BlobPropertyBag::new();
    options.set_type("text/javascript");
    let parts = Array::of1(&text.into());
    Url::create_object_url_with_blob(&Blob::new_with_str_sequence_and_options(&parts, &options)?)
}

/// A promise of a worker that waits for a thread of the pool.
fn start_worker(script: &str) -> Result<Promise, JsValue> {
    let options = WorkerOptions::new();
    options.set_name(NAME);
    let worker = Worker::new_with_options(script, &options)?;
    worker.post_message(&Array::of2(&wasm_bindgen::module(), &wasm_bindgen::memory()))?;
    Ok(Promise::new(&mut |resolve, reject| {
        worker.set_onmessage(Some(resolve.unchecked_ref()));
        worker.set_onerror(Some(reject.unchecked_ref()));
    }))
}
