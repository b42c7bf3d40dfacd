//! Configs.

use drope_core::config::{
    Config, LayerType, Llama3Parameters, LongRopeParameters, PositionScheme, RopeParameters, RopeScaling,
    YarnParameters,
};
use drope_core::error::Error;
use drope_core::positions::Method;

use super::parity::case;
use super::{config_with, fixture};
#[test]
fn impossible_configs_are_named() {
    let unknown = config_with("\"llama\"", "\"gpt2\"").unwrap_err();
    assert!(matches!(&unknown, Error::UnknownModelType { name, .. } if name == "gpt2"));
    let rope = config_with("\"rope_theta\": 10000.0", "\"rope_theta\": 1e4, \"rope_scaling\": {\"type\": \"spiral\"}");
    assert!(matches!(rope, Err(Error::UnknownRopeType(name)) if name == "spiral"));
    for (old, new) in [
        ("\"vocab_size\": 48", "\"vocab_size\": 0"),
        ("\"vocab_size\": 48", "\"vocab_size\": 1.5"),
        ("\"vocab_size\": 48,", ""),
        ("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3"),
        ("\"head_dim\": 16", "\"head_dim\": 15"),
        ("\"max_position_embeddings\": 16", "\"max_position_embeddings\": 0"),
        ("\"rope_theta\": 10000.0", "\"rope_theta\": 0.5"),
        ("{", "["),
    ] {
        assert!(matches!(config_with(old, new), Err(Error::Config(_))), "{new}");
    }
}

#[test]
fn both_spellings_of_rope_parameters_are_read() {
    let v4 = config_with(
        "\"rope_theta\": 10000.0",
        "\"rope_theta\": 5e5, \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0, \"beta_fast\": 16}",
    )
    .unwrap();
    let v5 = config_with(
        "\"rope_theta\": 10000.0",
        "\"rope_parameters\": {\"rope_theta\": 5e5, \"rope_type\": \"yarn\", \"factor\": 4.0, \"beta_fast\": 16}",
    )
    .unwrap();
    assert_eq!(v4, v5);
    assert_eq!(Config::from_json(&v4.to_json()).unwrap(), v4);
    assert_eq!(Method::of(&v4), Method::Yarn);
}

/// A checkpoint such as Llama 3.1's: its context is the extended one, and its frequencies are scaled at s = 1 already.
#[test]
fn a_checkpoint_that_was_extended_is_read_as_it_was_trained() {
    let original = case("rope").config();
    let original_max_position_embeddings = Some(original.max_position_embeddings);
    for scaling in [
        RopeScaling::Yarn(YarnParameters { original_max_position_embeddings, ..YarnParameters::new(4.0) }),
        RopeScaling::Llama3(Llama3Parameters { original_max_position_embeddings, ..Llama3Parameters::new(4.0) }),
    ] {
        let mut extended = original.clone();
        extended.max_position_embeddings *= 4;
        extended.rope.scaling = scaling;
        assert_eq!((extended.trained_factor(), extended.extension_factor()), (4.0, 1.0));
        let method = Method::of(&extended);
        for further in [1.0, 2.0] {
            let expected = method.positions(&original, 4.0 * further).unwrap();
            assert_eq!(method.positions(&extended, further).unwrap(), expected, "{}", method.name());
        }
        assert!(Method::Drope.positions(&extended, 2.0).is_ok());
        let error = Method::Ntk.positions(&extended, 2.0).unwrap_err().to_string();
        assert!(error.contains("already scaled by 4"), "{error}");
    }
    // As Phi-3 has it: no factor, and a context that says it.
    let factors = vec![1.5; original.rotary_dim() / 2];
    let scaling = RopeScaling::Longrope(LongRopeParameters {
        short_factor: factors.clone(),
        long_factor: factors,
        factor: None,
        attention_factor: None,
        original_max_position_embeddings,
    });
    for rope_scaling_trained in [false, true] {
        let rope = RopeParameters { scaling: scaling.clone(), rope_scaling_trained, ..original.rope.clone() };
        let max_position_embeddings = 4 * original.max_position_embeddings;
        assert_eq!(Config { rope, max_position_embeddings, ..original.clone() }.trained_factor(), 4.0);
    }
}

