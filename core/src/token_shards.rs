//! Token ids of many documents as Megatron-LM stores them: `NAME.bin` with the ids of all documents, one after the other, and
//! `NAME.idx`, which says where each is (Megatron-LM, `megatron/core/datasets/indexed_dataset.py`).

use crate::error::{Error, Result};

/// What an index begins with; a version follows.
const MAGIC: &[u8; 9] = b"MMIDIDX\0\0";
const VERSION: u64 = 1;
/// Bytes before the lists: magic, version, type, and two counts.
const HEADER: usize = 9 + 8 + 1 + 8 + 8;

/// How an id is stored, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenType {
    /// Unsigned, 16 bits: vocabularies of at most 65,536 tokens.
    U16,
    /// Signed, 32 bits.
    I32,
}

impl TokenType {
    /// The smallest that has room for the ids of a vocabulary.
    pub fn of_vocabulary(vocab_size: usize) -> Self {
        if vocab_size <= 1 << 16 { Self::U16 } else { Self::I32 }
    }

    /// Bytes of an id.
    pub fn size(self) -> usize {
        match self {
            Self::U16 => 2,
            Self::I32 => 4,
        }
    }

    /// Megatron's number for it.
    fn code(self) -> u8 {
        match self {
            Self::U16 => 8,
            Self::I32 => 4,
        }
    }

    /// The ids as they are stored; they are of the vocabulary that the type was chosen for.
    pub fn to_bytes(self, ids: &[u32]) -> Vec<u8> {
        match self {
            Self::U16 => ids.iter().flat_map(|&id| (id as u16).to_le_bytes()).collect(),
            Self::I32 => ids.iter().flat_map(|&id| id.to_le_bytes()).collect(),
        }
    }

    /// Stored ids.
    pub fn ids(self, bytes: &[u8]) -> Vec<u32> {
        match self {
            Self::U16 => bytes.as_chunks().0.iter().map(|&id| u32::from(u16::from_le_bytes(id))).collect(),
            Self::I32 => bytes.as_chunks().0.iter().map(|&id| u32::from_le_bytes(id)).collect(),
        }
    }
}

/// An index: where the documents of a shard are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenIndex {
    /// How ids are stored.
    pub token_type: TokenType,
    /// The first token of each document, and behind the last one the number of all tokens: n + 1 numbers.
    pub starts: Vec<u64>,
}

