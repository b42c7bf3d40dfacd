//! WebGPU in a browser gives the CPU's product.
#![cfg(target_arch = "wasm32")]

use burn::tensor::{Device, Distribution, Tensor};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
async fn webgpu_is_here_and_gives_the_cpus_product() {
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
