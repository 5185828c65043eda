//! A language model as a policy: which tokens it trains on.

use super::qwen::{Language, QwenPolicy};
use super::{Decoding, Policy, TrainConfig, TrainingRollout};
use crate::learn::Example;
use crate::model::{ModelConfig, weights};
use crate::rollout::{AgentId, Completion, FinishReason, Question, Rollout, Token};
use crate::seed::Seed;
use crate::tokenizer::{self, Tokenizer};
use burn::tensor::{DType, Device};
use std::sync::Arc;

const FIRST_EOS: u32 = 7;
const SECOND_EOS: u32 = 3;

fn policy() -> (QwenPolicy, Arc<Tokenizer>) {
    policy_in(false)
}

/// One that generates in bf16 where `half` is set.
fn policy_in(half: bool) -> (QwenPolicy, Arc<Tokenizer>) {
    let dir = tempfile::tempdir().unwrap();
    let texts: Vec<String> = (0..50).map(|i| format!("The answer is {i}.")).collect();
    tokenizer::train(&texts, 300, dir.path()).unwrap();
    let tokenizer = Arc::new(Tokenizer::load(dir.path()).unwrap());
    let config: ModelConfig = serde_json::from_value(serde_json::json!({
        "model_type": "qwen2", "vocab_size": 300, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
        "tie_word_embeddings": true, "max_position_embeddings": 64
    }))
    .unwrap();
    let model = weights::random(&config, Seed::new(1), &Device::flex().autodiff());
    let train = TrainConfig::default();
    let language = Language {
        tokenizer: Arc::clone(&tokenizer),
        system_prompt: None,
        eos: vec![FIRST_EOS, SECOND_EOS],
        max_prompt_length: 40,
    };
    (
        QwenPolicy::new(&model, config, language, half, train),
        tokenizer,
    )
}

fn question() -> Question {
    Question {
        task: "t".into(),
        text: "What is 1?".into(),
        answer: None,
        metadata: serde_json::Map::new().into(),
    }
}

fn tokens(ids: &[u32]) -> Vec<Token> {
    ids.iter()
        .map(|&id| Token {
            id,
            logprob: f32::NAN,
            entropy: f32::NAN,
        })
        .collect()
}

/// The examples of one completion, own or another's.
fn examples(
    text: &str,
    ids: &[u32],
    finish_reason: FinishReason,
    foreign: bool,
    longest: usize,
) -> Vec<Example> {
    let completion = Completion {
        text: text.into(),
        finish_reason,
        tokens: tokens(ids),
    };
    let rollout = Rollout {
        author: AgentId(1),
        index: 0,
        question: question(),
        completions: vec![completion],
        rewards: vec![],
    };
    let training = TrainingRollout {
        rollout: &rollout,
        advantages: vec![1.0],
        foreign,
    };
    policy().0.examples(&[training], longest)
}

#[test]
fn own_completions_train_on_the_tokens_that_were_generated() {
    // the text says something else: it must not be looked at, nor must the old log-probs (NaN here)
    let rows = examples(
        "other text",
        &[40, 41, SECOND_EOS],
        FinishReason::Stop,
        false,
        10,
    );
    assert_eq!(
        (rows[0].completion.as_slice(), rows[0].truncated),
        (&[40, 41, SECOND_EOS][..], false)
    );
    assert_eq!(
        rows[0].prompt,
        policy().1.encode_prompt("What is 1?").unwrap()
    );
}

#[test]
fn completions_of_others_are_encoded_anew_and_end_once_unless_cut_off() {
    let text = "The answer is 12.";
    let encoded = policy().1.encode_completion(text);
    let ended = examples(text, &[], FinishReason::Stop, true, 20).remove(0);
    assert_eq!(
        ended.completion,
        [&encoded[..], &[FIRST_EOS]].concat(),
        "with the id that ends a turn"
    );
    assert!(!ended.truncated && ended.foreign);
    let cut = examples(text, &[], FinishReason::Length, true, 20).remove(0);
    assert_eq!((cut.completion, cut.truncated), (encoded.clone(), true));
    let long = examples(text, &[], FinishReason::Stop, true, 3).remove(0);
    assert_eq!(
        (long.completion, long.truncated),
        (encoded[..3].to_vec(), true),
        "longer than allowed: cut off"
    );
}

