//! Choosing where tensors live.

use anyhow::{Result, bail, ensure};
use burn::tensor::Device;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
use burn::tensor::DeviceType;
use clap::ValueEnum;
use drope_core::model::NumberTypes;

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
    #[value(aliases = ["vulkan", "metal"])]
    Wgpu,
}

/// A device that is open, and what it can do.
pub struct OpenDevice {
    /// For tensors.
    pub device: Device,
    /// Whether work is shared among threads by the caller.
    pub is_cpu: bool,
}

impl OpenDevice {
    /// Returns `types` if the device can keep the numbers of a model in them.
    ///
    /// # Errors
    /// If it cannot.
    pub fn checked(&self, types: NumberTypes) -> Result<NumberTypes> {
        let NumberTypes { cache, compute, .. } = types;
        if !compute.is_native_to(&self.device) {
            bail!("this device has no instructions for {}; leave out --compute", compute.name());
        }
        if !self.is_cpu && cache.dtype_on(&self.device).is_none() {
            bail!("this GPU's cache cannot be kept as {}; use --device cpu, or --cache f32", cache.name());
        }
        Ok(types)
    }
}

/// Opens the device. Commands that open it several times get the same one.
///
/// # Errors
/// If it is not built in, or the machine has none.
pub fn open(choice: DeviceChoice) -> Result<OpenDevice> {
    let cuda = || cuda().map(|device| OpenDevice { device, is_cpu: false });
    let wgpu = || wgpu().map(|device| OpenDevice { device, is_cpu: false });
    let cpu = OpenDevice { device: Device::flex(), is_cpu: true };
    match choice {
        DeviceChoice::Cpu => Ok(cpu),
        DeviceChoice::Cuda => cuda(),
        DeviceChoice::Wgpu => wgpu(),
        DeviceChoice::Auto => Ok(cuda().ok().or_else(|| wgpu_has_card().then(wgpu)?.ok()).unwrap_or(cpu)),
    }
}

/// Opens several cards, the first of which is what [`open`] opens.
///
/// # Errors
/// If there are fewer, or the devices are not CUDA's: the CPU's threads share a batch already.
pub fn open_several(choice: DeviceChoice, count: usize) -> Result<Vec<Device>> {
    ensure!(choice == DeviceChoice::Cuda, "--gpus above 1 needs --device cuda; on the CPU, --threads share a batch");
    cards(count)
}

fn cuda() -> Result<Device> {
    Ok(cards(1)?.remove(0))
}

#[cfg(feature = "cuda")]
fn cards(count: usize) -> Result<Vec<Device>> {
    use std::sync::Once;

    static DETECTED: Once = Once::new();
    drope_core::model::keep_compiled_kernels();
    // Burn panics when it opens a card that is not there.
    let found = Device::enumerate(DeviceType::Cuda).into_vec().len();
    ensure!(found > 0, "there is no NVIDIA card or driver on this machine; use --device cpu");
    ensure!(count <= found, "this machine has {found} NVIDIA cards; ask for no more with --gpus");
    let cards: Vec<Device> = (0..count).map(Device::cuda).collect();
    DETECTED.call_once(|| {
        pollster::block_on(drope_core::model::detect_subgroups(&cards[0]));
    });
    Ok(cards)
}

#[cfg(not(feature = "cuda"))]
fn cards(_: usize) -> Result<Vec<Device>> {
    bail!("this `core` was built without CUDA; build it with `--features cuda`, or use --device cpu")
}

#[cfg(feature = "wgpu")]
fn wgpu() -> Result<Device> {
    use std::sync::OnceLock;

    use drope_core::model::{LAUNCHES_AT_ONCE, detect_subgroups};
    // Burn refuses to set wgpu up twice in a process.
    static OPENED: OnceLock<Result<Device, String>> = OnceLock::new();
    let open = || {
        let device = Device::wgpu_options().tasks_max(LAUNCHES_AT_ONCE).init().map_err(|error| error.to_string())?;
        pollster::block_on(detect_subgroups(&device));
        Ok(device)
    };
    let opened = OPENED.get_or_init(open);
    opened.clone().map_err(|reason| {
        anyhow::anyhow!("there is no GPU that wgpu can use on this machine ({reason}); use --device cpu")
    })
}

#[cfg(not(feature = "wgpu"))]
fn wgpu() -> Result<Device> {
    bail!("this `core` was built without wgpu; build it with `--features wgpu`, or use --device cpu")
}

/// Whether wgpu finds a GPU and not only Vulkan in software, which is slower than the CPU backend.
#[cfg(feature = "wgpu")]
fn wgpu_has_card() -> bool {
    let software = Device::wgpu(burn::tensor::DeviceKind::Cpu);
    Device::enumerate(DeviceType::Wgpu).into_vec().iter().any(|device| *device != software)
}

#[cfg(not(feature = "wgpu"))]
fn wgpu_has_card() -> bool {
    false
}
