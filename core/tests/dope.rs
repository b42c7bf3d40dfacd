//! DoPE: which heads are chosen, and what noise does.
#![cfg(not(target_arch = "wasm32"))]

mod parity;

use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::config::dope::{Criterion, Noise, Order, Parts, Removal, ScoredVectors, Stage};
use drope_core::dope::truncated_entropies;
use drope_core::model::Model;
use drope_core::positions::{Method, Positions};
use parity::{Case, case, ids_tensor, largest_difference};

fn dope_case() -> &'static Case {
    case("dope-all")
}

/// tests/fixtures.py computes them with PyTorch's eigenvalues in float64.
#[test]
fn entropies_are_those_of_pytorch() {
    let (config, model) = (dope_case().config(), dope_case().model(&Device::flex()));
    let expected = dope_case().scores();
    let criteria = [
        (ScoredVectors::Query, Stage::PostNtk, Some(4)),
        (ScoredVectors::Key, Stage::PreNtk, None),
        (ScoredVectors::Query, Stage::PostRope, Some(1)),
        (ScoredVectors::Key, Stage::PostNtk, Some(8)),
    ];
    let heads = config.num_hidden_layers * config.num_attention_heads;
    for ((from, stage, rank), expected) in criteria.into_iter().zip(expected.chunks(heads)) {
        let criterion = Criterion { from, stage, rank, order: Order::Ascending };
        let found =
            pollster::block_on(truncated_entropies(&model, &config, &criterion, 4.0, &[dope_case().ids()])).unwrap();
        assert_eq!(found.len(), heads);
        for (head, expected) in found.iter().zip(expected) {
            assert!((head.entropy - expected).abs() < 1e-4, "{criterion:?}: {head:?}, expected {expected}");
        }
    }
}

fn logits(model: &Model, config: &Config, positions: &Positions, ids: &[u32], parts: &[usize]) -> Vec<f32> {
    let device = Device::flex();
    let mut cache = model.cache(config, positions, 1);
    let mut found = Vec::new();
    let mut at = 0;
    for &part in parts {
        let part_ids = ids_tensor(&ids[at..at + part], &device);
        found.extend(model.forward(part_ids, positions, Some(&mut cache)).into_data().iter::<f32>());
        at += part;
    }
    found
}

#[test]
fn noise_is_the_same_however_a_text_is_read() {
    let (config, model, ids) = (dope_case().config(), dope_case().model(&Device::flex()), dope_case().ids());
    let positions = Method::DopeGaussian.positions(&config, 4.0).unwrap();
    let whole = logits(&model, &config, &positions, &ids, &[40]);
    let parts = logits(&model, &config, &positions, &ids, &[7, 20, 1, 1, 11]);
    assert!(largest_difference(&whole, &parts) < 1e-4);
    let all = Method::DopeAll.positions(&config, 4.0).unwrap();
    assert!(largest_difference(&whole, &logits(&model, &config, &all, &ids, &[40])) > 0.01, "the noise is there");
    let mut other = config.clone();
    other.dope_heads.as_mut().unwrap().seed = 43;
    let positions = Method::DopeGaussian.positions(&other, 4.0).unwrap();
    assert!(
        largest_difference(&whole, &logits(&model, &config, &positions, &ids, &[40])) > 0.01,
        "another seed, other noise"
    );
}

#[test]
fn both_readings_of_the_paper_differ() {
    let (config, model, ids) = (dope_case().config(), dope_case().model(&Device::flex()), dope_case().ids());
    let read = |method: Method, change: &dyn Fn(&mut Config)| {
        let mut config = config.clone();
        change(&mut config);
        logits(&model, &config, &method.positions(&config, 4.0).unwrap(), &ids, &[40])
    };
    type Change = fn(&mut Config);
    let changes: [(Method, Change); 3] = [
        (Method::DopeAll, |config| config.dope_heads.as_mut().unwrap().removal = Removal::Zero),
        (Method::DopeParts, |config| config.dope_heads.as_mut().unwrap().parts = Parts::High),
        (Method::DopeGaussian, |config| {
            let dope = config.dope_heads.as_mut().unwrap();
            dope.heads[0].query_std = 3.0;
        }),
    ];
    for (method, change) in changes {
        assert!(largest_difference(&read(method, &|_| ()), &read(method, &change)) > 0.01, "{}", method.name());
    }
    // Where the variance is 1 anyway, unit noise is matched noise.
    let unit: Change = |config| config.dope_heads.as_mut().unwrap().noise = Noise::Unit;
    assert!(largest_difference(&read(Method::DopeGaussian, &|_| ()), &read(Method::DopeGaussian, &unit)) < 1e-6);
    let none: Change = |config| config.dope_heads.as_mut().unwrap().heads.clear();
    assert!(
        largest_difference(&read(Method::DopeAll, &none), &read(Method::Ntk, &|_| ())) < 1e-6,
        "no head, plain NTK"
    );
}

#[test]
fn heads_that_a_model_lacks_are_refused() {
    let mut config = dope_case().config();
    config.dope_heads.as_mut().unwrap().heads[0].layer = 9;
    assert!(config.check().unwrap_err().to_string().contains("layer 9"));
    config.dope_heads = None;
    assert!(Method::DopeAll.positions(&config, 4.0).unwrap_err().to_string().contains("core dope select"));
}
