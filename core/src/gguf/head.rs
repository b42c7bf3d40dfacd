//! Builds a GGUF file: its values, its tensors, and their offsets.

use half::{bf16, f16};

use super::MAGIC;
use crate::model::StoredType;

/// Alignment of the tensors in bytes, if a file does not name another.
pub(super) const DEFAULT_ALIGNMENT: usize = 32;

/// The content of a file that is to be written.
#[derive(Clone, Default)]
pub(super) struct Head {
    pub(super) values: Vec<Vec<u8>>,
    pub(super) tensors: Vec<Vec<u8>>,
    pub(super) data: Vec<u8>,
}

/// A text as GGUF stores it.
pub(super) fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

impl Head {
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
    pub(super) fn kinds(self, name: &str, values: &[i32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.list(name, 5, values.len(), &bytes)
    }

    pub(super) fn scores(self, name: &str, values: &[f32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.list(name, 6, values.len(), &bytes)
    }

    /// Adds a tensor of f32; the shape is row-major.
    pub(super) fn tensor(self, name: &str, shape: &[usize], numbers: &[f32]) -> Self {
        self.tensor_of(StoredType::F32, name, shape, numbers)
    }

    /// Adds a tensor; the shape is row-major.
    pub(super) fn tensor_of(mut self, kind: StoredType, name: &str, shape: &[usize], numbers: &[f32]) -> Self {
        let sizes: Vec<u8> = shape.iter().rev().flat_map(|&size| (size as u64).to_le_bytes()).collect();
        let offset = (self.data.len() as u64).to_le_bytes();
        let dimensions = (shape.len() as u32).to_le_bytes();
        let number: u32 = match kind {
            StoredType::F32 => 0,
            StoredType::F16 => 1,
            StoredType::Bf16 => 30,
        };
        self.tensors.push([&text(name), &dimensions[..], &sizes, &number.to_le_bytes(), &offset].concat());
        match kind {
            StoredType::F32 => self.data.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
            StoredType::F16 => self.data.extend(numbers.iter().flat_map(|&number| f16::from_f32(number).to_le_bytes())),
            StoredType::Bf16 => {
                self.data.extend(numbers.iter().flat_map(|&number| bf16::from_f32(number).to_le_bytes()));
            }
        }
        self.data.resize(self.data.len().next_multiple_of(DEFAULT_ALIGNMENT), 0);
        self
    }

    /// The bytes of the file.
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
