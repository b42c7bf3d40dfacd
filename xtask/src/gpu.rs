//! `core` on GPUs: built for wgpu and for CUDA, and compared with the CPU and with transformers.
//!
//! wgpu runs on Vulkan in software, which every machine can have; CUDA only where there is a card.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::packages::NATIVE;
use crate::shell::{apt_install, capture};
use crate::tally::Tally;
use crate::workplace::Workplace;

/// LLVM that stands in for the one that Burn's CUDA backend downloads, which is one version newer.
const DEBIAN_LLVM: &str = "/usr/lib/llvm-22";
const LLVM_PACKAGES: [&str; 5] = ["llvm-22-dev", "libpolly-22-dev", "libz3-dev", "libzstd-dev", "libxml2-dev"];
/// File by which the build recognises a whole download.
const INSTALLED: &str = ".tracel-llvm-installed";
const VULKAN_DRIVERS: &str = "/usr/share/vulkan/icd.d";

/// The test program, which is empty without a feature that opens a GPU.
pub const PROGRAM: &str = "gpu";

/// Variables for cargo and the tests.
type Environment = Vec<(&'static str, PathBuf)>;

/// Builds and compares; the last line counts what ran.
pub fn compare() -> Result<()> {
    let place = Workplace::find()?;
    Tally::of(|tally| {
        on_software_vulkan(&place, tally)?;
        check(&place, tally, "cuda", llvm(&place))
    })
}

/// The part of it that every machine can run.
pub fn on_software_vulkan(place: &Workplace, tally: &mut Tally) -> Result<()> {
    check(place, tally, "wgpu", software_vulkan())
}

/// Builds `core` with `feature` and runs native/tests/gpu.
fn check(place: &Workplace, tally: &mut Tally, feature: &str, environment: Result<Environment>) -> Result<()> {
    let environment = match environment {
        Ok(environment) => environment,
        Err(error) => {
            tally.not_run(&format!("core with {feature}: {error:#}"));
            return Ok(());
        }
    };
    let mut command = Command::new("cargo");
    command.current_dir(&place.root).env("CARGO_TARGET_DIR", place.target_dir()).envs(environment);
    command.args(["test", "--release"]).args(NATIVE).args(["--features", &format!("drope-native/{feature}")]);
    command.args(["--test", PROGRAM, "--", "--test-threads", "1", "--nocapture"]);
    tally.tests(&format!("core with {feature}"), &mut command)
}

/// Shows programs Mesa's software renderer as their only Vulkan driver.
fn software_vulkan() -> Result<Environment> {
    if lavapipe().is_none() {
        apt_install(&["mesa-vulkan-drivers"]).context("Vulkan in software is missing")?;
    }
    let driver = lavapipe().with_context(|| format!("{VULKAN_DRIVERS} has no lvp_icd file"))?;
    // The loader's old and new name for the same list; and no OpenGL, where wgpu looks for a GPU next.
    Ok(vec![
        ("VK_ICD_FILENAMES", driver.clone()),
        ("VK_DRIVER_FILES", driver),
        ("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent".into()),
    ])
}

fn lavapipe() -> Option<PathBuf> {
    let paths = std::fs::read_dir(VULKAN_DRIVERS).ok()?.flatten().map(|entry| entry.path());
    paths.into_iter().find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("lvp_icd")))
}

/// Where the build of CUDA finds LLVM: its own download where that is possible, else Debian's packages.
fn llvm(place: &Workplace) -> Result<Environment> {
    let package = capture(Command::new("cargo").current_dir(&place.root).args(["pkgid", "tracel-llvm-bundler"]));
    let version = package.as_deref().and_then(|id| id.split_once('@')).context("Cargo.lock has no LLVM bundle")?.1;
    let bundle = Path::new("tracel").join(format!("tracel-llvm-{version}"));
    let data = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".local/share")));
    let address =
        format!("https://github.com/tracel-ai/tracel-llvm/releases/download/v{version}/linux-x64.checksums.json");
    let head = ["--head", "--fail", "--silent", "--location", "--max-time", "20", &address];
    if data.is_some_and(|data| data.join(&bundle).join(INSTALLED).exists())
        || capture(Command::new("curl").args(head)).is_some()
    {
        return Ok(Vec::new());
    }
    println!("LLVM for CUDA cannot be downloaded: Debian's LLVM 22 stands in for it");
    debian_llvm(&place.cache.join("llvm"), &bundle)
}

/// Links to Debian's LLVM in `cache`, in the form of the download, which is the folder `bundle`.
fn debian_llvm(cache: &Path, bundle: &Path) -> Result<Environment> {
    let config = Path::new(DEBIAN_LLVM).join("bin/llvm-config");
    let libraries_of_llvm = || capture(Command::new(&config).args(["--link-static", "--libs", "--system-libs"]));
    if libraries_of_llvm().is_none() {
        apt_install(&LLVM_PACKAGES).context("building for CUDA needs LLVM")?;
    }
    let libraries = libraries_of_llvm().with_context(|| format!("{} does not run", config.display()))?;
    let (bundle, names) = (cache.join(bundle), cache.join("names"));
    for folder in [&bundle, &names] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot write {}", folder.display()))?;
    }
    for part in ["bin", "include", "lib"] {
        link(&Path::new(DEBIAN_LLVM).join(part), &bundle.join(part))?;
    }
    // The build takes `/usr/lib/…/libz3.so` for a library's name `libz3`, so that the linker looks for `liblibz3.so`.
    for library in libraries.split_whitespace().map(Path::new).filter(|word| word.is_absolute()) {
        let name = library.file_name().unwrap_or_default().to_string_lossy();
        link(library, &names.join(format!("lib{name}")))?;
    }
    std::fs::write(bundle.join(INSTALLED), "")?;
    Ok(vec![("XDG_DATA_HOME", cache.to_owned()), ("LIBRARY_PATH", names)])
}

/// A link, made anew where there is one.
fn link(target: &Path, path: &Path) -> Result<()> {
    if path.is_symlink() {
        std::fs::remove_file(path)?;
    }
    symlink(target, path).with_context(|| format!("cannot write {}", path.display()))
}
