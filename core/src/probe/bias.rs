//! How far attention depends on relative positions, and how fast training could increase that (Gelberg et al. 2025,
//! figure 4).

use burn::tensor::{Device, Tensor, TensorData};

/// 1 where the key stands `back` tokens before the query, else 0, `[1, 1, seq, keys]`; the queries are the last of the keys.
pub(super) fn band(seq: usize, keys: usize, back: usize, device: &Device) -> Tensor<4> {
    let mut mask = vec![0.0f32; seq * keys];
    for query in 0..seq {
        if let Some(key) = (query + keys - seq).checked_sub(back) {
            mask[query * keys + key] = 1.0;
        }
    }
    Tensor::from_data(TensorData::new(mask, [1, 1, seq, keys]), device)
}

/// Positional bias A^c of attention weights `[batch, heads, seq, seq]`: how much more than its uniform share a query gives the
/// key `back` tokens before it (0: itself, 1: the one before), on average over heads and queries, `[1]`. Gradients flow
/// through it.
pub fn positional_bias(attention: Tensor<4>, back: usize) -> Tensor<1> {
    let [batch, heads, seq, keys] = attention.dims();
    let band = band(seq, keys, back, &attention.device());
    let uniform: f64 = (back..seq).map(|query| 1.0 / (query + 1) as f64).sum();
    let queries = seq.saturating_sub(back).max(1) as f64;
    ((attention * band).sum() / (batch * heads) as f64 - uniform) / queries
}

/// For each layer, the norm of the gradient that its query and key projections get from the positional bias of its own
/// attention to `ids`, `[1, seq]`; the model is on an autodiff device.
///
/// # Errors
/// If the device fails.
#[cfg(feature = "train")]
pub async fn bias_gradients(
    model: &crate::model::Model,
    layers: usize,
    ids: &Tensor<2, burn::tensor::Int>,
    positions: &crate::positions::Positions,
    back: usize,
) -> crate::Result<Vec<f64>> {
    let squares = (0..layers).map(|layer| {
        let attention = model.capture(ids.clone(), positions, None).attention;
        let gradients = positional_bias(attention[layer].clone(), back).backward();
        query_key_squares(model, gradients, layer)
    });
    let squares: Vec<f64> = crate::read_back::numbers(Tensor::cat(squares.collect(), 0)).await?;
    Ok(squares.into_iter().map(f64::sqrt).collect())
}

/// Sum of the squares of the gradients of one layer's query and key projections, `[1]`.
#[cfg(feature = "train")]
fn query_key_squares(model: &crate::model::Model, gradients: burn::tensor::Gradients, layer: usize) -> Tensor<1> {
    use burn::module::{Module, ModuleVisitor, Param};
    use burn::optim::GradientsParams;

    struct QueryKeySquares {
        gradients: GradientsParams,
        layer: String,
        path: Vec<String>,
        sums: Vec<Tensor<1>>,
    }

    impl ModuleVisitor for QueryKeySquares {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_owned());
        }

        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }

        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let is_projection = self.path.iter().any(|name| name == "q_proj" || name == "k_proj");
            if is_projection && self.path.contains(&self.layer) {
                self.sums.extend(self.gradients.get::<D>(param.id).map(|gradient| gradient.square().sum()));
            }
        }
    }

    let gradients = GradientsParams::from_grads(gradients, model);
    let mut squares = QueryKeySquares { gradients, layer: layer.to_string(), path: Vec::new(), sums: Vec::new() };
    model.visit(&mut squares);
    Tensor::cat(squares.sums, 0).sum()
}
