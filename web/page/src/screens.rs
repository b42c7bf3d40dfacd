//! The screens of the page, each with an address of its own.

use leptos::prelude::*;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};

use crate::address::screen_in;
use crate::parts::focus::focus_if_lost;
use crate::state::State;
use crate::state::screen::Screen;

/// Links to the screens. The way back leads through the screens that were visited.
#[component]
pub fn Screens(state: State) -> impl IntoView {
    let back = Closure::<dyn Fn()>::new(move || {
        show(state, screen_in(&window().location().search().unwrap_or_default()));
    });
    // Pages without a window have no way back.
    let _ = window().add_event_listener_with_callback("popstate", back.as_ref().unchecked_ref());
    back.forget();
    let title = document().title();
    Effect::new(move || {
        document().set_title(&match state.screen.get() {
            Screen::Play => title.clone(),
            screen => format!("{} – {title}", screen.title()),
        });
    });
    view! {
        <nav class="screens" aria-label="Parts of this page">
            {Screen::ALL.map(|screen| view! {
                <a id=format!("screen-{}", screen.name()) href=move || state.address_of(screen)
                    aria-current=move || (state.screen.get() == screen).then_some("page")
                    on:click=move |event| {
                        // With these the browser opens the link elsewhere.
                        if event.ctrl_key() || event.meta_key() || event.shift_key() {
                            return;
                        }
                        event.prevent_default();
                        enter(state, screen);
                    }>{screen.title()}</a>
            }).collect_view()}
        </nav>
    }
}

/// Shows a screen, and adds it to the browser's history.
pub fn enter(state: State, screen: Screen) {
    if state.screen.get_untracked() == screen {
        return;
    }
    let address = untrack(|| state.address_of(screen));
    if let Ok(history) = window().history() {
        // Refused only on pages without an origin; the page works without.
        let _ = history.push_state_with_url(&JsValue::NULL, "", Some(&address));
    }
    show(state, screen);
    window().scroll_to_with_x_and_y(0.0, 0.0);
}

/// Shows a screen. The screen of the reader's text asks about it, the others about texts that are drawn.
pub fn show(state: State, screen: Screen) {
    state.is_own.set(screen == Screen::Text);
    state.screen.set(screen);
    focus_if_lost("main");
}

/// A part of the page that is there in some screens. It stays in the document, so that it keeps what was done in it.
#[component]
pub fn Part(state: State, screens: &'static [Screen], children: Children) -> impl IntoView {
    view! { <div class="part" hidden=move || !screens.contains(&state.screen.get())>{children()}</div> }
}
