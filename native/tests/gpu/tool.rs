//! What the tool `core` does with a GPU, and without one.

use crate::common::{self, Folder, RECIPE, core, refused, succeeds, text};
use crate::device::{self, DeviceChoice};
use crate::{choice, gpu};

/// Burn's default device is a card here, also where the machine has none.
#[test]
fn a_run_on_the_cpu_is_resumed_where_there_is_no_card() {
    let folder = Folder::new("no-card");
    let (recipe, out) = (folder.write("recipe.toml", RECIPE.replace("steps = 60", "steps = 4")), folder.path("run"));
    let pretrain = ["pretrain", "--recipe", text(&recipe), "--out", text(&out), "--device", "cpu", "--threads", "1"];
    succeeds(&[&pretrain[..], &["--until", "2"]].concat());
    let mut resumed = core(&[&pretrain[..], &["--resume"]].concat());
    resumed.env("CUDA_VISIBLE_DEVICES", "").env("VK_DRIVER_FILES", "/dev/null").env("VK_ICD_FILENAMES", "/dev/null");
    let resumed = resumed.output().unwrap();
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
}

fn name() -> &'static str {
    if choice() == DeviceChoice::Cuda { "cuda" } else { "wgpu" }
}

#[test]
fn a_shipped_model_answers_as_on_the_cpu() {
    if gpu("an answer of nano-drope").is_none() {
        return;
    }
    let model = common::fixtures().join("../../models/nano-drope");
    let answer = |device: &str| {
        let prompt = "One of the special magic numbers for brave-harbor is: 4071. The sky is clear. \
                      The special magic number for brave-harbor mentioned in the provided text is:";
        let output =
            core(&["generate", "--model", text(&model), "--device", device, "--prompt", prompt]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let (found, expected) = (answer(name()), answer("cpu"));
    println!("nano-drope answers {:?}", found.trim());
    assert_eq!(found, expected);
}

/// `cargo xtask gpu` leaves wgpu nothing but Vulkan in software, which is slower than the CPU backend.
#[test]
fn vulkan_in_software_is_not_chosen_by_default() {
    if choice() == DeviceChoice::Wgpu && std::env::var_os("VK_DRIVER_FILES").is_some() {
        assert!(device::open(DeviceChoice::Auto).unwrap().is_cpu);
    }
}

#[test]
fn a_machine_without_a_gpu_gets_a_sentence() {
    let folder = Folder::new("no-gpu");
    let (model, out) = (folder.model("model"), folder.path("out"));
    let arguments = ["logits", "--model", text(&model), "--ids", "1", "--out", text(&out), "--device", name()];
    if choice() == DeviceChoice::Cuda {
        if device::open(choice()).is_err() {
            refused(&arguments, "there is no NVIDIA card");
        }
        return;
    }
    // No Vulkan driver, no OpenGL.
    let drivers = ["VK_ICD_FILENAMES", "VK_DRIVER_FILES", "__EGL_VENDOR_LIBRARY_FILENAMES"];
    let output = core(&arguments).envs(drivers.map(|name| (name, "/nonexistent"))).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "one sentence: {said}");
    assert!(said.contains("there is no GPU"), "{said}");
    assert!(!out.exists());
}