impl TokenIndex {
    /// The index of documents of these lengths, in tokens.
    pub fn new(token_type: TokenType, lengths: impl IntoIterator<Item = u32>) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        starts.extend(lengths.into_iter().map(|length| {
            end += u64::from(length);
            end
        }));
        Self { token_type, starts }
    }

    /// Documents.
    pub fn documents(&self) -> usize {
        self.starts.len() - 1
    }

    /// Tokens of all documents.
    pub fn tokens(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    /// Tokens of a document.
    pub fn length(&self, document: usize) -> usize {
        (self.starts[document + 1] - self.starts[document]) as usize
    }

    /// The bytes of `NAME.idx`: every document is one of Megatron's sequences.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (count, size) = (self.documents(), self.token_type.size() as u64);
        let mut bytes = Vec::with_capacity(HEADER + 20 * count + 8);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.push(self.token_type.code());
        bytes.extend((count as u64).to_le_bytes());
        bytes.extend((count as u64 + 1).to_le_bytes());
        bytes.extend((0..count).flat_map(|document| (self.length(document) as u32).to_le_bytes()));
        bytes.extend(self.starts[..count].iter().flat_map(|start| (start * size).to_le_bytes()));
        bytes.extend((0..=count as u64).flat_map(u64::to_le_bytes));
        bytes
    }

    /// Reads `NAME.idx`; `bin_len` is the number of bytes of `NAME.bin`. A document may have several of Megatron's sequences.
    ///
    /// # Errors
    /// If it is no such index, its ids have another type, or it is not that of the `.bin`.
    pub fn from_bytes(bytes: &[u8], bin_len: u64) -> Result<Self> {
        let fail = |reason: &str| Err(Error::TokenShard(reason.to_owned()));
        if bytes.len() < HEADER || !bytes.starts_with(MAGIC) {
            return fail("it does not begin as an index of Megatron-LM does");
        }
        let number = |at: usize| -> u64 {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(number)
        };
        if number(9) != VERSION {
            return fail("it has another version than 1");
        }
        let Some(token_type) = [TokenType::U16, TokenType::I32].into_iter().find(|kind| kind.code() == bytes[17])
        else {
            return fail("its ids are neither uint16 nor int32");
        };
        let (sequences, documents) = (number(18), number(26));
        let expected = (HEADER as u64)
            .checked_add(sequences.saturating_mul(12))
            .and_then(|lists| lists.checked_add(documents.saturating_mul(8)));
        if expected != Some(bytes.len() as u64) {
            return fail("it is cut off, or has another length than its counts say");
        }
        let (sequences, documents) = (sequences as usize, documents as usize);
        let (lengths, rest) = bytes[HEADER..].split_at(4 * sequences);
        let (pointers, documents_at) = rest.split_at(8 * sequences);
        let mut ends = vec![0u64];
        for (length, pointer) in lengths.as_chunks().0.iter().zip(pointers.as_chunks().0) {
            let end = ends[ends.len() - 1];
            if u64::from_le_bytes(*pointer) != end * token_type.size() as u64 {
                return fail("its documents do not lie one behind the other");
            }
            ends.push(end + u64::from(u32::from_le_bytes(*length)));
        }
        if ends[sequences].checked_mul(token_type.size() as u64) != Some(bin_len) {
            return fail("the .bin beside it has another length than it says");
        }
        let borders: Vec<u64> = documents_at.as_chunks().0.iter().map(|&border| u64::from_le_bytes(border)).collect();
        if documents == 0 || borders[0] != 0 || borders[documents - 1] != sequences as u64 || !borders.is_sorted() {
            return fail("its list of documents does not go through all of its sequences");
        }
        Ok(Self { token_type, starts: borders.iter().map(|&border| ends[border as usize]).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::{TokenIndex, TokenType};

    #[test]
    fn an_index_survives_its_bytes_and_other_bytes_are_refused() {
        let index = TokenIndex::new(TokenType::U16, [3, 0, 5]);
        assert_eq!((index.documents(), index.tokens(), index.length(2)), (3, 8, 5));
        let bytes = index.to_bytes();
        assert_eq!(TokenIndex::from_bytes(&bytes, 16).unwrap(), index);
        let refused = |bytes: &[u8], len: u64| TokenIndex::from_bytes(bytes, len).unwrap_err().to_string();
        assert!(refused(&bytes, 14).contains("another length than it says"));
        assert!(refused(&bytes[..bytes.len() - 1], 16).contains("cut off"));
        assert!(refused(b"MMIDIDX", 16).contains("does not begin"));
        let with = |at: usize, value: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            bytes
        };
        assert!(refused(&with(9, 2), 16).contains("version"));
        assert!(refused(&with(17, 6), 16).contains("neither uint16 nor int32"));
        assert!(refused(&with(25, 255), 16).contains("cut off"), "a count that overflows");
        assert!(refused(&with(34 + 12, 9), 16).contains("one behind the other"));
        assert!(refused(&with(bytes.len() - 8, 2), 16).contains("list of documents"));
        let empty = TokenIndex::new(TokenType::I32, []);
        assert_eq!(TokenIndex::from_bytes(&empty.to_bytes(), 0).unwrap(), empty);
    }

    #[test]
    fn documents_of_several_sequences_are_joined() {
        // Two sequences of 2 and 3 tokens in one document, then one of 1.
        let mut bytes = TokenIndex::new(TokenType::U16, [2, 3, 1]).to_bytes();
        let borders = bytes.len() - 32;
        bytes.truncate(borders);
        bytes.extend([0u64, 2, 3].iter().flat_map(|border| border.to_le_bytes()));
        bytes[26] = 3;
        let index = TokenIndex::from_bytes(&bytes, 12).unwrap();
        assert_eq!(index.starts, [0, 5, 6]);
    }

    #[test]
    fn ids_survive_their_bytes() {
        for (kind, ids) in [(TokenType::U16, vec![0, 7, 65_535]), (TokenType::I32, vec![0, 65_536, 1 << 30])] {
            assert_eq!(kind.ids(&kind.to_bytes(&ids)), ids);
        }
        assert_eq!(TokenType::of_vocabulary(65_536), TokenType::U16);
        assert_eq!(TokenType::of_vocabulary(65_537), TokenType::I32);
    }
}
