//! Weights.

use burn::tensor::{DType, Device, TensorData};
use drope_core::config::{Config, ProjectionNorm};
use drope_core::error::Error;
use drope_core::model::{Model, SafetensorsFiles, ShardIndex};
use pollster::block_on;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use super::parity::case;
use super::{config_with, fixture};

#[test]
fn weights_survive_a_round_trip() {
    let case = case("rope-qk-norm");
    let device = Device::flex();
    let model = case.model(&device);
    let bytes = block_on(model.to_safetensors()).unwrap();
    let again = Model::from_safetensors(&case.config(), &bytes, &device).unwrap();
    assert_eq!(bytes, block_on(again.to_safetensors()).unwrap());
}

#[test]
fn weights_of_16_bits_are_read_as_their_nearest_numbers() {
    let case = case("rope-qk-norm");
    let device = Device::flex();
    let bytes = block_on(case.model(&device).to_safetensors()).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    for (from, to, precision) in [(Dtype::F16, DType::F16, 1e-3), (Dtype::BF16, DType::BF16, 1e-2)] {
        let halves: Vec<_> = file
            .tensors()
            .into_iter()
            .map(|(name, tensor)| {
                let data = TensorData::from_bytes_vec(tensor.data().to_vec(), tensor.shape().to_vec(), DType::F32);
                (name, tensor.shape().to_vec(), data.convert_dtype(to).as_bytes().to_vec())
            })
            .collect();
        let views =
            halves.iter().map(|(name, shape, data)| (name, TensorView::new(from, shape.clone(), data).unwrap()));
        let half = safetensors::serialize(views, None).unwrap();
        assert!(half.len() < bytes.len() * 6 / 10);
        let again =
            block_on(Model::from_safetensors(&case.config(), &half, &device).unwrap().to_safetensors()).unwrap();
        let again = SafeTensors::deserialize(&again).unwrap();
        for (name, tensor) in file.tensors() {
            let numbers =
                |bytes: &[u8]| -> Vec<f32> { bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect() };
            let (exact, near) = (numbers(tensor.data()), numbers(again.tensor(&name).unwrap().data()));
            assert!(exact.iter().zip(&near).all(|(a, b)| (a - b).abs() <= precision * a.abs() + 1e-7), "{name}");
        }
    }
}

