//! The graphics card, as WebGPU names it.

use std::fmt;

use js_sys::Reflect;
use wasm_bindgen::JsValue;

use crate::link::script::adapter;

/// What WebGPU says of its adapter.
pub enum Card {
    /// There is no WebGPU, or no adapter.
    None,
    /// WebGPU computes on the processor.
    Software(String),
    /// A card.
    Named(String),
}

impl Card {
    /// Asks the browser.
    pub async fn find() -> Self {
        let get = |object: &JsValue, name: &str| Reflect::get(object, &name.into());
        let info = adapter().await.and_then(|adapter| get(&adapter, "info"));
        let Ok(info) = info else { return Self::None };
        let word = |name: &str| get(&info, name).ok()?.as_string().filter(|word| !word.is_empty());
        let words: Vec<String> =
            ["vendor", "architecture", "device", "description"].into_iter().filter_map(word).collect();
        let name = if words.is_empty() { "a card without a name".to_owned() } else { words.join(" ") };
        let is_fallback = get(&info, "isFallbackAdapter").is_ok_and(|value| value.is_truthy());
        if is_fallback || name.to_lowercase().contains("swiftshader") {
            Self::Software(name)
        } else {
            Self::Named(name)
        }
    }

    /// Why WebGPU is not worth measuring, as the end of a sentence.
    pub fn reason_against(&self) -> Option<&'static str> {
        match self {
            Self::None => Some("this browser has none"),
            Self::Software(_) => Some("it computes on the processor here"),
            Self::Named(_) => None,
        }
    }
}

impl fmt::Display for Card {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("no WebGPU"),
            Self::Software(name) => write!(formatter, "WebGPU in software ({name})"),
            Self::Named(name) => write!(formatter, "WebGPU on {name}"),
        }
    }
}
