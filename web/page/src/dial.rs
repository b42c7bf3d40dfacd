//! The cut as a dial: which rotations are dropped, and what becomes of the answer and of the attention on the needle.

use drope_core::positions::{Amount, Method, Parameter, Parameters, cope_frequencies};
use drope_core::probe::HeadProbe;
use drope_protocol::{Reading, StudyModel};
use leptos::prelude::*;

use super::answers::explained;
use super::column::Column;
use super::row::{AnswerRow, Share};
use super::runs::ask_dial;
use super::spectrum;
use super::state::{Asked, Running, State};

/// Who is asked: a model that keeps its positions, and one that was recalibrated after its slow rotations were dropped.
const MODELS: [(StudyModel, &str); 2] = [
    (StudyModel::ROPE, "RoPE, cut without any training"),
    (StudyModel::P_DROPE_COPIES, "partial DroPE with copies, trained without the slow rotations"),
];

/// Size of the drawing of a frequency.
const BAR: [f64; 2] = [18.0, 60.0];
/// Fewest and most turns that are drawn, as powers of ten.
const POWERS: [f64; 2] = [-2.4, 1.7];

/// Signals of the dial.
#[derive(Clone, Copy)]
pub struct Dial {
    /// How many of the slowest rotations are dropped, or slowed down.
    pub dropped: RwSignal<usize>,
    /// Whether they are slowed down, the slower the more, instead of dropped: CoPE.
    pub is_soft: RwSignal<bool>,
    /// The question that was asked last.
    pub asked: RwSignal<Option<Asked>>,
    columns: StoredValue<[Column; 2]>,
}

impl Dial {
    /// As partial DroPE has it: what does not turn once in the training context is dropped.
    pub fn new() -> Self {
        let own = turns().iter().filter(|&&turns| turns < 1.0).count();
        let columns = std::array::from_fn(|column| {
            let model = Some(MODELS[column].0.name.to_owned());
            Column::new(column, Reading { model, method: Method::PDrope, parameters: Parameters::default() })
        });
        let (dropped, is_soft) = (RwSignal::new(own), RwSignal::new(false));
        let dial = Self { dropped, is_soft, asked: RwSignal::new(None), columns: StoredValue::new(columns) };
        dial.turn(own, false);
        dial
    }

    /// How often each rotation turns in the training context, slowed down where that was chosen.
    fn turns(self) -> Vec<f64> {
        let config = spectrum::config();
        let clipped = if self.is_soft.get() { self.dropped.get() } else { 0 };
        in_training(cope_frequencies(config.rope.rope_theta, config.head_dim, clipped))
    }

    /// The models that are asked.
    pub fn columns(self) -> [Column; 2] {
        self.columns.get_value()
    }

    /// Drops that many of the slowest rotations, or slows them down.
    pub fn turn(self, dropped: usize, is_soft: bool) {
        self.dropped.set(dropped);
        self.is_soft.set(is_soft);
        let (method, parameter, value) = reading(dropped, is_soft);
        for column in self.columns() {
            column.method.set(method);
            column.parameters.set(Parameters::default().with(parameter, Some(Amount::Number(value))));
            column.clear();
        }
    }
}

/// How often each frequency turns in the training context.
fn turns() -> Vec<f64> {
    in_training(spectrum::frequencies())
}

fn in_training(frequencies: Vec<f64>) -> Vec<f64> {
    let context = spectrum::config().max_position_embeddings;
    frequencies.into_iter().map(|frequency| spectrum::turns(frequency, context)).collect()
}

/// The method that reads so, with its parameter. CoPE slows at least one down.
fn reading(dropped: usize, is_soft: bool) -> (Method, Parameter, f64) {
    if is_soft && dropped > 0 {
        (Method::Cope, Parameter::ClippedPairs, dropped as f64)
    } else {
        (Method::PDrope, Parameter::Cut, cut(dropped))
    }
}

/// A cut, in radians a token, below which so many frequencies lie.
fn cut(dropped: usize) -> f64 {
    let frequencies = spectrum::frequencies();
    let kept = frequencies.len() - dropped;
    let slowest_kept = kept.checked_sub(1).map_or(2.0 * frequencies[0], |place| frequencies[place]);
    let fastest_dropped = frequencies.get(kept).copied().unwrap_or(0.0);
    // Rounded for the address and the settings: five digits tell neighbours apart.
    let middle = (slowest_kept * fastest_dropped.max(slowest_kept / 4.0)).sqrt();
    format!("{middle:.4e}").parse().unwrap_or(middle)
}

