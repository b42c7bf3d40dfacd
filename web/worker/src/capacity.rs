//! How large a model this device holds.

use drope_core::config::Config;
use drope_core::model::WeightType;

use super::run::Interruption;

/// Memory that wasm can address, less what texts, caches and the program take.
const WASM: f64 = 3.6e9;

/// What the device holds.
#[derive(Default)]
pub struct Capacity {
    /// Largest buffer of the GPU in bytes; none: the CPU computes.
    pub largest_buffer: Option<f64>,
}

/// Numbers of a model above which a page on the CPU keeps them in 8 bits.
const MOST_WIDE: u64 = 64_000_000;

impl Capacity {
    /// How the weights of a model are kept.
    pub fn weights(&self, config: &Config) -> WeightType {
        let is_large = self.largest_buffer.is_none() && config.num_parameters() > MOST_WIDE;
        if is_large { WeightType::Q8 } else { WeightType::F32 }
    }

    /// Whether a model fits.
    pub fn check(&self, config: &Config) -> Result<(), Interruption> {
        let refuse = |reason: String| Err(Interruption::Failed(reason));
        // In 8 bits with a scale of 32 for each 32 numbers.
        let bytes = 1.125 * config.num_parameters() as f64;
        let embedding = 4.0 * (config.vocab_size * config.hidden_size) as f64;
        match self.largest_buffer {
            Some(most) if embedding > most => refuse(format!(
                "The model's embedding needs a buffer of {:.0} MB and this GPU has at most {:.0} MB; choose a smaller model, or \
                 the CPU (backend=cpu in the address).",
                embedding / 1e6,
                most / 1e6
            )),
            None if bytes > WASM => refuse(format!(
                "The model needs {:.1} GB in 8 bits and a page on the CPU has {:.1} GB; choose a smaller one.",
                bytes / 1e9,
                WASM / 1e9
            )),
            _ => Ok(()),
        }
    }
}
