//! Recalibration in the tab: what is dropped, the jump of the loss, and its way back.

mod curves;
mod heatmap;

use drope_core::positions::partial_drop_cutoff;
use drope_protocol::{DroppedPositions, RecalibrationSettings, RecalibrationState, StoredModel};
use leptos::prelude::*;

use self::curves::Curves;
use crate::link::trainer::{end_worker, export_model, pause, recalibrate, try_drop};
use crate::own::kept::{put_into_column, save_label};
use crate::parts::estimate::duration;
use crate::parts::status::LoadingFiles;
use crate::state::State;
use crate::state::training::{DropCost, Phase, is_unfinished};

/// Updates after which partial DroPE finds needles again in texts of 8 contexts.
const QUICK: usize = 60;

/// Training context of nano-rope.
const CONTEXT: usize = 256;

/// The controls, the buttons and the curves.
#[component]
pub fn Recalibrate(state: State) -> impl IntoView {
    let training = state.training;
    let is_idle = move || training.phase.get() == Phase::Idle;
    let is_trying = move || training.phase.get() == Phase::Trying;
    let begin = move || {
        let settings = training.settings.get();
        let stored = state.stored.get().unwrap_or_default();
        let unfinished = stored.into_iter().find(|model| is_unfinished(model, &settings));
        match unfinished.and_then(|model| model.recalibration) {
            Some(state) => format!("Go on from update {} of {}", state.step, settings.steps),
            None => "Recalibrate".to_owned(),
        }
    };
    let kept = move || latest(state);
    // What was paused before a reload is what is offered to go on with; once, since the reader may choose others then.
    Effect::new(move |was_offered: Option<bool>| {
        let was_offered = was_offered.unwrap_or_default();
        let paused = latest(state).and_then(|model| model.recalibration).filter(RecalibrationState::is_unfinished);
        let is_new = untrack(|| training.name.get().is_none() && training.phase.get() == Phase::Idle);
        let Some(paused) = paused.filter(|_| is_new && !was_offered) else { return was_offered };
        training.settings.set(paused.settings);
        true
    });
    let quick = move |_| {
        training.settings.update(|settings| settings.steps = QUICK);
        recalibrate(state);
    };
    let lost = move || {
        let is_unfinished =
            |model: &StoredModel| model.recalibration.as_ref().is_some_and(RecalibrationState::is_unfinished);
        training.phase.get() == Phase::Idle
            && training.progress.get().is_none()
            && kept().as_ref().is_some_and(is_unfinished)
    };
    let press =
        move |_| if training.phase.get_untracked() == Phase::Running { pause(state) } else { recalibrate(state) };
    // While a run goes on its updates change the time, which is not spoken again and again.
    let cost = move || {
        training.cost.get().map(|cost| said(cost, training.seconds.get_untracked(), training.settings.get().steps))
    };
    // For readers who do not see the bar, as often as they want to hear it.
    let tenths = Memo::new(move |_| {
        let tenths = |progress: &RecalibrationState| 10 * progress.step / progress.settings.steps.max(1);
        training.progress.with(|progress| progress.as_ref().map(tenths)).filter(|&tenths| tenths > 0)
    });
    view! {
        <section class="recalibrate" aria-label="Recalibrate here">
            <h2>"Drop the positions yourself"</h2>
            <p class="hint">
                "Here nano-rope, a model with rotary positions, loses them in this tab, and is trained on short texts, at no more than its 256 \
                 tokens, until it reads without them: the same update as in the command line, in a worker of its own, on the CPU. Without the low \
                 frequencies the model recovers in a few hundred updates; without any positions it needs thousands."
            </p>
            <Settings state />
            <div class="buttons">
                <button id="drop" type="button" disabled=move || !is_idle() && !is_trying()
                    on:click=move |_| if untrack(is_trying) { end_worker(state) } else { try_drop(state) }>
                    {move || if is_trying() { "Stop measuring" } else { "Measure what dropping costs" }}
                </button>
                <button id="recalibrate" type="button" class="primary" on:click=press
                    disabled=move || matches!(training.phase.get(), Phase::Trying | Phase::Pausing)>
                    {move || match training.phase.get() {
                        Phase::Running => "Pause".to_owned(),
                        Phase::Pausing => "Keeping what there is…".to_owned(),
                        Phase::Idle | Phase::Trying => begin(),
                    }}
                </button>
                <button id="quick" type="button" hidden=move || !is_idle() || training.settings.get().steps == QUICK on:click=quick>
                    {format!("Recalibrate {QUICK} updates (a minute or two)")}
                </button>
                <button id="use-recalibrated" type="button" hidden=move || kept().is_none()
                    on:click=move |_| untrack(kept).into_iter().for_each(|model| put_into_column(state, model))>"Compare it under Play"</button>
                <button type="button" hidden=move || kept().is_none() disabled=move || state.is_exporting.get()
                    on:click=move |_| untrack(kept).into_iter().for_each(|model| export_model(state, model.name, training.error))>
                    {move || save_label(state.is_exporting.get())}
                </button>
            </div>
            <LoadingFiles loading=training.loading />
            <p id="drop-cost" role="status">{cost}</p>
            <p class="hint" hidden=move || !lost()>
                "A run is kept every few updates, and when it is paused. Updates that came after that, before the page was closed, are computed again."
            </p>
            <p class="visually-hidden" role="status">{move || tenths.get().map(|tenths| format!("{tenths}0 % of the updates are done."))}</p>
            <p class="failure" role="alert" hidden=move || training.error.get().is_none()>{move || training.error.get()}</p>
            {move || training.progress.get().or_else(|| kept()?.recalibration).map(|progress| {
                view! { <Curves progress cost=training.cost.get() seconds=training.seconds.get() /> }
            })}
        </section>
    }
}

