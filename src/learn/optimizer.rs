//! Adam, or SGD with momentum, with warm-up and clipping by the global norm.

use crate::kernels::{AdamStep, adam, all_finite, sum_of_squares};
use crate::model::Decoder;
use crate::model::optimizer_state::{Moments, OptimizerState};
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// The rules by which a gradient moves the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optim {
    /// Adam (Kingma and Ba, arXiv 1412.6980).
    Adam,
    /// Stochastic gradient descent with momentum as PyTorch has it: the momentum decays by
    /// `sgd_momentum`, takes in the whole gradient, and moves the weights by the step size.
    Sgd,
}

impl Optim {
    /// How many moments of each parameter it remembers.
    pub fn moments(self) -> usize {
        match self {
            Self::Adam => 2,
            Self::Sgd => 1,
        }
    }
}

/// The numbers of the optimizer.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimizerConfig {
    /// The rule.
    pub optim: Optim,
    /// Decay of the momentum of SGD.
    pub sgd_momentum: f64,
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

/// The optimizer and how far it has come.
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
        (self.advance(model, gradients, clip), norm)
    }

    /// One step with a gradient of zeros: what the moments remember moves the weights, and decays.
    #[must_use]
    pub fn step_without_gradient(&mut self, model: Decoder) -> Decoder {
        self.advance(model, GradientsParams::new(), 1.0)
    }

    fn advance(&mut self, model: Decoder, gradients: GradientsParams, clip: f64) -> Decoder {
        let rate = self.learning_rate();
        self.state.steps += 1;
        let betas = [self.config.adam_beta1, self.config.adam_beta2];
        let step = AdamStep::new(self.state.steps, rate, betas, self.config.adam_epsilon);
        let rule = match self.config.optim {
            Optim::Adam => Rule::Adam(AdamStep { clip, ..step }),
            Optim::Sgd => Rule::Sgd {
                clip,
                rate,
                momentum: self.config.sgd_momentum,
            },
        };
        model.map(&mut Step {
            state: &mut self.state,
            gradients,
            rule,
        })
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

/// How a step moves one parameter.
enum Rule {
    Adam(AdamStep),
    Sgd { clip: f64, rate: f64, momentum: f64 },
}

impl Rule {
    /// The parameter after the step and its moments, from those before it; without any they start at 0.
    ///
    /// # Shapes
    /// - all: flat
    fn apply(
        &self,
        value: Tensor<1>,
        gradient: Tensor<1>,
        moments: Option<Moments>,
    ) -> (Tensor<1>, Moments) {
        match *self {
            Self::Adam(step) => {
                let pair = moments.and_then(|moments| <[_; 2]>::try_from(moments).ok());
                let (moved, pair) = adam(step, value, gradient, pair);
                (moved, pair.into())
            }
            Self::Sgd {
                clip,
                rate,
                momentum,
            } => {
                let gradient = gradient.mul_scalar(clip);
                let first = moments.and_then(|moments| moments.into_iter().next());
                let first = match first {
                    Some(first) => first.mul_scalar(momentum) + gradient,
                    None => gradient,
                };
                (value - first.clone().mul_scalar(rate), vec![first])
            }
        }
    }
}

/// A step over all parameters.
struct Step<'a> {
    state: &'a mut OptimizerState,
    gradients: GradientsParams,
    rule: Rule,
}

impl ModuleMapper for Step<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let gradient = self.gradients.remove::<D>(param.id);
        let moments = self.state.moments.remove(&param.id);
        // without a gradient now or before there is nothing that could move it
        if gradient.is_none() && moments.is_none() {
            return param;
        }
        let (id, value, mapper) = param.consume();
        let value = value.inner();
        let shape = value.dims();
        let flat = [shape.iter().product::<usize>()];
        let value = value.reshape(flat);
        let gradient = match gradient {
            Some(gradient) => gradient.reshape(flat),
            None => value.zeros_like(),
        };
        let (moved, moments) = self.rule.apply(value, gradient, moments);
        self.state.moments.insert(id, moments);
        let moved = moved.reshape(shape);
        Param::from_mapped_value(id, Tensor::from_inner(moved).require_grad(), mapper)
    }
}
