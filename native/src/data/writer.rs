//! Shards while they are written: both files grow beside each other, and what was written last can be taken back.

use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use drope_core::token_shards::{TokenIndex, TokenType};
use serde::{Deserialize, Serialize};

use super::manifest::ShardEntry;
use crate::files::{self, cannot_write};

/// How much of the shard that is being written counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardProgress {
    /// Whole documents.
    pub documents: usize,
    /// Tokens, those of the document that has not ended included.
    pub tokens: u64,
    /// Tokens of the document that has not ended.
    pub open: u32,
}

impl ShardProgress {
    /// Whether the document that has not ended may have so many more tokens: Megatron-LM counts them in 32 bits with a sign.
    pub fn has_room(&self, tokens: usize) -> bool {
        u64::from(self.open) + tokens as u64 <= i32::MAX as u64
    }
}

/// The shard that is being written.
pub struct ShardWriter {
    folder: PathBuf,
    name: String,
    token_type: TokenType,
    /// Ids.
    bin: BufWriter<File>,
    /// Lengths of whole documents, of which the index is made at the end.
    lengths: BufWriter<File>,
    pub progress: ShardProgress,
}

impl ShardWriter {
    /// Begins a shard, or goes on with one that has `progress`; what was written behind that is cut off.
    pub fn open(folder: &Path, number: usize, token_type: TokenType, progress: ShardProgress) -> Result<Self> {
        let name = format!("{number:05}");
        let path = |kind: &str| folder.join(format!("{name}.{kind}"));
        // A run that was killed after it had finished the shard and before it said so.
        if path("bin").exists() && !path(BIN).exists() {
            fs::rename(path("bin"), path(BIN)).with_context(|| cannot_write(&path(BIN)))?;
        }
        let open = |kind: &str, len: u64| -> Result<BufWriter<File>> {
            let path = path(kind);
            let open = || -> std::io::Result<(File, u64)> {
                fs::create_dir_all(folder)?;
                let file = File::options().create(true).truncate(false).write(true).open(&path)?;
                let found = file.metadata()?.len();
                Ok((file, found))
            };
            let (mut file, found) = open().with_context(|| cannot_write(&path))?;
            ensure!(found >= len, "{} is shorter than it was; remove the folder and begin again", path.display());
            let cut = file.set_len(len).and_then(|()| file.seek(SeekFrom::End(0)));
            cut.with_context(|| cannot_write(&path))?;
            Ok(BufWriter::new(file))
        };
        Ok(Self {
            bin: open(BIN, progress.tokens * token_type.size() as u64)?,
            lengths: open(LENGTHS, 4 * progress.documents as u64)?,
            folder: folder.to_owned(),
            name,
            token_type,
            progress,
        })
    }

    /// Adds ids to the document that has not ended.
    pub fn push(&mut self, ids: &[u32]) -> Result<()> {
        self.bin.write_all(&self.token_type.to_bytes(ids)).with_context(|| cannot_write(&self.folder))?;
        self.progress.tokens += ids.len() as u64;
        self.progress.open += ids.len() as u32;
        Ok(())
    }

    /// Ends the document; one without a token is none.
    pub fn end_document(&mut self) -> Result<()> {
        if self.progress.open > 0 {
            self.lengths.write_all(&self.progress.open.to_le_bytes()).with_context(|| cannot_write(&self.folder))?;
            self.progress.documents += 1;
            self.progress.open = 0;
        }
        Ok(())
    }

    /// Removes a shard without documents.
    pub fn remove(self) -> Result<()> {
        [BIN, LENGTHS].iter().try_for_each(|kind| remove(&self.folder.join(format!("{}.{kind}", self.name))))
    }

    /// Makes sure that everything so far is on the disk.
    pub fn sync(&mut self) -> Result<()> {
        for file in [&mut self.bin, &mut self.lengths] {
            file.flush().and_then(|()| file.get_ref().sync_data()).with_context(|| cannot_write(&self.folder))?;
        }
        Ok(())
    }

    /// Writes the index and gives the ids their name; all documents have ended. The lengths stay until [`remove_lengths`], so that
    /// a run that is killed before it says that the shard is whole can go on with it.
    pub fn finish(mut self) -> Result<ShardEntry> {
        self.sync()?;
        let path = |kind: &str| self.folder.join(format!("{}.{kind}", self.name));
        let lengths = files::read(&path(LENGTHS))?;
        let index =
            TokenIndex::new(self.token_type, lengths.as_chunks().0.iter().map(|&length| u32::from_le_bytes(length)));
        files::write(&path("idx"), &index.to_bytes())?;
        fs::rename(path(BIN), path("bin")).with_context(|| cannot_write(&path("bin")))?;
        Ok(ShardEntry {
            documents: index.documents(),
            tokens: index.tokens(),
            bin_hash: files::file_hash(&path("bin"))?,
            idx_hash: files::file_hash(&path("idx"))?,
            name: self.name,
        })
    }
}

/// Removes what a whole shard needs no more.
pub fn remove_lengths(folder: &Path, shard: &ShardEntry) -> Result<()> {
    remove(&folder.join(format!("{}.{LENGTHS}", shard.name)))
}

fn remove(path: &Path) -> Result<()> {
    if path.exists() {
        fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
    } else {
        Ok(())
    }
}

/// Ends of names of the files that are being written.
const BIN: &str = "bin.part";
const LENGTHS: &str = "lengths.part";

#[cfg(test)]
mod tests {
    use super::ShardProgress;

    #[test]
    fn a_document_has_at_most_as_many_tokens_as_megatron_can_count() {
        let most = i32::MAX as u32;
        let room = |open: u32, tokens: usize| ShardProgress { open, ..ShardProgress::default() }.has_room(tokens);
        assert!(room(0, 5) && room(most - 5, 5) && !room(most - 5, 6) && !room(most, 1));
    }
}
