//! Families of models beside Llama: their files in and out, and their training. `model.rs` compares what they compute with transformers.
#![cfg(all(feature = "train", not(target_arch = "wasm32")))]

mod parity;

use std::collections::BTreeMap;

use burn::tensor::Device;
use drope_core::burn;
use drope_core::config::{Config, LLAMA};
use drope_core::error::Error;
use drope_core::model::{ComputeType, Model, SafetensorsFiles, StoredType, write_safetensors};
use drope_core::positions::Method;
use drope_core::train::recipe::Recipe;
use drope_core::train::{Batch, Hyperparameters, Memory, OptimizerKind, Schedule, Trainer};
use parity::{CASES, Case, case, ids_tensor, largest_difference};
use pollster::block_on;
use safetensors::SafeTensors;
use serde_json::{Value, json};

/// Fixtures of other families than Llama as their models come: a folder that tests/fixtures.py writes is enough to be tested here.
fn families() -> impl Iterator<Item = &'static Case> {
    let is_as_it_comes = |case: &&Case| {
        let fields: Value = serde_json::from_str(case.config_json()).unwrap();
        fields["model_type"] != "llama" && Method::of(&case.config()) == Method::Rope
    };
    CASES.iter().filter(is_as_it_comes)
}

/// Logits of the fixture's text.
fn logits(config: &Config, model: &Model, ids: &[u32]) -> Vec<f32> {
    let positions = Method::of(config).positions(config, 1.0).unwrap();
    model.forward(ids_tensor(ids, &model.device()), &positions, None).into_data().iter().collect()
}

#[test]
fn configs_survive_a_save_and_name_their_classes() {
    for (name, class) in [
        ("mistral", "MistralForCausalLM"),
        ("qwen3", "Qwen3ForCausalLM"),
        ("olmo2", "Olmo2ForCausalLM"),
        // A Llama, once its projections are tensors of their own.
        ("phi3", "LlamaForCausalLM"),
        ("phi3-partial", "DroPELlamaForCausalLM"),
        ("gemma3", "Gemma3ForCausalLM"),
        ("granite", "GraniteForCausalLM"),
        ("seed_oss", "SeedOssForCausalLM"),
    ] {
        let config = case(name).config();
        let written: Value = serde_json::from_str(&config.to_json()).unwrap();
        assert_eq!(written["architectures"][0], class);
        assert_eq!(Config::from_json(&config.to_json()).unwrap(), config, "{name}");
        let dropped = config.clone().with_cut(Some(0.3));
        assert_eq!(Config::from_json(&dropped.to_json()).unwrap(), dropped, "{name}, dropped in part");
        let of_family = class.trim_start_matches("DroPE");
        assert!(dropped.to_json().contains(&format!("modeling_drope.DroPE{of_family}")), "{name}");
    }
    assert_eq!(case("phi3").config().family, &LLAMA);
}

#[test]
fn weights_survive_a_save() {
    let device = Device::flex();
    for case in families() {
        let name = case.name;
        let (config, model) = (case.config(), case.model(&device));
        let expected = logits(&config, &model, &case.ids());
        // From the model, and from the files without one.
        let saved = block_on(model.to_safetensors()).unwrap();
        let mut copied = Vec::new();
        let source = SafetensorsFiles::from_bytes(case.weights()).unwrap();
        write_safetensors(&config, &source, StoredType::F32, &mut copied).unwrap();
        for bytes in [saved, copied] {
            let again = Model::from_safetensors(&config, &bytes, &device).unwrap();
            let difference = largest_difference(&logits(&config, &again, &case.ids()), &expected);
            assert!(difference < 1e-5, "{name}: {difference}");
        }
    }
}

