//! A list to choose from.

use leptos::prelude::*;

/// A labelled list to choose from. What is chosen is a property: browsers ignore the attribute once a reader has chosen.
#[component]
pub fn Choice(
    #[prop(into)] id: Signal<String>,
    label: &'static str,
    #[prop(into)] value: Signal<&'static str>,
    options: Vec<(&'static str, &'static str)>,
    on_choose: impl Fn(String) + 'static,
) -> impl IntoView {
    view! {
        <label class="field">
            <span>{label}</span>
            <select id=move || id.get() on:change=move |event| on_choose(event_target_value(&event))>
                {options.into_iter().map(|(name, text)| view! {
                    <option value=name prop:selected=move || value.get() == name>{text}</option>
                }).collect_view()}
            </select>
        </label>
    }
}
