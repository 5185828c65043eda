//! The round on scripted members: who trains on what.

use anyhow::{Result, bail};
use sapo::advantage::ScaleRewards;
use sapo::bus::{Bus, Delivery, MemoryBus};
use sapo::member::{Asked, Learner, Responder, Scripted, Trained, Unreadable};
use sapo::reward::Reward;
use sapo::rollout::{AgentId, Completion, Prompt, Question, Rollout, RolloutId, ScoredRollout};
use sapo::seed::Seed;
use sapo::swarm::{
    Admission, Ask, Balance, DrawFrom, Mix, QuestionStream, Replay, RoundRecord, Sampling, Seat,
    Selection, ShareLogprobs, SignalLimit, Split, Swarm, SwarmConfig, TaskProportions, Tasks,
    Workers, split_of,
};
use sapo::task::Scoring;
use sapo::task::catalog::{TaskConfigs, build};
use sapo::wire::Limits;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

type Log = Arc<Mutex<Vec<Trained>>>;

pub(crate) fn tasks() -> Tasks {
    let configs = TaskConfigs::default();
    let names = ["basic_arithmetic", "base_conversion"];
    let tasks = names.map(|name| build(name, &configs, Scoring::Exact).unwrap().into());
    Tasks::new(tasks.into(), TaskProportions::new(vec![1.0; 2]).unwrap())
}

/// Whole groups of so many completions.
pub(crate) fn sampling(num_generations: usize) -> Sampling {
    Sampling {
        num_generations,
        at_a_time: 0,
        most: 0,
    }
}

pub(crate) fn config(local: usize, external: usize) -> SwarmConfig {
    SwarmConfig {
        clock: None,
        balance: Balance::fixed(Mix { local, external }),
        selection: Arc::new(Selection::NonzeroAdvantage),
        replay: Replay {
            from: DrawFrom::Others,
            rounds: 0,
            max_uses: 0,
        },
        signal_limit: SignalLimit::None,
        shadows: Vec::new(),
        max_redraws: 0,
        questions: QuestionStream::Independent,
        ask: Ask::Fresh,
        sampling: sampling(8),
        scale_rewards: ScaleRewards::Group,
        foreign_lean: 0.0,
        admission: Admission::default(),
        payload: None,
        weighs_foreign: false,
        outsiders: false,
        mixed: false,
        share_logprobs: ShareLogprobs::None,
        eval_questions: 16,
        eval_every: 2,
        judge: false,
        rounds: 5,
        limits: Limits {
            rollouts: local,
            completions: 11,
            completion_bytes: 1000,
            question_bytes: 10_000,
        },
    }
}

/// A seat with the tasks' own verifiers and proportions.
pub(crate) fn seat(member: impl Responder + 'static, tasks: &Tasks) -> Seat {
    Seat {
        name: "scripted".to_owned(),
        member: Box::new(member),
        reward: Box::new(tasks.verifiers()),
        tasks: tasks.proportions().clone(),
    }
}

pub(crate) fn seated(seats: Vec<Seat>, config: SwarmConfig, threads: usize) -> Swarm {
    let workers = Workers::new(threads).unwrap().into();
    let bus = Box::new(MemoryBus::default());
    Swarm::new(seats, bus, tasks().into(), config, Seed::new(4), workers)
}

fn swarm(members: Vec<Scripted>, config: SwarmConfig, threads: usize) -> (Swarm, Vec<Log>) {
    let logs = members.iter().map(Scripted::log).collect();
    let seats = members.into_iter().map(|member| seat(member, &tasks()));
    (seated(seats.collect(), config, threads), logs)
}

/// Records and logs of a run of agents with these skills.
pub(crate) fn run(
    skills: &[f64],
    config: SwarmConfig,
    rounds: u32,
    threads: usize,
) -> (Vec<RoundRecord>, Vec<Vec<Trained>>) {
    let members = skills
        .iter()
        .map(|&skill| Scripted::with_skill(skill))
        .collect();
    let (mut swarm, logs) = swarm(members, config, threads);
    let records = (1..=rounds)
        .flat_map(|round| swarm.step(round, |_| ()).unwrap())
        .collect();
    (
        records,
        logs.iter().map(|log| log.lock().unwrap().clone()).collect(),
    )
}

/// Records of a run of agents with these skills, looked at after each round.
pub(crate) fn watched(
    skills: &[f64],
    config: SwarmConfig,
    rounds: u32,
    watch: impl FnMut(&Swarm, u32),
) -> Vec<RoundRecord> {
    let members = skills.iter().map(|&skill| Scripted::with_skill(skill));
    watched_members(members.collect(), config, rounds, watch)
}

