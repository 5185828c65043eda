//! Adam with warm-up and clipping by the global norm.

use crate::model::Decoder;
use crate::model::host::vector::{all_finite, squares, widest};
use crate::model::host::{is_host, read, take};
use crate::model::moments::Moments;
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use rayon::prelude::*;

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
    steps: usize,
    moments: Moments,
}

impl Optimizer {
    /// An optimizer at its first step.
    pub fn new(config: OptimizerConfig) -> Self {
        Self {
            config,
            steps: 0,
            moments: Moments::new(),
        }
    }

    /// Steps taken.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// One step; returns the norm of the gradient before clipping. A gradient that is not finite
    /// changes nothing.
    pub fn step(&mut self, model: Decoder, gradients: GradientsParams) -> (Decoder, f64) {
        let norm = global_norm(&model, &gradients);
        if !norm.is_finite() {
            return (model, norm);
        }
        let limit = self.config.max_grad_norm;
        let factor = if limit > 0.0 {
            (limit / (norm + 1e-6)).min(1.0)
        } else {
            1.0
        };
        let rate = self.learning_rate();
        self.steps += 1;
        let [beta1, beta2] =
            [self.config.adam_beta1, self.config.adam_beta2].map(|beta| beta as f32);
        let steps = self.steps as i32;
        let spread = (1.0 - beta2.powi(steps)).sqrt();
        let mut step = Step {
            moments: &mut self.moments,
            gradients,
            numbers: Numbers {
                factor,
                beta1,
                beta2,
                correction: spread / (1.0 - beta1.powi(steps)),
                epsilon: self.config.adam_epsilon as f32 * spread,
                rate,
            },
        };
        (model.map(&mut step), norm)
    }

    /// What it remembers of each parameter.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// The same optimizer after so many steps that left these moments.
    pub fn resume(&mut self, steps: usize, moments: Moments) {
        self.steps = steps;
        self.moments = moments;
    }

    /// The step size of the next step.
    pub fn learning_rate(&self) -> f64 {
        let warmup = self.config.warmup_steps;
        let share = if warmup == 0 {
            1.0
        } else {
            ((self.steps + 1) as f64 / warmup as f64).min(1.0)
        };
        self.config.learning_rate * share
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
                self.1 += match is_host(&gradient.device()) {
                    true => read(gradient, squares),
                    false => read(gradient.square().sum(), |sum| f64::from(sum[0])),
                };
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
            let value = param.val().inner();
            self.0 &= match is_host(&value.device()) {
                true => read(value, all_finite),
                // what is infinite or no number stays so in a sum of sizes
                false => read(value.abs().sum(), all_finite),
            };
        }
    }
    let mut finite = Finite(true);
    model.visit(&mut finite);
    finite.0
}

/// A step of Adam over all parameters.
struct Step<'a> {
    moments: &'a mut Moments,
    gradients: GradientsParams,
    numbers: Numbers,
}

/// The numbers of a step.
#[derive(Clone, Copy)]
struct Numbers {
    /// Of clipping.
    factor: f64,
    beta1: f32,
    beta2: f32,
    /// Of the two biases towards zero, and what is added to the root of the second moment.
    correction: f32,
    epsilon: f32,
    rate: f64,
}

impl Numbers {
    /// The parameter after the step, and what is remembered of it.
    ///
    /// # Shapes
    /// - all: flat
    fn plain(
        self,
        value: Tensor<1>,
        gradient: Tensor<1>,
        moments: Option<[Tensor<1>; 2]>,
    ) -> (Tensor<1>, [Tensor<1>; 2]) {
        let gradient = if self.factor < 1.0 {
            gradient * self.factor
        } else {
            gradient
        };
        let (first, second) = (
            gradient.clone().mul_scalar(1.0 - self.beta1),
            gradient.square().mul_scalar(1.0 - self.beta2),
        );
        let [first, second] = match moments {
            Some([m, v]) => [
                m.mul_scalar(self.beta1) + first,
                v.mul_scalar(self.beta2) + second,
            ],
            None => [first, second],
        };
        let direction =
            first.clone().mul_scalar(self.correction) / (second.clone().sqrt() + self.epsilon);
        (value - direction.mul_scalar(self.rate), [first, second])
    }

    /// The same in one pass.
    fn host(
        self,
        value: Tensor<1>,
        gradient: Tensor<1>,
        moments: Option<[Tensor<1>; 2]>,
    ) -> (Tensor<1>, [Tensor<1>; 2]) {
        let (device, len) = (value.device(), gradient.dims()[0]);
        let [mut first, mut second] =
            moments.map_or_else(|| [(); 2].map(|()| vec![0.0; len]), |pair| pair.map(take));
        let (mut value, gradient) = (take(value), take(gradient));
        let piece = len.div_ceil(rayon::current_num_threads()).max(1 << 16);
        let moments = first
            .par_chunks_mut(piece)
            .zip(second.par_chunks_mut(piece));
        value
            .par_chunks_mut(piece)
            .zip(gradient.par_chunks(piece))
            .zip(moments)
            .for_each(|((value, gradient), (m, v))| {
                self.piece(value, gradient, m, v);
            });
        let tensor = |numbers| Tensor::from_data(TensorData::new(numbers, [len]), &device);
        (tensor(value), [tensor(first), tensor(second)])
    }

    fn piece(self, value: &mut [f32], gradient: &[f32], first: &mut [f32], second: &mut [f32]) {
        let (beta1, beta2, rate) = (self.beta1, self.beta2, self.rate as f32);
        let factor = self.factor as f32;
        widest(
            #[inline(always)]
            || {
                for (((x, &g), m), v) in value.iter_mut().zip(gradient).zip(first).zip(second) {
                    let g = g * factor;
                    *m = *m * beta1 + g * (1.0 - beta1);
                    *v = *v * beta2 + g * g * (1.0 - beta2);
                    *x -= *m * self.correction / (v.sqrt() + self.epsilon) * rate;
                }
            },
        );
    }
}

impl ModuleMapper for Step<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(gradient) = self.gradients.remove::<D>(param.id) else {
            return param;
        };
        let (id, value, mapper) = param.consume();
        let value = value.inner();
        let shape = value.dims();
        let moments = self.moments.remove(&id);
        let flat = [shape.iter().product::<usize>()];
        let (moved, moments) = match is_host(&gradient.device()) {
            true => self
                .numbers
                .host(value.reshape(flat), gradient.reshape(flat), moments),
            false => self
                .numbers
                .plain(value.reshape(flat), gradient.reshape(flat), moments),
        };
        self.moments.insert(id, moments);
        let moved = moved.reshape(shape);
        Param::from_mapped_value(id, Tensor::from_inner(moved).require_grad(), mapper)
    }
}
