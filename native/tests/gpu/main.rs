//! The same numbers on a GPU as on the CPU and in transformers; `cargo xtask gpu` runs this on Vulkan in software, and on an
//! NVIDIA card where there is one.
#![cfg(any(feature = "cuda", feature = "wgpu"))]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../src/device.rs"]
#[allow(dead_code, reason = "the tool alone opens several devices")]
mod device;
#[path = "../../../core/tests/parity/mod.rs"]
mod parity;

mod logits;
mod subgroups;
mod tool;
mod training;
mod values;

use device::{DeviceChoice, OpenDevice};

/// Largest difference of logits, which are around 1, and of losses relative to the first loss. GPUs add the terms of a
/// product in another order, and AdamW divides each gradient by its own size, so that rounding can turn a weight's
/// first step around. Vulkan in software differs by 1.4e-5 and 2e-6; cards may round the factors of products to TF32.
const TOLERANCE: f32 = if cfg!(feature = "cuda") { 1e-3 } else { 1e-4 };

/// CUDA where it is built in, unless wgpu is too and is shown a driver.
fn choice() -> DeviceChoice {
    let takes_vulkan = cfg!(feature = "wgpu") && std::env::var_os("VK_DRIVER_FILES").is_some();
    if cfg!(feature = "cuda") && !takes_vulkan { DeviceChoice::Cuda } else { DeviceChoice::Wgpu }
}

/// The GPU; without an NVIDIA card `None`, and a line about what could not be run. Vulkan in software always exists.
fn gpu(what: &str) -> Option<OpenDevice> {
    match device::open(choice()) {
        Ok(chosen) => {
            assert!(!chosen.is_cpu);
            Some(chosen)
        }
        Err(error) if choice() == DeviceChoice::Cuda => {
            println!("NOT RUN: {what}: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
