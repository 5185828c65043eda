//! A language model as a member: which tokens it trains on, and what it cannot be asked.

use super::{
    Asked, LanguageModel, Learner, ModelFolder, Prompts, Responder, Setup, TrainingRollout,
    Unreadable,
};
use crate::learn::{Decoding, Example, TrainConfig};
use crate::model::Device;
use crate::rollout::{
    AgentId, AuthorLogprobs, Completion, FinishReason, Question, Rollout, RolloutId, ScoredRollout,
    Token,
};
use crate::seed::Seed;
use crate::tokenizer::{self, ChatOptions, Tokenizer};
use burn::tensor::DType;
use std::sync::Arc;

const FIRST_EOS: u32 = 7;
const SECOND_EOS: u32 = 3;

/// A model folder without weights, its chat template one that refuses the word "forbidden".
fn folder() -> ModelFolder {
    let dir = tempfile::tempdir().unwrap();
    let texts: Vec<String> = (0..50).map(|i| format!("The answer is {i}.")).collect();
    tokenizer::train(&texts, 300, dir.path()).unwrap();
    let config = serde_json::json!({
        "model_type": "qwen2", "vocab_size": 300, "hidden_size": 16, "intermediate_size": 16,
        "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
        "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": true,
        "max_position_embeddings": 64, "eos_token_id": [FIRST_EOS, SECOND_EOS]
    });
    let template = "{% if 'forbidden' in messages[0].content %}{{ raise_exception('no') }}{% endif %}\
                    {{ messages[0].content }}";
    let shape = dir.path().join("config.json");
    std::fs::write(&shape, config.to_string()).unwrap();
    std::fs::write(dir.path().join("chat_template.jinja"), template).unwrap();
    ModelFolder::random(dir.path(), &shape).unwrap()
}

/// A member whose completions have at most so many tokens.
fn member(longest: usize, half: bool) -> (LanguageModel, Arc<Tokenizer>) {
    let folder = Arc::new(folder());
    let tokenizer = Arc::clone(&folder.tokenizer);
    let setup = Setup {
        prompts: Arc::new(Prompts::new(
            Arc::clone(&tokenizer),
            ChatOptions::default(),
            40,
        )),
        decoding: Decoding {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            max_completion_length: longest,
        },
        half,
        config: TrainConfig::default(),
        learns: true,
        folder: Arc::clone(&folder),
    };
    let weights = folder.weights(&Device::flex().autodiff()).unwrap();
    (LanguageModel::new(&weights, setup), tokenizer)
}

fn question(text: &str) -> Question {
    Question {
        task: "t".into(),
        text: text.into(),
        answer: None,
        metadata: serde_json::Map::new().into(),
        seed: None,
    }
}

fn scored(member: &LanguageModel, completions: Vec<Completion>) -> ScoredRollout {
    let question = question("What is 1?");
    let id = RolloutId {
        author: AgentId(1),
        round: 1,
        index: 0,
    };
    ScoredRollout {
        prompt: member.prompt(&question).unwrap(),
        rewards: Vec::new(),
        rollout: Arc::new(Rollout {
            id,
            question,
            completions,
        }),
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
        logprobs: AuthorLogprobs::Untold,
    };
    let (member, _) = member(longest, false);
    let training = TrainingRollout {
        scored: &scored(&member, vec![completion]),
        advantages: vec![1.0],
        foreign,
    };
    member.examples(&[training])
}

#[test]
fn own_completions_train_on_the_tokens_that_were_generated() {
    // the text says something else: it must not be looked at, nor must the old log-probs (NaN here)
    let ids = [40, 41, SECOND_EOS];
    let rows = examples("other text", &ids, FinishReason::Stop, false, 10);
    assert_eq!(
        (&rows[0].completion[..], rows[0].truncated),
        (&ids[..], false)
    );
    let prompt = member(10, false).1.encode_prompt("What is 1?").unwrap();
    assert_eq!(rows[0].prompt, prompt);
}

