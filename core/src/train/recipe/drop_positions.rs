//! The config of a model whose positions are dropped.

use crate::config::{
    Architecture, AttentionType, Config, LayerType, PositionScheme, ProjectionNorm, RopeParameters, RopeScaling,
    rope_frequencies,
};
use crate::error::{Error, Result};
use crate::positions::{Encoding, Method, partial_drop_cutoff};

use crate::train::recipe::{DropSettings, Dropped};

/// `config` without the positions that the recipe drops.
///
/// # Errors
/// If the model has none of them: a run that drops nothing says so with `positions = "none"`.
pub fn drop_positions(config: &Config, drop: &DropSettings) -> Result<Config> {
    let mut dropped = config.clone();
    match (drop.positions, &drop.layers) {
        (Dropped::All, Some(layers)) => dropped.layer_types = without_layers(config, layers)?,
        (Dropped::All, None) => {
            if config.positions == PositionScheme::None {
                return refuse(
                    "drop.positions is \"all\" but the model has no positions; use \"none\" to train it on as it is",
                );
            }
            dropped = dropped.without_positions();
            if let Some(attention_type) = drop.attention_type {
                let Architecture { query_norm, key_norm, .. } = *config.family.architecture();
                if attention_type != AttentionType::Nope && [query_norm, key_norm] != [ProjectionNorm::None; 2] {
                    return refuse(format!(
                        "drop.attention_type adds norms of queries or keys, but {:?} has its own; leave it out",
                        config.family
                    ));
                }
                attention_type.add_norms(&mut dropped.architecture);
            }
        }
        (Dropped::Low, _) => {
            if !config.positions.rotates() {
                return refuse(format!(
                    "drop.positions is \"low\" but the model is read with {}, not with RoPE in every layer; use \"all\" or \"none\"",
                    Method::of(config).name()
                ));
            }
            let cut = drop.cut.unwrap_or_else(|| partial_drop_cutoff(config.max_position_embeddings));
            dropped.positions = PositionScheme::Partial { min_frequency: cut };
            if config.trained_factor() > 1.0 {
                check_scaling_is_dropped(config, cut)?;
                dropped.rope =
                    RopeParameters { scaling: RopeScaling::Default, rope_scaling_trained: false, ..dropped.rope };
            }
            if rotating_pairs(&dropped)? >= rotating_pairs(config)? {
                return refuse(format!(
                    "drop.positions is \"low\" but the model has no frequency below {cut} that is not dropped yet; raise drop.cut, or \
                     use \"none\""
                ));
            }
        }
        (Dropped::None, _) => {}
    }
    dropped.scalable_softmax = drop.scalable_softmax.unwrap_or(config.scalable_softmax);
    Ok(dropped)
}

/// Checks that a model whose frequencies were scaled when it was trained, as those of Llama 3.1 were, is read without the scaling once
/// frequencies below a cut are dropped: it must change none of the others, nor the size of queries and keys.
fn check_scaling_is_dropped(config: &Config, cut: f64) -> Result<()> {
    let unscaled = rope_frequencies(config.rope.rope_theta, config.rotary_dim());
    let positions = Method::of(config).positions(config, 1.0)?;
    let scaled = match &positions.layer(cut_layer(config)).encoding {
        Encoding::Rotary { inv_freq, attention_factor } if *attention_factor == 1.0 => &inv_freq[..],
        _ => &[],
    };
    let kept = unscaled.iter().take_while(|&&omega| omega >= cut).count();
    let same = unscaled.iter().zip(scaled).take_while(|(unscaled, scaled)| unscaled == scaled).count();
    match unscaled.get(..same).and_then(<[f64]>::last) {
        _ if kept <= same => Ok(()),
        Some(lowest) => refuse(format!(
            "drop.positions is \"low\" with a cut of {cut}, but the model's rope_scaling changes frequencies between it and {lowest}; set drop.cut \
             to {lowest}, or drop.positions to \"all\""
        )),
        None => refuse(
            "drop.positions is \"low\", but the model's rope_scaling changes all frequencies, or the size of queries and keys; set \
             drop.positions to \"all\" and leave out drop.cut",
        ),
    }
}

