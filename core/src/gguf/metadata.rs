//! The values of the header, by name.

use std::collections::HashMap;

use super::reader::Reader;
use crate::error::{Error, Result};
use crate::model::ReadAt;

/// A value of the header.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number of any width from 0 on.
    Unsigned(u64),
    /// A whole number of any width.
    Signed(i64),
    /// A float of 32 or 64 bits.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
    /// A list of numbers or of booleans.
    Numbers(Numbers),
    /// A list of lists, of which nothing is used.
    Lists,
}

/// A list of numbers as the file stores them, so that a list takes no more memory than its part of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Type of a number, as GGUF counts them.
    kind: u32,
    /// Little-endian.
    bytes: Vec<u8>,
}

impl Numbers {
    /// The numbers, each widened to 64 bits.
    fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        let kind = self.kind;
        self.bytes.chunks_exact(width(kind).unwrap_or(1)).map(move |bytes| {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            let number = u64::from_le_bytes(eight);
            match kind {
                1 => f64::from(number as i8),
                3 => f64::from(number as i16),
                5 => f64::from(number as i32),
                6 => f64::from(f32::from_bits(number as u32)),
                11 => number as i64 as f64,
                12 => f64::from_bits(number),
                _ => number as f64,
            }
        })
    }
}

/// Bytes of a number of a type; `None` for texts and lists.
fn width(kind: u32) -> Option<usize> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

/// All values of a header.
pub struct Metadata(HashMap<String, Value>);

/// Lists in lists are not used, and deeply nested ones would overflow the stack.
const DEEPEST: usize = 2;

impl Metadata {
    /// Reads `count` values.
    pub fn read<R: ReadAt>(reader: &mut Reader<R>, count: usize) -> Result<Self> {
        let mut values = HashMap::new();
        for _ in 0..count {
            let name = reader.text()?;
            let kind = reader.u32()?;
            let value = read_value(reader, kind, 0)?;
            if values.insert(name.clone(), value).is_some() {
                return Err(Error::Gguf(format!("it has two values of the name {name}")));
            }
        }
        Ok(Self(values))
    }

    fn get(&self, name: &str) -> Result<&Value> {
        self.0.get(name).ok_or_else(|| Error::Gguf(format!("it lacks the value {name}")))
    }

    /// A text.
    pub fn text(&self, name: &str) -> Result<&str> {
        match self.get(name)? {
            Value::Text(text) => Ok(text),
            _ => Err(Error::Gguf(format!("{name} is not a text"))),
        }
    }

    /// A whole number from 0 on.
    pub fn u64(&self, name: &str) -> Result<u64> {
        match *self.get(name)? {
            Value::Unsigned(number) => Ok(number),
            Value::Signed(number) if number >= 0 => Ok(number as u64),
            _ => Err(Error::Gguf(format!("{name} is not a whole number of at least 0"))),
        }
    }

    /// A number.
    pub fn f64(&self, name: &str) -> Result<f64> {
        match *self.get(name)? {
            Value::Float(number) => Ok(number),
            Value::Unsigned(number) => Ok(number as f64),
            Value::Signed(number) => Ok(number as f64),
            _ => Err(Error::Gguf(format!("{name} is not a number"))),
        }
    }

    /// A boolean.
    pub fn bool(&self, name: &str) -> Result<bool> {
        match *self.get(name)? {
            Value::Bool(value) => Ok(value),
            _ => Err(Error::Gguf(format!("{name} is neither true nor false"))),
        }
    }

    /// A list of numbers, each widened to 64 bits.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        match self.get(name)? {
            Value::Numbers(numbers) => Ok(numbers.iter().collect()),
            _ => Err(Error::Gguf(format!("{name} is not a list of numbers"))),
        }
    }

    /// Bytes that a list of numbers takes in memory.
    #[cfg(test)]
    pub(super) fn stored_bytes(&self, name: &str) -> Option<usize> {
        match self.get(name) {
            Ok(Value::Numbers(numbers)) => Some(numbers.bytes.capacity()),
            _ => None,
        }
    }

    /// A list of texts.
    pub fn texts(&self, name: &str) -> Result<Vec<&str>> {
        match self.get(name)? {
            Value::Texts(texts) => Ok(texts.iter().map(String::as_str).collect()),
            _ => Err(Error::Gguf(format!("{name} is not a list of texts"))),
        }
    }

    /// Whether there is such a value.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A whole number from 0 on, where there is one.
    pub fn optional_u64(&self, name: &str) -> Result<Option<u64>> {
        self.has(name).then(|| self.u64(name)).transpose()
    }

    /// A number, where there is one.
    pub fn optional_f64(&self, name: &str) -> Result<Option<f64>> {
        self.has(name).then(|| self.f64(name)).transpose()
    }

    /// A boolean, if the file has one of this name.
    pub fn optional_bool(&self, name: &str) -> Result<Option<bool>> {
        self.has(name).then(|| self.bool(name)).transpose()
    }
}

fn read_value<R: ReadAt>(reader: &mut Reader<R>, kind: u32, depth: usize) -> Result<Value> {
    Ok(match kind {
        0 => Value::Unsigned(reader.u8()?.into()),
        1 => Value::Signed((reader.u8()? as i8).into()),
        2 => Value::Unsigned(reader.u16()?.into()),
        3 => Value::Signed((reader.u16()? as i16).into()),
        4 => Value::Unsigned(reader.u32()?.into()),
        5 => Value::Signed((reader.u32()? as i32).into()),
        6 => Value::Float(f32::from_bits(reader.u32()?).into()),
        7 => match reader.u8()? {
            0 => Value::Bool(false),
            1 => Value::Bool(true),
            other => return Err(Error::Gguf(format!("it has {other} in place of true (1) or false (0)"))),
        },
        8 => Value::Text(reader.text()?),
        9 if depth < DEEPEST => {
            let kind = reader.u32()?;
            let count = reader.count("values of a list")?;
            match width(kind) {
                Some(width) => {
                    let length = count.checked_mul(width).ok_or_else(|| Error::Gguf("a list is too long".into()))?;
                    Value::Numbers(Numbers { kind, bytes: reader.bytes(length)?.to_vec() })
                }
                None if kind == 8 => Value::Texts((0..count).map(|_| reader.text()).collect::<Result<_>>()?),
                None => {
                    for _ in 0..count {
                        read_value(reader, kind, depth + 1)?;
                    }
                    Value::Lists
                }
            }
        }
        10 => Value::Unsigned(reader.u64()?),
        11 => Value::Signed(reader.u64()? as i64),
        12 => Value::Float(f64::from_bits(reader.u64()?)),
        other => return Err(Error::Gguf(format!("it has a value of the unknown kind {other}"))),
    })
}
