//! An agent that publishes garbage of every kind, and the others that do not notice.

use sapo::policy::{Decoding, Policy, ScriptedPolicy, TrainingRollout, UpdateStats};
use sapo::record::RoundRecord;
use sapo::rollout::{AgentId, Completion, FinishReason, Question, Rollout, ScaleRewards};
use sapo::seed::Seed;
use sapo::swarm::{
    Mix, QuestionStream, Selection, Swarm, SwarmConfig, TaskWeights, Tasks, Workers,
};
use sapo::task::Scoring;
use sapo::task::catalog::{NAMES, TaskConfigs, build};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Shows the others what it likes instead of its rollouts.
struct Liar(ScriptedPolicy, fn(&[Rollout]) -> Vec<Rollout>);

impl Policy for Liar {
    fn complete(
        &mut self,
        questions: &[Question],
        n: usize,
        decoding: &Decoding,
        seed: Seed,
    ) -> Vec<Vec<Completion>> {
        self.0.complete(questions, n, decoding, seed)
    }

    fn update(
        &mut self,
        training: &[TrainingRollout<'_>],
        decoding: &Decoding,
        seed: Seed,
    ) -> UpdateStats {
        self.0.update(training, decoding, seed)
    }

    fn share(&self, own: &[Rollout]) -> Vec<Rollout> {
        (self.1)(own)
    }

    fn prompt_length(&self, question: &Question) -> Option<usize> {
        self.0.prompt_length(question)
    }

    fn reencodes_differently(&self, completion: &Completion) -> bool {
        self.0.reencodes_differently(completion)
    }
}

fn completion(text: &str) -> Completion {
    Completion {
        text: text.into(),
        finish_reason: FinishReason::Stop,
        tokens: Vec::new(),
    }
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Null, |inner, _| json!([inner]))
}

/// Garbage that no receiver should take, made of honest rollouts.
fn garbage(own: &[Rollout]) -> Vec<Rollout> {
    let honest = &own[0];
    let question = |change: &dyn Fn(&mut Question)| {
        let mut rollout = honest.clone();
        change(&mut rollout.question);
        rollout
    };
    let metadata = |value: Value| {
        question(&move |q| {
            q.metadata = Map::from_iter([("premises".to_owned(), value.clone())]).into()
        })
    };
    let big = "x".repeat(1 << 20);
    let mut all = vec![
        question(&|q| q.task = "chess".into()),
        question(&|q| q.task = big.clone().into()),
        question(&|q| q.text.clone_from(&big)),
        question(&|q| q.answer = Some(big.clone())),
        metadata(Value::from(big.clone())),
        metadata((0..100_000).collect()),
        metadata(nested(100)),
        Rollout {
            completions: Vec::new(),
            ..honest.clone()
        },
        Rollout {
            completions: vec![completion(&big)],
            ..honest.clone()
        },
        Rollout {
            completions: vec![completion("<answer>1</answer>"); 5000],
            ..honest.clone()
        },
    ];
    // under another's name, a thousand times over
    all.extend((0..1000).map(|_| Rollout {
        author: AgentId(0),
        completions: Vec::new(),
        ..honest.clone()
    }));
    all
}

fn nothing(_: &[Rollout]) -> Vec<Rollout> {
    Vec::new()
}

/// Rollouts that are sane in size and mad in content: each is scored, none may do harm.
fn mad(own: &[Rollout]) -> Vec<Rollout> {
    let texts = [
        "\0",
        "\u{2028}",
        "<answer>",
        "</answer><answer>",
        "<answer>\u{fffd}</answer>",
        "¬¬¬(",
        "[[[[",
        "9e999",
        "",
    ];
    let values = [
        json!(null),
        json!([]),
        json!({"a": [1, {"b": -1e308}]}),
        json!("\u{0}"),
        json!(1e308),
        nested(20),
    ];
    own.iter()
        .enumerate()
        .map(|(i, rollout)| {
            let metadata = rollout
                .question
                .metadata
                .keys()
                .map(|key| (key.clone(), values[i % values.len()].clone()));
            let metadata: Map<String, Value> = metadata.collect();
            Rollout {
                question: Question {
                    metadata: metadata.into(),
                    answer: None,
                    ..rollout.question.clone()
                },
                completions: texts.iter().map(|text| completion(text)).collect(),
                ..rollout.clone()
            }
        })
        .collect()
}

/// Three rounds of honest agents and one that shows the others something else: the records of all.
fn records(share: fn(&[Rollout]) -> Vec<Rollout>) -> Vec<RoundRecord> {
    let tasks = NAMES
        .iter()
        .map(|name| build(name, &TaskConfigs::default(), Scoring::ReasoningGym).unwrap())
        .collect();
    let tasks = Tasks::new(tasks, TaskWeights::new(vec![1.0; NAMES.len()]).unwrap());
    let mut policies: Vec<Box<dyn Policy>> = Vec::new();
    policies.extend((0..3).map(|_| Box::new(ScriptedPolicy::with_skill(0.4)) as Box<dyn Policy>));
    policies.push(Box::new(Liar(ScriptedPolicy::with_skill(0.4), share)));
    let config = SwarmConfig {
        mix: Mix {
            local: 4,
            external: 4,
        },
        selection: Selection::Uniform,
        max_redraws: 0,
        questions: QuestionStream::Independent,
        num_generations: 4,
        decoding: Decoding {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            max_completion_length: 200,
        },
        scale_rewards: ScaleRewards::Group,
        eval_questions: 4,
        eval_every: 1,
        rounds: 3,
        specialists: BTreeMap::new(),
    };
    let mut swarm = Swarm::new(
        policies,
        tasks,
        config,
        Seed::new(3),
        Workers::new(1).unwrap().into(),
    );
    (1..=3)
        .flat_map(|round| swarm.step(round, |_| ()))
        .collect()
}

#[test]
fn garbage_is_dropped_counted_and_changes_nothing_for_the_others() {
    let others = |share| {
        records(share)
            .into_iter()
            .filter(|record| record.agent < 3)
            .collect::<Vec<_>>()
    };
    let (attacked, alone) = (others(garbage), others(nothing));
    assert!(
        attacked.iter().all(|record| record.pool_dropped == 1010),
        "{}",
        attacked[0].pool_dropped
    );
    let without_count = |records: Vec<RoundRecord>| -> Vec<RoundRecord> {
        records
            .into_iter()
            .map(|record| RoundRecord {
                pool_dropped: 0,
                ..record
            })
            .collect()
    };
    assert_eq!(without_count(attacked), without_count(alone));
}

#[test]
fn mad_content_of_a_sane_size_does_no_harm() {
    let records = records(mad);
    assert!(
        records
            .iter()
            .filter(|r| r.agent < 3)
            .all(|r| r.pool_groups == 12 && r.pool_dropped == 0)
    );
    assert!(
        records
            .iter()
            .flat_map(|r| [r.train_reward, r.own_reward])
            .flatten()
            .all(|reward| (0.0..=1.0).contains(&reward))
    );
}

#[test]
fn nobody_gets_more_into_a_pool_than_a_round_has() {
    let flood = |own: &[Rollout]| {
        let copy = |index| Rollout {
            index,
            ..own[0].clone()
        };
        let twice: Vec<Rollout> = own.iter().chain(own).cloned().collect();
        twice.into_iter().chain((100..200).map(copy)).collect()
    };
    for record in records(flood).iter().filter(|record| record.agent < 3) {
        assert_eq!(
            (record.pool_groups, record.pool_dropped),
            (12, 104),
            "four of each of the three others"
        );
    }
}