/// The slider over the spectrum, and the two answers.
#[component]
pub fn FrequencyDial(state: State) -> impl IntoView {
    let dial = state.dial;
    let count = turns().len();
    let turns = Memo::new(move |_| dial.turns());
    let said = move || {
        let dropped = dial.dropped.get();
        match dropped {
            0 => "Nothing is dropped: RoPE.".to_owned(),
            1 if dial.is_soft.get() => "The slowest rotation stands still.".to_owned(),
            _ if dial.is_soft.get() => {
                format!(
                    "The {dropped} slowest of {count} rotations are slowed down, from the first, not at all, to the last, to a stop: CoPE."
                )
            }
            all if all == count => "Everything is dropped: DroPE.".to_owned(),
            _ => format!("The {dropped} slowest of {count} rotations are dropped."),
        }
    };
    let is_asking = move || matches!(state.running.get(), Some(Running::Dial | Running::DialProbe));
    view! {
        <section class="dial" aria-label="Cut">
            <h2>"Turn the cut yourself"</h2>
            <p class="hint">
                "A bar for each rotation, as high as it turns often within 256 tokens; the dashed line is one whole turn. Slow ones are \
                 at the right. Drop more or fewer, and both models are asked the question of the first screen, at its length."
            </p>
            <svg viewBox=format!("0 0 {} {}", BAR[0] * count as f64, BAR[1]) preserveAspectRatio="xMinYMid" role="img" aria-label=said>
                {(0..count).map(|place| {
                    let class = move || if dial.is_soft.get() || place + dial.dropped.get() < count { "kept" } else { "dropped" };
                    let turns = move || turns.with(|turns| turns[place]);
                    let height = move || height(turns());
                    view! {
                        <rect class=class
                            x={BAR[0] * place as f64 + 2.0} y=move || BAR[1] - height() width={BAR[0] - 4.0} height=height>
                            <title>{move || format!("{:.2} turns in 256 tokens", turns())}</title>
                        </rect>
                    }
                }).collect_view()}
                <line class="turn" x1="0" x2={BAR[0] * count as f64} y1={BAR[1] - height(1.0)} y2={BAR[1] - height(1.0)} />
            </svg>
            <label class="length">
                <span>{said}</span>
                <input id="cut" type="range" min="0" max=count step="1" prop:value=move || dial.dropped.get()
                    on:input=move |event| if let Ok(dropped) = event_target_value(&event).parse() { dial.turn(dropped, dial.is_soft.get_untracked()) }
                    on:change=move |_| ask_dial(state) />
            </label>
            <label class="inline">
                <input id="soft" type="checkbox" prop:checked=move || dial.is_soft.get()
                    on:change=move |event| {
                        dial.turn(dial.dropped.get_untracked(), event_target_checked(&event));
                        ask_dial(state);
                    } />
                "Slow them down instead, the slower the more (CoPE)"
            </label>
            <p class="buttons">
                <button id="ask-dial" type="button" class="primary" disabled=is_asking on:click=move |_| ask_dial(state)>
                    {move || format!("Ask both at {}×", state.story.extension.get())}
                </button>
            </p>
            <ol class="rows">
                {MODELS.iter().zip(dial.columns()).map(|((_, name), column)| view! { <DialRow dial column name /> }).collect_view()}
            </ol>
        </section>
    }
}

/// A model's answer, and the attention that its best head gives the needle.
#[component]
fn DialRow(dial: Dial, column: Column, name: &'static str) -> impl IntoView {
    let most = move || {
        let of = |head: &HeadProbe| head.needle_of_question;
        column.probe.with(|probe| probe.as_ref().map(|probe| probe.heads.iter().map(of).fold(0.0, f64::max)))
    };
    let share = Signal::derive(move || Share {
        of_one: most(),
        text: most().map_or_else(|| "–".to_owned(), super::results::percent),
        below: "of a head's attention on the needle".to_owned(),
    });
    view! {
        <AnswerRow column asked=dial.asked id=format!("dial-{}", column.key + 1) name=name.to_owned()
            title=Signal::derive(move || explained(&column)) share />
    }
}

fn height(turns: f64) -> f64 {
    let [fewest, most] = POWERS;
    BAR[1] * ((turns.log10() - fewest) / (most - fewest)).clamp(0.02, 1.0)
}

#[cfg(test)]
mod tests {
    use drope_core::positions::{Amount, Method, Parameters};

    use super::super::spectrum::{config, frequencies};
    use super::{cut, reading};

    #[test]
    fn a_cut_lies_between_what_is_kept_and_what_is_dropped() {
        let frequencies = frequencies();
        for dropped in 0..=frequencies.len() {
            let cut = cut(dropped);
            assert_eq!(frequencies.iter().filter(|&&frequency| frequency < cut).count(), dropped, "{cut}");
        }
    }

    #[test]
    fn every_place_of_the_dial_can_be_read() {
        for (dropped, is_soft) in (0..=frequencies().len()).flat_map(|dropped| [(dropped, false), (dropped, true)]) {
            let (method, parameter, value) = reading(dropped, is_soft);
            let chosen = Parameters::default().with(parameter, Some(Amount::Number(value)));
            assert!(method.positions_with(config(), 8.0, &chosen).is_ok(), "{dropped}, {is_soft}");
            assert_eq!(method == Method::Cope, is_soft && dropped > 0);
        }
    }
}
