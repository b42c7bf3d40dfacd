//! A text of the reader's: what is read, what is hidden in it, what is asked.

use std::cell::Cell;

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
        if let Some(file) = input.iter().filter_map(web_sys::HtmlInputElement::files).find_map(|files| files.get(0)) {
            read_file(state, file);
        }
        // So that the same file can be chosen again.
        input.iter().for_each(|input| input.set_value(""));
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
                <input id="own-file" type="file" accept=".txt,.md,text/plain" on:change=choose_file />
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

/// Bytes of the largest text that is taken: a million tokens, which no browser reads within an hour.
const LARGEST_TEXT: f64 = 4e6;

thread_local! {
    /// Files that were chosen so far.
    static CHOSEN: Cell<u32> = const { Cell::new(0) };
}

/// Puts the text of a file in the field, unless another file was chosen meanwhile.
fn read_file(state: State, file: web_sys::File) {
    let name = file.name();
    let number = CHOSEN.get() + 1;
    CHOSEN.set(number);
    state.error.set(None);
    if file.size() > LARGEST_TEXT {
        let megabytes = file.size() / 1e6;
        let sentence =
            format!("{name} has {megabytes:.1} MB, and no more than 4 MB of text are taken; choose a part of it.");
        return state.error.set(Some(sentence));
    }
    leptos::task::spawn_local(async move {
        let text = JsFuture::from(file.text()).await.ok().and_then(|text| text.as_string());
        if CHOSEN.get() != number {
            return;
        }
        match text.filter(|text| is_text(text)) {
            Some(text) => state.own_text.update(|own| own.haystack = text),
            None => state.error.set(Some(format!("{name} cannot be read as text; choose another file."))),
        }
    });
}

/// Whether a file was of text: the browser puts U+FFFD in the place of what is none, and no text has U+0000.
fn is_text(text: &str) -> bool {
    !text.contains(['\0', '\u{fffd}'])
}

#[cfg(test)]
mod tests {
    use super::is_text;

    #[test]
    fn programs_and_pictures_are_no_text() {
        assert!(is_text("Ein Text, 一篇课文.") && is_text(""));
        assert!(!is_text("%PDF\u{fffd}\u{fffd}") && !is_text("GGUF\0\0"));
    }
}
