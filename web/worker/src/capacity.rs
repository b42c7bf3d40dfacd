//! How large a model this device holds.

use drope_core::config::Config;
use drope_core::model::{NumberType, NumberTypes, WeightType};

use super::run::Interruption;

/// Memory that wasm can address, less what texts, caches and the program take.
const WASM: f64 = 3.6e9;

/// What the device holds.
#[derive(Default)]
pub struct Capacity {
    /// Largest buffer of the GPU in bytes; none: the CPU computes.
    pub largest_buffer: Option<f64>,
    /// Whether keys and values of all models stay in 32 bits, since the GPU gives other answers with 16.
    pub keeps_wide_cache: bool,
}

/// Number of weights above which a page keeps them in few bits, and keys and values in 16; GPUs without such numbers keep these in 32.
const MOST_WIDE: u64 = 64_000_000;
/// Bytes of a number that is kept in 8 bits, where 32 numbers share a scale: of 16 bits on the CPU, of 32 on a GPU.
const BYTES_IN_8_BITS: [f64; 2] = [1.0625, 1.125];

fn is_large(config: &Config) -> bool {
    config.num_parameters() > MOST_WIDE
}

impl Capacity {
    /// How the numbers of a model are kept: those of a large model in fewer bits. `gguf`: bytes of the file that has them.
    pub fn number_types(&self, config: &Config, gguf: Option<f64>) -> NumberTypes {
        let weights = self.weights(config, gguf).0;
        let cache = if is_large(config) && !self.keeps_wide_cache { NumberType::F16 } else { NumberType::F32 };
        NumberTypes { weights, cache, ..NumberTypes::default() }
    }

    /// How weights are kept, and bytes of one.
    fn weights(&self, config: &Config, gguf: Option<f64>) -> (WeightType, f64) {
        if !is_large(config) {
            return (WeightType::F32, 4.0);
        }
        let [on_the_cpu, on_a_gpu] = BYTES_IN_8_BITS;
        if self.largest_buffer.is_some() {
            return (WeightType::Q8, on_a_gpu);
        }
        // A file of 8 bits has some tensors of more.
        let stored = gguf.map(|bytes| bytes / config.num_parameters() as f64).filter(|&bytes| bytes < on_a_gpu);
        stored.map_or((WeightType::Q8, on_the_cpu), |bytes| (WeightType::Stored, bytes))
    }

    /// Whether a model fits.
    pub fn check(&self, config: &Config, gguf: Option<f64>) -> Result<(), Interruption> {
        let refuse = |reason: String| Err(Interruption::Failed(reason));
        let (_, number) = self.weights(config, gguf);
        let bytes = number * config.num_parameters() as f64;
        let embedding = number * (config.vocab_size * config.hidden_size) as f64;
        match self.largest_buffer {
            Some(most) if embedding > most => refuse(format!(
                "The model's embedding needs a buffer of {:.0} MB and this GPU has at most {:.0} MB; choose a smaller model, or \
                 the CPU (backend=cpu in the address).",
                embedding / 1e6,
                most / 1e6
            )),
            None if bytes > WASM => refuse(format!(
                "The model needs {:.1} GB in {:.0} bits and a page on the CPU has {:.1} GB; choose a smaller one.",
                bytes / 1e9,
                8.0 * number,
                WASM / 1e9
            )),
            _ => Ok(()),
        }
    }
}
