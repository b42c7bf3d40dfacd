//! Starting a worker, speaking to it and ending it; and whether the browser has what WebGPU's needs.

use std::cell::Cell;
use std::rc::Rc;

use drope_protocol::{BUILD, Reply, Request};
use js_sys::Array;
use leptos::prelude::*;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, MessageEvent, Url, Worker, WorkerOptions, WorkerType};

use crate::parts::blob::text_address;
use crate::state::engine::Backend;

/// A worker's program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// It reads, on the CPU with several threads.
    Shares,
    /// It reads, on a backend.
    Computes(Backend),
    /// It recalibrates.
    Trains,
}

/// Starts a worker. `on_reply` gets each reply with the blob that came with it, and `on_error` a failure's message.
pub fn start_worker(
    program: Program,
    on_reply: impl Fn(Reply, Option<Blob>) + 'static,
    on_error: impl Fn(String) + 'static,
) -> Result<Worker, JsValue> {
    let worker = Worker::new(&script_address(program)?)?;
    let is_awake = Rc::new(Cell::new(false));
    let has_woken = is_awake.clone();
    let on_message = move |data: JsValue| {
        has_woken.set(true);
        // Text, or a list of a text and a blob.
        let list = data.dyn_ref::<Array>();
        let text = list.map_or_else(|| data.clone(), |list| list.get(0)).as_string();
        let blob = list.and_then(|list| list.get(1).dyn_into().ok());
        if let Some(reply) = text.and_then(|text| serde_json::from_str(&text).ok()) {
            on_reply(reply, blob);
        }
    };
    hear(&worker, on_message, move |message| on_error(reason(message, is_awake.get())));
    Ok(worker)
}

/// Starts a worker from a module of JavaScript, a file of the page. `on_text` gets each text that it posts, and `on_error` a failure's message.
pub fn start_module(
    file: &str,
    on_text: impl Fn(String) + 'static,
    on_error: impl Fn(String) + 'static,
) -> Result<Worker, JsValue> {
    let options = WorkerOptions::new();
    options.set_type(WorkerType::Module);
    let address = Url::new_with_base(&format!("{file}?v={BUILD}"), &base())?.href();
    // As a script made here the worker is as isolated as the page, whatever headers its server sends.
    let worker =
        Worker::new_with_options(&text_address("text/javascript", &format!("import '{address}';"))?, &options)?;
    let on_message = move |data: JsValue| data.as_string().into_iter().for_each(&on_text);
    hear(&worker, on_message, on_error);
    Ok(worker)
}

fn hear(worker: &Worker, on_message: impl Fn(JsValue) + 'static, on_error: impl Fn(String) + 'static) {
    let on_message = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| on_message(event.data()));
    worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
    // Where a script cannot be loaded, the event has no message.
    let message = |event: &JsValue| js_sys::Reflect::get(event, &"message".into()).ok()?.as_string();
    let on_error = Closure::<dyn Fn(JsValue)>::new(move |event: JsValue| on_error(message(&event).unwrap_or_default()));
    worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    on_error.forget();
}

/// Why a worker stopped, in words: of a program that did not come because there is no connection, browsers say no more than that
/// something failed.
fn reason(message: String, is_awake: bool) -> String {
    if is_awake || window().navigator().on_line() {
        message
    } else {
        "there is no connection, and this part of the page was not used with one yet".to_owned()
    }
}

/// The first message; `first` are models that are loaded at once.
pub fn start_request(must_be_fast: bool, threads: usize, first: Vec<String>) -> Request {
    Request::Start { must_be_fast, may_use_subgroups: true, threads, base: base(), first }
}

/// Sends a request.
pub fn post(worker: &Worker, request: &Request) {
    if let Ok(text) = serde_json::to_string(request) {
        // Fails only for values that cannot be copied; text can be copied.
        let _ = worker.post_message(&text.into());
    }
}

/// Sends a request with files.
pub fn post_with_files(worker: &Worker, request: &Request, files: &Array) {
    if let Ok(text) = serde_json::to_string(request) {
        // Files can be copied too.
        let _ = worker.post_message(&Array::of1(&text.into()).concat(files));
    }
}

/// Ends a worker; nothing that it sent arrives any more.
pub fn end(worker: &Worker) {
    worker.set_onmessage(None);
    worker.set_onerror(None);
    worker.terminate();
}

/// Addresses of a worker's program: its script and its wasm.
pub fn program_addresses(program: Program) -> Result<[String; 2], JsValue> {
    let program = match program {
        Program::Shares => "worker-threads",
        Program::Computes(Backend::Cpu) => "worker",
        Program::Computes(Backend::Webgpu) => "worker-webgpu",
        Program::Trains => "worker-train",
    };
    let at = |file: &str| Url::new_with_base(&format!("{program}{file}?v={BUILD}"), &base()).map(|url| url.href());
    Ok([at(".js")?, at("_bg.wasm")?])
}

/// The address that those of the page's files are relative to.
pub fn base() -> String {
    document().base_uri().ok().flatten().unwrap_or_default()
}

/// Address of a worker's own script. It is made here, since the files that it loads need the build's name against stale
/// caches.
fn script_address(program: Program) -> Result<String, JsValue> {
    let [script, wasm] = program_addresses(program)?;
    // Messages that arrive before the wasm does wait. A failure to load it must reach `onerror`, which rejections do not; so must a trap in the
    // program for threads, whose tasks go on in promises.
    let text = format!(
        "self.addEventListener('unhandledrejection', ({{ reason }}) => {{\
           if (reason instanceof WebAssembly.RuntimeError) setTimeout(() => {{ throw reason; }});\
         }});\
         const held = [], hold = (event) => held.push(event.data);\
         self.addEventListener('message', hold);\
         importScripts('{script}');\
         wasm_bindgen({{ module_or_path: '{wasm}' }}).then(() => {{\
           self.removeEventListener('message', hold);\
           held.forEach((data) => self.onmessage({{ data }}));\
         }}).catch((error) => setTimeout(() => {{ throw error; }}));"
    );
    text_address("text/javascript", &text)
}

/// Whether WebGPU has an adapter, which browsers on machines without a graphics card may not.
pub async fn has_adapter() -> bool {
    adapter().await.is_ok_and(|adapter| adapter.is_truthy())
}

/// WebGPU's adapter, or null.
pub async fn adapter() -> Result<JsValue, JsValue> {
    let get = |object: &JsValue, name: &str| js_sys::Reflect::get(object, &name.into());
    let gpu = get(&get(&window(), "navigator")?, "gpu")?;
    let request: js_sys::Function = get(&gpu, "requestAdapter")?.dyn_into()?;
    JsFuture::from(request.call0(&gpu)?.dyn_into::<js_sys::Promise>()?).await
}
