//! How far each frequency turns over a text, and what a method's scaling makes of it.

use drope_core::config::Config;
use drope_core::positions::{Encoding, Method, rope_frequencies};
use drope_protocol::Reading;
use leptos::prelude::*;

use crate::parts::axes::{Axes, view_box};
use crate::parts::reading_title::reading_title;
use crate::state::column::Column;
use crate::state::spectrum;
use crate::state::{EXTENSIONS, State};

/// Config of LongRoPE's own model, which contains LongRoPE's factors.
const LONGROPE_CONFIG: &str = include_str!("../../../../models/nano-longrope2/config.json");

/// Size of a chart, and the fewest and most turns that it shows, as powers of ten.
const SIZE: [f64; 2] = [300.0, 150.0];
const POWERS: [f64; 2] = [-2.4, 3.0];

/// A pair of dimensions that is rotated.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    /// Turns over the longest text of training.
    trained: f64,
    /// Turns over the text that is read.
    read: f64,
}

impl Pair {
    /// Whether it reaches angles that training never showed: it goes on from where training ended, within its first turn.
    fn is_new(self) -> bool {
        self.trained < 1.0 && self.read > 1.001 * self.trained
    }
}

/// The config of the model that a method is shown with, as far as frequencies go.
fn config(method: Method) -> drope_core::Result<Config> {
    if method == Method::LongRope { Config::from_json(LONGROPE_CONFIG) } else { Ok(spectrum::config().clone()) }
}

/// The rotated pairs of a method's model that is read at `factor` times its training context; none where nothing is rotated.
fn pairs(reading: &Reading, factor: f64) -> drope_core::Result<Vec<Pair>> {
    let config = config(reading.method)?;
    let context = config.max_position_embeddings;
    let length = (context as f64 * factor).round() as usize;
    let length = reading.method.crop_length(&config).map_or(length, |most| most.min(length));
    let positions = reading.method.positions_with(&config, factor, &reading.parameters)?;
    let rotary = positions.layers.into_iter().find_map(|layer| {
        let inv_freq = match layer.encoding {
            Encoding::Rotary { inv_freq, .. } => inv_freq,
            Encoding::LengthDependent(dependent) => dependent.rotary(length).0,
            Encoding::PerHead(heads) => heads.into_iter().next()?.inv_freq,
            Encoding::None | Encoding::Alibi { .. } => return None,
        };
        Some((inv_freq, layer.window.unwrap_or(usize::MAX)))
    });
    let Some((read, window)) = rotary else { return Ok(Vec::new()) };
    // Angles between a query and a key: none is further away than the window.
    let turns = |frequency: f64, length: usize| spectrum::turns(frequency, length.min(window));
    let pair = |(trained, read): (f64, f64)| Pair { trained: turns(trained, context), read: turns(read, length) };
    let trained = rope_frequencies(config.rope.rope_theta, config.head_dim);
    Ok(trained.into_iter().zip(read).map(pair).collect())
}

/// The frequencies of all columns, side by side, at a length that is dragged.
#[component]
pub fn Frequencies(state: State) -> impl IntoView {
    let factor = RwSignal::new(1.0);
    Effect::new(move |_| factor.set(state.extension.get() as f64));
    let longest = EXTENSIONS[EXTENSIONS.len() - 1];
    view! {
        <section class="frequencies" aria-label="Frequencies">
            <h2>"Why it happens: angles that training never showed"</h2>
            <p class="hint">
                "RoPE rotates pair m of a query and a key at position i by the angle i·θ"<sub>"m"</sub>", θ"<sub>"m"</sub>" = 10000"
                <sup>"−2m/d"</sup>". Fast pairs went round many times in training and know every angle; slow ones did not finish one \
                 turn, and a longer text takes them to angles that no weight was trained for, unless a scaling slows them down, or \
                 nothing rotates at all."
            </p>
            <label class="field">
                <span>{move || format!("Length of the text: {}×", factor.get())}</span>
                <input id="factor" type="range" min="1" max=longest step="0.5" prop:value=move || factor.get()
                    on:input=move |event| if let Ok(value) = event_target_value(&event).parse() { factor.set(value) } />
            </label>
            <div class="answers">
                <For each=move || state.columns.get() key=|column| column.key let:column>
                    <ColumnFrequencies state column factor />
                </For>
            </div>
        </section>
    }
}

