//! How large a model this device holds.

use drope_core::config::Config;

use super::run::Interruption;

/// Memory that wasm can address, less what texts, caches and the program take.
const WASM: f64 = 3.6e9;

/// What the device holds.
#[derive(Default)]
pub struct Capacity {
    /// Largest buffer of the GPU in bytes; none: the CPU computes.
    pub largest_buffer: Option<f64>,
}

impl Capacity {
    /// Whether a model fits.
    pub fn check(&self, config: &Config) -> Result<(), Interruption> {
        let refuse = |reason: String| Err(Interruption::Failed(reason));
        let bytes = 4.0 * config.num_parameters() as f64;
        let embedding = 4.0 * (config.vocab_size * config.hidden_size) as f64;
        match self.largest_buffer {
            Some(most) if embedding > most => refuse(format!(
                "The model's embedding needs a buffer of {:.0} MB and this GPU has at most {:.0} MB; choose a smaller model, or \
                 the CPU (backend=cpu in the address).",
                embedding / 1e6,
                most / 1e6
            )),
            None if bytes > WASM => refuse(format!(
                "The model needs {:.1} GB in 32 bits and a page on the CPU has {:.1} GB; choose a smaller one.",
                bytes / 1e9,
                WASM / 1e9
            )),
            _ => Ok(()),
        }
    }
}
