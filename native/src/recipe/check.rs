//! Values that no run can have. Every sentence begins with the field's name.

use std::ops::RangeInclusive;

use drope_core::config::AttentionType;
use drope_core::language::DocumentMix;
use drope_core::train::Curriculum;

use super::{DropSettings, Dropped, ModelShape, Recipe};

/// Far fewer than there are keys, so that different ones are drawn at once.
const MOST_NEEDLES: usize = 1000;
/// The shortest document that holds a sentence that is repeated.
const SHORTEST_DOCUMENT: usize = 16;
/// Attention needs memory of the context's square.
const LONGEST_CONTEXT: usize = 1 << 20;
const MOST_TOKENS_PER_STEP: usize = 1 << 24;
const MOST_STEPS: usize = 1_000_000_000;
const MOST_LAYERS: usize = 4096;
const WIDEST: usize = 1 << 20;
/// Beside the embedding; 8 GB in F32.
const MOST_PARAMETERS: usize = 1 << 31;
/// Multiplicities above this have lost their last digits in F32.
const MOST_COPIES: f64 = 1e6;

type Check = Result<(), String>;

/// Checks every field.
pub(super) fn recipe(recipe: &Recipe) -> Check {
    whole("context", recipe.context, SHORTEST_DOCUMENT..=LONGEST_CONTEXT)?;
    whole("steps", recipe.steps, 1..=MOST_STEPS)?;
    whole("tokens_per_step", recipe.tokens_per_step, 1..=MOST_TOKENS_PER_STEP)?;
    at_least_zero("weight_decay", recipe.weight_decay.into())?;
    above_zero("max_gradient_norm", recipe.max_gradient_norm)?;
    above_zero("schedule.peak", recipe.schedule.peak)?;
    whole("schedule.warmup", recipe.schedule.warmup, 0..=MOST_STEPS)?;
    share("schedule.floor", recipe.schedule.floor)?;
    curriculum(&recipe.curriculum, recipe.context)?;
    documents(&recipe.documents)?;
    recipe.model.as_ref().map_or(Ok(()), model)?;
    recipe.drop.as_ref().map_or(Ok(()), drop_settings)
}

fn curriculum(curriculum: &Curriculum, context: usize) -> Check {
    if !(SHORTEST_DOCUMENT..=context).contains(&curriculum.min_length) {
        return Err(format!(
            "curriculum.min_length is {} but must be at least {SHORTEST_DOCUMENT} and at most context ({context})",
            curriculum.min_length
        ));
    }
    share("curriculum.grow", curriculum.grow)?;
    share("curriculum.at_context", curriculum.at_context)?;
    let Some(easy) = &curriculum.easy else { return Ok(()) };
    share("curriculum.easy.until", easy.until)?;
    share("curriculum.easy.facts", easy.facts)?;
    whole("curriculum.easy.max_needles", easy.max_needles, 1..=MOST_NEEDLES)
}

fn documents(mix: &DocumentMix) -> Check {
    for (name, value) in [
        ("documents.repeat", mix.repeat),
        ("documents.full", mix.full),
        ("documents.all_asked", mix.all_asked),
        ("documents.multi_query", mix.multi_query),
        ("documents.multi_value", mix.multi_value),
        ("documents.words", mix.words),
        ("documents.facts", mix.facts),
        ("documents.terse", mix.terse),
        ("documents.passkey", mix.passkey),
    ] {
        share(name, value)?;
    }
    let several = mix.multi_query + mix.multi_value;
    if several > 1.0 {
        return Err(format!("documents.multi_query and documents.multi_value add up to {several} but at most to 1"));
    }
    whole("documents.max_needles", mix.max_needles, 1..=MOST_NEEDLES)?;
    if !(1.0..=MOST_COPIES).contains(&mix.max_copies) {
        return Err(format!("documents.max_copies is {} but must be from 1 to {MOST_COPIES}", mix.max_copies));
    }
    at_least_zero("documents.prose_weight", mix.prose_weight.into())?;
    above_zero("documents.answer_weight", mix.answer_weight.into())
}