#[test]
fn damaged_weights_are_named() {
    let device = Device::flex();
    let config = Config::from_json(&String::from_utf8(fixture("config.json")).unwrap()).unwrap();
    let good = fixture("model.safetensors");
    let load = |bytes: &[u8]| Model::from_safetensors(&config, bytes, &device).unwrap_err();
    assert!(matches!(load(&good[..good.len() / 2]), Error::Safetensors(_)), "truncated");
    let mut oversized = good.clone();
    oversized[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(matches!(load(&oversized), Error::Safetensors(_)), "oversized header");
    let mut nan = good.clone();
    let end = nan.len();
    nan[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(matches!(load(&nan), Error::NotFinite(_)), "NaN");
    let wider = config_with("\"hidden_size\": 32", "\"hidden_size\": 64").unwrap();
    assert!(matches!(Model::from_safetensors(&wider, &good, &device), Err(Error::Shape { .. })));
    let deeper = config_with("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3").unwrap();
    let error = Model::from_safetensors(&deeper, &good, &device).unwrap_err();
    assert!(matches!(&error, Error::MissingTensor(name) if name.starts_with("model.layers.2.")), "{error}");
}

/// Norms and biases that the config does not mention would be left out of the computation.
#[test]
fn tensors_that_the_config_does_not_call_for_are_refused_where_they_matter() {
    let with_norms = case("rope-qk-norm");
    let bytes = block_on(with_norms.model(&Device::flex()).to_safetensors()).unwrap();
    let mut plain = with_norms.config();
    plain.architecture.query_norm = ProjectionNorm::None;
    plain.architecture.key_norm = ProjectionNorm::None;
    let error = Model::from_safetensors(&plain, &bytes, &Device::flex()).unwrap_err();
    assert!(matches!(&error, Error::SurplusTensor(name) if name.ends_with("_norm.weight")), "{error}");

    let good = fixture("model.safetensors");
    let file = SafeTensors::deserialize(&good).unwrap();
    let with = |name: &str| {
        let mut tensors = file.tensors();
        tensors.push((name.to_owned(), TensorView::new(Dtype::F32, vec![1], &[0; 4]).unwrap()));
        safetensors::serialize(tensors, None).unwrap()
    };
    let load = |name: &str| {
        let bytes = with(name);
        let source = SafetensorsFiles::from_bytes(&bytes).unwrap();
        Model::load(&case("rope").config(), &source, &Device::flex()).map(|(_, unused)| unused)
    };
    assert!(matches!(load("model.layers.0.self_attn.q_proj.bias"), Err(Error::SurplusTensor(_))));
    assert!(matches!(load("model.layers.2.mlp.up_proj.weight"), Err(Error::SurplusTensor(_))));
    for harmless in ["model.layers.0.self_attn.rotary_emb.inv_freq", "value_head.weight"] {
        assert_eq!(load(harmless).unwrap(), [harmless]);
    }
}

/// A folder in several files, and what may be wrong with it.
#[test]
fn weights_in_several_files_are_one_model() {
    let (case, device) = (case("rope"), Device::flex());
    let whole = fixture("model.safetensors");
    let file = SafeTensors::deserialize(&whole).unwrap();
    let mut tensors = file.tensors();
    tensors.sort_by(|(a, _), (b, _)| a.cmp(b));
    let shards: Vec<Vec<u8>> =
        tensors.chunks(7).map(|part| safetensors::serialize(part.to_vec(), None).unwrap()).collect();
    let named = |order: &[usize]| -> Vec<(String, &[u8])> {
        order.iter().map(|&shard| (format!("{shard}.safetensors"), &shards[shard][..])).collect()
    };
    let map =
        tensors.iter().enumerate().map(|(at, (name, _))| (name.clone(), format!("{}.safetensors", at / 7).into()));
    let map: serde_json::Map<String, serde_json::Value> = map.collect();
    let index = |map: &serde_json::Map<_, _>| {
        ShardIndex::from_json(serde_json::json!({ "weight_map": map }).to_string().as_bytes())
    };
    let order: Vec<usize> = (0..shards.len()).rev().collect();
    assert!(order.len() > 2);
    let files = SafetensorsFiles::new(named(&order)).unwrap();
    index(&map).unwrap().check(&files).unwrap();
    let (model, unused) = Model::load(&case.config(), &files, &device).unwrap();
    assert!(unused.is_empty());
    let bytes = |model: &Model| block_on(model.to_safetensors()).unwrap();
    assert_eq!(bytes(&model), bytes(&case.model(&device)));

    let refused = |files: Vec<(String, &[u8])>| SafetensorsFiles::new(files).err().unwrap().to_string();
    assert!(refused(named(&[0, 1, 0])).contains("both hold"));
    let cut = |end: usize| vec![("cut".to_owned(), &shards[0][..end])];
    for end in [0, 7, 20, shards[0].len() - 1] {
        assert!(refused(cut(end)).contains("cut: "), "{end}");
    }
    let missing = Model::load(&case.config(), &SafetensorsFiles::new(named(&order[1..])).unwrap(), &device);
    assert!(matches!(missing, Err(Error::MissingTensor(_))));
    let elsewhere = |to: &str| {
        let mut map = map.clone();
        map.insert(tensors[0].0.clone(), to.into());
        index(&map)
    };
    assert!(elsewhere("2.safetensors").unwrap().check(&files).unwrap_err().to_string().contains("which it does not"));
    for outside in ["../0.safetensors", "/etc/passwd", "", ".hidden"] {
        assert!(elsewhere(outside).unwrap_err().to_string().contains("not a file in its folder"), "{outside}");
    }
    assert!(ShardIndex::from_json(b"{}").is_err() && ShardIndex::from_json(b"{\"weight_map\": {}}").is_err());
}

#[test]
fn parameters_are_counted_as_they_are_stored() {
    for name in ["rope", "rope-mha-tied"] {
        let case = case(name);
        let bytes = block_on(case.model(&Device::flex()).to_safetensors()).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let stored: usize = file.tensors().iter().map(|(_, view)| view.data().len() / 4).sum();
        assert_eq!(case.config().num_parameters(), stored as u64, "{name}");
    }
}
