//! WebGPU with subgroups. Browsers have them, but wgpu does not ask for them there (gfx-rs/wgpu#5555); this module adds them to its requests.

use std::cell::Cell;
use std::rc::Rc;

use burn::tensor::Device;
use drope_core::model::{LAUNCHES_AT_ONCE, use_subgroups};
use js_sys::{Array, Function, Promise, Reflect};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, future_to_promise};

use super::scope;

/// Units of the smallest subgroup in WGSL, for browsers that do not say how many theirs have.
const FEWEST: f64 = 4.0;

/// Opens WebGPU, where there is one, and says how many units join numbers by subgroups: 1 if the adapter has none, or they may not be used.
pub async fn open_webgpu(may_use_subgroups: bool) -> Option<(Device, usize)> {
    let smallest = Rc::new(Cell::new(1));
    if may_use_subgroups {
        // It fails without WebGPU, which wgpu finds out too.
        let _ = ask_for_subgroups(smallest.clone());
    }
    let device = Device::wgpu_options().tasks_max(LAUNCHES_AT_ONCE).init_async().await.ok()?;
    let subgroups = use_subgroups(&device, smallest.get()).await;
    Some((device, subgroups))
}

/// The browser's WebGPU.
pub fn gpu() -> Result<JsValue, JsValue> {
    get(&scope().navigator(), "gpu")
}

pub fn get(object: &JsValue, name: &str) -> Result<JsValue, JsValue> {
    Reflect::get(object, &name.into())
}

/// Adds subgroups to what adapters that have them are asked for; `smallest` gets the fewest units of one.
fn ask_for_subgroups(smallest: Rc<Cell<usize>>) -> Result<(), JsValue> {
    let gpu = gpu()?;
    let request_adapter: Function = get(&gpu, "requestAdapter")?.dyn_into()?;
    let of_gpu = gpu.clone();
    let with_subgroups = Closure::<dyn Fn(JsValue) -> Promise>::new(move |options| {
        let adapter = request_adapter.call1(&of_gpu, &options);
        let smallest = smallest.clone();
        future_to_promise(async move {
            let adapter = JsFuture::from(adapter?.dyn_into::<Promise>()?).await?;
            if let Some(units) = units_of_subgroup(&adapter) {
                // Where the browser does not let it, devices have no subgroups.
                let _ = add_to_requests(&adapter, units, smallest);
            }
            Ok(adapter)
        })
    });
    set(&gpu, "requestAdapter", &with_subgroups.into_js_value())
}

/// Fewest units of a subgroup of an adapter that has them.
fn units_of_subgroup(adapter: &JsValue) -> Option<usize> {
    let features = get(adapter, "features").ok()?;
    let has: Function = get(&features, "has").ok()?.dyn_into().ok()?;
    if !has.call1(&features, &"subgroups".into()).ok()?.is_truthy() {
        return None;
    }
    let told = get(adapter, "info").and_then(|info| get(&info, "subgroupMinSize"));
    Some(told.ok().and_then(|units| units.as_f64()).unwrap_or(FEWEST) as usize)
}

/// Has the adapter give its devices subgroups, of so many units or more, and says in `smallest` that one got them. A request that fails
/// is repeated as it was.
fn add_to_requests(adapter: &JsValue, units: usize, smallest: Rc<Cell<usize>>) -> Result<(), JsValue> {
    let request_device: Function = get(adapter, "requestDevice")?.dyn_into()?;
    let of_adapter = adapter.clone();
    let with_subgroups = Closure::<dyn Fn(JsValue) -> Promise>::new(move |descriptor: JsValue| {
        let (request_device, adapter, smallest) = (request_device.clone(), of_adapter.clone(), smallest.clone());
        future_to_promise(async move {
            let request = || -> Result<Promise, JsValue> { request_device.call1(&adapter, &descriptor)?.dyn_into() };
            let asked = get(&descriptor, "requiredFeatures")?;
            let features = if asked.is_undefined() { Array::new() } else { Array::from(&asked) };
            features.push(&"subgroups".into());
            set(&descriptor, "requiredFeatures", &features)?;
            if let Ok(device) = JsFuture::from(request()?).await {
                smallest.set(units);
                return Ok(device);
            }
            set(&descriptor, "requiredFeatures", &asked)?;
            JsFuture::from(request()?).await
        })
    });
    set(adapter, "requestDevice", &with_subgroups.into_js_value())
}

/// Sets an object's own value, which comes before one of its prototype.
fn set(object: &JsValue, name: &str, value: &JsValue) -> Result<(), JsValue> {
    if Reflect::set(object, &name.into(), value)? { Ok(()) } else { Err(name.into()) }
}
