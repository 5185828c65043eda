//! Adam with warm-up and clipping by the global norm.

use crate::kernels::{AdamStep, adam, all_finite, sum_of_squares};
use crate::model::Decoder;
use crate::model::optimizer_state::OptimizerState;
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
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
    config: OptimizerConfig,
    state: OptimizerState,
}

impl Optimizer {
    /// An optimizer at its first step.
    pub fn new(config: OptimizerConfig) -> Self {
        Self {
            config,
            state: OptimizerState::default(),
        }
    }

    /// One step; returns the norm of the gradient before clipping. A gradient that is not finite
    /// changes nothing.
    pub fn step(&mut self, model: Decoder, gradients: GradientsParams) -> (Decoder, f64) {
        let norm = global_norm(&model, &gradients);
        if !norm.is_finite() {
            return (model, norm);
        }
        let limit = self.config.max_grad_norm;
        let clip = if limit > 0.0 {
            (limit / (norm + 1e-6)).min(1.0)
        } else {
            1.0
        };
        let rate = self.learning_rate();
        self.state.steps += 1;
        let betas = [self.config.adam_beta1, self.config.adam_beta2];
        let step = AdamStep::new(self.state.steps, rate, betas, self.config.adam_epsilon);
        let mut step = Step {
            state: &mut self.state,
            gradients,
            step: AdamStep { clip, ..step },
        };
        (model.map(&mut step), norm)
    }

    /// What it remembers.
    pub fn state(&self) -> &OptimizerState {
        &self.state
    }

    /// Goes on from what another optimizer remembered.
    pub fn resume(&mut self, state: OptimizerState) {
        self.state = state;
    }

    /// The step size of the next step.
    pub fn learning_rate(&self) -> f64 {
        let warmup = self.config.warmup_steps;
        let risen = if warmup == 0 {
            1.0
        } else {
            ((self.state.steps + 1) as f64 / warmup as f64).min(1.0)
        };
        self.config.learning_rate * risen
    }

    /// Replaces the step size, for schedules of the caller's own.
    pub fn set_learning_rate(&mut self, rate: f64) {
        self.config.learning_rate = rate;
    }
}

/// Root of the sum of squares over all parameters.
pub(crate) fn global_norm(model: &Decoder, gradients: &GradientsParams) -> f64 {
    struct Squares<'a>(&'a GradientsParams, f64);
    impl ModuleVisitor for Squares<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(gradient) = self.0.get::<D>(param.id) {
                self.1 += sum_of_squares(gradient);
            }
        }
    }
    let mut squares = Squares(gradients, 0.0);
    model.visit(&mut squares);
    squares.1.sqrt()
}

/// True when every parameter is.
pub(crate) fn is_finite(model: &Decoder) -> bool {
    struct Finite(bool);
    impl ModuleVisitor for Finite {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0 &= all_finite(param.val().inner());
        }
    }
    let mut finite = Finite(true);
    model.visit(&mut finite);
    finite.0
}

/// A step of Adam over all parameters.
struct Step<'a> {
    state: &'a mut OptimizerState,
    gradients: GradientsParams,
    step: AdamStep,
}

impl ModuleMapper for Step<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(gradient) = self.gradients.remove::<D>(param.id) else {
            return param;
        };
        let (id, value, mapper) = param.consume();
        let value = value.inner();
        let shape = value.dims();
        let flat = [shape.iter().product::<usize>()];
        let moments = self.state.moments.remove(&id);
        let (value, gradient) = (value.reshape(flat), gradient.reshape(flat));
        let (moved, moments) = adam(self.step, value, gradient, moments);
        self.state.moments.insert(id, moments);
        let moved = moved.reshape(shape);
        Param::from_mapped_value(id, Tensor::from_inner(moved).require_grad(), mapper)
    }
}
