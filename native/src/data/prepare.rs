//! `core data prepare`: files of text to shards of tokens. One thread reads, several tokenize, and what they have is written in
//! the order of the files, so that the shards do not depend on the number of threads.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use drope_core::loaded_model::TOKENIZER_FILE;
use drope_core::token_shards::TokenType;
use drope_core::tokenizer::Tokenizer;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::manifest::{DataManifest, MANIFEST_FILE};
use super::record::TextRecord;
use super::records;
use super::writer::{self, ShardProgress, ShardWriter};
use crate::messages::say;
use crate::progress::Progress;
use crate::{files, interrupt};

/// Bytes of text, and records, that are tokenized at once.
const BATCH_BYTES: usize = 8 << 20;
const BATCH_RECORDS: usize = 1 << 14;
/// Batches that are read ahead.
const AHEAD: usize = 2;
/// Time between two saves that a stopped run can go on from.
const SAVE_EVERY: Duration = Duration::from_secs(5);
/// Reasons that are printed; the others are counted.
const PRINTED: usize = 20;
/// How far the run is; removed at its end.
const PROGRESS_FILE: &str = "progress.json";
/// Places of the records that could not be used, and why, a line each.
const SKIPPED_FILE: &str = "skipped.txt";

/// What is prepared.
pub struct Preparation<'a> {
    pub text: &'a [String],
    pub column: &'a str,
    pub tokenizer: &'a Tokenizer,
    /// The token that every document begins with, and the one that it ends with.
    pub ends: [Option<u32>; 2],
    pub out: &'a Path,
    /// A shard ends with the document that takes it past so many tokens.
    pub shard_tokens: u64,
    pub threads: usize,
}

/// How far a run is, between two records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PrepareProgress {
    /// Number of the file, and of records of it that are done.
    file: usize,
    records: usize,
    /// The shard that is being written.
    shard: ShardProgress,
    /// Bytes of the list of what was skipped.
    skipped_bytes: u64,
    /// What was written so far.
    manifest: DataManifest,
    /// Of the files' names and sizes, since a file is known by its number; empty in files of earlier versions.
    #[serde(default)]
    files_hash: String,
    /// Tokens of a shard; 0 in files of earlier versions.
    #[serde(default)]
    shard_tokens: u64,
}

/// What was read: a record, a reason why there is none, or the end of a file.
struct Item<T> {
    file: usize,
    path: Arc<PathBuf>,
    /// `None` at the end of the file.
    content: Option<Result<T, String>>,
}

impl<T> Item<T> {
    fn map<U>(self, change: impl FnOnce(T) -> Result<U, String>) -> Item<U> {
        let Self { file, path, content } = self;
        Item { file, path, content: content.map(|content| content.and_then(change)) }
    }
}

/// A record as ids.
struct Tokens {
    ids: Vec<u32>,
    /// Bytes of its text.
    bytes: usize,
    is_end: bool,
}

impl Tokens {
    fn new(record: &TextRecord, tokenizer: &Tokenizer) -> Result<Self, String> {
        let ids = tokenizer.encode(&record.text).map_err(|error| error.to_string())?;
        Ok(Self { ids, bytes: record.text.len(), is_end: record.is_end })
    }
}

