//! The rooms of the page, each with an address of its own.

use std::str::FromStr;

use leptos::prelude::*;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};

use super::state::State;

/// A part of the page that is shown alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Room {
    /// The first screen, and any methods side by side.
    #[default]
    Play,
    /// Frequencies, and what heads look at.
    Why,
    /// The study, and tables.
    Results,
    /// A text of the reader's.
    Text,
    /// Models of the reader's.
    Model,
    /// Training in this tab.
    Recalibrate,
}

impl Room {
    /// In the order of the links.
    pub const ALL: [Self; 6] = [Self::Play, Self::Why, Self::Results, Self::Text, Self::Model, Self::Recalibrate];

    /// Name in the address.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Play => "play",
            Self::Why => "why",
            Self::Results => "results",
            Self::Text => "text",
            Self::Model => "model",
            Self::Recalibrate => "recalibrate",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Play => "Play",
            Self::Why => "Why",
            Self::Results => "Results",
            Self::Text => "Your text",
            Self::Model => "Your model",
            Self::Recalibrate => "Recalibrate",
        }
    }
}

impl FromStr for Room {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|room| room.name() == name).ok_or(())
    }
}

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
        <nav class="rooms" aria-label="Rooms">
            {Room::ALL.map(|room| view! {
                <a id=format!("room-{}", room.name()) href=move || state.address_of(room)
                    aria-current=move || (state.room.get() == room).then_some("page")
                    on:click=move |event| {
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

/// The room that a query names.
pub fn room_in(query: &str) -> Room {
    let parameters = web_sys::UrlSearchParams::new_with_str(query).ok();
    super::address::read(parameters.and_then(|parameters| parameters.get("room"))).unwrap_or_default()
}

/// A part of the page that is there in some rooms. It stays in the document, so that it keeps what was done in it.
#[component]
pub fn Part(state: State, rooms: &'static [Room], children: Children) -> impl IntoView {
    view! { <div class="part" hidden=move || !rooms.contains(&state.room.get())>{children()}</div> }
}

#[cfg(test)]
mod tests {
    use super::Room;

    #[test]
    fn rooms_have_names_of_their_own() {
        for room in Room::ALL {
            assert_eq!(room.name().parse(), Ok(room));
        }
        assert_eq!("cellar".parse::<Room>(), Err(()));
    }
}
