//! A language model as a policy: decoder, tokenizer and optimizer.
//!
//! Own completions are trained on the very tokens that were generated. Those of others arrive as
//! text and are encoded anew, with an end-of-sequence token unless they were cut off.

use super::{Decoding, Policy, TrainConfig, TrainingRollout, UpdateStats};
use crate::learn::{Example, Optimizer, Update, generate};
use crate::model::optimizer_state::OptimizerState;
use crate::model::weights::{self, Dtype, WeightFiles};
use crate::model::{Decoder, ModelConfig};
use crate::rollout::{Completion, FinishReason, Question};
use crate::seed::Seed;
use crate::tokenizer::Tokenizer;
use burn::module::Module;
use std::path::Path;
use std::sync::Arc;

/// The file of what Adam remembers.
const OPTIMIZER_STATE: &str = "adam.safetensors";

/// How a policy reads and writes text.
#[derive(Clone)]
pub struct Language {
    /// Text to tokens and back.
    pub tokenizer: Arc<Tokenizer>,
    /// Goes before the question where the chat template has a place for it.
    pub system_prompt: Option<String>,
    /// Ids that end a completion; the first is appended to the completions of others.
    pub eos: Vec<u32>,
    /// Most tokens of a prompt.
    pub max_prompt_length: usize,
}

/// A language model that learns by GRPO.
pub struct QwenPolicy {
    /// Taken out only while an update runs.
    model: Option<Decoder>,
    shape: ModelConfig,
    reference: Option<Decoder>,
    language: Language,
    /// Whether completions are generated from a copy in bf16.
    half: bool,
    optimizer: Optimizer,
    config: TrainConfig,
}

impl QwenPolicy {
    /// A policy that starts as a copy of `model`, which has this shape and must live on an autodiff device. With `half`
    /// it generates from a copy of its weights in bf16; all else is f32.
    ///
    /// # Panics
    /// When the language has no end of a completion.
    pub fn new(
        model: &Decoder,
        shape: ModelConfig,
        language: Language,
        half: bool,
        config: TrainConfig,
    ) -> Self {
        assert!(
            !language.eos.is_empty(),
            "a policy needs an end-of-sequence token"
        );
        // a fork has leaves of its own, so that agents never meet in one graph
        let own = model.clone().fork(&model.device());
        let reference = (config.beta != 0.0).then(|| model.valid());
        let optimizer = Optimizer::new(config.optimizer());
        Self {
            model: Some(own),
            shape,
            reference,
            language,
            half,
            optimizer,
            config,
        }
    }

    /// The model as it is now.
    ///
    /// # Panics
    /// Never: the model is away only during an update.
    pub fn model(&self) -> &Decoder {
        self.model.as_ref().expect("no update is running")
    }

    /// The prompt of a question; none where it cannot be asked.
    fn prompt(&self, question: &Question) -> Option<Vec<u32>> {
        let language = &self.language;
        let prompt = language
            .tokenizer
            .prompt(language.system_prompt.as_deref(), &question.text)
            .ok()?;
        (prompt.len() <= language.max_prompt_length).then_some(prompt)
    }

    /// Tokens of a completion as another policy would encode its text.
    fn encode(&self, completion: &Completion) -> Vec<u32> {
        let mut tokens = self.language.tokenizer.encode_completion(&completion.text);
        if completion.finish_reason == FinishReason::Stop {
            tokens.push(self.language.eos[0]);
        }
        tokens
    }

    pub(super) fn examples(
        &self,
        training: &[TrainingRollout<'_>],
        longest: usize,
    ) -> Vec<Example> {
        let mut examples = Vec::new();
        for TrainingRollout {
            rollout,
            advantages,
            foreign,
        } in training
        {
            let prompt = self
                .prompt(&rollout.question)
                .expect("a rollout of the training set can be asked");
            for (completion, &advantage) in rollout.completions.iter().zip(advantages) {
                let mut tokens = match foreign {
                    true => self.encode(completion),
                    false => completion.tokens.iter().map(|t| t.id).collect(),
                };
                let truncated =
                    completion.finish_reason == FinishReason::Length || tokens.len() > longest;
                tokens.truncate(longest);
                let foreign = *foreign;
                examples.push(Example {
                    prompt: prompt.clone(),
                    completion: tokens,
                    advantage,
                    truncated,
                    foreign,
                });
            }
        }
        examples
    }
}

impl Policy for QwenPolicy {
    fn complete(
        &mut self,
        questions: &[Question],
        n: usize,
        decoding: &Decoding,
        seed: Seed,
    ) -> Vec<Vec<Completion>> {
        let prompt = |question| self.prompt(question).expect("the question can be asked");
        let prompts: Vec<Vec<u32>> = questions.iter().map(prompt).collect();
        let model = if self.half {
            self.model().valid().in_bf16()
        } else {
            self.model().valid()
        };
        let groups = generate(&model, &prompts, n, decoding, &self.language.eos, seed);
        let completion = |generated: crate::learn::Generated| {
            let ids: Vec<u32> = generated.tokens.iter().map(|t| t.id).collect();
            let ended = generated.finish_reason == FinishReason::Stop;
            let text = self
                .language
                .tokenizer
                .decode(&ids[..ids.len() - usize::from(ended)]);
            Completion {
                text,
                finish_reason: generated.finish_reason,
                tokens: generated.tokens,
            }
        };
        groups
            .into_iter()
            .map(|group| group.into_iter().map(completion).collect())
            .collect()
    }

    fn update(
        &mut self,
        training: &[TrainingRollout<'_>],
        decoding: &Decoding,
        seed: Seed,
    ) -> UpdateStats {
        let examples = self.examples(training, decoding.max_completion_length);
        let update = Update {
            config: &self.config,
            temperature: decoding.logprob_temperature(),
            max_completion_length: decoding.max_completion_length,
            reference: self.reference.as_ref(),
            seed,
        };
        let model = self.model.take().expect("no other update is running");
        let (model, stats) = update.run(model, &mut self.optimizer, &examples);
        self.model = Some(model);
        stats
    }

    fn prompt_length(&self, question: &Question) -> Option<usize> {
        self.prompt(question).map(|prompt| prompt.len())
    }

    fn save(&self, dir: &Path) -> Result<(), weights::Error> {
        weights::save(self.model(), dir, |_| Dtype::F32)?;
        let state = self.optimizer.state();
        state.save(&dir.join(OPTIMIZER_STATE), self.model())
    }

    fn restore(&mut self, dir: &Path) -> Result<(), weights::Error> {
        let device = self.model().device();
        let model = weights::load(&WeightFiles::open(dir, &self.shape)?, &self.shape, &device)?;
        let file = dir.join(OPTIMIZER_STATE);
        let state = OptimizerState::load(&file, &model, &device.clone().inner())?;
        self.optimizer.resume(state);
        self.model = Some(model);
        Ok(())
    }

    fn decoder(&self) -> Option<&Decoder> {
        self.model.as_ref()
    }

    fn reencodes_differently(&self, completion: &Completion) -> bool {
        let ended = completion.finish_reason == FinishReason::Stop;
        let generated = &completion.tokens[..completion.tokens.len() - usize::from(ended)];
        !self
            .language
            .tokenizer
            .encode_completion(&completion.text)
            .into_iter()
            .eq(generated.iter().map(|t| t.id))
    }
}
