//! The command of a job, read by the parser of the command line itself.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::ArgMatches;
use clap::parser::ValueSource;
use drope_core::hash::short_hash;
use drope_core::loaded_model::{CONFIG_FILE, TOKENIZER_FILE};

use crate::data;
use crate::files::{self, weights_files};
use crate::training::{self, recipe};

/// Commands that refuse to overwrite what `--out` names.
const MAKERS: [&str; 5] = ["pretrain", "recalibrate", "fit-scale", "longrope2", "prepare"];

/// Arguments whose files are hashed in ways of their own, or are written.
const KNOWN_PATHS: [&str; 7] = ["recipe", "from", "model", "tuned", "out", "json", "to"];

/// A command of this program and what the queue needs to know of it.
pub struct JobCommand {
    /// Its arguments, as the plan has them.
    pub words: Vec<String>,
    /// The arguments without the path of the study's folder, so that they stay the same if the folder is moved.
    words_anywhere: Vec<String>,
    /// Whether it takes `--threads` and the plan does not give it.
    takes_threads: bool,
    recipe: Option<PathBuf>,
    /// Folders of models that it reads.
    models: Vec<PathBuf>,
    /// What `core tune` found, if it reads that.
    tuned: Option<PathBuf>,
    /// Texts, questions and shards that it reads.
    inputs: Vec<PathBuf>,
    /// Patterns of files of text that `core data prepare` reads.
    texts: Vec<String>,
    /// Whether it trains, and so goes on with what is not whole.
    trains: bool,
    /// The update after which it pauses.
    until: Option<usize>,
    /// The folder or GGUF that it makes and that it refuses to overwrite.
    makes: Option<PathBuf>,
    /// The model whose config it changes.
    changes: Option<PathBuf>,
}

/// Reads a command; `words_anywhere` are its words without the path of the study's folder.
///
/// # Errors
/// If the command line would refuse the command, or its recipe is not a recipe.
pub fn parse(words: Vec<String>, words_anywhere: Vec<String>, cli: &clap::Command) -> Result<JobCommand> {
    let matches = cli.clone().try_get_matches_from(["core"].into_iter().chain(words.iter().map(String::as_str)));
    let matches = matches.map_err(|error| {
        let text = error.to_string();
        let sentence = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        anyhow::anyhow!("`core {}` is not a command: {sentence}", words.join(" "))
    })?;
    let (mut command, mut matches) = (cli, &matches);
    while let Some((name, inner)) = matches.subcommand() {
        ensure!(name != "study", "a study cannot be a job of a study");
        command = command.find_subcommand(name).context("clap knows its own commands")?;
        matches = inner;
    }
    let takes = |name: &str| command.get_arguments().any(|argument| argument.get_id() == name);
    if takes("resume") && matches.get_flag("resume") {
        bail!("leave out --resume; the study knows when a run goes on");
    }
    let trains_elsewhere = matches.try_get_one("engine").ok().flatten() == Some(&training::Engine::Torch);
    let changes_config = match command.get_name() {
        "fit-scale" => path(matches, "out").is_none(),
        "select" => matches.get_flag("save"),
        _ => false,
    };
    let of_inputs = command.get_arguments().map(|argument| argument.get_id().as_str());
    let of_inputs = of_inputs.filter(|name| !KNOWN_PATHS.contains(name));
    let mut parsed = JobCommand {
        takes_threads: takes("threads") && matches.value_source("threads") == Some(ValueSource::DefaultValue),
        recipe: path(matches, "recipe"),
        models: ["from", "model"].into_iter().filter_map(|name| path(matches, name)).collect(),
        tuned: path(matches, "tuned"),
        inputs: of_inputs.flat_map(|name| paths(matches, name)).collect(),
        trains: takes("resume") && !trains_elsewhere,
        makes: made_by(command.get_name(), matches),
        until: matches.try_get_one::<usize>("until").ok().flatten().copied(),
        texts: matches.try_get_many("text").ok().flatten().into_iter().flatten().cloned().collect(),
        changes: path(matches, "model").filter(|_| changes_config),
        words,
        words_anywhere,
    };
    if let Some(recipe) = &parsed.recipe {
        let settings = matches.try_get_many::<recipe::Settings>("set").ok().flatten();
        let settings: recipe::Settings = settings.into_iter().flatten().flatten().cloned().collect();
        let shards = recipe::read(recipe, &settings)?.data.map(|data| data.shards).unwrap_or_default();
        parsed.inputs.extend(shards.into_iter().map(|shards| PathBuf::from(shards.folder)));
    }
    Ok(parsed)
}

/// The folder or file that a command makes and refuses to overwrite.
fn made_by(command: &str, matches: &ArgMatches) -> Option<PathBuf> {
    match command {
        "merge" => path(matches, "json"),
        _ => path(matches, "to").or_else(|| path(matches, "out").filter(|_| MAKERS.contains(&command))),
    }
}

/// Whether a file, a model, shards or a folder for PyTorch were written to their end: each folder has a file that is written last.
fn is_whole(path: &Path) -> bool {
    let last = [data::MANIFEST_FILE, training::PLAN_FILE];
    path.is_file() || weights_files::holds_weights(path) || last.iter().any(|file| path.join(file).exists())
}

