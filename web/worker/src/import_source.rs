//! Where a model of the reader's comes from: files, a zip, or an address.

use std::io::Read;

use drope_core::loaded_model::{CONFIG_FILE, TOKENIZER_FILE, WEIGHTS_FILE};
use drope_core::model::ReadAt;
use drope_protocol::Reply;
use web_sys::{File, Url};
use zip::ZipArchive;

use super::blob_file::BlobFile;
use super::run::{Interruption, Run};
use super::store::StoredFolder;
use super::{download, reply};

/// Bytes that are copied at once.
const PIECE: usize = 4 << 20;
/// A config or tokenizer beyond this is none.
const LONGEST_TEXT: u64 = 1 << 28;

/// Where the files are.
pub enum Source {
    /// Files that the reader chose.
    Files(Vec<BlobFile>),
    /// A zip of them.
    Zip(Box<ZipArchive<BlobFile>>),
    /// Address of the folder, with a slash at its end.
    Address(String),
}

impl Source {
    /// Files of a folder, or one that is a zip.
    pub fn from_files(files: Vec<File>) -> Result<Self, Interruption> {
        let files: Vec<BlobFile> = files.into_iter().map(BlobFile::new).collect();
        match &files[..] {
            [file] if file.name().ends_with(".zip") => {
                let archive = ZipArchive::new(file.clone());
                let archive =
                    archive.map_err(|error| format!("{} is no zip that can be read ({error}).", file.name()))?;
                Ok(Self::Zip(Box::new(archive)))
            }
            _ => Ok(Self::Files(files)),
        }
    }

    /// Whether there is a file of that name; none where only asking would tell.
    pub fn has(&self, name: &str) -> Option<bool> {
        match self {
            Self::Files(files) => Some(files.iter().any(|file| file.name() == name)),
            Self::Zip(archive) => Some(place_in(archive, name).is_some()),
            Self::Address(_) => None,
        }
    }

    /// Bytes of files, where they are known.
    pub fn size(&mut self, names: &[String]) -> Option<f64> {
        let sizes = names.iter().map(|name| match self {
            Self::Files(files) => files.iter().find(|file| file.name() == *name).map(|file| file.size() as f64),
            Self::Zip(archive) => {
                let place = place_in(archive, name)?;
                archive.by_index_raw(place).ok().map(|file| file.size() as f64)
            }
            Self::Address(_) => None,
        });
        sizes.sum()
    }

    /// A short file, in memory.
    pub async fn text(&mut self, name: &str, run: &Run) -> Result<Vec<u8>, Interruption> {
        match self {
            Self::Files(files) => {
                let file = files.iter().find(|file| file.name() == name).ok_or_else(|| missing(name))?;
                if file.size() > LONGEST_TEXT {
                    return Err(Interruption::Failed(format!("{name} is too long to be one.")));
                }
                file.bytes().map_err(|error| Interruption::Failed(format!("{name}: {error}.")))
            }
            Self::Zip(archive) => {
                let place = place_in(archive, name).ok_or_else(|| missing(name))?;
                let damaged = |error: &dyn std::fmt::Display| format!("{name} in the zip is damaged ({error}).");
                let file = archive.by_index(place).map_err(|error| damaged(&error))?;
                let mut bytes = Vec::new();
                file.take(LONGEST_TEXT).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
                Ok(bytes)
            }
            Self::Address(folder) => {
                let mut bytes = Vec::new();
                let address = format!("{folder}{name}");
                download::stream(&address, &mut |piece, _, _| {
                    bytes.extend_from_slice(piece);
                    Ok(run.flow())
                })
                .await?;
                run.check()?;
                Ok(bytes)
            }
        }
    }

    /// Copies a file into the store, with progress.
    pub async fn copy(
        &mut self,
        name: &str,
        folder: &StoredFolder,
        model: &str,
        run: &Run,
    ) -> Result<(), Interruption> {
        if let Self::Files(files) = self {
            let file = files.iter().find(|file| file.name() == name).ok_or_else(|| missing(name))?;
            return copy_file(file, name, folder, model, run).await;
        }
        let mut writer = folder.writer(name).await?;
        let tell = |received: f64, total: f64| {
            reply(&Reply::Loading { run: Some(run.number), model: format!("{model}, {name}"), received, total });
        };
        match self {
            Self::Files(_) => {}
            Self::Zip(archive) => {
                let place = place_in(archive, name).ok_or_else(|| missing(name))?;
                let mut file =
                    archive.by_index(place).map_err(|error| format!("{name} in the zip is damaged ({error})."))?;
                let (size, mut at, mut piece) = (file.size() as f64, 0.0, vec![0; PIECE]);
                loop {
                    let read =
                        file.read(&mut piece).map_err(|error| format!("{name} in the zip is damaged ({error})."))?;
                    if read == 0 {
                        break;
                    }
                    writer.write(&piece[..read])?;
                    at += read as f64;
                    tell(at, size);
                    run.yield_to_messages().await;
                    run.check()?;
                }
            }
            Self::Address(address) => {
                let address = format!("{address}{name}");
                download::stream(&address, &mut |piece, received, total| {
                    writer.write(piece)?;
                    tell(received, total);
                    Ok(run.flow())
                })
                .await?;
                run.check()?;
            }
        }
        writer.finish()
    }
}

/// The place of a file in a zip, in whatever folder.
fn place_in(archive: &ZipArchive<BlobFile>, name: &str) -> Option<usize> {
    let is_it = |path: &str| path.rsplit('/').next() == Some(name);
    (0..archive.len())
        .find(|&place| archive.name_for_index(place).and_then(Result::ok).is_some_and(|path| is_it(&path)))
}

fn missing(name: &str) -> Interruption {
    let wanted = [CONFIG_FILE, TOKENIZER_FILE, WEIGHTS_FILE].join(", ");
    Interruption::Failed(format!("There is no {name}; a model's folder has {wanted}."))
}

/// The address of a folder; a model's page on Hugging Face stands for its files.
pub fn folder_address(address: &str) -> Result<String, Interruption> {
    let url = Url::new(address.trim())
        .map_err(|_| Interruption::Failed(format!("{address:?} is no address; it begins with https://.")))?;
    let path = url.pathname();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if url.hostname() == "huggingface.co" && parts.len() == 2 {
        return Ok(format!("https://huggingface.co/{}/{}/resolve/main/", parts[0], parts[1]));
    }
    Ok(format!("{}{}/", url.origin(), path.trim_end_matches('/')))
}

/// Copies a file of the reader's into the store, with progress.
pub async fn copy_file(
    file: &BlobFile,
    called: &str,
    folder: &StoredFolder,
    model: &str,
    run: &Run,
) -> Result<(), Interruption> {
    let mut writer = folder.writer(called).await?;
    let size = file.size();
    let mut at = 0;
    while at < size {
        let length = (size - at).min(PIECE as u64) as usize;
        let piece = file.read_at(at, length).map_err(|error| format!("{called}: {error}."))?;
        writer.write(&piece)?;
        at += length as u64;
        let (received, total) = (at as f64, size as f64);
        reply(&Reply::Loading { run: Some(run.number), model: format!("{model}, {called}"), received, total });
        run.yield_to_messages().await;
        run.check()?;
    }
    writer.finish()
}
