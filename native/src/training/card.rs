//! The model card of a finished run: what the model is, where it comes from, and how to read and measure it.

use anyhow::Result;
use drope_core::hash::short_hash;
use drope_core::positions::Method;
use drope_core::train::DocumentSource;
use drope_core::train::recipe::Recipe;

use super::checkpoint::TrainingState;
use super::job::Job;

/// The text of the card.
pub fn card(job: &Job, state: &TrainingState) -> Result<String> {
    let Job { recipe, config, base, .. } = job;
    let context = config.max_position_embeddings;
    // The config is the same; only the run knows that there were no positions to drop.
    let method = match Method::of(config) {
        Method::Drope if base.is_none() => Method::Nope,
        method => method,
    };
    let recipe_hash = short_hash(&[toml::to_string(recipe)?.as_bytes()]);
    let origin = match base {
        Some((name, hash)) => format!("recalibrated from {name} (hash {hash})"),
        None => "trained from random weights".to_owned(),
    };
    let base_model = base.as_ref().map_or(String::new(), |(name, _)| format!("base_model: {name}\n"));
    let trust = if config.modeling().is_some() { ", trust_remote_code=True" } else { "" };
    Ok(format!(
        "---\nlibrary_name: transformers\npipeline_tag: text-generation\n{base_model}tags: [drope, {tag}]\n---\n\
         # A model read with {title}\n\n\
         - **Base**: {origin}; {parameters} parameters, training context {context} tokens.\n\
         - **Recipe**: recipe.toml (hash {recipe_hash}), seed {seed}, {steps} updates of {tokens} tokens in all. {longest} \
         loss.jsonl has the loss, loss.svg draws it.\n\
         - **Data**: {data}.\n\
         - **Measured**: {measured}\n\n\
         It opens in `core`, in the DroPE playground and in transformers:\n\n\
         ```python\n\
         model = AutoModelForCausalLM.from_pretrained(\".\"{trust})\n\
         ```\n",
        tag = method.name(),
        longest = match recipe.longest {
            None => "No text was longer than the training context.".to_owned(),
            Some(longest) => format!("Texts had up to {longest} tokens, more than the training context."),
        },
        title = method.title(),
        parameters = config.num_parameters(),
        seed = recipe.seed,
        steps = state.step,
        tokens = state.tokens,
        data = data(job)?,
        measured = measured(recipe, context),
    ))
}

/// What is known of how it reads, and the commands that measure it.
fn measured(recipe: &Recipe, context: usize) -> String {
    let Some(data) = &recipe.data else {
        return "not yet. These commands measure it, with intervals, on questions that training does not see:\n\n\
            ```sh\n\
            core eval niah --model . --extension 1,2,4,8 --json niah.json\n\
            core eval ppl --model . --extension 1,2,4,8 --json ppl.json\n\
            ```"
        .to_owned();
    };
    let known = match recipe.evaluation {
        Some(_) => "held_out.jsonl has the loss on documents that training left out, in windows of the recipe.",
        None => "not yet.",
    };
    let lengths = [1, 2, 4].map(|factor| (factor * context).to_string()).join(",");
    let shards = data.shards.first().map_or("SHARDS", |shards| &*shards.folder);
    let held_out = if data.held_out > 0.0 { format!(" --held-out {}", data.held_out) } else { String::new() };
    format!(
        "{known} This command measures longer windows:\n\n\
         ```sh\n\
         core eval ppl --model . --lengths {lengths} --texts 4 --text '{shards}'{held_out} --json ppl.json\n\
         ```"
    )
}

/// What it was trained on.
fn data(job: &Job) -> Result<String> {
    let Job { recipe, tokenizer, .. } = job;
    if let (Some(data), Some(hash)) = (&recipe.data, &job.data) {
        let folders: Vec<&str> = data.shards.iter().map(|shards| &*shards.folder).collect();
        let synthetic = if data.synthetic > 0.0 { ", and the synthetic language of drope-core" } else { "" };
        return Ok(format!(
            "text in the shards {} (hash {hash}){synthetic}, drawn as the recipe says",
            folders.join(", ")
        ));
    }
    let source = recipe.documents(tokenizer, tokenizer.bos());
    let batch = |step: usize| -> Result<Vec<u8>> {
        let ids = source.batch(recipe.seed, step)?.ids;
        Ok(ids.iter().flat_map(|id| id.to_le_bytes()).collect())
    };
    Ok(format!(
        "the synthetic language of drope-core {}, drawn as the recipe says (hash of the first and the last batch {})",
        env!("CARGO_PKG_VERSION"),
        short_hash(&[&batch(0)?, &batch(recipe.steps - 1)?])
    ))
}
