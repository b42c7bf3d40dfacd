//! Writing `model.safetensors` tensor by tensor, at most [`PIECE`] bytes of numbers at a time.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

use burn::module::Module;
use half::{bf16, f16};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use super::Model;
use super::weight_source::{Unfused, WeightSource};
use super::weights::{Collect, NameAndShape, StoredType, finite_f32, is_norm};
use crate::config::Config;
use crate::error::{Error, Result};

/// Bytes of numbers in 32 bits that are in memory at once; a row is never divided.
pub(crate) const PIECE: usize = 16 << 20;

/// Writes the weights of a source as one `model.safetensors`, without a model in memory. Returns the names of the tensors
/// that the model does not need ([`Model::load`]).
///
/// # Errors
/// As [`Model::load`]; if a weight is too large for the type, or `out` cannot be written.
pub fn write_safetensors(
    config: &Config,
    source: &impl WeightSource,
    stored_type: StoredType,
    out: &mut impl Write,
) -> Result<Vec<String>> {
    let source = &Unfused::new(config, source);
    let (mut tensors, unused) = Model::layout(config, source)?;
    tensors.sort();
    write(out, &header(&tensors, stored_type)?)?;
    for (name, shape) in &tensors {
        for rows in pieces(shape, 1) {
            let numbers = finite_f32(name, source.rows(name, shape, rows)?)?;
            write(out, &stored(name, &numbers, stored_type)?)?;
        }
    }
    Ok(unused)
}

impl Model {
    /// Writes the weights as `model.safetensors`.
    ///
    /// # Errors
    /// If the device fails, the weights are packed ([`Model::load_as`]), a weight is NaN or infinite, since a broken model
    /// must not replace a good one, or too large for the type, or `out` cannot be written.
    pub async fn write_safetensors(&self, stored_type: StoredType, out: &mut impl Write) -> Result<()> {
        if self.embed_tokens.inference.is_packed() {
            return Err(Error::Packed);
        }
        let mut collected = Collect::default();
        self.visit(&mut collected);
        let mut tensors = collected.tensors;
        tensors.sort_by(|(a, _), (b, _)| a.cmp(b));
        let shapes: Vec<NameAndShape> =
            tensors.iter().map(|(name, tensor)| (name.clone(), tensor.shape.clone())).collect();
        write(out, &header(&shapes, stored_type)?)?;
        for (name, tensor) in tensors {
            let columns: usize = tensor.shape[1..].iter().product();
            let flat = (tensor.flat)();
            let flat = if is_norm(&name) && self.norm_offset != 0.0 { flat - self.norm_offset } else { flat };
            for rows in pieces(&tensor.shape, 1) {
                let part = flat.clone().slice(rows.start * columns..rows.end * columns);
                let data = part.into_data_async().await.map_err(|error| Error::Device(error.to_string()))?;
                write(out, &stored(&name, &finite_f32(&name, data)?, stored_type)?)?;
            }
        }
        Ok(())
    }
}

/// Rows of a tensor in pieces of at most [`PIECE`] bytes, each a multiple of `block` rows but for the last.
pub(crate) fn pieces(shape: &[usize], block: usize) -> impl Iterator<Item = Range<usize>> {
    let row_bytes = 4 * shape[1..].iter().product::<usize>().max(1);
    let rows = (PIECE / row_bytes / block * block).max(block);
    let all = shape[0];
    (0..all).step_by(rows).map(move |start| start..(start + rows).min(all))
}

/// Numbers as a file stores them.
///
/// # Errors
/// If one is too large for the type.
pub(crate) fn stored(name: &str, numbers: &[f32], stored_type: StoredType) -> Result<Vec<u8>> {
    let largest = numbers.iter().fold(0.0f32, |most, number| most.max(number.abs()));
    let too_large = |number_type| Err(Error::TooLarge { tensor: name.to_owned(), number_type });
    Ok(match stored_type {
        StoredType::F32 => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
        StoredType::F16 if !f16::from_f32(largest).is_finite() => return too_large("f16"),
        StoredType::F16 => numbers.iter().flat_map(|&number| f16::from_f32(number).to_le_bytes()).collect(),
        StoredType::Bf16 if !bf16::from_f32(largest).is_finite() => return too_large("bf16"),
        StoredType::Bf16 => numbers.iter().flat_map(|&number| bf16::from_f32(number).to_le_bytes()).collect(),
    })
}

pub(crate) fn write(out: &mut impl Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|error| Error::Write(error.to_string()))
}

/// What stands before the tensors of a safetensors file: its length, then JSON. As the safetensors crate writes it.
fn header(tensors: &[NameAndShape], stored_type: StoredType) -> Result<Vec<u8>> {
    let dtype = match stored_type {
        StoredType::F32 => Dtype::F32,
        StoredType::F16 => Dtype::F16,
        StoredType::Bf16 => Dtype::BF16,
    };
    let mut end = 0;
    let info = |(name, shape): &NameAndShape| {
        let start = end;
        end += stored_type.size() * shape.iter().product::<usize>();
        (name.clone(), TensorInfo { dtype, shape: shape.clone(), data_offsets: (start, end) })
    };
    let infos = tensors.iter().map(info).collect();
    let format = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let failed = |error: String| Error::Safetensors(error);
    let metadata = Metadata::new(Some(format), infos).map_err(|error| failed(error.to_string()))?;
    let mut json = serde_json::to_vec(&metadata).map_err(|error| failed(error.to_string()))?;
    json.resize(json.len().next_multiple_of(8), b' ');
    Ok([&(json.len() as u64).to_le_bytes()[..], &json].concat())
}

#[cfg(test)]
mod tests {
    use super::{PIECE, pieces};

    #[test]
    fn pieces_are_whole_rows_and_blocks() {
        assert!(pieces(&[7, 3], 1).eq(std::iter::once(0..7)));
        let columns = PIECE / 4 / 10;
        assert!(pieces(&[25, columns], 1).eq([0..10, 10..20, 20..25]));
        assert!(pieces(&[24, columns], 4).eq([0..8, 8..16, 16..24]));
        assert!(pieces(&[3, PIECE], 1).eq([0..1, 1..2, 2..3]), "a row may be larger");
    }
}
