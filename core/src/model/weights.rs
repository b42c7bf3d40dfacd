//! Weights: random, from a safetensors file, and back into one.

use std::collections::BTreeSet;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{DType, Device, Tensor, TensorData};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};

use super::Model;
use super::safetensors_files::SafetensorsFiles;
use super::weight_source::{Unfused, WeightSource, WithNewNorms, check_unused};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::names::named;

named! {
    /// How weights are stored.
    StoredType: "type of weights" {
        /// 32 bits.
        F32 = "f32",
        /// 16 bits.
        F16 = "f16",
        /// The upper 16 bits of 32.
        Bf16 = "bf16",
    }
}

impl StoredType {
    /// Bytes of a number.
    pub const fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// PyTorch's name.
    pub const fn torch_name(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::F16 => "float16",
            Self::Bf16 => "bfloat16",
        }
    }
}

/// A tensor as Hugging Face's files have it.
pub(crate) type NameAndShape = (String, Vec<usize>);

impl Model {
    /// Weights for pretraining: norms at 1, matrices N(0, 1/√hidden), those back into the residual smaller by
    /// √(2·layers) as in GPT-2, the embedding N(0, 0.5).
    ///
    /// GPT-2's fixed 0.02 is right at a width of 768 or more. At 128 it costs a factor of several in tokens
    /// before heads that copy form.
    pub fn random(config: &Config, seed: u64, device: &Device) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let inside = 1.0 / (config.hidden_size as f64).sqrt();
        let residual = inside / (2.0 * config.num_hidden_layers as f64).sqrt();
        let source = |name: &str, shape: &[usize]| {
            let size: usize = shape.iter().product();
            if is_norm(name) {
                return Ok(Some(vec![1.0; size]));
            }
            if name.ends_with(".bias") {
                return Ok(Some(vec![0.0; size]));
            }
            let std = match name {
                _ if name.ends_with("embed_tokens.weight") => 0.5,
                _ if name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight") => residual,
                _ => inside,
            };
            let normal = Normal::new(0.0, std as f32).expect("the standard deviation is above 0");
            Ok(Some((0..size).map(|_| normal.sample(&mut rng)).collect()))
        };
        Self::zeros(config, device).fill(source).expect("random weights always have the right shape")
    }

    /// Loads weights from a source. Also returns the names of its tensors that the model does not need.
    ///
    /// # Errors
    /// If a tensor is missing, of another shape, of an integer type or not finite, or if an unused tensor would change
    /// what the model computes.
    pub fn load(config: &Config, source: &impl WeightSource, device: &Device) -> Result<(Self, Vec<String>)> {
        let source = &Unfused::new(config, source);
        Self::load_by(config, source, device, |name, shape| finite_f32(name, source.tensor(name, shape)?).map(Some))
    }

    /// As [`Model::load`], with the numbers that `read(name, shape)` returns for each tensor of the source. If it
    /// returns `None`, the parameter is not initialised and takes no memory.
    pub(crate) fn load_by(
        config: &Config,
        source: &impl WeightSource,
        device: &Device,
        mut read: impl FnMut(&str, &[usize]) -> Result<Option<Vec<f32>>>,
    ) -> Result<(Self, Vec<String>)> {
        let mut unused: BTreeSet<String> = source.names().into_iter().collect();
        let offset = config.architecture.norm_offset as f32;
        let model = Self::zeros(config, device).fill(|name, shape| {
            unused.remove(name);
            let mut values = read(name, shape)?;
            if is_norm(name) {
                values.iter_mut().flatten().for_each(|weight| *weight += offset);
            }
            Ok(values)
        })?;
        let unused = check_unused(unused.into_iter().collect(), config.tie_word_embeddings)?;
        Ok((model, unused))
    }

    /// Weights from the bytes of `model.safetensors`; F32, F16 or BF16.
    ///
    /// # Errors
    /// If the file is damaged, or as [`Model::load`].
    pub fn from_safetensors(config: &Config, bytes: &[u8], device: &Device) -> Result<Self> {
        Ok(Self::load(config, &SafetensorsFiles::from_bytes(bytes)?, device)?.0)
    }

    /// As [`Model::load`], but norms of queries and keys that the source lacks start at 1: a model that gets them on
    /// recalibration was trained without.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn load_with_new_norms(config: &Config, source: &impl WeightSource, device: &Device) -> Result<Self> {
        Ok(Self::load(config, &WithNewNorms(source), device)?.0)
    }

    /// The bytes of `model.safetensors`, in F32.
    ///
    /// # Errors
    /// If the device fails, or a weight is NaN or infinite: a broken model must not replace a good one.
    pub async fn to_safetensors(&self) -> Result<Vec<u8>> {
        self.to_safetensors_of(StoredType::F32).await
    }

    /// The bytes of `model.safetensors`, in another type.
    ///
    /// # Errors
    /// As [`Model::write_safetensors`].
    pub async fn to_safetensors_of(&self, stored_type: StoredType) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write_safetensors(stored_type, &mut bytes).await?;
        Ok(bytes)
    }

    /// Names and shapes of the tensors that a model has, and the names of those of the source that it does not need.
    ///
    /// # Errors
    /// If an unused tensor would change what the model computes.
    pub(crate) fn layout(config: &Config, source: &impl WeightSource) -> Result<(Vec<NameAndShape>, Vec<String>)> {
        let mut tensors = Vec::new();
        let source = &Unfused::new(config, source);
        let (_, unused) = Self::load_by(config, source, &Device::flex(), |name, shape| {
            tensors.push((name.to_owned(), shape.to_vec()));
            Ok(None)
        })?;
        Ok((tensors, unused))
    }

    /// Takes every weight from `source(name, shape)`, with name and shape as in Hugging Face's files. If it returns
    /// `None`, the parameter is not initialised and takes no memory.
    fn fill(self, source: impl FnMut(&str, &[usize]) -> Result<Option<Vec<f32>>>) -> Result<Self> {
        let mut mapper = Fill { source, path: Path::default(), filled: 0, error: None };
        let model = self.map(&mut mapper);
        mapper.error.map_or(Ok(model), Err)
    }
}

