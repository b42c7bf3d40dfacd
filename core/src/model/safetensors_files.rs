//! Safetensors files, one or many, of which a part of a tensor at a time is read.

use std::collections::HashMap;
use std::ops::Range;

use burn::tensor::{DType, TensorData};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use super::weight_source::WeightSource;
use crate::error::{Error, Result};

/// A file begins with the length of its header, in this many bytes.
const LENGTH: u64 = 8;
/// The limit of the safetensors crate; headers of real models are far shorter.
const LONGEST_HEADER: u64 = 100_000_000;

/// Bytes that are read where they are needed, so that a file need not be in memory as a whole.
pub trait ReadAt {
    /// Size in bytes.
    fn size(&self) -> u64;

    /// `length` bytes from `offset` on.
    ///
    /// # Errors
    /// If the source has no such bytes, or reading fails.
    fn read_at(&self, offset: u64, length: usize) -> std::io::Result<Vec<u8>>;
}

impl ReadAt for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, length: usize) -> std::io::Result<Vec<u8>> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..));
        let bytes = rest.and_then(|rest| rest.get(..length));
        bytes.map(<[u8]>::to_vec).ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
    }
}

/// The tensors of one or many safetensors files.
pub struct SafetensorsFiles<R> {
    files: Vec<File<R>>,
    /// Index of the file that holds a tensor.
    places: HashMap<String, usize>,
}

struct File<R> {
    name: String,
    reader: R,
    metadata: Metadata,
    /// Where the tensors begin.
    start: u64,
}

impl<'a> SafetensorsFiles<&'a [u8]> {
    /// One file in memory.
    ///
    /// # Errors
    /// As [`SafetensorsFiles::new`].
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self> {
        Self::new([("model.safetensors".to_owned(), bytes)])
    }
}

impl<R: ReadAt> SafetensorsFiles<R> {
    /// Reads the headers of files and their names.
    ///
    /// # Errors
    /// If one is damaged or ends before its tensors do, or two hold tensors of one name.
    pub fn new(files: impl IntoIterator<Item = (String, R)>) -> Result<Self> {
        let mut found = Self { files: Vec::new(), places: HashMap::new() };
        for (name, reader) in files {
            let file = File::open(name, reader)?;
            for tensor in file.metadata.offset_keys() {
                if let Some(other) = found.places.insert(tensor.clone(), found.files.len()) {
                    return Err(Error::Safetensors(format!(
                        "{} and {} both hold {tensor}",
                        found.files[other].name, file.name
                    )));
                }
            }
            found.files.push(file);
        }
        Ok(found)
    }

    /// Numbers in all tensors.
    pub fn num_parameters(&self) -> u64 {
        let sizes = self.files.iter().flat_map(|file| file.metadata.tensors().into_values());
        sizes.map(|info| info.shape.iter().product::<usize>() as u64).sum()
    }

    /// The name of the file that holds a tensor.
    pub fn file_of(&self, tensor: &str) -> Option<&str> {
        self.places.get(tensor).map(|&place| self.files[place].name.as_str())
    }
}

impl<R: ReadAt> File<R> {
    fn open(name: String, reader: R) -> Result<Self> {
        let damaged = |reason: &str| Error::Safetensors(format!("{name}: {reason}"));
        let read = |offset, length: u64| {
            reader.read_at(offset, length as usize).map_err(|error| damaged(&format!("it cannot be read, {error}")))
        };
        let size = reader.size();
        if size < LENGTH {
            return Err(damaged("it is too short for a header"));
        }
        let length = read(0, LENGTH)?.try_into().map_or(u64::MAX, u64::from_le_bytes);
        if length > LONGEST_HEADER || length > size - LENGTH {
            return Err(damaged("its header is longer than the file, or than any header"));
        }
        let header = read(LENGTH, length)?;
        let metadata: Metadata = serde_json::from_slice(&header)
            .map_err(|error| damaged(&format!("its header does not describe tensors, {error}")))?;
        let start = LENGTH + length;
        if start + metadata.data_len() as u64 != size {
            return Err(damaged("its tensors end before or after the file does"));
        }
        Ok(Self { name, reader, metadata, start })
    }

    fn read(&self, name: &str, info: &TensorInfo, rows: Range<usize>) -> Result<Vec<u8>> {
        let (start, end) = info.data_offsets;
        let row = (end - start) / info.shape[0];
        let bytes = self.reader.read_at(self.start + (start + rows.start * row) as u64, rows.len() * row);
        bytes.map_err(|error| Error::Safetensors(format!("{}: {name} cannot be read, {error}", self.name)))
    }
}

impl<R: ReadAt> WeightSource for SafetensorsFiles<R> {
    fn rows(&self, name: &str, shape: &[usize], rows: Range<usize>) -> Result<TensorData> {
        let file = self.places.get(name).map(|&place| &self.files[place]);
        let held = file.and_then(|file| Some((file, file.metadata.info(name)?)));
        let (file, info) = held.ok_or_else(|| Error::MissingTensor(name.to_owned()))?;
        if info.shape != shape {
            return Err(Error::Shape { name: name.to_owned(), found: info.shape.clone(), expected: shape.to_vec() });
        }
        let dtype = match info.dtype {
            Dtype::F32 => DType::F32,
            Dtype::F16 => DType::F16,
            Dtype::BF16 => DType::BF16,
            other => return Err(Error::Dtype { name: name.to_owned(), dtype: format!("{other:?}") }),
        };
        let mut shape = shape.to_vec();
        shape[0] = rows.len();
        TensorData::try_from_bytes_vec(file.read(name, info, rows)?, shape, dtype)
            .map_err(|error| Error::Safetensors(error.to_string()))
    }

    fn names(&self) -> Vec<String> {
        self.places.keys().cloned().collect()
    }
}
