//! What the papers prove about models without positions, on constant sequences (Gelberg et al. 2025, propositions 3.2
//! and 3.3), and what the probes say of a whole pass.
#![cfg(all(not(target_arch = "wasm32"), feature = "train"))]

mod parity;

use burn::tensor::{Device, Tensor, TensorData};
use drope_core::generate::Flow;
use drope_core::language::{DocumentMix, Values, tokenizer_corpus};
use drope_core::model::{AttentionPatch, Model};
use drope_core::niah::{Filler, Spec, Task, sample};
use drope_core::positions::Positions;
use drope_core::probe::{
    QuestionPair, TokenizedSample, attention, bias_gradients, entropy, positional_bias, prefix_spread,
};
use drope_core::tokenizer::Tokenizer;
use parity::{CASES, case, ids_tensor};
use pollster::block_on;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Largest distance of an attention weight from 1/(i + 1), for the query at position i.
fn distance_from_uniform(model: &Model, ids: &[u32], positions: &Positions, device: &Device) -> f32 {
    let mut largest = 0.0f32;
    for weights in model.capture(ids_tensor(ids, device), positions, None).attention {
        let [_, heads, seq, keys] = weights.dims();
        let values: Vec<f32> = weights.into_data().iter::<f32>().collect();
        for row in 0..heads * seq {
            let query = row % seq;
            for key in 0..keys {
                let uniform = if key <= query { 1.0 / (query + 1) as f32 } else { 0.0 };
                largest = largest.max((values[row * keys + key] - uniform).abs());
            }
        }
    }
    largest
}

/// Norm of the gradient of the bias towards the previous token, over all layers.
fn gradient_of_queries_and_keys(model: &Model, ids: &[u32], positions: &Positions, device: &Device) -> f64 {
    let norms = block_on(bias_gradients(model, 2, &ids_tensor(ids, device), positions, 1)).unwrap();
    norms.iter().map(|norm| norm * norm).sum::<f64>().sqrt()
}

#[test]
fn without_positions_a_constant_text_is_seen_uniformly_and_gives_no_way_to_a_positional_bias() {
    let device = Device::flex().autodiff();
    let case = case("rope");
    let (model, rope) = (case.model(&device), case.positions());
    let constant = [7; 24];
    assert!(distance_from_uniform(&model, &constant, &Positions::none(), &device) < 1e-6);
    assert!(distance_from_uniform(&model, &constant, &rope, &device) > 1e-2);
    let bias = |positions: &Positions, back: usize| -> f32 {
        let attention = model.capture(ids_tensor(&constant, &device), positions, None).attention;
        positional_bias(attention[0].clone(), back).into_scalar::<f32>()
    };
    for back in [0, 1] {
        assert!(bias(&Positions::none(), back).abs() < 1e-6 && bias(&rope, back).abs() > 1e-3, "{back} back");
    }
    let without = gradient_of_queries_and_keys(&model, &constant, &Positions::none(), &device);
    let with = gradient_of_queries_and_keys(&model, &constant, &rope, &device);
    assert!(without < 1e-4 * with, "{without} without positions, {with} with");
    // The constant text is the cause, and not the model: with any other text there is a gradient.
    let varied: Vec<u32> = (0..24).map(|i| (i * 7) % 48).collect();
    assert!(gradient_of_queries_and_keys(&model, &varied, &Positions::none(), &device) > 1e-2 * with);
}

async fn go_on(_: usize) -> Flow {
    Flow::Continue
}

