//! The model against transformers. Native; `web.rs` runs the
//! comparisons in the browser.
#![cfg(not(target_arch = "wasm32"))]

mod parity;

use burn::tensor::{Device, Tensor};
use drope_core::config::{Config, RopeScaling};
use drope_core::error::Error;
use drope_core::generate::{Event, Flow, Options, chunk_on, generate, generate_each};
use drope_core::model::{Blocks, Model, NumberType, NumberTypes, SequenceLayout};
use drope_core::perplexity::token_losses;
use drope_core::positions::{Encoding, Method, Positions, rope_frequencies};
use parity::{CASES, case, ids_tensor, largest_difference};
use pollster::block_on;
use safetensors::SafeTensors;

#[test]
fn logits_match_transformers() {
    for case in CASES.iter() {
        let difference = block_on(case.difference(&Device::flex()));
        assert!(difference < 1e-4, "{}: {difference}", case.name);
    }
}

#[test]
fn sampling_is_seeded_and_differs_from_greedy() {
    let case = case("rope");
    let device = Device::flex();
    let (model, config, positions) = (case.model(&device), case.config(), case.positions());
    let sample = |temperature, seed| {
        let options = Options { max_new_tokens: 20, context: 100, temperature, seed, ..Options::default() };
        block_on(generate(&model, &config, &positions, &case.ids(), &options, async |_| Flow::Continue)).unwrap()
    };
    assert_eq!(sample(5.0, 1), sample(5.0, 1));
    assert_ne!(sample(5.0, 1), sample(5.0, 2));
    assert_ne!(sample(5.0, 1), sample(0.0, 1));
}

#[test]
fn what_prompts_begin_with_is_read_once_where_it_means_the_same() {
    let device = Device::flex();
    let chunk = chunk_on(&device);
    let options = Options { max_new_tokens: 6, context: chunk + 100, ..Options::default() };
    // Windows forget the beginning, and frequencies that follow the length change all of it.
    for (name, is_shared, cache) in [
        ("rope", true, NumberType::F32),
        ("rope", true, NumberType::F16),
        ("drope", true, NumberType::Q8),
        ("alibi", true, NumberType::F32),
        ("rnope-swa", false, NumberType::F32),
        ("dynamic-ntk", false, NumberType::F32),
    ] {
        let case = case(name);
        let (config, positions) = (case.config(), case.positions());
        let model = case.model_as(NumberTypes { cache, ..NumberTypes::default() }, &device);
        // Read in two chunks each.
        let begin = case.ids().repeat(20)[..chunk + 44].to_vec();
        let prompts = [&[1, 2][..], &[1, 3, 5], &[4]].map(|end| [&begin, end].concat());
        let mut chunks = 0;
        let mut ask = |prompts: &[&[u32]]| {
            let observe = async |event| {
                chunks += usize::from(matches!(event, Event::Read(_)));
                Flow::Continue
            };
            block_on(generate_each(&model, &config, &positions, prompts, &options, observe)).unwrap()
        };
        let alone: Vec<Vec<u32>> = prompts.iter().flat_map(|prompt| ask(&[prompt])).collect();
        assert_eq!(ask(&prompts.each_ref().map(Vec::as_slice)), alone, "{name}");
        assert_eq!(chunks, 6 + if is_shared { 2 + 1 + 1 } else { 6 }, "{name}");
    }
}

#[test]
fn stopping_keeps_what_there_is() {
    let case = case("rope");
    let device = Device::flex();
    let options = Options { max_new_tokens: 20, context: 100, ..Options::default() };
    let mut events = 0;
    let observe = async |_| {
        events += 1;
        if events == 4 { Flow::Stop } else { Flow::Continue }
    };
    let (model, config) = (case.model(&device), case.config());
    let answer = block_on(generate(&model, &config, &case.positions(), &case.ids(), &options, observe)).unwrap();
    assert_eq!(answer.len(), 3, "one event for the prompt, three for tokens");
}

#[test]
fn random_weights_have_the_sizes_that_are_documented() {
    let case = case("rope");
    let config = Config { hidden_size: 64, head_dim: 64 / case.config().num_attention_heads, ..case.config() };
    let bytes = block_on(Model::random(&config, 1, &Device::flex()).to_safetensors()).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    for (name, expected) in [
        ("embed_tokens.weight", 0.5),
        ("layers.0.self_attn.q_proj.weight", 0.125),
        ("layers.0.mlp.up_proj.weight", 0.125),
        ("layers.1.mlp.down_proj.weight", 0.125 / (2.0 * config.num_hidden_layers as f64).sqrt()),
    ] {
        let data = file.tensor(&format!("model.{name}")).unwrap().data();
        let squares = data.chunks(4).map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])).powi(2));
        let std = (squares.sum::<f64>() / (data.len() / 4) as f64).sqrt();
        assert!((std / expected - 1.0).abs() < 0.1, "{name}: {std}");
    }
}

