//! Models of the reader's own: from files, a zip or an address into the browser's store, piece by piece.

use std::io::Read;

use drope_core::config::Config;
use drope_core::gguf::Gguf;
use drope_core::loaded_model::{CONFIG_FILE, INDEX_FILE, TOKENIZER_FILE, WEIGHTS_FILE};
use drope_core::model::{ReadAt, SafetensorsFiles, ShardIndex};
use drope_core::positions::Method;
use drope_core::tokenizer::Tokenizer;
use drope_protocol::{Origin, Reply, StoredModel};
use web_sys::{File, Url};
use zip::ZipArchive;

use super::blob_file::BlobFile;
use super::capacity::Capacity;
use super::run::{Interruption, Run};
use super::store::{self, GGUF_FILE, StoredFolder};
use super::{download, reply};

/// Bytes that are copied at once.
const PIECE: usize = 4 << 20;
/// A config or tokenizer beyond this is none.
const LONGEST_TEXT: u64 = 1 << 28;

/// Takes a model in, and tells the page which models there are now.
pub async fn import(
    name: &str,
    origin: Origin,
    files: Vec<File>,
    capacity: &Capacity,
    run: &Run,
) -> Result<(), Interruption> {
    let source = match origin {
        Origin::Files => Source::from_files(files)?,
        Origin::Address(address) => Source::Address(folder_address(&address)?),
    };
    let folder = StoredFolder::create(name).await?;
    let taken = match &source {
        Source::Files(files) if files[..].iter().any(|file| file.name().ends_with(".gguf")) => {
            take_in_gguf(name, files, &folder, capacity, run).await
        }
        _ => take_in(name, source, &folder, capacity, run).await,
    };
    if taken.is_err() {
        drop(folder);
        // What is not whole does not stay; that it cannot be removed changes nothing about why.
        let _ = store::remove(name).await;
    }
    store::tell().await;
    taken
}

/// A GGUF holds all in one file; config and tokenizer are written beside it.
async fn take_in_gguf(
    name: &str,
    files: &[BlobFile],
    folder: &StoredFolder,
    capacity: &Capacity,
    run: &Run,
) -> Result<(), Interruption> {
    let [file] = files else {
        return Err(Interruption::Failed("A GGUF comes alone; choose one file.".into()));
    };
    let model = Gguf::open(file.clone())?;
    let config = model.config()?;
    let tokenizer = model.tokenizer()?;
    tokenizer.check(config.vocab_size)?;
    capacity.check(&config)?;
    folder.write(CONFIG_FILE, config.to_json().as_bytes()).await?;
    folder.write(TOKENIZER_FILE, tokenizer.to_json()?.as_bytes()).await?;
    copy_file(file, GGUF_FILE, folder, name, run).await?;
    let note = StoredModel {
        name: name.to_owned(),
        weights: vec![GGUF_FILE.to_owned()],
        bytes: file.size() as f64,
        context: config.max_position_embeddings,
        parameters: model.num_parameters() as f64,
        method: Method::of(&config),
        recalibration: None,
    };
    folder.write_note(&note).await
}

/// Copies a file of the reader's into the store, with progress.
async fn copy_file(
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

async fn take_in(
    name: &str,
    mut source: Source,
    folder: &StoredFolder,
    capacity: &Capacity,
    run: &Run,
) -> Result<(), Interruption> {
    let config_text = source.text(CONFIG_FILE, run).await?;
    let config = Config::from_json(&String::from_utf8_lossy(&config_text))?;
    let tokenizer = source.text(TOKENIZER_FILE, run).await?;
    Tokenizer::from_json(&tokenizer)?.check(config.vocab_size)?;
    capacity.check(&config)?;
    let index = match source.has(WEIGHTS_FILE) {
        Some(true) => None,
        Some(false) => Some(source.text(INDEX_FILE, run).await?),
        // An address says what it has when it is asked.
        None => source.text(INDEX_FILE, run).await.ok(),
    };
    let index_text = index;
    let index = index_text.as_deref().map(ShardIndex::from_json).transpose()?;
    let weights: Vec<String> = match &index {
        Some(index) => index.files().into_iter().map(str::to_owned).collect(),
        None => vec![WEIGHTS_FILE.to_owned()],
    };
    if let (Some(needed), Some(room)) = (source.size(&weights), store::room().await)
        && needed > room
    {
        return Err(Interruption::Failed(format!(
            "The model has {:.0} MB and this browser has room for {:.0} MB; remove models or free space.",
            needed / 1e6,
            room / 1e6
        )));
    }
    folder.write(CONFIG_FILE, &config_text).await?;
    folder.write(TOKENIZER_FILE, &tokenizer).await?;
    if let Some(text) = &index_text {
        folder.write(INDEX_FILE, text).await?;
    }
    for file in &weights {
        source.copy(file, folder, name, run).await?;
    }
    let mut files = Vec::new();
    for file in &weights {
        files.push((file.clone(), folder.file(file).await?));
    }
    let bytes: u64 = files.iter().map(|(_, file)| file.size()).sum();
    let tensors = SafetensorsFiles::new(files)?;
    index.map_or(Ok(()), |index| index.check(&tensors))?;
    let model = StoredModel {
        name: name.to_owned(),
        weights,
        bytes: bytes as f64,
        context: config.max_position_embeddings,
        parameters: tensors.num_parameters() as f64,
        method: Method::of(&config),
        recalibration: None,
    };
    folder.write_note(&model).await
}

/// Where the files are.
enum Source {
    Files(Vec<BlobFile>),
    Zip(Box<ZipArchive<BlobFile>>),
    /// Address of the folder, with a slash at its end.
    Address(String),
}

impl Source {
    fn from_files(files: Vec<File>) -> Result<Self, Interruption> {
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
    fn has(&self, name: &str) -> Option<bool> {
        match self {
            Self::Files(files) => Some(files.iter().any(|file| file.name() == name)),
            Self::Zip(archive) => Some(place_in(archive, name).is_some()),
            Self::Address(_) => None,
        }
    }

    /// Bytes of files, where they are known.
    fn size(&mut self, names: &[String]) -> Option<f64> {
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
    async fn text(&mut self, name: &str, run: &Run) -> Result<Vec<u8>, Interruption> {
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
    async fn copy(&mut self, name: &str, folder: &StoredFolder, model: &str, run: &Run) -> Result<(), Interruption> {
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
fn folder_address(address: &str) -> Result<String, Interruption> {
    let url = Url::new(address.trim())
        .map_err(|_| Interruption::Failed(format!("{address:?} is no address; it begins with https://.")))?;
    let path = url.pathname();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if url.hostname() == "huggingface.co" && parts.len() == 2 {
        return Ok(format!("https://huggingface.co/{}/{}/resolve/main/", parts[0], parts[1]));
    }
    Ok(format!("{}{}/", url.origin(), path.trim_end_matches('/')))
}
