//! Batches of documents of one length.

use crate::language::{CopiesChange, Document, TokenRole};

/// Documents of one length, row after row. All vectors have `rows · length` entries unless they say otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Token ids.
    pub ids: Vec<u32>,
    /// What each token is part of.
    pub roles: Vec<TokenRole>,
    /// How much each token counts in the loss when it is the one to be predicted.
    pub loss_weights: Vec<f32>,
    /// Key multiplicity of each token; empty where every token counts once.
    pub multiplicity: Vec<f32>,
    /// What the multiplicity changes.
    pub copies_change: CopiesChange,
    /// Index in its row of the first token of each token's document; empty where a row is one document.
    pub document_starts: Vec<usize>,
    /// Documents.
    pub rows: usize,
    /// Tokens of a document.
    pub length: usize,
}

impl Batch {
    /// No documents yet, of `length` tokens each.
    pub fn empty(length: usize) -> Self {
        Self { length, ..Self::default() }
    }

    /// Plain text: rows of `length` tokens that all count alike.
    pub fn plain(ids: Vec<u32>, length: usize) -> Self {
        let tokens = ids.len();
        Self {
            ids,
            roles: vec![TokenRole::Prose; tokens],
            loss_weights: vec![1.0; tokens],
            multiplicity: Vec::new(),
            copies_change: CopiesChange::default(),
            document_starts: Vec::new(),
            rows: tokens / length,
            length,
        }
    }

    /// Adds a document of the batch's length as a row.
    pub fn push(&mut self, document: Document) {
        debug_assert_eq!(document.ids.len(), self.length, "rows of a batch have one length");
        self.ids.extend(document.ids);
        self.roles.extend(document.roles);
        self.loss_weights.extend(document.loss_weights);
        self.multiplicity.extend(document.multiplicity);
        self.rows += 1;
    }

    /// Adds the rows of another batch of the same length; either both have multiplicities or none, and so for documents.
    pub fn append(&mut self, other: Self) {
        debug_assert_eq!(other.length, self.length, "rows of a batch have one length");
        self.ids.extend(other.ids);
        self.roles.extend(other.roles);
        self.loss_weights.extend(other.loss_weights);
        self.multiplicity.extend(other.multiplicity);
        self.document_starts.extend(other.document_starts);
        self.rows += other.rows;
    }

    /// The rows in `parts` parts whose sizes differ by one at most, or in one for each row where there are fewer: for threads and
    /// devices that share a step.
    pub fn split(&self, parts: usize) -> Vec<Self> {
        let parts = parts.clamp(1, self.rows.max(1));
        let first = |part: usize| part * self.rows / parts;
        (0..parts).map(|part| self.rows_from(first(part), first(part + 1) - first(part))).collect()
    }

    /// The rows in parts of at most so many tokens, or of one row where that has more.
    pub(super) fn in_parts_of(&self, tokens: usize) -> Vec<Self> {
        self.split(self.rows.div_ceil((tokens / self.length).clamp(1, self.rows.max(1))))
    }

    fn rows_from(&self, first: usize, rows: usize) -> Self {
        let range = first * self.length..(first + rows) * self.length;
        Self {
            ids: self.ids[range.clone()].to_vec(),
            roles: self.roles[range.clone()].to_vec(),
            loss_weights: self.loss_weights[range.clone()].to_vec(),
            multiplicity: self.multiplicity.get(range.clone()).unwrap_or_default().to_vec(),
            copies_change: self.copies_change,
            document_starts: self.document_starts.get(range).unwrap_or_default().to_vec(),
            rows,
            length: self.length,
        }
    }

    /// Sum of the loss weights of all predicted tokens: what the loss is divided by. Above 0 also where no token counts, so
    /// that gradients are then 0 and not NaN.
    pub fn total_loss_weight(&self) -> f32 {
        predicted(&self.loss_weights, self.length).sum::<f32>().max(f32::MIN_POSITIVE)
    }

    /// Roles of the predicted tokens, in the order of [`super::StepReport::token_losses`].
    pub fn predicted_roles(&self) -> impl Iterator<Item = TokenRole> {
        predicted(&self.roles, self.length)
    }
}

/// All tokens but the first of each row.
pub(super) fn predicted<T: Copy>(values: &[T], length: usize) -> impl Iterator<Item = T> {
    values.chunks(length).flat_map(|row| row[1..].iter().copied())
}

/// All tokens but the last of each row.
pub(super) fn inputs<T: Copy>(values: &[T], length: usize) -> impl Iterator<Item = T> {
    values.chunks(length).flat_map(move |row| row[..length - 1].iter().copied())
}
