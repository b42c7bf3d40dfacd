//! Generation: the prompt in chunks, then one token at a time. The command line, the page and the evaluation all use
//! it.

use burn::tensor::Device;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::config::Config;
use crate::error::{Error, Result};
#[cfg(feature = "gpu")]
use crate::kernels::gpu;
use crate::kernels::{has_matrix_units, has_tiles, with_threads_awake};
use crate::model::{Cache, Model, token_ids};
use crate::positions::{Encoding, LengthDependent, Positions};
use crate::read_back::numbers;

/// Tokens of a prompt that go through the model at once: enough to fill matrix products, small enough that
/// the attention scores stay small and that a caller can cancel between two.
pub const CHUNK: usize = 256;
/// The same where weights are split into pieces for each chunk, which takes as long as some tens of tokens.
const CHUNK_OF_TILES: usize = 512;
/// The same where a device computes many tokens in the time of few.
const LONG_CHUNK: usize = 2048;

/// Tokens of a prompt that go through a model on this device at once.
pub fn chunk_on(device: &Device) -> usize {
    if has_matrix_units(device) {
        LONG_CHUNK
    } else if has_tiles(device) {
        CHUNK_OF_TILES
    } else {
        CHUNK
    }
}

/// What to generate. The default is greedy, without an end and without any room.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Most tokens to generate.
    pub max_new_tokens: usize,
    /// Tokens after which to stop; they are part of the answer.
    pub stop: Vec<u32>,
    /// Tokens that there is room for: prompt and answer.
    pub context: usize,
    /// Most tokens that the model is given, prompt and answer ([`Method::crop_length`]): of a longer prompt its first token,
    /// the beginning of text, and its last ones.
    ///
    /// [`Method::crop_length`]: crate::positions::Method::crop_length
    pub crop_length: Option<usize>,
    /// 0 is greedy.
    pub temperature: f64,
    /// Seed of the sampling.
    pub seed: u64,
}

/// What happened since the last call of the observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// This many tokens of the prompt are in the cache.
    Read(usize),
    /// A token was generated.
    Token(u32),
    /// This many tokens were read again, with the frequencies of longer texts.
    ReadAgain(usize),
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Stop; what was generated so far is the result.
    Stop,
}

/// Reads `prompt` and generates; calls `observe` after every chunk and token.
///
/// # Errors
/// If the prompt is empty, does not fit, holds an id outside the vocabulary, or the device fails.
pub async fn generate(
    model: &Model,
    config: &Config,
    positions: &Positions,
    prompt: &[u32],
    options: &Options,
    observe: impl AsyncFnMut(Event) -> Flow,
) -> Result<Vec<u32>> {
    Ok(generate_each(model, config, positions, &[prompt], options, observe).await?.pop().unwrap_or_default())
}

/// As [`generate`], for several prompts one after the other. Their common beginning is read once, if the method and the
/// model's windows allow it ([`Event::Read`] counts the tokens in the cache). If `observe` stops the run, the result
/// has the answers until then.
///
/// # Errors
/// As [`generate`], of any of the prompts.
pub async fn generate_each(
    model: &Model,
    config: &Config,
    positions: &Positions,
    prompts: &[&[u32]],
    options: &Options,
    mut observe: impl AsyncFnMut(Event) -> Flow,
) -> Result<Vec<Vec<u32>>> {
    prompts.iter().try_for_each(|prompt| check(config, prompt, options))?;
    let prompts: Vec<Vec<u32>> = prompts.iter().map(|prompt| cropped(prompt, options)).collect();
    let shared = shared_beginning(config, positions, &prompts);
    // The cache grows when an answer is longer.
    let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
    let mut cache = model.cache(config, positions, longest + options.max_new_tokens.min(CHUNK));
    let mut answers = Vec::new();
    for prompt in &prompts {
        cache.rewind(shared.min(cache.len()));
        cache.expect_prompt(prompt.len());
        let (answer, flow) = answer(model, positions, &mut cache, prompt, options, &mut observe).await?;
        answers.push(answer);
        if flow == Flow::Stop {
            break;
        }
    }
    Ok(answers)
}

/// Number of tokens that all prompts begin with and for which they have the same keys and values; fewer than any prompt
/// has.
pub(crate) fn shared_beginning(config: &Config, positions: &Positions, prompts: &[impl AsRef<[u32]>]) -> usize {
    let prompts: Vec<&[u32]> = prompts.iter().map(AsRef::as_ref).collect();
    let Some((first, others)) = prompts.split_first() else { return 0 };
    // A layer with a window does not keep the beginning. If frequencies depend on the length, so do the keys and values
    // of every layer.
    let means_the_same = |index: usize| {
        let layer = positions.layer(index);
        let rotary = |prompt: &[u32]| match &layer.encoding {
            Encoding::LengthDependent(dependent) => Some(dependent.rotary(prompt.len())),
            _ => None,
        };
        layer.window.is_none() && others.iter().all(|other| rotary(other) == rotary(first))
    };
    if !(0..config.num_hidden_layers).all(means_the_same) {
        return 0;
    }
    let alike = |other: &&[u32]| first.iter().zip(*other).take_while(|(a, b)| a == b).count();
    let shortest = prompts.iter().map(|prompt| prompt.len()).min().unwrap_or(0);
    others.iter().map(alike).min().unwrap_or(0).min(shortest.saturating_sub(1))
}

