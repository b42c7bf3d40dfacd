//! Recipes in TOML.

use std::path::Path;

use anyhow::{Result, anyhow};
use drope_core::train::recipe::Recipe;

use crate::files;

/// Reads a recipe.
///
/// # Errors
/// If it is not TOML of this form, or a field has a value that no run can have; the sentence names the field.
pub fn read(path: &Path) -> Result<Recipe> {
    let text = files::read_text(path)?;
    from_toml(&text).map_err(|reason| anyhow!("{}: {reason}", path.display()))
}

fn from_toml(text: &str) -> Result<Recipe, String> {
    let recipe: Recipe = toml::from_str(text).map_err(|error| {
        // The parser's own report has several lines, which show the place in the file.
        let start = error.span().map_or(0, |span| span.start);
        let number = text[..start].lines().count().max(1);
        let line = text.lines().nth(number - 1).unwrap_or_default();
        format!("this is not a recipe: {} (line {number}: {line})", error.message().replace('\n', " "))
    })?;
    recipe.check().map_err(|error| error.to_string())?;
    Ok(recipe)
}

#[cfg(test)]
mod check_tests;
#[cfg(test)]
mod study_tests;
