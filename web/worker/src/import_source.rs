//! Where a model of the reader's comes from: files, a zip, or an address.

use std::fmt::Display;
use std::io::Read;

use drope_core::loaded_model::{CONFIG_FILE, TOKENIZER_FILE, WEIGHTS_FILE};
use drope_core::model::{ReadAt, SafetensorsFiles};
use drope_protocol::Reply;
use web_sys::{File, Url};
use zip::ZipArchive;
use zip::result::ZipError;

use super::blob_file::BlobFile;
use super::run::{Interruption, Run};
use super::store::StoredFolder;
use super::{download, reply};

/// Bytes that are copied at once.
const PIECE: usize = 4 << 20;
/// Largest size of a config or tokenizer in bytes; a larger file is refused.
const LONGEST_TEXT: u64 = 1 << 26;

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
                let archive = archive.map_err(|error| format!("{} {}.", file.name(), zip_problem(&error)))?;
                Ok(Self::Zip(Box::new(archive)))
            }
            _ => Ok(Self::Files(files)),
        }
    }

    /// Whether there is a file of that name; `None` for an address, where only a request would show it.
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

    /// Refuses a safetensors file whose head does not fit its size, before it is unpacked: a zip of a few kilobytes can hold gigabytes
    /// of nothing.
    pub fn check_head(&mut self, name: &str) -> Result<(), Interruption> {
        let Self::Zip(archive) = self else { return Ok(()) };
        let place = place_in(archive, name).ok_or_else(|| missing(name))?;
        let damaged = |error: &dyn Display| format!("{name} in the zip is damaged ({error}).");
        let mut file = archive.by_index(place).map_err(|error| damaged(&error))?;
        let size = file.size();
        let bytes = read_head(&mut file).map_err(|error| damaged(&error))?;
        SafetensorsFiles::new([(name.to_owned(), Head { bytes, size })])?;
        Ok(())
    }

    /// A short file, in memory.
    pub async fn text(&mut self, name: &str, run: &Run) -> Result<Vec<u8>, Interruption> {
        match self {
            Self::Files(files) => {
                let file = files.iter().find(|file| file.name() == name).ok_or_else(|| missing(name))?;
                if file.size() > LONGEST_TEXT {
                    return Err(Interruption::Failed(format!("{name} is too large; choose the right file.")));
                }
                file.bytes().map_err(|error| Interruption::Failed(format!("{name}: {error}.")))
            }
            Self::Zip(archive) => {
                let place = place_in(archive, name).ok_or_else(|| missing(name))?;
                let damaged = |error: &dyn Display| format!("{name} in the zip is damaged ({error}).");
                let file = archive.by_index(place).map_err(|error| damaged(&error))?;
                if file.size() > LONGEST_TEXT {
                    return Err(Interruption::Failed(format!("{name} is too large; choose the right file.")));
                }
                let mut bytes = Vec::new();
                file.take(LONGEST_TEXT).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
                Ok(bytes)
            }
            Self::Address(folder) => {
                let mut bytes = Vec::new();
                let address = format!("{folder}{name}");
                download::stream(&address, &mut |piece, _, _| {
                    bytes.extend_from_slice(piece);
                    run.check()
                })
                .await?;
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
        match self {
            Self::Files(files) => {
                let file = files.iter().find(|file| file.name() == name).ok_or_else(|| missing(name))?;
                copy_file(file, name, folder, model, run).await
            }
            Self::Zip(archive) => {
                let place = place_in(archive, name).ok_or_else(|| missing(name))?;
                let damaged = |error: &dyn Display| format!("{name} in the zip is damaged ({error}).");
                let file = archive.by_index(place).map_err(|error| damaged(&error))?;
                let copy = Copy { called: name, folder, model, run };
                let size = file.size();
                copy.write_from(file, size, |error| damaged(&error)).await
            }
            Self::Address(address) => {
                let copy = Copy { called: name, folder, model, run };
                let mut writer = folder.writer(name).await?;
                download::stream(&format!("{address}{name}"), &mut |piece, received, total| {
                    writer.write(piece)?;
                    copy.tell(received, total);
                    run.check()
                })
                .await?;
                writer.finish()
            }
        }
    }
}

/// The beginning of a file, which is as long as it would be.
struct Head {
    bytes: Vec<u8>,
    size: u64,
}

impl ReadAt for Head {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, length: usize) -> std::io::Result<Vec<u8>> {
        self.bytes.as_slice().read_at(offset, length)
    }
}

