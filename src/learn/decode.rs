//! Choosing the next token from a row of logits, on the host, with one uniform number per token.
//!
//! The log-prob that comes back is that of the whole distribution at the temperature, before top-k
//! and top-p, so that it equals what the training forward computes for the same token.

use crate::kernels::simd::{dispatch, exp, largest, sum};
use crate::rollout::Token;

/// Exponentials that are summed together.
const RUN: usize = 64;

/// How completions are decoded. Nothing else, in particular no `generation_config.json`, has a say.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoding {
    /// Divides the logits; 0 takes the likeliest token and reports log-probs at temperature 1.
    pub temperature: f64,
    /// Keeps the `top_k` likeliest tokens; 0 keeps all.
    pub top_k: usize,
    /// Then keeps the fewest of the likeliest tokens that together reach this probability.
    pub top_p: f64,
    /// Longest completion in tokens, end-of-sequence included.
    pub max_completion_length: usize,
}

impl Decoding {
    /// The temperature at which log-probs are reported and trained.
    pub fn logprob_temperature(&self) -> f64 {
        if self.temperature == 0.0 {
            1.0
        } else {
            self.temperature
        }
    }

    pub(super) fn keeps_all(&self, vocab: usize) -> bool {
        (self.top_k == 0 || self.top_k >= vocab) && self.top_p >= 1.0
    }
}

/// The token that `uniform` in `[0, 1)` picks from these logits. Among equally likely tokens, those
/// of lower id come first. `scratch` saves an allocation per call.
pub(crate) fn choose(
    logits: &[f32],
    decoding: &Decoding,
    uniform: f64,
    scratch: &mut Vec<f32>,
) -> Token {
    let scale = (1.0 / decoding.logprob_temperature()) as f32;
    let (top, total, moment) = exponentials(logits, scale, scratch);
    let exps = &scratch[..];
    let id = if decoding.temperature == 0.0 {
        logits.iter().position(|z| *z == top).unwrap_or(0)
    } else if decoding.keeps_all(exps.len()) {
        pick_of_all(exps, total, uniform)
    } else {
        let kept = nucleus(exps, total, decoding);
        let kept_total = kept.iter().map(|&i| f64::from(exps[i])).sum();
        pick(exps, kept, kept_total, uniform)
    };
    let log_total = total.ln();
    Token {
        id: id as u32,
        logprob: (f64::from((logits[id] - top) * scale) - log_total) as f32,
        entropy: (log_total - moment / total) as f32,
    }
}

/// Writes `e^(scale (z - top))` for each logit `z` to `exps` and returns `top`, the largest logit, the sum of
/// the exponentials, and that of the exponentials times their exponents.
fn exponentials(logits: &[f32], scale: f32, exps: &mut Vec<f32>) -> (f32, f64, f64) {
    exps.clear();
    exps.resize(logits.len(), 0.0);
    let (mut total, mut moment) = (0.0, 0.0);
    let top = dispatch(
        #[inline(always)]
        || {
            let top = largest(logits);
            for (exps, logits) in exps.chunks_mut(RUN).zip(logits.chunks(RUN)) {
                let mut moments = [0f32; RUN];
                for ((w, &z), m) in exps.iter_mut().zip(logits).zip(&mut moments) {
                    let x = (z - top) * scale;
                    *w = exp(x);
                    *m = if *w > 0.0 { *w * x } else { 0.0 };
                }
                total += f64::from(sum(exps));
                moment += f64::from(sum(&moments));
            }
            top
        },
    );
    (top, total, moment)
}

/// As [`pick`] of all ids; whole runs of exponentials are passed over at once.
fn pick_of_all(exps: &[f32], total: f64, uniform: f64) -> usize {
    let target = uniform * total;
    let (mut before, mut last) = (0.0, (0, 0.0));
    for (run, exps) in exps.chunks(RUN).enumerate() {
        let within = f64::from(dispatch(
            #[inline(always)]
            || sum(exps),
        ));
        if within > 0.0 {
            last = (run * RUN, before);
            if before + within > target {
                break;
            }
        }
        before += within;
    }
    let (start, before) = last;
    let exps = &exps[start..exps.len().min(start + RUN)];
    start + pick(exps, 0..exps.len(), 1.0, target - before)
}

/// The first of the ids whose cumulative exponential exceeds `uniform` of the total.
pub(super) fn pick(
    exps: &[f32],
    ids: impl IntoIterator<Item = usize>,
    total: f64,
    uniform: f64,
) -> usize {
    let target = uniform * total;
    let (mut sum, mut last) = (0.0, 0);
    for id in ids {
        if exps[id] > 0.0 {
            sum += f64::from(exps[id]);
            last = id;
            if sum > target {
                break;
            }
        }
    }
    last
}

