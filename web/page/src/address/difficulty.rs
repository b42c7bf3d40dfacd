//! Settings that make questions harder than the standard ones, as parts of an address and as text.

use drope_core::niah::Difficulty;
use drope_protocol::QuestionKind;

use super::parse::read;

/// What is not standard, by the names of the command line: `digits=7 distractors=sharing`; nothing where all is.
pub fn text(kind: QuestionKind) -> String {
    named(kind).map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// The same as parts of an address: `&digits=7&distractors=sharing`.
pub fn written(kind: QuestionKind) -> String {
    named(kind).map(|(name, value)| format!("&{name}={value}")).collect()
}

fn named(QuestionKind { filler, difficulty, .. }: QuestionKind) -> impl Iterator<Item = (&'static str, String)> {
    let standard = Difficulty::default();
    let Difficulty { keys, digits, distractors, hops, split: _ } = difficulty;
    [
        ("filler", filler.map(|filler| filler.name().to_owned())),
        ("keys", keys.map(|keys| keys.to_string())),
        ("digits", (digits != standard.digits).then(|| digits.to_string())),
        ("distractors", (distractors != standard.distractors).then(|| distractors.name().to_owned())),
        ("hops", (hops != standard.hops).then(|| hops.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
}

/// What an address says, and the standard for the rest. What no question can have, the worker refuses in a sentence.
pub fn from_address(get: impl Fn(&str) -> Option<String>) -> Difficulty {
    let standard = Difficulty::default();
    Difficulty {
        keys: read(get("keys")),
        digits: read(get("digits")).unwrap_or(standard.digits),
        distractors: read(get("distractors")).unwrap_or(standard.distractors),
        hops: read(get("hops")).unwrap_or(standard.hops),
        split: standard.split,
    }
}

#[cfg(test)]
mod tests {
    use drope_core::language::Values;
    use drope_core::niah::{Difficulty, Distractors, Filler, Task};
    use drope_protocol::QuestionKind;

    use super::{from_address, text, written};

    #[test]
    fn settings_survive_the_address_and_the_standard_ones_are_left_out() {
        let standard = QuestionKind::standard(Task::MultiKey, Values::Numbers);
        assert_eq!((text(standard), written(standard)), (String::new(), String::new()));
        let difficulty =
            Difficulty { keys: Some(32), digits: 7, distractors: Distractors::Sharing, ..Difficulty::default() };
        let hard = QuestionKind { filler: Some(Filler::Decoys), difficulty, ..standard };
        assert_eq!(text(hard), "filler=decoys keys=32 digits=7 distractors=sharing");
        let address = written(hard);
        let get = |name: &str| {
            let parts = address.split('&').filter_map(|part| part.split_once('='));
            parts.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
        };
        assert_eq!(from_address(get), difficulty);
    }
}
