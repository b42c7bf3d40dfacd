//! A text of the reader's: what is read, what is hidden in it, what is asked.

use drope_core::niah::OwnText;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;

use crate::parts::estimate::time_of_all;
use crate::state::State;

/// The fields, where the task is the reader's own text.
#[component]
pub fn OwnTextFields(state: State) -> impl IntoView {
    let drop_file = move |event: leptos::ev::DragEvent| {
        event.prevent_default();
        let file = event.data_transfer().and_then(|data| data.files()).and_then(|files| files.get(0));
        if let Some(file) = file {
            read_file(state, file);
        }
    };
    let choose_file = move |event: leptos::ev::Event| {
        let input: Option<web_sys::HtmlInputElement> = event.target().and_then(|target| target.dyn_into().ok());
        if let Some(file) = input.and_then(|input| input.files()).and_then(|files| files.get(0)) {
            read_file(state, file);
        }
    };
    let line = move |id, label, field: fn(&mut OwnText) -> &mut String| {
        let value = move || field(&mut state.own_text.get()).clone();
        view! {
            <label class="field wide">
                <span>{label}</span>
                <input id=id type="text" prop:value=value
                    on:input=move |event| state.own_text.update(|own| *field(own) = event_target_value(&event)) />
            </label>
        }
    };
    view! {
        <div class="own-text" hidden=move || !state.is_own.get()>
            <label class="field wide">
                <span>"Text: paste one, or drop a text file here"</span>
                <textarea id="own-haystack" rows="5" on:dragover=|event: leptos::ev::DragEvent| event.prevent_default() on:drop=drop_file
                    prop:value=move || state.own_text.with(|own| own.haystack.clone())
                    on:input=move |event| state.own_text.update(|own| own.haystack = event_target_value(&event))></textarea>
            </label>
            <label class="field">
                <span>"or choose a file"</span>
                <input type="file" accept=".txt,.md,text/plain" on:change=choose_file />
            </label>
            {line("own-needle", "Hidden in it (the needle; may be empty)", |own| &mut own.needle)}
            {line("own-question", "Question after the text; the model continues from here", |own| &mut own.question)}
            {line("own-answer", "Right if the answer holds (may be empty)", |own| &mut own.answer)}
            <p class="hint" id="own-estimate">{move || estimate(state)}</p>
            <p class="hint">
                "The page's own models know only a small synthetic language and cannot tell other words apart. A model of your own \
                 reads any text. The text stays in this tab, and is not in the address."
            </p>
        </div>
    }
}

/// Bytes of a token of English text, roughly.
const TOKEN_BYTES: usize = 5;
/// More tokens than this take minutes on most devices.
const MANY_TOKENS: usize = 16_384;

/// How long the text is, and how long reading it may take.
fn estimate(state: State) -> String {
    let tokens = state.own_text.with(|own| own.haystack.len()) / TOKEN_BYTES;
    let time = time_of_all(state, state.columns.get(), tokens);
    let warning = if tokens > MANY_TOKENS { " That is long: Stop ends it." } else { "" };
    format!("About {tokens} tokens. Reading it may take about {time} here.{warning}")
}

/// Puts the text of a file in the field.
fn read_file(state: State, file: web_sys::File) {
    leptos::task::spawn_local(async move {
        match JsFuture::from(file.text()).await.ok().and_then(|text| text.as_string()) {
            Some(text) => state.own_text.update(|own| own.haystack = text),
            None => state.error.set(Some(format!("{} cannot be read as text; choose another file.", file.name()))),
        }
    });
}