/// Ids that survive top-k, then top-p, in ascending order; at least one.
fn nucleus(exps: &[f32], total: f64, decoding: &Decoding) -> Vec<usize> {
    let mut ids: Vec<usize> = (0..exps.len()).collect();
    ids.sort_by(|&a, &b| exps[b].total_cmp(&exps[a]).then(a.cmp(&b)));
    if decoding.top_k > 0 {
        ids.truncate(decoding.top_k);
    }
    if decoding.top_p < 1.0 {
        let kept: f64 = ids.iter().map(|&i| f64::from(exps[i])).sum();
        let target = decoding.top_p * kept.min(total);
        let mut sum = 0.0;
        let enough = ids.iter().position(|&i| {
            sum += f64::from(exps[i]);
            sum >= target
        });
        ids.truncate(enough.map_or(ids.len(), |i| i + 1));
    }
    ids.sort_unstable();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f32::consts::LN_2;

    fn decoding(temperature: f64, top_k: usize, top_p: f64) -> Decoding {
        Decoding {
            temperature,
            top_k,
            top_p,
            max_completion_length: 8,
        }
    }

    fn id(logits: &[f32], decoding: &Decoding, uniform: f64) -> u32 {
        choose(logits, decoding, uniform, &mut Vec::new()).id
    }

    /// probabilities 0.5, 0.25, 0.125, 0.125
    const LOGITS: [f32; 4] = [3.0 * LN_2, 2.0 * LN_2, LN_2, LN_2];

    #[test]
    fn uniform_walks_the_cumulative_distribution() {
        let all = decoding(1.0, 0, 1.0);
        for (uniform, expected) in [
            (0.0, 0),
            (0.49, 0),
            (0.51, 1),
            (0.74, 1),
            (0.76, 2),
            (0.88, 3),
            (0.999_999_9, 3),
        ] {
            assert_eq!(id(&LOGITS, &all, uniform), expected, "{uniform}");
        }
        let token = choose(&LOGITS, &all, 0.6, &mut Vec::new());
        assert!((token.logprob - 0.25f32.ln()).abs() < 1e-6);
        assert!(
            (token.entropy - 1.75 * 2f32.ln()).abs() < 1e-5,
            "{}",
            token.entropy
        );
    }

    #[test]
    fn temperature_reshapes_and_zero_is_greedy() {
        // at T = 0.5 the probabilities are 16, 4, 1, 1 of 22
        let token = choose(&LOGITS, &decoding(0.5, 0, 1.0), 0.8, &mut Vec::new());
        assert_eq!(token.id, 1);
        assert!((token.logprob - (4.0f32 / 22.0).ln()).abs() < 1e-5);
        let greedy = choose(&LOGITS, &decoding(0.0, 0, 1.0), 0.99, &mut Vec::new());
        assert_eq!(greedy.id, 0);
        assert!((greedy.logprob - 0.5f32.ln()).abs() < 1e-6);
    }

    #[test]
    fn top_k_and_top_p_at_their_boundaries() {
        let last = 0.999_999_9;
        for (top_k, top_p, expected) in [
            (1, 1.0, 0),
            (2, 1.0, 1),
            (3, 1.0, 2),
            (9, 1.0, 3),
            (0, 0.0, 0),
            (0, 1e-8, 0),
            (0, 0.5, 0),
            (0, 0.51, 1),
        ] {
            assert_eq!(
                id(&LOGITS, &decoding(1.0, top_k, top_p), last),
                expected,
                "{top_k} {top_p}"
            );
        }
        assert_eq!(
            id(&LOGITS, &decoding(1.0, 2, 0.6), last),
            0,
            "top-p counts within top-k: 2/3 is enough"
        );
        assert_eq!(
            id(&[f32::NAN; 3], &decoding(1.0, 2, 0.6), 0.3),
            0,
            "no panic on NaN"
        );
    }

    proptest! {
        #[test]
        fn nucleus_is_the_smallest_set_of_the_likeliest(
            logits in proptest::collection::vec(-8f32..8.0, 1..40), top_p in 0.0f64..1.0, uniform in 0.0f64..1.0,
        ) {
            let chosen = id(&logits, &decoding(1.0, 0, top_p), uniform) as usize;
            let weight = |i: usize| f64::from(logits[i]).exp();
            let total: f64 = (0..logits.len()).map(weight).sum();
            // whatever is likelier than the chosen token must not reach top_p already
            let above: f64 = (0..logits.len()).filter(|&i| logits[i] > logits[chosen]).map(weight).sum();
            prop_assert!(above / total < top_p + 1e-4);
        }
    }
}
