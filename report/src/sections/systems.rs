//! The shipped models and how they are read, as tables name them.

use drope_core::positions::Method;

use crate::results::{System, system};

pub const ROPE: System = system("RoPE", "nano-rope", Method::Rope);
pub const CROPPED: System = system("cropped RoPE", "nano-rope", Method::Crop);
pub const PI: System = system("PI", "nano-rope", Method::Pi);
pub const NTK: System = system("NTK", "nano-rope", Method::Ntk);
pub const DYNAMIC_NTK: System = system("dynamic NTK", "nano-rope", Method::DynamicNtk);
pub const YARN: System = system("YaRN", "nano-rope", Method::Yarn);
pub const LLAMA_3: System = system("Llama 3", "nano-rope", Method::Llama3);
pub const LONGROPE2: System = system("LongRoPE2", "nano-longrope2", Method::LongRope);
pub const ALIBI: System = system("ALiBi", "nano-alibi", Method::Alibi);
pub const NOPE: System = system("NoPE", "nano-nope", Method::Nope);
pub const RNOPE_SWA: System = system("RNoPE-SWA", "nano-rnope-swa", Method::RnopeSwa);
pub const DROPE: System = system("DroPE (copies + SSMax)", "nano-drope", Method::Drope);
pub const PARTIAL_DROPE: System = system("partial DroPE (copies + SSMax)", "nano-p-drope", Method::PDrope);
