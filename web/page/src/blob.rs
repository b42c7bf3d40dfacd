//! Text that the browser can load from an address of its own.

use wasm_bindgen::JsValue;
use web_sys::{Blob, BlobPropertyBag, Url};

/// The address of a text of this media type, as long as the page lives.
pub fn text_address(media_type: &str, text: &str) -> Result<String, JsValue> {
    let options = BlobPropertyBag::new();
    options.set_type(media_type);
    let parts = js_sys::Array::of1(&text.into());
    Url::create_object_url_with_blob(&Blob::new_with_str_sequence_and_options(&parts, &options)?)
}
