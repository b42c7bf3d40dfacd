//! What is asked, and the buttons.

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_protocol::{Prompt, QuestionKind};
use leptos::prelude::*;

use crate::columns::harder::HarderQuestions;
use crate::columns::taught::untaught;
use crate::link::runs::{ask, stop};
use crate::own::text::OwnTextFields;
use crate::parts::choice::Choice;
use crate::parts::estimate::{duration, seconds};
use crate::parts::share::CopyLink;
use crate::screens::enter;
use crate::state::column::Column;
use crate::state::screen::Screen;
use crate::state::{EXTENSIONS, State, TOKENS};

/// The choice of a text of the reader's, among the tasks.
const OWN: &str = "own";

/// Whether a column reads with a model of the reader's, whose context may be long.
fn has_own_model(state: State) -> bool {
    state.columns.get().into_iter().any(|column| state.kept_of(column).is_some())
}

/// How long the columns' texts are, and how long reading them may take.
fn estimate(state: State) -> String {
    let Prompt::Drawn(question) = state.prompt() else { return String::new() };
    let tokens = |column: Column| question.length.tokens(state.context_of(column));
    let columns = state.columns.get();
    let longest = columns.iter().map(|&column| tokens(column)).max().unwrap_or(0);
    let time: f64 = columns.into_iter().map(|column| seconds(state, column, tokens(column))).sum();
    format!("{longest} tokens; all columns may take about {} here.", duration(time))
}

/// Form of the question.
#[component]
pub fn Controls(state: State) -> impl IntoView {
    let is_running = move || state.running.get().is_some();
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        ask(state);
    };
    let is_wrong = RwSignal::new(false);
    let set_tokens = move |event| {
        let text = event_target_value(&event);
        let tokens = text.trim().parse().ok().filter(|tokens| TOKENS.contains(tokens));
        is_wrong.set(tokens.is_none() && !text.trim().is_empty());
        if is_wrong.get_untracked() {
            let (fewest, most) = (TOKENS.start(), TOKENS.end());
            state.error.set(Some(format!("A text has {fewest} to {most} tokens here; {text} is not between them.")));
        } else {
            state.error.set(None);
            state.tokens.set(tokens);
        }
    };
    let task_name = |task| match task {
        Task::Single => "one needle",
        Task::MultiKey => "one of four keys",
        Task::MultiQuery => "two of four keys",
        Task::MultiValue => "four values of one key",
        Task::VariableTracking => "the end of a chain",
        Task::LatestValue => "the latest of four values",
        Task::Passkey => "a pass key",
    };
    let tasks = Task::ALL.into_iter();
    let own = std::iter::once((OWN, "your own text"));
    let tasks: Vec<_> = tasks.map(|task| (task.name(), task_name(task))).chain(own).collect();
    let values = [(Values::Numbers.name(), "numbers"), (Values::Words.name(), "words")];
    view! {
        <h2 hidden=move || state.is_own.get()>"Compare any methods, on any task"</h2>
        <form class="controls" on:submit=submit aria-label="Question">
            <Choice id="task".to_owned() label="Task" value=Signal::derive(move || if state.is_own.get() { OWN } else { state.task.get().name() }) options=tasks
                on_choose=move |name: String| {
                    enter(state, if name == OWN { Screen::Text } else { Screen::Play });
                    if let Ok(task) = name.parse() {
                        state.task.set(task);
                    }
                } />
            <div class="field" hidden=move || state.is_own.get()>
                <Choice id="values".to_owned() label="Values" value=Signal::derive(move || state.values.get().name()) options=values.to_vec()
                    on_choose=move |name: String| if let Ok(values) = name.parse() { state.values.set(values) } />
            </div>
            <HarderQuestions state />
            <OwnTextFields state />
            <fieldset class="segments" hidden=move || state.is_own.get()>
                <legend>"Length, in training contexts"</legend>
                {EXTENSIONS.map(|factor| view! {
                    <label>
                        <input type="radio" name="extension" value=factor
                            prop:checked=move || state.tokens.with(Option::is_none) && state.extension.get() == factor
                            on:change=move |_| { state.tokens.set(None); state.extension.set(factor); } />
                        <span>{format!("{factor}×")}</span>
                    </label>
                }).collect_view()}
            </fieldset>
            <label class="field">
                <span>{move || format!("Depth of the needle: {} %", state.depth.get())}</span>
                <input id="depth" type="range" min="0" max="100" step="5" prop:value=move || state.depth.get()
                    on:input=move |event| if let Ok(depth) = event_target_value(&event).parse() { state.depth.set(depth) } />
            </label>
            <label class="field seed" hidden=move || state.is_own.get() || (!has_own_model(state) && state.tokens.get().is_none())>
                <span>"Tokens instead"</span>
                <input id="tokens" type="number" min=*TOKENS.start() max=*TOKENS.end() step="1" placeholder="none"
                    prop:value=move || state.tokens.get().map(|tokens| tokens.to_string()).unwrap_or_default()
                    aria-invalid=move || is_wrong.get().to_string() on:change=set_tokens />
            </label>
            <label class="field seed" hidden=move || state.is_own.get()>
                <span>"Seed"</span>
                <input id="seed" type="number" min="0" step="1" prop:value=move || state.seed.get()
                    on:input=move |event| if let Ok(seed) = event_target_value(&event).parse() { state.seed.set(seed) } />
            </label>
            <div class="buttons">
                <button id="run" type="submit" class="primary">"Run"</button>
                <button id="next" type="button" hidden=move || state.is_own.get() title="The same question over another haystack"
                    on:click=move |_| { state.seed.update(|seed| *seed = seed.wrapping_add(1)); ask(state); }>"Another"</button>
                <button id="stop" type="button" disabled=move || !is_running() on:click=move |_| stop(state)>"Stop"</button>
                <CopyLink state />
            </div>
            <p id="untaught" class="hint" hidden=move || state.is_own.get() || untaught(state).is_none()>{move || untaught(state)}</p>
            <p id="estimate" class="hint" hidden=move || !has_own_model(state) || state.is_own.get()>{move || estimate(state)}</p>
        </form>
        <p class="examples">
            "For example: "
            {EXAMPLES.map(|(name, task, extension, methods)| view! {
                <button type="button" on:click=move |_| {
                    enter(state, Screen::Play);
                    state.ask_about(QuestionKind::standard(task, Values::Numbers));
                    state.tokens.set(None);
                    state.extension.set(extension);
                    state.compare(&methods);
                    ask(state);
                }>{name}</button>
            }).collect_view()}
        </p>
    }
}

/// Comparisons that show a difference with every seed: in the second the methods are close, and in the third DroPE is
/// not the best.
const EXAMPLES: [(&str, Task, usize, [Method; 2]); 3] = [
    ("RoPE as trained breaks", Task::MultiKey, 4, [Method::Drope, Method::Rope]),
    ("YaRN keeps up", Task::MultiKey, 8, [Method::Drope, Method::Yarn]),
    ("two keys at once", Task::MultiQuery, 8, [Method::Drope, Method::PDrope]),
];
