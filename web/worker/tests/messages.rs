//! What the page and the worker say to each other survives the way, in a browser.
#![cfg(target_arch = "wasm32")]

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_web::protocol::{MethodName, Question, Request, model_of};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn requests_survive_json() {
    let question = Question { task: Task::MultiKey, values: Values::Words, extension: 8, seed: u64::MAX };
    for method in Method::ALL {
        let request = Request::Measure { run: 3, question, method: MethodName(method), trials: 50 };
        let text = serde_json::to_string(&request).unwrap();
        assert!(text.contains(&format!("\"{}\"", method.name())), "{text}");
        let Ok(Request::Measure { run: 3, question: again, method: MethodName(same), trials: 50 }) =
            serde_json::from_str(&text)
        else {
            panic!("{text}");
        };
        assert_eq!((again, same), (question, method));
    }
}

#[wasm_bindgen_test]
fn every_method_has_a_model_and_scalings_share_the_pretrained_one() {
    assert_eq!(model_of(Method::Yarn), model_of(Method::Rope));
    assert_eq!((model_of(Method::Drope), model_of(Method::PDrope)), ("nano-drope", "nano-p-drope"));
}

#[wasm_bindgen_test]
async fn webgpu_is_here_and_gives_the_cpus_product() {
    use burn::tensor::{Device, Distribution, Tensor};
    let gpu = Device::wgpu_options().init_async().await.expect("this test needs WebGPU");
    let data =
        Tensor::<2>::random([17, 33], Distribution::Normal(0.0, 1.0), &Device::flex()).into_data_async().await.unwrap();
    let product = async |device: &Device| {
        let x = Tensor::<2>::from_data(data.clone(), device);
        let y = x.clone().matmul(x.transpose()).into_data_async().await.unwrap();
        y.iter::<f32>().collect::<Vec<f32>>()
    };
    let (cpu, gpu) = (product(&Device::flex()).await, product(&gpu).await);
    let difference = cpu.iter().zip(&gpu).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(cpu.len() == gpu.len() && difference < 1e-4, "{difference}");
}
