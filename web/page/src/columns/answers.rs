//! The columns: methods side by side.

use drope_core::positions::{Method, Parameters};
use drope_protocol::StudyModel;
use leptos::prelude::*;

use crate::columns::settings::{ModelChoice, Settings};
use crate::link::runs::stop_answers;
use crate::parts::choice::Choice;
use crate::parts::estimate::left;
use crate::parts::focus::focus_if_lost;
use crate::parts::marked::marked;
use crate::state::State;
use crate::state::asked::Asked;
use crate::state::column::{Answer, COLUMNS, Column, plain};
use crate::state::running::Running;

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
        // Cropping reads only a part of the prompt, so that the progress would end below 100 %.
        let percent = |answer: &Answer| 100 * answer.read / answer.total.max(1);
        let is_read_again = matches!(state.running.get(), Some(Running::Probe | Running::Predict));
        answer
            .with(|answer| if answer.finished.is_some() && !is_read_again { 100 } else { percent(answer) }.to_string())
    };
    let verdict = move || answer.with(Answer::verdict);
    let explanation = move || explained(&column);
    let remove = move |_| {
        stop_answers(state);
        state.columns.update(|columns| columns.retain(|column| column.key != key));
        focus_if_lost("add");
    };
    let said = move || {
        let is_reading = state.running.with(Option::is_some);
        state.asked.with(|asked| answer.with(|answer| sentence(answer, asked.as_ref(), is_reading)))
    };
    // Tokens read and written a second, for programs that measure the page.
    let speeds = move || {
        let finished = answer.with(|answer| answer.finished)?;
        Some(format!("{:.3} {:.3}", finished.prefill, finished.decode))
    };
    // Questions are drawn for each model's own tokenizer and context; the page shows the first column's.
    let own_text = move || {
        let whole = |column: &Column| {
            let total = column.answer.with(|answer| answer.total);
            (total > 0 && !column.method.get().info().crops).then_some(total)
        };
        let shown = state.columns.with(|columns| columns.first().and_then(whole))?;
        // The reader's own text is the same for all, in other tokens.
        let is_drawn = state.asked.with(|asked| asked.as_ref().is_some_and(|asked| !asked.is_own));
        let total = whole(&column).filter(|&total| total != shown && is_drawn)?;
        Some(format!("It reads a text of its own, of {total} tokens, made for its model's tokenizer and context."))
    };
    // A text of many pieces would be spoken without end: of it, tenths.
    let spoken = Memo::new(move |_| {
        let is_over = answer.with(|answer| answer.finished.is_some());
        let tenths = share().parse::<usize>().unwrap_or_default() / 10;
        match said() {
            Some(said) if is_over => said,
            Some(_) if tenths > 0 => format!("{tenths}0 % of the text read."),
            _ => String::new(),
        }
    });
    view! {
        <article id=id("column") aria-label=move || format!("Column {}", number.get()) class=move || format!("column {}", verdict())>
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
            <p class="hint" hidden=move || own_text().is_none()>{own_text}</p>
            <p class="answer" id=id("answer")>
                {move || state.asked.with(|asked| answer.with(|answer| marked(answer, asked.as_ref())))}
            </p>
            <p class="verdict" aria-hidden="true" data-speeds=speeds>{said}</p>
            <p class="visually-hidden" aria-live="polite">{move || spoken.get()}</p>
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

/// How long reading still takes, then the outcome and the speed in words, because not every user can distinguish the colours.
fn sentence(answer: &Answer, asked: Option<&Asked>, is_reading: bool) -> Option<String> {
    let Some(finished) = answer.finished else {
        return left(answer, js_sys::Date::now()).filter(|_| is_reading);
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
