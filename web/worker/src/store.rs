//! Models that the browser keeps, in the page's private file system (OPFS): a folder each, which counts once its note is there.

use drope_core::Error;
use drope_core::config::Config;
use drope_core::loaded_model::{CONFIG_FILE, TOKENIZER_FILE};
use drope_protocol::{Reply, StoredModel};
use js_sys::{Array, AsyncIterator, Promise, Reflect};
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    DomException, File, FileSystemDirectoryHandle, FileSystemFileHandle, FileSystemGetDirectoryOptions,
    FileSystemGetFileOptions, FileSystemReadWriteOptions, FileSystemRemoveOptions, FileSystemSyncAccessHandle,
    StorageEstimate,
};

use super::blob_file::BlobFile;
use super::folder_name::FolderName;
use super::lock::Lock;
use super::run::Interruption;
use super::{reply, scope};

/// The folder of all models.
const ROOT: &str = "models";
/// The name of a GGUF in its folder.
pub const GGUF_FILE: &str = "model.gguf";
/// What is known of a model; written last. There are two, which are written in turns, so that one of them is always whole.
const NOTES: [&str; 2] = ["model.json", "model-1.json"];

/// A note as it lies in the store.
#[derive(Serialize, Deserialize)]
struct Note {
    #[serde(flatten)]
    model: StoredModel,
    /// The one with the larger number counts.
    #[serde(default)]
    number: u64,
}

/// A model's folder.
pub struct StoredFolder {
    name: String,
    folder: FolderName,
    handle: FileSystemDirectoryHandle,
    /// Held while the folder is written.
    _lock: Option<Lock>,
}

/// The folder of all models.
async fn root() -> Result<FileSystemDirectoryHandle, JsValue> {
    // Missing in an insecure context, refused in some private windows.
    let storage = Reflect::get(&scope().navigator(), &"storage".into())?;
    if storage.is_falsy() {
        return Err("there is no storage".into());
    }
    let top: FileSystemDirectoryHandle = waited(scope().navigator().storage().get_directory()).await?;
    folder_in(&top, ROOT, true).await
}

async fn folder_in(
    folder: &FileSystemDirectoryHandle,
    name: &str,
    create: bool,
) -> Result<FileSystemDirectoryHandle, JsValue> {
    let options = FileSystemGetDirectoryOptions::new();
    options.set_create(create);
    waited(folder.get_directory_handle_with_options(name, &options)).await
}

async fn waited<T: JsCast>(promise: Promise) -> Result<T, JsValue> {
    JsFuture::from(promise).await?.dyn_into()
}

/// Tells the page which models there are.
pub async fn tell() {
    reply(&Reply::Stored { models: list().await.ok() });
}

/// All models, sorted by name. The remains of an interrupted import or recalibration are removed, and folders that
/// another one of the same name has replaced; not those that somebody is writing.
async fn list() -> Result<Vec<StoredModel>, JsValue> {
    let root = root().await?;
    let mut models: Vec<StoredModel> = Vec::new();
    // The newest first.
    for folder in folders(&root).await?.into_iter().rev() {
        // Somebody else may have removed it meanwhile.
        let Ok(opened) = StoredFolder::in_root(&root, &folder).await else { continue };
        match opened.note().await {
            Some(model) if models.iter().all(|known| known.name != model.name) => models.push(model),
            // Another program of the same origin may have a folder of this name, with others in it.
            None if folder.generation == 0 => {}
            _ => remove_unlocked(&root, &folder).await?,
        }
    }
    models.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(models)
}

/// The folders of all models, by name, and of one model in the order in which they were made.
async fn folders(root: &FileSystemDirectoryHandle) -> Result<Vec<FolderName>, JsValue> {
    let mut folders: Vec<FolderName> = names(root.keys()).await?.iter().map(|name| FolderName::parse(name)).collect();
    folders.sort();
    Ok(folders)
}

/// The folders of one model, in the order in which they were made.
async fn folders_of(root: &FileSystemDirectoryHandle, model: &str) -> Result<Vec<FolderName>, JsValue> {
    let all = folders(root).await?.into_iter();
    Ok(all.filter(|folder| folder.model == model).collect())
}

/// Removes a folder, unless somebody is writing it.
async fn remove_unlocked(root: &FileSystemDirectoryHandle, folder: &FolderName) -> Result<(), JsValue> {
    if let Some(_lock) = folder.try_lock().await? {
        // Somebody else may have removed it meanwhile.
        let _ = remove_from(root, &folder.text()).await;
    }
    Ok(())
}

async fn names(keys: AsyncIterator) -> Result<Vec<String>, JsValue> {
    let mut names = Vec::new();
    loop {
        let next = JsFuture::from(keys.next()?).await?;
        if Reflect::get(&next, &"done".into())?.is_truthy() {
            return Ok(names);
        }
        names.extend(Reflect::get(&next, &"value".into())?.as_string());
    }
}