/// A tensor, or rows of it, widened to f32.
pub(crate) fn finite_f32(name: &str, data: TensorData) -> Result<Vec<f32>> {
    let values = data.convert_dtype(DType::F32).try_into_vec::<f32>();
    let values = values.map_err(|error| Error::Safetensors(error.to_string()))?;
    if !values.iter().all(|value| value.is_finite()) {
        return Err(Error::NotFinite(name.to_owned()));
    }
    Ok(values)
}

/// Whether a tensor is the weight of a norm.
pub(crate) fn is_norm(name: &str) -> bool {
    name.ends_with("norm.weight")
}

/// Where a visitor or mapper is in the module.
#[derive(Default)]
struct Path(Vec<String>);

impl Path {
    /// Hugging Face's name of the parameter here.
    fn name(&self) -> String {
        // Burn calls a norm's weight gamma.
        let parts = self.0.iter().map(String::as_str).filter(|part| !["linear", "embedding"].contains(part));
        let path = parts.collect::<Vec<_>>().join(".").replace(".gamma", ".weight");
        if path.starts_with("lm_head") { path } else { format!("model.{path}") }
    }

    /// Burn keeps a projection as [in, out], Hugging Face as [out, in].
    fn is_transposed(&self) -> bool {
        self.0.iter().any(|part| part.ends_with("_proj") || part == "lm_head")
    }
}

struct Fill<F> {
    source: F,
    path: Path,
    filled: u64,
    error: Option<Error>,
}

impl<F: FnMut(&str, &[usize]) -> Result<Option<Vec<f32>>>> ModuleMapper for Fill<F> {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.0.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.0.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if self.error.is_some() {
            return param;
        }
        let device = param.lazy_device();
        let mut shape = param.lazy_shape().to_vec();
        // Biases are rows.
        let transposed = D == 2 && self.path.is_transposed();
        if transposed {
            shape.reverse();
        }
        match (self.source)(&self.path.name(), &shape) {
            Ok(None) => param,
            Ok(Some(values)) => {
                let tensor = Tensor::<D>::from_data(TensorData::new(values, shape), (&device, DType::F32));
                // A copy in memory order, since every later product reads the weight.
                let tensor = if transposed { tensor.transpose().mul_scalar(1.0) } else { tensor };
                self.filled += 1;
                // Parameters are numbered in order, so that an optimizer's state fits the same model in another
                // process.
                let tensor = if device.is_autodiff() { tensor.require_grad() } else { tensor };
                Param::initialized(ParamId::from(self.filled), tensor)
            }
            Err(error) => {
                self.error = Some(error);
                param
            }
        }
    }
}

/// Collects the parameters of a model, by Hugging Face's names.
#[derive(Default)]
pub(super) struct Collect {
    path: Path,
    pub(super) tensors: Vec<(String, Collected)>,
}

pub(super) struct Collected {
    /// As in Hugging Face's files.
    pub(super) shape: Vec<usize>,
    /// The numbers in a row; a matrix may have to be transposed first, so that not all are made at once.
    pub(super) flat: Box<dyn FnOnce() -> Tensor<1>>,
}

impl ModuleVisitor for Collect {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.0.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.0.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        let transposed = D == 2 && self.path.is_transposed();
        let mut shape = tensor.dims().to_vec();
        if transposed {
            shape.reverse();
        }
        let size: usize = shape.iter().product();
        let flat = move || if transposed { tensor.transpose() } else { tensor }.reshape([size]);
        self.tensors.push((self.path.name(), Collected { shape, flat: Box::new(flat) }));
    }
}
