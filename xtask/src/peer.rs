//! onnxruntime-web (MIT), which `?benchmark` measures beside the page's own programs: in the page's folder `peer`, loaded when asked for.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::download::{ONNXRUNTIME, fetch};
use crate::shell::run;
use crate::workplace::Workplace;

/// Of the package: the CPU's program and WebGPU's.
const FILES: [&str; 6] = [
    "ort.wasm.min.mjs",
    "ort-wasm-simd-threaded.mjs",
    "ort-wasm-simd-threaded.wasm",
    "ort.webgpu.min.mjs",
    "ort-wasm-simd-threaded.asyncify.mjs",
    "ort-wasm-simd-threaded.asyncify.wasm",
];

/// Puts it into the page, where the package can be had; the page works without.
pub fn write(place: &Workplace, page: &Path) -> Result<()> {
    let archive = match fetch(place, &ONNXRUNTIME) {
        Ok(archive) => archive,
        Err(error) => {
            eprintln!("?benchmark will have no peer: {error:#}");
            return Ok(());
        }
    };
    let out = page.join("peer");
    std::fs::create_dir_all(&out)?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(archive).args(["--strip-components", "2", "-C"]).arg(&out);
    run(tar.args(FILES.map(|file| format!("package/dist/{file}"))))?;
    // Some servers do not know that an .mjs is a script.
    for file in FILES {
        if let Some(name) = file.strip_suffix(".mjs") {
            std::fs::rename(out.join(file), out.join(format!("{name}.js")))?;
        }
    }
    for file in ["peer.js", "answered.js", "nano-rope.onnx"] {
        std::fs::copy(place.root.join("web/peer").join(file), out.join(file))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::download::ONNXRUNTIME;

    #[test]
    fn the_page_and_the_benchmarks_name_the_version_that_is_fetched() {
        let version =
            ONNXRUNTIME.name.strip_prefix("onnxruntime-web-").and_then(|name| name.strip_suffix(".tgz")).unwrap();
        let page = include_str!("../../web/page/src/benchmark/peer.rs");
        assert!(page.contains(&format!("\"onnxruntime-web {version}\"")), "{version}");
        let benchmarks = include_str!("../../bench/onnx_peers.py");
        assert!(benchmarks.contains(&format!("ONNXRUNTIME = \"{version}\"")), "{version}");
    }
}