/// The layers of a model, of which these have no positions.
fn without_layers(config: &Config, layers: &[usize]) -> Result<Vec<LayerType>> {
    if !config.positions.rotates() {
        return refuse(
            "drop.layers names layers, but the model does not have rotary positions in its layers; leave it out",
        );
    }
    let count = config.num_hidden_layers;
    let mut types = match &config.layer_types[..] {
        [] => vec![LayerType::COMMON; count],
        types => types.to_vec(),
    };
    for &layer in layers {
        match types.get_mut(layer) {
            Some(kind) if kind.rotates => kind.rotates = false,
            Some(_) => {
                return refuse(format!("drop.layers names layer {layer}, which has no positions or is named twice"));
            }
            None => {
                return refuse(format!(
                    "drop.layers names layer {layer}, but the last of the model is layer {}",
                    count - 1
                ));
            }
        }
    }
    if types.iter().all(|kind| !kind.rotates) {
        return refuse("drop.layers names all layers that have positions; leave it out to drop all positions");
    }
    Ok(types)
}

fn refuse<T>(reason: impl Into<String>) -> Result<T> {
    Err(Error::Recipe(reason.into()))
}

/// The first layer whose frequencies a cut changes: it rotates, and with the frequencies of the model and none of its own.
fn cut_layer(config: &Config) -> usize {
    let has_own =
        |layer: usize| config.layer_types.get(layer).is_some_and(|kind| kind.rope_theta.is_some() || !kind.rotates);
    (0..config.num_hidden_layers).find(|&layer| !has_own(layer)).unwrap_or(0)
}

