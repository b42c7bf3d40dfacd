//! The columns in an address: how each reads.

use drope_protocol::{Reading, StudyModel};
use leptos::prelude::window;
use web_sys::UrlSearchParams;

use crate::state::column::COLUMNS;
use crate::state::model_name::clean;

/// How the first column of the address reads, if it has columns.
pub fn first_reading() -> Option<Reading> {
    let parameters = UrlSearchParams::new_with_str(&window().location().search().ok()?).ok()?;
    readings(&parameters.get("columns")?)?.into_iter().next()
}

/// `yarn:beta_fast=16,beta_slow=2`, `drope@study-drope`, or the method's name alone. A model of the user's own is there too: this
/// browser has it after a reload, and another one says that it has not.
pub fn written(Reading { model, method, parameters }: &Reading) -> String {
    let model = model.as_deref().map(|name| format!("@{name}"));
    let parameters = if parameters.is_empty() { String::new() } else { format!(":{parameters}") };
    format!("{}{}{parameters}", method.name(), model.unwrap_or_default())
}

/// Whether a model of the page or of a reader's can have this name.
fn is_name(name: &str) -> bool {
    StudyModel::named(name).is_some() || clean(name) == name
}

/// The readings of the columns in the address, if it has an allowed number of columns.
pub fn readings(text: &str) -> Option<Vec<Reading>> {
    let reading = |text: &str| {
        let (read, parameters) = text.split_once(':').unwrap_or((text, ""));
        let (method, model) = match read.split_once('@') {
            Some((method, name)) => (method, Some(name.to_owned()).filter(|name| is_name(name))),
            None => (read, None),
        };
        Some(Reading { model, method: method.parse().ok()?, parameters: parameters.parse().ok()? })
    };
    let readings: Vec<Reading> = text.split('~').map(reading).collect::<Option<_>>()?;
    COLUMNS.contains(&readings.len()).then_some(readings)
}

#[cfg(test)]
mod tests {
    use super::{readings, written};

    #[test]
    fn columns_survive_the_address() {
        for text in [
            "drope~rope",
            "drope~yarn:beta_fast=16,beta_slow=2~dynamic-ntk:factor=s",
            "drope@study-drope~yarn@study-rope-copies:beta_fast=16",
            "p-drope@my-partial-drope~rope@SmolLM2-135M.Q4_1",
        ] {
            let read = readings(text).unwrap();
            assert_eq!(read.iter().map(written).collect::<Vec<_>>().join("~"), text);
        }
        for bad in ["", "drope", "drope~nothing", "drope~yarn:beta_fast", "rope~rope~rope~rope~rope"] {
            assert!(readings(bad).is_none(), "{bad}");
        }
    }
}
