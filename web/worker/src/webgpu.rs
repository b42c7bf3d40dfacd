//! WebGPU, after it was compared with the CPU on a real prompt.

use burn::tensor::Device;
use drope_core::generate::Flow;
use drope_core::language::Values;
use drope_core::loaded_model::LoadedModel;
use drope_core::model::{NumberType, NumberTypes, token_ids};
use drope_core::niah::{Spec, Task, sample};
use drope_core::positions::Method;
use js_sys::{Function, Promise};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::capacity::Capacity;
use super::models::ModelFiles;
use super::run::Interruption;
use super::subgroups::{get, gpu, open_webgpu};
use super::{Opened, now};

/// Largest difference of a logit that still counts as the same answer.
const TOLERANCE: f32 = 1e-3;
/// The same where keys and values are rounded to 16 bits; on Vulkan in software, logits of random models differ by 8e-3 then.
const ROUNDED_TOLERANCE: f32 = 3e-2;
/// Tokens of the prompt that both backends read.
const PROMPT: usize = 64;

/// A WebGPU device that gives the CPU's answer, and that is not slower if it must be fast, or why there is none.
pub async fn open(must_be_fast: bool, may_use_subgroups: bool) -> Result<Opened, String> {
    let opened = open_webgpu(may_use_subgroups).await;
    let (gpu, subgroups) = opened.ok_or_else(|| "this browser has no WebGPU".to_owned())?;
    let files =
        ModelFiles::load(Method::Rope.info().nano_model, &|_, _| Flow::Continue).await.map_err(|interruption| {
            match interruption {
                Interruption::Failed(message) => {
                    format!("WebGPU was not compared, because {}", message.trim_end_matches('.'))
                }
                Interruption::Stopped | Interruption::DeviceLost => "WebGPU was not compared".to_owned(),
            }
        })?;
    let (expected, cpu_time) = read_prompt(&files, &Device::flex()).await?;
    let (found, gpu_time) = read_prompt(&files, &gpu).await?;
    let difference = largest_difference(&expected, &found);
    if difference > TOLERANCE {
        return Err(format!("WebGPU is here but gives other answers (logits differ by {difference:.1e})"));
    }
    let times = format!("{PROMPT} tokens in {gpu_time:.0} ms on WebGPU and {cpu_time:.0} ms on the CPU");
    if must_be_fast && gpu_time > cpu_time {
        return Err(format!("WebGPU gives the same answers, but for models this small it is slower here: {times}"));
    }
    let keeps_wide_cache = !f16_is_right(&files, &gpu, &expected).await?;
    Ok(Opened { device: gpu, note: format!("it gives the CPU's answers: {times}"), subgroups, keeps_wide_cache })
}

/// Whether the GPU gives the expected logits with keys and values in 16 bits, which large models have and other kernels read; a GPU without
/// such numbers does.
async fn f16_is_right(files: &ModelFiles, gpu: &Device, expected: &[f32]) -> Result<bool, String> {
    if NumberType::F16.dtype_on(gpu).is_none() {
        return Ok(true);
    }
    let types = NumberTypes { cache: NumberType::F16, ..NumberTypes::default() };
    let model = files.instantiate(types, gpu)?;
    let ids = prompt(&model).map_err(|error| error.to_string())?;
    Ok(largest_difference(expected, &logits(&model, &ids, gpu).await?) <= ROUNDED_TOLERANCE)
}

/// Infinite where there are not as many, or where one is not finite: NaN must not pass as small.
fn largest_difference(expected: &[f32], found: &[f32]) -> f32 {
    if expected.len() != found.len() {
        return f32::INFINITY;
    }
    let distance = |(a, b): (&f32, &f32)| if b.is_finite() { (a - b).abs() } else { f32::INFINITY };
    expected.iter().zip(found).map(distance).fold(0.0, f32::max)
}

/// Limits of the adapter; a browser that does not say them counts as one without a limit.
pub async fn capacity() -> Capacity {
    let request = || -> Result<Promise, JsValue> {
        let gpu = gpu()?;
        get(&gpu, "requestAdapter")?.dyn_into::<Function>()?.call0(&gpu)?.dyn_into()
    };
    let limits = async {
        let adapter = JsFuture::from(request()?).await?;
        let limits = get(&adapter, "limits")?;
        let bytes = ["maxBufferSize", "maxStorageBufferBindingSize"].map(|name| get(&limits, name).ok()?.as_f64());
        Ok::<_, JsValue>(bytes.into_iter().flatten().reduce(f64::min))
    };
    let largest_buffer = Some(limits.await.ok().flatten().unwrap_or(f64::INFINITY));
    Capacity { largest_buffer, ..Capacity::default() }
}

/// Logits of a short prompt and one more token, and the milliseconds of the faster of two readings; one before them compiles kernels.
async fn read_prompt(files: &ModelFiles, device: &Device) -> Result<(Vec<f32>, f64), String> {
    let model = files.instantiate(NumberTypes::default(), device)?;
    let ids = prompt(&model).map_err(|error| error.to_string())?;
    let mut found = logits(&model, &ids, device).await?;
    let mut time = f64::INFINITY;
    for _ in 0..2 {
        let start = now();
        found = logits(&model, &ids, device).await?;
        time = time.min(now() - start);
    }
    Ok((found, time))
}

fn prompt(model: &LoadedModel) -> drope_core::Result<Vec<u32>> {
    let spec = Spec { depth: Some(0.0), ..Spec::new(Task::Single, Values::Numbers, PROMPT + 8, 1) };
    let text = sample(&spec, &model.tokenizer)?.prompt();
    let ids = model.tokenizer.prompt(&text)?;
    Ok(ids.into_iter().take(PROMPT).collect())
}

/// Logits of the whole prompt, and of one more token, which other kernels compute.
async fn logits(model: &LoadedModel, ids: &[u32], device: &Device) -> Result<Vec<f32>, String> {
    let LoadedModel { config, model, .. } = model;
    let positions = Method::Rope.positions(config, 1.0).map_err(|error| error.to_string())?;
    let mut cache = model.cache(config, &positions, ids.len() + 1);
    let mut found = Vec::new();
    for part in [ids, &ids[..1]] {
        let logits = model.forward(token_ids(part, [1, part.len()], device), &positions, Some(&mut cache));
        found.extend(logits.into_data_async().await.map_err(|error| error.to_string())?.iter::<f32>());
    }
    Ok(found)
}
