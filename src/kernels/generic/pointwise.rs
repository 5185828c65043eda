//! Operations whose result at a row depends on that row alone, in Burn's own operations.

use crate::kernels::rope::Rope;
use burn::tensor::activation::silu;
use burn::tensor::{Device, Tensor, TensorData};

/// Root-mean-square norm of each row, times one weight per column.
///
/// # Shapes
/// - x and output: `[rows, width]`, weight: `[1, width]`
pub(in crate::kernels) fn rms_norm(x: Tensor<2>, weight: Tensor<2>, epsilon: f64) -> Tensor<2> {
    let scale = (x.clone().square().mean_dim(1) + epsilon).sqrt().recip();
    x * scale * weight
}

/// `silu(gate) * up`
pub(in crate::kernels) fn swiglu(gate: Tensor<2>, up: Tensor<2>) -> Tensor<2> {
    silu(gate) * up
}

/// Turns each pair of coordinates by the angle of its token. The rotation of the halves is one product
/// with a constant matrix.
///
/// # Shapes
/// - x and output: `[tokens, heads * head_dim]`
pub(in crate::kernels) fn rotate(rope: &Rope, x: Tensor<2>) -> Tensor<2> {
    let [tokens, width] = x.dims();
    let (half, device) = (rope.half(), x.device());
    let (dim, heads) = (2 * half, width / (2 * half));
    let table = |of: fn(&Rope, usize) -> &[f32]| {
        let rows = (0..tokens).flat_map(|token| of(rope, token).iter().chain(of(rope, token)));
        let data = TensorData::new(rows.copied().collect::<Vec<f32>>(), [tokens, 1, dim]);
        Tensor::<3>::from_data(data, &device)
    };
    let (cos, sin) = (
        table(|rope, t| rope.angles(t).0),
        table(|rope, t| rope.angles(t).1),
    );
    let turned = x
        .clone()
        .reshape([tokens * heads, dim])
        .matmul(rotation(half, &device));
    let [x, turned] = [
        x.reshape([tokens, heads, dim]),
        turned.reshape([tokens, heads, dim]),
    ];
    (x * cos + turned * sin).reshape([tokens, width])
}

/// The matrix that maps the halves `(a, b)` to `(-b, a)`.
fn rotation(half: usize, device: &Device) -> Tensor<2> {
    let dim = 2 * half;
    let mut rotate = vec![0f32; dim * dim];
    for i in 0..half {
        rotate[(i + half) * dim + i] = -1.0;
        rotate[i * dim + i + half] = 1.0;
    }
    Tensor::from_data(TensorData::new(rotate, [dim, dim]), device)
}
