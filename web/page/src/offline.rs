//! The page without a connection, and the page after a new deploy.

use drope_protocol::BUILD;
use js_sys::Array;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{PerformanceResourceTiming, RequestCache, RequestInit, Response, ServiceWorkerRegistration, Url};

use crate::link::script::{Program, base, program_addresses};
use crate::link::threads::allowed;
use crate::state::State;
use crate::state::engine::{Backend, Engine};
use crate::state::training::Phase;

/// Milliseconds between two looks for a new version.
const LOOK_EVERY: f64 = 600_000.0;

/// Caches the page once a program computes, and again when another one is used, and checks for a new version when the user returns to the tab.
pub fn keep(state: State) {
    Effect::new(move |used: Option<Vec<Program>>| {
        let mut programs = used.unwrap_or_default();
        let mut add = |program| {
            let is_new = !programs.contains(&program);
            programs.extend(is_new.then_some(program));
            is_new
        };
        let mut is_new = match state.engine.get() {
            Engine::Open { backend: Backend::Cpu, threads: 2.., .. } => add(Program::Shares),
            Engine::Open { backend: Backend::Cpu, .. } => add(Program::Computes(Backend::Cpu)),
            // At the next visit the CPU's program answers first.
            Engine::Open { backend: Backend::Webgpu, .. } if allowed(state.threads) > 1 => {
                add(Program::Computes(Backend::Webgpu)) | add(Program::Shares)
            }
            Engine::Open { backend: Backend::Webgpu, .. } => {
                add(Program::Computes(Backend::Webgpu)) | add(Program::Computes(Backend::Cpu))
            }
            _ => false,
        };
        is_new |= state.training.phase.get() != Phase::Idle && add(Program::Trains);
        if is_new {
            let programs = programs.clone();
            // Without a secure context there is no service worker; the page works all the same.
            leptos::task::spawn_local(async move { drop(keep_files(&programs).await) });
        }
        programs
    });
    let looked = StoredValue::new(js_sys::Date::now());
    window_event_listener(leptos::ev::visibilitychange, move |_| {
        let is_due = js_sys::Date::now() - looked.get_value() > LOOK_EVERY;
        if is_due && document().visibility_state() == web_sys::VisibilityState::Visible {
            looked.set_value(js_sys::Date::now());
            leptos::task::spawn_local(async move {
                if is_replaced().await.unwrap_or(false) {
                    state.is_replaced.set(true);
                }
            });
        }
    });
}

/// Lets the service worker keep all that the page consists of, with the programs that were used.
async fn keep_files(programs: &[Program]) -> Result<(), JsValue> {
    let container = js_sys::Reflect::get(&window().navigator(), &"serviceWorker".into())?;
    if container.is_undefined() {
        return Ok(());
    }
    let container = window().navigator().service_worker();
    // Its own address changes with the build, so that browsers look at it anew.
    JsFuture::from(container.register(&format!("sw.js?v={BUILD}"))).await?;
    let ready: ServiceWorkerRegistration = JsFuture::from(container.ready()?).await?.dyn_into()?;
    let files = Array::of1(&Url::new_with_base("./", &base())?.href().into());
    let performance = window().performance().ok_or("no clock")?;
    for entry in performance.get_entries_by_type("resource").iter() {
        let name = entry.unchecked_into::<PerformanceResourceTiming>().name();
        let is_ours = Url::new(&name).is_ok_and(|url| Ok(url.origin()) == window().location().origin());
        // The worker caches the models itself, and a service worker must not serve its own script.
        if is_ours && !name.contains("/models/") && !name.contains("/sw.js") {
            files.push(&name.into());
        }
    }
    for &program in programs {
        for address in program_addresses(program)? {
            files.push(&address.into());
        }
    }
    let Some(active) = ready.active() else { return Ok(()) };
    active.post_message(&Array::of2(&files, &page_program().unwrap_or_default().into()))
}

/// The address of the page's own program, in which its content is named.
fn page_program() -> Option<String> {
    document().query_selector("script[data-program]").ok()??.get_attribute("data-program")
}

/// Whether the server has another version of this page.
async fn is_replaced() -> Result<bool, JsValue> {
    let options = RequestInit::new();
    options.set_cache(RequestCache::NoStore);
    let response: Response = JsFuture::from(window().fetch_with_str_and_init("./", &options)).await?.dyn_into()?;
    let text = JsFuture::from(response.text()?).await?.as_string().unwrap_or_default();
    Ok(response.ok() && page_program().is_some_and(|program| !text.contains(&program)))
}
