//! What a model's folder says of how it was trained.

use std::path::Path;

use anyhow::{Context, Result};
use drope_core::results::{TrainingRecord, rounded};

use super::progress::{CURVE_FILE, CurveLine};
use super::recipe;
use crate::files;

/// The model's own run; `None` where its folder has no recipe.
pub fn training_record(folder: &Path) -> Result<Option<TrainingRecord>> {
    let (recipe, curve) = (folder.join(recipe::FILE), folder.join(CURVE_FILE));
    if !recipe.exists() {
        return Ok(None);
    }
    let recipe = recipe::read(&recipe, &[])?;
    let point = |line: &str| -> Result<(f64, f64)> {
        let line: CurveLine =
            serde_json::from_str(line).with_context(|| format!("{} is no loss curve", curve.display()))?;
        Ok((line.tokens as f64, rounded(line.loss)))
    };
    Ok(Some(TrainingRecord {
        steps: recipe.steps,
        tokens_per_step: recipe.tokens_per_step,
        seed: recipe.seed,
        max_copies: match recipe.data {
            Some(data) => data.copies.map_or(1.0, |copies| copies.max),
            None => recipe.documents.max_copies,
        },
        curve: files::read_text(&curve)?.lines().map(point).collect::<Result<_>>()?,
    }))
}