/// The recalibrated model that was begun last, as far as the browser keeps it; after a reload one that is not finished, if there is one.
fn latest(state: State) -> Option<StoredModel> {
    let stored = state.stored.get()?;
    if let Some(name) = state.training.name.get() {
        return stored.into_iter().find(|model| model.name == name);
    }
    let is_paused = |model: &StoredModel| model.recalibration.as_ref().map(RecalibrationState::is_unfinished);
    stored.into_iter().filter(|model| is_paused(model).is_some()).max_by_key(is_paused)
}

/// What is dropped, and how it is trained.
#[component]
fn Settings(state: State) -> impl IntoView {
    let training = state.training;
    let settings = training.settings;
    let is_busy = move || training.phase.get() != Phase::Idle;
    let change = move |change: &dyn Fn(&mut RecalibrationSettings)| {
        settings.update(change);
        training.cost.set(None);
        training.progress.set(None);
    };
    let is_all = move || settings.with(|settings| settings.dropped == DroppedPositions::All);
    let choose = move |event| {
        let all = event_target_value(&event) == "all";
        // Peaks of the recipes.
        let (dropped, peak) = if all { (DroppedPositions::All, 5e-3) } else { (DroppedPositions::Low(None), 4e-3) };
        change(&|settings| (settings.dropped, settings.peak, settings.query_norm) = (dropped, peak, false));
    };
    let cut = move || match settings.with(|settings| settings.dropped) {
        DroppedPositions::Low(Some(cut)) => cut.to_string(),
        _ => String::new(),
    };
    let is_cut_wrong = RwSignal::new(false);
    let number =
        move |label, id, value: fn(&RecalibrationSettings) -> String, set: fn(&mut RecalibrationSettings, f64)| {
            let value = Signal::derive(move || settings.with(value));
            let is_wrong = RwSignal::new(false);
            let choose = move |event: leptos::ev::Event| {
                let text = event_target_value(&event);
                let amount = finite(&text);
                is_wrong.set(amount.is_none());
                training.error.set(amount.is_none().then(|| not_a_number(label, &text, &untrack(|| value.get()))));
                amount.iter().for_each(|&amount| change(&|settings| set(settings, amount)));
            };
            number_field(label, id, is_busy, is_wrong, value, choose)
        };
    view! {
        <div class="controls">
            <label class="field">
                <span>"Dropped"</span>
                <select id="dropped" disabled=is_busy on:change=choose>
                    <option value="low" prop:selected=move || !is_all()>"frequencies below a cut (partial DroPE)"</option>
                    <option value="all" prop:selected=is_all>"all positions (DroPE)"</option>
                </select>
            </label>
            <label class="field" hidden=is_all>
                <span>"Cut, in radians a token"</span>
                <input id="drop-cut" type="text" inputmode="decimal" size="8" disabled=is_busy prop:value=cut
                    aria-invalid=move || is_cut_wrong.get().to_string()
                    placeholder=format!("{:.4}", partial_drop_cutoff(CONTEXT))
                    on:change=move |event| {
                        let text = event_target_value(&event);
                        let cut = finite(&text);
                        is_cut_wrong.set(cut.is_none() && !text.trim().is_empty());
                        training.error.set(is_cut_wrong.get_untracked().then(|| not_a_number("Cut", &text, "the cut before")));
                        if !is_cut_wrong.get_untracked() {
                            change(&|settings| settings.dropped = DroppedPositions::Low(cut));
                        }
                    } />
            </label>
            <label class="field" hidden=move || !is_all()>
                <span>"Norm of queries"</span>
                <input id="query-norm" type="checkbox" disabled=is_busy prop:checked=move || settings.with(|settings| settings.query_norm)
                    on:change=move |event| {
                        let checked = event_target_checked(&event);
                        change(&|settings| settings.query_norm = checked);
                    } />
            </label>
            {number("Updates", "steps", |settings| settings.steps.to_string(),
                |settings, amount| settings.steps = (amount as usize).max(1))}
            {number("Copies, at most", "copies", |settings| settings.max_copies.to_string(),
                |settings, amount| settings.max_copies = amount)}
            {number("Learning rate", "rate", |settings| settings.peak.to_string(),
                |settings, amount| settings.peak = amount)}
        </div>
    }
}