#[test]
fn scalable_softmax_scales_each_query_by_the_keys_it_sees() {
    let device = Device::flex();
    let plain = Config { num_hidden_layers: 1, max_position_embeddings: 16, ..case("rope").config() };
    let scalable = Config { scalable_softmax: true, ..plain.clone() };
    assert_eq!(Config::from_json(&scalable.to_json()).unwrap(), scalable);
    let none = |logit_scale| Positions::none().with_logit_scale(logit_scale);
    let ids: Vec<u32> = (1..=40).collect();
    let logits = |model: &Model, positions: &Positions, split: usize| -> Vec<f32> {
        let read = |ids: &[u32]| ids_tensor(ids, &device);
        let mut cache = model.cache(&plain, positions, ids.len());
        model.forward(read(&ids[..split]), positions, Some(&mut cache));
        let last = model.forward(read(&ids[split..]), positions, Some(&mut cache));
        let seq = last.dims()[1];
        last.narrow(1, seq - 1, 1).into_data().iter::<f32>().collect()
    };
    // Of one layer the last logits depend on the last query alone, so its factor can be given by hand.
    let expected = logits(&Model::random(&plain, 5, &device), &none(41f64.ln() / 16f64.ln()), 20);
    let model = Model::random(&scalable, 5, &device);
    for split in [1, 20, 39] {
        let found = logits(&model, &none(1.0), split);
        let mut cache = model.cache(&plain, &none(1.0), ids.len());
        model.forward(ids_tensor(&ids[..split], &device), &none(1.0), Some(&mut cache));
        let next = model.next_logits(ids_tensor(&ids[split..], &device), &none(1.0), &mut cache);
        for found in [found, next.into_data().iter::<f32>().collect()] {
            let difference = largest_difference(&found, &expected);
            assert!(difference < 1e-4, "{difference} after {split}");
        }
    }
}

#[test]
fn a_token_that_counts_often_weighs_what_its_copies_would() {
    let device = Device::flex();
    let read = |ids: Vec<u32>| ids_tensor(&ids, &device);
    let last = |hidden: Tensor<3>| -> Vec<f32> {
        let seq = hidden.dims()[1];
        hidden.narrow(1, seq - 1, 1).into_data().iter::<f32>().collect()
    };
    for scalable_softmax in [false, true] {
        let config = Config { num_hidden_layers: 1, scalable_softmax, ..case("rope").config() };
        let (model, none) = (Model::random(&config, 5, &device), Positions::none());
        let text = |ids: Vec<u32>, copies: &[f32]| {
            last(
                Blocks::new(
                    &model,
                    [1, ids.len()],
                    SequenceLayout { multiplicity: copies, copies, ..SequenceLayout::default() },
                    &none,
                )
                .residual(read(ids)),
            )
        };
        let expected = text(vec![1, 2, 2, 2, 3, 4, 4, 5], &[]);
        let found = text(vec![1, 2, 3, 4, 5], &[1.0, 3.0, 1.0, 2.0, 1.0]);
        let difference = largest_difference(&found, &expected);
        assert!(difference < 1e-5, "{difference}");
        let plain = text(vec![1, 2, 3, 4, 5], &[]);
        assert!(plain.iter().zip(&found).any(|(a, b)| (a - b).abs() > 1e-3), "copies change nothing");
    }
}

/// RoPE with copies: in transformers a mask with ln m and position ids with gaps.
#[test]
fn multiplicity_adds_its_logarithm_and_skips_positions() {
    let device = Device::flex();
    let case = case("rope-multiplicity");
    let (model, ids) = (case.model(&device), ids_tensor(&case.ids(), &device));
    let (multiplicity, expected) = case.multiplicity();
    let positions = case.positions();
    let blocks = Blocks::new(
        &model,
        ids.dims(),
        SequenceLayout { multiplicity: &multiplicity, copies: &multiplicity, ..SequenceLayout::default() },
        &positions,
    );
    let found: Vec<f32> = blocks.logits(blocks.residual(ids)).into_data().iter::<f32>().collect();
    let difference = largest_difference(&found, &expected);
    assert!(difference < 1e-4, "{difference}");
}

#[test]
fn prompts_that_cannot_be_read_are_refused() {
    let case = case("rope");
    let device = Device::flex();
    let (model, config, positions) = (case.model(&device), case.config(), case.positions());
    let refuse = |prompt: &[u32], context| {
        let options = Options { max_new_tokens: 5, context, ..Options::default() };
        block_on(generate(&model, &config, &positions, prompt, &options, async |_| Flow::Continue)).unwrap_err()
    };
    assert!(matches!(refuse(&[1, 2], 0), Error::Zero(_)));
    assert!(matches!(refuse(&[], 10), Error::Zero(_)));
    assert!(matches!(refuse(&[1; 6], 10), Error::TooLong { needed: 11, context: 10 }));
    assert!(matches!(refuse(&[48], 10), Error::TokenId { id: 48, vocab_size: 48 }));
}

