//! Who answers: a row a model, its answer, and how often it is right at this length.

use leptos::prelude::*;

use super::whole;
use crate::columns::answers::explained;
use crate::parts::row::{AnswerRow, Share};
use crate::parts::status::LoadingFiles;
use crate::state::State;
use crate::state::column::Column;
use crate::state::engine::Engine;
use crate::state::running::Running;
use crate::state::story::Story;

/// What was done to the model of each row.
const NOTES: [&str; 4] = [
    "rotary positions, as trained",
    "the same model, positions scaled, no training",
    "slow rotations dropped, then trained further on texts of 256 tokens",
    "positions kept, the same further training",
];

/// The rows, under one another.
#[component]
pub fn Rows(state: State) -> impl IntoView {
    let story = state.story;
    let is_asking = move || state.running.get() == Some(Running::Story);
    // What went wrong with a question that was not asked to the end; beside the columns the same stands below them.
    let failure = move || state.error.get().filter(|_| story.asked.with(Option::is_none));
    let is_loading =
        move || state.loading.with(Option::is_some) || state.engine.with(|engine| *engine == Engine::Loading);
    view! {
        <ol class="rows">
            <For each=move || story.rows() key=|row| row.key let:row>
                <Row story row is_reading=Signal::derive(is_asking) />
            </For>
        </ol>
        {move || is_asking().then(|| view! { <LoadingFiles loading=state.loading /> })}
        <p class="failure" role="alert" hidden=move || failure().is_none()>{failure}</p>
        <p class="hint said" aria-live="polite">{move || said(story, is_asking(), is_loading())}<span class="visually-hidden">{move || outcomes(story)}</span></p>
    }
}

/// A model: name, answer, share.
#[component]
fn Row(story: Story, row: Column, is_reading: Signal<bool>) -> impl IntoView {
    let line = &Story::lines()[row.key];
    let point = move || line.points.iter().find(|point| point.extension == story.extension.get()).copied();
    let share = Signal::derive(move || match point() {
        Some(point) => Share {
            of_one: Some(point.mean),
            text: whole(point.mean),
            below: format!("right, {} asked", point.trunks * point.questions),
        },
        None => Share { of_one: None, text: "–".to_owned(), below: "not measured".to_owned() },
    });
    view! {
        <AnswerRow column=row asked=story.asked id=format!("row-{}", row.key + 1) name=line.name.clone() note=NOTES[row.key]
            title=Signal::derive(move || explained(&row)) share is_reading />
    }
}

/// What is asked, and where the answers are from.
fn said(story: Story, is_asking: bool, is_loading: bool) -> String {
    story.asked.with(|asked| match asked {
        None if is_asking && is_loading => "Loading the models…".to_owned(),
        None if is_asking => "Drawing another text…".to_owned(),
        None => "Not asked yet.".to_owned(),
        Some(asked) => {
            format!("Asked for the number {}; the text says {}.", key_of(&asked.question), asked.references.join(", "))
        }
    })
}

/// ` RoPE is wrong, YaRN is right.`, once all rows have answered: for readers who do not see the rows.
fn outcomes(story: Story) -> String {
    let outcome = |row: Column| {
        let is_right = row.answer.with(|answer| answer.finished?.is_right)?;
        Some(format!("{} is {}", Story::lines()[row.key].name, if is_right { "right" } else { "wrong" }))
    };
    let outcomes: Option<Vec<String>> = story.rows().into_iter().map(outcome).collect();
    outcomes.map_or_else(String::new, |outcomes| format!(" {}.", outcomes.join(", ")))
}

/// `of amber-acorn`, from the question.
fn key_of(question: &str) -> String {
    let key = question.split(" for ").nth(1).and_then(|rest| rest.split(' ').next());
    key.map_or_else(|| "that is hidden".to_owned(), |key| format!("of {key}"))
}

#[cfg(test)]
mod tests {
    use super::key_of;

    #[test]
    fn the_question_names_its_key() {
        let question = "The special magic number for amber-acorn mentioned in the provided text is:";
        assert_eq!(key_of(question), "of amber-acorn");
        assert_eq!(key_of("What?"), "that is hidden");
    }
}