/// The value of an argument that is a path, if the command has such an argument and it is given.
fn path(matches: &ArgMatches, name: &str) -> Option<PathBuf> {
    matches.try_get_one::<PathBuf>(name).ok().flatten().cloned()
}

/// The values of an argument that takes paths.
fn paths(matches: &ArgMatches, name: &str) -> Vec<PathBuf> {
    matches.try_get_many::<PathBuf>(name).ok().flatten().into_iter().flatten().cloned().collect()
}

/// Hash of a file, or of what a folder says of its files: its list of shards, a model's tokenizer, or their names and sizes.
fn hash_of_input(path: &Path) -> Result<String> {
    if path.is_file() {
        return files::file_hash(path);
    }
    if !path.exists() {
        // The command itself says so.
        return Ok(String::new());
    }
    let manifest = path.join(data::MANIFEST_FILE);
    if manifest.exists() {
        return files::file_hash(&manifest);
    }
    if path.join(TOKENIZER_FILE).exists() {
        // What else is there changes nothing for a command that reads a tokenizer.
        let files = [TOKENIZER_FILE, CONFIG_FILE].map(|name| path.join(name));
        let hashes: Vec<String> =
            files.iter().filter(|file| file.exists()).map(|file| files::file_hash(file)).collect::<Result<_>>()?;
        return Ok(short_hash(&[hashes.concat().as_bytes()]));
    }
    let entries: Vec<_> = path.read_dir().and_then(Iterator::collect).with_context(|| files::cannot_read(path))?;
    let name_and_size = |entry: &std::fs::DirEntry| {
        let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
        format!("{} {bytes}\n", entry.file_name().display())
    };
    let mut names: Vec<String> = entries.iter().map(name_and_size).collect();
    names.sort();
    Ok(short_hash(&[names.concat().as_bytes()]))
}

impl JobCommand {
    /// What the command makes and refuses to overwrite.
    pub fn output(&self) -> Option<&PathBuf> {
        self.makes.as_ref()
    }

    /// The model whose config the command changes.
    pub fn changed_model(&self) -> Option<&PathBuf> {
        self.changes.as_ref()
    }

    /// Arguments to run it with now: with one thread, and going on with an unfinished training run.
    pub fn arguments(&self) -> Result<Vec<String>> {
        let mut words = self.words.clone();
        if self.takes_threads {
            words.extend(["--threads", "1"].map(str::to_owned));
        }
        if let Some(folder) = self.makes.as_ref().filter(|_| self.trains)
            && training::unfinished(folder)?.is_some()
        {
            words.push("--resume".to_owned());
        }
        Ok(words)
    }

    /// Hash of the command, its recipe, the models, tuned parameters and texts that it reads and the keys of the jobs before it.
    /// Files in `made`, absolute paths, are made by earlier jobs, whose keys are hashed instead of the files. `hashes` are those of weights that
    /// are known already.
    pub fn key(&self, made: &[PathBuf], before: &[&str], hashes: &mut HashMap<PathBuf, String>) -> Result<String> {
        let is_given = |path: &&PathBuf| {
            let path = files::absolute(path);
            !made.iter().any(|made| path.starts_with(made))
        };
        let mut parts = vec![serde_json::to_vec(&self.words_anywhere)?, serde_json::to_vec(before)?];
        if let Some(recipe) = &self.recipe {
            // Comments and the order of fields change nothing.
            let recipe: serde_json::Value = toml::from_str(&files::read_text(recipe)?)?;
            parts.push(serde_json::to_vec(&recipe)?);
        }
        for model in self.models.iter().filter(is_given) {
            // A GGUF has its config within.
            if !weights_files::is_gguf(model) {
                parts.push(files::read(&model.join(CONFIG_FILE))?);
            }
            let hash = match hashes.get(model) {
                Some(hash) => hash.clone(),
                None => weights_files::hash(model)?.finish(),
            };
            parts.push(hash.clone().into_bytes());
            hashes.insert(model.clone(), hash);
        }
        if let Some(tuned) = self.tuned.as_ref().filter(is_given) {
            parts.push(files::read(tuned)?);
        }
        for input in self.inputs.iter().filter(is_given) {
            parts.push(hash_of_input(input)?.into_bytes());
        }
        if let Some(shards) = self.makes.as_ref().filter(|_| !self.texts.is_empty()) {
            // Where there are none, the command itself says so.
            let (files, _) = data::files_of_text(&self.texts, shards).unwrap_or_default();
            let files: Vec<PathBuf> = files.into_iter().filter(|file| is_given(&file)).collect();
            parts.push(data::hash_of_names_and_sizes(&files).into_bytes());
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        Ok(short_hash(&parts))
    }

    /// Whether what the command makes or changes is not there any more, as on a machine that got only the records and results.
    pub fn lacks_its_output(&self) -> bool {
        let is_paused = |path: &Path| {
            self.until.is_some() && training::unfinished(path).is_ok_and(|step| step.is_some() && step == self.until)
        };
        self.makes.iter().chain(&self.changes).any(|path| !is_whole(path) && !is_paused(path))
    }

    /// Whether all that the command makes is there.
    pub fn is_made(&self) -> Result<bool> {
        Ok(match &self.makes {
            Some(path) => is_whole(path) && !(self.trains && training::unfinished(path)?.is_some()),
            None => false,
        })
    }
}
