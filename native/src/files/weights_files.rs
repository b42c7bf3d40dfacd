//! The weights of a model: one safetensors file of its folder, or several with an index, or a GGUF. Tensors are read one at a
//! time.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burn::tensor::TensorData;
use drope_core::gguf::Gguf;
use drope_core::hash::ShortHash;
use drope_core::loaded_model::{INDEX_FILE, WEIGHTS_FILE};
use drope_core::model::{QuantizedRows, ReadAt, SafetensorsFiles, ShardIndex, WeightSource, has_fused_projections};

use crate::files::{self, cannot_read};

/// A file on disk.
pub struct DiskFile {
    file: File,
    size: u64,
}

impl DiskFile {
    fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| cannot_read(path))?;
        let size = file.metadata().with_context(|| cannot_read(path))?.len();
        Ok(Self { file, size })
    }
}

impl ReadAt for DiskFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, length: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        #[cfg(unix)]
        std::os::unix::fs::FileExt::read_exact_at(&self.file, &mut bytes, offset)?;
        #[cfg(windows)]
        {
            let mut done = 0;
            while done < length {
                let read =
                    std::os::windows::fs::FileExt::seek_read(&self.file, &mut bytes[done..], offset + done as u64)?;
                if read == 0 {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
                done += read;
            }
        }
        Ok(bytes)
    }
}

/// The weights of a model.
pub enum Weights {
    Safetensors(SafetensorsFiles<DiskFile>),
    Gguf(Box<Gguf<DiskFile>>),
}

impl WeightSource for Weights {
    fn rows(&self, name: &str, shape: &[usize], rows: Range<usize>) -> drope_core::Result<TensorData> {
        match self {
            Self::Safetensors(files) => files.rows(name, shape, rows),
            Self::Gguf(file) => file.rows(name, shape, rows),
        }
    }

    fn quantized_rows(
        &self,
        name: &str,
        shape: &[usize],
        rows: Range<usize>,
    ) -> drope_core::Result<Option<QuantizedRows>> {
        match self {
            Self::Safetensors(files) => files.quantized_rows(name, shape, rows),
            Self::Gguf(file) => file.quantized_rows(name, shape, rows),
        }
    }

    fn names(&self) -> Vec<String> {
        match self {
            Self::Safetensors(files) => files.names(),
            Self::Gguf(file) => file.names(),
        }
    }
}

impl Weights {
    /// Numbers in all tensors.
    pub fn num_parameters(&self) -> u64 {
        match self {
            Self::Safetensors(files) => files.num_parameters(),
            Self::Gguf(file) => file.num_parameters(),
        }
    }
}

/// Whether a model is a GGUF and not a folder.
pub fn is_gguf(model: &Path) -> bool {
    model.extension().is_some_and(|ending| ending == "gguf")
}

/// Refuses a model whose config cannot have a field written into it: a GGUF, and weights whose fused projections (Phi-3) do not fit
/// the config that is written, which is that of a Llama or a Mistral.
pub fn check_has_config(model: &Path, lacks: &str) -> Result<()> {
    let what = model.display();
    ensure!(!is_gguf(model), "{what} is a GGUF, which has no {lacks}; write it as a folder with `core convert`");
    ensure!(
        !has_fused_projections(&open(model)?),
        "{what} has fused projections, which no config with a {lacks} describes; write it as another folder with `core convert`"
    );
    Ok(())
}

/// Opens a GGUF.
///
/// # Errors
/// If it cannot be read, or is damaged.
pub fn gguf(path: &Path) -> Result<Gguf<DiskFile>> {
    Gguf::open(DiskFile::open(path)?).with_context(|| cannot_use(path))
}

/// Opens the weights of a model's folder, or of a GGUF.
///
/// # Errors
/// If a file is missing or damaged, or the index does not describe the files.
pub fn open(folder: &Path) -> Result<Weights> {
    if is_gguf(folder) {
        return Ok(Weights::Gguf(Box::new(gguf(folder)?)));
    }
    let open = |path: &PathBuf| -> Result<(String, DiskFile)> { Ok((files::name(path), DiskFile::open(path)?)) };
    let files = paths(folder)?.iter().map(open).collect::<Result<Vec<_>>>()?;
    let weights = SafetensorsFiles::new(files).with_context(|| cannot_use(folder))?;
    if let Some(index) = index(folder)? {
        index.check(&weights).with_context(|| cannot_use(folder))?;
    }
    Ok(Weights::Safetensors(weights))
}

/// Whether a folder holds a model's weights, in one file or in several.
pub fn holds_weights(folder: &Path) -> bool {
    [WEIGHTS_FILE, INDEX_FILE].into_iter().any(|name| folder.join(name).exists())
}

/// The hash of the weights' files, in the order of their names.
pub fn hash(folder: &Path) -> Result<ShortHash> {
    let mut hash = ShortHash::default();
    paths(folder)?.iter().try_for_each(|path| files::hash(path, &mut hash))?;
    Ok(hash)
}

/// The weights' files: the one that models have, or those that the index names.
fn paths(folder: &Path) -> Result<Vec<PathBuf>> {
    if is_gguf(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    Ok(match index(folder)? {
        Some(index) => index.files().into_iter().map(|file| folder.join(file)).collect(),
        None => vec![folder.join(WEIGHTS_FILE)],
    })
}

/// The index of a model in several files. As in transformers, a single weights file takes precedence over it.
fn index(folder: &Path) -> Result<Option<ShardIndex>> {
    let path = folder.join(INDEX_FILE);
    if folder.join(WEIGHTS_FILE).exists() || !path.exists() {
        return Ok(None);
    }
    let index = ShardIndex::from_json(&files::read(&path)?).with_context(|| cannot_use(folder))?;
    Ok(Some(index))
}

/// The sentence for a model whose files are there and do not fit together.
pub fn cannot_use(folder: &Path) -> String {
    format!("cannot use the model in {}", folder.display())
}