/// Deletes a model.
///
/// # Errors
/// If somebody is writing it: a recalibration, or another tab.
pub async fn remove(name: &str) -> Result<(), Interruption> {
    let failed = |error| Interruption::Failed(format!("{name} could not be removed: {}.", reason(&error)));
    let root = root().await.map_err(failed)?;
    for folder in folders_of(&root, name).await.map_err(failed)? {
        let is_whole = StoredFolder::in_root(&root, &folder).await.map_err(failed)?.note().await.is_some();
        match folder.try_lock().await.map_err(failed)? {
            Some(_lock) => remove_from(&root, &folder.text()).await.map_err(failed)?,
            None if is_whole => return Err(in_use(name)),
            // Another tab is importing a model of this name.
            None => {}
        }
    }
    Ok(())
}

async fn remove_from(root: &FileSystemDirectoryHandle, name: &str) -> Result<(), JsValue> {
    let options = FileSystemRemoveOptions::new();
    options.set_recursive(true);
    JsFuture::from(root.remove_entry_with_options(name, &options)).await.map(drop)
}

/// Bytes that the browser still has room for; none where it does not say.
pub async fn room() -> Option<f64> {
    let promise = scope().navigator().storage().estimate().ok()?;
    let estimate: StorageEstimate = JsFuture::from(promise).await.ok()?.unchecked_into();
    Some(estimate.get_quota()? - estimate.get_usage()?)
}

impl StoredFolder {
    /// Creates an empty folder and locks it. A model of the same name stays as it is until the note of this one is written.
    pub async fn create(name: &str) -> Result<Self, Interruption> {
        let created = async {
            let root = root().await?;
            let newest = folders_of(&root, name).await?.pop();
            let mut folder =
                FolderName { model: name.to_owned(), generation: newest.map_or(0, |newest| newest.generation) };
            loop {
                folder.generation += 1;
                // Another tab may take the same number at the same time.
                if let Some(lock) = folder.try_lock().await? {
                    let handle = folder_in(&root, &folder.text(), true).await?;
                    return Ok(Self { name: name.to_owned(), folder, handle, _lock: Some(lock) });
                }
            }
        };
        created.await.map_err(|error: JsValue| {
            // What the page itself keeps may have taken all the room.
            let is_full = error.dyn_ref().is_some_and(|error: &DomException| error.name() == "QuotaExceededError");
            if is_full {
                return not_written(name, &error);
            }
            Interruption::Failed(format!(
                "This browser keeps no files for this page ({}); private windows often do not, so use another one.",
                reason(&error)
            ))
        })
    }

    /// The folder of a model that is there as a whole.
    pub async fn open(name: &str) -> Result<Self, Interruption> {
        let opened = async {
            let root = root().await?;
            for folder in folders_of(&root, name).await?.into_iter().rev() {
                let opened = Self::in_root(&root, &folder).await?;
                if opened.note().await.is_some() {
                    return Ok(opened);
                }
            }
            Err(JsValue::UNDEFINED)
        };
        opened.await.map_err(|_| gone(name))
    }

    /// Locks the folder of a model that is there, to write into it.
    ///
    /// # Errors
    /// If somebody else is writing it.
    pub async fn lock(&mut self) -> Result<(), Interruption> {
        self._lock = self.folder.try_lock().await.map_err(|error| not_written(&self.name, &error))?;
        if self._lock.is_some() { Ok(()) } else { Err(in_use(&self.name)) }
    }

    async fn in_root(root: &FileSystemDirectoryHandle, folder: &FolderName) -> Result<Self, JsValue> {
        let handle = folder_in(root, &folder.text(), false).await?;
        Ok(Self { name: folder.model.clone(), folder: folder.clone(), handle, _lock: None })
    }

    /// Removes the folder with all that was written into it.
    pub async fn discard(self) {
        if let Ok(root) = root().await {
            // What cannot be removed now is removed when the models are listed.
            let _ = remove_from(&root, &self.folder.text()).await;
        }
    }

    /// What is known of the model; none where it is not whole.
    pub async fn note(&self) -> Option<StoredModel> {
        Some(self.newest_note().await?.1.model)
    }

    /// The note that counts, and its place in [`NOTES`].
    async fn newest_note(&self) -> Option<(usize, Note)> {
        let mut newest: Option<(usize, Note)> = None;
        for (place, name) in NOTES.into_iter().enumerate() {
            let bytes = self.read(name).await.ok();
            let note: Option<Note> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            if let Some(note) = note
                && newest.as_ref().is_none_or(|(_, known)| known.number < note.number)
            {
                newest = Some((place, note));
            }
        }
        newest
    }