/// Reads the part of a prompt that is not yet in the cache, and generates.
async fn answer(
    model: &Model,
    positions: &Positions,
    cache: &mut Cache,
    prompt: &[u32],
    options: &Options,
    observe: &mut impl AsyncFnMut(Event) -> Flow,
) -> Result<(Vec<u32>, Flow)> {
    let seeded = || ChaCha8Rng::seed_from_u64(options.seed);
    let mut answer = Vec::new();
    let (mut token, mut rng) = (0, seeded());
    for chunk in prompt[cache.len()..].chunks(chunk_on(&model.device())) {
        // Only the token that is chosen after the last chunk counts, so each chunk begins with the same random state.
        rng = seeded();
        token = next_token(model, positions, cache, chunk, options.temperature, &mut rng).await?;
        if observe(Event::Read(cache.len())).await == Flow::Stop {
            return Ok((answer, Flow::Stop));
        }
    }
    let mut has_switched = false;
    while answer.len() < options.max_new_tokens {
        answer.push(token);
        if observe(Event::Token(token)).await == Flow::Stop {
            return Ok((answer, Flow::Stop));
        }
        if options.stop.contains(&token) || answer.len() == options.max_new_tokens {
            break;
        }
        if switches_factors(positions, cache.len()) {
            has_switched = true;
            let text = [prompt, &answer].concat();
            cache.rewind(0);
            cache.expect_prompt(text.len());
            let before = rng.clone();
            for chunk in text.chunks(chunk_on(&model.device())) {
                rng = before.clone();
                token = next_token(model, positions, cache, chunk, options.temperature, &mut rng).await?;
                if observe(Event::ReadAgain(cache.len())).await == Flow::Stop {
                    return Ok((answer, Flow::Stop));
                }
            }
        } else {
            token = next_token(model, positions, cache, &[token], options.temperature, &mut rng).await?;
        }
    }
    if has_switched {
        // The beginning that prompts share has other keys and values.
        cache.rewind(0);
    }
    Ok((answer, Flow::Continue))
}

/// Whether the token behind so many is the first that LongRoPE gives the factors of long texts. With them all keys and values are others,
/// so that the text is read again, as transformers' Phi-3 does.
fn switches_factors(positions: &Positions, tokens: usize) -> bool {
    positions.layers.iter().any(|layer| {
        matches!(&layer.encoding, Encoding::LengthDependent(LengthDependent::LongRope(rope)) if rope.context == tokens)
    })
}

/// Most tokens of a prompt that the model is given, if prompt and answer together may have `crop_length` tokens.
pub fn prompt_room(crop_length: Option<usize>, max_new_tokens: usize) -> usize {
    crop_length.map_or(usize::MAX, |length| length.saturating_sub(max_new_tokens))
}

fn cropped(prompt: &[u32], options: &Options) -> Vec<u32> {
    let dropped = prompt.len().saturating_sub(prompt_room(options.crop_length, options.max_new_tokens));
    let first = if dropped > 0 { &prompt[..1] } else { &[] };
    [first, &prompt[dropped + first.len()..]].concat()
}

fn check(config: &Config, prompt: &[u32], options: &Options) -> Result<()> {
    if options.context == 0 {
        return Err(Error::Zero("the context"));
    }
    if prompt.is_empty() {
        return Err(Error::Zero("the number of tokens in the prompt"));
    }
    let needed = prompt.len().saturating_add(options.max_new_tokens);
    if needed > options.context {
        return Err(Error::TooLong { needed, context: options.context });
    }
    // There must be room for at least the first token and the last one.
    if let Some(context) = options.crop_length.filter(|&length| options.max_new_tokens.saturating_add(2) > length) {
        return Err(Error::CropLength { context, max_new_tokens: options.max_new_tokens });
    }
    config.check_ids(prompt)
}

/// Reads tokens into the cache and chooses the next one. A GPU chooses the most likely one itself, so that no logits
/// have to be read back.
async fn next_token(
    model: &Model,
    positions: &Positions,
    cache: &mut Cache,
    ids: &[u32],
    temperature: f64,
    rng: &mut ChaCha8Rng,
) -> Result<u32> {
    let device = model.device();
    let ids = token_ids(ids, [1, ids.len()], &device);
    let logits = with_threads_awake(&device, || model.next_logits(ids, positions, cache)); // [1, 1, vocab]
    #[cfg(feature = "gpu")]
    if temperature <= 0.0 && gpu::takes(&logits) {
        let chosen = numbers(gpu::largest_logit(logits)).await?;
        return match chosen[..] {
            [place, 0.0] => Ok(place as u32),
            _ => Err(Error::ComputedNotFinite("logits")),
        };
    }
    choose(&numbers(logits).await?, temperature, rng)
}

/// Whether a model computes numbers at all: absurd weights or settings overflow on the way.
///
/// # Errors
/// If a logit is NaN or infinite.
pub fn check_finite(logits: &[f32]) -> Result<()> {
    if logits.iter().all(|logit| logit.is_finite()) { Ok(()) } else { Err(Error::ComputedNotFinite("logits")) }
}

/// The most likely token, or a sample of softmax(logits / temperature).
fn choose(logits: &[f32], temperature: f64, rng: &mut ChaCha8Rng) -> Result<u32> {
    check_finite(logits)?;
    let Some((best, &highest)) = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)) else {
        return Err(Error::Zero("the size of the vocabulary"));
    };
    if temperature <= 0.0 {
        return Ok(best as u32);
    }
    let weight = |logit: f32| (f64::from(logit - highest) / temperature).exp();
    let mut left = rng.random::<f64>() * logits.iter().map(|&logit| weight(logit)).sum::<f64>();
    let drawn = logits.iter().position(|&logit| {
        left -= weight(logit);
        left <= 0.0
    });
    Ok(drawn.unwrap_or(best) as u32)
}
