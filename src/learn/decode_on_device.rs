//! Choosing tokens from a large vocabulary without taking its logits off the device.
//!
//! The exponentials of a row are summed in blocks where they are; the host picks a block by its sum, and
//! only that block's logits follow. The token is the one that [`choose`](super::decode::choose) would take, but
//! for the rounding of the sums.

use super::decode::{Decoding, pick};
use crate::kernels::indices;
use crate::rollout::Token;
use burn::tensor::Tensor;

/// From this size on the way of the logits to the host is the longer one.
const LARGE: usize = 1 << 15;

/// Sizes of a block that are tried, the best first.
const BLOCKS: [usize; 5] = [256, 128, 512, 64, 1024];

/// The size of a block for a vocabulary; none where tokens are better chosen on the host.
pub(super) fn block(vocab: usize, decoding: &Decoding) -> Option<usize> {
    if vocab < LARGE || !decoding.keeps_all(vocab) {
        return None;
    }
    BLOCKS
        .into_iter()
        .find(|block| vocab.is_multiple_of(*block))
}

/// The token that each uniform picks from its row of logits.
///
/// # Shapes
/// - logits: `[rows, vocab]`, `vocab` being a multiple of `block`
pub(super) fn choose_all(
    logits: Tensor<2>,
    block: usize,
    decoding: &Decoding,
    uniforms: &[f64],
) -> Vec<Token> {
    let [rows, vocab] = logits.dims();
    let (blocks, device) = (vocab / block, logits.device());
    let largest = logits.clone().max_dim(1);
    let scaled = (logits - largest) / decoding.logprob_temperature(); // [rows, vocab], at most 0
    let sums = block_sums(&scaled, block);
    let picks: Vec<Pick> = match decoding.temperature == 0.0 {
        true => {
            let ids = scaled.clone().argmax(1).into_data();
            let place = |id: i64| Pick {
                block: id as usize / block,
                within: Within::At(id as usize % block),
            };
            ids.iter::<i64>().map(place).collect()
        }
        false => {
            let of_row = sums.iter().zip(uniforms);
            of_row.map(|(sums, &uniform)| sums.pick(uniform)).collect()
        }
    };
    let row_pick = picks.iter().enumerate();
    let wanted: Vec<usize> = row_pick
        .map(|(row, pick)| row * blocks + pick.block)
        .collect();
    let near = scaled
        .reshape([rows * blocks, block])
        .select(0, indices(&wanted, &device));
    let near = floats(near);
    let of_rows = near.chunks(block).zip(picks.iter().zip(&sums));
    of_rows
        .map(|(near, (pick, sums))| {
            let within = pick.within.find(near);
            let log_total = sums.total.ln();
            Token {
                id: (pick.block * block + within) as u32,
                logprob: (f64::from(near[within]) - log_total) as f32,
                entropy: (log_total - sums.moment / sums.total) as f32,
            }
        })
        .collect()
}

/// What the host knows of the exponentials of a row.
struct Sums {
    /// The sum of each block.
    blocks: Vec<f32>,
    total: f64,
    /// The sum of the exponentials times their exponents.
    moment: f64,
}

/// A block and where the token stands in it.
struct Pick {
    block: usize,
    within: Within,
}

enum Within {
    At(usize),
    /// Where the cumulative exponential within the block exceeds this.
    Beyond(f64),
}

/// Sums of the exponentials of each row, read in one transfer.
///
/// # Shapes
/// - scaled: `[rows, vocab]`
fn block_sums(scaled: &Tensor<2>, block: usize) -> Vec<Sums> {
    let [rows, vocab] = scaled.dims();
    let blocks = vocab / block;
    let exps = scaled.clone().exp();
    let moments = (exps.clone() * scaled.clone()).sum_dim(1); // [rows, 1]
    let sums = exps
        .reshape([rows, blocks, block])
        .sum_dim(2)
        .reshape([rows, blocks]);
    let numbers = floats(Tensor::cat(vec![sums, moments], 1));
    let row = |row: &[f32]| Sums {
        blocks: row[..blocks].to_vec(),
        total: row[..blocks].iter().map(|&sum| f64::from(sum)).sum(),
        moment: f64::from(row[blocks]),
    };
    numbers.chunks(blocks + 1).map(row).collect()
}