/// Writes the shards; goes on where an earlier run was stopped.
pub fn prepare(preparation: &Preparation) -> Result<DataManifest> {
    let Preparation { text, column, tokenizer, ends: [begin, end], out, .. } = *preparation;
    let json = tokenizer.to_json()?;
    let manifest = DataManifest {
        text: text.to_vec(),
        column: column.to_owned(),
        tokenizer: drope_core::hash::short_hash(&[json.as_bytes()]),
        vocab_size: tokenizer.vocab_size(),
        begin,
        end,
        files: 0,
        bytes: 0,
        skipped: 0,
        shards: Vec::new(),
    };
    let (paths, bytes) = files_of_text(text, out)?;
    files::check_writable(&out.join(MANIFEST_FILE))?;
    let Some(_lock) = files::try_lock(&out.join(MANIFEST_FILE))? else {
        bail!("{} is being written by another command; wait for its end", out.display())
    };
    ensure!(!out.join(MANIFEST_FILE).exists(), "{} holds shards already; choose another --out", out.display());
    let begin = PrepareProgress {
        file: 0,
        records: 0,
        shard: ShardProgress::default(),
        skipped_bytes: 0,
        manifest,
        files_hash: hash_of_names_and_sizes(&paths),
        shard_tokens: preparation.shard_tokens,
    };
    let mut progress = begin_or_go_on(out, begin)?;
    files::write(&out.join(TOKENIZER_FILE), json.as_bytes())?;
    interrupt::watch();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(preparation.threads).build()?;
    let mut run = ShardOutput::open(preparation, &mut progress)?;
    let bar = Progress::of_bytes(bytes)?;
    let (send, batches) = mpsc::sync_channel(AHEAD);
    let begin = (run.progress.file, run.progress.records);
    let (column, done) = (column.to_owned(), Arc::new(AtomicU64::new(bytes_before(&paths, begin.0))));
    let done_by_reader = Arc::clone(&done);
    bar.go_on_from(done.load(Ordering::Relaxed));
    let reader = std::thread::spawn(move || read(paths, begin, &column, &done_by_reader, &send));
    let (started, before, mut saved) = (Instant::now(), run.progress.manifest.bytes, Instant::now());
    for batch in batches {
        let batch: Vec<Item<TextRecord>> = batch;
        let encode = |item: Item<TextRecord>| item.map(|record| Tokens::new(&record, tokenizer));
        let batch: Vec<Item<Tokens>> = pool.install(|| batch.into_par_iter().map(encode).collect());
        batch.into_iter().try_for_each(|item| run.take(item))?;
        let PrepareProgress { manifest, .. } = &run.progress;
        let speed = (manifest.bytes - before) as f64 / 1e6 / started.elapsed().as_secs_f64();
        bar.set_position(done.load(Ordering::Relaxed));
        bar.set_message(format!("{} files, {speed:.1} MB/s", manifest.files));
        if interrupt::requested() || saved.elapsed() > SAVE_EVERY {
            run.save()?;
            saved = Instant::now();
            interrupt::check("stopped; the same command goes on")?;
        }
    }
    bar.finish_and_clear();
    ensure!(
        reader.join().is_ok(),
        "reading broke off after {} files; mend the next one or leave it out, and prepare into another --out",
        run.progress.manifest.files
    );
    run.finish()
}

/// All files that the patterns name, each once and in their order, and their bytes; not those that the command itself writes into `out`.
pub fn files_of_text(patterns: &[String], out: &Path) -> Result<(Vec<PathBuf>, u64)> {
    let out = files::absolute(out);
    let is_own = |place: &Path| {
        let name = files::name(place);
        let is_written = [MANIFEST_FILE, TOKENIZER_FILE, PROGRESS_FILE, SKIPPED_FILE].contains(&&*name)
            || name.starts_with('.')
            || place.extension().is_some_and(|kind| ["bin", "idx", "part"].iter().any(|own| kind == *own));
        place.parent() == Some(&*out) && is_written
    };
    let (mut paths, mut bytes, mut known) = (Vec::new(), 0, HashSet::new());
    for pattern in patterns {
        let found = glob::glob(pattern).with_context(|| format!("{pattern:?} is no pattern of files"))?;
        let mut has_found = false;
        for path in found {
            let path = path.context("a folder cannot be read; check permissions")?;
            let metadata = path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
            let place = files::absolute(&path);
            if metadata.is_file() && !is_own(&place) {
                has_found = true;
                if known.insert(place) {
                    bytes += metadata.len();
                    paths.push(path);
                }
            }
        }
        ensure!(has_found, "no file has a name like {pattern}; check --text");
    }
    Ok((paths, bytes))
}

