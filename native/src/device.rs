//! Choosing where tensors live.

use anyhow::{Result, bail};
use burn::tensor::Device;
use clap::ValueEnum;

/// `--device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// CUDA if built in and there is a card, else wgpu if built in and there is a GPU, else the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// An NVIDIA card.
    Cuda,
    /// Vulkan, Metal or DirectX.
    Wgpu,
}

/// A device, and whether it is the CPU.
pub struct Chosen {
    /// For tensors.
    pub device: Device,
    /// Whether work is shared among threads by the caller.
    pub is_cpu: bool,
}

/// Opens the device.
///
/// # Errors
/// If it is not built in, or the machine has none.
pub fn open(choice: DeviceChoice) -> Result<Chosen> {
    let cpu = || Chosen { device: Device::flex(), is_cpu: true };
    match choice {
        DeviceChoice::Cpu => Ok(cpu()),
        DeviceChoice::Cuda => gpu(cuda()),
        DeviceChoice::Wgpu => gpu(wgpu()),
        DeviceChoice::Auto => Ok(gpu(cuda()).or_else(|_| gpu(wgpu())).unwrap_or_else(|_| cpu())),
    }
}

fn gpu(device: Result<Device>) -> Result<Chosen> {
    device.map(|device| Chosen { device, is_cpu: false })
}

#[cfg(feature = "cuda")]
fn cuda() -> Result<Device> {
    if Device::enumerate(burn::tensor::DeviceType::Cuda).is_empty() {
        bail!("there is no NVIDIA card or driver on this machine; use --device cpu");
    }
    Ok(Device::cuda(0))
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Result<Device> {
    bail!("this `core` was built without CUDA; build it with `--features cuda`, or use --device cpu")
}

#[cfg(feature = "wgpu")]
fn wgpu() -> Result<Device> {
    use anyhow::Context;
    Device::wgpu_options().init().context("there is no GPU that wgpu can use on this machine; use --device cpu")
}

#[cfg(not(feature = "wgpu"))]
fn wgpu() -> Result<Device> {
    bail!("this `core` was built without wgpu; build it with `--features wgpu`, or use --device cpu")
}
