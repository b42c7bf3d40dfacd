//! The text of a run: the synthetic language, shards of one's own text, or both.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use drope_core::Error;
use drope_core::hash::short_hash;
use drope_core::tokenizer::Tokenizer;
use drope_core::train::recipe::{Recipe, is_held_out};
use drope_core::train::{AnySource, Batch, DocumentSource, MixedText, PackedText, TokenText};

use crate::data::DataShards;

/// Where batches come from, and the hash of the shards, where there are some.
pub struct RunText {
    pub source: AnySource,
    pub hash: Option<String>,
    /// Windows that training never sees, where the recipe measures the loss on them.
    pub held_out: Option<Batch>,
}

/// Opens the text of a run.
///
/// # Errors
/// If shards are missing, were changed since they were written, or are of another tokenizer.
pub fn open(recipe: &Recipe, tokenizer: &Tokenizer) -> Result<RunText> {
    let synthetic = || -> AnySource { Box::new(recipe.documents(tokenizer, tokenizer.bos())) };
    let Some(data) = &recipe.data else { return Ok(RunText { source: synthetic(), hash: None, held_out: None }) };
    let (mut sources, mut hashes): (Vec<(AnySource, f64)>, Vec<String>) = (Vec::new(), Vec::new());
    let mut held_out = recipe.evaluation.map(|_| Batch::empty(recipe.context));
    for shards in &data.shards {
        let opened = DataShards::open(Path::new(&shards.folder))?;
        ensure!(
            opened.manifest.tokenizer == short_hash(&[tokenizer.to_json()?.as_bytes()]),
            "the shards in {} are of another tokenizer than the model's; prepare the text again with the model as --tokenizer",
            shards.folder
        );
        opened.verify()?;
        hashes.push(serde_json::to_string(&opened.manifest)?);
        let (end, opened) = (opened.manifest.end, Arc::new(opened));
        if let (Some(evaluation), Some(windows)) = (recipe.evaluation, &mut held_out) {
            let text = ShardText::new(Arc::clone(&opened), |document| is_held_out(document, data.held_out));
            windows.append(held_out_windows(text, recipe.context, evaluation.windows)?);
        }
        let packed = PackedText {
            text: ShardText::new(opened, |document| !is_held_out(document, data.held_out)),
            context: recipe.context,
            tokens_per_step: recipe.tokens_per_step,
            end,
            copies: data.copies.filter(|copies| copies.max > 1.0),
        };
        sources.push((Box::new(packed), shards.weight));
    }
    if data.synthetic > 0.0 {
        sources.push((synthetic(), data.synthetic));
    }
    let hash = Some(short_hash(&hashes.iter().map(String::as_bytes).collect::<Vec<_>>()));
    Ok(RunText { source: Box::new(MixedText::new(sources, recipe.seed, recipe.steps)), hash, held_out })
}

/// Windows of held-out text: the same for every run.
fn held_out_windows(text: ShardText, context: usize, windows: usize) -> Result<Batch> {
    let windows = windows.min((text.len() / context as u64) as usize).max(1);
    let packed = PackedText { text, context, tokens_per_step: windows * context, end: None, copies: None };
    packed.batch(0, 0).context("there is too little held-out text; raise data.held_out or leave out [evaluation]")
}

/// Some documents of shards, one behind the other.
struct ShardText {
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
    fn new(shards: Arc<DataShards>, takes: impl Fn(usize) -> bool) -> Self {
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
}

#[cfg(test)]
mod tests {
    use drope_core::token_shards::{TokenIndex, TokenType};
    use drope_core::train::TokenText;

    use std::sync::Arc;

    use drope_core::train::recipe::is_held_out;

    use super::ShardText;
    use crate::data::DataShards;
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
        assert_eq!(half.tokens(0..half.len()).unwrap(), [0, 1, 3, 4, 5, 7, 8]);
        let others = ShardText::new(open(), |document| is_held_out(document, 0.5));
        assert_eq!(others.tokens(0..others.len()).unwrap(), [2, 6]);
        for (from, to) in (0..7).flat_map(|from| (from..=7).map(move |to| (from, to))) {
            let expected = &[0, 1, 3, 4, 5, 7, 8][from..to];
            assert_eq!(half.tokens(from as u64..to as u64).unwrap(), expected, "{from} to {to}");
        }
    }
}