/// Hash of the names of files and their sizes.
pub fn hash_of_names_and_sizes(paths: &[PathBuf]) -> String {
    let text = |path: &PathBuf| format!("{} {}\n", path.display(), bytes_of(path));
    drope_core::hash::short_hash(&[paths.iter().map(text).collect::<String>().as_bytes()])
}

/// The progress of a run that was stopped, if it has the settings of this one; else that of its `begin`.
fn begin_or_go_on(out: &Path, begin: PrepareProgress) -> Result<PrepareProgress> {
    let path = out.join(PROGRESS_FILE);
    if !path.exists() {
        return Ok(begin);
    }
    let progress: PrepareProgress = serde_json::from_str(&files::read_text(&path)?)
        .with_context(|| format!("{} is damaged; remove the folder and begin again", path.display()))?;
    let settings = |manifest: &DataManifest| DataManifest {
        files: 0,
        bytes: 0,
        skipped: 0,
        shards: Vec::new(),
        ..manifest.clone()
    };
    ensure!(
        settings(&progress.manifest) == settings(&begin.manifest)
            && (progress.files_hash.is_empty() || progress.files_hash == begin.files_hash)
            && (progress.shard_tokens == 0 || progress.shard_tokens == begin.shard_tokens),
        "{} holds a run with other files (names or sizes), columns, sizes of shards or another tokenizer; choose another --out",
        out.display()
    );
    Ok(progress)
}

/// Reads the files from a file and a record of it on and sends batches, until nobody takes them. `done` counts bytes of files that were
/// read; a file that cannot be read to its end counts whole.
fn read(
    paths: Vec<PathBuf>,
    (first, first_record): (usize, usize),
    column: &str,
    done: &Arc<AtomicU64>,
    send: &SyncSender<Vec<Item<TextRecord>>>,
) {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let mut ends = bytes_before(&paths, first);
    for (file, path) in paths.into_iter().enumerate().skip(first) {
        ends += bytes_of(&path);
        let path = Arc::new(path);
        let records = match records::records(&path, column, done) {
            Ok(records) => records,
            Err(reason) => Box::new(std::iter::once(Err(reason))),
        };
        let known = if file == first { first_record } else { 0 };
        let items = records.skip(known).map(Some).chain([None]);
        for record in items {
            bytes += record.as_ref().and_then(|record| record.as_ref().ok()).map_or(0, |record| record.text.len());
            batch.push(Item { file, path: Arc::clone(&path), content: record });
            if bytes >= BATCH_BYTES || batch.len() >= BATCH_RECORDS {
                if send.send(std::mem::take(&mut batch)).is_err() {
                    return;
                }
                bytes = 0;
            }
        }
        done.store(ends, Ordering::Relaxed);
    }
    // Nobody takes it after Ctrl-C.
    let _ = send.send(batch);
}

fn bytes_of(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}

/// Bytes of the files before one of them.
fn bytes_before(paths: &[PathBuf], file: usize) -> u64 {
    paths.iter().take(file).map(|path| bytes_of(path)).sum()
}

/// What is being written.
struct ShardOutput<'a> {
    preparation: &'a Preparation<'a>,
    progress: &'a mut PrepareProgress,
    token_type: TokenType,
    writer: ShardWriter,
}

impl<'a> ShardOutput<'a> {
    fn open(preparation: &'a Preparation<'a>, progress: &'a mut PrepareProgress) -> Result<Self> {
        let token_type = TokenType::of_vocabulary(preparation.tokenizer.vocab_size());
        let number = progress.manifest.shards.len();
        let writer = ShardWriter::open(preparation.out, number, token_type, progress.shard)?;
        let skipped = preparation.out.join(SKIPPED_FILE);
        if skipped.exists() {
            let cut = || std::fs::File::options().write(true).open(&skipped)?.set_len(progress.skipped_bytes);
            cut().with_context(|| format!("cannot write {}", skipped.display()))?;
        }
        Ok(Self { preparation, progress, token_type, writer })
    }

