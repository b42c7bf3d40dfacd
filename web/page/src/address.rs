//! The choices that the page's address keeps, so that it can be shared.

use std::str::FromStr;

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_protocol::{Reading, StudyModel};
use leptos::prelude::*;
use wasm_bindgen::JsValue;
use web_sys::UrlSearchParams;

use super::benchmark;
use super::column::COLUMNS;
use super::dial::Dial;
use super::difficulty;
use super::engine::{BackendChoice, Engine};
use super::own_models::clean;
use super::own_text;
use super::rooms::{Room, room_in};
use super::state::{EXTENSIONS, State, TOKENS};
use super::story::Story;
use super::tour::step;
use super::training::Training;

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
        let room = room_in(&query);
        let story = Story::new();
        if let Some([extension, depth, seed]) = get("story").and_then(|text| numbers(&text)) {
            story.choose(extension as usize, depth.min(100) as u32, seed);
        }
        let state = Self {
            room: RwSignal::new(room),
            story,
            dial: Dial::new(),
            task: RwSignal::new(read(get("task")).unwrap_or(Task::MultiKey)),
            values: RwSignal::new(read(get("values")).unwrap_or(Values::Numbers)),
            filler: RwSignal::new(read(get("filler"))),
            difficulty: RwSignal::new(difficulty::from_address(get)),
            extension: RwSignal::new(extension.unwrap_or(4)),
            tokens: RwSignal::new(read(get("tokens")).filter(|tokens| TOKENS.contains(tokens))),
            is_own: RwSignal::new(room == Room::Text),
            own_text: RwSignal::new(own_text::example()),
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
            counted: RwSignal::default(),
            is_replaced: RwSignal::new(false),
            threads: read(get("threads")),
            is_embedded: get("embed").is_some_and(|text| text == "1"),
            benchmark: get("benchmark").map(|text| benchmark::prompts(numbers(&text))),
            stored: RwSignal::new(Some(Vec::new())),
            training: Training::new(),
            queue: RwSignal::default(),
            tour: RwSignal::new(step(read(get("tour")).unwrap_or_default())),
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

    /// Writes every choice into the address, so that it can be shared.
    pub fn keep_address(self) {
        Effect::new(move |_| {
            let embed = if self.is_embedded { "&embed=1" } else { "" };
            let address = self.address_of(self.room.get()) + embed;
            if let Ok(history) = window().history() {
                // Refused only on pages without an origin; the page works without.
                let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&address));
            }
        });
    }

    /// The address of a room, with every choice.
    pub fn address_of(self, room: Room) -> String {
        let room = if room == Room::default() { String::new() } else { format!("&room={}", room.name()) };
        self.choices() + &room
    }

    /// Every choice as the query of an address.
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

/// How the first column of the address reads, if it has columns.
pub fn first_reading() -> Option<Reading> {
    let parameters = UrlSearchParams::new_with_str(&window().location().search().ok()?).ok()?;
    readings(&parameters.get("columns")?)?.into_iter().next()
}

/// `yarn:beta_fast=16,beta_slow=2`, `drope@study-drope`, or the method's name alone. A model of the user's own is there too: this
/// browser has it after a reload, and another one says that it has not.
fn written(Reading { model, method, parameters }: &Reading) -> String {
    let model = model.as_deref().map(|name| format!("@{name}"));
    let parameters = if parameters.is_empty() { String::new() } else { format!(":{parameters}") };
    format!("{}{}{parameters}", method.name(), model.unwrap_or_default())
}

/// Whether a model of the page or of a reader's can have this name.
fn is_name(name: &str) -> bool {
    StudyModel::named(name).is_some() || clean(name) == name
}

/// The readings of the columns in the address, if it has an allowed number of columns.
fn readings(text: &str) -> Option<Vec<Reading>> {
    let reading = |text: &str| {
        let (read, parameters) = text.split_once(':').unwrap_or((text, ""));
        let (method, model) = match read.split_once('@') {
            Some((method, name)) => (method, Some(name.to_owned()).filter(|name| is_name(name))),
            None => (read, None),
        };
        Some(Reading { model, method: method.parse().ok()?, parameters: parameters.parse().ok()? })
    };
    let readings: Vec<Reading> = text.split('~').map(reading).collect::<Option<_>>()?;
    COLUMNS.contains(&readings.len()).then_some(readings)
}

/// `8,30,2`
fn numbers<const N: usize>(text: &str) -> Option<[u64; N]> {
    let numbers: Vec<u64> = text.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

/// What a part of the address says, if it can be read.
pub fn read<T: FromStr>(text: Option<String>) -> Option<T> {
    text?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{readings, written};

    #[test]
    fn columns_survive_the_address() {
        for text in [
            "drope~rope",
            "drope~yarn:beta_fast=16,beta_slow=2~dynamic-ntk:factor=s",
            "drope@study-drope~yarn@study-rope-copies:beta_fast=16",
            "p-drope@my-partial-drope~rope@SmolLM2-135M.Q4_1",
        ] {
            let read = readings(text).unwrap();
            assert_eq!(read.iter().map(written).collect::<Vec<_>>().join("~"), text);
        }
        for bad in ["", "drope", "drope~nothing", "drope~yarn:beta_fast", "rope~rope~rope~rope~rope"] {
            assert!(readings(bad).is_none(), "{bad}");
        }
    }
}
