//! The choices that the page's address keeps, so that it can be shared.

use std::str::FromStr;

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_protocol::BackendChoice;
use leptos::prelude::*;
use wasm_bindgen::JsValue;
use web_sys::UrlSearchParams;

use super::state::{EXTENSIONS, Engine, State, is_taught};

impl State {
    /// What the address says, and defaults for the rest.
    pub fn from_address() -> Self {
        let query = window().location().search().unwrap_or_default();
        let parameters = UrlSearchParams::new_with_str(&query).ok();
        let get = |name: &str| parameters.as_ref().and_then(|parameters| parameters.get(name));
        let extension = read(get("extension")).filter(|factor| EXTENSIONS.contains(factor));
        let backend = match get("backend").as_deref() {
            Some("cpu") => BackendChoice::Cpu,
            Some("webgpu") => BackendChoice::Webgpu,
            _ => BackendChoice::Auto,
        };
        Self {
            task: RwSignal::new(read(get("task")).filter(|&task| is_taught(task)).unwrap_or(Task::MultiKey)),
            values: RwSignal::new(read(get("values")).unwrap_or(Values::Numbers)),
            extension: RwSignal::new(extension.unwrap_or(4)),
            depth: RwSignal::new(read(get("depth")).unwrap_or(30).min(100)),
            seed: RwSignal::new(read(get("seed")).unwrap_or(1)),
            methods: [
                RwSignal::new(read(get("left")).unwrap_or(Method::Drope)),
                RwSignal::new(read(get("right")).unwrap_or(Method::Yarn)),
            ],
            backend_choice: RwSignal::new(backend),
            engine: RwSignal::new(Engine::Loading),
            loading: RwSignal::new(None),
            error: RwSignal::new(None),
            run: RwSignal::new(0),
            running: RwSignal::new(None),
            asked: RwSignal::new(None),
            answers: [RwSignal::default(), RwSignal::default()],
            probes: [RwSignal::default(), RwSignal::default()],
            counted: RwSignal::default(),
        }
    }

    /// Writes every choice into the address, so that it can be shared.
    pub fn keep_address(self) {
        Effect::new(move |_| {
            let backend = match self.backend_choice.get() {
                BackendChoice::Auto => "",
                BackendChoice::Webgpu => "&backend=webgpu",
                BackendChoice::Cpu => "&backend=cpu",
            };
            let address = format!(
                "?task={}&values={}&extension={}&depth={}&seed={}&left={}&right={}{backend}",
                self.task.get().name(),
                self.values.get().name(),
                self.extension.get(),
                self.depth.get(),
                self.seed.get(),
                self.methods[0].get().name(),
                self.methods[1].get().name(),
            );
            if let Ok(history) = window().history() {
                // Refused only on pages without an origin; the page works without.
                let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&address));
            }
        });
    }
}

fn read<T: FromStr>(text: Option<String>) -> Option<T> {
    text?.parse().ok()
}
