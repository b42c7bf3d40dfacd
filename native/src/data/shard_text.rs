//! The tokens of some documents of data shards, as training and evaluation read them.

use std::ops::Range;
use std::sync::Arc;

use drope_core::Error;
use drope_core::train::TokenText;

use super::shards::DataShards;

/// Some documents of shards, one behind the other.
pub struct ShardText {
    shards: Arc<DataShards>,
    segments: Vec<Segment>,
    tokens: u64,
}

/// Documents of a shard between two that are left out.
struct Segment {
    /// The first token, among all tokens of the text.
    at: u64,
    shard: usize,
    /// Tokens of the shard.
    tokens: Range<u64>,
}

impl ShardText {
    /// The documents that `takes` chooses by their number.
    pub fn new(shards: Arc<DataShards>, takes: impl Fn(usize) -> bool) -> Self {
        let (mut segments, mut at, mut number): (Vec<Segment>, u64, usize) = (Vec::new(), 0, 0);
        for (shard, index) in shards.indices.iter().enumerate() {
            for document in 0..index.documents() {
                let tokens = index.starts[document]..index.starts[document + 1];
                if takes(number) {
                    let length = tokens.end - tokens.start;
                    match segments.last_mut() {
                        Some(last) if last.shard == shard && last.tokens.end == tokens.start => {
                            last.tokens.end = tokens.end;
                        }
                        _ => segments.push(Segment { at, shard, tokens }),
                    }
                    at += length;
                }
                number += 1;
            }
        }
        Self { shards, segments, tokens: at }
    }
}

impl TokenText for ShardText {
    fn len(&self) -> u64 {
        self.tokens
    }

    fn tokens(&self, range: Range<u64>) -> drope_core::Result<Vec<u32>> {
        let first = self.segments.partition_point(|segment| segment.at <= range.start).saturating_sub(1);
        let mut ids = Vec::with_capacity((range.end - range.start) as usize);
        for Segment { at, shard, tokens } in &self.segments[first..] {
            let begin = tokens.start + range.start.saturating_sub(*at);
            let end = tokens.end.min(tokens.start + range.end.saturating_sub(*at));
            if begin >= end {
                break;
            }
            let read = self.shards.read(*shard, begin..end).map_err(|error| Error::Recipe(format!("{error:#}")))?;
            ids.extend(read);
        }
        Ok(ids)
    }

    fn documents(&self, range: Range<u64>) -> Vec<u64> {
        let first = self.segments.partition_point(|segment| segment.at <= range.start).saturating_sub(1);
        let segments = self.segments[first..].iter().take_while(|segment| segment.at < range.end);
        let starts = segments.flat_map(|Segment { at, shard, tokens }| {
            let of_shard = &self.shards.indices[*shard].starts;
            let from = tokens.start + range.start.saturating_sub(*at);
            let to = tokens.end.min(tokens.start + (range.end - at));
            let inside = &of_shard[of_shard.partition_point(|&start| start < from)..];
            inside.iter().take_while(move |&&start| start < to).map(move |start| at + start - tokens.start)
        });
        starts.collect()
    }
}

#[cfg(test)]
mod tests {
    use drope_core::token_shards::{TokenIndex, TokenType};
    use drope_core::train::TokenText;

    use std::sync::Arc;

    use drope_core::train::recipe::is_held_out;

    use super::{DataShards, ShardText};
    use crate::files;

    #[test]
    fn training_sees_all_documents_but_those_that_are_held_out() {
        let folder = tempfile::tempdir().unwrap();
        let shard = |name: &str, lengths: &[u32], first: u32| {
            let index = TokenIndex::new(TokenType::U16, lengths.iter().copied());
            let ids: Vec<u32> = (first..first + index.tokens() as u32).collect();
            files::write(&folder.path().join(format!("{name}.bin")), &TokenType::U16.to_bytes(&ids)).unwrap();
            files::write(&folder.path().join(format!("{name}.idx")), &index.to_bytes()).unwrap();
            serde_json::json!({ "name": name, "documents": lengths.len(), "tokens": index.tokens(), "bin_hash": "", "idx_hash": "" })
        };
        // Documents 0 and 1, then 2 to 4.
        let shards = [shard("a", &[2, 1], 0), shard("b", &[3, 1, 2], 3)];
        let manifest = serde_json::json!({
            "text": [], "column": "", "tokenizer": "", "vocab_size": 9, "begin": null, "end": null, "files": 1, "bytes": 1,
            "skipped": 0, "shards": shards,
        });
        files::write(&folder.path().join("index.json"), manifest.to_string().as_bytes()).unwrap();
        let open = || Arc::new(DataShards::open(folder.path()).unwrap());
        let text = |held_out| ShardText::new(open(), move |document| !is_held_out(document, held_out));
        let all = text(0.0);
        assert_eq!((all.len(), all.segments.len()), (9, 2));
        assert_eq!(all.tokens(1..8).unwrap(), [1, 2, 3, 4, 5, 6, 7]);
        // Documents 1 and 3.
        let half = text(0.5);
        assert_eq!((all.documents(0..9), all.documents(1..7)), (vec![0, 2, 3, 6, 7], vec![2, 3, 6]));
        assert_eq!((half.documents(0..7), half.documents(3..5)), (vec![0, 2, 5], Vec::new()));
        assert_eq!(half.tokens(0..half.len()).unwrap(), [0, 1, 3, 4, 5, 7, 8]);
        let others = ShardText::new(open(), |document| is_held_out(document, 0.5));
        assert_eq!(others.tokens(0..others.len()).unwrap(), [2, 6]);
        for (from, to) in (0..7).flat_map(|from| (from..=7).map(move |to| (from, to))) {
            let expected = &[0, 1, 3, 4, 5, 7, 8][from..to];
            assert_eq!(half.tokens(from as u64..to as u64).unwrap(), expected, "{from} to {to}");
        }
    }
}
