//! Reads the header of a file piece by piece. Every length is checked against the size of the file, since a damaged
//! file may announce any length.

use crate::error::{Error, Result};
use crate::model::ReadAt;

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// A file, and the position up to which it was read.
pub struct Reader<'a, R> {
    file: &'a R,
    /// Bytes of the file from `start` on.
    buffer: Vec<u8>,
    start: u64,
    position: u64,
}

impl<'a, R: ReadAt> Reader<'a, R> {
    pub fn new(file: &'a R) -> Self {
        Self { file, buffer: Vec::new(), start: 0, position: 0 }
    }

    /// Number of bytes before the current position.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next bytes.
    pub fn bytes(&mut self, length: usize) -> Result<&[u8]> {
        let left = self.file.size().saturating_sub(self.position);
        if length as u64 > left {
            return Err(Error::Gguf(format!("it announces {length} bytes, but only {left} are left")));
        }
        let from = (self.position - self.start) as usize;
        if from + length > self.buffer.len() {
            let size = (length.max(PIECE) as u64).min(left) as usize;
            let read = self.file.read_at(self.position, size);
            self.buffer = read.map_err(|error| Error::Gguf(format!("it cannot be read, {error}")))?;
            self.start = self.position;
        }
        let from = (self.position - self.start) as usize;
        self.position += length as u64;
        Ok(&self.buffer[from..from + length])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads how many items follow; each takes at least one byte.
    pub fn count(&mut self, what: &str) -> Result<usize> {
        let count = self.u64()?;
        let left = self.file.size().saturating_sub(self.position);
        if count > left {
            return Err(Error::Gguf(format!("it announces {count} {what}, but only {left} bytes are left")));
        }
        Ok(count as usize)
    }

    /// Reads a text, which follows its length.
    pub fn text(&mut self) -> Result<String> {
        let length = self.count("bytes of a text")?;
        let bytes = self.bytes(length)?.to_vec();
        String::from_utf8(bytes).map_err(|_| Error::Gguf("a text is not UTF-8".into()))
    }
}
