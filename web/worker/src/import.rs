//! Models of the reader's own: from files, a zip or an address into the browser's store, piece by piece.

use drope_core::chat::{CHAT_TEMPLATE_FILE, ChatTemplate, TOKENIZER_CONFIG_FILE};
use drope_core::config::Config;
use drope_core::gguf::Gguf;
use drope_core::loaded_model::{CONFIG_FILE, INDEX_FILE, TOKENIZER_FILE, WEIGHTS_FILE};
use drope_core::model::{ReadAt, SafetensorsFiles, ShardIndex};
use drope_core::positions::Method;
use drope_core::tokenizer::Tokenizer;
use drope_protocol::{ChatFormat, Origin, StoredModel};
use web_sys::File;

use super::blob_file::BlobFile;
use super::capacity::Capacity;
use super::import_source::{Source, copy_file, folder_address};
use super::run::{Interruption, Run};
use super::store::{self, GGUF_FILE, StoredFolder};

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
        folder.discard().await;
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
    capacity.check(&config, Some(file.size() as f64))?;
    check_room(file.size() as f64).await?;
    folder.write(CONFIG_FILE, config.to_json().as_bytes()).await?;
    folder.write(TOKENIZER_FILE, tokenizer.to_json()?.as_bytes()).await?;
    let template = model.chat_template()?;
    if let Some(template) = &template {
        folder.write(TOKENIZER_CONFIG_FILE, template.to_json().as_bytes()).await?;
    }
    copy_file(file, GGUF_FILE, folder, name, run).await?;
    let note = StoredModel {
        name: name.to_owned(),
        weights: vec![GGUF_FILE.to_owned()],
        bytes: file.size() as f64,
        context: config.max_position_embeddings,
        parameters: model.num_parameters() as f64,
        method: Method::of(&config),
        chat: chat_format(template.is_some()),
        recalibration: None,
    };
    folder.write_note(&note).await
}

/// Refuses a model for which the browser has no room, before it is copied.
async fn check_room(needed: f64) -> Result<(), Interruption> {
    match store::room().await {
        Some(room) if needed > room => Err(Interruption::Failed(format!(
            "The model has {:.0} MB and this browser has room for {:.0} MB; remove models or free space.",
            needed / 1e6,
            room / 1e6
        ))),
        _ => Ok(()),
    }
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
    capacity.check(&config, None)?;
    let index = match source.has(WEIGHTS_FILE) {
        Some(true) => None,
        Some(false) => Some(source.text(INDEX_FILE, run).await?),
        // Whether an address has an index is only known once the file is requested.
        None => source.text(INDEX_FILE, run).await.ok(),
    };
    let index_text = index;
    let index = index_text.as_deref().map(ShardIndex::from_json).transpose()?;
    let weights: Vec<String> = match &index {
        Some(index) => index.files().into_iter().map(str::to_owned).collect(),
        None => vec![WEIGHTS_FILE.to_owned()],
    };
    check_size(source.size(&weights), config.num_parameters() as f64)?;
    if let Some(needed) = source.size(&weights) {
        check_room(needed).await?;
    }
    for file in &weights {
        source.check_head(file)?;
    }
    let template = template(&mut source, run).await?;
    if let Some(template) = &template {
        folder.write(TOKENIZER_CONFIG_FILE, template.to_json().as_bytes()).await?;
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
        chat: chat_format(template.is_some()),
        recalibration: None,
    };
    folder.write_note(&model).await
}

/// Refuses weights that are far larger than what the config calls for, before they are read.
fn check_size(bytes: Option<f64>, parameters: f64) -> Result<(), Interruption> {
    // Of 64 bits each, and once more for what is stored twice.
    let most = 16.0 * parameters + 1e6;
    match bytes {
        Some(bytes) if bytes > most => Err(Interruption::Failed(format!(
            "The weights have {:.0} MB, and config.json calls for {:.0} million numbers; choose the files of one model.",
            bytes / 1e6,
            parameters / 1e6
        ))),
        _ => Ok(()),
    }
}

/// The chat template, if one of the two files that may contain it does.
async fn template(source: &mut Source, run: &Run) -> Result<Option<ChatTemplate>, Interruption> {
    let mut texts = Vec::new();
    for file in [TOKENIZER_CONFIG_FILE, CHAT_TEMPLATE_FILE] {
        // Both files are optional.
        let bytes = if source.has(file) == Some(false) { None } else { source.text(file, run).await.ok() };
        texts.push(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
        run.check()?;
    }
    Ok(ChatTemplate::from_files(texts[0].as_deref(), texts[1].as_deref())?)
}

fn chat_format(has_template: bool) -> ChatFormat {
    if has_template { ChatFormat::Template } else { ChatFormat::None }
}
