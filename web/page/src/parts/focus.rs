//! Where the keyboard is.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, ScrollIntoViewOptions, ScrollLogicalPosition};

/// Moves the keyboard to an element, by its id, once the page shows it.
pub fn focus(id: &'static str) {
    request_animation_frame(move || give(id));
}

/// Moves the keyboard to an element where what had it is not shown any more.
pub fn focus_if_lost(id: &'static str) {
    let is_hidden =
        |element: web_sys::Element| matches!(element.closest("[hidden]"), Ok(Some(_))) || element.tag_name() == "BODY";
    request_animation_frame(move || {
        if document().active_element().is_some_and(is_hidden) {
            give(id);
        }
    });
}

/// Moves the keyboard to what was clicked.
pub fn focus_clicked(event: &web_sys::MouseEvent) {
    let clicked = event.current_target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
    clicked.iter().for_each(|element| drop(element.focus()));
}

/// Scrolls to the first element that a selector finds, once the page shows what was changed.
pub fn scroll_to(selector: &'static str, place: ScrollLogicalPosition) {
    request_animation_frame(move || {
        if let Ok(Some(element)) = document().query_selector(selector) {
            let options = ScrollIntoViewOptions::new();
            options.set_block(place);
            element.scroll_into_view_with_scroll_into_view_options(&options);
        }
    });
}

fn give(id: &str) {
    let element = document().get_element_by_id(id).and_then(|element| element.dyn_into::<HtmlElement>().ok());
    // Refused only for elements that are gone.
    element.iter().for_each(|element| drop(element.focus()));
}
