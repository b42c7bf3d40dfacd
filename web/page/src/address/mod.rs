//! The choices that the page's address keeps, so that it can be shared.

pub mod difficulty;
pub mod parse;
pub mod readings;

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use leptos::prelude::*;
use wasm_bindgen::JsValue;
use web_sys::UrlSearchParams;

use self::parse::{numbers, read};
use self::readings::{readings, written};
use crate::state::benchmark_size::BenchmarkSize;
use crate::state::dial::Dial;
use crate::state::engine::{BackendChoice, Engine};
use crate::state::screen::Screen;
use crate::state::story::{Story, example_text};
use crate::state::training::Training;
use crate::state::{EXTENSIONS, State, TOKENS};

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
        let screen = screen_in(&query);
        let story = Story::new();
        let chosen = get("story");
        let with_fourth = || chosen.as_deref().and_then(numbers::<4>);
        // Without the fourth row.
        let without =
            || chosen.as_deref().and_then(numbers).map(|[extension, depth, seed]| [extension, depth, seed, 0]);
        if let Some([extension, depth, seed, fourth]) = with_fourth().or_else(without) {
            story.choose(extension as usize, depth.min(100) as u32, seed, fourth == 1);
        }
        let state = Self {
            screen: RwSignal::new(screen),
            story,
            dial: Dial::new(),
            task: RwSignal::new(read(get("task")).unwrap_or(Task::MultiKey)),
            values: RwSignal::new(read(get("values")).unwrap_or(Values::Numbers)),
            filler: RwSignal::new(read(get("filler"))),
            difficulty: RwSignal::new(difficulty::from_address(get)),
            extension: RwSignal::new(extension.unwrap_or(4)),
            tokens: RwSignal::new(read(get("tokens")).filter(|tokens| TOKENS.contains(tokens))),
            is_own: RwSignal::new(screen == Screen::Text),
            own_text: RwSignal::new(example_text()),
            depth: RwSignal::new(read(get("depth")).unwrap_or(30).min(100)),
            seed: RwSignal::new(read(get("seed")).unwrap_or(1)),
            columns: RwSignal::new(Vec::new()),
            owner: StoredValue::new(Owner::current().unwrap_or_default()),
            backend_choice: RwSignal::new(backend),
            engine: RwSignal::new(Engine::Loading),
            loading: RwSignal::new(None),
            error: RwSignal::new(None),
            model_error: RwSignal::new(None),
            run: RwSignal::new(0),
            running: RwSignal::new(None),
            asked: RwSignal::new(None),
            asks_own: RwSignal::new(false),
            counted: RwSignal::default(),
            is_replaced: RwSignal::new(false),
            threads: read(get("threads")),
            is_embedded: get("embed").is_some_and(|text| text == "1"),
            benchmark: get("benchmark").map(|text| BenchmarkSize::new(numbers(&text), read(get("rounds")))),
            stored: RwSignal::new(Some(Vec::new())),
            replaced: RwSignal::default(),
            training: Training::new(),
            is_exporting: RwSignal::new(false),
            queue: RwSignal::default(),
            tour: RwSignal::new(read(get("tour")).unwrap_or_default()),
        };
        let columns = get("columns").and_then(|text| readings(&text));
        // Addresses from when there were two columns.
        let [left, right] = ["left", "right"].map(|side| read::<Method>(get(side)));
        match columns {
            Some(readings) => state.columns.set(state.new_columns(readings.into_iter())),
            None => state.compare(&[left.unwrap_or(Method::Drope), right.unwrap_or(Method::Rope)]),
        }
        state
    }

    /// Writes the choices of the comparison and of the first screen into the address, so that they can be shared.
    pub fn keep_address(self) {
        Effect::new(move |_| {
            let embed = if self.is_embedded { "&embed=1" } else { "" };
            let address = self.address_of(self.screen.get()) + embed;
            if let Ok(history) = window().history() {
                // Refused only on pages without an origin; the page works without.
                let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&address));
            }
        });
    }

    /// The address of a screen, with these choices.
    pub fn address_of(self, screen: Screen) -> String {
        let screen = if screen == Screen::default() { String::new() } else { format!("&screen={}", screen.name()) };
        self.choices() + &screen
    }

    /// The choices of the comparison and of the first screen as the query of an address.
    pub fn choices(self) -> String {
        let backend = match self.backend_choice.get() {
            BackendChoice::Auto => "",
            BackendChoice::Webgpu => "&backend=webgpu",
            BackendChoice::Cpu => "&backend=cpu",
        };
        let tour = match self.tour.get() {
            0 => String::new(),
            step => format!("&tour={step}"),
        };
        let threads = self.threads.map(|threads| format!("&threads={threads}")).unwrap_or_default();
        let tokens = self.tokens.get().map(|tokens| format!("&tokens={tokens}")).unwrap_or_default();
        format!(
            "?task={}&values={}{}&extension={}{tokens}&depth={}&seed={}&columns={}{backend}{threads}{tour}{}",
            self.task.get().name(),
            self.values.get().name(),
            difficulty::written(self.kind()),
            self.extension.get(),
            self.depth.get(),
            self.seed.get(),
            self.columns.with(|columns| columns
                .iter()
                .map(|column| written(&column.reading()))
                .collect::<Vec<_>>()
                .join("~")),
            self.story.written(),
        )
    }
}

/// The screen that a query names.
pub fn screen_in(query: &str) -> Screen {
    let parameters = UrlSearchParams::new_with_str(query).ok();
    read(parameters.and_then(|parameters| parameters.get("screen"))).unwrap_or_default()
}