/// Reads in chunks through the cache and in one pass, and compares every number.
#[test]
fn what_heads_do_in_a_long_text_is_what_they_do_in_a_whole_pass() {
    let device = Device::flex();
    for case in CASES.iter().filter(|case| {
        ["rope", "drope", "alibi", "yarn", "rnope-swa", "dope-parts", "dynamic-ntk"].contains(&case.name)
    }) {
        let (model, config, positions) = (case.model(&device), case.config(), case.positions());
        // Longer than a chunk of the prompt.
        let ids: Vec<u32> = case.ids().into_iter().cycle().take(300).collect();
        let seen = block_on(attention(&model, &config, &positions, &ids, 3, go_on)).unwrap().unwrap();
        let whole = model.capture(ids_tensor(&ids, &device), &positions, None);
        let layers = config.num_hidden_layers;
        assert_eq!((seen.last.len(), seen.spread.len(), whole.hidden.len()), (layers, layers, layers));
        for (layer, (weights, hidden)) in whole.attention.into_iter().zip(whole.hidden).enumerate() {
            let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "{}: {a} {b}", case.name);
            close(seen.spread[layer], f64::from(prefix_spread(hidden).into_scalar::<f32>()));
            let [_, heads, seq, keys] = weights.dims();
            let window = positions.layer(layer).window.unwrap_or(usize::MAX);
            let weights: Vec<f32> = weights.into_data().iter::<f32>().collect();
            assert_eq!((seen.last[layer].len(), seen.last[layer][0].len()), (heads, 3));
            for (head, back) in (0..heads).flat_map(|head| [(head, 0), (head, 1)]) {
                let more = |query: usize| {
                    let weight = weights[(head * seq + query) * keys + query - back];
                    f64::from(weight) - 1.0 / (query + 1).min(window) as f64
                };
                close(seen.bias[layer][head][back], (back..seq).map(more).sum::<f64>() / (seq - back) as f64);
            }
            for (row, expected) in weights.chunks(keys).enumerate() {
                let (head, query) = (row / seq, row % seq);
                close(f64::from(seen.entropies[layer][head][query]), entropy(expected));
                if let Some(last) = (query + 3).checked_sub(seq) {
                    let found = &seen.last[layer][head][last];
                    // With a window the cache holds the last keys alone; the others have no weight.
                    assert!(expected[..keys - found.len()].iter().all(|&weight| weight == 0.0), "{}", case.name);
                    let expected = &expected[keys - found.len()..];
                    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{}", case.name);
                }
            }
        }
    }
    let empty =
        block_on(attention(&case("rope").model(&device), &case("rope").config(), &Positions::none(), &[], 1, go_on));
    assert!(empty.is_err());
    let case = case("rope");
    let (model, config, positions, ids) = (case.model(&device), case.config(), case.positions(), case.ids());
    let stopped = attention(&model, &config, &positions, &ids, 1, async |_| Flow::Stop);
    assert!(block_on(stopped).unwrap().is_none());
}

/// Compares with the definition, computed directly.
#[test]
fn prefix_spread_is_the_largest_distance_from_the_mean_of_a_prefix() {
    let device = Device::flex();
    // The longer text is more than is in memory at once, and its last token is the farthest.
    for (tokens, last) in [(6, 1.0), (1500, 3.0)] {
        let number = |i: usize, j: usize| ((i * 5 + j * 3) % 7) as f32 * if i == tokens - 1 { last } else { 1.0 };
        let rows: Vec<[f32; 3]> = (0..tokens).map(|i| [0, 1, 2].map(|j| number(i, j))).collect();
        let (mut sums, mut largest) = ([0.0f32; 3], 0.0f32);
        for (i, row) in rows.iter().enumerate() {
            sums.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
            let mean = sums.map(|sum| sum / (i + 1) as f32);
            for row in &rows[..=i] {
                let distance = mean.iter().zip(row).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt();
                largest = largest.max(distance);
            }
        }
        let hidden = Tensor::<3>::from_data(TensorData::new(rows.concat(), [1, tokens, 3]), &device);
        assert!((prefix_spread(hidden).into_scalar::<f32>() - largest).abs() < 1e-4 * largest, "{tokens} tokens");
    }
    // Without positions a constant text stays constant.
    let model = case("rope").model(&device);
    for hidden in model.capture(ids_tensor(&[7; 24], &device), &Positions::none(), None).hidden {
        assert!(prefix_spread(hidden).into_scalar::<f32>() < 1e-3);
    }
    let varied: Vec<u32> = (0..24).map(|i| (i * 7) % 48).collect();
    let varied = model.capture(ids_tensor(&varied, &device), &Positions::none(), None).hidden;
    assert!(prefix_spread(varied[0].clone()).into_scalar::<f32>() > 0.1);
}

