//! An agent that publishes garbage of every kind, and the others that do not notice.

use crate::swarm::{config, sampling, seat};
use anyhow::Result;
use sapo::bus::{Bus, Delivery, MemoryBus};
use sapo::member::Scripted;
use sapo::rollout::{AgentId, AuthorLogprobs, Completion, FinishReason, Question, Rollout};
use sapo::seed::Seed;
use sapo::swarm::{RoundRecord, Selection, Swarm, SwarmConfig, TaskProportions, Tasks, Workers};
use sapo::task::Scoring;
use sapo::task::catalog::{NAMES, TaskConfigs, build};
use sapo::wire::Limits;
use serde_json::{Map, Value, json};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The agent that shows the others what it likes instead of its rollouts.
const LIAR: AgentId = AgentId(3);

/// A bus on which one agent lies.
struct LyingBus(MemoryBus, fn(&[Rollout]) -> Vec<Rollout>);

impl Bus for LyingBus {
    fn publish(
        &mut self,
        sender: AgentId,
        tick: u64,
        mut rollouts: Vec<Arc<Rollout>>,
    ) -> Result<()> {
        if sender == LIAR {
            let honest: Vec<Rollout> = rollouts.iter().map(|r| Rollout::clone(r)).collect();
            rollouts = (self.1)(&honest).into_iter().map(Arc::new).collect();
        }
        self.0.publish(sender, tick, rollouts)
    }

    fn collect(&mut self, reader: AgentId, ticks: RangeInclusive<u64>) -> Result<Vec<Delivery>> {
        self.0.collect(reader, ticks)
    }
}

fn completion(text: &str) -> Completion {
    Completion {
        text: text.into(),
        finish_reason: FinishReason::Stop,
        tokens: Vec::new(),
        logprobs: AuthorLogprobs::Untold,
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
            q.metadata = Map::from_iter([("premises".to_owned(), value.clone())]).into();
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
    // under another's name, of another round, and the same one a thousand times over
    let named = |change: &dyn Fn(&mut Rollout)| {
        let mut rollout = honest.clone();
        rollout.completions = vec![completion("<answer>1</answer>"); 2];
        change(&mut rollout);
        rollout
    };
    all.push(named(&|r| r.id.author = AgentId(0)));
    all.push(named(&|r| r.id.round += 1));
    all.extend((0..1000).map(|_| Rollout {
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
                completions: (0..4)
                    .map(|k| completion(texts[(4 * i + k) % texts.len()]))
                    .collect(),
                ..rollout.clone()
            }
        })
        .collect()
}

/// Three rounds of honest agents and one that shows the others something else: the records of all.
fn records(share: fn(&[Rollout]) -> Vec<Rollout>) -> Vec<RoundRecord> {
    let task = |name: &&str| build(name, &TaskConfigs::default(), Scoring::ReasoningGym);
    let tasks = NAMES
        .iter()
        .map(|name| task(name).unwrap().into())
        .collect();
    let tasks = Tasks::new(tasks, TaskProportions::new(vec![1.0; NAMES.len()]).unwrap());
    let config = SwarmConfig {
        selection: Arc::new(Selection::Uniform),
        sampling: sampling(4),
        eval_questions: 4,
        eval_every: 1,
        rounds: 3,
        limits: Limits {
            completions: 4,
            ..config(4, 4).limits
        },
        ..config(4, 4)
    };
    let seats = (0..4)
        .map(|_| seat(Scripted::with_skill(0.4), &tasks))
        .collect();
    let bus = Box::new(LyingBus(MemoryBus::default(), share));
    let workers = Workers::new(1).unwrap().into();
    let mut swarm = Swarm::new(seats, bus, tasks.into(), config, Seed::new(3), workers);
    let step = |round| swarm.step(round, |_| ()).unwrap();
    (1..=3).flat_map(step).collect()
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
        attacked.iter().all(|record| record.pool_dropped == 1012),
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
        let copy = |index| {
            let mut copy = own[0].clone();
            copy.id.index = index;
            copy
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
