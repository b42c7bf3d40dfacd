//! What the study found, and a button that shows a part of it.

use std::collections::BTreeSet;

use drope_core::language::Values;
use drope_core::niah::{Difficulty, Distractors, Task};
use drope_core::results::StudyFigure;
use drope_protocol::{QuestionKind, StudyModel};
use leptos::prelude::*;

use crate::link::runs::ask;
use crate::results::chart::Chart;
use crate::screens::enter;
use crate::state::State;
use crate::state::screen::Screen;
use crate::state::story::study;

/// Extension factor at which DroPE as in the paper fails at nearly every question, and both models that trained with
/// copies fail at few.
const TELLING: usize = 8;

/// Seed and depth (in percent) of a question that each of these models answers as it answers most questions.
const TYPICAL: u64 = 2;
const DEPTH: u32 = 30;

/// What the button puts side by side.
const SHOWN: [StudyModel; 3] = [StudyModel::DROPE_COPIES, StudyModel::ROPE_COPIES, StudyModel::DROPE];

/// The figure, the sentences and the button.
#[component]
pub fn Overview(state: State) -> impl IntoView {
    let show = move |_| {
        enter(state, Screen::Play);
        // The study's primary task.
        let difficulty =
            Difficulty { digits: Values::LONG_DIGITS, distractors: Distractors::Sharing, ..Difficulty::default() };
        state.ask_about(QuestionKind { difficulty, ..QuestionKind::standard(Task::MultiKey, Values::Numbers) });
        state.extension.set(TELLING);
        state.tokens.set(None);
        state.depth.set(DEPTH);
        state.seed.set(TYPICAL);
        state.compare_study(&SHOWN);
        ask(state);
    };
    let study = study().clone();
    let others = others(&study);
    let lengths = study.played.iter().flat_map(|line| line.points.iter().map(|point| point.extension));
    let lengths = lengths.collect::<BTreeSet<_>>().into_iter().collect();
    let played = StudyFigure { methods: study.played.clone(), lengths, ..study.clone() };
    view! {
        <section class="overview" aria-label="What was found">
            <p class="headline">{headline(&study)}</p>
            <Chart figure=StoredValue::new(study) />
            <p class="hint">{others}</p>
            <h2>"The models of the first screen, as far as they were asked"</h2>
            <p class="hint">"Beyond 8× they are of one training seed. YaRN has no training of its own: it reads RoPE's model."</p>
            <Chart figure=StoredValue::new(played) />
            <p class="buttons">
                <button id="show" type="button" class="primary" on:click=show>
                    {format!("Watch three of these models read {TELLING} times their training length")}
                </button>
            </p>
        </section>
    }
}

/// What was found first.
fn headline(study: &StudyFigure) -> String {
    let first = study.findings.first().map_or("nothing was shown", |finding| &finding.claim);
    format!("Rotary positions kept (RoPE) or dropped (DroPE), with equal training: {first}.")
}

/// What else was found, and whether it may change.
fn others(study: &StudyFigure) -> String {
    let of_second = study.rivals.iter().map(|finding| format!("In the second study: {}. ", finding.claim));
    let claims = study.findings.iter().skip(1).map(|finding| format!("{}. ", finding.claim));
    let claims: Vec<String> = of_second.chain(claims).collect();
    let may_change =
        if study.is_interim() { "The last seeds are still being trained and may change this." } else { "" };
    claims.concat() + may_change
}

#[cfg(test)]
mod tests {
    use super::{headline, others, study};

    #[test]
    fn the_studys_file_has_what_the_page_shows() {
        let study = study();
        assert!(study.methods.len() > 4 && study.methods.iter().all(|line| line.style < 9));
        assert!(headline(study).contains(&study.findings[0].claim));
        assert!(study.findings.iter().skip(1).all(|finding| others(study).contains(&finding.claim)));
    }
}
