//! What the page shows, and the part of it that the address keeps.

use std::collections::HashMap;
use std::str::FromStr;

use drope_core::language::Values;
use drope_core::niah::{SentenceKind, Task};
use drope_core::positions::Method;
use drope_core::probe::HeadProbe;
use leptos::prelude::*;
use wasm_bindgen::JsValue;
use web_sys::UrlSearchParams;

use crate::protocol::{BackendChoice, Question};

/// Factors of the training context that can be chosen.
pub const EXTENSIONS: [usize; 5] = [1, 2, 4, 8, 16];

/// Signals of the page.
#[derive(Clone, Copy)]
pub struct State {
    /// Kind of retrieval.
    pub task: RwSignal<Task>,
    /// Numbers or words.
    pub values: RwSignal<Values>,
    /// Multiple of the training context.
    pub extension: RwSignal<usize>,
    /// Depth of the needle, in percent.
    pub depth: RwSignal<u32>,
    /// Seed of the haystack.
    pub seed: RwSignal<u64>,
    /// Left and right method.
    pub methods: [RwSignal<Method>; 2],
    /// Which backend was asked for.
    pub backend_choice: RwSignal<BackendChoice>,
    /// Where the models compute.
    pub engine: RwSignal<Engine>,
    /// Weights on their way.
    pub loading: RwSignal<Option<Loading>>,
    /// What went wrong.
    pub error: RwSignal<Option<String>>,
    /// Number of the last run.
    pub run: RwSignal<u32>,
    /// What runs now.
    pub running: RwSignal<Option<Running>>,
    /// The question that was asked last.
    pub asked: RwSignal<Option<Asked>>,
    /// The two answers.
    pub answers: [RwSignal<Answer>; 2],
    /// What the heads of both columns did.
    pub looks: [RwSignal<Option<Look>>; 2],
    /// Cells of the grid that were run here.
    pub live: RwSignal<HashMap<CellKey, Live>>,
}

/// The worker, from the page's first moment on.
#[derive(Clone, PartialEq)]
pub enum Engine {
    /// Its wasm is on its way.
    Loading,
    /// It compares WebGPU with the CPU.
    Choosing,
    /// It computes.
    Chosen {
        /// `WebGPU` or `CPU`.
        backend: String,
        /// Why, in a sentence.
        note: String,
    },
    /// It failed, and is started anew by the next run.
    Stopped,
}

/// Bytes of a model so far and in all.
#[derive(Clone, PartialEq)]
pub struct Loading {
    /// Name of the model.
    pub model: String,
    /// Bytes so far.
    pub received: f64,
    /// Bytes in all; 0 if unknown.
    pub total: f64,
}

/// What the worker is doing.
#[derive(Clone, Copy, PartialEq)]
pub enum Running {
    /// Both columns answer.
    Answer,
    /// Both columns show their heads.
    Look,
    /// A cell of the grid is measured.
    Cell(CellKey),
}

/// A cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CellKey {
    /// Method of the row.
    pub method: Method,
    /// Kind of retrieval.
    pub task: Task,
    /// Numbers or words.
    pub values: Values,
    /// Factor of the column.
    pub extension: usize,
}

/// What was counted in this tab.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Live {
    /// Exact answers.
    pub correct: usize,
    /// Trials.
    pub done: usize,
}

/// The question that both methods answer.
#[derive(Clone, PartialEq)]
pub struct Asked {
    /// Sentences of the haystack.
    pub haystack: Vec<(String, SentenceKind)>,
    /// What is asked behind it.
    pub question: String,
    /// Right values.
    pub references: Vec<String>,
    /// Whether their order counts.
    pub ordered: bool,
    /// Tokens of the prompt.
    pub tokens: usize,
    /// Training context.
    pub context: usize,
}

/// One column's answer.
#[derive(Clone, Default, PartialEq)]
pub struct Answer {
    /// Tokens of the prompt that were read.
    pub read: usize,
    /// Text so far.
    pub text: String,
    /// Exactness and speeds, once done.
    pub done: Option<Done>,
}

/// What the heads of a column did.
#[derive(Clone, PartialEq)]
pub struct Look {
    /// Method that read.
    pub method: Method,
    /// Multiple of the training context.
    pub extension: usize,
    /// Layer after layer.
    pub heads: Vec<HeadProbe>,
}

/// How an answer ended.
#[derive(Clone, Copy, PartialEq)]
pub struct Done {
    /// Whether it is exact.
    pub exact: bool,
    /// Tokens of the prompt a second.
    pub prefill: f64,
    /// Generated tokens a second.
    pub decode: f64,
}

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
            // The models of the page were not taught the words of pass keys.
            task: RwSignal::new(read(get("task")).filter(|&task| task != Task::Passkey).unwrap_or(Task::MultiKey)),
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
            looks: [RwSignal::default(), RwSignal::default()],
            live: RwSignal::default(),
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

    /// The question as chosen.
    pub fn question(self) -> Question {
        Question {
            task: self.task.get_untracked(),
            values: self.values.get_untracked(),
            extension: self.extension.get_untracked(),
            seed: self.seed.get_untracked(),
        }
    }
}

fn read<T: FromStr>(text: Option<String>) -> Option<T> {
    text?.parse().ok()
}
