//! The two columns.

use drope_core::positions::Method;
use leptos::prelude::*;

use super::controls::Choice;
use super::runs::stop;
use super::state::{Answer, Asked, Running, State};

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
    let methods = Method::ALL.map(|method| (method.name(), method.title())).to_vec();
    let share = move || {
        let total = state.asked.with(|asked| asked.as_ref().map_or(0, |asked| asked.tokens));
        // Cropping reads less than there is.
        answer.with(|answer| if answer.finished.is_some() { 100 } else { 100 * answer.read / total.max(1) }.to_string())
    };
    let verdict = move || {
        answer.with(|answer| match answer.finished {
            Some(finished) if finished.exact => "right",
            Some(_) => "wrong",
            None => "",
        })
    };
    view! {
        <article id=side class=move || format!("column {}", verdict())>
            <Choice id=["left-method", "right-method"][column] label=["First method", "Second method"][column]
                value=Signal::derive(move || method.get().name()) options=methods
                on_choose=move |name: String| if let Ok(chosen) = name.parse() {
                    // What another method answers or answered is not this one's.
                    if state.running.get_untracked() == Some(Running::Answer) {
                        stop(state);
                    }
                    answer.set(Answer::default());
                    method.set(chosen);
                } />
            <p class="explain">{move || method.get().info().explanation}</p>
            <p class="question">{move || state.asked.with(|asked| asked.as_ref().map(|asked| asked.question.clone()))}</p>
            <p class="answer" id=["left-answer", "right-answer"][column]>
                {move || state.asked.with(|asked| answer.with(|answer| marked(answer, asked.as_ref())))}
            </p>
            <p class="verdict" aria-live="polite">
                {move || state.asked.with(|asked| answer.with(|answer| sentence(answer, asked.as_ref())))}
            </p>
            <progress max="100" value=share aria-label="Prompt read"></progress>
        </article>
    }
}

/// The answer with right, wrong and missing characters marked against the references, value by value.
fn marked(answer: &Answer, asked: Option<&Asked>) -> Vec<AnyView> {
    let mut references: Vec<&str> =
        asked.map_or(Vec::new(), |asked| asked.references.iter().map(String::as_str).collect());
    let ordered = asked.is_none_or(|asked| asked.ordered);
    let chars: Vec<char> = answer.text.chars().collect();
    let mut runs = chars.chunk_by(|a, b| a.is_alphanumeric() == b.is_alphanumeric()).peekable();
    let mut views = Vec::new();
    while let Some(run) = runs.next() {
        let text: String = run.iter().collect();
        // What joins values is never wrong.
        if !run[0].is_alphanumeric() || text == "and" {
            views.push(view! { <span>{text}</span> }.into_any());
            continue;
        }
        // In a list without order a value is compared with the one that it begins like, if there is one.
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
        if is_whole && run.len() < wanted.len() {
            let missing = "·".repeat(wanted.len() - run.len());
            views.push(view! { <span class="miss" title="missing">{missing}</span> }.into_any());
        }
    }
    views
}

/// The outcome and the speed in words: colours alone do not reach every reader.
fn sentence(answer: &Answer, asked: Option<&Asked>) -> Option<String> {
    let finished = answer.finished?;
    let outcome = match asked {
        Some(asked) if !finished.exact => format!("Wrong; the text says {}.", asked.references.join(", ")),
        _ => "Found.".to_owned(),
    };
    Some(format!("{outcome} Read {:.0} tokens/s, wrote {:.0} tokens/s.", finished.prefill, finished.decode))
}
