//! A forward pass: what goes through the layers beside its tokens.

use std::ops::Range;
use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};

use super::patch::AttentionPatch;
use crate::positions::Positions;

/// How the texts of a batch lie in its rows, and how often attention counts their tokens.
#[derive(Clone, Copy, Debug, Default)]
pub struct SequenceLayout<'a> {
    /// How often attention counts each token, `[batch, seq]`, each at least 1; empty where every token counts once.
    ///
    /// ln m is added to the logit of a key that counts m times. This simulates a longer text without a longer sequence. In a first
    /// layer without positions the last token gets exactly what it would from the copies; in later layers real copies would differ
    /// among themselves, and simulated ones do not.
    pub multiplicity: &'a [f32],
    /// How many copies of each token positions leave room for, `[batch, seq]`, each at least 1; empty where there are no gaps: a
    /// stretch of equal numbers is followed by a gap as long as its other copies would be.
    pub copies: &'a [f32],
    /// Index in its row of the first token of each token's document, `[batch, seq]`; empty where a row is one document. Tokens
    /// do not see other documents (Zhao et al. 2024, arXiv 2402.13991); positions go on from one to the next.
    pub document_starts: &'a [usize],
}

/// Positions of the queries of a forward pass, and the keys that they attend to.
pub(super) struct Pass {
    /// Indices of its tokens in the text; those before are in the cache.
    pub(super) tokens: Range<usize>,
    /// Length of the text whose frequencies the tokens have, where frequencies depend on it.
    pub(super) text_len: usize,
    /// Position of each query, a row for each of the batch or one for all.
    pub(super) position_ids: Vec<Vec<usize>>,
    /// Keys that each query attends to, with their multiplicity; `[batch or 1, seq]`.
    pub(super) keys_seen: Vec<f32>,
    /// `[batch, 1, 1, seq]`: ln m of keys that count m times.
    pub(super) log_multiplicity: Option<Tensor<4>>,
    /// `[batch, seq]`: the first token of each token's document, where a row has several.
    pub(super) document_starts: Option<Arc<[usize]>>,
    /// `[1, heads, 1, 1]` for each layer, or empty: factors of the logits.
    pub(super) head_scales: Vec<Tensor<4>>,
    /// Attention weights that replace those of single heads (activation patching).
    pub(super) patches: Vec<AttentionPatch>,
    /// Whether the output of the last token alone is needed behind the last layer.
    pub(super) is_last_output_only: bool,
}

impl Pass {
    /// The tokens `tokens` of a text of `text_len`.
    pub(super) fn new(positions: &Positions, tokens: Range<usize>, text_len: usize, device: &Device) -> Self {
        let head_scales = positions.head_scales.iter().map(|scales| {
            let values: Vec<f32> = scales.iter().map(|&scale| scale as f32).collect();
            Tensor::from_data(TensorData::new(values, [1, scales.len(), 1, 1]), device)
        });
        Self {
            text_len,
            keys_seen: tokens.clone().map(|position| (position + 1) as f32).collect(),
            head_scales: head_scales.collect(),
            position_ids: vec![tokens.clone().collect()],
            log_multiplicity: None,
            document_starts: None,
            patches: Vec::new(),
            is_last_output_only: false,
            tokens,
        }
    }

    /// Whole texts of the shape `[batch, seq]`.
    pub(super) fn of_texts(
        positions: &Positions,
        [batch, seq]: [usize; 2],
        SequenceLayout { multiplicity, copies, document_starts }: SequenceLayout,
        device: &Device,
    ) -> Self {
        let mut pass = Self::new(positions, 0..seq, seq, device);
        if !copies.is_empty() {
            pass.position_ids = copies.chunks(seq).map(position_ids_with_gaps).collect();
            pass.text_len = pass.position_ids.iter().flatten().max().map_or(0, |last| last + 1);
        }
        if !multiplicity.is_empty() {
            let logs = multiplicity.iter().map(|m| m.ln()).collect();
            pass.log_multiplicity = Some(Tensor::from_data(TensorData::new(logs, [batch, 1, 1, seq]), device));
            pass.keys_seen = multiplicity.chunks(seq).flat_map(running_sums).collect();
        }
        if !document_starts.is_empty() {
            let seen = |(at, &start): (usize, &usize)| {
                let row = if pass.keys_seen.len() > seq { at / seq * seq } else { 0 };
                let before = if start == 0 { 0.0 } else { pass.keys_seen[row + start - 1] };
                pass.keys_seen[row + at % seq] - before
            };
            pass.keys_seen = document_starts.iter().enumerate().map(seen).collect();
            pass.document_starts = Some(document_starts.into());
        }
        pass
    }

