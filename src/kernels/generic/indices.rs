//! Indices as a tensor.

use burn::tensor::{Device, Int, Tensor, TensorData};

/// Indices as a tensor.
///
/// # Panics
/// When one does not fit an `i32`.
pub(crate) fn indices(values: &[usize], device: &Device) -> Tensor<1, Int> {
    let data: Vec<i32> = values
        .iter()
        .map(|&v| i32::try_from(v).expect("an index below 2^31"))
        .collect();
    Tensor::from_data(TensorData::new(data, [values.len()]), device)
}
