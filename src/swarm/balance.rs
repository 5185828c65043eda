//! How many local and external rollouts the training set of a round has.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Rollouts of a training set: local (the paper's I, which an agent generates itself) and external
/// (J, drawn from those of the others).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Own rollouts per round.
    pub local: usize,
    /// Rollouts of others per round.
    pub external: usize,
}

impl Mix {
    /// Both kinds together.
    pub fn total(self) -> usize {
        self.local + self.external
    }
}

/// As it names an arm and its folder: `6-2`.
impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.local, self.external)
    }
}

/// A mix from a round on: an entry of `swarm.schedule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduledMix {
    /// The first round that has it, counted from 1.
    pub from_round: u32,
    /// Own rollouts per round.
    pub local: usize,
    /// Rollouts of others per round.
    pub external: usize,
}

impl ScheduledMix {
    /// Both numbers.
    pub fn mix(&self) -> Mix {
        Mix {
            local: self.local,
            external: self.external,
        }
    }
}

/// How a round's mix follows from that of the experiment (`swarm.balance`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BalanceRule {
    /// The same in every round, as in the paper.
    #[default]
    Fixed,
    /// The same in every round, but own rollouts without a signal leave their places to drawn ones as far as
    /// there are such.
    Fill,
    /// An agent generates the more, the more often its own rollouts have had a signal: I is (I + J) times the
    /// moving average, at least the mix's own I, and J is the rest.
    Adaptive,
    /// That of the last entry of `swarm.schedule` whose round has come.
    Schedule,
}

/// How much the moving average of [`Signals`] keeps of what it was.
const KEPT: f64 = 0.9;

/// The moving average, over rounds, of the share of an agent's own rollouts that have a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals(pub f64);

impl Signals {
    /// Takes in a round in which `with` of `all` own rollouts had a signal.
    pub(super) fn add(&mut self, with: usize, all: usize) {
        if all > 0 {
            self.0 = KEPT * self.0 + (1.0 - KEPT) * with as f64 / all as f64;
        }
    }
}

/// The rule that says how many rollouts of each kind the next training set has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balance {
    /// How the mix of a round follows from that of the experiment.
    pub rule: BalanceRule,
    /// That of the experiment.
    pub mix: Mix,
    /// By ascending rounds; empty but where the rule is a schedule.
    pub schedule: Vec<ScheduledMix>,
}

impl Balance {
    /// The same mix in every round, as in the paper.
    pub fn fixed(mix: Mix) -> Self {
        Self {
            rule: BalanceRule::Fixed,
            mix,
            schedule: Vec::new(),
        }
    }

    /// Own and external rollouts of an agent in a round, as far as the pool has so many.
    pub fn of(&self, round: u32, signals: Signals) -> Mix {
        match self.rule {
            BalanceRule::Fixed | BalanceRule::Fill => self.mix,
            BalanceRule::Adaptive => {
                let total = self.mix.total();
                let wished = (total as f64 * signals.0).round() as usize;
                let local = wished.clamp(self.mix.local, total);
                Mix {
                    local,
                    external: total - local,
                }
            }
            BalanceRule::Schedule => {
                let begun = |entry: &&ScheduledMix| entry.from_round <= round;
                let last = self.schedule.iter().rfind(begun);
                last.map_or(self.mix, ScheduledMix::mix)
            }
        }
    }

    /// Whether own rollouts without a signal leave their places to drawn ones.
    pub(super) fn fills(&self) -> bool {
        self.rule == BalanceRule::Fill
    }

    /// All mixes that a round may have.
    fn possible(&self) -> Vec<Mix> {
        let all = Mix {
            local: self.mix.total(),
            external: 0,
        };
        let mut possible = vec![self.mix];
        match self.rule {
            BalanceRule::Fixed | BalanceRule::Fill => {}
            BalanceRule::Adaptive => possible.push(all),
            BalanceRule::Schedule => possible.extend(self.schedule.iter().map(ScheduledMix::mix)),
        }
        possible
    }

    /// The largest training set of any round.
    pub fn most(&self) -> usize {
        let totals = self.possible().into_iter().map(Mix::total);
        totals.max().unwrap_or(0)
    }

    /// The most own rollouts of any round.
    pub fn most_local(&self) -> usize {
        let locals = self.possible().into_iter().map(|mix| mix.local);
        locals.max().unwrap_or(0)
    }

    /// Whether rounds may differ in how many they ask.
    pub fn varies(&self) -> bool {
        self.possible()
            .iter()
            .any(|mix| mix.local != self.mix.local)
    }

    /// Whether some round draws.
    pub fn draws(&self) -> bool {
        self.fills() || self.possible().iter().any(|mix| mix.external > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(rule: BalanceRule, local: usize, external: usize) -> Balance {
        Balance {
            rule,
            ..Balance::fixed(Mix { local, external })
        }
    }

    #[test]
    fn adaptive_starts_at_the_mix_and_ends_with_own_rollouts_alone() {
        let balance = balance(BalanceRule::Adaptive, 2, 6);
        let of = |share| {
            let Mix { local, external } = balance.of(1, Signals(share));
            (local, external)
        };
        assert_eq!(of(0.0), (2, 6));
        assert_eq!(of(0.25), (2, 6));
        assert_eq!(of(0.5), (4, 4));
        assert_eq!(of(0.93), (7, 1));
        assert_eq!(of(1.0), (8, 0));
        assert_eq!((balance.most(), balance.most_local()), (8, 8));
        assert!(balance.draws());
    }

    #[test]
    fn signals_are_a_moving_average() {
        let mut signals = Signals::default();
        signals.add(4, 8);
        assert!((signals.0 - 0.05).abs() < 1e-12);
        signals.add(8, 8);
        assert!((signals.0 - 0.145).abs() < 1e-12);
        signals.add(0, 0);
        assert!((signals.0 - 0.145).abs() < 1e-12, "no round, no news");
    }

    #[test]
    fn a_schedule_takes_the_last_entry_that_has_begun() {
        let entry = |from_round, local, external| ScheduledMix {
            from_round,
            local,
            external,
        };
        let balance = Balance {
            schedule: vec![entry(3, 4, 4), entry(10, 9, 0)],
            ..balance(BalanceRule::Schedule, 2, 6)
        };
        let locals = [1, 2, 3, 9, 10, 99].map(|round| balance.of(round, Signals(1.0)).local);
        assert_eq!(locals, [2, 2, 4, 4, 9, 9]);
        assert_eq!((balance.most(), balance.most_local()), (9, 9));
    }

    #[test]
    fn fixed_and_fill_ask_the_same_in_every_round() {
        for rule in [BalanceRule::Fixed, BalanceRule::Fill] {
            let balance = balance(rule, 8, 0);
            assert_eq!(balance.of(7, Signals(0.3)), balance.mix);
            assert_eq!((balance.most(), balance.most_local()), (8, 8));
            assert_eq!(balance.draws(), rule == BalanceRule::Fill);
        }
    }
}