/// transformers and llama.cpp divide all positions by the factor, in short texts too.
#[test]
fn a_linear_scaling_was_trained_unless_the_config_says_otherwise() {
    let scaled = |more: &str| {
        let fields =
            format!("\"rope_theta\": 1e4, \"rope_scaling\": {{ \"type\": \"linear\", \"factor\": 4.0 }}{more}");
        config_with("\"rope_theta\": 10000.0", &fields).unwrap()
    };
    for (config, factors) in [(scaled(""), [4.0, 1.0]), (scaled(", \"rope_scaling_trained\": false"), [1.0, 4.0])] {
        let again = Config::from_json(&config.to_json()).unwrap();
        for config in [config, again] {
            assert_eq!([config.trained_factor(), config.extension_factor()], factors);
        }
    }
}

#[test]
fn a_generation_config_names_more_ends_of_answers() {
    let config = config_with("\"rope_theta\": 10000.0", "\"rope_theta\": 1e4, \"eos_token_id\": 3").unwrap();
    let ends = |json: &str| config.clone().with_generation_config(json).map(|config| config.eos_token_ids);
    assert_eq!(ends(r#"{ "eos_token_id": [7, 3, 9] }"#).unwrap(), [3, 7, 9]);
    assert_eq!(ends(r#"{ "eos_token_id": 5 }"#).unwrap(), [3, 5]);
    assert_eq!(ends("{}").unwrap(), [3]);
    assert!(ends("{").unwrap_err().to_string().contains("generation_config.json"));
}

/// transformers' Llama ignores them, and so must a reader of its checkpoints.
#[test]
fn windows_and_layers_of_a_plain_llama_are_kept_but_not_used() {
    let window = |value: &str| config_with("\"rope_theta\": 10000.0", &format!("\"rope_theta\": 1e4, {value}"));
    let config = window("\"sliding_window\": 4").unwrap();
    assert_eq!((config.positions, Method::of(&config)), (PositionScheme::Rotary, Method::Rope));
    assert!(config.to_json().contains("\"sliding_window\": 4"));
    // Written as a model of ours, it must not become a window.
    let dropped = config.clone().with_cut(Some(0.02));
    let again = Config::from_json(&dropped.to_json()).unwrap();
    assert_eq!((again.has_windows(), Method::of(&again)), (false, Method::PDrope));
    let layers = window("\"no_rope_layers\": [0, 0]").unwrap();
    let dropped = Config { positions: PositionScheme::None, ..layers.clone() };
    for config in [layers, dropped] {
        assert_eq!(Config::from_json(&config.to_json()).unwrap().layer_types, []);
    }
    let ours = Config { positions: PositionScheme::RnopeSwa { window: 4 }, ..case("rope").config() };
    let again = Config::from_json(&ours.to_json()).unwrap();
    assert_eq!((again.positions, Method::of(&again)), (ours.positions, Method::RnopeSwa));
}

/// Layers of SmolLM3 without positions and of Qwen 2 with a window; the fixtures compare what they compute.
#[test]
fn layers_that_differ_survive_a_save_and_are_checked() {
    for name in ["smollm3", "smollm3-yarn", "qwen2-windows"] {
        let config = case(name).config();
        assert_eq!(config.layer_types.len(), config.num_hidden_layers);
        assert_eq!(Config::from_json(&config.to_json()).unwrap(), config);
        // Without positions, transformers' own classes do not compute it; the windows stay.
        let dropped = config.without_positions();
        assert_eq!(Config::from_json(&dropped.to_json()).unwrap(), dropped);
    }
    let mut without: serde_json::Value = serde_json::from_str(&case("qwen2-windows").config().to_json()).unwrap();
    without["sliding_window"] = serde_json::Value::Null;
    assert!(!Config::from_json(&without.to_string()).unwrap().has_windows(), "null is no window, as in transformers");
    let windows = case("qwen2-windows").config();
    assert_eq!(windows.layer_types.iter().map(|layer| layer.window).collect::<Vec<_>>(), [None, Some(6), Some(6)]);
    let by_name = windows.to_json().replacen("\"max_window_layers\": 1", "\"max_window_layers\": 2", 1);
    assert_eq!(Config::from_json(&by_name).unwrap(), windows, "names of layers go before their number");
    for (name, field, value, words) in [
        ("smollm3", "no_rope_layers", "[1, 0]", "0 or 1 for each of the 4 layers"),
        ("smollm3", "no_rope_layers", "[1, 1, 2, 0]", "0 or 1 for each"),
        ("smollm3", "no_rope_layers", "true", "not a list"),
        ("smollm3", "use_sliding_window", "true", "SmolLM3's windows"),
        ("qwen2-windows", "sliding_window", "0", "not a number of tokens"),
        ("qwen2-windows", "max_window_layers", "-1", "not a number of layers"),
        (
            "qwen2-windows",
            "layer_types",
            "[\"chunked_attention\", \"a\", \"b\"]",
            "full_attention or sliding_attention",
        ),
    ] {
        let mut fields: serde_json::Value = serde_json::from_str(&case(name).config().to_json()).unwrap();
        fields[field] = serde_json::from_str(value).unwrap();
        let said = Config::from_json(&fields.to_string()).unwrap_err().to_string();
        assert!(said.contains(words), "{said} does not say {words}");
    }
}

#[test]
fn foreign_fields_survive_a_save() {
    let text = String::from_utf8(fixture("config.json")).unwrap();
    let foreign = text.replacen('{', r#"{"torch_dtype": "bfloat16", "quirk": {"of": [1, 2.5, null]}, "#, 1);
    let config = Config::from_json(&foreign).unwrap();
    assert_eq!(config.other.len(), 2);
    let again: serde_json::Value = serde_json::from_str(&config.to_json()).unwrap();
    assert_eq!((&again["torch_dtype"], &again["quirk"]["of"][1]), (&"bfloat16".into(), &2.5.into()));
    assert_eq!(Config::from_json(&config.to_json()).unwrap(), config);
}

#[test]
fn parameters_that_make_no_sense_are_named() {
    for (scaling, culprit) in [
        (r#""rope_type": "dynamic", "factor": -4.0"#, "factor"),
        (r#""rope_type": "linear", "factor": 0.5"#, "factor"),
        (r#""rope_type": "linear", "factor": 1e308"#, "factor"),
        (r#""rope_type": "yarn", "factor": 4.0, "attention_factor": 1e308"#, "attention_factor"),
        (r#""rope_type": "yarn", "factor": 4.0, "beta_fast": 1.0, "beta_slow": 32.0"#, "beta_slow"),
        (r#""rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0"#, "low_freq_factor"),
        (r#""rope_type": "longrope", "short_factor": [1.0], "long_factor": [0.0]"#, "longrope"),
    ] {
        let error =
            config_with("\"rope_theta\": 10000.0", &format!("\"rope_theta\": 1e4, \"rope_scaling\": {{{scaling}}}"));
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("config.json: ") && error.contains(culprit), "{error}");
    }
    // Before lists of that size are made.
    for (field, size) in [("num_hidden_layers", 1 << 30), ("head_dim", 1 << 30), ("hidden_size", 1 << 30)] {
        let mut config: serde_json::Value = serde_json::from_slice(&fixture("config.json")).unwrap();
        config["model_type"] = "mistral".into();
        config["sliding_window"] = 8.into();
        config[field] = size.into();
        let error = Config::from_json(&config.to_string()).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
    let plain = case("rope").config();
    // A fitted temperature may fall with the length.
    Config { temperature_coefficient: -0.007, ..plain.clone() }.check().unwrap();
    for (config, culprit) in [
        (Config { rms_norm_eps: 0.0, ..plain.clone() }, "rms_norm_eps"),
        (Config { num_hidden_layers: 1 << 30, ..plain.clone() }, "num_hidden_layers"),
        (Config { num_hidden_layers: 0, ..plain.clone() }, "num_hidden_layers is 0"),
        (Config { num_key_value_heads: 0, ..plain.clone() }, "num_key_value_heads is 0"),
        (Config { positions: PositionScheme::RnopeSwa { window: 0 }, ..plain.clone() }, "sliding_window is 0"),
        (Config { layer_types: vec![LayerType::COMMON; 3], ..plain.clone() }, "layer_types names 3 layers"),
        (Config { max_position_embeddings: 1, ..plain.clone() }, "max_position_embeddings"),
        (Config { temperature_coefficient: f64::NAN, ..plain.clone() }, "temperature_coefficient"),
        (Config { temperature_coefficient: 1e308, ..plain.clone() }, "temperature_coefficient"),
        (Config { softmax_scale: Some(1e308), ..plain.clone() }, "softmax_scale"),
    ] {
        let error = config.check().unwrap_err().to_string();
        assert!(error.contains(culprit), "{error}");
    }
    for (field, culprit) in
        [("\"hidden_act\": \"gelu\"", "hidden_act"), ("\"bos_token_id\": 4294967297", "bos_token_id")]
    {
        let error =
            config_with("\"rope_theta\": 10000.0", &format!("\"rope_theta\": 1e4, {field}")).unwrap_err().to_string();
        assert!(error.contains(culprit), "{error}");
    }
}
