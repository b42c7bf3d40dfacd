//! Where models compute.

/// Where models can compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The CPU.
    Cpu,
    /// WebGPU.
    Webgpu,
}

/// Which backend the reader wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendChoice {
    /// The CPU, and WebGPU once it gave the CPU's answer and was not slower.
    Auto,
    /// WebGPU if it gives the CPU's answer, however slow.
    Webgpu,
    /// The CPU.
    Cpu,
}

/// The worker, from the page's first moment on.
#[derive(Clone, Debug, PartialEq)]
pub enum Engine {
    /// Its wasm is on its way.
    Loading,
    /// It opens its device: it compares WebGPU with the CPU.
    Opening,
    /// It computes.
    Open {
        /// Where.
        backend: Backend,
        /// Threads of the CPU.
        threads: usize,
        /// Why, as the end of a sentence.
        note: String,
    },
    /// It failed, and is started anew by the next run.
    Stopped,
}
