//! The round loop on scripted policies: who trains on what.

use sapo::policy::{Decoding, Policy, ScriptedPolicy, Trained, TrainingRollout, UpdateStats};
use sapo::record::RoundRecord;
use sapo::rollout::{AgentId, Completion, Question, ScaleRewards};
use sapo::seed::Seed;
use sapo::swarm::{
    Bus, Mix, QuestionStream, Selection, Split, Swarm, SwarmConfig, TaskWeights, Tasks, Workers,
    split_of,
};
use sapo::task::Scoring;
use sapo::task::catalog::{TaskConfigs, build};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

type Log = Arc<Mutex<Vec<Trained>>>;

fn tasks() -> Tasks {
    let configs = TaskConfigs::default();
    let names = ["basic_arithmetic", "base_conversion"];
    let tasks = names.map(|name| build(name, &configs, Scoring::Exact).unwrap());
    Tasks::new(tasks.into(), TaskWeights::new(vec![1.0; 2]).unwrap())
}

fn config(local: usize, external: usize) -> SwarmConfig {
    SwarmConfig {
        mix: Mix { local, external },
        selection: Selection::NonzeroAdvantage,
        max_redraws: 0,
        questions: QuestionStream::Independent,
        num_generations: 8,
        decoding: Decoding {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            max_completion_length: 64,
        },
        scale_rewards: ScaleRewards::Group,
        eval_questions: 16,
        eval_every: 2,
        rounds: 5,
        specialists: BTreeMap::new(),
    }
}

fn swarm(policies: Vec<ScriptedPolicy>, config: SwarmConfig, threads: usize) -> (Swarm, Vec<Log>) {
    let logs = policies.iter().map(ScriptedPolicy::log).collect();
    let boxed = policies
        .into_iter()
        .map(|p| Box::new(p) as Box<dyn Policy>)
        .collect();
    (
        Swarm::new(
            boxed,
            tasks(),
            config,
            Seed::new(4),
            Workers::new(threads).unwrap().into(),
        ),
        logs,
    )
}

/// Records and logs of a run of agents with these skills.
fn run(
    skills: &[f64],
    config: SwarmConfig,
    rounds: u32,
    threads: usize,
) -> (Vec<RoundRecord>, Vec<Vec<Trained>>) {
    let policies = skills
        .iter()
        .map(|&skill| ScriptedPolicy::with_skill(skill))
        .collect();
    let (mut swarm, logs) = swarm(policies, config, threads);
    let records = (1..=rounds)
        .flat_map(|round| swarm.step(round, |_| ()))
        .collect();
    (
        records,
        logs.iter().map(|log| log.lock().unwrap().clone()).collect(),
    )
}

#[test]
fn every_mix_trains_on_i_own_and_j_external_and_never_its_own_as_anothers() {
    for (local, external) in [(8, 0), (6, 2), (4, 4), (2, 6)] {
        let (records, logs) = run(&[0.5; 8], config(local, external), 3, 2);
        assert_eq!(records.len(), 24);
        for record in &records {
            assert_eq!(
                (record.own_groups, record.external_groups),
                (local, external)
            );
            assert_eq!(record.pool_groups, 7 * local);
            assert_eq!(record.completions, 8 * local);
        }
        for (agent, log) in logs.iter().enumerate() {
            for trained in log {
                let own = trained
                    .iter()
                    .filter(|(author, ..)| usize::from(author.0) == agent)
                    .count();
                assert_eq!((own, trained.len()), (local, local + external));
                let mut names: Vec<_> = trained
                    .iter()
                    .map(|(author, index, _)| (*author, *index))
                    .collect();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), trained.len(), "no rollout twice");
                let external = trained
                    .iter()
                    .filter(|(author, ..)| usize::from(author.0) != agent);
                external
                    .for_each(|(_, _, advantages)| assert!(advantages.iter().any(|a| *a != 0.0)));
            }
        }
    }
}

#[test]
fn own_rollouts_without_signal_are_asked_anew_and_their_rewards_still_count() {
    let redrawn = SwarmConfig {
        max_redraws: 40,
        ..config(4, 0)
    };
    let (records, logs) = run(&[0.1; 2], redrawn, 6, 1);
    assert!(logs.iter().flatten().all(|trained| trained.len() == 4));
    let signals = logs.iter().flatten().flatten();
    signals.for_each(|(_, _, advantages)| assert!(advantages.iter().any(|a| *a != 0.0)));
    assert!(
        records.iter().any(|record| record.completions > 8 * 4),
        "some groups had no signal"
    );
    assert!(
        records
            .iter()
            .all(|record| record.own_groups == 4 && record.frac_reward_zero_std == Some(0.0))
    );
    // a reward of what was kept alone would be at least one in eight
    let completions: usize = records.iter().map(|record| record.completions).sum();
    let right: f64 = records
        .iter()
        .map(|record| record.own_reward.unwrap() * record.completions as f64)
        .sum();
    assert!(
        (right / completions as f64 - 0.1).abs() < 0.04,
        "{}",
        right / completions as f64
    );

    // who is never right gives up after so many
    let (records, logs) = run(
        &[0.0],
        SwarmConfig {
            max_redraws: 3,
            ..config(4, 0)
        },
        1,
        1,
    );
    assert_eq!((records[0].completions, logs[0][0].len()), (8 * 4 * 4, 4));
}

