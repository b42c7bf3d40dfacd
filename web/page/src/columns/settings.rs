//! What a column reads with: its model, and the settings of its method.

use drope_core::positions::{Parameter, Parameters};
use drope_protocol::StudyModel;
use leptos::prelude::*;

use crate::link::runs::stop_answers;
use crate::state::State;
use crate::state::column::Column;

/// Which model the method reads with: the one that the page shows it with, one of the study's, or one that the browser keeps.
#[component]
pub fn ModelChoice(state: State, column: Column, id: Signal<String>) -> impl IntoView {
    let stored = move || state.stored.get().unwrap_or_default();
    let choose = move |event| {
        let name = event_target_value(&event);
        stop_answers(state);
        column.clear();
        let of_study = StudyModel::named(&name).map(|model| model.method);
        let method = of_study.or_else(|| untrack(|| state.stored_model(&name)).map(|model| model.method));
        if let Some(method) = method {
            column.parameters.set(Parameters::default());
            column.method.set(method);
        }
        state.ask_shortly(untrack(|| state.stored_model(&name)).map_or(0, |model| model.context));
        column.model.set((!name.is_empty()).then_some(name));
    };
    let option = move |name: String, title: String| {
        let is_chosen = {
            let name = name.clone();
            move || column.model.get().as_ref() == Some(&name)
        };
        view! { <option value=name prop:selected=is_chosen>{title}</option> }
    };
    view! {
        <label class="field">
            <span>"Model"</span>
            <select id=move || id.get() on:change=choose>
                <option value="" prop:selected=move || column.model.get().is_none()>"the method's own"</option>
                <optgroup label="of the study, trained alike">
                    {StudyModel::ALL.map(|model| option(model.name.to_owned(), model.title.to_owned())).collect_view()}
                </optgroup>
                {move || (!stored().is_empty()).then(|| view! {
                    <optgroup label="kept in this browser">
                        {stored().into_iter().map(|model| option(model.name.clone(), model.name)).collect_view()}
                    </optgroup>
                })}
            </select>
        </label>
    }
}

/// The method's parameters; an empty field is the method's own value.
#[component]
pub fn Settings(state: State, column: Column) -> impl IntoView {
    let chosen = move || {
        column.parameters.with(|parameters| {
            if parameters.is_empty() {
                "Settings: the method's own".to_owned()
            } else {
                format!("Settings: {parameters}")
            }
        })
    };
    view! {
        <details class="settings">
            <summary>{chosen}</summary>
            <div class="fields">
                {move || column.method.get().info().parameters.iter().map(|tunable| {
                    view! { <Setting state column parameter=tunable.parameter /> }
                }).collect_view()}
            </div>
            <p class="hint">"An empty field is the method's own value; s is the extension factor, so 1.5s is a value too."</p>
        </details>
    }
}

/// A field for one parameter.
#[component]
fn Setting(state: State, column: Column, parameter: Parameter) -> impl IntoView {
    let is_wrong = RwSignal::new(false);
    let value = move || {
        column
            .parameters
            .with(|parameters| parameters.get(parameter).map(|amount| amount.to_string()).unwrap_or_default())
    };
    let change = move |event| {
        let text = event_target_value(&event);
        let amount = Some(text.trim()).filter(|text| !text.is_empty()).map(str::parse).transpose();
        is_wrong.set(amount.is_err());
        match amount {
            Ok(amount) => {
                stop_answers(state);
                state.error.set(None);
                column.clear();
                column.parameters.update(|parameters| *parameters = std::mem::take(parameters).with(parameter, amount));
            }
            Err(error) => state.error.set(Some(error.to_string())),
        }
    };
    view! {
        <label class="field">
            <span>{parameter.name().replace('_', " ")}</span>
            <input type="text" name=parameter.name() size="6" placeholder="own" aria-invalid=move || is_wrong.get().to_string()
                prop:value=value on:change=change />
        </label>
    }
}