fn model(shape: &ModelShape) -> Check {
    let ModelShape {
        hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads, ..
    } = *shape;
    whole("model.hidden_size", hidden_size, 1..=WIDEST)?;
    whole("model.intermediate_size", intermediate_size, 1..=WIDEST)?;
    whole("model.num_hidden_layers", num_hidden_layers, 1..=MOST_LAYERS)?;
    whole("model.num_attention_heads", num_attention_heads, 1..=hidden_size)?;
    whole("model.num_key_value_heads", num_key_value_heads, 1..=num_attention_heads)?;
    if !hidden_size.is_multiple_of(2 * num_attention_heads) {
        return Err(format!(
            "model.hidden_size is {hidden_size} but must be an even multiple of num_attention_heads ({num_attention_heads})"
        ));
    }
    if !num_attention_heads.is_multiple_of(num_key_value_heads) {
        return Err(format!(
            "model.num_key_value_heads is {num_key_value_heads} but must divide num_attention_heads ({num_attention_heads})"
        ));
    }
    if !(shape.rope_theta.is_finite() && shape.rope_theta > 1.0) {
        return Err(format!("model.rope_theta is {} but must be a number above 1", shape.rope_theta));
    }
    let key_width = hidden_size / num_attention_heads * num_key_value_heads;
    let parameters = num_hidden_layers * hidden_size * (2 * hidden_size + 2 * key_width + 3 * intermediate_size);
    if parameters > MOST_PARAMETERS {
        return Err(format!(
            "model has {parameters} parameters in its layers, more than the {MOST_PARAMETERS} that are supported; reduce \
             hidden_size, intermediate_size or num_hidden_layers"
        ));
    }
    Ok(())
}

fn drop_settings(drop: &DropSettings) -> Check {
    match drop.attention_type {
        None | Some(AttentionType::Nope) => {}
        Some(kind) if !kind.drops_positions() => {
            return Err(
                "drop.attention_type keeps positions; use nope, qk_norm_nope, q_norm_nope or k_norm_nope".into()
            );
        }
        Some(_) if drop.positions != Dropped::All => {
            return Err("drop.attention_type is for positions = \"all\" alone".into());
        }
        Some(_) => {}
    }
    match drop.cut {
        Some(_) if drop.positions != Dropped::Low => Err("drop.cut is for positions = \"low\" alone".into()),
        Some(cut) if !(cut.is_finite() && cut > 0.0) => {
            Err(format!("drop.cut is {cut} but must be a frequency above 0, in radians a token"))
        }
        _ => Ok(()),
    }
}

fn whole(name: &str, value: usize, range: RangeInclusive<usize>) -> Check {
    let (least, most) = (range.start(), range.end());
    if range.contains(&value) { Ok(()) } else { Err(format!("{name} is {value} but must be from {least} to {most}")) }
}

fn share(name: &str, value: f64) -> Check {
    if (0.0..=1.0).contains(&value) {
        Ok(())
    } else {
        Err(format!("{name} is {value} but must be a share from 0 to 1"))
    }
}

fn above_zero(name: &str, value: f64) -> Check {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(format!("{name} is {value} but must be a number above 0"))
    }
}

