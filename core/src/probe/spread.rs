//! How far the tokens of a text differ from each other (Gelberg et al. 2025, theorem 3.4).

use burn::tensor::{Tensor, TensorData};

/// Prefixes whose distances are in memory at once.
const ROWS: usize = 1024;

/// Prefix spread of hidden states `[1, seq, hidden]`: the largest distance of a token from the mean of a prefix that it belongs
/// to, `[1]`. Small embeddings stay together in models without positions.
pub fn prefix_spread(hidden: Tensor<3>) -> Tensor<1> {
    let [_, seq, width] = hidden.dims();
    let device = hidden.device();
    // Subtracting the mean from all tokens does not change distances, and keeps the squares small and thus precise.
    let hidden = hidden.clone() - hidden.mean_dim(1);
    let tokens = hidden.reshape([seq, width]);
    let counts: Vec<f32> = (1..=seq).map(|count| count as f32).collect();
    let counts = Tensor::<2>::from_data(TensorData::new(counts, [seq, 1]), &device);
    let means = tokens.clone().cumsum(0) / counts; // [seq, hidden], row i: of the tokens up to i
    let square = |rows: &Tensor<2>| rows.clone().square().sum_dim(1); // [rows, 1]
    let farthest = |start: usize| {
        let end = seq.min(start + ROWS);
        let (means, tokens) = (means.clone().slice(start..end), tokens.clone().slice(0..end));
        // ‖m − h‖² = ‖m‖² − 2 m·h + ‖h‖², [mean, token]
        let products = means.clone().matmul(tokens.clone().transpose());
        let distances = square(&means) - products * 2.0 + square(&tokens).transpose();
        // A token belongs to the prefixes that end with it or after it.
        distances.tril(start as i64).max()
    };
    Tensor::cat((0..seq).step_by(ROWS).map(farthest).collect(), 0).max().clamp_min(0.0).sqrt()
}
