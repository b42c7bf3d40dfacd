//! Builds a GGUF file: its values, its tensors, and their offsets.

use super::MAGIC;
use crate::model::StoredType;

/// Alignment of the tensors in bytes, if a file does not name another.
pub(super) const DEFAULT_ALIGNMENT: usize = 32;

/// The header of a file that is to be written, and the numbers of small tensors.
#[derive(Clone, Default)]
pub(super) struct GgufBuilder {
    pub(super) values: Vec<Vec<u8>>,
    pub(super) tensors: Vec<Vec<u8>>,
    pub(super) data: Vec<u8>,
    /// Bytes of all tensors.
    pub(super) length: u64,
}

/// A text as GGUF stores it.
pub(super) fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

impl GgufBuilder {
    pub(super) fn value(mut self, name: &str, kind: u32, bytes: &[u8]) -> Self {
        self.values.push([&text(name), &kind.to_le_bytes()[..], bytes].concat());
        self
    }

    fn list(self, name: &str, kind: u32, length: usize, bytes: &[u8]) -> Self {
        self.value(name, 9, &[&kind.to_le_bytes()[..], &(length as u64).to_le_bytes(), bytes].concat())
    }

    pub(super) fn u32(self, name: &str, value: u32) -> Self {
        self.value(name, 4, &value.to_le_bytes())
    }

    pub(super) fn f32(self, name: &str, value: f32) -> Self {
        self.value(name, 6, &value.to_le_bytes())
    }

    pub(super) fn bool(self, name: &str, value: bool) -> Self {
        self.value(name, 7, &[value.into()])
    }

    pub(super) fn text(self, name: &str, value: &str) -> Self {
        self.value(name, 8, &text(value))
    }

    pub(super) fn texts(self, name: &str, values: &[&str]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| text(value)).collect();
        self.list(name, 8, values.len(), &bytes)
    }

    /// Adds a list of integers of 32 bits.
    pub(super) fn i32s(self, name: &str, values: &[i32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.list(name, 5, values.len(), &bytes)
    }

    pub(super) fn f32s(self, name: &str, values: &[f32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.list(name, 6, values.len(), &bytes)
    }

    /// Adds a tensor of f32 with its numbers; the shape is row-major. Tensors that are only announced come after it.
    pub(super) fn tensor(mut self, name: &str, shape: &[usize], numbers: &[f32]) -> Self {
        self.announce(StoredType::F32, name, shape);
        self.data.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        self.data.resize(self.length as usize, 0);
        self
    }

    /// Adds a tensor without its numbers, which the caller writes after the others, padded to a multiple of
    /// [`DEFAULT_ALIGNMENT`]; the shape is row-major.
    pub(super) fn announce(&mut self, kind: StoredType, name: &str, shape: &[usize]) {
        let sizes: Vec<u8> = shape.iter().rev().flat_map(|&size| (size as u64).to_le_bytes()).collect();
        let dimensions = (shape.len() as u32).to_le_bytes();
        let (number, width): (u32, u64) = match kind {
            StoredType::F32 => (0, 4),
            StoredType::F16 => (1, 2),
            StoredType::Bf16 => (30, 2),
        };
        let offset = self.length.to_le_bytes();
        self.tensors.push([&text(name), &dimensions[..], &sizes, &number.to_le_bytes(), &offset].concat());
        let bytes = width * shape.iter().map(|&size| size as u64).product::<u64>();
        self.length = (self.length + bytes).next_multiple_of(DEFAULT_ALIGNMENT as u64);
    }

    /// The bytes of the file up to the tensors that are only announced.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(3u32.to_le_bytes());
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.values.len() as u64).to_le_bytes());
        bytes.extend(self.values.concat());
        bytes.extend(self.tensors.concat());
        bytes.resize(bytes.len().next_multiple_of(DEFAULT_ALIGNMENT), 0);
        bytes.extend(&self.data);
        bytes
    }
}
