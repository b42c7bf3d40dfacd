//! What the page's models were taught, so that nobody takes a task that is new to a model for a failure of its positions.

use drope_core::language::Values;
use drope_core::niah::{Difficulty, Distractors, Filler, Task};
use drope_protocol::{QuestionKind, StudyModel};
use leptos::prelude::*;

use crate::state::State;
use crate::state::column::Column;

/// What is said below the form if a column's model was not taught what is asked; nothing of models of the reader's.
pub fn untaught(state: State) -> Option<String> {
    let kind = state.kind();
    let is_new = |column: &Column| {
        let model = column.model.get();
        match model.as_deref().map(StudyModel::named) {
            None => !is_taught_to_own(kind),
            Some(Some(_)) => !is_taught_to_study(kind),
            Some(None) => false,
        }
    };
    let columns = state.columns.get();
    let new: Vec<usize> = (1..).zip(&columns).filter(|(_, column)| is_new(column)).map(|(number, _)| number).collect();
    let who = match new[..] {
        [] => return None,
        _ if new.len() == columns.len() => "all models here".to_owned(),
        [number] => format!("the model of column {number}"),
        _ => format!("the models of columns {}", new.iter().map(usize::to_string).collect::<Vec<_>>().join(" and ")),
    };
    let others = if is_taught_to_study(kind) { " The study's models were; choose them under Model." } else { "" };
    Some(format!("Not taught this kind of question: {who}.{others}"))
}

/// The methods' own models (models/nano-*/recipe.toml).
fn is_taught_to_own(QuestionKind { task, filler, difficulty, .. }: QuestionKind) -> bool {
    let Difficulty { keys: _, digits, distractors, hops: _, split: _ } = difficulty;
    !matches!(task, Task::VariableTracking | Task::LatestValue | Task::Passkey)
        && filler.is_none_or(|filler| filler == task.filler())
        && digits == Values::DIGITS
        && distractors == Distractors::Unrelated
}

/// The study's models (models/study-*/recipe.toml).
fn is_taught_to_study(QuestionKind { task, filler, .. }: QuestionKind) -> bool {
    task != Task::Passkey && filler != Some(Filler::Grass)
}

#[cfg(test)]
mod tests {
    use drope_core::language::Values;
    use drope_core::niah::Task;
    use drope_protocol::QuestionKind;

    use super::{is_taught_to_own, is_taught_to_study};

    #[test]
    fn recipes_say_what_was_taught() {
        let own = include_str!("../../../../models/nano-rope/recipe.toml");
        let study = include_str!("../../../../models/study-rope/recipe.toml");
        for (task, setting) in [
            (Task::MultiQuery, "multi_query"),
            (Task::MultiValue, "multi_value"),
            (Task::VariableTracking, "tracking"),
            (Task::LatestValue, "latest"),
            (Task::Passkey, "passkey"),
        ] {
            let kind = QuestionKind::standard(task, Values::Numbers);
            let is_in = |recipe: &str| {
                let amount = recipe.lines().find_map(|line| line.strip_prefix(setting)?.trim().strip_prefix('='));
                amount.is_some_and(|amount| amount.trim().parse::<f64>().unwrap() > 0.0)
            };
            assert_eq!((is_taught_to_own(kind), is_taught_to_study(kind)), (is_in(own), is_in(study)), "{setting}");
        }
    }
}
