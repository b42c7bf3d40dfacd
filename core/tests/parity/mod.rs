//! Checkpoints and logits that transformers made (tests/fixtures.py), compared with ours. Used natively and in the browser.
#![allow(dead_code, reason = "each test program uses a part")]

use std::sync::LazyLock;

use burn::tensor::{Device, Int, Tensor};
use drope_core::config::Config;
use drope_core::generate::{Event, Flow, Options, generate};
use drope_core::model::{Model, NumberTypes, SafetensorsFiles, token_ids};
use drope_core::positions::{Method, Positions};
use include_dir::{Dir, File, include_dir};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

/// A fixture: its folder's name and files.
pub struct Case {
    pub name: &'static str,
    config: &'static str,
    weights: &'static [u8],
    expected: &'static [u8],
}

/// Every folder under tests/fixtures that holds a model, in the order of names.
pub static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let bytes =
        |folder: &'static Dir<'static>, file: &str| folder.get_file(folder.path().join(file)).map(File::contents);
    let case = |folder: &'static Dir<'static>| {
        Some(Case {
            name: folder.path().to_str()?,
            config: std::str::from_utf8(bytes(folder, "config.json")?).ok()?,
            weights: bytes(folder, "model.safetensors")?,
            expected: bytes(folder, "expected.safetensors")?,
        })
    };
    FIXTURES.dirs().filter_map(case).collect()
});

static FIXTURES: Dir = include_dir!("$DROPE_ROOT/tests/fixtures");

/// The case of that name.
pub fn case(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("there is no fixture {name}"))
}

