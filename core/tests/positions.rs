//! What holds for every scaling of RoPE, whatever the factor.
#![cfg(not(target_arch = "wasm32"))]

use drope_core::config::{Config, HeadScales, LongRopeParameters, RopeScaling};
use drope_core::positions::{Encoding, Method, alibi_slopes, rope_frequencies};
use proptest::prelude::*;

const SCALINGS: [Method; 8] = [
    Method::Rope,
    Method::Pi,
    Method::Ntk,
    Method::DynamicNtk,
    Method::Yarn,
    Method::YarnAsPrinted,
    Method::Llama3,
    Method::LongRope,
];

fn config(head_dim: usize, rope_theta: f64, context: usize) -> Config {
    let text = include_str!("../../tests/fixtures/rope/config.json");
    let mut config = Config::from_json(text).unwrap();
    (config.head_dim, config.rope.rope_theta, config.max_position_embeddings) = (head_dim, rope_theta, context);
    config.rope.scaling = RopeScaling::Longrope(LongRopeParameters {
        short_factor: vec![1.0; head_dim / 2],
        long_factor: (0..head_dim / 2).map(|m| 1.0 + m as f64).collect(),
        factor: None,
        attention_factor: None,
        original_max_position_embeddings: None,
    });
    config
}

/// The effective frequencies of a text of s·C tokens.
fn frequencies(method: Method, config: &Config, factor: f64) -> (Vec<f64>, f64) {
    match method.positions(config, factor).unwrap().layer(0).encoding.clone() {
        Encoding::Rotary { inv_freq, attention_factor } => (inv_freq, attention_factor),
        Encoding::LengthDependent(dependent) => {
            dependent.rotary((factor * config.max_position_embeddings as f64) as usize)
        }
        other => panic!("{} is {other:?}", method.name()),
    }
}

fn any_config() -> impl Strategy<Value = Config> {
    (1usize..=64, 2.0f64..1e7, 8usize..100_000).prop_map(|(half, theta, context)| config(2 * half, theta, context))
}

#[test]
fn temperatures_of_a_config_that_turn_attention_around_are_refused() {
    let base = config(32, 1e4, 256);
    let cold = Config { temperature_coefficient: -0.5, ..base.clone() };
    let heads = HeadScales { factor: 2.0, scales: vec![vec![0.5; base.num_attention_heads]; base.num_hidden_layers] };
    let by_head = Config { head_scales: Some(heads), ..base };
    for config in [cold, by_head] {
        assert!(Method::Drope.positions(&config, 2.0).is_ok());
        let said = Method::Drope.positions(&config, 8.0).unwrap_err().to_string();
        assert!(said.contains("which must be above 0"), "{said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frequencies_never_grow_with_the_factor(
        config in any_config(), which in 0..SCALINGS.len(), s in 1.0f64..64.0, more in 1.0f64..4.0,
    ) {
        let (shorter, _) = frequencies(SCALINGS[which], &config, s);
        let (longer, _) = frequencies(SCALINGS[which], &config, s * more);
        for (m, (short, long)) in shorter.iter().zip(&longer).enumerate() {
            prop_assert!(long <= &(short * (1.0 + 1e-9)), "{} pair {m}: {short} to {long}", SCALINGS[which].name());
        }
    }

    #[test]
    fn no_factor_is_plain_rope(config in any_config(), which in 0..SCALINGS.len()) {
        let (found, attention_factor) = frequencies(SCALINGS[which], &config, 1.0);
        prop_assert_eq!(attention_factor, 1.0);
        for (found, plain) in found.iter().zip(rope_frequencies(config.rope.rope_theta, config.head_dim)) {
            prop_assert!((found / plain - 1.0).abs() < 1e-9, "{}", SCALINGS[which].name());
        }
    }

    #[test]
    fn alibi_slopes_fall_by_a_constant_ratio_within_a_power_of_two(power in 0u32..6) {
        let slopes = alibi_slopes(1 << power);
        prop_assert!(slopes.windows(2).all(|pair| (pair[1] / pair[0] - slopes[0]).abs() < 1e-12));
        prop_assert!((slopes.last().unwrap() - 2f64.powi(-8)).abs() < 1e-12);
    }
}