#[test]
fn a_cropped_text_never_exceeds_its_length_or_is_refused() {
    let case = case("rope");
    let (model, config, positions) = (case.model(&Device::flex()), case.config(), case.positions());
    let read = |max_new_tokens, crop_length| {
        let options = Options { max_new_tokens, context: 100, crop_length, ..Options::default() };
        let mut prompt_tokens = 0;
        let observe = async |event| {
            if let Event::Read(tokens) = event {
                prompt_tokens = tokens;
            }
            Flow::Continue
        };
        let answer = block_on(generate(&model, &config, &positions, &case.ids(), &options, observe));
        answer.map(|answer| (prompt_tokens, answer.len()))
    };
    assert_eq!(read(6, Some(16)).unwrap(), (10, 6));
    assert_eq!(read(14, Some(16)).unwrap(), (2, 14));
    for max_new_tokens in [15, 16, 50, usize::MAX] {
        let error = read(max_new_tokens, Some(16)).unwrap_err();
        assert!(matches!(error, Error::CropLength { context: 16, .. } | Error::TooLong { .. }), "{error}");
    }
}

#[test]
fn logits_that_are_not_numbers_end_in_a_sentence() {
    let answer = block_on(case("rope").absurd(&Device::flex()));
    assert!(matches!(answer, Err(Error::ComputedNotFinite("logits"))), "{answer:?}");
}

/// As transformers' Phi-3: all that was read with the factors of short texts is read again.
#[test]
fn an_answer_that_crosses_longropes_context_is_read_with_the_factors_of_long_texts() {
    let (device, case) = (Device::flex(), case("longrope"));
    let config = Config { num_hidden_layers: 3, ..case.config() };
    let positions = Method::LongRope.positions(&config, 2.0).unwrap();
    for seed in 0..8 {
        let model = Model::random(&config, seed, &device);
        let prompt = &case.ids()[..13]; // context 16
        let mut expected = prompt.to_vec();
        for _ in 0..10 {
            let logits = model.forward(ids_tensor(&expected, &device), &positions, None);
            let last: Vec<f32> = logits.slice_dim(1, -1).into_data().iter::<f32>().collect();
            let best = (0..last.len()).max_by(|&a, &b| last[a].total_cmp(&last[b])).unwrap();
            expected.push(best as u32);
        }
        let options = Options { max_new_tokens: 10, context: 64, ..Options::default() };
        let prompts = [prompt, prompt];
        let answers = generate_each(&model, &config, &positions, &prompts, &options, async |_| Flow::Continue);
        for answer in block_on(answers).unwrap() {
            assert_eq!(answer, expected[13..], "seed {seed}");
        }
    }
}

/// A generated token and all keys before it have the frequencies of the length that it ends.
#[test]
fn generated_tokens_have_the_frequencies_of_their_own_length() {
    let device = Device::flex();
    let ids = case("rope").ids(); // context 16
    // In one layer keys and values do not depend on frequencies, so that the cache can be compared with a whole pass.
    let config = Config { num_hidden_layers: 1, ..case("rope").config() };
    let model = Model::random(&config, 3, &device);
    let read = |ids: &[u32]| ids_tensor(ids, &device);
    let last = |logits: Tensor<3>| -> Vec<f32> { logits.slice_dim(1, -1).into_data().iter::<f32>().collect() };
    for (method, scaling) in [
        (Method::DynamicNtk, RopeScaling::Dynamic { factor: 2.0 }),
        (Method::LongRope, case("longrope").config().rope.scaling),
    ] {
        let mut config = config.clone();
        config.rope.scaling = scaling;
        let positions = method.positions(&config, 2.0).unwrap();
        let mut cache = model.cache(&config, &positions, 1);
        cache.expect_prompt(14);
        for chunk in ids[..14].chunks(5) {
            model.forward(read(chunk), &positions, Some(&mut cache));
        }
        for length in 15..=ids.len() {
            let cached = last(model.forward(read(&ids[length - 1..length]), &positions, Some(&mut cache)));
            let whole = last(model.forward(read(&ids[..length]), &positions, None));
            assert!(largest_difference(&cached, &whole) < 1e-4, "{} at {length}", method.name());
        }
        // Within the context it is RoPE, but for LongRoPE's own short factors.
        if method == Method::DynamicNtk {
            let rope = Method::Rope.positions(&config, 1.0).unwrap();
            let plain = last(model.forward(read(&ids[..16]), &rope, None));
            assert!(largest_difference(&plain, &last(model.forward(read(&ids[..16]), &positions, None))) < 1e-5);
        }
    }
}

