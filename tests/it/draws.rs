//! What is drawn on scripted members, besides the paper's draw: earlier rounds, fewer signals, shadows.

use crate::swarm::{config, run};
use sapo::member::Trained;
use sapo::rollout::RolloutId;
use sapo::swarm::{DrawFrom, Mix, Replay, Selection, Shadow, SignalLimit, SwarmConfig};

/// What agents of skill one half trained on: for each agent and round, what it generated then and what
/// it drew.
fn trained(config: SwarmConfig) -> Vec<(usize, u32, Trained, Trained)> {
    let (_, logs) = run(&[0.5; 4], config, 6, 2);
    let mut all = Vec::new();
    for (agent, log) in logs.into_iter().enumerate() {
        for (round, set) in (1..).zip(log) {
            let own = |(id, _): &(RolloutId, Vec<f64>)| {
                usize::from(id.author.0) == agent && id.round == round
            };
            let (own, drawn) = set.into_iter().partition(own);
            all.push((agent, round, own, drawn));
        }
    }
    all
}

fn has_signal(advantages: &[f64]) -> bool {
    advantages.iter().any(|advantage| *advantage != 0.0)
}

fn replay(from: DrawFrom) -> SwarmConfig {
    SwarmConfig {
        replay: Replay { from, rounds: 2 },
        ..config(3, 4)
    }
}

#[test]
fn an_agent_that_replays_draws_its_own_signals_of_the_last_rounds() {
    for (agent, round, own, drawn) in trained(replay(DrawFrom::Itself)) {
        assert_eq!(own.len(), 3);
        assert_eq!(drawn.len(), if round == 1 { 0 } else { drawn.len().max(1) });
        for (id, advantages) in drawn {
            assert_eq!(usize::from(id.author.0), agent);
            assert!((1..=2).contains(&(round - id.round)), "{id:?} in {round}");
            assert!(has_signal(&advantages));
        }
    }
}

#[test]
fn others_can_be_drawn_as_late() {
    let mut ages = [0; 3];
    for (agent, round, own, drawn) in trained(replay(DrawFrom::Others)) {
        assert_eq!(
            (own.len(), drawn.len()),
            (3, if round == 1 { 0 } else { 4 })
        );
        for (id, _) in drawn {
            assert_ne!(usize::from(id.author.0), agent);
            ages[(round - id.round) as usize] += 1;
        }
    }
    assert!(ages[0] == 0 && ages[1] > 0 && ages[2] > 0, "{ages:?}");
}

#[test]
fn a_limit_of_signals_brings_no_more_than_the_own_have() {
    let limited = SwarmConfig {
        signal_limit: SignalLimit::Own,
        ..config(4, 4)
    };
    let free = trained(config(4, 4));
    let limited = trained(limited);
    let signals = |set: &Trained| set.iter().filter(|(_, a)| has_signal(a)).count();
    let mut replaced = 0;
    for ((.., own, _), (.., kept, drawn)) in free.iter().zip(&limited) {
        // scripted members do not change, so both runs generate the same
        assert_eq!(signals(kept) + signals(drawn), signals(own));
        assert_eq!(kept.len() - signals(kept), own.len() - signals(own));
        replaced += drawn.len();
    }
    assert!(replaced > 0);
}

/// A shadow draw of four and four.
fn shadow(selection: Selection) -> Shadow {
    let mix = Mix {
        local: 4,
        external: 4,
    };
    Shadow { mix, selection }
}

#[test]
fn shadow_draws_change_no_number_and_say_what_the_draw_would_have_seen() {
    let alone = config(8, 0);
    let shadows = vec![
        shadow(Selection::NonzeroAdvantage),
        shadow(Selection::First),
    ];
    let shadowed = SwarmConfig {
        shadows,
        ..alone.clone()
    };
    let (plain, _) = run(&[0.5, 0.1, 0.0, 0.9], alone, 5, 1);
    let (records, _) = run(&[0.5, 0.1, 0.0, 0.9], shadowed, 5, 2);
    for (record, plain) in records.iter().zip(&plain) {
        let [drawn, first] = &record.shadows[..] else {
            panic!("two shadows")
        };
        assert!(drawn.groups <= 8 && first.groups == 8);
        assert!(drawn.reward.is_some_and(|reward| reward > 0.0));
        let mut record = record.clone();
        record.shadows.clear();
        assert_eq!(record, *plain);
    }
    // agents that never answer right see rewards by selection alone
    let never = records.iter().filter(|record| record.agent == 2);
    assert!(never.clone().all(|record| record.own_reward == Some(0.0)));
}

#[test]
fn the_shadow_of_a_run_of_its_own_mix_is_its_training_set() {
    // who arrives first is drawn for all agents alike, so that the shadow draws the same
    let real = SwarmConfig {
        selection: Selection::First,
        shadows: vec![shadow(Selection::First)],
        ..config(4, 4)
    };
    let (records, _) = run(&[0.5, 0.1, 0.3, 0.9], real, 5, 1);
    for record in records {
        assert_eq!(record.shadows[0].reward, record.train_reward);
        assert_eq!(record.shadows[0].groups, 8);
    }
}
