//! Messages between the page and the worker, as JSON strings.

mod first_answers;
mod recalibration;
mod reply;
mod request;
mod stored_model;
mod study_model;

pub use first_answers::{FirstAnswer, FirstAnswers};
pub use recalibration::{
    DEPTHS, DroppedPositions, LENGTHS, Recalibration, RecalibrationScore, RecalibrationSettings, RecalibrationState,
};
pub use reply::Reply;
pub use request::{Comparison, Length, Origin, Prompt, Question, QuestionKind, Reading, Request};
pub use stored_model::{ChatFormat, StoredModel};
pub use study_model::StudyModel;

/// Names the build: appended to the addresses of files without a hash in their name, and to the cache's name,
/// so that an old worker or old weights never meet a new page.
pub const BUILD: &str = match option_env!("DROPE_BUILD") {
    Some(build) => build,
    None => env!("CARGO_PKG_VERSION"),
};

#[cfg(test)]
mod tests {
    use drope_core::language::Values;
    use drope_core::niah::{Difficulty, Filler, Task};
    use drope_core::positions::Method;

    use super::{Length, Question, QuestionKind, Reading, Request};

    #[test]
    fn requests_survive_json_and_name_the_method() {
        let difficulty = Difficulty { digits: 7, hops: 3, ..Difficulty::default() };
        let filler = Some(Filler::Decoys);
        let kind = QuestionKind { difficulty, filler, ..QuestionKind::standard(Task::MultiKey, Values::Words) };
        let question = Question { kind, length: Length::Contexts(8), seed: u64::MAX };
        for method in Method::ALL {
            let reading = Reading { model: None, method, parameters: "temperature_coefficient=0.1".parse().unwrap() };
            let request = Request::Measure { run: 3, question, depth: Some(0.5), reading, trials: 50 };
            let text = serde_json::to_string(&request).unwrap();
            assert!(text.contains(&format!("\"{}\"", method.name())), "{text}");
            assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        }
    }

    #[test]
    fn lengths_are_multiples_of_the_context_or_tokens() {
        let (contexts, tokens) = (Length::Contexts(4), Length::Tokens(1024));
        assert_eq!((contexts.tokens(256), contexts.extension(256)), (1024, 4.0));
        assert_eq!((tokens.tokens(256), tokens.extension(256)), (1024, 4.0));
        // Within the training context nothing is extended.
        assert_eq!((tokens.tokens(8192), tokens.extension(8192)), (1024, 1.0));
    }
}
