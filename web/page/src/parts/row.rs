//! A model in a list: its name, its answer, and a share beside it.

use leptos::prelude::*;

use crate::parts::estimate::left;
use crate::parts::marked::marked;
use crate::state::asked::Asked;
use crate::state::column::{Answer, Column};

/// A share as a bar, as text, and what it is of.
#[derive(Clone, PartialEq)]
pub struct Share {
    /// 0 to 1; none: nothing was measured.
    pub of_one: Option<f64>,
    /// The number.
    pub text: String,
    /// What it is of.
    pub below: String,
}

/// The row; `title` explains its model, and `is_reading` says whether the models of the list read now.
#[component]
pub fn AnswerRow(
    column: Column,
    asked: RwSignal<Option<Asked>>,
    id: String,
    name: String,
    #[prop(optional)] note: Option<&'static str>,
    title: Signal<String>,
    share: Signal<Share>,
    is_reading: Signal<bool>,
) -> impl IntoView {
    let verdict = move || column.answer.with(Answer::verdict);
    let answer = move || asked.with(|asked| column.answer.with(|answer| marked(answer, asked.as_ref())));
    // Of a long text, how much is read.
    let reading = move || {
        if !is_reading.get() {
            return None;
        }
        column.answer.with(|answer| left(answer, js_sys::Date::now())).map(|left| view! { <small>{left}</small> })
    };
    view! {
        <li id=id class=verdict title=title>
            <span class="who"><b>{name}</b>{note.map(|note| view! { <small>{note}</small> })}</span>
            <span class="found">{answer}{reading}<span class="visually-hidden">{move || format!(" {}", verdict())}</span></span>
            <span class="share" style=move || format!("--share:{:.3}", share.get().of_one.unwrap_or(0.0))>
                <b>{move || share.get().text}</b>
                <small>{move || share.get().below}</small>
            </span>
        </li>
    }
}
