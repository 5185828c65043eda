//! Adam with warm-up and clipping by the global norm.

use crate::model::Decoder;
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::Tensor;

/// The numbers of the optimizer.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimizerConfig {
    /// Step size after warm-up.
    pub learning_rate: f64,
    /// Decay of the first moment.
    pub adam_beta1: f64,
    /// Decay of the second moment.
    pub adam_beta2: f64,
    /// Added to the root of the second moment.
    pub adam_epsilon: f64,
    /// Largest global norm of a gradient; 0 never clips.
    pub max_grad_norm: f64,
    /// Steps over which the step size rises in equal parts to `learning_rate`, which the last of them takes.
    pub warmup_steps: usize,
}

/// Adam and how far it has come.
pub struct Optimizer {
    adam: ModuleOptimizer,
    config: OptimizerConfig,
    steps: usize,
}

impl Optimizer {
    /// An optimizer at its first step.
    pub fn new(config: OptimizerConfig) -> Self {
        let adam = AdamConfig::new()
            .with_beta_1(config.adam_beta1 as f32)
            .with_beta_2(config.adam_beta2 as f32)
            .with_epsilon(config.adam_epsilon as f32)
            .init();
        Self { adam, config, steps: 0 }
    }

    /// One step; returns the norm of the gradient before clipping. A gradient that is not finite
    /// changes nothing.
    pub fn step(&mut self, model: Decoder, gradients: GradientsParams) -> (Decoder, f64) {
        let norm = global_norm(&model, &gradients);
        if !norm.is_finite() {
            return (model, norm);
        }
        let limit = self.config.max_grad_norm;
        let factor = if limit > 0.0 { (limit / (norm + 1e-6)).min(1.0) } else { 1.0 };
        let gradients = if factor < 1.0 { scaled(&model, gradients, factor) } else { gradients };
        let rate = self.learning_rate();
        self.steps += 1;
        (self.adam.step(rate, model, gradients), norm)
    }

    /// The step size of the next step.
    pub fn learning_rate(&self) -> f64 {
        let warmup = self.config.warmup_steps;
        let share = if warmup == 0 { 1.0 } else { ((self.steps + 1) as f64 / warmup as f64).min(1.0) };
        self.config.learning_rate * share
    }

    /// Replaces the step size, for schedules of the caller's own.
    pub fn set_learning_rate(&mut self, rate: f64) {
        self.config.learning_rate = rate;
    }
}

/// Root of the sum of squares over all parameters.
pub(crate) fn global_norm(model: &Decoder, gradients: &GradientsParams) -> f64 {
    struct Squares<'a>(&'a GradientsParams, Vec<Tensor<1>>);
    impl ModuleVisitor for Squares<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(gradient) = self.0.get::<D>(param.id) {
                self.1.push(gradient.square().sum());
            }
        }
    }
    let mut squares = Squares(gradients, Vec::new());
    model.visit(&mut squares);
    if squares.1.is_empty() {
        return 0.0;
    }
    let all = Tensor::cat(squares.1, 0).into_data().try_into_vec::<f32>().expect("gradients are f32");
    all.iter().map(|&s| f64::from(s)).sum::<f64>().sqrt()
}

fn scaled(model: &Decoder, gradients: GradientsParams, factor: f64) -> GradientsParams {
    struct Scale(GradientsParams, GradientsParams, f64);
    impl ModuleVisitor for Scale {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(gradient) = self.0.remove::<D>(param.id) {
                self.1.register(param.id, gradient * self.2);
            }
        }
    }
    let mut scale = Scale(gradients, GradientsParams::new(), factor);
    model.visit(&mut scale);
    scale.1
}