    fn take(&mut self, Item { file, path, content }: Item<Tokens>) -> Result<()> {
        let Some(content) = content else {
            // A document of a file that broke off ends with it.
            self.end_document()?;
            (self.progress.file, self.progress.records) = (file + 1, 0);
            self.progress.manifest.files += 1;
            return Ok(());
        };
        // With the tokens that begin and end a document. This may save the progress, so that nothing of the piece is counted before.
        if content.as_ref().is_ok_and(|tokens| !self.writer.progress.has_room(tokens.ids.len() + 2)) {
            self.end_document()?;
        }
        self.progress.file = file;
        self.progress.records += 1;
        match content {
            Ok(Tokens { ids, bytes, is_end }) => {
                self.progress.manifest.bytes += bytes as u64;
                if self.writer.progress.open == 0 && !ids.is_empty() {
                    self.writer.push(self.preparation.ends[0].as_slice())?;
                }
                self.writer.push(&ids)?;
                if is_end { self.end_document() } else { Ok(()) }
            }
            Err(reason) => self.skip(&path, &reason),
        }
    }

    fn end_document(&mut self) -> Result<()> {
        if self.writer.progress.open > 0 {
            self.writer.push(self.preparation.ends[1].as_slice())?;
        }
        self.writer.end_document()?;
        if self.writer.progress.tokens >= self.preparation.shard_tokens { self.next_shard() } else { Ok(()) }
    }

    fn next_shard(&mut self) -> Result<()> {
        let number = self.progress.manifest.shards.len() + 1;
        let next = ShardWriter::open(self.preparation.out, number, self.token_type, ShardProgress::default())?;
        let entry = std::mem::replace(&mut self.writer, next).finish()?;
        self.progress.manifest.shards.push(entry.clone());
        self.save()?;
        writer::remove_lengths(self.preparation.out, &entry)
    }

    fn skip(&mut self, path: &Path, reason: &str) -> Result<()> {
        self.progress.manifest.skipped += 1;
        let line = format!("{}: {}", path.display(), reason.replace('\n', " "));
        if self.progress.manifest.skipped <= PRINTED {
            say(format_args!("skipped {line}"));
        }
        let list = self.preparation.out.join(SKIPPED_FILE);
        files::append_line(&list, &list, &line)?;
        self.progress.skipped_bytes += line.len() as u64 + 1;
        Ok(())
    }

    /// Keeps the place, so that a stopped run goes on there.
    fn save(&mut self) -> Result<()> {
        self.writer.sync()?;
        self.progress.shard = self.writer.progress;
        files::write(&self.preparation.out.join(PROGRESS_FILE), serde_json::to_string(&self.progress)?.as_bytes())
    }

    fn finish(mut self) -> Result<DataManifest> {
        self.save()?;
        let out = self.preparation.out;
        let mut manifest = self.progress.manifest.clone();
        if self.writer.progress.documents > 0 {
            manifest.shards.push(self.writer.finish()?);
        } else {
            self.writer.remove()?;
        }
        let progress = out.join(PROGRESS_FILE);
        let remove =
            || std::fs::remove_file(&progress).with_context(|| format!("cannot remove {}", progress.display()));
        if manifest.tokens() == 0 {
            // So that the folder can be taken for another column or other files.
            remove()?;
            bail!(
                "the files hold no text in the field {:?}; name the right one with --column, or see {}",
                manifest.column,
                out.join(SKIPPED_FILE).display()
            );
        }
        files::write(&out.join(MANIFEST_FILE), (serde_json::to_string_pretty(&manifest)? + "\n").as_bytes())?;
        manifest.shards.iter().try_for_each(|shard| writer::remove_lengths(out, shard))?;
        remove()?;
        Ok(manifest)
    }
}
