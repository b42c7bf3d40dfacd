//! Recipes in TOML.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use drope_core::train::recipe::Recipe;

use crate::files;

/// The recipe in a model's folder.
pub const FILE: &str = "recipe.toml";

/// A field of a recipe, its tables separated by points, and its value, as `--set` has them.
pub type Setting = (String, toml::Value);

/// `schedule.peak=2e-3`: a value is TOML; a text needs no quotes.
pub fn setting(text: &str) -> Result<Setting> {
    let (field, value) =
        text.split_once('=').context("a field of the recipe is set by field=value, such as schedule.peak=2e-3")?;
    let parsed = toml::from_str::<toml::Table>(&format!("value = {value}")).ok();
    let value = parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| value.into());
    Ok((field.to_owned(), value))
}

/// Several fields, as one `--set` has them.
pub type Settings = Vec<Setting>;

/// The fields of one `--set`, separated by commas outside lists, tables and texts in quotes.
pub fn settings(text: &str) -> Result<Settings> {
    let (mut depth, mut quote) = (0_usize, None);
    let separates = |letter: char| {
        match (quote, letter) {
            (Some(opening), _) if letter == opening => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0 && quote.is_none()
    };
    text.split(separates).map(setting).collect()
}

/// Reads a recipe, with some fields in place of its own.
///
/// # Errors
/// If it is not TOML of this form, there is no such field, or a field has a value that no run can have; the sentence names the
/// field.
pub fn read(path: &Path, settings: &[Setting]) -> Result<Recipe> {
    let text = files::read_text(path)?;
    let recipe = || -> Result<Recipe, String> {
        // The text itself is parsed first: its errors have a place in the file.
        let recipe = from_toml(&text)?;
        if settings.is_empty() {
            return Ok(recipe);
        }
        let mut table: toml::Table = toml::from_str(&text).map_err(|error| error.to_string())?;
        settings.iter().try_for_each(|setting| set(&mut table, setting))?;
        let recipe: Recipe = table.try_into().map_err(|error| error.message().replace('\n', " "))?;
        recipe.check().map_err(|error| error.to_string())?;
        Ok(recipe)
    };
    recipe().map_err(|reason| anyhow!("{}: {reason}", path.display()))
}

fn set(mut table: &mut toml::Table, (path, value): &Setting) -> Result<(), String> {
    let (tables, field) = path.rsplit_once('.').unwrap_or(("", path));
    for name in tables.split('.').filter(|name| !name.is_empty()) {
        let inner = table.entry(name).or_insert_with(|| toml::Table::new().into());
        table = inner.as_table_mut().ok_or_else(|| format!("{name} of {path} is no table"))?;
    }
    table.insert(field.to_owned(), value.clone());
    Ok(())
}

fn from_toml(text: &str) -> Result<Recipe, String> {
    let recipe: Recipe = toml::from_str(text).map_err(|error| {
        // The parser's own report has several lines, which show the place in the file.
        let number = files::line_of(text, error.span().map_or(0, |span| span.start));
        let line = text.lines().nth(number - 1).unwrap_or_default();
        format!("this is not a recipe: {} (line {number}: {line})", error.message().replace('\n', " "))
    })?;
    recipe.check().map_err(|error| error.to_string())?;
    Ok(recipe)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use drope_core::train::recipe::Dropped;

    use super::{read, setting, settings};

    #[test]
    fn fields_are_set_by_their_path_and_checked() {
        let path = Path::new(env!("DROPE_ROOT")).join("recipes/reproduction/budget.toml");
        let with = |texts: &[&str]| read(&path, &texts.iter().map(|text| setting(text).unwrap()).collect::<Vec<_>>());
        let plain = with(&[]).unwrap();
        let recipe = with(&["steps=7", "schedule.peak=2e-3", "drop.positions=low", "drop.cut=0.0075"]).unwrap();
        let drop = recipe.drop.as_ref().unwrap();
        assert_eq!(
            (recipe.steps, recipe.schedule.peak, drop.positions, drop.cut),
            (7, 2e-3, Dropped::Low, Some(0.0075))
        );
        assert_eq!((recipe.schedule.warmup, recipe.documents), (plain.schedule.warmup, plain.documents));
        let refused = |text: &str| with(&[text]).unwrap_err().to_string();
        assert!(
            refused("schedule.peek=1").contains("budget.toml: unknown field `peek`"),
            "{}",
            refused("schedule.peek=1")
        );
        assert!(refused("steps.peak=1").contains("steps of steps.peak is no table"));
        assert!(refused("documents.max_copies=0").contains("max_copies"));
        assert!(setting("steps").unwrap_err().to_string().contains("field=value"));
        let several = settings("drop.layers=[3, 7],seed=2,data.shards=[{folder='a,b'}]").unwrap();
        let fields: Vec<&str> = several.iter().map(|(field, _)| &**field).collect();
        assert_eq!(fields, ["drop.layers", "seed", "data.shards"]);
        assert_eq!(several[0].1.as_array().map(Vec::len), Some(2));
    }
}

#[cfg(test)]
mod check_tests;
#[cfg(test)]
mod study_tests;
