//! What is drawn on scripted members, besides the paper's draw: earlier rounds, fewer signals, shadows.

use crate::swarm::{config, run, watched};
use sapo::member::Trained;
use sapo::rollout::{AuthorLogprobs, Completion, RolloutId};
use sapo::swarm::{
    Balance, BalanceRule, DrawFrom, Mix, Replay, ScheduledMix, Selection, Shadow, ShareLogprobs,
    SignalLimit, SwarmConfig,
};
use std::collections::HashMap;
use std::sync::Arc;

/// What agents of skill one half trained on: for each agent and round, what it generated then and what
/// it drew.
fn trained(config: SwarmConfig) -> Vec<(usize, u32, Trained, Trained)> {
    trained_with(0.5, config)
}

/// The same of agents of another skill.
fn trained_with(skill: f64, config: SwarmConfig) -> Vec<(usize, u32, Trained, Trained)> {
    let (_, logs) = run(&[skill; 4], config, 6, 2);
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
        replay: Replay {
            from,
            rounds: 2,
            max_uses: 0,
        },
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

/// A round of four agents of skill one half by a balance.
fn balanced(rule: BalanceRule, local: usize, external: usize) -> SwarmConfig {
    let base = config(local, external);
    let balance = Balance {
        rule,
        ..base.balance.clone()
    };
    SwarmConfig { balance, ..base }
}

#[test]
fn filling_gives_the_places_of_silent_own_rollouts_to_drawn_signals() {
    let fixed = trained_with(0.2, config(4, 2));
    let filled = trained_with(0.2, balanced(BalanceRule::Fill, 4, 2));
    let mut silent = 0;
    for ((.., own, _), (.., kept, drawn)) in fixed.iter().zip(&filled) {
        assert!(drawn.iter().all(|(_, advantages)| has_signal(advantages)));
        assert_eq!(kept.len() + drawn.len(), 6, "no place is left empty");
        let signals = |set: &Trained| set.iter().filter(|(_, a)| has_signal(a)).count();
        assert_eq!(
            signals(kept),
            signals(own),
            "own signals are never given away"
        );
        silent += own.len() - kept.len();
    }
    assert!(silent > 0, "some own rollout was silent");
}

#[test]
fn nobody_to_draw_from_leaves_the_places_to_their_owner() {
    let (records, _) = run(&[0.5], balanced(BalanceRule::Fill, 4, 2), 6, 1);
    for record in records {
        assert_eq!((record.own_groups, record.external_groups), (4, 0));
    }
}

#[test]
fn adaptive_agents_generate_the_more_the_more_often_they_have_a_signal() {
    let mut config = balanced(BalanceRule::Adaptive, 1, 7);
    config.limits.rollouts = 8;
    let (records, _) = run(&[0.5, 0.0, 0.5, 0.5], config, 40, 2);
    let own = |agent: u16, round: u32| {
        let record = records
            .iter()
            .find(|r| (r.agent, r.round) == (agent, round));
        record.unwrap().own_groups
    };
    assert!((0..4).all(|agent| own(agent, 1) == 1), "all start alike");
    assert!(own(0, 40) >= 7, "{}", own(0, 40));
    assert_eq!(own(1, 40), 1, "without any signal it goes on to draw");
    assert!(
        records
            .iter()
            .all(|r| r.own_groups + r.external_groups <= 8)
    );
}

#[test]
fn a_schedule_changes_what_is_asked_and_drawn() {
    let mut config = balanced(BalanceRule::Schedule, 1, 3);
    config.balance.schedule = vec![ScheduledMix {
        from_round: 3,
        local: 4,
        external: 0,
    }];
    config.limits.rollouts = 4;
    let (records, _) = run(&[0.5; 4], config, 4, 1);
    for record in records {
        let expected = if record.round < 3 { (1, 8) } else { (4, 32) };
        assert_eq!((record.own_groups, record.completions), expected);
        assert!(record.round < 3 || record.external_groups == 0);
    }
}

#[test]
fn what_the_pool_lacks_comes_from_memory_at_most_so_often() {
    let config = SwarmConfig {
        replay: Replay {
            from: DrawFrom::OthersAndMemory,
            rounds: 3,
            max_uses: 2,
        },
        ..config(1, 7)
    };
    let mut uses = HashMap::<(usize, RolloutId), u32>::new();
    let (mut late, mut last) = (0, 0);
    for (agent, round, _, drawn) in trained(config) {
        let fresh = drawn.iter().filter(|(id, _)| id.round == round).count();
        assert!(fresh <= 3, "one of each other agent");
        for (id, advantages) in drawn {
            assert_ne!(usize::from(id.author.0), agent);
            assert!(round - id.round <= 3 && has_signal(&advantages));
            let used = uses.entry((agent, id)).or_default();
            *used += 1;
            assert!(*used <= 2, "{id:?} by {agent}");
            late += usize::from(id.round < round);
            last += usize::from(*used == 2);
        }
    }
    assert!(late > 0 && last > 0, "{late} {last}");
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
        selection: Arc::new(Selection::First),
        shadows: vec![shadow(Selection::First)],
        ..config(4, 4)
    };
    let (records, _) = run(&[0.5, 0.1, 0.3, 0.9], real, 5, 1);
    for record in records {
        assert_eq!(record.shadows[0].reward, record.train_reward);
        assert_eq!(record.shadows[0].groups, 8);
    }
}