    /// The factor ln(n + 1)/ln C of each query's logits under SSMax, where it attends to n keys (Nakanishi 2025,
    /// arXiv 2501.19399): `[batch or 1, seq]`.
    pub(super) fn ssmax(&self, context: usize, window: Option<usize>) -> Vec<f32> {
        let scale = 1.0 / (context as f32).ln();
        let most = window.map_or(f32::INFINITY, |window| window as f32);
        self.keys_seen.iter().map(|n| (n.min(most) + 1.0).ln() * scale).collect()
    }
}

/// Σ of a row up to each token, itself included.
fn running_sums(row: &[f32]) -> impl Iterator<Item = f32> {
    row.iter().scan(0.0, |sum, m| {
        *sum += m;
        Some(*sum)
    })
}

/// Positions of a row whose tokens leave room for `copies`: after a stretch of n tokens with m copies, (m − 1)·n positions are
/// skipped.
fn position_ids_with_gaps(copies: &[f32]) -> Vec<usize> {
    let mut at = Vec::with_capacity(copies.len());
    // In f64: a sum in f32 loses whole tokens beyond 2^24.
    let mut skipped = 0.0;
    for stretch in copies.chunk_by(|a, b| a == b) {
        let first = at.len() + skipped as usize;
        at.extend(first..first + stretch.len());
        skipped += (f64::from(stretch[0]) - 1.0) * stretch.len() as f64;
    }
    at
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::{Pass, SequenceLayout, position_ids_with_gaps};
    use crate::positions::Positions;

    #[test]
    fn positions_skip_what_copies_would_take() {
        assert_eq!(position_ids_with_gaps(&[1.0, 4.0, 4.0, 1.0, 1.0]), [0, 1, 2, 9, 10]);
        // Two sentences of three and two copies: the second stands after all of the first.
        assert_eq!(position_ids_with_gaps(&[1.0, 3.0, 2.0, 2.0, 1.0]), [0, 1, 4, 5, 8]);
        assert_eq!(position_ids_with_gaps(&[1.0; 3]), [0, 1, 2]);
        // More positions than f32 tells apart.
        let far = 1 << 24;
        assert_eq!(position_ids_with_gaps(&[far as f32 + 2.0, 2.0, 1.0, 1.0])[1..], [far + 2, far + 4, far + 5]);
    }

    #[test]
    fn copies_may_change_how_often_keys_count_or_positions_alone() {
        let numbers = &[1.0, 4.0, 4.0, 1.0][..];
        let pass = |layout| Pass::of_texts(&Positions::none(), [1, 4], layout, &Device::flex());
        let counts = pass(SequenceLayout { multiplicity: numbers, ..SequenceLayout::default() });
        assert_eq!(
            (&counts.position_ids[0][..], &counts.keys_seen[..]),
            (&[0, 1, 2, 3][..], &[1.0, 5.0, 9.0, 10.0][..])
        );
        assert_eq!(counts.text_len, 4);
        let gaps = pass(SequenceLayout { copies: numbers, ..SequenceLayout::default() });
        assert_eq!((&gaps.position_ids[0][..], &gaps.keys_seen[..]), (&[0, 1, 2, 9][..], &[1.0, 2.0, 3.0, 4.0][..]));
        assert!(gaps.log_multiplicity.is_none() && gaps.text_len == 10);
    }

    #[test]
    fn queries_count_the_keys_of_their_own_document() {
        let document_starts = &[0, 0, 2, 2, 0, 1, 1, 1];
        let seen = |multiplicity: &[f32]| {
            let layout = SequenceLayout { multiplicity, document_starts, ..SequenceLayout::default() };
            Pass::of_texts(&Positions::none(), [2, 4], layout, &Device::flex()).keys_seen
        };
        assert_eq!(seen(&[]), [1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 2.0, 3.0]);
        assert_eq!(seen(&[1.0, 2.0, 3.0, 1.0, 1.0, 1.0, 5.0, 1.0]), [1.0, 3.0, 3.0, 4.0, 1.0, 1.0, 6.0, 7.0]);
    }
}
