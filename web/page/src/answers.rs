//! The columns: methods side by side.

use drope_core::positions::{Method, Parameter, Parameters};
use drope_protocol::StudyModel;
use leptos::prelude::*;

use super::choice::Choice;
use super::column::{Answer, COLUMNS, Column, plain};
use super::estimate::{left, tokens_read};
use super::runs::stop_answers;
use super::state::{Asked, State};

/// What a further column begins with: the first of these that is not there yet.
const FURTHER: [Method; 4] = [Method::Yarn, Method::DynamicNtk, Method::PDrope, Method::Rope];

/// All methods, side by side, and the button for another one.
#[component]
pub fn Answers(state: State) -> impl IntoView {
    let count = move || state.columns.with(Vec::len);
    let add = move |_| {
        stop_answers(state);
        let known = state
            .columns
            .with_untracked(|columns| columns.iter().map(|column| column.method.get_untracked()).collect::<Vec<_>>());
        let method = FURTHER.into_iter().find(|method| !known.contains(method)).unwrap_or(Method::Rope);
        let new = state.new_columns(std::iter::once(plain(method)));
        state.columns.update(|columns| columns.extend(new));
    };
    view! {
        <section class="columns" aria-label="Answers">
            <div class="answers">
                <For each=move || state.columns.get() key=|column| column.key let:column>
                    <AnswerColumn state column />
                </For>
            </div>
            <button id="add" type="button" class="quiet" hidden=move || count() == *COLUMNS.end() on:click=add>
                "Add a method"
            </button>
        </section>
    }
}

/// One method, its answer and its speed.
#[component]
fn AnswerColumn(state: State, column: Column) -> impl IntoView {
    let Column { key, method, answer, .. } = column;
    // From 1, in the order of the page.
    let number = Memo::new(move |_| {
        1 + state.columns.with(|columns| columns.iter().position(|column| column.key == key)).unwrap_or_default()
    });
    let id = move |name: &'static str| move || format!("{name}-{}", number.get());
    let methods = Method::ALL.map(|method| (method.name(), method.title())).to_vec();
    let share = move || {
        let total = state.asked.with(|asked| asked.as_ref().map_or(0, |asked| asked.ends.len()));
        // Cropping reads only a part of the prompt, so that the progress would end below 100 %.
        answer.with(|answer| if answer.finished.is_some() { 100 } else { 100 * answer.read / total.max(1) }.to_string())
    };
    let verdict = move || answer.with(Answer::verdict);
    let explanation = move || explained(&column);
    let remove = move |_| {
        stop_answers(state);
        state.columns.update(|columns| columns.retain(|column| column.key != key));
    };
    let said = move || {
        let is_reading = state.running.with(Option::is_some);
        state.asked.with(|asked| {
            let read = |asked: &Asked| tokens_read(state, column, asked.ends.len());
            let total = asked.as_ref().filter(|_| is_reading).map(read);
            answer.with(|answer| sentence(answer, asked.as_ref(), total))
        })
    };
    view! {
        <article id=id("column") class=move || format!("column {}", verdict())>
            <div class="choices">
                <Choice id=Signal::derive(id("method")) label="Method"
                    value=Signal::derive(move || method.get().name()) options=methods
                    on_choose=move |name: String| if let Ok(chosen) = name.parse() {
                        // The answer of the previous method does not belong to the new one.
                        stop_answers(state);
                        column.clear();
                        column.parameters.set(Parameters::default());
                        method.set(chosen);
                    } />
                <button type="button" class="quiet" hidden=move || state.columns.with(Vec::len) == *COLUMNS.start()
                    aria-label=move || format!("Remove column {}, {}", number.get(), method.get().title()) on:click=remove>"Remove"</button>
            </div>
            <ModelChoice state column id=Signal::derive(id("model")) />
            <p class="explain">{explanation}</p>
            <Settings state column />
            <p class="question">{move || state.asked.with(|asked| asked.as_ref().map(|asked| asked.question.clone()))}</p>
            <p class="answer" id=id("answer")>
                {move || state.asked.with(|asked| answer.with(|answer| marked(answer, asked.as_ref())))}
            </p>
            <p class="verdict" aria-live="polite">
                {said}
            </p>
            <progress max="100" value=share aria-label="Prompt read"></progress>
        </article>
    }
}