impl Case {
    /// Bytes of its weights.
    pub fn weights(&self) -> &'static [u8] {
        self.weights
    }

    pub fn config_json(&self) -> &'static str {
        self.config
    }

    pub fn config(&self) -> Config {
        Config::from_json(self.config).unwrap()
    }

    pub fn model(&self, device: &Device) -> Model {
        Model::from_safetensors(&self.config(), self.weights, device).unwrap()
    }

    /// Its numbers kept as `types` says.
    pub fn model_as(&self, types: NumberTypes, device: &Device) -> Model {
        self.model_of(self.weights, types, device)
    }

    fn model_of(&self, weights: &[u8], types: NumberTypes, device: &Device) -> Model {
        let weights = SafetensorsFiles::from_bytes(weights).unwrap();
        Model::load_as(&self.config(), &weights, types, device).unwrap().0
    }

    /// Its weights, where matrices whose names hold one of `names` have 16 bits (bf16).
    pub fn mixed_weights(&self, names: &[&str]) -> Vec<u8> {
        let file = SafeTensors::deserialize(self.weights).unwrap();
        let upper_halves = |bytes: &[u8]| bytes.chunks_exact(4).flat_map(|number| [number[2], number[3]]).collect();
        let tensors = file.tensors().into_iter().map(|(name, tensor)| {
            let is_narrow = name.ends_with(".weight") && names.iter().any(|part| name.contains(part));
            let (kind, bytes): (Dtype, Vec<u8>) = if is_narrow {
                (Dtype::BF16, upper_halves(tensor.data()))
            } else {
                (tensor.dtype(), tensor.data().to_vec())
            };
            (name, kind, tensor.shape().to_vec(), bytes)
        });
        let tensors: Vec<_> = tensors.collect();
        let views = tensors
            .iter()
            .map(|(name, kind, shape, bytes)| (name.as_str(), TensorView::new(*kind, shape.clone(), bytes).unwrap()));
        safetensors::serialize(views, None).unwrap()
    }

    pub fn method(&self) -> Method {
        self.metadata("method").parse().unwrap()
    }

    pub fn positions(&self) -> Positions {
        self.method().positions(&self.config(), self.metadata("factor").parse().unwrap()).unwrap()
    }

    fn metadata(&self, name: &str) -> String {
        let (_, metadata) = SafeTensors::read_metadata(self.expected).unwrap();
        metadata.metadata().as_ref().unwrap()[name].clone()
    }

    pub fn ids(&self) -> Vec<u32> {
        let file = SafeTensors::deserialize(self.expected).unwrap();
        let bytes = file.tensor("ids").unwrap().data();
        bytes.chunks_exact(8).map(|id| i64::from_le_bytes(id.try_into().unwrap()) as u32).collect()
    }

    /// How often each key counts, and the logits then; of `rope-multiplicity` alone.
    pub fn multiplicity(&self) -> (Vec<f32>, Vec<f32>) {
        (self.floats("multiplicity"), self.floats("multiplicity_logits"))
    }

    fn floats(&self, name: &str) -> Vec<f32> {
        let file = SafeTensors::deserialize(self.expected).unwrap();
        let bytes = file.tensor(name).unwrap().data();
        bytes.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
    }

    /// DoPE's scores, a row a criterion.
    pub fn scores(&self) -> Vec<f64> {
        let file = SafeTensors::deserialize(self.expected).unwrap();
        let bytes = file.tensor("scores").unwrap().data();
        bytes.chunks_exact(8).map(|value| f64::from_le_bytes(value.try_into().unwrap())).collect()
    }

    fn expected(&self) -> Vec<f32> {
        self.floats("logits")
    }

    /// Largest difference from transformers' logits.
    pub async fn difference(&self, device: &Device) -> f32 {
        let model = self.model(device);
        let logits = model.forward(ids_tensor(&self.ids(), device), &self.positions(), None);
        let found: Vec<f32> = logits.into_data_async().await.unwrap().iter::<f32>().collect();
        largest_difference(&found, &self.expected())
    }

    /// Largest difference between reading all at once and reading in parts through a cache; the first part has
    /// `first` tokens, the others one.
    pub async fn cache_difference(&self, device: &Device, first: usize) -> f32 {
        let (model, positions, ids) = (self.model(device), self.positions(), self.ids());
        // Room for fewer tokens than come: growing must not change anything.
        let mut cache = model.cache(&self.config(), &positions, 1);
        cache.expect_prompt(ids.len());
        let mut found: Vec<f32> = Vec::new();
        let (start, rest) = ids.split_at(first);
        for part in std::iter::once(start).chain(rest.chunks(1)) {
            let logits = model.forward(ids_tensor(part, device), &positions, Some(&mut cache));
            found.extend(logits.into_data_async().await.unwrap().iter::<f32>());
        }
        let whole = model.forward(ids_tensor(&ids, device), &positions, None).into_data_async().await.unwrap();
        largest_difference(&found, &whole.iter::<f32>().collect::<Vec<_>>())
    }

    /// Largest difference between logits on the device and on the CPU with numbers kept as `types` says: of the text read at once but for
    /// its last token, and of that token.
    pub async fn packed_difference(&self, types: NumberTypes, device: &Device) -> f32 {
        self.packed_difference_of(self.weights, types, device).await
    }

    /// The same with other weights.
    pub async fn packed_difference_of(&self, weights: &[u8], types: NumberTypes, device: &Device) -> f32 {
        let (config, positions, ids) = (self.config(), self.positions(), self.ids());
        let (start, last) = ids.split_at(ids.len() - 1);
        let logits = async |device: &Device| {
            let model = self.model_of(weights, types, device);
            let mut cache = model.cache(&config, &positions, ids.len());
            let mut found: Vec<f32> = Vec::new();
            for part in [start, last] {
                let logits = model.forward(ids_tensor(part, device), &positions, Some(&mut cache));
                found.extend(logits.into_data_async().await.unwrap().iter::<f32>());
            }
            found
        };
        largest_difference(&logits(device).await, &logits(&Device::flex()).await)
    }

    /// Greedy answer to the fixture's ids.
    pub async fn greedy(&self, device: &Device, tokens: usize) -> Vec<u32> {
        self.answer(&self.positions(), device, tokens).await.unwrap()
    }

    /// The same with logits that overflow.
    pub async fn absurd(&self, device: &Device) -> drope_core::Result<Vec<u32>> {
        self.answer(&self.positions().with_logit_scale(1e308), device, 2).await
    }

    async fn answer(&self, positions: &Positions, device: &Device, tokens: usize) -> drope_core::Result<Vec<u32>> {
        let options = Options { max_new_tokens: tokens, context: 1000, ..Options::default() };
        let (model, config) = (self.model(device), self.config());
        generate(&model, &config, positions, &self.ids(), &options, async |_: Event| Flow::Continue).await
    }
}

/// `[1, seq]`
pub fn ids_tensor(ids: &[u32], device: &Device) -> Tensor<2, Int> {
    token_ids(ids, [1, ids.len()], device)
}

/// Largest difference of two lists of equal length; infinite where either holds NaN, which must not pass as small.
pub fn largest_difference(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    differences.map(|difference| if difference.is_nan() { f32::INFINITY } else { difference }).fold(0.0, f32::max)
}
