//! The rooms of the page, each with an address of its own.

use leptos::prelude::*;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};

use crate::address::room_in;
use crate::state::State;
use crate::state::room::Room;

/// Links to the rooms. The way back leads through the rooms that were visited.
#[component]
pub fn Rooms(state: State) -> impl IntoView {
    let back = Closure::<dyn Fn()>::new(move || {
        show(state, room_in(&window().location().search().unwrap_or_default()));
    });
    // Pages without a window have no way back.
    let _ = window().add_event_listener_with_callback("popstate", back.as_ref().unchecked_ref());
    back.forget();
    view! {
        <nav class="rooms" aria-label="Parts of this page">
            {Room::ALL.map(|room| view! {
                <a id=format!("room-{}", room.name()) href=move || state.address_of(room)
                    aria-current=move || (state.room.get() == room).then_some("page")
                    on:click=move |event| {
                        // With these the browser opens the link elsewhere.
                        if event.ctrl_key() || event.meta_key() || event.shift_key() {
                            return;
                        }
                        event.prevent_default();
                        enter(state, room);
                    }>{room.title()}</a>
            }).collect_view()}
        </nav>
    }
}

/// Shows a room, and adds it to the browser's history.
pub fn enter(state: State, room: Room) {
    if state.room.get_untracked() == room {
        return;
    }
    let address = untrack(|| state.address_of(room));
    if let Ok(history) = window().history() {
        // Refused only on pages without an origin; the page works without.
        let _ = history.push_state_with_url(&JsValue::NULL, "", Some(&address));
    }
    show(state, room);
    window().scroll_to_with_x_and_y(0.0, 0.0);
}

/// Shows a room. The room of the reader's text asks about it, the others about texts that are drawn.
pub fn show(state: State, room: Room) {
    state.is_own.set(room == Room::Text);
    state.room.set(room);
}

/// A part of the page that is there in some rooms. It stays in the document, so that it keeps what was done in it.
#[component]
pub fn Part(state: State, rooms: &'static [Room], children: Children) -> impl IntoView {
    view! { <div class="part" hidden=move || !rooms.contains(&state.room.get())>{children()}</div> }
}
