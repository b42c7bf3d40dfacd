//! Drawings saved as pictures.

use leptos::prelude::*;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, HtmlImageElement};

use crate::parts::blob::{save, text_address};

/// Saves a drawing (SVG) as a picture of this width and height, which the browser draws.
pub fn save_picture(name: &'static str, [width, height]: [u32; 2], text: &str) {
    let drawn = move || -> Result<(), JsValue> {
        let image = HtmlImageElement::new()?;
        let source = text_address("image/svg+xml", text)?;
        let drawn_image = image.clone();
        let on_load = Closure::once_into_js(move || {
            // A browser that cannot draw saves nothing.
            let _ = draw(name, &drawn_image, width, height);
        });
        image.set_onload(Some(on_load.unchecked_ref()));
        image.set_src(&source);
        Ok(())
    };
    let _ = drawn();
}

fn draw(name: &str, image: &HtmlImageElement, width: u32, height: u32) -> Result<(), JsValue> {
    let canvas: HtmlCanvasElement = document().create_element("canvas")?.dyn_into()?;
    canvas.set_width(width);
    canvas.set_height(height);
    let context = canvas.get_context("2d")?.ok_or("no canvas")?.dyn_into::<CanvasRenderingContext2d>()?;
    context.draw_image_with_html_image_element_and_dw_and_dh(image, 0.0, 0.0, width.into(), height.into())?;
    save(name, &canvas.to_data_url()?)
}
