//! The two columns.

use drope_core::positions::Method;
use leptos::prelude::*;

use super::controls::{Choice, explain, title};
use super::state::{Answer, State};

/// Both methods, side by side.
#[component]
pub fn Answers(state: State) -> impl IntoView {
    view! {
        <section class="answers" aria-label="Answers">
            <Column state column=0 />
            <Column state column=1 />
        </section>
    }
}

/// One method, its answer and its speed.
#[component]
fn Column(state: State, column: usize) -> impl IntoView {
    let method = state.methods[column];
    let answer = state.answers[column];
    let side = ["left", "right"][column];
    let methods = Method::ALL.map(|method| (method.name(), title(method))).to_vec();
    let share = move || {
        let total = state.asked.with(|asked| asked.as_ref().map_or(0, |asked| asked.tokens));
        answer.with(|answer| format!("{}", 100 * answer.read / total.max(1)))
    };
    let verdict = move || {
        answer.with(|answer| match answer.done {
            Some(done) if done.exact => "right",
            Some(_) => "wrong",
            None => "",
        })
    };
    view! {
        <article id=side class=move || format!("column {}", verdict())>
            <Choice id=["left-method", "right-method"][column] label=["Left", "Right"][column]
                value=Signal::derive(move || method.get().name()) options=methods
                on_choose=move |name: String| if let Ok(chosen) = name.parse() { method.set(chosen) } />
            <p class="explain">{move || explain(method.get())}</p>
            <p class="question">{move || state.asked.with(|asked| asked.as_ref().map(|asked| asked.question.clone()))}</p>
            <p class="answer" id=["left-answer", "right-answer"][column] aria-live="polite">
                {move || answer.with(|answer| marked(answer, &references(state)))}
            </p>
            <p class="verdict">{move || answer.with(|answer| sentence(answer, &references(state)))}</p>
            <progress max="100" value=share aria-label="Prompt read"></progress>
        </article>
    }
}

fn references(state: State) -> Vec<String> {
    state.asked.with(|asked| asked.as_ref().map(|asked| asked.references.clone()).unwrap_or_default())
}

/// The answer with right and wrong characters marked against the references, value by value.
fn marked(answer: &Answer, references: &[String]) -> Vec<AnyView> {
    let mut value = 0;
    let mut at = 0;
    let mut inside = false;
    let mut views = Vec::new();
    // "and" joins values and is never wrong.
    let text = answer.text.replace(" and ", " & ");
    for letter in text.chars() {
        if letter.is_alphanumeric() {
            if !inside {
                (inside, at) = (true, 0);
            }
            let wanted = references.get(value).and_then(|reference| reference.chars().nth(at));
            let class = if wanted == Some(letter) { "hit" } else { "miss" };
            views.push(view! { <span class=class>{letter.to_string()}</span> }.into_any());
            at += 1;
        } else {
            if inside {
                (inside, value) = (false, value + 1);
            }
            let joint = if letter == '&' { "and".to_owned() } else { letter.to_string() };
            views.push(view! { <span>{joint}</span> }.into_any());
        }
    }
    views
}

/// The outcome and the speed in words: colours alone do not reach every reader.
fn sentence(answer: &Answer, references: &[String]) -> Option<String> {
    let done = answer.done?;
    let outcome =
        if done.exact { "Found.".to_owned() } else { format!("Wrong; the text says {}.", references.join(", ")) };
    Some(format!("{outcome} Read {:.0} tokens/s, wrote {:.0} tokens/s.", done.prefill, done.decode))
}
