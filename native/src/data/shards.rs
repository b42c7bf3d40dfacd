//! Data shards on disk, read document by document.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use drope_core::hash::short_hash;
use drope_core::loaded_model::TOKENIZER_FILE;
use drope_core::token_shards::TokenIndex;
use drope_core::tokenizer::Tokenizer;

use super::manifest::{DataManifest, MANIFEST_FILE};
use crate::files;
use crate::progress::Progress;

/// A folder of shards.
pub struct DataShards {
    folder: PathBuf,
    pub manifest: DataManifest,
    /// One a shard.
    pub indices: Vec<TokenIndex>,
}

impl DataShards {
    /// Reads the manifest and the indices.
    ///
    /// # Errors
    /// If one is missing or damaged, or a shard is not as long as its index says.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST_FILE);
        ensure!(path.exists(), "{} holds no data shards; write them with `core data prepare`", folder.display());
        let manifest: DataManifest = serde_json::from_str(&files::read_text(&path)?)
            .with_context(|| format!("{} is no list of data shards", path.display()))?;
        let index = |name: &str| {
            let (bin, idx) = (folder.join(format!("{name}.bin")), folder.join(format!("{name}.idx")));
            let len = bin.metadata().with_context(|| format!("cannot read {}", bin.display()))?.len();
            TokenIndex::from_bytes(&files::read(&idx)?, len).with_context(|| idx.display().to_string())
        };
        let indices = manifest.shards.iter().map(|shard| index(&shard.name)).collect::<Result<_>>()?;
        Ok(Self { folder: folder.to_owned(), manifest, indices })
    }

    /// Compares the files with the hashes of the manifest, which takes a minute for some gigabytes.
    ///
    /// # Errors
    /// If a file was changed.
    pub fn verify(&self) -> Result<()> {
        let bar = Progress::of_items(self.manifest.shards.len())?;
        bar.set_message(format!("shards of {} compared with their hashes", self.folder.display()));
        for shard in &self.manifest.shards {
            for (kind, expected) in [("bin", &shard.bin_hash), ("idx", &shard.idx_hash)] {
                let path = self.folder.join(format!("{}.{kind}", shard.name));
                if files::file_hash(&path)? != *expected {
                    bail!("{} was changed since it was written; write the shards again", path.display());
                }
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Refuses shards of another tokenizer.
    pub fn check_tokenizer(&self, tokenizer: &Tokenizer) -> Result<()> {
        ensure!(
            self.manifest.tokenizer == short_hash(&[tokenizer.to_json()?.as_bytes()]),
            "the shards in {} are of another tokenizer than the model's; prepare the text again with the model as --tokenizer",
            self.folder.display()
        );
        Ok(())
    }

    /// The tokenizer that wrote the ids.
    pub fn tokenizer(&self) -> Result<Tokenizer> {
        let path = self.folder.join(TOKENIZER_FILE);
        Tokenizer::from_json(&files::read(&path)?).with_context(|| path.display().to_string())
    }

    /// Number of tokens of every document.
    pub fn lengths(&self) -> impl Iterator<Item = usize> {
        self.indices.iter().flat_map(|index| (0..index.documents()).map(|document| index.length(document)))
    }

    /// At most `most` tokens of a document from its beginning; documents are counted through all shards.
    ///
    /// # Errors
    /// If there is no such document, or it cannot be read.
    pub fn document(&self, mut document: usize, most: usize) -> Result<Vec<u32>> {
        for (shard, index) in self.indices.iter().enumerate() {
            if document < index.documents() {
                let start = index.starts[document];
                return self.read(shard, start..start + index.length(document).min(most) as u64);
            }
            document -= index.documents();
        }
        bail!("{} does not have so many documents", self.folder.display())
    }

    /// Tokens of a shard.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn read(&self, shard: usize, tokens: Range<u64>) -> Result<Vec<u32>> {
        let token_type = self.indices[shard].token_type;
        let size = token_type.size() as u64;
        let mut bytes = vec![0; ((tokens.end - tokens.start) * size) as usize];
        let path = self.folder.join(format!("{}.bin", self.manifest.shards[shard].name));
        let mut read = || -> std::io::Result<()> {
            let mut file = File::open(&path)?;
            file.seek(SeekFrom::Start(tokens.start * size))?;
            file.read_exact(&mut bytes)
        };
        read()
            .with_context(|| format!("cannot read {}; the shards must stay while a run reads them", path.display()))?;
        Ok(token_type.ids(&bytes))
    }
}