/// A number that a request can hold, with a point or, as the keyboards of many languages have it, a comma. In `1,500` the comma may
/// stand for thousands, so that it is no number.
fn finite(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_of_thousands = text.split_once(',').is_some_and(|(whole, part)| whole != "0" && part.len() == 3);
    let number = (!is_of_thousands).then(|| text.replace(',', ".").parse().ok()).flatten();
    number.filter(|number: &f64| number.is_finite())
}

fn not_a_number(label: &str, text: &str, stays: &str) -> String {
    format!("{label}: {text:?} is not a number, so that {stays} stays.")
}

fn number_field(
    label: &'static str,
    id: &'static str,
    is_busy: impl Fn() -> bool + Send + 'static,
    is_wrong: RwSignal<bool>,
    value: Signal<String>,
    choose: impl Fn(leptos::ev::Event) + 'static,
) -> impl IntoView {
    view! {
        <label class="field">
            <span>{label}</span>
            <input id=id type="text" inputmode="decimal" size="6" disabled=is_busy
                aria-invalid=move || is_wrong.get().to_string() prop:value=value on:change=choose />
        </label>
    }
}

/// The jump of the loss, and how long it takes to mend it here.
fn said(DropCost { before, after }: DropCost, seconds: f64, steps: usize) -> String {
    format!(
        "With positions the loss is {before:.2} nats a token, without them {after:.2}. An update takes {seconds:.1} s here, {steps} of them \
         about {}.",
        duration(seconds * steps as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::{finite, said};
    use crate::state::training::DropCost;

    #[test]
    fn numbers_have_a_point_or_a_comma() {
        assert_eq!([" 0.004", "0,004", "1,5"].map(finite), [Some(0.004), Some(0.004), Some(1.5)]);
        assert_eq!(["0,0x", "inf", "1,500", "1,500.0"].map(finite), [None; 4]);
    }

    #[test]
    fn the_cost_is_said_with_the_time_that_it_takes_here() {
        let said = said(DropCost { before: 1.5, after: 6.25 }, 0.5, 600);
        assert!(said.contains("1.50") && said.contains("6.25") && said.ends_with("600 of them about 5 min."), "{said}");
    }
}