/// A model of the study is explained by what was done to it, and a scaling method by how it scales positions.
pub fn explained(column: &Column) -> String {
    let method = column.method.get();
    let of_method = method.info().explanation;
    match column.model.get().as_deref().and_then(StudyModel::named) {
        Some(model) if [Method::Drope, Method::PDrope, Method::Rope].contains(&method) => model.explanation.to_owned(),
        Some(model) => format!("{} {of_method}", model.explanation),
        None => of_method.to_owned(),
    }
}

/// Which model the method reads with: the one that the page shows it with, one of the study's, or one that the browser keeps.
#[component]
fn ModelChoice(state: State, column: Column, id: Signal<String>) -> impl IntoView {
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
        view! { <option value=name selected=is_chosen>{title}</option> }
    };
    view! {
        <label class="field">
            <span>"Model"</span>
            <select id=move || id.get() on:change=choose>
                <option value="" selected=move || column.model.get().is_none()>"the method's own"</option>
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
fn Settings(state: State, column: Column) -> impl IntoView {
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
            <input type="text" name=parameter.name() inputmode="decimal" size="6" placeholder="own" aria-invalid=move || is_wrong.get().to_string()
                prop:value=value on:change=change />
        </label>
    }
}

/// The answer with right, wrong and missing characters marked against the references, value by value.
pub fn marked(answer: &Answer, asked: Option<&Asked>) -> Vec<AnyView> {
    if asked.is_some_and(|asked| asked.is_own) {
        return vec![view! { <span class="own">{answer.text.clone()}</span> }.into_any()];
    }
    let mut references: Vec<&str> =
        asked.map_or(Vec::new(), |asked| asked.references.iter().map(String::as_str).collect());
    let ordered = asked.is_none_or(|asked| asked.ordered);
    let chars: Vec<char> = answer.text.chars().collect();
    let mut runs = chars.chunk_by(|a, b| a.is_alphanumeric() == b.is_alphanumeric()).peekable();
    let mut views = Vec::new();
    while let Some(run) = runs.next() {
        let text: String = run.iter().collect();
        // Words and characters that join values are never marked as wrong.
        if !run[0].is_alphanumeric() || text == "and" {
            views.push(view! { <span>{text}</span> }.into_any());
            continue;
        }
        // If the order does not count, a value is compared with the first reference that begins with it, if any does.
        let like = |reference: &&str| !ordered && reference.starts_with(&text);
        let at = references.iter().position(like).unwrap_or(0);
        let wanted: Vec<char> =
            if references.is_empty() { Vec::new() } else { references.remove(at).chars().collect() };
        for (at, letter) in run.iter().enumerate() {
            let class = if wanted.get(at) == Some(letter) { "hit" } else { "miss" };
            views.push(view! { <span class=class>{letter.to_string()}</span> }.into_any());
        }
        // The last value may still be growing.
        let is_whole = runs.peek().is_some() || answer.finished.is_some();
        // Nothing is missing of a word where a number was asked for.
        let is_alike = wanted.first().is_some_and(|letter| letter.is_ascii_digit() == run[0].is_ascii_digit());
        if is_whole && is_alike && run.len() < wanted.len() {
            let missing = "·".repeat(wanted.len() - run.len());
            views.push(view! { <span class="miss" title="missing">{missing}</span> }.into_any());
        }
    }
    views
}

/// How long reading still takes, then the outcome and the speed in words, because not every user can distinguish the colours.
///
/// `total` is how many tokens are read, while they are.
fn sentence(answer: &Answer, asked: Option<&Asked>, total: Option<usize>) -> Option<String> {
    let Some(finished) = answer.finished else {
        return total.and_then(|total| left(answer, total, js_sys::Date::now()));
    };
    let outcome = match asked {
        Some(asked) if finished.is_right == Some(false) => {
            format!("Wrong; the text says {}. ", asked.references.join(", "))
        }
        _ if finished.is_right.is_some() => "Found. ".to_owned(),
        _ => String::new(),
    };
    Some(format!("{outcome}Read {:.0} tokens/s, wrote {:.0} tokens/s.", finished.prefill, finished.decode))
}
