//! A language model as a member: decoder, tokenizer and optimizer.
//!
//! Own completions are trained on the very tokens that were generated. Those of others arrive as
//! text and are encoded anew, with an end-of-sequence token unless they were cut off.

use super::{
    Asked, Learner, ModelFolder, Prompts, Responder, TrainingRollout, Unreadable, UpdateStats,
};
use crate::learn::{Decoding, Example, Generated, Optimizer, TrainConfig, Update, generate};
use crate::model::Decoder;
use crate::model::optimizer_state::OptimizerState;
use crate::model::weights::{self, Dtype, WeightFiles};
use crate::rollout::{AuthorLogprobs, Completion, FinishReason, Prompt, Question};
use crate::seed::Seed;
use anyhow::Result;
use burn::module::Module;
use std::path::Path;
use std::sync::Arc;

/// The file of what the optimizer remembers.
const OPTIMIZER_STATE: &str = "optimizer.safetensors";

/// A language model that learns by GRPO.
pub struct LanguageModel {
    folder: Arc<ModelFolder>,
    prompts: Arc<Prompts>,
    decoding: Decoding,
    /// Whether completions are generated from a copy in bf16.
    half: bool,
    config: TrainConfig,
    learns: bool,
    /// As it was at first.
    first: Decoder,
    /// Taken out only while an update runs.
    model: Option<Decoder>,
    reference: Option<Decoder>,
    optimizer: Optimizer,
}

/// How a language model reads, answers and learns.
#[derive(Clone)]
pub struct Setup {
    /// What it starts from.
    pub folder: Arc<ModelFolder>,
    /// How it reads questions.
    pub prompts: Arc<Prompts>,
    /// How it answers them.
    pub decoding: Decoding,
    /// Whether it generates from a copy of its weights in bf16; all else is f32.
    pub half: bool,
    /// How it learns.
    pub config: TrainConfig,
    /// Whether it learns at all.
    pub learns: bool,
}

impl LanguageModel {
    /// A member that starts as a copy of `weights`, which are those of its folder and must live on an
    /// autodiff device.
    pub fn new(weights: &Decoder, setup: Setup) -> Self {
        let Setup {
            folder,
            prompts,
            decoding,
            half,
            config,
            learns,
        } = setup;
        // a fork has leaves of its own, so that agents never meet in one graph
        let own = weights.clone().fork(&weights.device());
        Self {
            first: weights.clone(),
            model: Some(own),
            reference: (config.beta != 0.0).then(|| weights.valid()),
            optimizer: Optimizer::new(config.optimizer()),
            folder,
            prompts,
            decoding,
            half,
            config,
            learns,
        }
    }

    /// The model as it is now.
    ///
    /// # Panics
    /// Never: the model is away only during an update.
    pub fn model(&self) -> &Decoder {
        self.model.as_ref().expect("no update is running")
    }

    /// Tokens of a completion as another model would encode its text.
    fn encode(&self, completion: &Completion) -> Vec<u32> {
        let mut tokens = self.folder.tokenizer.encode_completion(&completion.text);
        if completion.finish_reason == FinishReason::Stop {
            tokens.push(self.folder.eos[0]);
        }
        tokens
    }

    /// Of the tokenizer and the token that ends a completion.
    pub(super) fn fingerprint(&self) -> u64 {
        let eos = u64::from(self.folder.eos[0]);
        self.folder.tokenizer.fingerprint().wrapping_add(eos)
    }

    fn completion(&self, generated: Generated) -> Completion {
        let ids: Vec<u32> = generated.tokens.iter().map(|t| t.id).collect();
        let ended = generated.finish_reason == FinishReason::Stop;
        let text = &ids[..ids.len() - usize::from(ended)];
        Completion {
            text: self.folder.tokenizer.decode(text),
            finish_reason: generated.finish_reason,
            tokens: generated.tokens,
            logprobs: AuthorLogprobs::Untold,
        }
    }