/// Pairs of a head's components that rotate in the first layer whose frequencies a cut changes.
fn rotating_pairs(config: &Config) -> Result<usize> {
    let positions = Method::of(config).positions(config, 1.0)?;
    Ok(match &positions.layer(cut_layer(config)).encoding {
        Encoding::Rotary { inv_freq, .. } => inv_freq.iter().filter(|&&omega| omega > 0.0).count(),
        // Frequencies that follow the length: none of them is dropped.
        Encoding::LengthDependent(_) => config.rotary_dim() / 2,
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use crate::config::{
        AttentionType, Config, LLAMA, Llama3Parameters, PositionScheme, ProjectionNorm, RopeScaling, YarnParameters,
    };
    use crate::positions::{Method, partial_drop_cutoff};

    use super::drop_positions;
    use crate::train::recipe::{DropSettings, Dropped};

    /// C = 16 and 8 frequencies from 1 down to 3e-4.
    fn rope() -> Config {
        Config::from_json(include_str!("../../../../tests/fixtures/rope/config.json")).unwrap()
    }

    fn settings(positions: Dropped) -> DropSettings {
        DropSettings { positions, cut: None, layers: None, attention_type: None, scalable_softmax: None }
    }

    fn refused(config: &Config, drop: &DropSettings) -> String {
        drop_positions(config, drop).expect_err("drops nothing").to_string()
    }

    #[test]
    fn all_positions_of_every_kind_of_model_are_dropped() {
        let alibi = Config { positions: PositionScheme::Alibi, ..rope() };
        let windowed = Config { positions: PositionScheme::RnopeSwa { window: 4 }, ..rope() };
        let partial = rope().with_cut(Some(0.1));
        let some_layers = DropSettings { layers: Some(vec![0]), ..settings(Dropped::All) };
        let without_a_layer = drop_positions(&rope(), &some_layers).unwrap();
        assert!(without_a_layer.has_layers_without_positions());
        for config in [rope(), alibi, windowed, partial, without_a_layer] {
            let dropped = drop_positions(&config, &settings(Dropped::All)).unwrap();
            assert_eq!((Method::of(&dropped), dropped.architecture), (Method::Drope, *LLAMA.architecture()));
            assert!(refused(&dropped, &settings(Dropped::All)).contains("has no positions"));
            assert!(!dropped.has_layers_without_positions(), "no layer differs from the others");
        }
    }

    #[test]
    fn norms_and_ssmax_stay_unless_the_recipe_says_otherwise() {
        let mut normed = Config { scalable_softmax: true, ..rope() };
        normed.architecture.key_norm = ProjectionNorm::Whole;
        let dropped = drop_positions(&normed, &settings(Dropped::All)).unwrap();
        assert_eq!((dropped.architecture, dropped.scalable_softmax), (normed.architecture, true));
        let other = DropSettings {
            attention_type: Some(AttentionType::QNormNope),
            scalable_softmax: Some(false),
            ..settings(Dropped::All)
        };
        let dropped = drop_positions(&normed, &other).unwrap();
        let norms = [dropped.architecture.query_norm, dropped.architecture.key_norm];
        assert_eq!((norms, dropped.scalable_softmax), ([ProjectionNorm::Whole; 2], false));
        assert_eq!(drop_positions(&normed, &settings(Dropped::None)).unwrap(), normed);
        let qwen3 = Config::from_json(include_str!("../../../../tests/fixtures/qwen3/config.json")).unwrap();
        assert!(refused(&qwen3, &other).contains("qwen3 has its own"));
    }

    #[test]
    fn low_frequencies_are_dropped_where_there_are_any() {
        let low = settings(Dropped::Low);
        let dropped = drop_positions(&rope(), &low).unwrap();
        assert_eq!(dropped.positions, PositionScheme::Partial { min_frequency: partial_drop_cutoff(16) });
        assert!(refused(&dropped, &low).contains("no frequency below"));
        let fewer = drop_positions(&rope(), &DropSettings { cut: Some(0.05), ..low.clone() }).unwrap();
        assert_eq!(drop_positions(&fewer, &low).unwrap(), dropped, "those that are left below the cut");
        assert!(refused(&rope(), &DropSettings { cut: Some(1e-6), ..low.clone() }).contains("no frequency below"));
        for config in [
            Config { positions: PositionScheme::Alibi, ..rope() },
            Config { positions: PositionScheme::RnopeSwa { window: 4 }, ..rope() },
            Config { positions: PositionScheme::None, ..rope() },
        ] {
            assert!(refused(&config, &low).contains("not with RoPE in every layer"));
        }
    }

    /// As in Llama 3.1, whose scaling leaves the high frequencies as they were.
    #[test]
    fn low_frequencies_are_dropped_with_their_scaling() {
        let text = include_str!("../../../../tests/fixtures/llama3-extended/config.json");
        let with = |scaling: RopeScaling, context: usize| {
            let mut config = Config::from_json(text).unwrap();
            (config.rope.scaling, config.max_position_embeddings) = (scaling, context);
            config
        };
        let original = Some(64);
        let llama3 = Llama3Parameters {
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            factor: 4.0,
            original_max_position_embeddings: original,
        };
        let llama3 = with(RopeScaling::Llama3(llama3), 256);
        // Frequencies are 1, 0.316, 0.1 …; what turns four times in 64 tokens is not scaled.
        let low = DropSettings { cut: Some(0.39), ..settings(Dropped::Low) };
        let dropped = drop_positions(&llama3, &low).unwrap();
        let unscaled = with(RopeScaling::Default, 256).with_cut(Some(0.39));
        assert_eq!(dropped, unscaled);
        let again = Config::from_json(&dropped.to_json()).unwrap();
        assert_eq!(Method::PDrope.positions(&again, 4.0).unwrap(), Method::PDrope.positions(&unscaled, 4.0).unwrap());
        let said = refused(&llama3, &DropSettings { cut: Some(0.2), ..low.clone() });
        assert!(said.contains("changes frequencies between it and 1; set drop.cut to 1,"), "{said}");
        let yarn = YarnParameters { original_max_position_embeddings: original, ..YarnParameters::new(4.0) };
        assert!(refused(&with(RopeScaling::Yarn(yarn), 256), &low).contains("or the size of queries and keys"));
    }

    /// Layers with a window have frequencies of their own, which are not scaled.
    #[test]
    fn a_scaling_of_all_frequencies_stays_with_the_layers_that_have_it() {
        let config = Config::from_json(include_str!("../../../../tests/fixtures/gemma3-linear/config.json")).unwrap();
        assert!(config.trained_factor() > 1.0 && config.layer_types[0].rope_theta.is_some());
        for cut in [Some(1.0), Some(0.39), None] {
            let said = refused(&config, &DropSettings { cut, ..settings(Dropped::Low) });
            assert!(said.contains("changes all frequencies"), "{said}");
        }
    }

    #[test]
    fn positions_of_some_layers_are_dropped() {
        let layers = |layers: &[usize]| DropSettings { layers: Some(layers.to_vec()), ..settings(Dropped::All) };
        let dropped = drop_positions(&rope(), &layers(&[1])).unwrap();
        assert_eq!(dropped.layer_types.iter().map(|layer| layer.rotates).collect::<Vec<_>>(), [true, false]);
        assert_eq!((dropped.positions, Method::of(&dropped)), (PositionScheme::Rotary, Method::Rope));
        let again = Config::from_json(&dropped.to_json()).unwrap();
        assert_eq!(again.layer_types, dropped.layer_types);
        for (config, layers, words) in [
            (rope(), layers(&[2]), "the last of the model is layer 1"),
            (dropped, layers(&[1]), "no positions or is named twice"),
            (rope(), layers(&[0, 1]), "names all layers"),
            (Config { positions: PositionScheme::Alibi, ..rope() }, layers(&[0]), "does not have rotary positions"),
        ] {
            let said = refused(&config, &layers);
            assert!(said.contains(words), "{said}");
        }
    }
}
