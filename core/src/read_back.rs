//! Numbers of a tensor, read from its device. The function is `async` because code in a browser's tab must not block.

use burn::tensor::{Element, Tensor};

use crate::error::{Error, Result};

/// All numbers, in the order of the shape.
///
/// # Errors
/// If the device cannot be read.
pub(crate) async fn numbers<E: Element, const D: usize>(tensor: Tensor<D>) -> Result<Vec<E>> {
    let data = tensor.into_data_async().await.map_err(|error| Error::Device(error.to_string()))?;
    Ok(data.iter::<E>().collect())
}
