//! Parameters that a reader chooses do what the same values in `config.json` do, and nothing else.
#![cfg(not(target_arch = "wasm32"))]

use drope_core::config::{Config, HeadScales, PositionScheme};
use drope_core::positions::{Method, Parameters, Positions};
use serde_json::{Value, json};

const FIXTURE: &str = include_str!("../../tests/fixtures/rope/config.json");

/// The fixture's config with other fields, and a context long enough for pairs that rotate often.
fn config(fields: &Value) -> Config {
    let mut config: Value = serde_json::from_str(FIXTURE).unwrap();
    config["max_position_embeddings"] = 256.into();
    config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    Config::from_json(&config.to_string()).unwrap()
}

fn plain() -> Config {
    config(&json!({}))
}

fn parameters(chosen: &Value) -> Parameters {
    serde_json::from_value(chosen.clone()).unwrap()
}

fn read(method: Method, config: &Config, factor: f64, chosen: &Value) -> Result<Positions, String> {
    method.positions_with(config, factor, &parameters(chosen)).map_err(|error| error.to_string())
}

#[test]
fn a_chosen_cut_drops_the_frequencies_below_it() {
    let cut = json!({ "cut": 0.2 });
    let chosen = read(Method::PDrope, &plain(), 4.0, &cut).unwrap();
    assert_eq!(chosen, Method::PDrope.positions(&config(&json!({ "rope_min_frequency": 0.2 })), 4.0).unwrap());
    assert_ne!(chosen, Method::PDrope.positions(&plain(), 4.0).unwrap());
    // It takes the place of the config's.
    assert_eq!(read(Method::PDrope, &config(&json!({ "rope_min_frequency": 0.001 })), 4.0, &cut).unwrap(), chosen);
    let refused = read(Method::PDrope, &plain(), 4.0, &json!({ "cut": 0 })).unwrap_err();
    assert!(refused.contains("must be above 0 radians a token"), "{refused}");
    assert!(read(Method::Yarn, &plain(), 4.0, &cut).unwrap_err().contains("it has no cut"));
}

#[test]
fn chosen_pairs_are_clipped_softly() {
    let clipped = |pairs: u32| json!({ "clipped_pairs": pairs });
    let chosen = read(Method::Cope, &plain(), 4.0, &clipped(4)).unwrap();
    let asked = config(&json!({ "rope_clipped_pairs": 4 }));
    assert_eq!(Method::of(&asked), Method::Cope);
    assert_eq!(chosen, Method::Cope.positions(&asked, 4.0).unwrap());
    assert_eq!(Config::from_json(&asked.to_json()).unwrap().positions, asked.positions);
    // 20 of 64 pairs are 3 of 8.
    assert_eq!(read(Method::Cope, &plain(), 4.0, &clipped(3)), read(Method::Cope, &plain(), 4.0, &json!({})));
    // They take the place of a cut.
    let cut = config(&json!({ "rope_min_frequency": 0.2 }));
    assert_eq!(read(Method::Cope, &cut, 4.0, &clipped(4)).unwrap(), chosen);
    for pairs in [json!(0), json!(9), json!(2.5)] {
        let refused = read(Method::Cope, &plain(), 4.0, &json!({ "clipped_pairs": pairs })).unwrap_err();
        assert!(refused.contains("a whole number from 1 to 8"), "{refused}");
    }
    let both = asked.to_json().replacen('{', "{ \"rope_min_frequency\": 0.2,", 1);
    assert!(Config::from_json(&both).unwrap_err().to_string().contains("give one of them"));
}

#[test]
fn a_chosen_value_does_what_it_does_in_the_config() {
    for (method, factor, chosen, scaling) in [
        (
            Method::Yarn,
            4.0,
            json!({ "beta_fast": 8, "beta_slow": 2, "attention_factor": 1.3 }),
            json!({ "rope_type": "yarn", "factor": 4, "beta_fast": 8, "beta_slow": 2, "attention_factor": 1.3 }),
        ),
        (
            Method::Llama3,
            4.0,
            json!({ "low_freq_factor": 2, "high_freq_factor": 8 }),
            json!({ "rope_type": "llama3", "factor": 4, "low_freq_factor": 2, "high_freq_factor": 8 }),
        ),
        (Method::DynamicNtk, 4.0, json!({ "factor": 3 }), json!({ "rope_type": "dynamic", "factor": 3 })),
        (Method::DynamicNtk, 8.0, json!({ "factor": "s" }), json!({ "rope_type": "dynamic", "factor": 8 })),
    ] {
        let chosen_now = read(method, &plain(), factor, &chosen).unwrap();
        let in_config = method.positions(&config(&json!({ "rope_scaling": scaling })), factor).unwrap();
        assert_eq!(chosen_now, in_config, "{}", method.name());
        assert_ne!(chosen_now, method.positions(&plain(), factor).unwrap(), "{}", method.name());
        // Each value counts.
        for name in chosen.as_object().unwrap().keys() {
            let mut fewer = chosen.clone();
            fewer.as_object_mut().unwrap().remove(name);
            assert_ne!(read(method, &plain(), factor, &fewer).unwrap(), in_config, "{} {name}", method.name());
        }
        // Chosen or not, the others are as the config has them.
        let twice = config(&json!({ "rope_scaling": scaling }));
        assert_eq!(read(method, &twice, factor, &chosen).unwrap(), in_config);
        assert_eq!(read(method, &twice, factor, &json!({})).unwrap(), in_config);
    }
}

