//! Models on disk: Hugging Face folders of `config.json`, `tokenizer.json` and the weights, or GGUF files, which hold all three.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burn::tensor::Device;
use drope_core::chat::{CHAT_TEMPLATE_FILE, ChatTemplate, TOKENIZER_CONFIG_FILE};
use drope_core::config::dope::DopeHeads;
use drope_core::config::{Config, MODELING_FILE};
use drope_core::loaded_model::{CONFIG_FILE, INDEX_FILE, LoadedModel, TOKENIZER_FILE, WEIGHTS_FILE};
use drope_core::model::{Model, NumberTypes, StoredType, WeightSource, write_safetensors};
use drope_core::positions::Method;
use drope_core::results;
use drope_core::tokenizer::Tokenizer;

use super::card::{self, CARD_FILE};
use super::weights_files::{self, cannot_use};
use crate::files;
use crate::messages::say;
use crate::progress::Progress;

/// Where Hugging Face's folders say at which tokens answers end.
const GENERATION_CONFIG_FILE: &str = "generation_config.json";
/// Where older folders name the tokens that begin, end and pad texts.
const SPECIAL_TOKENS_FILE: &str = "special_tokens_map.json";
/// State of `core search`, beside the model that it found.
pub const SEARCH_FILE: &str = "search.json";

/// Reads all three files and checks that they belong together.
pub fn load(folder: &Path, types: NumberTypes, device: &Device) -> Result<LoadedModel> {
    let (config, weights) = (config(folder)?, weights_files::open(folder)?);
    let tokenizer = tokenizer(folder, &config)?;
    let hash = weights_files::hash(folder)?.finish();
    let loaded = LoadedModel::new(config, tokenizer, &weights, hash, types, device);
    let loaded = loaded.with_context(|| cannot_use(folder))?;
    warn_of_unused(folder, &loaded.unused_tensors);
    Ok(loaded)
}

/// Reads `config.json`, or what a GGUF says in its place.
pub fn config(folder: &Path) -> Result<Config> {
    if weights_files::is_gguf(folder) {
        return weights_files::gguf(folder)?.config().with_context(|| cannot_use(folder));
    }
    let text = files::read_text(&folder.join(CONFIG_FILE))?;
    let config = Config::from_json(&text).with_context(|| cannot_use(folder))?;
    let generation = folder.join(GENERATION_CONFIG_FILE);
    if !generation.exists() {
        return Ok(config);
    }
    config.with_generation_config(&files::read_text(&generation)?).with_context(|| cannot_use(folder))
}

/// Reads the weights.
pub fn model(folder: &Path, config: &Config, device: &Device) -> Result<Model> {
    let loaded = Model::load(config, &weights_files::open(folder)?, device);
    checked(folder, loaded)
}

/// Reads the weights for inference only, and keeps them in memory as `types` says.
pub fn model_as(folder: &Path, config: &Config, types: NumberTypes, device: &Device) -> Result<Model> {
    let loaded = Model::load_as(config, &weights_files::open(folder)?, types, device);
    checked(folder, loaded)
}

fn checked(folder: &Path, loaded: drope_core::Result<(Model, Vec<String>)>) -> Result<Model> {
    let (model, unused) = loaded.with_context(|| cannot_use(folder))?;
    warn_of_unused(folder, &unused);
    Ok(model)
}

/// Reads `tokenizer.json` and checks that it belongs to the model.
pub fn tokenizer(folder: &Path, config: &Config) -> Result<Tokenizer> {
    let tokenizer = if weights_files::is_gguf(folder) {
        weights_files::gguf(folder)?.tokenizer()
    } else {
        Tokenizer::from_json(&files::read(&folder.join(TOKENIZER_FILE))?)
    };
    let tokenizer = tokenizer.with_context(|| cannot_use(folder))?;
    tokenizer.check(config.vocab_size).with_context(|| cannot_use(folder))?;
    Ok(tokenizer)
}

