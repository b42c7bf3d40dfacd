//! The tensors of a file, by the names that Hugging Face's Llama gives them.

use std::collections::HashSet;
use std::ops::Range;

use burn::tensor::TensorData;

use super::Gguf;
use super::dequantize::{GgmlType, dequantize};
use super::reader::Reader;
use crate::config::{Family, LLAMA};
use crate::error::{Error, Result};
use crate::model::{QuantizedRows, ReadAt, WeightSource, is_norm};

/// What Llama 3.1's scaling divides frequencies by: a part of the config here, and not a weight.
pub(super) const ROPE_FACTORS: &str = "rope_freqs.weight";
/// What LongRoPE divides them by, in texts within the original context and beyond.
pub(super) const LONGROPE_FACTORS: [&str; 2] = ["rope_factors_short.weight", "rope_factors_long.weight"];

/// Most dimensions of a tensor, as in ggml.
const MOST_DIMENSIONS: u32 = 4;

/// Where a tensor is, and how it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Name in the file.
    pub name: String,
    /// Row-major, as in safetensors: the file has the sizes the other way round.
    pub shape: Vec<usize>,
    /// How its numbers are stored.
    pub kind: GgmlType,
    /// Offset from where the tensors begin, in bytes.
    offset: u64,
}

/// Reads the header's description of `count` tensors.
pub(super) fn read_tensors<R: ReadAt>(reader: &mut Reader<R>, count: usize) -> Result<Vec<TensorInfo>> {
    let mut tensors: Vec<TensorInfo> = Vec::new();
    let mut known = HashSet::new();
    for _ in 0..count {
        let name = reader.text()?;
        if !known.insert(name.clone()) {
            return Err(Error::Gguf(format!("it has two tensors of the name {name}")));
        }
        let dimensions = reader.u32()?;
        if !(1..=MOST_DIMENSIONS).contains(&dimensions) {
            return Err(Error::Gguf(format!("{name} has {dimensions} dimensions")));
        }
        let mut shape = Vec::new();
        for _ in 0..dimensions {
            let size = usize::try_from(reader.u64()?).ok().filter(|&size| size > 0);
            shape.push(size.ok_or_else(|| Error::Gguf(format!("{name} has a size that no tensor can have")))?);
        }
        shape.reverse();
        let kind = GgmlType::from_number(reader.u32()?).map_err(|kind| {
            Error::Gguf(format!("{name} is stored as {kind}, which is not read; use {}", GgmlType::choices()))
        })?;
        tensors.push(TensorInfo { name, shape, kind, offset: reader.u64()? });
    }
    Ok(tensors)
}

impl TensorInfo {
    /// Number of elements. The product cannot overflow, since the header was checked.
    fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    fn bytes(&self) -> usize {
        self.elements() / self.kind.block() * self.kind.block_bytes()
    }

    /// Whether a file of `size` bytes holds it.
    pub(super) fn check(&self, start: u64, alignment: u64, size: u64) -> Result<()> {
        let Self { name, shape, kind, offset } = self;
        let elements = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
        let row = shape.last().copied().unwrap_or(1);
        let fits = elements.filter(|elements| elements.checked_mul(kind.block_bytes()).is_some()).is_some_and(|_| {
            let end = start.checked_add(*offset).and_then(|begin| begin.checked_add(self.bytes() as u64));
            end.is_some_and(|end| end <= size)
        });
        if !fits {
            return Err(Error::Gguf(format!("{name} ends after the file does; download it again")));
        }
        if !offset.is_multiple_of(alignment) || !row.is_multiple_of(kind.block()) {
            return Err(Error::Gguf(format!("{name} does not begin or end where its type asks for")));
        }
        // Its numbers are read one by one, as rows.
        if shape.len() < 2 && kind.block() > 1 {
            return Err(Error::Gguf(format!(
                "{name} is a vector of type {}, which is read of matrices alone",
                kind.name()
            )));
        }
        Ok(())
    }
}