    /// Writes the model's note, with which it counts as whole and replaces older ones of its name.
    pub async fn write_note(&self, model: &StoredModel) -> Result<(), Interruption> {
        let (next, number) = match self.newest_note().await {
            Some((place, note)) => (1 - place, note.number + 1),
            None => (0, 0),
        };
        let note = Note { model: model.clone(), number };
        let text = serde_json::to_vec(&note).map_err(|error| Interruption::Failed(format!("{error}.")))?;
        self.write(NOTES[next], &text).await?;
        let replaced = async {
            let root = root().await?;
            for older in folders_of(&root, &self.name).await?.iter().filter(|other| *other < &self.folder) {
                remove_unlocked(&root, older).await?;
            }
            Ok(())
        };
        replaced.await.map_err(|error: JsValue| not_written(&self.name, &error))
    }

    /// A file of the folder.
    pub async fn file(&self, name: &str) -> Result<BlobFile, Interruption> {
        let found = async {
            let handle: FileSystemFileHandle = waited(self.handle.get_file_handle(name)).await?;
            waited::<File>(handle.get_file()).await
        };
        found.await.map(BlobFile::new).map_err(|_| gone(&self.name))
    }

    /// The bytes of a file.
    pub async fn read(&self, name: &str) -> Result<Vec<u8>, Interruption> {
        self.file(name).await?.bytes().map_err(|error| Interruption::Failed(format!("{name}: {error}.")))
    }

    /// The config and the bytes of the tokenizer.
    pub async fn config_and_tokenizer(&self) -> Result<(Config, Vec<u8>), Interruption> {
        let config = Config::from_json(&String::from_utf8_lossy(&self.read(CONFIG_FILE).await?));
        let config = config.map_err(|error: Error| Interruption::Failed(format!("{error}.")))?;
        Ok((config, self.read(TOKENIZER_FILE).await?))
    }

    /// Writes a whole file.
    pub async fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Interruption> {
        let mut writer = self.writer(name).await?;
        writer.write(bytes)?;
        writer.finish()
    }

    /// Deletes a file, if it is there.
    #[cfg(feature = "train")]
    pub async fn delete(&self, name: &str) {
        // It may not be there.
        let _ = JsFuture::from(self.handle.remove_entry(name)).await;
    }

    /// A file that is written piece by piece.
    pub async fn writer(&self, name: &str) -> Result<Writer, Interruption> {
        let options = FileSystemGetFileOptions::new();
        options.set_create(true);
        let opened = async {
            let handle: FileSystemFileHandle = waited(self.handle.get_file_handle_with_options(name, &options)).await?;
            let access: FileSystemSyncAccessHandle = waited(handle.create_sync_access_handle()).await?;
            access.truncate_with_u32(0)?;
            Ok(access)
        };
        let access = opened.await.map_err(|error: JsValue| not_written(name, &error))?;
        Ok(Writer { name: name.to_owned(), access, at: 0.0 })
    }
}

/// A file that is written piece by piece.
pub struct Writer {
    name: String,
    access: FileSystemSyncAccessHandle,
    at: f64,
}

impl Writer {
    /// Writes a piece behind the others.
    pub fn write(&mut self, piece: &[u8]) -> Result<(), Interruption> {
        let options = FileSystemReadWriteOptions::new();
        options.set_at(self.at);
        let written = self.access.write_with_u8_array_and_options(piece, &options);
        let written = written.map_err(|error| not_written(&self.name, &error))?;
        if written < piece.len() as f64 {
            return Err(not_written(&self.name, &"the disk is full".into()));
        }
        self.at += written;
        Ok(())
    }

    /// Writes everything to the disk, and reports a failure.
    pub fn finish(self) -> Result<(), Interruption> {
        self.access.flush().map_err(|error| not_written(&self.name, &error))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.access.close();
    }
}

fn in_use(name: &str) -> Interruption {
    Interruption::Failed(format!("{name} is being written, by a recalibration or in another tab; stop that first."))
}

fn gone(name: &str) -> Interruption {
    Interruption::Failed(format!("{name} is no longer kept in this browser; add it again."))
}

fn not_written(name: &str, error: &JsValue) -> Interruption {
    Interruption::Failed(format!(
        "{name} could not be kept in this browser ({}); remove models or free space, and try again.",
        reason(error)
    ))
}

/// What was thrown, in words.
pub fn reason(error: &JsValue) -> String {
    let exception = error.dyn_ref::<DomException>().map(DomException::message);
    let thrown = exception.or_else(|| error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message())));
    thrown.or_else(|| error.as_string()).unwrap_or_else(|| "no reason given".to_owned())
}

/// The files of a message, behind its text.
pub fn files_of(message: &Array) -> Vec<File> {
    message.iter().skip(1).filter_map(|file| file.dyn_into().ok()).collect()
}
