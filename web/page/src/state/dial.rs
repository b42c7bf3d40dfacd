//! Where the frequencies are cut, and who is asked about it.

use drope_core::positions::{Amount, Method, Parameter, Parameters, cope_frequencies};
use drope_protocol::{Comparison, Reading, StudyModel};
use leptos::prelude::*;

use super::asked::Asked;
use super::column::Column;
use super::spectrum;

/// Who is asked: a model that keeps its positions, and one that was recalibrated after its slow rotations were dropped.
pub const MODELS: [(StudyModel, &str); 2] = [
    (StudyModel::ROPE, "RoPE, cut without any training"),
    (StudyModel::P_DROPE_COPIES, "partial DroPE with copies, trained without the slow rotations"),
];

/// Signals of the dial.
#[derive(Clone, Copy)]
pub struct Dial {
    /// How many of the slowest rotations are dropped, or slowed down.
    pub dropped: RwSignal<usize>,
    /// Whether they are slowed down, the slower the more, instead of dropped: CoPE.
    pub is_soft: RwSignal<bool>,
    /// The question that was asked last.
    pub asked: RwSignal<Option<Asked>>,
    /// What was sent to ask it.
    pub comparison: StoredValue<Option<Comparison>>,
    columns: StoredValue<[Column; 2]>,
}

impl Dial {
    /// As partial DroPE has it: what does not turn once in the training context is dropped.
    pub fn new() -> Self {
        let own = turns().iter().filter(|&&turns| turns < 1.0).count();
        let columns = std::array::from_fn(|column| {
            let model = Some(MODELS[column].0.name.to_owned());
            Column::new(column, Reading { model, method: Method::PDrope, parameters: Parameters::default() })
        });
        let (dropped, is_soft) = (RwSignal::new(own), RwSignal::new(false));
        let (asked, comparison) = (RwSignal::new(None), StoredValue::new(None));
        let dial = Self { dropped, is_soft, asked, comparison, columns: StoredValue::new(columns) };
        dial.turn(own, false);
        dial
    }

    /// How often each rotation turns in the training context, slowed down where that was chosen.
    pub fn turns(self) -> Vec<f64> {
        let config = spectrum::config();
        let clipped = if self.is_soft.get() { self.dropped.get() } else { 0 };
        in_training(cope_frequencies(config.rope.rope_theta, config.head_dim, clipped))
    }

    /// The models that are asked.
    pub fn columns(self) -> [Column; 2] {
        self.columns.get_value()
    }

    /// Drops that many of the slowest rotations, or slows them down.
    pub fn turn(self, dropped: usize, is_soft: bool) {
        self.dropped.set(dropped);
        self.is_soft.set(is_soft);
        let (method, parameter, value) = reading(dropped, is_soft);
        for column in self.columns() {
            column.method.set(method);
            column.parameters.set(Parameters::default().with(parameter, Some(Amount::Number(value))));
            column.clear();
        }
    }
}

/// How often each frequency turns in the training context.
fn turns() -> Vec<f64> {
    in_training(spectrum::frequencies())
}

fn in_training(frequencies: Vec<f64>) -> Vec<f64> {
    let context = spectrum::config().max_position_embeddings;
    frequencies.into_iter().map(|frequency| spectrum::turns(frequency, context)).collect()
}

/// The method that reads so, with its parameter. CoPE slows at least one down.
fn reading(dropped: usize, is_soft: bool) -> (Method, Parameter, f64) {
    if is_soft && dropped > 0 {
        (Method::Cope, Parameter::ClippedPairs, dropped as f64)
    } else {
        (Method::PDrope, Parameter::Cut, cut(dropped))
    }
}

/// A cut, in radians a token, below which so many frequencies lie.
fn cut(dropped: usize) -> f64 {
    let frequencies = spectrum::frequencies();
    let kept = frequencies.len() - dropped;
    let slowest_kept = kept.checked_sub(1).map_or(2.0 * frequencies[0], |place| frequencies[place]);
    let fastest_dropped = frequencies.get(kept).copied().unwrap_or(0.0);
    // Rounded for the address and the settings: five digits tell neighbours apart.
    let middle = (slowest_kept * fastest_dropped.max(slowest_kept / 4.0)).sqrt();
    format!("{middle:.4e}").parse().unwrap_or(middle)
}

#[cfg(test)]
mod tests {
    use drope_core::positions::{Amount, Method, Parameters};

    use super::super::spectrum::{config, frequencies};
    use super::{cut, reading};

    #[test]
    fn a_cut_lies_between_what_is_kept_and_what_is_dropped() {
        let frequencies = frequencies();
        for dropped in 0..=frequencies.len() {
            let cut = cut(dropped);
            assert_eq!(frequencies.iter().filter(|&&frequency| frequency < cut).count(), dropped, "{cut}");
        }
    }

    #[test]
    fn every_place_of_the_dial_can_be_read() {
        for (dropped, is_soft) in (0..=frequencies().len()).flat_map(|dropped| [(dropped, false), (dropped, true)]) {
            let (method, parameter, value) = reading(dropped, is_soft);
            let chosen = Parameters::default().with(parameter, Some(Amount::Number(value)));
            assert!(method.positions_with(config(), 8.0, &chosen).is_ok(), "{dropped}, {is_soft}");
            assert_eq!(method == Method::Cope, is_soft && dropped > 0);
        }
    }
}
