//! One head's attention replaced by that on another text: activation patching of a pattern (Wang et al. 2023, arXiv 2211.00593).

use burn::tensor::{Device, Tensor, TensorData};

/// Attention weights that replace those of one head.
#[derive(Clone, Debug)]
pub struct AttentionPatch {
    pub(super) layer: usize,
    head: usize,
    /// `[seq, 1]`: 1 for a query that attends as it would, and 0 for one that is patched.
    is_free: Tensor<2>,
    /// `[seq, seq]`: weights of the patched queries.
    weights: Tensor<2>,
}

impl AttentionPatch {
    /// The head attends as in a shorter text whose tokens stand at `places` in one of `seq` tokens, and not to what stands between them.
    /// `pattern` has the weights of each token of the shorter text, `[places, places]`. The tokens between attend as they would.
    ///
    /// # Panics
    /// If there are no places, or one is not below `seq`.
    pub fn new([layer, head]: [usize; 2], pattern: &[f32], places: &[usize], seq: usize, device: &Device) -> Self {
        let mut is_free = vec![1.0f32; seq];
        let mut weights = vec![0.0f32; seq * seq];
        for (&query, row) in places.iter().zip(pattern.chunks(places.len())) {
            is_free[query] = 0.0;
            for (&key, &weight) in places.iter().zip(row) {
                weights[query * seq + key] = weight;
            }
        }
        Self {
            layer,
            head,
            is_free: Tensor::from_data(TensorData::new(is_free, [seq, 1]), device),
            weights: Tensor::from_data(TensorData::new(weights, [seq, seq]), device),
        }
    }

    /// `[1, heads, seq, seq]` to the same.
    pub(super) fn apply(&self, weights: Tensor<4>) -> Tensor<4> {
        let [_, _, seq, keys] = weights.dims();
        let place = [0..1, self.head..self.head + 1, 0..seq, 0..keys];
        let own = weights.clone().slice(place.clone()).reshape([seq, keys]);
        let patched = own * self.is_free.clone() + self.weights.clone();
        weights.slice_assign(place, patched.reshape([1, 1, seq, keys]))
    }
}