#[test]
fn sentences_stand_where_the_tokens_say_so() {
    let tokenizer = Tokenizer::train(tokenizer_corpus(1, &DocumentMix::default())).unwrap();
    for (task, crop) in [(Task::MultiKey, None), (Task::MultiQuery, None), (Task::MultiKey, Some(128))] {
        let spec = Spec::new(task, Values::Numbers, 256, 3);
        let sample = sample(&spec, &tokenizer).unwrap();
        let marked = TokenizedSample::new(&sample, &tokenizer, None).unwrap().cropped(crop, 8);
        let text = |at: std::ops::Range<usize>| tokenizer.decode(&marked.ids[at]).unwrap().trim().to_owned();
        assert!(crop.is_none_or(|crop| marked.ids.len() == crop - 8));
        assert_eq!(marked.template, 0);
        assert_eq!(text(marked.ids.len() - marked.question..marked.ids.len()), sample.question);
        let mut whole = 0;
        for ((at, kind), sentence) in marked.sentences.iter().zip(&sample.haystack) {
            assert_eq!(*kind, sentence.kind);
            // A cropped sentence has no tokens; a sentence that was cut keeps its end.
            let found = text(at.clone());
            assert!(sentence.text.ends_with(&found), "{found:?} is not the end of {:?}", sentence.text);
            whole += usize::from(found == sentence.text);
        }
        assert!(whole == sample.haystack.len() || (crop.is_some() && whole > 3), "{whole} sentences");
        let around = TokenizedSample::new(&sample, &tokenizer, Some(["The text is: ", " The number is:"])).unwrap();
        let behind = tokenizer.decode(&around.ids[around.ids.len() - around.template..]).unwrap();
        assert_eq!(behind.trim(), "The number is:");
    }
}

/// A token's residual stream follows from the streams of the tokens that it attends to, so that it is that of the short text if every
/// head attends as there, whatever stands between.
#[test]
fn a_long_text_in_which_all_heads_attend_as_in_a_short_one_is_read_like_it() {
    let device = Device::flex();
    for case in CASES.iter().filter(|case| ["rope", "drope", "alibi", "rnope-swa"].contains(&case.name)) {
        let (model, config, positions) = (case.model(&device), case.config(), case.positions());
        let short: Vec<u32> = case.ids().into_iter().take(9).collect();
        let places = [0, 1, 4, 5, 6, 11, 12, 18, 19];
        let mut long: Vec<u32> = (0..20).map(|index| (index * 5 + 3) % 48).collect();
        for (&place, &id) in places.iter().zip(&short) {
            long[place] = id;
        }
        let mut patches = Vec::new();
        for (layer, weights) in
            model.capture(ids_tensor(&short, &device), &positions, None).attention.into_iter().enumerate()
        {
            let weights: Vec<f32> = weights.into_data().iter::<f32>().collect();
            for (head, pattern) in weights.chunks(short.len() * short.len()).enumerate() {
                patches.push(AttentionPatch::new([layer, head], pattern, &places, long.len(), &device));
            }
        }
        assert_eq!(patches.len(), config.num_hidden_layers * config.num_attention_heads);
        let [short_ids, long_ids] = [&short, &long].map(|ids| ids_tensor(ids, &device));
        let rows = |hidden: Tensor<3>| hidden.into_data().iter::<f32>().collect::<Vec<f32>>();
        let width = config.hidden_size;
        let read_short = rows(model.hidden(short_ids, &positions, None));
        let free = rows(model.hidden(long_ids.clone(), &positions, None));
        let difference = |hidden: &[f32]| {
            let of_place = |(index, &place): (usize, &usize)| {
                let pairs = hidden[place * width..][..width].iter().zip(&read_short[index * width..][..width]);
                pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
            };
            places.iter().enumerate().map(of_place).fold(0.0, f32::max)
        };
        assert!(difference(&free) > 1e-2, "{}", case.name);
        let one = rows(model.hidden_patched(long_ids.clone(), &positions, patches[..1].to_vec()));
        assert!(one != free && difference(&one) > 1e-3, "{}", case.name);
        // What stands before the first token that the short text lacks reads as it did.
        assert!(one[..2 * width].iter().zip(&free).all(|(a, b)| (a - b).abs() < 1e-5), "{}", case.name);
        let all = rows(model.hidden_patched(long_ids, &positions, patches));
        assert!(difference(&all) < 1e-4, "{}: {}", case.name, difference(&all));
    }
}

#[test]
fn the_short_text_of_a_question_has_its_needles_and_as_much_filler_as_fits() {
    let tokenizer = Tokenizer::train(tokenizer_corpus(1, &DocumentMix::default())).unwrap();
    for filler in [Filler::Prose, Filler::Decoys] {
        let sample =
            sample(&Spec { filler, ..Spec::new(Task::MultiKey, Values::Numbers, 1024, 3) }, &tokenizer).unwrap();
        let pair = |tokens| QuestionPair::new(&mut ChaCha8Rng::seed_from_u64(1), &sample, &tokenizer, tokens).unwrap();
        let [long, short] = pair(256).tokens();
        assert!(long == 1024 && (230..=256).contains(&short), "{long} and {short}");
        assert_eq!(pair(1024).tokens(), [1024, 1024]);
        // Less than the needles need: they stay.
        let [_, needles] = pair(16).tokens();
        assert!((60..120).contains(&needles), "{needles}");
    }
}
