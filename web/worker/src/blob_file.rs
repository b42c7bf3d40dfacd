//! A file of the browser, read where it is needed.

use std::cell::Cell;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};

use drope_core::model::ReadAt;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsValue;
use web_sys::{File, FileReaderSync, MessageChannel};

/// A file that the reader gave or that the browser keeps.
#[derive(Clone)]
pub struct BlobFile {
    file: File,
    /// Where [`Read`] goes on.
    at: Cell<u64>,
}

impl BlobFile {
    pub fn new(file: File) -> Self {
        Self { file, at: Cell::new(0) }
    }

    /// Its name, without folders.
    pub fn name(&self) -> String {
        self.file.name()
    }

    /// All of it.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let size = usize::try_from(self.size()).map_err(|_| Error::other("it has more than the 4 GB that fit here"))?;
        self.read_at(0, size)
    }
}

impl ReadAt for BlobFile {
    fn size(&self) -> u64 {
        self.file.size() as u64
    }

    fn read_at(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        if offset + length as u64 > self.size() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let read = || {
            let part = self.file.slice_with_f64_and_f64(offset as f64, (offset + length as u64) as f64)?;
            FileReaderSync::new()?.read_as_array_buffer(&part)
        };
        let buffer = read().map_err(|_| Error::other("the file has changed or can no longer be read"))?;
        let bytes = Uint8Array::new(&buffer).to_vec();
        give_back(&buffer);
        Ok(bytes)
    }
}

thread_local! {
    /// A channel whose other end is closed.
    static CLOSED: Option<MessageChannel> = MessageChannel::new().inspect(|channel| channel.port2().close()).ok();
}

/// Frees a buffer at once, by moving it into a message to a closed channel. The browser's garbage collector would let
/// hundreds of megabytes wait.
fn give_back(buffer: &JsValue) {
    CLOSED.with(|channel| {
        let Some(channel) = channel else { return };
        // If that fails, the garbage collector frees the buffer later.
        let _ = channel.port1().post_message_with_transferable(&JsValue::NULL, &Array::of1(buffer));
    });
}

impl Read for BlobFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let at = self.at.get();
        let length = (buffer.len() as u64).min(self.size().saturating_sub(at)) as usize;
        buffer[..length].copy_from_slice(&self.read_at(at, length)?);
        self.at.set(at + length as u64);
        Ok(length)
    }
}

impl Seek for BlobFile {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(from) => self.size().checked_add_signed(from),
            SeekFrom::Current(from) => self.at.get().checked_add_signed(from),
        };
        let at = at.ok_or(ErrorKind::InvalidInput)?;
        self.at.set(at);
        Ok(at)
    }
}
