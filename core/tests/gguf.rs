//! GGUF against PyPI's `gguf` (tests/gguf_fixture.py).

use drope_core::gguf::{GgmlType, Gguf};
use drope_core::model::{SafetensorsFiles, WeightSource};

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../tests/fixtures/gguf/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn every_type_is_widened_bit_for_bit() {
    let (file, expected) = (fixture("types.gguf"), fixture("types.safetensors"));
    let (file, expected) = (Gguf::open(&file[..]).unwrap(), SafetensorsFiles::from_bytes(&expected).unwrap());
    let types: Vec<&str> = file.types().into_iter().map(GgmlType::name).collect();
    assert_eq!(types, ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K"]);
    for (layer, kind) in types.iter().enumerate() {
        let name = format!("model.layers.{layer}.self_attn.v_proj.weight");
        let bits = |source: &dyn WeightSource| -> Vec<u32> {
            source.tensor(&name, &[3, 512]).unwrap().iter::<f32>().map(f32::to_bits).collect()
        };
        assert_eq!(bits(&file), bits(&expected), "{kind}");
    }
}