#[test]
fn a_text_that_encodes_to_other_tokens_is_noticed() {
    let (policy, tokenizer) = policy();
    let text = "The answer is 5.";
    let ids = tokenizer.encode_completion(text);
    let differs = |ids: &[u32], finish_reason| {
        policy.reencodes_differently(&Completion {
            text: text.into(),
            finish_reason,
            tokens: tokens(ids),
        })
    };
    assert!(!differs(&ids, FinishReason::Length));
    assert!(
        !differs(&[&ids[..], &[SECOND_EOS]].concat(), FinishReason::Stop),
        "whichever end was generated"
    );
    let letters: Vec<u32> = text
        .chars()
        .flat_map(|c| tokenizer.encode_completion(&c.to_string()))
        .collect();
    assert_eq!(tokenizer.decode(&letters), text);
    assert!(
        differs(&letters, FinishReason::Length),
        "the same text in smaller tokens"
    );
}

#[test]
fn completing_and_learning_leave_the_other_copies_alone() {
    let (mut policy, _) = policy();
    let decoding = Decoding {
        temperature: 1.0,
        top_k: 0,
        top_p: 1.0,
        max_completion_length: 6,
    };
    let groups = policy.complete(&[question()], 4, &decoding, Seed::new(2));
    assert_eq!(
        groups,
        policy.complete(&[question()], 4, &decoding, Seed::new(2)),
        "a pure function of the seed"
    );
    let rollout = Rollout {
        author: AgentId(0),
        index: 0,
        question: question(),
        completions: groups[0].clone(),
        rewards: vec![1.0, 0.0, 0.0, 0.0],
    };
    let training = TrainingRollout {
        rollout: &rollout,
        advantages: vec![1.5, -0.5, -0.5, -0.5],
        foreign: false,
    };
    let stats = policy.update(&[training], &decoding, Seed::new(3));
    assert_eq!(
        (stats.steps, stats.clip_ratio, stats.foreign_logp),
        (1, Some(0.0), None)
    );
    assert!(stats.grad_norm.unwrap() > 0.0);
    assert_ne!(
        groups,
        policy.complete(&[question()], 4, &decoding, Seed::new(2)),
        "the cache is made anew"
    );
}

#[test]
fn prompts_that_are_too_long_cannot_be_asked() {
    let (policy, tokenizer) = policy();
    let asked = |text: &str| {
        policy.prompt_length(&Question {
            text: text.into(),
            ..question()
        })
    };
    assert_eq!(
        asked("What is 1?"),
        Some(tokenizer.encode_prompt("What is 1?").unwrap().len())
    );
    assert_eq!(asked(&"1".repeat(40)), Some(40));
    assert_eq!((asked(&"1".repeat(41)), asked("")), (None, None));
}

#[test]
fn generation_in_bf16_is_close_and_leaves_the_weights_in_f32() {
    let decoding = Decoding {
        temperature: 1.0,
        top_k: 0,
        top_p: 1.0,
        max_completion_length: 3,
    };
    let answer = |half| {
        let (mut policy, _) = policy_in(half);
        let groups = policy.complete(&[question()], 16, &decoding, Seed::new(2));
        let dtype = policy.model().embed_tokens.val().dtype();
        (
            groups
                .concat()
                .iter()
                .map(|c| c.tokens[0])
                .collect::<Vec<_>>(),
            dtype,
        )
    };
    let ((whole, dtype), (half, after)) = (answer(false), answer(true));
    assert_eq!((dtype, after), (DType::F32, DType::F32));
    let far = whole
        .iter()
        .zip(&half)
        .filter(|(a, b)| a.id == b.id && (a.logprob - b.logprob).abs() > 0.05)
        .count();
    let same = whole
        .iter()
        .zip(&half)
        .filter(|(a, b)| a.id == b.id)
        .count();
    assert!(far == 0 && same > 12, "{whole:?} {half:?}");
    assert!(
        whole.iter().zip(&half).any(|(a, b)| a.logprob != b.logprob),
        "it was in bf16"
    );
}
