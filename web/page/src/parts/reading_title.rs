//! What a reading is called.

use drope_protocol::{Reading, StudyModel};

/// `YaRN`, `YaRN, beta_fast=16`
pub fn reading_title(Reading { model, method, parameters }: &Reading) -> String {
    let called = |name: &String| StudyModel::named(name).map_or(name.clone(), |model| model.title.to_owned());
    let model = model.as_ref().map(|model| format!("{}: ", called(model))).unwrap_or_default();
    let parameters = if parameters.is_empty() { String::new() } else { format!(", {parameters}") };
    format!("{model}{}{parameters}", method.title())
}