#[test]
fn completions_of_others_are_encoded_anew_and_end_once_unless_cut_off() {
    let text = "The answer is 12.";
    let encoded = member(10, false).1.encode_completion(text);
    let ended = examples(text, &[], FinishReason::Stop, true, 20).remove(0);
    let with_end = [&encoded[..], &[FIRST_EOS]].concat();
    assert_eq!(ended.completion, with_end, "with the id that ends a turn");
    assert!(!ended.truncated && ended.foreign);
    let cut = examples(text, &[], FinishReason::Length, true, 20).remove(0);
    assert_eq!((&cut.completion, cut.truncated), (&encoded, true));
    let long = examples(text, &[], FinishReason::Stop, true, 3).remove(0);
    let found = (&long.completion[..], long.truncated);
    assert_eq!(found, (&encoded[..3], true), "longer than allowed: cut off");
}

#[test]
fn a_text_that_encodes_to_other_tokens_is_noticed() {
    let (member, tokenizer) = member(10, false);
    let text = "The answer is 5.";
    let ids = tokenizer.encode_completion(text);
    let differs = |ids: &[u32], finish_reason| {
        member.reencodes_differently(&Completion {
            text: text.into(),
            finish_reason,
            tokens: tokens(ids),
            logprobs: AuthorLogprobs::Untold,
        })
    };
    assert!(!differs(&ids, FinishReason::Length));
    let ended = [&ids[..], &[SECOND_EOS]].concat();
    assert!(
        !differs(&ended, FinishReason::Stop),
        "whichever end was generated"
    );
    let letters = text
        .chars()
        .map(|c| tokenizer.encode_completion(&c.to_string()));
    let letters: Vec<u32> = letters.flatten().collect();
    assert_eq!(tokenizer.decode(&letters), text);
    assert!(
        differs(&letters, FinishReason::Length),
        "the same text in smaller tokens"
    );
}

#[test]
fn log_probs_of_tokens_are_told_where_the_text_says_which_tokens_they_are() {
    let (member, tokenizer) = member(10, false);
    let text = "The answer is 5.";
    let told = |ids: &[u32], finish_reason| {
        let generated = |&id: &u32| Token {
            id,
            logprob: -0.5,
            entropy: 0.0,
        };
        let own = Completion {
            text: text.into(),
            finish_reason,
            tokens: ids.iter().map(generated).collect(),
            logprobs: AuthorLogprobs::Untold,
        };
        member.token_logprobs(&own)
    };
    let ids = tokenizer.encode_completion(text);
    let ended = [&ids[..], &[FIRST_EOS]].concat();
    let expected = AuthorLogprobs::Token {
        tokenizer: member.fingerprint(),
        logprobs: vec![-0.5; ended.len()],
    };
    assert_eq!(told(&ended, FinishReason::Stop), Some(expected));
    assert!(told(&ids, FinishReason::Length).is_some());
    let other_end = [&ids[..], &[SECOND_EOS]].concat();
    assert_eq!(
        told(&other_end, FinishReason::Stop),
        None,
        "others would end it with another token"
    );
    let letters = text
        .chars()
        .map(|c| tokenizer.encode_completion(&c.to_string()));
    let letters: Vec<u32> = letters.flatten().collect();
    assert_eq!(told(&letters, FinishReason::Length), None);
}

#[test]
fn log_probs_are_read_by_who_has_the_same_tokens() {
    let (member, tokenizer) = member(10, false);
    let (text, fingerprint) = ("The answer is 5.", member.fingerprint());
    let length = tokenizer.encode_completion(text).len() + 1;
    let told = AuthorLogprobs::Token {
        tokenizer: fingerprint,
        logprobs: vec![-0.5; length],
    };
    // one with the same tokenizer, one with another, one that cuts the completion off
    let read = |fingerprint: u64, longest: usize| {
        let (member, _) = self::member(longest, false);
        let shown = Completion {
            text: text.into(),
            finish_reason: FinishReason::Stop,
            tokens: Vec::new(),
            logprobs: AuthorLogprobs::Token {
                tokenizer: fingerprint,
                logprobs: vec![-0.5; length],
            },
        };
        let training = TrainingRollout {
            scored: &scored(&member, vec![shown]),
            advantages: vec![1.0],
            foreign: true,
        };
        member.examples(&[training]).remove(0).author
    };
    assert_eq!(read(fingerprint, length), told);
    let sum = -0.5 * length as f32;
    assert_eq!(read(fingerprint + 1, length), AuthorLogprobs::Sequence(sum));
    assert_eq!(read(fingerprint, length - 1), AuthorLogprobs::Untold);
}

