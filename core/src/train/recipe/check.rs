//! Values that no run can have. Every sentence begins with the field's name.

use std::ops::RangeInclusive;

use crate::config::{AttentionType, MAX_FACTOR, MOST_LAYERS, WIDEST};
use crate::language::DocumentMix;
use crate::train::recipe::{
    DataSettings, DropSettings, Dropped, EvaluationSettings, ModelShape, PositionEmbedding, Recipe,
};
use crate::train::{Curriculum, Memory};

/// A needle takes up to five keys, all different, and training has 3,328 ([`crate::language::Split::Training`]).
const MOST_NEEDLES: usize = 600;
/// The shortest document that holds a sentence that is repeated.
const SHORTEST_DOCUMENT: usize = 16;
/// Attention needs memory of the context's square.
const LONGEST_CONTEXT: usize = 1 << 20;
const MOST_TOKENS_PER_STEP: usize = 1 << 24;
const MOST_STEPS: usize = 1_000_000_000;
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
    share("schedule.decay", recipe.schedule.decay)?;
    above_zero("schedule.decay", recipe.schedule.decay)?;
    if let Some(longest) = recipe.longest {
        whole("longest", longest, recipe.context..=LONGEST_CONTEXT)?;
        if recipe.data.as_ref().is_some_and(|data| data.synthetic == 0.0) {
            return Err("longest is for the synthetic language, which [data] leaves out; set data.synthetic or leave out longest".into());
        }
    }
    curriculum(&recipe.curriculum, recipe.context)?;
    documents(&recipe.documents)?;
    recipe.data.as_ref().map_or(Ok(()), data)?;
    recipe.evaluation.map_or(Ok(()), |settings| evaluation(settings, recipe.data.as_ref()))?;
    memory(recipe.memory)?;
    recipe.guard.map_or(Ok(()), |guard| {
        above_zero("guard.spike", guard.spike)?;
        whole("guard.stop_after", guard.stop_after, 1..=MOST_STEPS)
    })?;
    recipe.model.as_ref().map_or(Ok(()), model)?;
    recipe.drop.as_ref().map_or(Ok(()), drop_settings)?;
    match &recipe.scaling {
        Some(scaling) if !(scaling.factor > 1.0 && scaling.factor <= MAX_FACTOR) => {
            Err(format!("scaling.factor is {} but must be above 1 and at most {MAX_FACTOR}", scaling.factor))
        }
        _ => Ok(()),
    }
}

fn memory(Memory { micro_batch_tokens, recompute, attention_queries }: Memory) -> Check {
    let optional =
        |name, value: Option<usize>| value.map_or(Ok(()), |value| whole(name, value, 1..=MOST_TOKENS_PER_STEP));
    optional("memory.micro_batch_tokens", micro_batch_tokens)?;
    optional("memory.attention_queries", attention_queries)?;
    if attention_queries.is_some() && !recompute {
        return Err("memory.attention_queries bounds what is computed again; set memory.recompute = true".into());
    }
    Ok(())
}

fn data(data: &DataSettings) -> Check {
    if data.shards.is_empty() {
        return Err(
            "data.shards is empty but must name a folder of shards; leave out [data] for the synthetic language".into(),
        );
    }
    if !(0.0..=0.5).contains(&data.held_out) {
        return Err(format!("data.held_out is {} but must be from 0 to 0.5", data.held_out));
    }
    at_least_zero("data.synthetic", data.synthetic)?;
    data.copies.map_or(Ok(()), |copies| multiplicity("data.copies.max", copies.max))?;
    data.shards.iter().try_for_each(|shards| above_zero("data.shards.weight", shards.weight))
}

fn evaluation(settings: EvaluationSettings, data: Option<&DataSettings>) -> Check {
    whole("evaluation.every", settings.every, 1..=MOST_STEPS)?;
    whole("evaluation.windows", settings.windows, 1..=MOST_TOKENS_PER_STEP)?;
    whole("evaluation.needles", settings.needles, 0..=1000)?;
    whole("evaluation.sample", settings.sample, 0..=4096)?;
    match data {
        Some(data) if data.held_out > 0.0 => Ok(()),
        _ => Err("evaluation needs text that training never sees; set data.held_out or leave out [evaluation]".into()),
    }
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
    share("curriculum.easy.lists", easy.lists)?;
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
        ("documents.seven_digits", mix.seven_digits),
        ("documents.sharing", mix.sharing),
        ("documents.decoys", mix.decoys),
        ("documents.needles_only", mix.needles_only),
        ("documents.tracking", mix.tracking),
        ("documents.latest", mix.latest),
        ("documents.lists", mix.lists),
    ] {
        share(name, value)?;
    }
    let several = mix.multi_query + mix.multi_value;
    if several > 1.0 {
        return Err(format!("documents.multi_query and documents.multi_value add up to {several} but at most to 1"));
    }
    let forms = mix.needles_only + mix.tracking + mix.latest;
    if forms > 1.0 {
        return Err(format!(
            "documents.needles_only, documents.tracking and documents.latest add up to {forms} but at most to 1"
        ));
    }
    whole("documents.max_needles", mix.max_needles, 1..=MOST_NEEDLES)?;
    multiplicity("documents.max_copies", mix.max_copies)?;
    at_least_zero("documents.prose_weight", mix.prose_weight.into())?;
    above_zero("documents.answer_weight", mix.answer_weight.into())
}

fn multiplicity(name: &str, value: f64) -> Check {
    if (1.0..=MOST_COPIES).contains(&value) {
        Ok(())
    } else {
        Err(format!("{name} is {value} but must be from 1 to {MOST_COPIES}"))
    }
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
    let pairs = hidden_size / num_attention_heads / 2;
    match shape.clipped_pairs {
        Some(_) if shape.pe != PositionEmbedding::Cope => {
            return Err("model.clipped_pairs is for pe = \"cope\" alone".into());
        }
        Some(clipped) => whole("model.clipped_pairs", clipped, 1..=pairs)?,
        None => {}
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
    match &drop.layers {
        Some(_) if drop.positions != Dropped::All || drop.attention_type.is_some() => {
            return Err("drop.layers is for positions = \"all\" alone, without an attention_type".into());
        }
        Some(layers) if layers.is_empty() || layers.iter().any(|&layer| layer >= MOST_LAYERS) => {
            return Err(format!("drop.layers must name layers by their numbers, from 0 to {}", MOST_LAYERS - 1));
        }
        _ => {}
    }
    match drop.cut {
        // With "none" it says nothing, so that one --set makes the control of a recipe with a cut.
        Some(_) if drop.positions == Dropped::All => Err("drop.cut does not fit positions = \"all\"".into()),
        Some(cut) if !(cut.is_finite() && cut > 0.0) => {
            Err(format!("drop.cut must be a frequency above 0, in radians a token, but is {cut}"))
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