/// How the model wants conversations written; `None` where it does not say.
pub fn chat_template(folder: &Path) -> Result<Option<ChatTemplate>> {
    if weights_files::is_gguf(folder) {
        return weights_files::gguf(folder)?.chat_template().with_context(|| cannot_use(folder));
    }
    let read = |file: &str| {
        let path = folder.join(file);
        path.exists().then(|| files::read_text(&path)).transpose()
    };
    let (config, own_file) = (read(TOKENIZER_CONFIG_FILE)?, read(CHAT_TEMPLATE_FILE)?);
    ChatTemplate::from_files(config.as_deref(), own_file.as_deref()).with_context(|| cannot_use(folder))
}

/// The chat template, for a command that was called with --chat.
///
/// # Errors
/// As [`chat_template`], and if there is none.
pub fn asked_chat_template(folder: &Path) -> Result<ChatTemplate> {
    chat_template(folder)?
        .with_context(|| format!("the model in {} has no chat template; leave out --chat", folder.display()))
}

/// Reads the heads that `core dope select` wrote.
pub fn dope_heads(path: &Path) -> Result<DopeHeads> {
    let text = files::read_text(path)?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} does not name heads; write it with `core dope select`", path.display()))
}

/// Identifies the model in a folder, read with `method`, among models of the same name ([`LoadedModel::fingerprint`],
/// without the weights on a device). `heads` are for DoPE, in place of those in the config.
pub fn fingerprint(folder: &Path, method: Method, heads: Option<&DopeHeads>) -> Result<String> {
    Identity::read(folder)?.fingerprint(method, heads)
}

/// What fingerprints of a model are made of: its weights are hashed once for all methods.
pub struct Identity {
    pub config: Config,
    tokenizer: Tokenizer,
    weights_hash: String,
}

impl Identity {
    /// Reads the config and the tokenizer, and hashes the weights.
    pub fn read(folder: &Path) -> Result<Self> {
        let config = config(folder)?;
        let tokenizer = tokenizer(folder, &config)?;
        Ok(Self { config, tokenizer, weights_hash: weights_files::hash(folder)?.finish() })
    }

    /// As [`fingerprint`].
    pub fn fingerprint(&self, method: Method, heads: Option<&DopeHeads>) -> Result<String> {
        let dope_heads = heads.or(self.config.dope_heads.as_ref()).cloned();
        let config = Config { dope_heads, ..self.config.clone() };
        Ok(results::fingerprint(&config, &self.tokenizer, &self.weights_hash, method)?)
    }
}

/// What a model's folder holds beside the weights.
#[derive(Clone, Copy)]
pub struct ModelMetadata<'a> {
    pub config: &'a Config,
    pub tokenizer: &'a Tokenizer,
    pub side_files: &'a [SideFile],
}

