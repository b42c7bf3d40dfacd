//! What files of text are read as.

/// Text of a document.
#[derive(Debug, PartialEq, Eq)]
pub struct TextRecord {
    pub text: String,
    /// Whether the document ends with it; a long file comes in pieces.
    pub is_end: bool,
}

/// A record, or why there is none: the place in the file and the reason.
pub type RecordOrReason = Result<TextRecord, String>;

/// Records of a file in their order.
pub type Records = Box<dyn Iterator<Item = RecordOrReason>>;