/// A file on its way into the store.
struct Copy<'a> {
    /// Its name there.
    called: &'a str,
    folder: &'a StoredFolder,
    /// Name of the model, for the reader.
    model: &'a str,
    run: &'a Run,
}

impl Copy<'_> {
    async fn write_from(
        &self,
        mut reader: impl Read,
        size: u64,
        failed: impl Fn(std::io::Error) -> String,
    ) -> Result<(), Interruption> {
        let mut writer = self.folder.writer(self.called).await?;
        let (mut at, mut piece) = (0.0, vec![0; PIECE]);
        loop {
            let read = reader.read(&mut piece).map_err(&failed)?;
            if read == 0 {
                return writer.finish();
            }
            writer.write(&piece[..read])?;
            at += read as f64;
            self.tell(at, size as f64);
            self.run.yield_to_messages().await;
            self.run.check()?;
        }
    }

    fn tell(&self, received: f64, total: f64) {
        let model = format!("{}, {}", self.model, self.called);
        reply(&Reply::Loading { run: self.run.number, model, received, total });
    }
}

/// The length of a safetensors header, and the header.
fn read_head(file: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; 8];
    file.read_exact(&mut bytes)?;
    let length = u64::from_le_bytes(std::array::from_fn(|place| bytes[place]));
    file.take(length.min(LONGEST_TEXT)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Why a file is no zip, as the end of a sentence.
fn zip_problem(error: &ZipError) -> String {
    match error {
        ZipError::InvalidArchive(_) => {
            "is not a whole zip: it was cut off, or is another kind of file; save it again".to_owned()
        }
        ZipError::UnsupportedArchive(_) => {
            "is a zip of a kind that cannot be read here; make it without a password".to_owned()
        }
        error => format!("cannot be read as a zip ({error})"),
    }
}

/// The place of a file in a zip: beside the config of the fewest folders, since a run's folder may have checkpoints in folders of its own.
fn place_in(archive: &ZipArchive<BlobFile>, name: &str) -> Option<usize> {
    let path = |place: usize| Some(archive.name_for_index(place)?.ok()?.into_owned());
    let called = |wanted: &str| {
        let found = (0..archive.len()).filter_map(|place| Some((place, path(place)?)));
        let found = found.filter(|(_, path)| path.rsplit('/').next() == Some(wanted)).collect::<Vec<_>>();
        found.into_iter().min_by_key(|(_, path)| path.matches('/').count())
    };
    let folder = called(CONFIG_FILE).map(|(_, path)| path[..path.len() - CONFIG_FILE.len()].to_owned());
    match folder {
        Some(folder) => {
            (0..archive.len()).find(|&place| path(place).is_some_and(|path| path == format!("{folder}{name}")))
        }
        None => called(name).map(|(place, _)| place),
    }
}

fn missing(name: &str) -> Interruption {
    let wanted = [CONFIG_FILE, TOKENIZER_FILE, WEIGHTS_FILE].join(", ");
    Interruption::Failed(format!("There is no {name}; a model's folder has {wanted}."))
}

/// The address of a folder; a page of a model on Hugging Face, or of one of its files, stands for its files.
pub fn folder_address(address: &str) -> Result<String, Interruption> {
    let url = Url::new(address.trim())
        .map_err(|_| Interruption::Failed(format!("{address:?} is no address; it begins with https://.")))?;
    let path = url.pathname();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if url.hostname() == "huggingface.co" {
        match parts[..] {
            [owner, model] => return Ok(format!("https://huggingface.co/{owner}/{model}/resolve/main/")),
            [owner, model, "tree" | "blob" | "resolve", branch, ..] => {
                return Ok(format!("https://huggingface.co/{owner}/{model}/resolve/{branch}/"));
            }
            _ => {}
        }
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
    let copy = Copy { called, folder, model, run };
    copy.write_from(file.clone(), file.size(), |error| format!("{called}: {error}.")).await
}
