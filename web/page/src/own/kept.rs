//! The models that the browser keeps, and what can be done with each.

use drope_protocol::{ChatFormat, Reading, StoredModel};
use leptos::prelude::*;

use crate::link::runs::{choose_chat, remove_model, stop_answers};
use crate::link::trainer::export_model;
use crate::parts::focus::{focus, focus_clicked, scroll_to};
use crate::screens::enter;
use crate::state::State;
use crate::state::column::{COLUMNS, Column};
use crate::state::screen::Screen;

/// The models that the browser keeps.
#[component]
pub fn StoredModels(state: State, models: Vec<StoredModel>) -> impl IntoView {
    let bytes: f64 = models.iter().map(|model| model.bytes).sum();
    let row = move |model: StoredModel| {
        let asked = model.clone();
        let StoredModel { name, bytes, context, parameters, method, chat, .. } = model;
        let [to_save, to_remove, to_format] = [name.clone(), name.clone(), name.clone()];
        let to_ask = StoredValue::new(asked);
        let (is_sure, sure) = (RwSignal::new(false), format!("Remove {name} for good?"));
        let format = match chat {
            ChatFormat::Around { is_used, .. } => view! {
                <label class="inline">
                    <input type="checkbox" class="chat" prop:checked=is_used
                        on:change=move |event| choose_chat(state, to_format.clone(), event_target_checked(&event)) />
                    "Write prompts as chat messages"
                </label>
            }
            .into_any(),
            ChatFormat::None | ChatFormat::Template => ().into_any(),
        };
        view! {
            <li>
                <strong>{name.clone()}</strong>
                {format!(" {}, {} parameters, context {context}, {:.1} MB ", method.title(), count(parameters), bytes / 1e6)}
                <button type="button" class="quiet" on:click=move |_| put_into_column(state, to_ask.get_value())>
                    "Ask it"<span class="visually-hidden">{format!(", {name}")}</span>
                </button>
                <button type="button" class="quiet" disabled=move || state.is_exporting.get()
                    on:click=move |_| export_model(state, to_save.clone(), state.model_error)>
                    {move || save_label(state.is_exporting.get())}<span class="visually-hidden">{format!(" of {name}")}</span>
                </button>
                <button type="button" class="quiet remove" aria-label=move || if is_sure.get() { sure.clone() } else { format!("Remove {name}") }
                    on:click=move |event| if is_sure.get_untracked() {
                        // The button goes with its model.
                        focus("own-models");
                        remove_model(state, to_remove.clone());
                    } else {
                        is_sure.set(true);
                        // Safari gives no focus to a button that is clicked, and what has none cannot lose it.
                        focus_clicked(&event);
                    }
                    on:blur=move |_| is_sure.set(false)>
                    {move || if is_sure.get() { "Remove it for good?" } else { "Remove" }}
                </button>
                {format}
            </li>
        }
    };
    view! {
        <ul class="stored" aria-label="Models that this browser keeps">{models.into_iter().map(row).collect_view()}</ul>
        <p class="hint">{format!("Kept in this browser: {:.1} MB in all.", bytes / 1e6)}</p>
    }
}

/// What the button of a model's zip says.
pub fn save_label(is_exporting: bool) -> &'static str {
    if is_exporting { "Making the zip…" } else { "Save zip" }
}

fn count(parameters: f64) -> String {
    if parameters < 1e6 {
        format!("{:.0} thousand", parameters / 1e3)
    } else {
        format!("{:.1} million", parameters / 1e6)
    }
}

/// Shows a model beside the others, in place of the last where there is no room, and leads there.
pub fn put_into_column(state: State, model: StoredModel) {
    let reading = Reading { model: Some(model.name), method: model.method, parameters: Default::default() };
    let is_there = |column: &Column| untrack(|| column.reading()) == reading;
    if !state.columns.with_untracked(|columns| columns.iter().any(is_there)) {
        stop_answers(state);
        state.ask_shortly(model.context);
        let new = state.new_columns(std::iter::once(reading));
        state.columns.update(|columns| {
            columns.truncate(COLUMNS.end() - 1);
            columns.extend(new);
        });
    }
    enter(state, Screen::Play);
    scroll_to(".answers", web_sys::ScrollLogicalPosition::Center);
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn parameters_are_counted_in_words() {
        assert_eq!((count(849_536.0), count(134_515_008.0)), ("850 thousand".into(), "134.5 million".into()));
    }
}
