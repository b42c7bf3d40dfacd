//! The address of what is chosen, for another person.

use leptos::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::state::State;

/// Where the last press led.
#[derive(Clone, Copy, PartialEq)]
enum Copied {
    NotYet,
    Done,
    Refused,
}

/// The button, which says what became of the link.
#[component]
pub fn CopyLink(state: State) -> impl IntoView {
    let copied = RwSignal::new(Copied::NotYet);
    // What was copied is no longer what is chosen.
    Effect::new(move || {
        state.choices();
        copied.set(Copied::NotYet);
    });
    let copy = move |_| {
        leptos::task::spawn_local(async move {
            let address = window().location().href().unwrap_or_default();
            copied.set(if copy_text(&address).await.is_some() { Copied::Done } else { Copied::Refused });
        });
    };
    let label = move || match copied.get() {
        Copied::NotYet => "Copy link",
        Copied::Done => "Link copied",
        Copied::Refused => "Copy it from the address bar",
    };
    view! { <button id="copy-link" type="button" class="quiet" on:click=copy><span aria-live="polite">{label}</span></button> }
}

/// Puts a text into the clipboard. Only pages that came by an encrypted connection, or from this machine, may do that.
pub async fn copy_text(text: &str) -> Option<()> {
    if !window().is_secure_context() {
        return None;
    }
    JsFuture::from(window().navigator().clipboard().write_text(text)).await.ok()?;
    Some(())
}