#[component]
fn ColumnFrequencies(state: State, column: Column, factor: RwSignal<f64>) -> impl IntoView {
    let drawn = move || {
        let reading = column.reading();
        if state.kept_of(column).is_some() {
            let name = reading_title(&reading);
            let sentence = format!("{name}: frequencies are drawn of the page's own models alone.");
            return view! { <p class="hint">{sentence}</p> }.into_any();
        }
        let factor = factor.get();
        let pairs = pairs(&reading, factor);
        let name = reading_title(&reading);
        match pairs {
            Err(error) => view! { <p class="hint">{format!("{name}: {error}.")}</p> }.into_any(),
            Ok(pairs) if pairs.is_empty() => {
                view! { <p>{format!("{name} rotates nothing: no angle is new at any length.")}</p> }.into_any()
            }
            Ok(pairs) => {
                let new = pairs.iter().filter(|pair| pair.is_new()).count();
                let sentence = format!(
                    "{name} at {factor}×: {} of {} pairs reach angles that training never showed.",
                    if new == 0 { "none".to_owned() } else { new.to_string() },
                    pairs.len()
                );
                view! { <PairChart pairs sentence /> }.into_any()
            }
        }
    };
    view! { <div>{drawn}</div> }
}

/// A bar for what training showed of each pair, and a dot for where the text takes it.
#[component]
fn PairChart(pairs: Vec<Pair>, sentence: String) -> impl IntoView {
    let [fewest, most] = POWERS;
    let height = move |turns: f64| SIZE[1] * ((turns.max(1e-9).log10() - fewest) / (most - fewest)).clamp(0.0, 1.0);
    let step = SIZE[0] / pairs.len().max(1) as f64;
    let heights = [0.01, 1.0, 100.0].map(|turns: f64| (SIZE[1] - height(turns), turns.to_string())).to_vec();
    let ends = ["pair 0".to_owned(), format!("pair {}", pairs.len().saturating_sub(1))];
    let bars = (0..).map(f64::from).zip(pairs).map(move |(number, pair)| {
        let (bar, dot) = (height(pair.trained), height(pair.read));
        let class = if pair.is_new() { "new" } else { "known" };
        view! {
            <rect class="trained" x={step * number + 2.0} y={SIZE[1] - bar} width={step - 4.0} height=bar />
            <circle class=class cx={step * (number + 0.5)} cy={SIZE[1] - dot} r="4">
                <title>{format!("pair {number}: {:.2} turns in training, {:.2} here", pair.trained, pair.read)}</title>
            </circle>
        }
    });
    let bars = bars.collect_view();
    let turn = SIZE[1] - height(1.0);
    view! {
        <figure>
            <svg viewBox=view_box(SIZE) role="img" aria-label=sentence.clone()>
                <line class="turn" x1="0" x2=SIZE[0] y1=turn y2=turn />
                {bars}
                <Axes size=SIZE heights ends />
            </svg>
            <figcaption>
                {sentence}
                <span class="hint">" Turns, on a logarithmic scale. Bars: in training; dots: over this text, hollow where training never showed the angle; dashed: \
                                    one whole turn; fast pairs left."</span>
            </figcaption>
        </figure>
    }
}

#[cfg(test)]
mod tests {
    use drope_core::positions::Method;

    use super::{Pair, pairs};
    use crate::state::column::plain;

    fn new_pairs(method: Method, factor: f64) -> usize {
        pairs(&plain(method), factor).unwrap().into_iter().filter(|pair| pair.is_new()).count()
    }

    #[test]
    fn scalings_keep_slow_pairs_within_the_angles_of_training() {
        // 10000^(−2m/32)·256/2π is below 1 from m = 7 on.
        assert_eq!((new_pairs(Method::Rope, 1.0), new_pairs(Method::Rope, 8.0)), (0, 9));
        let kept = [Method::Pi, Method::Yarn, Method::PDrope, Method::Drope, Method::Crop, Method::RnopeSwa];
        assert_eq!(kept.map(|method| new_pairs(method, 8.0)), [0; 6]);
        assert!(
            Method::ALL.into_iter().all(|method| new_pairs(method, 1.0) == 0),
            "nothing is new at the training length"
        );
        let first = pairs(&plain(Method::Rope), 8.0).unwrap()[0];
        let turns = 256.0 / std::f64::consts::TAU;
        assert_eq!(first, Pair { trained: turns, read: 8.0 * turns });
        assert!(pairs(&plain(Method::Alibi), 8.0).unwrap().is_empty());
    }
}