#[test]
fn without_positions_one_layer_sees_a_set_and_two_see_an_order() {
    let device = Device::flex();
    let last = |layers: usize, ids: [u32; 6]| -> Vec<f32> {
        let config = Config { num_hidden_layers: layers, ..case("rope").config() };
        let ids = ids_tensor(&ids, &device);
        let logits = Model::random(&config, 5, &device).forward(ids, &Positions::none(), None);
        logits.slice_dim(1, -1).into_data().iter::<f32>().collect()
    };
    let difference = |layers| {
        let (a, b) = (last(layers, [1, 2, 3, 4, 5, 6]), last(layers, [4, 1, 5, 3, 2, 6]));
        largest_difference(&a, &b)
    };
    assert!(difference(1) < 1e-5, "{}", difference(1));
    assert!(difference(2) > 1e-3, "{}", difference(2));
}

#[test]
fn yarn_as_printed_is_position_interpolation() {
    let config = case("rope").config();
    for factor in [1.0, 2.0, 7.5] {
        let of = |method: Method| method.positions(&config, factor).unwrap();
        assert_eq!(of(Method::YarnAsPrinted), of(Method::Pi));
    }
}

/// A method without a fixture has not been compared with anything.
#[test]
fn every_method_has_a_fixture_or_is_shown_to_equal_one_that_has() {
    // Each equals another method of the list: cropping changes the prompt, YaRN as printed is PI, NoPE reads as DroPE does, and
    // noise is tested in dope.rs.
    let equal = [Method::Crop, Method::YarnAsPrinted, Method::Nope, Method::DopeGaussian];
    for method in Method::ALL.into_iter().filter(|method| !equal.contains(method)) {
        assert!(CASES.iter().any(|case| case.method() == method), "{} has no fixture", method.name());
    }
}

#[test]
fn every_scaling_is_plain_rope_at_factor_one() {
    let config = case("rope").config();
    for method in
        [Method::Rope, Method::Crop, Method::Pi, Method::Ntk, Method::Yarn, Method::YarnAsPrinted, Method::Llama3]
    {
        let positions = method.positions(&config, 1.0).unwrap();
        let Encoding::Rotary { inv_freq, attention_factor } = positions.layer(0).encoding.clone() else {
            panic!("{} is rotary", method.name());
        };
        for (found, expected) in inv_freq.iter().zip(rope_frequencies(1e4, 16)) {
            assert!((found - expected).abs() < 1e-12, "{}", method.name());
        }
        assert_eq!((attention_factor, positions.logit_scale), (1.0, 1.0));
    }
    assert!(Method::Pi.positions(&config, 0.5).is_err() && Method::Pi.positions(&config, f64::NAN).is_err());
}

#[cfg(feature = "train")]
#[test]
fn a_temperature_for_each_head_is_fitted_and_read_back() {
    use burn::module::Module;
    use drope_core::config::HeadScales;
    use drope_core::train::{Batch, HeadScaleFit};

    let device = Device::flex().autodiff();
    let case = case("drope");
    let config = case.config();
    let model = case.model(&device).no_grad();
    let batch = Batch::plain(case.ids(), 40);
    let mut fit = HeadScaleFit::new(&config, 1.1, &device);
    let mut optimizer = HeadScaleFit::optimizer();
    let mut curve = Vec::new();
    for _ in 0..40 {
        let loss;
        (fit, loss) = block_on(fit.step(&mut optimizer, &model, &batch, &Positions::none(), 0.05)).unwrap();
        curve.push(loss);
    }
    let scales = block_on(fit.values()).unwrap();
    assert!(curve[39] < curve[0] - 0.01, "{curve:?}");
    assert!(scales.iter().flatten().all(|&scale| scale >= 1.0) && scales.iter().flatten().any(|&scale| scale > 1.2));
    // A reader of the config computes the loss that the fit ended with.
    let fitted = Config { head_scales: Some(HeadScales { factor: 4.0, scales: scales.clone() }), ..config };
    let fitted = Config::from_json(&fitted.to_json()).unwrap();
    let at = |factor| Method::Drope.positions(&fitted, factor).unwrap();
    assert_eq!((at(1.0).head_scales, at(4.0).head_scales), (vec![vec![1.0; 4]; 2], scales));
    let (_, end) = block_on(fit.step(&mut optimizer, &model, &batch, &Positions::none(), 0.0)).unwrap();
    let losses = block_on(token_losses(&model, &fitted, &at(4.0), &case.ids(), async |_| Flow::Continue)).unwrap();
    let mean = losses.iter().map(|&loss| f64::from(loss)).sum::<f64>() / 39.0;
    assert!((mean - end).abs() < 1e-4, "{mean} {end}");
}
