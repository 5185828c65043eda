//! The loss of GRPO with a clipped ratio for every token, and its gradient by the log-probs.
//!
//! Log-probs and advantage of one completion go in; gradient and metrics come out. What becomes of the
//! losses of many completions is decided by the [reduction](super::reduction), what becomes of the
//! gradient by [`backward`](super::backward).

use super::config::TrainConfig;

/// Beyond `e^20` clipping has long decided; the bound keeps `0 * inf` out of loss and gradient.
const LARGEST_LOG_RATIO: f32 = 20.0;

/// One completion as the loss sees it, with one number per token in each list.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossInputs<'a> {
    /// Log-probs under the policy as it is now.
    pub(super) logprobs: &'a [f32],
    /// Log-probs under the receiver's policy before the update, for own and external completions alike
    /// (paper, section 3), so that with one step per round every ratio is 1.
    pub(super) old_logprobs: &'a [f32],
    /// Log-probs under the frozen first policy, where beta is not 0.
    pub(super) reference_logprobs: Option<&'a [f32]>,
    /// The advantage of every token.
    pub(super) advantage: f32,
    /// The importance weight of each token; none where all are 1. It multiplies what the advantage brings, not the KL.
    pub(super) weights: Option<&'a [f32]>,
    /// What the reduction multiplies the loss of every token by.
    pub(super) scale: f32,
}

/// What the loss adds up over tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LossMetrics {
    /// Tokens seen.
    pub(super) tokens: usize,
    /// The sum of their scaled losses.
    pub(super) loss: f64,
    /// Those whose ratio was clipped.
    pub(super) clipped: usize,
    /// The sum of their KL estimates.
    pub(super) kl: f64,
}

/// The gradient of the completion's scaled loss by each of its log-probs; adds to `metrics`.
///
/// The loss of a token is that of TRL's `GRPOTrainer`, with the two clipping ranges of DAPO
/// (arXiv 2503.14476): with the ratio `r = exp(logprob - old)` and the advantage `A`,
///
/// ```text
/// -w min(r A, clip(r, 1 - epsilon, 1 + epsilon_high) A) + beta k3(reference - logprob)
/// ```
///
/// where `w` is the token's [importance weight](super::importance), a constant.
///
/// # Panics
/// When the lists have unequal lengths.
pub(super) fn loss_gradient(
    inputs: LossInputs<'_>,
    config: &TrainConfig,
    metrics: &mut LossMetrics,
) -> Vec<f32> {
    let count = inputs.logprobs.len();
    assert_eq!(
        inputs.old_logprobs.len(),
        count,
        "one old log-prob per token"
    );
    assert!(
        inputs
            .reference_logprobs
            .is_none_or(|reference| reference.len() == count),
        "one reference log-prob per token"
    );
    assert!(
        inputs.weights.is_none_or(|weights| weights.len() == count),
        "one weight per token"
    );
    let token = |t: usize| {
        let logprob = inputs.logprobs[t];
        let weight = inputs.weights.map_or(1.0, |weights| weights[t]);
        let advantage = weight * inputs.advantage;
        let surrogate = Surrogate::new(logprob - inputs.old_logprobs[t], advantage, config);
        let mut loss = surrogate.loss;
        let mut gradient = if surrogate.flat {
            0.0
        } else {
            -(inputs.scale * advantage) * surrogate.ratio
        };
        if let Some(reference) = inputs.reference_logprobs {
            let gap = reference[t] - logprob;
            let (kl, beta) = (k3(gap), config.beta as f32);
            metrics.kl += kl;
            loss += kl as f32 * beta;
            gradient += k3_gradient(gap, inputs.scale * beta);
        }
        metrics.tokens += 1;
        metrics.clipped += usize::from(surrogate.clipped);
        metrics.loss += f64::from(loss * inputs.scale);
        gradient
    };
    (0..count).map(token).collect()
}

/// The clipped surrogate objective (PPO, arXiv 1707.06347, equation 7) of one token, as a loss.
struct Surrogate {
    ratio: f32,
    loss: f32,
    /// Whether the clipped ratio is the one that counts.
    clipped: bool,
    /// Whether the loss does not change with the log-prob.
    flat: bool,
}

impl Surrogate {
    fn new(log_ratio: f32, advantage: f32, config: &TrainConfig) -> Self {
        let ratio = log_ratio.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp();
        let (low, high) = (1.0 - config.epsilon, 1.0 + config.epsilon_high);
        let free = ratio * advantage;
        let bounded = ratio.clamp(low as f32, high as f32) * advantage;
        let clipped = bounded < free;
        Self {
            ratio,
            loss: if clipped { -bounded } else { -free },
            clipped,
            flat: clipped || log_ratio.abs() > LARGEST_LOG_RATIO,
        }
    }
}

/// The estimate `exp(gap) - gap - 1` of the KL divergence to the reference, where `gap` is the reference's
/// log-prob less the policy's (Schulman's k3, TRL's `per_token_kl`).
fn k3(gap: f32) -> f64 {
    let gap = f64::from(at_most(gap, LARGEST_LOG_RATIO));
    gap.exp() - gap - 1.0
}

/// The derivative of `scale k3` by the policy's log-prob, `scale (1 - exp(gap))`.
fn k3_gradient(gap: f32, scale: f32) -> f32 {
    if gap > LARGEST_LOG_RATIO {
        0.0
    } else {
        scale - scale * gap.exp()
    }
}

/// The smaller of the two; NaN stays NaN.
fn at_most(x: f32, bound: f32) -> f32 {
    if x > bound { bound } else { x }
}
