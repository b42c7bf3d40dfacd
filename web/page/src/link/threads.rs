//! How many threads the CPU's worker may have: more than one where the page may share memory, which is where its server, or its
//! service worker from the second visit on, sets the headers for it.

use js_sys::Reflect;
use leptos::prelude::window;

/// More than these seldom make small models faster, and phones have slow ones among them.
const MOST: usize = 8;

/// As many as the reader wants, else as the processor runs at once.
pub fn allowed(wanted: Option<usize>) -> usize {
    let is_isolated = Reflect::get(&window(), &"crossOriginIsolated".into()).is_ok_and(|value| value.is_truthy());
    let here = window().navigator().hardware_concurrency() as usize;
    if is_isolated { wanted.unwrap_or(here.min(MOST)).clamp(1, 64) } else { 1 }
}