#[test]
fn alpha_stands_in_place_of_s_and_mscale_before_the_logarithm() {
    let ntk = |factor, chosen| read(Method::Ntk, &plain(), factor, &chosen).unwrap();
    let own = |factor| Method::Ntk.positions(&plain(), factor).unwrap();
    assert_eq!(ntk(4.0, json!({ "alpha": 12 })), own(12.0));
    assert_eq!(ntk(8.0, json!({ "alpha": "1.5s" })), own(12.0));
    assert_eq!(ntk(1.0, json!({ "alpha": "1.5s" })), own(1.0), "nothing is extended at s = 1");
    let yarn = |factor, chosen| read(Method::Yarn, &plain(), factor, &chosen).unwrap();
    assert_eq!(yarn(8.0, json!({ "mscale": 1 })), Method::Yarn.positions(&plain(), 8.0).unwrap());
    for factor in [1.0, 2.0, 8.0] {
        let expected = 0.1 * 2.5 * f64::ln(factor) + 1.0;
        assert_eq!(
            yarn(factor, json!({ "mscale": 2.5 })),
            yarn(factor, json!({ "attention_factor": expected })),
            "{factor}"
        );
    }
}

#[test]
fn every_method_takes_a_temperature_in_place_of_its_own() {
    let tempered = config(&json!({ "temperature_coefficient": 0.4 }));
    let methods = Method::ALL.into_iter().filter(|&method| method.positions(&plain(), 2.0).is_ok());
    for method in methods {
        let own = method.positions(&tempered, 8.0).unwrap();
        let found = read(method, &tempered, 8.0, &json!({ "temperature_coefficient": 0.2 })).unwrap();
        assert_eq!(found, own.with_logit_scale(1.0 + 0.2 * 8f64.ln()), "{}", method.name());
    }
    let scales = vec![vec![1.5; plain().num_attention_heads]; plain().num_hidden_layers];
    let with_heads = Config { head_scales: Some(HeadScales { factor: 8.0, scales }), ..plain() };
    let found = read(Method::Drope, &with_heads, 8.0, &json!({ "temperature_coefficient": 0 })).unwrap();
    assert_eq!((found.logit_scale, found.head_scales.len()), (1.0, 0));
}

/// A scaling that a model was trained with says nothing of the frequencies that dropping left.
#[test]
fn a_scaling_of_training_does_not_outlive_its_positions() {
    let trained = json!({ "rope_type": "yarn", "factor": 4 });
    let trained = config(&json!({ "rope_scaling": trained, "rope_scaling_trained": true }));
    let tempered = Config { positions: PositionScheme::None, temperature_coefficient: 0.1, ..trained.clone() };
    let scale = |factor| Method::Drope.positions(&tempered, factor).unwrap().logit_scale;
    assert_eq!((scale(1.0), scale(8.0)), (1.0, 1.0 + 0.1 * 8f64.ln()));
    let partial = Config { positions: PositionScheme::Partial { min_frequency: 0.1 }, ..trained };
    let refused = Method::PDrope.positions(&partial, 4.0).unwrap_err().to_string();
    assert!(refused.contains("already scaled by 4"), "{refused}");
}

#[test]
fn what_no_method_can_read_with_is_refused() {
    let trained = json!({ "rope_type": "yarn", "factor": 4 });
    let trained = config(&json!({ "rope_scaling": trained, "rope_scaling_trained": true }));
    for (method, config, factor, chosen, words) in [
        (Method::Yarn, &plain(), 2.0, json!({ "alpha": 2 }), "do not fit yarn: it has no alpha; choose from beta_fast"),
        (Method::Drope, &plain(), 2.0, json!({ "beta_fast": 2 }), "it has no beta_fast"),
        (Method::Yarn, &plain(), 2.0, json!({ "beta_fast": 1 }), "beta_slow must be above 0, beta_fast above it"),
        (Method::Yarn, &plain(), 2.0, json!({ "beta_fast": "2s" }), "beta_fast must be a number"),
        (Method::Yarn, &plain(), 2.0, json!({ "attention_factor": 0 }), "attention_factor must be from"),
        (Method::Yarn, &plain(), 2.0, json!({ "attention_factor": 1, "mscale": 1 }), "give one of them"),
        (Method::Llama3, &plain(), 2.0, json!({ "low_freq_factor": 4 }), "low_freq_factor must be above 0"),
        (Method::Ntk, &plain(), 2.0, json!({ "alpha": "0.25s" }), "alpha is 0.5 at s = 2 but must be from 1"),
        (Method::DynamicNtk, &plain(), 2.0, json!({ "factor": 0.5 }), "factor must be from 1"),
        (Method::Rope, &plain(), 8.0, json!({ "temperature_coefficient": -0.5 }), "which must be above 0"),
        (Method::Rope, &plain(), 8.0, json!({ "temperature_coefficient": 1e9 }), "temperature_coefficient is"),
        (Method::Ntk, &plain(), 0.5, json!({ "alpha": 2 }), "extension factor is 0.5"),
        (Method::Yarn, &trained, 4.0, json!({ "beta_fast": 16 }), "trained with the scaling of their config"),
        (Method::Ntk, &trained, 4.0, json!({ "alpha": 2 }), "already scaled"),
    ] {
        let error = read(method, config, factor, &chosen).unwrap_err();
        assert!(error.contains(words), "{error} lacks {words}");
    }
    let tempered = read(Method::Yarn, &trained, 8.0, &json!({ "temperature_coefficient": 0.1 })).unwrap();
    assert_eq!(tempered, Method::Yarn.positions(&trained, 8.0).unwrap().with_logit_scale(1.0 + 0.1 * 8f64.ln()));
}
