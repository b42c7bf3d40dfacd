//! The text of a run: the synthetic language, shards of one's own text, or both.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use drope_core::hash::short_hash;
use drope_core::tokenizer::Tokenizer;
use drope_core::train::recipe::{Recipe, is_held_out};
use drope_core::train::{AnySource, Batch, DocumentSource, MixedText, PackedText, SyntheticDocuments, TokenText};

use crate::data::{DataShards, ShardText};

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
    let documents = recipe.documents(tokenizer, tokenizer.bos());
    let Some(data) = &recipe.data else {
        return Ok(RunText { source: Box::new(documents), hash: None, held_out: None });
    };
    let (mut sources, mut hashes): (Vec<(AnySource, f64)>, Vec<String>) = (Vec::new(), Vec::new());
    let mut held_out = recipe.evaluation.map(|_| Batch::empty(recipe.context));
    for shards in &data.shards {
        let opened = DataShards::open(Path::new(&shards.folder))?;
        opened.check_tokenizer(tokenizer)?;
        opened.verify()?;
        hashes.push(serde_json::to_string(&opened.manifest)?);
        let opened = Arc::new(opened);
        let packed = |text| PackedText {
            text,
            context: recipe.context,
            tokens_per_step: recipe.tokens_per_step,
            mask_documents: data.mask_documents,
            copies: None,
        };
        if let (Some(evaluation), Some(windows)) = (recipe.evaluation, &mut held_out) {
            let text = ShardText::new(Arc::clone(&opened), |document| is_held_out(document, data.held_out));
            windows.append(held_out_windows(packed(text), evaluation.windows)?);
        }
        let text = ShardText::new(opened, |document| !is_held_out(document, data.held_out));
        let copies = data.copies.filter(|copies| copies.max > 1.0);
        sources.push((Box::new(PackedText { copies, ..packed(text) }), shards.weight));
    }
    if data.synthetic > 0.0 {
        // The curriculum ends with the updates that draw from these documents.
        let share = data.synthetic / (data.synthetic + sources.iter().map(|(_, weight)| weight).sum::<f64>());
        let steps = (recipe.steps as f64 * share).ceil() as usize;
        sources.push((Box::new(SyntheticDocuments { steps, ..documents }), data.synthetic));
    }
    let hash = Some(short_hash(&hashes.iter().map(String::as_bytes).collect::<Vec<_>>()));
    Ok(RunText { source: Box::new(MixedText::new(sources, recipe.seed, recipe.steps)), hash, held_out })
}

/// Windows of held-out text: the same for every run.
fn held_out_windows(packed: PackedText<ShardText>, windows: usize) -> Result<Batch> {
    let context = packed.context;
    let windows = windows.min((packed.text.len() / context as u64) as usize).max(1);
    PackedText { tokens_per_step: windows * context, ..packed }
        .batch(0, 0)
        .context("there is too little held-out text; raise data.held_out or leave out [evaluation]")
}