impl Sums {
    fn pick(&self, uniform: f64) -> Pick {
        let block = pick(&self.blocks, 0..self.blocks.len(), self.total, uniform);
        let before: f64 = self.blocks[..block].iter().map(|&sum| f64::from(sum)).sum();
        Pick {
            block,
            within: Within::Beyond(uniform * self.total - before),
        }
    }
}

impl Within {
    /// The place in a block, given its scaled logits.
    fn find(&self, near: &[f32]) -> usize {
        match self {
            Self::At(place) => *place,
            Self::Beyond(rest) => {
                let exps: Vec<f32> = near.iter().map(|z| z.exp()).collect();
                let sum: f64 = exps.iter().map(|&x| f64::from(x)).sum();
                pick(&exps, 0..exps.len(), sum, (rest / sum).clamp(0.0, 1.0))
            }
        }
    }
}

fn floats(tensor: Tensor<2>) -> Vec<f32> {
    tensor.into_data().try_into_vec().expect("logits are f32")
}

#[cfg(test)]
mod tests {
    use super::super::decode::choose;
    use super::*;
    use crate::seed::Seed;
    use burn::tensor::{Device, TensorData};

    #[test]
    fn the_tokens_are_those_of_the_host() {
        let (rows, vocab) = (6, 1024);
        let mut rng = Seed::new(4).rng();
        let logits: Vec<f32> = (0..rows * vocab)
            .map(|_| 3.0 * rng.normal() as f32)
            .collect();
        let tensor = Tensor::from_data(
            TensorData::new(logits.clone(), [rows, vocab]),
            &Device::flex(),
        );
        let mut same = 0;
        for round in 0..40 {
            let temperature = [1.0, 0.7, 1.5, 0.0][round % 4];
            let decoding = Decoding {
                temperature,
                top_k: 0,
                top_p: 1.0,
                max_completion_length: 1,
            };
            let uniforms: Vec<f64> = (0..rows).map(|_| rng.uniform()).collect();
            let tokens = choose_all(tensor.clone(), 64, &decoding, &uniforms);
            for ((token, logits), uniform) in tokens.iter().zip(logits.chunks(vocab)).zip(&uniforms)
            {
                let expected = choose(logits, &decoding, *uniform, &mut Vec::new());
                assert!((token.entropy - expected.entropy).abs() < 1e-4);
                if token.id == expected.id {
                    assert!((token.logprob - expected.logprob).abs() < 1e-4);
                    same += 1;
                }
            }
        }
        assert!(
            same >= 40 * rows - 1,
            "{same}: only a pick on the edge between two tokens may differ"
        );
    }

    #[test]
    fn the_ends_of_the_range_are_tokens_that_can_be() {
        let mut logits = vec![f32::NEG_INFINITY; 128];
        (logits[70], logits[71]) = (1.0, 1.0);
        let tensor = Tensor::from_data(TensorData::new(logits, [1, 128]), &Device::flex());
        let decoding = Decoding {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            max_completion_length: 1,
        };
        for (uniform, id) in [(0.0, 70), (0.49, 70), (0.51, 71), (1.0 - 1e-16, 71)] {
            assert_eq!(
                choose_all(tensor.clone(), 64, &decoding, &[uniform])[0].id,
                id,
                "{uniform}"
            );
        }
    }

    #[test]
    fn small_or_cut_vocabularies_stay_on_the_host() {
        let decoding = |top_k| Decoding {
            temperature: 1.0,
            top_k,
            top_p: 1.0,
            max_completion_length: 1,
        };
        assert_eq!(block(151_936, &decoding(0)), Some(128));
        assert_eq!(block(151_936, &decoding(50)), None);
        assert_eq!(
            (
                block(1024, &decoding(0)),
                block((1 << 15) + 1, &decoding(0))
            ),
            (None, None)
        );
    }
}
