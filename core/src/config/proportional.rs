//! The `rope_type` "proportional" of Gemma 4, which leaves the lowest frequencies at rest: a partial drop in transformers' words.

use serde_json::{Map, Value, json};

use super::PositionScheme;
use super::rope::{cut_below, rope_frequencies};
use crate::error::{Error, Result};

const PROPORTIONAL: &str = "proportional";
const PARTIAL_FACTOR: &str = "partial_rotary_factor";

/// What a config says whose `kept` highest pairs rotate.
pub(super) fn scaling(kept: usize, head_dim: usize) -> Map<String, Value> {
    // transformers rounds the factor times half of the head's width down, mlx-lm the factor times the width: half a component more leaves
    // no doubt in either.
    let factor = (2.0 * kept as f64 + 0.5) / head_dim as f64;
    let fields = [("rope_type", json!(PROPORTIONAL)), (PARTIAL_FACTOR, json!(factor))];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Whether the rope parameters of a config are of this `rope_type`.
pub(super) fn is_proportional(parameters: &Map<String, Value>) -> bool {
    parameters.get("rope_type").and_then(Value::as_str) == Some(PROPORTIONAL)
}

/// Makes plain RoPE of the rope parameters of a `rope_type` "proportional", and says what they drop; `None` for other types.
///
/// # Errors
/// If frequencies are scaled beside that, or the factor is no share.
pub(super) fn dropped(
    parameters: &mut Map<String, Value>,
    theta: f64,
    head_dim: usize,
) -> Result<Option<PositionScheme>> {
    if !is_proportional(parameters) {
        return Ok(None);
    }
    let number = |value: Option<Value>| value.map_or(Some(1.0), |value| value.as_f64());
    let (share, factor) = (number(parameters.remove(PARTIAL_FACTOR)), number(parameters.remove("factor")));
    parameters.insert("rope_type".into(), json!("default"));
    // What is written here may be a little above 1: it has to give all pairs when it is rounded down.
    let Some(share) = share.filter(|share| (0.0..=1.0 + 1.0 / head_dim as f64).contains(share)) else {
        return Err(Error::Config(format!("{PARTIAL_FACTOR} is not a share from 0 to 1")));
    };
    if factor != Some(1.0) {
        return Err(Error::Config("rope_type is \"proportional\" with a factor, which is not supported".into()));
    }
    let frequencies = rope_frequencies(theta, head_dim);
    let kept = ((share * head_dim as f64 / 2.0) as usize).min(frequencies.len());
    Ok(Some(match kept {
        0 => PositionScheme::None,
        _ if kept == frequencies.len() => PositionScheme::Rotary,
        _ => PositionScheme::Partial { min_frequency: cut_below(&frequencies, kept) },
    }))
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, PositionScheme};

    #[test]
    fn a_proportional_model_of_others_is_a_partial_drop() {
        let read = |fields: &str| {
            let text = include_str!("../../../tests/fixtures/rope/config.json");
            Config::from_json(&text.replacen(
                '{',
                &format!("{{ \"rope_parameters\": {{ \"rope_type\": \"proportional\", {fields} }},"),
                1,
            ))
        };
        for (share, pairs) in [("0.25", 2), ("0.3", 2), ("1.0", 8), ("0.0", 0)] {
            let config = read(&format!("\"partial_rotary_factor\": {share}, \"rope_theta\": 10000.0")).unwrap();
            let kept = match config.positions {
                PositionScheme::None => 0,
                PositionScheme::Partial { min_frequency } => config.pairs_above(min_frequency),
                _ => 8,
            };
            assert_eq!(kept, pairs);
        }
        for (fields, words) in [("\"factor\": 2.0", "with a factor"), ("\"partial_rotary_factor\": -1", "not a share")]
        {
            let refused = read(fields).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
