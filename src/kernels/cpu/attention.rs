//! Attention of packed rows over themselves and their prompts, and its gradient.
//!
//! Of a forward pass only the logarithm of each softmax's denominator is kept; the probabilities are
//! computed again when the gradient is due, so memory stays linear in the number of tokens.

use super::attention_gradient::{Finished, backward};
use super::attention_head::Head;
use super::op::{CpuOp, CpuTensor, dims, matrix, numbers, whole};
use crate::kernels::packing::Packing;
use crate::kernels::threads::each;
use std::sync::Arc;

/// Tokens from which on the heads are shared out to threads.
const MANY: usize = 512;

/// Softmax attention with the queries scaled by the root of the head's width.
///
/// # Shapes
/// - queries and output: `[tokens - first, heads * head_dim]`, keys and values: `[tokens, kv_heads * head_dim]`
#[derive(Clone, Debug)]
pub(in crate::kernels) struct Attention {
    pub(in crate::kernels) packing: Arc<Packing>,
    pub(in crate::kernels) head_dim: usize,
    /// Tokens at the start that ask nothing: 0, or those of the prompts.
    pub(in crate::kernels) first: usize,
}

/// Columns of each part side by side: `[rows, parts * width]` of parts `[rows, width]`.
fn side_by_side(parts: &[Vec<f32>], rows: usize) -> CpuTensor {
    let width = parts[0].len() / rows.max(1);
    let mut out = vec![0.0; rows * width * parts.len()];
    for (i, part) in parts.iter().enumerate() {
        for (out, row) in out
            .chunks_exact_mut(width * parts.len())
            .zip(part.chunks_exact(width))
        {
            out[i * width..][..width].copy_from_slice(row);
        }
    }
    matrix(out, [rows, width * parts.len()])
}

/// What the gradient of attention needs: its inputs, its output, and one logarithm per query and head.
#[derive(Clone, Debug)]
pub(in crate::kernels) struct Saved {
    inputs: [CpuTensor; 3],
    output: CpuTensor,
    /// Of each key head, `[queries, heads_per_kv]`.
    logs: Vec<Vec<f32>>,
}

impl Attention {
    /// Results of `work` on each key head.
    fn heads<T: Send>(
        &self,
        inputs: &[CpuTensor; 3],
        work: impl Fn(&Head<'_>) -> T + Sync,
    ) -> Vec<T> {
        let [queries, keys, _] = inputs.each_ref().map(|input| dims(input)[1]);
        let kv_heads = keys / self.head_dim;
        let inputs = inputs.each_ref().map(numbers);
        let head = |kv| {
            work(&Head {
                packing: &self.packing,
                head_dim: self.head_dim,
                first: self.first,
                inputs,
                kv,
                kv_heads,
                heads_per_kv: queries / keys,
            })
        };
        each(kv_heads, self.packing.tokens() >= MANY, head)
    }
}

impl CpuOp<3> for Attention {
    type Saved = Saved;

    fn forward(&self, inputs: [CpuTensor; 3]) -> (CpuTensor, Saved) {
        let inputs = inputs.map(whole);
        let [queries, _] = dims(&inputs[0]);
        let (parts, logs): (Vec<_>, Vec<_>) = self
            .heads(&inputs, |head| head.forward(queries))
            .into_iter()
            .unzip();
        let output = side_by_side(&parts, queries);
        (
            output.clone(),
            Saved {
                inputs,
                output,
                logs,
            },
        )
    }

    fn backward(&self, saved: Saved, upstream: CpuTensor) -> [CpuTensor; 3] {
        let upstream = whole(upstream);
        let Saved {
            inputs,
            output,
            logs,
        } = saved;
        let finished = |kv: usize| Finished {
            output: numbers(&output),
            logs: &logs[kv],
            upstream: numbers(&upstream),
        };
        let heads = self.heads(&inputs, |head| backward(head, finished(head.kv)));
        let rows = inputs.each_ref().map(|input| dims(input)[0]);
        let mut parts = [Vec::new(), Vec::new(), Vec::new()];
        for head in heads {
            parts
                .iter_mut()
                .zip(head)
                .for_each(|(part, by)| part.push(by));
        }
        let [queries, keys, values] = parts;
        [
            side_by_side(&queries, rows[0]),
            side_by_side(&keys, rows[1]),
            side_by_side(&values, rows[2]),
        ]
    }
}
