//! A file of plain text, which is one document, in pieces that fit into memory.

use std::io::Read;

use super::record::{RecordOrReason, TextRecord};

/// Bytes of a piece, about.
const PIECE: usize = 1 << 20;

/// Cuts text where a word ends: at the last empty line of a piece, else at its last line, else at its last space.
pub struct Pieces<R> {
    bytes: R,
    /// Read and not yet given.
    held: Vec<u8>,
    /// Bytes given.
    given: usize,
    /// Why nothing follows what was given.
    reason: Option<String>,
    piece: usize,
    is_over: bool,
}

impl<R: Read> Pieces<R> {
    pub fn new(bytes: R) -> Self {
        Self { bytes, held: Vec::new(), given: 0, reason: None, piece: PIECE, is_over: false }
    }

    /// Reads until a piece is there, or the file ends; whether it has ended.
    fn fill(&mut self) -> std::io::Result<bool> {
        let missing = (self.piece + 1).saturating_sub(self.held.len()) as u64;
        let read = self.bytes.by_ref().take(missing).read_to_end(&mut self.held)?;
        Ok((read as u64) < missing)
    }

    fn end_of_piece(&self) -> usize {
        let piece = &self.held[..self.piece];
        let last = |pattern: &[u8]| piece.windows(pattern.len()).rposition(|bytes| bytes == pattern);
        // White space belongs to what follows it, as tokenizers have it. A piece is never empty.
        let end = last(b"\n\n").or_else(|| last(b"\n")).or_else(|| last(b" ")).filter(|&end| end > 0);
        end.unwrap_or_else(|| {
            // No letter is cut in two.
            (self.piece - 3..=self.piece).rev().find(|&end| self.held[end] & 0xC0 != 0x80).unwrap_or(self.piece)
        })
    }
}

impl<R: Read> Iterator for Pieces<R> {
    type Item = RecordOrReason;

    fn next(&mut self) -> Option<RecordOrReason> {
        if self.is_over {
            return self.reason.take().map(Err);
        }
        match self.fill() {
            Ok(is_end) => {
                self.is_over = is_end;
                let end = if is_end { self.held.len() } else { self.end_of_piece() };
                let rest = self.held.split_off(end);
                let piece = std::mem::replace(&mut self.held, rest);
                let at = self.given;
                self.given += piece.len();
                match String::from_utf8(piece) {
                    Ok(text) => Some(Ok(TextRecord { text, is_end })),
                    Err(error) => {
                        // The document ends with the last letter before that byte.
                        let valid = error.utf8_error().valid_up_to();
                        self.is_over = true;
                        self.reason = Some(format!("byte {}: from here on it is not text in UTF-8", at + valid));
                        let mut bytes = error.into_bytes();
                        bytes.truncate(valid);
                        String::from_utf8(bytes).ok().map(|text| Ok(TextRecord { text, is_end: true }))
                    }
                }
            }
            Err(error) => {
                self.is_over = true;
                Some(Err(format!("byte {}: the rest cannot be read ({error})", self.given)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pieces, TextRecord};

    fn pieces(text: &[u8], piece: usize) -> Vec<Result<TextRecord, String>> {
        Pieces { piece, ..Pieces::new(text) }.collect()
    }

    #[test]
    fn a_text_is_one_document_whatever_its_pieces() {
        for text in ["", "short", "a b c d e f g h i j", "eins\n\nzwei drei\nvier fünf sechs", &"ä".repeat(50)] {
            for piece in [4, 7, 100] {
                let pieces: Vec<TextRecord> = pieces(text.as_bytes(), piece).into_iter().map(Result::unwrap).collect();
                assert_eq!(pieces.iter().map(|piece| &*piece.text).collect::<String>(), text);
                let ends: Vec<bool> = pieces.iter().map(|piece| piece.is_end).collect();
                assert!(ends.split_last().is_some_and(|(last, others)| *last && !others.contains(&true)), "{ends:?}");
            }
        }
    }

    #[test]
    fn what_is_no_text_is_named_with_its_place() {
        let pieces = pieces(b"ab cd \xff ef", 4);
        assert_eq!(pieces[0], Ok(TextRecord { text: "ab".into(), is_end: false }));
        let (reason, texts) = pieces.split_last().unwrap();
        assert!(reason.as_ref().unwrap_err().starts_with("byte 6: from here on"), "{pieces:?}");
        let texts: Vec<&TextRecord> = texts.iter().map(|text| text.as_ref().unwrap()).collect();
        assert_eq!(
            texts.iter().map(|record| &*record.text).collect::<String>(),
            "ab cd ",
            "what stands before is kept"
        );
        assert!(texts.last().unwrap().is_end);
    }
}