fn at_least_zero(name: &str, value: f64) -> Check {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        Err(format!("{name} is {value} but must be a number of at least 0"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::Recipe;

    /// Every table and field that a recipe can have.
    const WHOLE: &str = r#"
seed = 1
context = 64
steps = 10
tokens_per_step = 256
weight_decay = 0.1
max_gradient_norm = 1.0
optimizer = "muon"
[schedule]
peak = 1e-3
warmup = 5
floor = 0.1
[curriculum]
min_length = 32
grow = 0.5
at_context = 0.5
[curriculum.easy]
until = 0.5
facts = 0.8
max_needles = 3
[documents]
[model]
hidden_size = 16
intermediate_size = 32
num_hidden_layers = 2
num_attention_heads = 2
num_key_value_heads = 1
rope_theta = 1e4
pe = "rope"
[drop]
positions = "low"
cut = 0.1
attention_type = "nope"
scalable_softmax = false
"#;

    /// The whole recipe with one field set to `value`, a TOML value.
    fn with(field: &str, value: &str) -> String {
        let mut recipe: toml::Table = toml::from_str(WHOLE).unwrap();
        let value: toml::Table = toml::from_str(&format!("value = {value}")).unwrap();
        let path: Vec<&str> = field.split('.').collect();
        let (name, tables) = path.split_last().unwrap();
        let table = tables.iter().fold(&mut recipe, |table, name| table[*name].as_table_mut().unwrap());
        table.insert((*name).to_owned(), value["value"].clone());
        toml::to_string(&recipe).unwrap()
    }

    /// A field, values that no run can have, and values that one can.
    type Row = (&'static str, &'static [&'static str], &'static [&'static str]);

    const ROWS: &[Row] = &[
        ("seed", &["-1", "0.5"], &["0", "123456789"]),
        ("context", &["0", "-1", "15", "31", "2_000_000"], &["32", "1024"]),
        ("steps", &["0", "-1"], &["1"]),
        ("tokens_per_step", &["0", "100_000_000"], &["1", "4096"]),
        ("weight_decay", &["-0.1", "nan", "inf"], &["0.0", "1.0"]),
        ("max_gradient_norm", &["0.0", "-1.0", "nan", "inf"], &["1e-3", "100.0"]),
        ("optimizer", &["\"sgd\"", "1"], &["\"adamw\""]),
        ("schedule.peak", &["0.0", "-1e-3", "nan", "inf"], &["1e-5"]),
        ("schedule.warmup", &["-1", "0.5"], &["0", "1000"]),
        ("schedule.floor", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
        ("curriculum.min_length", &["0", "15", "65"], &["16", "64"]),
        ("curriculum.grow", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
        ("curriculum.at_context", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
        ("curriculum.easy.until", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
        ("curriculum.easy.facts", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
        ("curriculum.easy.max_needles", &["0", "1001"], &["1"]),
        ("documents.repeat", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
        ("documents.full", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
        ("documents.all_asked", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
        // Beside a multi_value of 0.08.
        ("documents.multi_query", &["-0.1", "1.1", "nan", "0.93"], &["0.0", "0.92"]),
        ("documents.multi_value", &["-0.1", "1.1", "nan", "0.93"], &["0.0", "0.92"]),
        ("documents.words", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
        ("documents.facts", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
        ("documents.terse", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
        ("documents.passkey", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
        ("documents.max_needles", &["0", "1001"], &["1"]),
        ("documents.max_copies", &["0.5", "0.0", "-1.0", "nan", "inf", "1e7"], &["1.0", "32.0"]),
        ("documents.prose_weight", &["-0.1", "nan", "inf"], &["0.0", "1.0"]),
        ("documents.answer_weight", &["0.0", "-1.0", "nan", "inf"], &["1.0", "4.0"]),
        ("model.hidden_size", &["0", "15", "18", "1_000_000", "4_000_000_000"], &["4", "32"]),
        ("model.intermediate_size", &["0", "4_000_000_000"], &["1"]),
        ("model.num_hidden_layers", &["0", "5000"], &["1"]),
        // The last gives heads of one component.
        ("model.num_attention_heads", &["0", "3", "32", "16"], &["1", "8"]),
        ("model.num_key_value_heads", &["0", "3"], &["2"]),
        ("model.rope_theta", &["1.0", "0.0", "-1.0", "nan", "inf"], &["2.0", "5e5"]),
        ("model.pe", &["\"sinusoidal\""], &["\"nope\"", "\"alibi\"", "\"rnope-swa\""]),
        ("drop.positions", &["\"some\"", "\"all\"", "\"none\""], &["\"low\""]),
        ("drop.cut", &["0.0", "-1.0", "nan", "inf"], &["1e-3"]),
        ("drop.attention_type", &["\"rope\"", "\"qk_norm_rope\"", "\"qk_norm_nope\"", "\"x\""], &["\"nope\""]),
        ("drop.scalable_softmax", &["1"], &["true"]),
    ];

    #[test]
    fn every_field_is_checked_and_its_sentence_names_it() {
        for (field, wrong, right) in ROWS {
            for value in *right {
                assert!(Recipe::from_toml(&with(field, value)).is_ok(), "{field} = {value} is refused");
            }
            for value in *wrong {
                let sentence = Recipe::from_toml(&with(field, value)).expect_err(&format!("{field} = {value}"));
                let name = field.rsplit('.').next().unwrap();
                // A wrong context shows in the lengths within it, and wrong positions in what belongs to others.
                let names = match *field {
                    "context" => vec!["context"],
                    "drop.positions" => vec!["positions", "drop.cut"],
                    _ => vec![name],
                };
                assert!(names.iter().any(|name| sentence.contains(name)), "{field} = {value}: {sentence}");
                assert!(!sentence.contains('\n'), "one sentence: {sentence}");
            }
        }
    }

    #[test]
    fn the_table_above_has_every_field() {
        fn leaves(prefix: &str, table: &toml::Table, found: &mut BTreeSet<String>) {
            for (name, value) in table {
                let path = format!("{prefix}{name}");
                match value.as_table() {
                    Some(table) => leaves(&format!("{path}."), table, found),
                    None => drop(found.insert(path)),
                }
            }
        }
        let written = toml::to_string(&Recipe::from_toml(WHOLE).unwrap()).unwrap();
        let mut fields = BTreeSet::new();
        leaves("", &toml::from_str(&written).unwrap(), &mut fields);
        let rows: BTreeSet<String> = ROWS.iter().map(|(field, ..)| (*field).to_owned()).collect();
        assert_eq!(fields, rows);
    }
}
