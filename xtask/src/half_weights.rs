//! The page's models in 16 bits: half of what a visit loads for its first answers.

use std::path::Path;

use anyhow::{Context, Result};
use half::f16;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

/// Rounds the weights of every model folder in `models` to 16 bits.
pub fn round_all(models: &Path) -> Result<()> {
    for folder in std::fs::read_dir(models).with_context(|| format!("cannot read {}", models.display()))? {
        let weights = folder?.path().join("model.safetensors");
        if weights.is_file() {
            let bytes = std::fs::read(&weights)?;
            std::fs::write(&weights, rounded(&bytes).with_context(|| weights.display().to_string())?)?;
        }
    }
    Ok(())
}

/// A safetensors file, in which numbers of 32 bits have 16.
pub fn rounded(bytes: &[u8]) -> Result<Vec<u8>> {
    let tensors = SafeTensors::deserialize(bytes)?;
    let round =
        |number: &[u8]| f16::from_f32(f32::from_le_bytes([number[0], number[1], number[2], number[3]])).to_le_bytes();
    let mut halves = Vec::new();
    for (name, tensor) in tensors.iter() {
        let (dtype, data) = match tensor.dtype() {
            Dtype::F32 => (Dtype::F16, tensor.data().chunks_exact(4).flat_map(round).collect()),
            other => (other, tensor.data().to_vec()),
        };
        halves.push((name, dtype, tensor.shape().to_vec(), data));
    }
    let views =
        halves.iter().map(|(name, dtype, shape, data)| Ok((*name, TensorView::new(*dtype, shape.clone(), data)?)));
    Ok(safetensors::serialize(views.collect::<Result<Vec<_>>>()?, None)?)
}

#[cfg(test)]
mod tests {
    use safetensors::tensor::TensorView;
    use safetensors::{Dtype, SafeTensors, serialize};

    use super::rounded;

    #[test]
    fn weights_keep_their_names_and_shapes() {
        let numbers: Vec<u8> = [1.0f32, -0.1, 3.0e-5, 1000.0].into_iter().flat_map(f32::to_le_bytes).collect();
        let view = TensorView::new(Dtype::F32, vec![2, 2], &numbers).unwrap();
        let bytes = rounded(&serialize([("a", view)], None).unwrap()).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let tensor = tensors.tensor("a").unwrap();
        assert_eq!((tensor.dtype(), tensor.shape()), (Dtype::F16, &[2, 2][..]));
        assert_eq!(tensor.data()[..2], half::f16::ONE.to_le_bytes());
        assert_eq!(rounded(&bytes).unwrap(), bytes, "what has 16 bits stays as it is");
    }
}
