//! The first screen: a text, how much of it is as long as what the models were trained on, and who finds the needle in it.

mod card;
mod ribbon;
mod rows;
mod words;

use drope_core::results::StudyFigure;
use leptos::prelude::*;

use crate::columns::haystack::HaystackText;
use crate::link::runs::{stop, tell_story};
use crate::parts::estimate::time_of_all;
use crate::parts::focus::focus_if_lost;
use crate::state::State;
use crate::state::running::Running;
use crate::state::story::{LENGTHS, LIVE, study};

/// Tokens of a printed page, roughly.
const PAGE_TOKENS: usize = 500;

/// Ribbon, rows, and the one control.
#[component]
pub fn StoryScreen(state: State) -> impl IntoView {
    let story = state.story;
    let place = move || LENGTHS.iter().position(|&length| length == story.extension.get()).unwrap_or_default();
    let length = move || {
        let tokens = story.extension.get() * story.context();
        format!("{}×: {} tokens, {}", story.extension.get(), grouped(tokens), pages(tokens))
    };
    let set_place = move |event| {
        let place: Option<usize> = event_target_value(&event).parse().ok();
        if let Some(&length) = place.and_then(|place| LENGTHS.get(place)) {
            story.extension.set(length);
        }
    };
    let is_asking = move || state.running.get() == Some(Running::Story);
    let has_answered = move || story.rows().iter().all(|row| row.answer.with(|answer| answer.finished.is_some()));
    let is_live = move || story.extension.get() <= LIVE;
    let ask_if_quick = move || {
        if untrack(is_live) {
            tell_story(state);
        } else {
            // Answers on their way would be of the text before.
            if state.running.get_untracked() == Some(Running::Story) {
                stop(state);
            }
            story.forget();
        }
    };
    view! {
        <section class="story" aria-labelledby="title">
            <ribbon::Ribbon story on_moved=move || ask_if_quick() />
            <label class="length">
                <span>"Text of " <b>{length}</b></span>
                <input id="length" type="range" min="0" max={LENGTHS.len() - 1} step="1" list="lengths" aria-valuetext=length
                    prop:value=place on:input=set_place on:change=move |_| ask_if_quick() />
                <datalist id="lengths">
                    {LENGTHS.iter().enumerate().map(|(place, length)| view! { <option value=place label=format!("{length}×")></option> }).collect_view()}
                </datalist>
            </label>
            <rows::Rows state />
            <p class="buttons">
                <button id="another" type="button" class="primary" hidden=move || !is_live()
                    on:click=move |_| { story.seed.update(|seed| *seed = seed.wrapping_add(1)); tell_story(state); }>"Another question"</button>
                <button id="ask-far" type="button" class="primary"
                    hidden=move || is_asking() || is_live() && has_answered() on:click=move |_| { tell_story(state); focus_if_lost("halt"); }>
                    {move || {
                        let tokens = story.extension.get() * story.context();
                        let time = time_of_all(state, story.rows(), tokens);
                        format!("Ask them at {}× (about {time})", story.extension.get())
                    }}
                </button>
                <button id="fourth" type="button" aria-pressed=move || story.has_fourth.get().to_string()
                    on:click=move |_| {
                        story.has_fourth.update(|has| *has = !*has);
                        if story.has_fourth.get_untracked() && untrack(is_live) { tell_story(state); }
                    }>
                    "RoPE with the same training"
                </button>
                <button id="halt" type="button" hidden=move || !is_asking()
                    on:click=move |_| { stop(state); focus_if_lost("another"); focus_if_lost("ask-far"); }>"Stop"</button>
            </p>
            <p class="fair">{fair()}</p>
            <card::Card story />
            <details class="read">
                <summary>"Read the text, and what is asked"</summary>
                {move || story.asked.get().map(|asked| view! { <HaystackText asked /> })}
            </details>
            <words::PlainWords />
        </section>
    }
}

/// What the fourth row says, in the study's numbers.
fn fair() -> String {
    let study = study();
    let percent = |line: usize, extension: usize| {
        let point = study.played.get(line)?.points.iter().find(|point| point.extension == extension)?;
        Some((whole(point.mean), seeds(point.trunks)))
    };
    let first = study.findings.first().map(|finding| finding.claim.clone()).unwrap_or_default();
    match (percent(3, 8), percent(3, 64)) {
        (Some((near, _)), Some((far, seeds))) => format!(
            "To be fair: RoPE that had the same training keeps {near} at 8×, and {far} at 64× ({seeds}). In the study, {}.{}",
            lower_first(&first),
            second_study(study)
        ),
        _ => String::new(),
    }
}

/// What the second study says of fairer rivals, as far as it is judged.
fn second_study(study: &StudyFigure) -> String {
    let claims: Vec<String> = study.rivals.iter().map(|finding| lower_first(&finding.claim)).collect();
    if claims.is_empty() { String::new() } else { format!(" In the second study, {}.", claims.join("; ")) }
}

/// `RoPE` stays as it is written.
fn lower_first(claim: &str) -> String {
    let mut letters = claim.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second))
            if second.is_lowercase() && !claim.starts_with("RoPE") && !claim.starts_with("DroPE") =>
        {
            first.to_lowercase().chain(std::iter::once(second)).chain(letters).collect()
        }
        _ => claim.to_owned(),
    }
}

/// `95 %`
fn whole(share: f64) -> String {
    format!("{:.0}\u{a0}%", 100.0 * share)
}

/// `5 seeds`
fn seeds(count: usize) -> String {
    if count == 1 { "one seed".to_owned() } else { format!("{count} seeds") }
}

/// `16,384`
fn grouped(number: usize) -> String {
    if number < 1000 { number.to_string() } else { format!("{},{:03}", number / 1000, number % 1000) }
}

/// `about 4 pages`
fn pages(tokens: usize) -> String {
    match (tokens as f64 / PAGE_TOKENS as f64).round() as usize {
        0 => "half a page".to_owned(),
        1 => "about a page".to_owned(),
        pages => format!("about {pages} pages"),
    }
}

#[cfg(test)]
mod tests {
    use super::{fair, grouped, lower_first, pages};

    #[test]
    fn numbers_are_written_for_readers() {
        assert_eq!([grouped(256), grouped(2048), grouped(16_384)], ["256", "2,048", "16,384"]);
        assert_eq!([pages(256), pages(512), pages(16_384)], ["about a page", "about a page", "about 33 pages"]);
        assert_eq!(
            [lower_first("Partial DroPE reads"), lower_first("RoPE reads")],
            ["partial DroPE reads", "RoPE reads"]
        );
    }

    #[test]
    fn what_speaks_against_the_third_row_is_said() {
        let said = fair();
        assert!(said.contains("at 8×") && said.contains("at 64× (one seed)"), "{said}");
        assert!(said.contains("as good as DroPE with copies"), "{said}");
    }
}