fn complete(member: &mut LanguageModel, seed: u64) -> Vec<Vec<Completion>> {
    let question = question("What is 1?");
    let prompt = member.prompt(&question).unwrap();
    let asked = Asked {
        question: &question,
        prompt: &prompt,
    };
    member.complete(&[asked], 4, Seed::new(seed)).unwrap()
}

#[test]
fn completing_and_learning_leave_the_other_copies_alone() {
    let (mut member, _) = member(6, false);
    let groups = complete(&mut member, 2);
    assert_eq!(
        groups,
        complete(&mut member, 2),
        "a pure function of the seed"
    );
    let training = TrainingRollout {
        scored: &scored(&member, groups[0].clone()),
        advantages: vec![1.5, -0.5, -0.5, -0.5],
        foreign: false,
    };
    let stats = member.update(&[training], Seed::new(3));
    let found = (stats.steps, stats.clip_ratio, stats.foreign_logp);
    assert_eq!(found, (1, Some(0.0), None));
    assert!(stats.grad_norm.unwrap() > 0.0);
    assert_ne!(groups, complete(&mut member, 2), "the cache is made anew");
}

#[test]
fn who_begins_again_is_what_it_was_at_first() {
    let (mut member, _) = member(6, false);
    let groups = complete(&mut member, 2);
    let training = TrainingRollout {
        scored: &scored(&member, groups[0].clone()),
        advantages: vec![1.5, -0.5, -0.5, -0.5],
        foreign: false,
    };
    let first = member.update(std::slice::from_ref(&training), Seed::new(3));
    assert_ne!(groups, complete(&mut member, 2));
    member.begin_again();
    assert_eq!(groups, complete(&mut member, 2));
    let again = member.update(&[training], Seed::new(3));
    assert_eq!(first, again, "the optimizer has forgotten too");
}

#[test]
fn what_cannot_be_asked_says_why() {
    let (member, tokenizer) = member(6, false);
    let prompt = |text: &str| member.prompt(&question(text));
    assert_eq!(prompt(&"1".repeat(40)).unwrap().tokens.len(), 40);
    assert!(prompt(&"1".repeat(41)).is_err());
    assert!(
        matches!(prompt(""), Err(Unreadable::Refused(_))),
        "no token"
    );
    let long = "What is 1? ".repeat(30);
    let expected = Unreadable::TooLong {
        tokens: tokenizer.encode_prompt(&long).unwrap().len(),
        most: 40,
    };
    // the second time it is remembered
    for _ in 0..2 {
        assert_eq!(member.prompt(&question(&long)).unwrap_err(), expected);
    }
    let refused = member.prompt(&question("a forbidden word")).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, Unreadable::Refused(_)));
    assert!(
        text.contains("chat_template.jinja") && text.contains("no"),
        "{text}"
    );
}

#[test]
fn generation_in_bf16_is_close_and_leaves_the_weights_in_f32() {
    let answer = |half| {
        let (mut member, _) = member(3, half);
        let question = question("What is 1?");
        let prompt = member.prompt(&question).unwrap();
        let asked = Asked {
            question: &question,
            prompt: &prompt,
        };
        let group = member
            .complete(&[asked], 16, Seed::new(2))
            .unwrap()
            .concat();
        let first: Vec<Token> = group.iter().map(|c| c.tokens[0]).collect();
        (first, member.model().embed_tokens.val().dtype())
    };
    let ((whole, dtype), (half, after)) = (answer(false), answer(true));
    assert_eq!((dtype, after), (DType::F32, DType::F32));
    let pairs = whole.iter().zip(&half);
    let same: Vec<_> = pairs.clone().filter(|(a, b)| a.id == b.id).collect();
    let far = |(a, b): &&(&Token, &Token)| (a.logprob - b.logprob).abs() > 0.05;
    assert!(
        !same.iter().any(|pair| far(&pair)) && same.len() > 12,
        "{whole:?} {half:?}"
    );
    assert!(
        pairs.into_iter().any(|(a, b)| a.logprob != b.logprob),
        "it was in bf16"
    );
}
