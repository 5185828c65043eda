//! Whole updates with either kernel, and whether the comparison would see a mistake.

use super::*;
use crate::learn::parity::{distance, examples, updated};

fn prompts() -> Vec<Vec<u32>> {
    vec![tokens(1, 3), tokens(2, 11), tokens(3, 1), tokens(4, 6)]
}

fn limited() -> TrainConfig {
    TrainConfig {
        max_grad_norm: 1.0,
        ..config(LossType::Bnpo)
    }
}

#[test]
fn a_model_agrees_with_itself() {
    let found = Parity::of([model(true), model(true)], &prompts(), &limited());
    assert_eq!((found.logits, found.weights), (0.0, 0.0));
    assert_eq!(found.greedy, (4 * 16, 4 * 16));
    assert_eq!(found.loss[0], found.loss[1]);
}

#[test]
fn whole_updates_are_the_same_with_either_kernel() {
    for kind in ["qwen2", "qwen3"] {
        let model = model_of(kind, true);
        let (prompts, config) = (prompts(), limited());
        let greedy = Decoding {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            max_completion_length: 16,
        };
        let make = || examples(&model.valid(), &prompts, &greedy);
        let completions = make();
        assert_eq!(
            completions,
            with_generic(make),
            "{kind}: the same completions"
        );
        let run = |config: &TrainConfig| updated(model.clone(), &completions, config);
        let (ours, stats) = run(&config);
        let (theirs, of_theirs) = with_generic(|| run(&config));
        let before = flatten_weights(&model.valid());
        let apart = distance(&ours, &theirs) / distance(&ours, &before);
        assert!(apart < 1e-3, "{kind}: {apart}");
        let loss = [stats.loss.unwrap(), of_theirs.loss.unwrap()];
        assert!((loss[0] - loss[1]).abs() < 1e-5, "{kind}: {loss:?}");
        // a mistake in the optimizer is seen
        let swapped = TrainConfig {
            adam_beta1: config.adam_beta2,
            adam_beta2: config.adam_beta1,
            ..config
        };
        let wrong = distance(&ours, &run(&swapped).0) / distance(&ours, &before);
        assert!(wrong > 0.02, "{kind}: {wrong}");
    }
}