#[test]
fn every_family_is_dropped_and_recalibrated() {
    let device = Device::flex().autodiff();
    let recipe = |drop: Value| -> Recipe {
        let recipe = json!({
            "seed": 1, "context": 16, "steps": 2, "tokens_per_step": 32, "weight_decay": 0.0, "max_gradient_norm": 1e3,
            "optimizer": "adamw", "schedule": { "peak": 1e-3, "warmup": 0, "floor": 1.0 }, "memory": { "recompute": true },
            "drop": drop,
        });
        serde_json::from_value(recipe).unwrap()
    };
    for case in families() {
        let name = case.name;
        for drop in
            [json!({ "positions": "all" }), json!({ "positions": "low" }), json!({ "positions": "all", "layers": [1] })]
        {
            let recipe = recipe(drop.clone());
            let config = recipe.recalibrated(&case.config()).unwrap();
            let model = Model::from_safetensors(&config, case.weights(), &device).unwrap();
            let positions = Method::of(&config).positions(&config, 1.0).unwrap();
            let trainer = Trainer::new(model, positions, recipe.hyperparameters());
            let batch = Batch::plain(case.ids()[..32].to_vec(), 16);
            let (trainer, first) = block_on(trainer.step(&batch)).unwrap();
            let (trainer, second) = block_on(trainer.step(&batch)).unwrap();
            let losses = [first, second].map(|report| report.token_losses.iter().sum::<f32>());
            assert!(losses[1] < losses[0], "{name}, {drop}: {losses:?}");
            let bytes = block_on(trainer.model().to_safetensors()).unwrap();
            let again = Model::from_safetensors(&config, &bytes, &Device::flex()).unwrap();
            let trained = logits(&config, trainer.model(), &case.ids());
            let difference = largest_difference(&logits(&config, &again, &case.ids()), &trained);
            assert!(difference < 1e-4, "{name}, {drop}: {difference}");
        }
    }
}

/// Muon would fail at vectors, and decay is for matrices.
#[test]
fn biases_are_neither_decayed_nor_left_to_muon() {
    let case = case("qwen2");
    let model = || Model::from_safetensors(&case.config(), case.weights(), &Device::flex().autodiff()).unwrap();
    let before = named_weights(&model());
    for optimizer in [OptimizerKind::AdamW, OptimizerKind::Muon] {
        let hyperparameters = Hyperparameters {
            steps: 1,
            optimizer,
            weight_decay: 0.5,
            schedule: Schedule::cosine(0.1, 0, 1.0),
            max_gradient_norm: 1.0,
            compute: ComputeType::F32,
            memory: Memory::default(),
            guard: None,
        };
        // Without a loss, decay alone changes anything.
        let batch = Batch { loss_weights: vec![0.0; 32], ..Batch::plain(case.ids()[..32].to_vec(), 16) };
        let trainer = Trainer::new(model(), case.positions(), hyperparameters);
        let (trainer, _) = block_on(trainer.step(&batch)).unwrap();
        for (name, after) in named_weights(trainer.model()) {
            let is_matrix = !name.contains("norm") && !name.ends_with("bias");
            assert_eq!(after != before[&name], is_matrix, "{optimizer:?}: {name}");
        }
    }
}

/// Every tensor's numbers, by name.
fn named_weights(model: &Model) -> BTreeMap<String, Vec<u8>> {
    let bytes = block_on(model.to_safetensors()).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    file.tensors().into_iter().map(|(name, tensor)| (name, tensor.data().to_vec())).collect()
}

#[test]
fn decoders_that_are_computed_otherwise_are_refused_by_a_sentence() {
    let with = |name: &str, field: &str, value: Value| {
        let mut fields: Value = serde_json::from_str(&case(name).config().to_json()).unwrap();
        fields[field] = value;
        Config::from_json(&fields.to_string()).unwrap_err()
    };
    for (name, field, value, words) in [
        ("qwen3", "num_experts", 8.into(), "a mixture of experts"),
        ("mistral", "num_local_experts", 8.into(), "a mixture of experts"),
        ("gemma3", "vision_config", json!({}), "more than text"),
        ("gemma3", "final_logit_softcapping", 30.0.into(), "capped softly"),
        ("gemma3", "use_bidirectional_attention", true.into(), "tokens see those behind them"),
        ("gemma3", "hidden_activation", "silu".into(), "only gelu_pytorch_tanh"),
        ("gemma3", "query_pre_attn_scalar", 0.into(), "must be a number above 0"),
        ("olmo2", "hidden_act", "gelu".into(), "only silu"),
        ("granite", "residual_multiplier", "much".into(), "must be a number above 0"),
        ("seed_oss", "attention_out_bias", true.into(), "a bias of attention's output is not supported"),
        ("seed_oss", "mlp_bias", true.into(), "models with biases are not supported"),
        ("mistral", "sliding_window", (-1).into(), "not a number of tokens"),
        ("qwen3", "partial_rotary_factor", 0.5.into(), "not supported in this family"),
        ("phi3-partial", "partial_rotary_factor", 0.1.into(), "1 of 16 components of a head rotate"),
    ] {
        let said = with(name, field, value).to_string();
        assert!(said.contains(words), "{said} does not say {words}");
    }
    let unknown = with("rope", "model_type", "gpt2".into());
    assert!(matches!(&unknown, Error::UnknownModelType { .. }) && unknown.to_string().contains("gemma3_text"));
}