#[test]
fn threads_do_not_matter() {
    let skills = [0.1, 0.5, 0.9, 0.3, 0.6];
    let one = run(&skills, config(3, 3), 3, 1);
    assert_eq!(one, run(&skills, config(3, 3), 3, 2));
    assert_eq!(one, run(&skills, config(3, 3), 3, 4));
}

#[test]
fn the_order_of_publishing_does_not_matter() {
    let (swarm, _) = {
        let (mut swarm, logs) = swarm(
            (0..3).map(|_| ScriptedPolicy::with_skill(0.5)).collect(),
            config(2, 2),
            1,
        );
        swarm.step(1, |_| ());
        (swarm, logs)
    };
    let pool = |order: &[usize]| {
        let mut bus = Bus::default();
        order
            .iter()
            .for_each(|&i| bus.publish(swarm.agents()[i].id(), swarm.agents()[i].own()));
        bus.of_others(swarm.agents()[0].id())
            .into_iter()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(pool(&[0, 1, 2]), pool(&[2, 0, 1]));
    assert_eq!(pool(&[1, 2]).len(), 4);
    assert!(
        pool(&[0, 1, 2])
            .iter()
            .all(|r| r.rewards.is_empty() && r.completions[0].tokens.is_empty())
    );
}

#[test]
fn without_external_rollouts_agents_are_alone() {
    let together = run(&[0.5, 0.5, 0.5], config(4, 0), 3, 2).1;
    // the first agent of a swarm of one has the same number, so the same seed
    let alone = run(&[0.5], config(4, 0), 3, 1).1;
    assert_eq!(together[0], alone[0]);
    assert_ne!(together[0], together[1]);
}

#[test]
fn an_agent_that_asks_nothing_learns_from_the_others() {
    let (records, logs) = run(&[0.5; 3], config(0, 2), 1, 1);
    assert!(
        logs.iter().all(|log| log[0].is_empty()),
        "nobody asks, so the pool is empty"
    );
    assert_eq!(records[0].own_reward, None);
    assert_eq!(records[0].frac_reward_zero_std, None);
}

#[test]
fn fewer_than_j_left_takes_what_there_is() {
    // one agent in three gives answers with signal
    let (records, logs) = run(&[0.5, 0.0, 0.0], config(2, 6), 4, 2);
    assert!(
        records
            .iter()
            .any(|r| r.agent == 1 && (1..6).contains(&r.external_groups)),
        "{records:?}"
    );
    assert!(
        records
            .iter()
            .filter(|r| r.agent == 0)
            .all(|r| r.external_groups == 0),
        "the others have no signal"
    );
    assert_eq!(logs[0].len(), 4, "an update every round all the same");
}

#[test]
fn a_round_in_which_nobody_learns_is_visible() {
    let (records, logs) = run(&[0.0; 3], config(2, 2), 1, 1);
    for record in &records {
        assert_eq!(
            (record.own_reward, record.train_reward),
            (Some(0.0), Some(0.0))
        );
        assert_eq!(record.frac_reward_zero_std, Some(1.0));
        assert_eq!(record.pool_nonzero_frac, Some(0.0));
        assert_eq!((record.loss, record.external_groups), (None, 0));
    }
    assert!(
        logs[0][0]
            .iter()
            .all(|(_, _, advantages)| advantages.iter().all(|a| *a == 0.0))
    );
}

#[test]
fn groups_of_one_have_no_signal_and_groups_of_any_length_are_legal() {
    for length in [1, 2, 3, 11] {
        let config = SwarmConfig {
            num_generations: length,
            ..config(3, 3)
        };
        let (records, logs) = run(&[0.5; 4], config, 2, 2);
        assert!(
            logs[0][0]
                .iter()
                .all(|(_, _, advantages)| advantages.len() == length)
        );
        if length == 1 {
            assert!(
                records
                    .iter()
                    .all(|r| r.external_groups == 0 && r.frac_reward_zero_std == Some(1.0))
            );
        }
    }
}

#[test]
fn rewards_are_recomputed_from_what_was_said() {
    let (records, _) = run(&[1.0, 0.0], config(2, 2), 2, 1);
    for record in records {
        let expected = if record.agent == 0 { 1.0 } else { 0.0 };
        assert_eq!(record.own_reward, Some(expected));
        assert_eq!(
            record.train_reward,
            Some(expected),
            "groups without signal are not drawn"
        );
        assert_eq!(
            record.eval_reward.is_some(),
            record.round == 1,
            "every second round and the last"
        );
        assert_eq!(record.eval_reward.unwrap_or(expected), expected);
    }
    // uniform draws bring the others' rewards into the training set, scored by the reader
    let uniform = SwarmConfig {
        selection: Selection::Uniform,
        ..config(2, 2)
    };
    let (records, _) = run(&[1.0, 0.0], uniform, 1, 1);
    assert!(
        records.iter().all(|r| r.train_reward == Some(0.5)),
        "{records:?}"
    );
}

#[test]
fn question_streams_are_shared_or_independent() {
    let texts = |questions: QuestionStream| {
        let policies = (0..3).map(|_| ScriptedPolicy::with_skill(0.5)).collect();
        let (mut swarm, _) = swarm(
            policies,
            SwarmConfig {
                questions,
                ..config(6, 0)
            },
            1,
        );
        swarm.step(1, |_| ());
        let of = |i: usize| {
            swarm.agents()[i]
                .own()
                .iter()
                .map(|r| r.question.text.clone())
                .collect::<Vec<_>>()
        };
        [of(0), of(1), of(2)]
    };
    let shared = texts(QuestionStream::Shared);
    assert!(shared[0] == shared[1] && shared[1] == shared[2]);
    let independent = texts(QuestionStream::Independent);
    assert!(independent[0] != independent[1] && independent[1] != independent[2]);
    assert!(
        shared
            .iter()
            .chain(&independent)
            .flatten()
            .all(|text| !text.is_empty())
    );
}

#[test]
fn held_out_questions_are_the_same_for_all_and_never_trained_on() {
    let make = |seed: u64, local: usize| {
        let policies: Vec<Box<dyn Policy>> = vec![Box::new(ScriptedPolicy::with_skill(0.5))];
        Swarm::new(
            policies,
            tasks(),
            config(local, 0),
            Seed::new(seed),
            Workers::new(1).unwrap().into(),
        )
    };
    let mut first = make(1, 8);
    assert_eq!(first.held_out(), make(2, 3).held_out());
    assert!(
        first
            .held_out()
            .iter()
            .all(|q| split_of(q) == Split::HeldOut)
    );
    for round in 1..=20 {
        first.step(round, |_| ());
        assert!(
            first.agents()[0]
                .own()
                .iter()
                .all(|r| split_of(&r.question) == Split::Training)
        );
    }
}

/// Gives every question so many completions, whatever was asked for.
struct Groups(ScriptedPolicy, usize);

impl Policy for Groups {
    fn complete(
        &mut self,
        questions: &[Question],
        _: usize,
        decoding: &Decoding,
        seed: Seed,
    ) -> Vec<Vec<Completion>> {
        self.0.complete(questions, self.1, decoding, seed)
    }

    fn update(
        &mut self,
        training: &[TrainingRollout<'_>],
        decoding: &Decoding,
        seed: Seed,
    ) -> UpdateStats {
        self.0.update(training, decoding, seed)
    }

    fn prompt_length(&self, question: &Question) -> Option<usize> {
        self.0.prompt_length(question)
    }

    fn reencodes_differently(&self, completion: &Completion) -> bool {
        self.0.reencodes_differently(completion)
    }
}

#[test]
fn agents_may_answer_in_groups_of_different_length() {
    let lengths = [2, 8, 0, 1, 5];
    let policies: Vec<_> = lengths
        .iter()
        .map(|_| ScriptedPolicy::with_skill(0.5))
        .collect();
    let log = policies[2].log();
    let boxed = policies
        .into_iter()
        .zip(lengths)
        .map(|(p, n)| Box::new(Groups(p, n)) as Box<dyn Policy>)
        .collect();
    let mut swarm = Swarm::new(
        boxed,
        tasks(),
        config(3, 9),
        Seed::new(4),
        Workers::new(2).unwrap().into(),
    );
    let records: Vec<RoundRecord> = (1..=3)
        .flat_map(|round| swarm.step(round, |_| ()))
        .collect();
    let silent: Vec<_> = records.iter().filter(|r| r.agent == 2).collect();
    assert!(
        silent
            .iter()
            .all(|r| r.own_groups == 0 && r.own_reward.is_none() && r.external_groups > 0)
    );
    let learned = log.lock().unwrap();
    let drawn: std::collections::HashSet<usize> =
        learned.iter().flatten().map(|(.., a)| a.len()).collect();
    assert!(
        drawn.len() > 1 && drawn.is_subset(&[2, 8, 5].into()),
        "groups of one have no signal: {drawn:?}"
    );
}

#[test]
fn rollouts_of_the_same_question_stay_apart() {
    let shared = SwarmConfig {
        questions: QuestionStream::Shared,
        ..config(4, 4)
    };
    let policies = (0..4).map(|_| ScriptedPolicy::with_skill(0.5)).collect();
    let (mut swarm, logs) = swarm(policies, shared, 2);
    swarm.step(1, |_| ());
    let own = |agent: usize| swarm.agents()[agent].own()[0].clone();
    assert_eq!(own(0).question, own(1).question);
    assert_ne!(own(0).rewards, own(1).rewards, "agents answer differently");
    for (_, _, advantages) in &logs[0].lock().unwrap()[0] {
        assert_eq!(advantages.len(), 8);
        assert!(
            advantages.iter().sum::<f64>().abs() < 1e-9,
            "advantages are centered a rollout"
        );
    }
}

#[test]
fn evaluations_come_first_every_so_often_and_last() {
    for (every, rounds, expected) in [
        (2, 5, vec![1, 3, 5]),
        (2, 6, vec![1, 3, 5, 6]),
        (0, 3, vec![]),
        (9, 3, vec![1, 3]),
    ] {
        let config = SwarmConfig {
            eval_every: every,
            rounds,
            ..config(1, 0)
        };
        let records = run(&[0.5], config, rounds, 1).0;
        let evaluated: Vec<u32> = records
            .iter()
            .filter(|r| r.eval_reward.is_some())
            .map(|r| r.round)
            .collect();
        assert_eq!(evaluated, expected);
    }
}

#[test]
fn the_record_can_be_recomputed_from_the_rollouts() {
    let (mut swarm, _) = swarm(
        (0..3).map(|_| ScriptedPolicy::with_skill(0.5)).collect(),
        config(4, 2),
        1,
    );
    for record in swarm.step(1, |_| ()) {
        let own = swarm.agents()[usize::from(record.agent)].own();
        let rewards: Vec<f64> = own.iter().flat_map(|r| r.rewards.clone()).collect();
        let tokens: Vec<usize> = own
            .iter()
            .flat_map(|r| r.completions.iter().map(|c| c.tokens.len()))
            .collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert_eq!(record.own_reward, Some(mean(&rewards)));
        assert_eq!(
            record.completion_length,
            Some(tokens.iter().sum::<usize>() as f64 / tokens.len() as f64)
        );
        let prompts: usize = own
            .iter()
            .map(|r| r.question.text.chars().count() * r.completions.len())
            .sum();
        assert_eq!(
            record.num_tokens,
            (prompts + tokens.iter().sum::<usize>()) as u64
        );
        assert_eq!((record.own_logp, record.entropy), (Some(-1.0), Some(1.0)));
        assert_eq!(
            (record.reencode_mismatch_frac, record.clipped_completions),
            (Some(0.0), Some(0.0))
        );
    }
}

#[test]
fn specialists_are_asked_their_own_tasks_and_verify_all() {
    let specialists = BTreeMap::from([(AgentId(1), TaskWeights::new(vec![0.0, 1.0]).unwrap())]);
    let policies = (0..2).map(|_| ScriptedPolicy::with_skill(0.5)).collect();
    let (mut swarm, logs) = swarm(
        policies,
        SwarmConfig {
            specialists,
            ..config(8, 4)
        },
        1,
    );
    let records = swarm.step(1, |_| ());
    let asked = |agent: usize| -> std::collections::BTreeSet<String> {
        swarm.agents()[agent]
            .own()
            .iter()
            .map(|r| r.question.task.to_string())
            .collect()
    };
    assert_eq!(asked(0).len(), 2);
    assert_eq!(asked(1), ["base_conversion".to_owned()].into());
    assert_eq!(
        records[1].task_rewards[0], None,
        "a task that was not asked has no reward"
    );
    assert_eq!(
        records[1].external_groups, 4,
        "other tasks are scored and drawn all the same"
    );
    assert_eq!(logs[1].lock().unwrap()[0].len(), 12);
}

#[test]
fn given_questions_are_asked_instead_of_fresh_ones() {
    let fresh = tasks();
    let some: Vec<Question> = (0..200)
        .map(|i| fresh.question(fresh.weights(), Split::Training, Seed::new(i)))
        .chain((0..50).map(|i| fresh.question(fresh.weights(), Split::HeldOut, Seed::new(i))))
        .collect();
    let given = tasks().with_questions(&some);
    given.check_splits().unwrap();
    for split in [Split::Training, Split::HeldOut] {
        for i in 0..100 {
            let question = given.question(given.weights(), split, Seed::new(i));
            assert!(some.contains(&question) && split_of(&question) == split);
        }
    }
    let poor = tasks().with_questions(&some[..200]);
    assert!(
        poor.check_splits()
            .unwrap_err()
            .contains("0 held-out questions")
    );
}