impl<R: ReadAt> WeightSource for Gguf<R> {
    fn rows(&self, name: &str, shape: &[usize], rows: Range<usize>) -> Result<TensorData> {
        let info = self.info(name, shape)?;
        let mut shape = shape.to_vec();
        shape[0] = rows.len();
        let bytes = self.rows_of(info, rows)?;
        if !is_norm(name)
            && let Some(dtype) = info.kind.half_type()
        {
            return Ok(TensorData::from_bytes_vec(bytes, shape, dtype));
        }
        let mut numbers = dequantize(info.kind, &bytes);
        if is_norm(name) {
            // llama.cpp's norms have what Hugging Face's are multiplied by.
            let offset = self.family().architecture().norm_offset as f32;
            numbers.iter_mut().for_each(|weight| *weight -= offset);
        }
        Ok(TensorData::new(numbers, shape))
    }

    fn quantized_rows(&self, name: &str, shape: &[usize], rows: Range<usize>) -> Result<Option<QuantizedRows>> {
        let info = self.info(name, shape)?;
        let GgmlType::Quantized(format) = info.kind else { return Ok(None) };
        Ok(Some(QuantizedRows { format, bytes: self.rows_of(info, rows)? }))
    }

    fn names(&self) -> Vec<String> {
        // A tensor without a name in Hugging Face's files keeps its own, so that it is reported.
        let is_of_config = |name: &str| name == ROPE_FACTORS || LONGROPE_FACTORS.contains(&name);
        let family = self.family();
        self.tensors
            .iter()
            .filter(|tensor| !is_of_config(&tensor.name))
            .map(|tensor| hugging_face_name(family, &tensor.name).unwrap_or(format!("model.{}", tensor.name)))
            .collect()
    }
}

impl<R: ReadAt> Gguf<R> {
    /// The family; Llama where it is not one that is read.
    fn family(&self) -> &'static Family {
        let architecture = self.metadata.text("general.architecture").unwrap_or_default();
        Family::of_gguf(architecture).unwrap_or(&LLAMA)
    }

    /// The tensor that has this name in the file.
    pub(super) fn find(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// The tensor that has this name in Hugging Face's files.
    fn info(&self, name: &str, shape: &[usize]) -> Result<&TensorInfo> {
        let family = self.family();
        let found = self.tensors.iter().find(|tensor| hugging_face_name(family, &tensor.name).as_deref() == Some(name));
        let info = found.ok_or_else(|| Error::MissingTensor(name.to_owned()))?;
        if info.shape != shape {
            return Err(Error::Shape { name: name.to_owned(), found: info.shape.clone(), expected: shape.to_vec() });
        }
        Ok(info)
    }

    /// Rows of a tensor, in the order of the file; each begins with a block.
    pub(super) fn read(&self, info: &TensorInfo, rows: Range<usize>) -> Result<Vec<f32>> {
        Ok(dequantize(info.kind, &self.bytes_of(info, rows)?))
    }

    /// As [`Gguf::read`], as the file has them.
    fn bytes_of(&self, info: &TensorInfo, rows: Range<usize>) -> Result<Vec<u8>> {
        let row = info.bytes() / info.shape[0];
        let bytes = self.file.read_at(self.start + info.offset + (rows.start * row) as u64, rows.len() * row);
        bytes.map_err(|error| Error::Gguf(format!("{} cannot be read, {error}", info.name)))
    }

    /// The same in the order of Hugging Face's files.
    fn rows_of(&self, info: &TensorInfo, rows: Range<usize>) -> Result<Vec<u8>> {
        let Some(heads) = self.heads_of(&info.name)? else { return self.bytes_of(info, rows) };
        // Rows change their places within a head, so whole heads are read.
        let height = info.shape[0];
        let head_dim = (height / heads.max(1)).max(1);
        let whole = rows.start / head_dim * head_dim..rows.end.next_multiple_of(head_dim).min(height);
        let bytes = halves_from_pairs(&self.bytes_of(info, whole.clone())?, whole.len(), head_dim);
        let row = info.bytes() / height;
        Ok(bytes[(rows.start - whole.start) * row..(rows.end - whole.start) * row].to_vec())
    }

    /// Number of heads of a projection whose rows are stored in pairs; `None` if its rows are as in Hugging Face's
    /// files.
    ///
    /// Hugging Face rotates pairs of components half a head apart, llama.cpp in some families pairs of neighbours; the converter then
    /// reorders the rows of q and k.
    fn heads_of(&self, name: &str) -> Result<Option<usize>> {
        let family = &self.family().gguf;
        if !family.rotates_neighbours {
            return Ok(None);
        }
        let [heads, key_heads] =
            ["head_count", "head_count_kv"].map(|count| format!("{}.attention.{count}", family.architecture));
        let key = match name.split('.').nth(2) {
            Some("attn_k") if self.metadata.has(&key_heads) => key_heads,
            Some("attn_q" | "attn_k") => heads,
            _ => return Ok(None),
        };
        Ok(Some(self.metadata.u64(&key)? as usize))
    }
}