    /// The training rows of a training set.
    pub(super) fn examples(&self, training: &[TrainingRollout<'_>]) -> Vec<Example> {
        let longest = self.decoding.max_completion_length;
        let mut examples = Vec::new();
        for set in training {
            let completions = &set.scored.rollout.completions;
            for (completion, &advantage) in completions.iter().zip(&set.advantages) {
                let mut tokens = match set.foreign {
                    true => self.encode(completion),
                    false => completion.tokens.iter().map(|t| t.id).collect(),
                };
                let cut_off = completion.finish_reason == FinishReason::Length;
                let truncated = cut_off || tokens.len() > longest;
                let told = match set.foreign && tokens.len() <= longest {
                    true => completion
                        .logprobs
                        .read_by(self.fingerprint(), tokens.len()),
                    // those of a whole say nothing about a part
                    false => AuthorLogprobs::Untold,
                };
                tokens.truncate(longest);
                examples.push(Example {
                    prompt: set.scored.prompt.tokens.to_vec(),
                    completion: tokens,
                    advantage,
                    truncated,
                    foreign: set.foreign,
                    author: told,
                });
            }
        }
        examples
    }
}

impl Responder for LanguageModel {
    fn prompt(&self, question: &Question) -> Result<Prompt, Unreadable> {
        self.prompts.read(question)
    }

    fn complete(
        &mut self,
        asked: &[Asked<'_>],
        n: usize,
        seed: Seed,
    ) -> Result<Vec<Vec<Completion>>> {
        let prompts: Vec<Vec<u32>> = asked.iter().map(|a| a.prompt.tokens.to_vec()).collect();
        let model = match self.half {
            true => self.model().valid().in_bf16(),
            false => self.model().valid(),
        };
        let groups = generate(&model, &prompts, n, &self.decoding, &self.folder.eos, seed);
        let group = |group: Vec<Generated>| group.into_iter().map(|g| self.completion(g)).collect();
        Ok(groups.into_iter().map(group).collect())
    }

    fn reencodes_differently(&self, completion: &Completion) -> bool {
        let ended = completion.finish_reason == FinishReason::Stop;
        let generated = &completion.tokens[..completion.tokens.len() - usize::from(ended)];
        let encoded = self.folder.tokenizer.encode_completion(&completion.text);
        !encoded.into_iter().eq(generated.iter().map(|t| t.id))
    }

    fn token_logprobs(&self, completion: &Completion) -> Option<AuthorLogprobs> {
        let last = completion.tokens.last().map(|token| token.id);
        let stopped = completion.finish_reason == FinishReason::Stop;
        let other_end = stopped && last != Some(self.folder.eos[0]);
        (!other_end && !self.reencodes_differently(completion)).then(|| AuthorLogprobs::Token {
            tokenizer: self.fingerprint(),
            logprobs: completion.tokens.iter().map(|t| t.logprob).collect(),
        })
    }

    fn learner(&mut self) -> Option<&mut dyn Learner> {
        self.learns.then_some(self as &mut dyn Learner)
    }

    fn save(&self, dir: &Path) -> Result<()> {
        weights::save(self.model(), dir, |_| Dtype::F32)?;
        let state = self.optimizer.state();
        Ok(state.save(&dir.join(OPTIMIZER_STATE), self.model())?)
    }

    fn restore(&mut self, dir: &Path) -> Result<()> {
        let (device, config) = (self.model().device(), &self.folder.config);
        let model = weights::load(&WeightFiles::open(dir, config)?, config, &device)?;
        let file = dir.join(OPTIMIZER_STATE);
        let moments = self.config.optim.moments();
        let state = OptimizerState::load(&file, &model, moments, &device.inner())?;
        self.optimizer.resume(state);
        self.model = Some(model);
        Ok(())
    }

    fn begin_again(&mut self) {
        self.model = Some(self.first.clone().fork(&self.first.device()));
        self.optimizer = Optimizer::new(self.config.optimizer());
    }

    fn export(&self, dir: &Path) -> Result<()> {
        self.folder.save(self.model(), dir)
    }
}

impl Learner for LanguageModel {
    fn update(&mut self, training: &[TrainingRollout<'_>], seed: Seed) -> UpdateStats {
        let examples = self.examples(training);
        let update = Update {
            config: &self.config,
            temperature: self.decoding.logprob_temperature(),
            max_completion_length: self.decoding.max_completion_length,
            reference: self.reference.as_ref(),
            seed,
        };
        let model = self.model.take().expect("no other update is running");
        let (model, stats) = update.run(model, &mut self.optimizer, &examples);
        self.model = Some(model);
        stats
    }
}
