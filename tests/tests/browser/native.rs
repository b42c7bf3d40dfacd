//! The native code's answers to the page's questions.

use anyhow::{Context, Result};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::generate::{Flow, generate};
use drope_core::loaded_model::LoadedModel;
use drope_core::model::{NumberTypes, SafetensorsFiles};
use drope_core::niah::{Spec, answer_options, sample};
use drope_core::positions::{Method, Parameters};
use drope_core::probe::{TokenizedSample, probe_heads};
use drope_core::tokenizer::Tokenizer;

use super::root;

/// An answer of the native code.
pub struct NativeAnswer {
    pub text: String,
    pub exact: bool,
    /// The head that gives the needle most, with its share in percent, in the page's words.
    pub best_head: String,
}

/// Answers a question whose context is given as a multiple of the training context.
pub fn answer(
    method: Method,
    parameters: &Parameters,
    model: &str,
    extension: usize,
    spec: &Spec,
) -> Result<NativeAnswer> {
    // The page's own weights, in half precision.
    answer_of("dist/models", method, parameters, model, extension, spec)
}

/// The same by the models in a folder of the repository.
pub fn answer_of(
    models: &str,
    method: Method,
    parameters: &Parameters,
    model: &str,
    extension: usize,
    spec: &Spec,
) -> Result<NativeAnswer> {
    let folder = root().join(models).join(model);
    let read = |name: &str| std::fs::read(folder.join(name));
    let config = Config::from_json(&String::from_utf8(read("config.json")?)?)?;
    let weights = read("model.safetensors")?;
    let loaded = LoadedModel::new(
        config,
        Tokenizer::from_json(&read("tokenizer.json")?)?,
        &SafetensorsFiles::from_bytes(&weights)?,
        String::new(),
        NumberTypes::default(),
        &Device::flex(),
    )?;
    let LoadedModel { config, tokenizer, model, .. } = &loaded;
    let spec = Spec { context: extension * config.max_position_embeddings, ..*spec };
    let sample = sample(&spec, tokenizer)?;
    let positions = method.positions_with(config, extension as f64, parameters)?;
    let tokenized = TokenizedSample::new(&sample, tokenizer, None)?;
    let heads = pollster::block_on(probe_heads(model, config, &positions, &tokenized, async |_| Flow::Continue))?;
    let heads = heads.context("nobody stopped it")?;
    let best = heads.iter().max_by(|a, b| a.needle_of_question.total_cmp(&b.needle_of_question)).context("a head")?;
    let share = 100.0 * best.needle_of_question;
    let options = answer_options(&spec, config, tokenizer, method.crop_length(config));
    let prompt = tokenizer.prompt(&sample.prompt())?;
    let ids = pollster::block_on(generate(model, config, &positions, &prompt, &options, async |_| Flow::Continue))?;
    let text = tokenizer.decode(&ids)?;
    Ok(NativeAnswer {
        exact: sample.score(&text).exact,
        text,
        // WebDriver gives the sign's unbreakable space as a plain one.
        best_head: format!("layer {}, head {} gives the needle most, {share:.0} %", best.layer, best.head),
    })
}