/// The same of given members.
pub(crate) fn watched_members(
    members: Vec<Scripted>,
    config: SwarmConfig,
    rounds: u32,
    mut watch: impl FnMut(&Swarm, u32),
) -> Vec<RoundRecord> {
    let (mut swarm, _) = swarm(members, config, 2);
    let mut records = Vec::new();
    for round in 1..=rounds {
        records.extend(swarm.step(round, |_| ()).unwrap());
        watch(&swarm, round);
    }
    records
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
                    .filter(|(id, _)| usize::from(id.author.0) == agent)
                    .count();
                assert_eq!((own, trained.len()), (local, local + external));
                let mut names: Vec<_> = trained.iter().map(|(id, _)| *id).collect();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), trained.len(), "no rollout twice");
                let external = trained
                    .iter()
                    .filter(|(id, _)| usize::from(id.author.0) != agent);
                external.for_each(|(_, advantages)| assert!(advantages.iter().any(|a| *a != 0.0)));
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
    signals.for_each(|(_, advantages)| assert!(advantages.iter().any(|a| *a != 0.0)));
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
            .all(|(_, advantages)| advantages.iter().all(|a| *a == 0.0))
    );
}

#[test]
fn groups_of_one_have_no_signal_and_groups_of_any_length_are_legal() {
    for length in [1, 2, 3, 11] {
        let config = SwarmConfig {
            sampling: sampling(length),
            ..config(3, 3)
        };
        let (records, logs) = run(&[0.5; 4], config, 2, 2);
        assert!(
            logs[0][0]
                .iter()
                .all(|(_, advantages)| advantages.len() == length)
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
        selection: Arc::new(Selection::Uniform),
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
        let members = (0..3).map(|_| Scripted::with_skill(0.5)).collect();
        let (mut swarm, _) = swarm(
            members,
            SwarmConfig {
                questions,
                ..config(6, 0)
            },
            1,
        );
        swarm.step(1, |_| ()).unwrap();
        let of = |i: usize| {
            swarm.agents()[i]
                .own()
                .iter()
                .map(|r| r.rollout.question.text.clone())
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
        let seats = vec![seat(Scripted::with_skill(0.5), &tasks())];
        let workers = Workers::new(1).unwrap().into();
        let (bus, config) = (Box::new(MemoryBus::default()), config(local, 0));
        Swarm::new(seats, bus, tasks().into(), config, Seed::new(seed), workers)
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
        first.step(round, |_| ()).unwrap();
        assert!(
            first.agents()[0]
                .own()
                .iter()
                .all(|r| split_of(&r.rollout.question) == Split::Training)
        );
    }
}

/// A scripted member with a peculiarity.
struct Peculiar {
    scripted: Scripted,
    /// It gives every question so many completions, whatever was asked for.
    completions: Option<usize>,
    /// It cannot read questions in which this stands.
    unreadable: Option<char>,
    /// It never learns.
    frozen: bool,
}

impl Peculiar {
    fn with_skill(skill: f64) -> Self {
        Self {
            scripted: Scripted::with_skill(skill),
            completions: None,
            unreadable: None,
            frozen: false,
        }
    }

    fn log(&self) -> Log {
        self.scripted.log()
    }
}

impl Responder for Peculiar {
    fn prompt(&self, question: &Question) -> Result<Prompt, Unreadable> {
        match self.unreadable {
            Some(part) if question.text.contains(part) => {
                Err(Unreadable::TooLong { tokens: 2, most: 1 })
            }
            _ => self.scripted.prompt(question),
        }
    }

    fn complete(
        &mut self,
        asked: &[Asked<'_>],
        n: usize,
        seed: Seed,
    ) -> Result<Vec<Vec<Completion>>> {
        let n = self.completions.unwrap_or(n);
        self.scripted.complete(asked, n, seed)
    }

    fn reencodes_differently(&self, completion: &Completion) -> bool {
        self.scripted.reencodes_differently(completion)
    }

    fn learner(&mut self) -> Option<&mut dyn Learner> {
        if self.frozen {
            return None;
        }
        self.scripted.learner()
    }
}

#[test]
fn agents_may_answer_in_groups_of_different_length() {
    let member = |completions| {
        let mut member = Peculiar::with_skill(0.5);
        member.completions = Some(completions);
        member
    };
    let groups = [2, 8, 0, 1, 5].map(member);
    let log = groups[2].log();
    let seats = groups
        .into_iter()
        .map(|member| seat(member, &tasks()))
        .collect();
    let mut swarm = seated(seats, config(3, 9), 2);
    let records: Vec<RoundRecord> = (1..=3)
        .flat_map(|round| swarm.step(round, |_| ()).unwrap())
        .collect();
    let silent: Vec<_> = records.iter().filter(|r| r.agent == 2).collect();
    assert!(
        silent
            .iter()
            .all(|r| r.own_groups == 0 && r.own_reward.is_none() && r.external_groups > 0)
    );
    let learned = log.lock().unwrap();
    let drawn: std::collections::HashSet<usize> =
        learned.iter().flatten().map(|(_, a)| a.len()).collect();
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
    let members = (0..4).map(|_| Scripted::with_skill(0.5)).collect();
    let (mut swarm, logs) = swarm(members, shared, 2);
    swarm.step(1, |_| ()).unwrap();
    let own = |agent: usize| swarm.agents()[agent].own()[0].clone();
    assert_eq!(own(0).rollout.question, own(1).rollout.question);
    assert_ne!(own(0).rewards, own(1).rewards, "agents answer differently");
    for (_, advantages) in &logs[0].lock().unwrap()[0] {
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
        (0..3).map(|_| Scripted::with_skill(0.5)).collect(),
        config(4, 2),
        1,
    );
    for record in swarm.step(1, |_| ()).unwrap() {
        let own = swarm.agents()[usize::from(record.agent)].own();
        let rewards: Vec<f64> = own.iter().flat_map(|r| r.rewards.clone()).collect();
        let tokens: Vec<usize> = own
            .iter()
            .flat_map(|r| r.rollout.completions.iter().map(|c| c.tokens.len()))
            .collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert_eq!(record.own_reward, Some(mean(&rewards)));
        assert_eq!(
            record.completion_length,
            Some(tokens.iter().sum::<usize>() as f64 / tokens.len() as f64)
        );
        let prompts: usize = own
            .iter()
            .map(|r| r.prompt.tokens.len() * r.rollout.completions.len())
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
    let members: Vec<Scripted> = (0..2).map(|_| Scripted::with_skill(0.5)).collect();
    let logs: Vec<Log> = members.iter().map(Scripted::log).collect();
    let seats = members.into_iter().map(|member| seat(member, &tasks()));
    let mut seats: Vec<Seat> = seats.collect();
    seats[1].tasks = TaskProportions::new(vec![0.0, 1.0]).unwrap();
    let mut swarm = seated(seats, config(8, 4), 1);
    let records = swarm.step(1, |_| ()).unwrap();
    let asked = |agent: usize| -> std::collections::BTreeSet<String> {
        swarm.agents()[agent]
            .own()
            .iter()
            .map(|r| r.rollout.question.task.to_string())
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
        .map(|i| fresh.question(fresh.proportions(), Split::Training, Seed::new(i)))
        .chain((0..50).map(|i| fresh.question(fresh.proportions(), Split::HeldOut, Seed::new(i))))
        .collect();
    let given = tasks().with_questions(&some);
    given.check_splits().unwrap();
    for split in [Split::Training, Split::HeldOut] {
        for i in 0..100 {
            let question = given.question(given.proportions(), split, Seed::new(i));
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

#[test]
fn what_an_agent_cannot_read_is_left_out_before_the_draw() {
    let mut picky = Peculiar::with_skill(0.5);
    picky.unreadable = Some('7');
    let log = picky.log();
    let mut seats = vec![seat(picky, &tasks())];
    seats.extend((0..7).map(|_| seat(Scripted::with_skill(0.5), &tasks())));
    let mut swarm = seated(seats, config(4, 6), 1);
    for round in 1..=5 {
        let record = swarm.step(round, |_| ()).unwrap().remove(0);
        assert!(record.pool_dropped > 0, "some cannot be read: {record:?}");
        assert_eq!(
            record.external_groups, 6,
            "and others are drawn in their place"
        );
    }
    let drawn = log.lock().unwrap();
    let foreign = |set: &Trained| set.iter().filter(|(id, _)| id.author != AgentId(0)).count();
    assert!(drawn.iter().all(|set| foreign(set) == 6));
}

/// Answers nothing, and says why.
struct Broken;

impl Responder for Broken {
    fn prompt(&self, question: &Question) -> Result<Prompt, Unreadable> {
        Scripted::with_skill(0.0).prompt(question)
    }

    fn complete(&mut self, _: &[Asked<'_>], _: usize, _: Seed) -> Result<Vec<Vec<Completion>>> {
        bail!("it is asleep")
    }

    fn reencodes_differently(&self, _: &Completion) -> bool {
        false
    }
}

#[test]
fn a_member_that_fails_is_an_error_and_no_panic() {
    let seats = vec![
        seat(Scripted::with_skill(0.5), &tasks()),
        seat(Broken, &tasks()),
    ];
    let error = seated(seats, config(2, 2), 2).step(1, |_| ()).unwrap_err();
    assert!(format!("{error:#}").contains("it is asleep"));
    struct Refusing;
    impl Responder for Refusing {
        fn prompt(&self, _: &Question) -> Result<Prompt, Unreadable> {
            Err(Unreadable::Refused("chat_template.jinja: no".into()))
        }
        fn complete(&mut self, _: &[Asked<'_>], _: usize, _: Seed) -> Result<Vec<Vec<Completion>>> {
            Ok(Vec::new())
        }
        fn reencodes_differently(&self, _: &Completion) -> bool {
            false
        }
    }
    // a refused template is no prompt that is too long
    let error = seated(vec![seat(Refusing, &tasks())], config(2, 0), 1).step(1, |_| ());
    let text = format!("{:#}", error.unwrap_err());
    assert!(
        text.contains("agent 0") && text.contains("chat_template.jinja: no"),
        "{text}"
    );
}

/// A bus that breaks in a round.
struct Breaking(MemoryBus, u64);

impl Bus for Breaking {
    fn publish(&mut self, sender: AgentId, tick: u64, rollouts: Vec<Arc<Rollout>>) -> Result<()> {
        self.0.publish(sender, tick, rollouts)
    }

    fn collect(&mut self, reader: AgentId, ticks: RangeInclusive<u64>) -> Result<Vec<Delivery>> {
        if ticks.contains(&self.1) {
            bail!("the bus is away");
        }
        self.0.collect(reader, ticks)
    }
}

#[test]
fn a_bus_that_fails_is_an_error() {
    let seats = (0..2)
        .map(|_| seat(Scripted::with_skill(0.5), &tasks()))
        .collect();
    let (bus, workers) = (
        Box::new(Breaking(MemoryBus::default(), 2)),
        Workers::new(1).unwrap(),
    );
    let root = Seed::new(4);
    let mut swarm = Swarm::new(
        seats,
        bus,
        tasks().into(),
        config(2, 2),
        root,
        workers.into(),
    );
    assert!(swarm.step(1, |_| ()).is_ok());
    let error = swarm.step(2, |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "the bus is away");
}

/// Finds good what the verifiers find bad.
struct Contrary(Box<dyn Reward>);

impl Reward for Contrary {
    fn score(&mut self, question: &Question, completions: &[Completion]) -> Option<Vec<f64>> {
        let rewards = self.0.score(question, completions)?;
        Some(rewards.into_iter().map(|reward| 1.0 - reward).collect())
    }
}

#[test]
fn members_of_several_kinds_and_tastes_stand_in_one_swarm() {
    let mut frozen = Peculiar::with_skill(0.5);
    frozen.frozen = true;
    let (frozen_log, contrary) = (frozen.log(), Scripted::with_skill(1.0));
    let contrary_log = contrary.log();
    let mut seats = vec![seat(frozen, &tasks()), seat(contrary, &tasks())];
    let verifiers = std::mem::replace(&mut seats[1].reward, Box::new(tasks().verifiers()));
    seats[1].reward = Box::new(Contrary(verifiers));
    let records = seated(seats, config(4, 4), 1).step(1, |_| ()).unwrap();
    assert!(
        frozen_log.lock().unwrap().is_empty(),
        "it draws and does not learn"
    );
    assert_eq!(records[0].own_groups, 4);
    // all its answers are right, which it does not like
    assert_eq!(records[1].own_reward, Some(0.0));
    let learned = &contrary_log.lock().unwrap()[0];
    let rollouts: Vec<RolloutId> = learned.iter().map(|(id, _)| *id).collect();
    assert!(
        rollouts.iter().any(|id| id.author == AgentId(0)),
        "{rollouts:?}"
    );
}

#[test]
fn own_and_foreign_rollouts_are_read_once_and_carry_their_prompt() {
    let (mut swarm, _) = swarm(vec![Scripted::with_skill(0.5)], config(2, 0), 1);
    swarm.step(1, |_| ()).unwrap();
    let own: &[ScoredRollout] = swarm.agents()[0].own();
    let id = |index| RolloutId {
        author: AgentId(0),
        round: 1,
        index,
    };
    assert_eq!([own[0].rollout.id, own[1].rollout.id], [0, 1].map(id));
    let text: String = own[0]
        .prompt
        .tokens
        .iter()
        .filter_map(|t| char::from_u32(*t))
        .collect();
    assert_eq!(text, own[0].rollout.question.text);
}
