//! The numbers of one step of Adam (Kingma and Ba, arXiv 1412.6980, algorithm 1), the same for every
//! parameter and every device.

/// With gradient `g`, clipped to `clip g`, the moments become `m = beta1 m + (1 - beta1) g` and
/// `v = beta2 v + (1 - beta2) g^2`, and the parameter moves by `-rate correction m / (sqrt(v) + epsilon)`:
/// the corrections of both biases towards zero are folded into `correction` and `epsilon`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdamStep {
    /// What clipping multiplies the gradient by.
    pub(crate) clip: f64,
    pub(crate) beta1: f32,
    pub(crate) beta2: f32,
    /// `sqrt(1 - beta2^t) / (1 - beta1^t)`
    pub(crate) correction: f32,
    /// What is added to the root of the second moment, times `sqrt(1 - beta2^t)`.
    pub(crate) epsilon: f32,
    pub(crate) rate: f64,
}

impl AdamStep {
    /// Step number `t`, counted from 1, that takes the gradient as it is.
    pub(crate) fn new(t: usize, rate: f64, [beta1, beta2]: [f64; 2], epsilon: f64) -> Self {
        let (beta1, beta2, t) = (beta1 as f32, beta2 as f32, t as i32);
        let spread = (1.0 - beta2.powi(t)).sqrt();
        Self {
            clip: 1.0,
            beta1,
            beta2,
            correction: spread / (1.0 - beta1.powi(t)),
            epsilon: epsilon as f32 * spread,
            rate,
        }
    }
}