/// A file that other programs read beside config, tokenizer and weights: its name, and its content.
pub type SideFile = (&'static str, String);

/// Reads these files of a model; of a GGUF there is the chat template alone, as a `tokenizer_config.json`.
pub fn side_files(model: &Path) -> Result<Vec<SideFile>> {
    if weights_files::is_gguf(model) {
        let template = chat_template(model)?;
        return Ok(template.iter().map(|template| (TOKENIZER_CONFIG_FILE, template.to_json())).collect());
    }
    let names = [TOKENIZER_CONFIG_FILE, CHAT_TEMPLATE_FILE, SPECIAL_TOKENS_FILE, GENERATION_CONFIG_FILE];
    let there = names.into_iter().filter(|name| model.join(name).exists());
    there.map(|name| Ok((name, files::read_text(&model.join(name))?))).collect()
}

/// Writes the files of a model, each atomically; the weights last, so that a folder with weights is whole.
pub fn save(folder: &Path, model: &Model, metadata: ModelMetadata) -> Result<()> {
    let path = folder.join(WEIGHTS_FILE);
    let weights = files::stage(&path, |out| {
        pollster::block_on(model.write_safetensors(StoredType::F32, out))
            .with_context(|| format!("cannot write {}", path.display()))
    })?;
    save_config(folder, &metadata.config.clone().with_torch_dtype(StoredType::F32.torch_name()))?;
    save_rest(folder, metadata, weights)
}

/// Writes the weights of the model at `from` into a folder, with another type and without the whole of them in memory, in a form that
/// transformers reads without a program of ours where there is one. `from` is where the weights come from.
pub fn copy(
    from: &Path,
    source: &impl WeightSource,
    folder: &Path,
    metadata: ModelMetadata,
    stored_type: StoredType,
) -> Result<()> {
    let mut unused = Vec::new();
    let bar = bar_of_weights(metadata.config, stored_type)?;
    let weights = files::stage(&folder.join(WEIGHTS_FILE), |out| {
        let out = &mut bar.wrap_write(out);
        unused = write_safetensors(metadata.config, source, stored_type, out).with_context(|| cannot_use(from))?;
        Ok(())
    })?;
    bar.finish_and_clear();
    warn_of_unused(from, &unused);
    let config = metadata.config.clone().with_torch_dtype(stored_type.torch_name());
    let plain = config.to_plain_json();
    match &plain {
        Some(json) => files::write(&folder.join(CONFIG_FILE), json.as_bytes())?,
        None => save_config(folder, &config)?,
    }
    let written = plain.unwrap_or_else(|| config.to_json());
    let card = card::of_converted(&files::name(from), &files::name(folder), &config, &written)?;
    files::write(&folder.join(CARD_FILE), card.as_bytes())?;
    save_rest(folder, metadata, weights)
}

/// A bar of the bytes of a model's weights.
pub fn bar_of_weights(config: &Config, stored_type: StoredType) -> Result<Progress> {
    Progress::of_bytes(config.num_parameters() * stored_type.size() as u64)
}

/// Copies the files of a model's folder as they are, but for the config, locks and what a search left. The weights are copied last and
/// the list of their shards behind them, so that a folder with weights is whole.
pub fn copy_files(from: &Path, folder: &Path, config: &Config) -> Result<()> {
    let cannot_read = || format!("cannot read {}", from.display());
    let entries: Vec<_> = from.read_dir().and_then(Iterator::collect).with_context(cannot_read)?;
    let mut paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).filter(|path| path.is_file()).collect();
    paths.sort_by_key(|path| {
        let is_weights = path.extension().is_some_and(|extension| extension == "safetensors");
        (path.ends_with(INDEX_FILE), is_weights)
    });
    save_config(folder, config)?;
    let bar = Progress::of_bytes(paths.iter().filter_map(|path| path.metadata().ok()).map(|file| file.len()).sum())?;
    for path in paths {
        let name = path.file_name().unwrap_or_default();
        let target = folder.join(name);
        let is_of_a_run = name == SEARCH_FILE || name.as_encoded_bytes().starts_with(b".");
        if !is_of_a_run && name != CONFIG_FILE && name != MODELING_FILE {
            let mut source = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let copied = files::stage(&target, |out| {
                std::io::copy(&mut source, &mut bar.wrap_write(out))
                    .with_context(|| format!("cannot write {}", target.display()))?;
                Ok(())
            })?;
            copied.commit()?;
        }
    }
    bar.finish_and_clear();
    card::write_again(folder, config)
}

/// Writes the config of a model anew, and what its card says of it.
pub fn change_config(folder: &Path, config: &Config) -> Result<()> {
    save_config(folder, config)?;
    card::write_again(folder, config)
}

/// The tokenizer and what goes with it, then the weights.
fn save_rest(folder: &Path, metadata: ModelMetadata, weights: files::Staged) -> Result<()> {
    files::write(&folder.join(TOKENIZER_FILE), metadata.tokenizer.to_json()?.as_bytes())?;
    for (name, content) in metadata.side_files {
        files::write(&folder.join(name), content.as_bytes())?;
    }
    weights.commit()
}

/// Writes `config.json`, and what transformers needs to read it.
fn save_config(folder: &Path, config: &Config) -> Result<()> {
    if let Some(modeling) = config.modeling() {
        files::write(&folder.join(MODELING_FILE), modeling.as_bytes())?;
    }
    files::write(&folder.join(CONFIG_FILE), config.to_json().as_bytes())
}

/// Says which tensors of the weights the model does not use.
pub fn warn_of_unused(folder: &Path, unused: &[String]) {
    if !unused.is_empty() {
        say(format_args!("warning: the model in {} does not use the tensors {}", folder.display(), unused.join(", ")));
    }
}

/// Name of a model in results: that of its folder.
pub fn model_name(folder: &Path) -> Result<String> {
    let folder = folder
        .canonicalize()
        .with_context(|| format!("cannot find the model {}; check that the path is right", folder.display()))?;
    Ok(files::name(&folder))
}
