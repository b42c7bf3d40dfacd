//! Text as token ids: readers of files of text, and data shards that are written from them.

mod columns;
mod manifest;
mod pieces;
mod prepare;
mod record;
mod records;
mod shard_text;
mod shards;
mod writer;

pub use self::manifest::MANIFEST_FILE;
pub use self::prepare::{Preparation, files_of_text, hash_of_names_and_sizes, prepare};
pub use self::shard_text::ShardText;
pub use self::shards::DataShards;
