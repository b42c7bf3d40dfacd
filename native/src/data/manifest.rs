//! What a folder of data shards holds.

use serde::{Deserialize, Serialize};

/// The manifest in the folder, which is written last.
pub const MANIFEST_FILE: &str = "index.json";

/// What was prepared: shards, of which text, with which tokenizer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataManifest {
    /// Patterns of the files.
    pub text: Vec<String>,
    /// The field or column of the text in files of records.
    pub column: String,
    /// Hash of the tokenizer's file, of which there is a copy in the folder.
    pub tokenizer: String,
    /// Ids of its vocabulary.
    pub vocab_size: usize,
    /// The token that every document begins with.
    pub begin: Option<u32>,
    /// The token that every document ends with.
    pub end: Option<u32>,
    /// Files that were read.
    pub files: usize,
    /// Bytes of text.
    pub bytes: u64,
    /// Records that could not be used.
    pub skipped: usize,
    /// In their order.
    pub shards: Vec<ShardEntry>,
}

/// A shard: `NAME.bin` and `NAME.idx`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardEntry {
    pub name: String,
    pub documents: usize,
    pub tokens: u64,
    /// Hashes of `NAME.bin` and of `NAME.idx`.
    pub bin_hash: String,
    pub idx_hash: String,
}

impl DataManifest {
    pub fn documents(&self) -> usize {
        self.shards.iter().map(|shard| shard.documents).sum()
    }

    pub fn tokens(&self) -> u64 {
        self.shards.iter().map(|shard| shard.tokens).sum()
    }
}