#[test]
fn what_authors_tell_of_their_log_probs_travels_with_their_rollouts() {
    let told = |share_logprobs| {
        let config = SwarmConfig {
            share_logprobs,
            ..config(1, 1)
        };
        let mut found = Vec::new();
        watched(&[0.5; 2], config, 1, |swarm, _| {
            let shown = swarm.agents()[0].shown(share_logprobs);
            found.extend(shown[0].completions.iter().map(|c| c.logprobs.clone()));
            // a scripted member finds each of its characters as likely
            let length = |c: &Completion| c.tokens.len();
            let own = &swarm.agents()[0].own()[0].rollout.completions;
            for (told, length) in found.iter().zip(own.iter().map(length)) {
                match told {
                    AuthorLogprobs::Untold => {}
                    AuthorLogprobs::Sequence(sum) => assert_eq!(*sum, -(length as f32)),
                    AuthorLogprobs::Token { logprobs, .. } => {
                        assert_eq!(*logprobs, vec![-1.0; length]);
                    }
                }
            }
        });
        found
    };
    let of_kind = |kind, wanted: fn(&AuthorLogprobs) -> bool| {
        let found = told(kind);
        assert!(found.len() == 8 && found.iter().all(wanted), "{found:?}");
    };
    of_kind(ShareLogprobs::None, AuthorLogprobs::is_untold);
    of_kind(ShareLogprobs::Sequence, |told| {
        matches!(told, AuthorLogprobs::Sequence(_))
    });
    of_kind(ShareLogprobs::Token, |told| {
        matches!(told, AuthorLogprobs::Token { .. })
    });
}

#[test]
fn rollouts_of_others_lean_to_their_successes_and_own_ones_do_not() {
    let leaning = SwarmConfig {
        foreign_lean: 0.25,
        ..config(2, 2)
    };
    let (plain, leaning) = (trained(config(2, 2)), trained(leaning));
    let sum = |advantages: &[f64]| advantages.iter().sum::<f64>();
    for ((.., own, drawn), (.., same, leant)) in plain.iter().zip(&leaning) {
        assert_eq!(own, same);
        for ((id, advantages), (same, leant)) in drawn.iter().zip(leant) {
            assert_eq!(id, same);
            assert!(sum(advantages).abs() < 1e-6 && sum(leant) > 1.0);
            let gaps: Vec<f64> = leant.iter().zip(advantages).map(|(a, b)| a - b).collect();
            assert!(
                gaps.iter().all(|gap| (gap - gaps[0]).abs() < 1e-9),
                "{gaps:?}"
            );
        }
    }
}