/// Rows of heads from pairs (x₀ y₀ x₁ y₁ …) to halves (x₀ x₁ … y₀ y₁ …); biases are rows of one number.
fn halves_from_pairs(bytes: &[u8], rows: usize, head_dim: usize) -> Vec<u8> {
    reordered(bytes, rows, head_dim, |place, half| 2 * (place % half) + place / half)
}

/// The inverse of [`halves_from_pairs`].
pub(super) fn pairs_from_halves(numbers: &[f32], rows: usize, head_dim: usize) -> Vec<f32> {
    reordered(numbers, rows, head_dim, |place, half| place % 2 * half + place / 2)
}

/// Rows of heads in another order: `from(place, head_dim / 2)` is the old index of the row that comes to `place`.
fn reordered<T: Copy>(numbers: &[T], rows: usize, head_dim: usize, from: impl Fn(usize, usize) -> usize) -> Vec<T> {
    let row = numbers.len() / rows;
    let mut reordered = Vec::with_capacity(numbers.len());
    for to in 0..rows {
        let from = to / head_dim * head_dim + from(to % head_dim, head_dim / 2);
        reordered.extend_from_slice(&numbers[from * row..(from + 1) * row]);
    }
    reordered
}

/// Names of tensors in a GGUF and in Hugging Face's files.
const WHOLE: [[&str; 2]; 3] = [
    ["token_embd.weight", "model.embed_tokens.weight"],
    ["output_norm.weight", "model.norm.weight"],
    ["output.weight", "lm_head.weight"],
];
/// Names of the tensors of one layer, likewise.
const PARTS: [[&str; 2]; 9] = [
    ["attn_norm", "input_layernorm"],
    ["ffn_norm", "post_attention_layernorm"],
    ["attn_q", "self_attn.q_proj"],
    ["attn_k", "self_attn.k_proj"],
    ["attn_v", "self_attn.v_proj"],
    ["attn_output", "self_attn.o_proj"],
    ["ffn_gate", "mlp.gate_proj"],
    ["ffn_up", "mlp.up_proj"],
    ["ffn_down", "mlp.down_proj"],
];

/// Names of a layer's tensors in files of a family, its own first.
fn parts(family: &Family) -> impl Iterator<Item = &'static [&'static str; 2]> {
    family.gguf.names.iter().chain(&PARTS)
}

/// The name of a tensor in Hugging Face's files.
fn hugging_face_name(family: &Family, name: &str) -> Option<String> {
    if let Some([_, whole]) = WHOLE.iter().find(|[here, _]| *here == name) {
        return Some((*whole).to_owned());
    }
    let (layer, rest) = name.strip_prefix("blk.")?.split_once('.')?;
    let (part, kind) = rest.split_once('.')?;
    let [_, part] = parts(family).find(|[here, _]| *here == part)?;
    Some(format!("model.layers.{layer}.{part}.{kind}"))
}

/// The name in a GGUF of a tensor of Hugging Face's files.
pub(super) fn gguf_name(family: &Family, name: &str) -> Option<String> {
    if let Some([here, _]) = WHOLE.iter().find(|[_, there]| *there == name) {
        return Some((*here).to_owned());
    }
    let (layer, rest) = name.strip_prefix("model.layers.")?.split_once('.')?;
    let (part, kind) = rest.rsplit_once('.')?;
    let [part, _] = parts(family).find(|[_, there]| *there == part)?;
    Some(format!("blk.{layer}.{part}.{kind}"))
}
