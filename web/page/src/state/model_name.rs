//! Names of models that the browser keeps.

use drope_protocol::StudyModel;

/// Longest name of a model.
const LONGEST_NAME: usize = 60;

/// A name that is valid in every file system and in the address.
pub fn clean(name: &str) -> String {
    let mut name = name;
    while let Some(shorter) = name.strip_suffix(".zip").or(name.strip_suffix(".gguf")) {
        name = shorter;
    }
    let letter = |letter: char| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '-' };
    let name: String = name.trim_start_matches('.').chars().map(letter).take(LONGEST_NAME).collect();
    match name.as_str() {
        "" => "model".to_owned(),
        // The page itself has a model of that name.
        name if StudyModel::named(name).is_some() => format!("own-{name}"),
        name => name.to_owned(),
    }
}
