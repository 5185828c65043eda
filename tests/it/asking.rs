//! What agents ask themselves, and how, on scripted members.

use crate::swarm::{config, run, sampling, watched, watched_members};
use sapo::member::{Scripted, Trained};
use sapo::swarm::{Agent, Ask, RoundRecord, Sampling, SwarmConfig};
use std::collections::HashMap;

/// What was published in each round, by author and round, with the questions: the texts that each agent was asked.
fn asked(config: SwarmConfig, skills: &[f64], rounds: u32) -> HashMap<(usize, u32), Vec<String>> {
    let mut all = HashMap::new();
    watched(skills, config, rounds, |swarm, round| {
        for (agent, seat) in swarm.agents().iter().enumerate() {
            let texts = seat.own().iter().map(|r| r.rollout.question.text.clone());
            all.insert((agent, round), texts.collect());
        }
    });
    all
}

#[test]
fn shared_questions_are_those_that_divided_others_and_asked_at_most_twice() {
    let shared = SwarmConfig {
        ask: Ask::SharedQuestions,
        ..config(4, 2)
    };
    let skills = [0.5, 0.5, 0.0, 1.0];
    let (fresh, found) = (asked(config(4, 2), &skills, 6), asked(shared, &skills, 6));
    let mut again = 0;
    for agent in 0..4 {
        let mut uses = HashMap::<&String, usize>::new();
        assert_eq!(
            found[&(agent, 1)],
            fresh[&(agent, 1)],
            "nothing is known at first"
        );
        for round in 2..=6 {
            let (own, plain) = (&found[&(agent, round)], &fresh[&(agent, round)]);
            let taken: Vec<&String> = own.iter().filter(|text| !plain.contains(text)).collect();
            assert_eq!(taken.len(), 2, "half of four, in {round}");
            for text in taken {
                let asks_it = |other: usize, then: u32| found[&(other, then)].contains(text);
                let others = (0..4).filter(|&other| other != agent);
                let before = others.flat_map(|other| (1..round).map(move |then| (other, then)));
                let mut asked: Vec<_> = before
                    .filter(|&(other, then)| asks_it(other, then))
                    .collect();
                asked.retain(|&(other, _)| other < 2);
                assert!(!asked.is_empty(), "{text}: of one who is sometimes right");
                *uses.entry(text).or_default() += 1;
                again += 1;
            }
        }
        assert!(uses.values().all(|uses| *uses <= 2));
    }
    assert_eq!(again, 4 * 5 * 2);
}

#[test]
fn task_statistics_turn_to_the_task_that_is_sometimes_solved() {
    // nobody ever solves one of the two tasks
    let by_task = |ask| {
        let config = SwarmConfig {
            ask,
            ..config(8, 0)
        };
        let mut counts = [0; 2];
        let member = || {
            Scripted::new(|question, _, seed| {
                let right = question.task == "basic_arithmetic" && seed.rng().uniform() < 0.5;
                let answer = question.answer.as_deref().filter(|_| right);
                answer.map_or_else(String::new, |answer| format!("<answer>{answer}</answer>"))
            })
        };
        let members = (0..3).map(|_| member()).collect();
        watched_members(members, config, 12, |swarm, round| {
            let own = swarm.agents().iter().flat_map(Agent::own);
            for rollout in own.filter(|_| round > 4) {
                counts[usize::from(rollout.rollout.question.task == "basic_arithmetic")] += 1;
            }
        });
        f64::from(counts[1]) / f64::from(counts[0] + counts[1])
    };
    let (even, turned) = (by_task(Ask::Fresh), by_task(Ask::TaskStatistics));
    assert!((0.4..0.6).contains(&even), "{even}");
    assert!(
        (0.75..0.99).contains(&turned),
        "{turned}: but for the least share"
    );
}

fn silent(trained: &Trained) -> usize {
    let silent = |advantages: &[f64]| advantages.iter().all(|a| *a == 0.0);
    trained.iter().filter(|(_, a)| silent(a)).count()
}

#[test]
fn redraws_stop_at_the_most_completions() {
    let with = |most| SwarmConfig {
        max_redraws: 20,
        sampling: Sampling {
            most,
            ..sampling(8)
        },
        ..config(4, 0)
    };
    // hardly ever right: most groups are silent
    let (capped, logs) = run(&[0.05; 4], with(48), 6, 2);
    assert!(
        capped
            .iter()
            .all(|r| r.completions <= 48 && r.own_groups == 4)
    );
    assert!(capped.iter().any(|r| r.completions == 48), "the cap is met");
    assert!(
        logs.iter().flatten().any(|set| silent(set) > 0),
        "and leaves what is silent"
    );
    let (free, logs) = run(&[0.05; 4], with(0), 6, 2);
    assert!(free.iter().any(|r| r.completions > 48));
    assert!(logs.iter().flatten().all(|set| silent(set) == 0));
}

#[test]
fn completions_come_until_they_differ_and_no_more_than_a_group_is_kept() {
    let config = |most| SwarmConfig {
        sampling: Sampling {
            num_generations: 8,
            at_a_time: 2,
            most,
        },
        ..config(4, 0)
    };
    let groups = |skill: f64, most| {
        let mut sizes = Vec::new();
        let records = watched(&[skill; 2], config(most), 4, |swarm, _| {
            let own = swarm.agents().iter().flat_map(Agent::own);
            sizes.extend(own.map(|r| (r.rewards.len(), r.has_signal())));
        });
        (sizes, records)
    };
    let (sizes, records) = groups(0.08, 0);
    assert!(
        sizes
            .iter()
            .all(|(size, signal)| *size <= 8 && (*signal || *size == 8))
    );
    assert!(sizes.iter().any(|(size, signal)| *size == 2 && *signal));
    let most = records
        .iter()
        .map(|r: &RoundRecord| r.completions)
        .max()
        .unwrap();
    assert!(
        most > 32 && records.iter().all(|r| r.completions <= 64),
        "all count: {most}"
    );
    let (sizes, records) = groups(0.0, 0);
    assert!(sizes.iter().all(|size| *size == (8, false)));
    assert!(
        records.iter().all(|r| r.completions == 64),
        "twice a group, then it is given up"
    );
    let (_, records) = groups(0.0, 20);
    assert!(
        records.iter().all(|r| r.completions == 20),
        "{:?}",
        records[0].completions
    );
}
