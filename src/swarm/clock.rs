//! A virtual clock as the TOML has it: speeds, comings and goings, delay and age.

use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The `[swarm.clock]` table: a virtual clock in the place of lock-step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VirtualClock {
    /// Ticks of a round: what the fastest agent needs for its part.
    pub ticks: u32,
    /// How many times as long the slowest agents need; in between all are alike often on a scale of ratios.
    #[serde(default = "one")]
    pub slowest: f64,
    /// Rounds that an agent stays, on average; 0 for always.
    #[serde(default)]
    pub session: f64,
    /// Rounds that it then is away, on average.
    #[serde(default)]
    pub away: f64,
    /// What it comes back with.
    #[serde(default)]
    pub returns: Returns,
    /// Ticks until others can read what an agent has published.
    #[serde(default)]
    pub delay: u32,
    /// Share of what is published that never arrives.
    #[serde(default)]
    pub loss: f64,
    /// Ticks for which it can be read once it has arrived.
    pub staleness: u32,
}

fn one() -> f64 {
    1.0
}

/// What an agent comes back with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Returns {
    /// What it had learned when it left.
    #[default]
    Checkpoint,
    /// What it was at first, as in the public demo of the paper's time.
    Base,
}

impl VirtualClock {
    /// As it is without one.
    pub const LOCK_STEP: Self = Self {
        ticks: 1,
        slowest: 1.0,
        session: 0.0,
        away: 0.0,
        returns: Returns::Checkpoint,
        delay: 0,
        loss: 0.0,
        staleness: 1,
    };

    /// The rounds whose rollouts can still be read in a round.
    pub(super) fn readable(&self, round: u32) -> RangeInclusive<u32> {
        // what has just arrived is as old as it was on its way
        let oldest = (self.staleness - 1)
            .saturating_add(self.delay)
            .div_ceil(self.ticks);
        round.saturating_sub(oldest).max(1)..=round
    }

    /// # Errors
    /// Names the key, what it holds and what it may hold.
    pub fn validate(&self) -> Result<(), String> {
        let length = |rounds: f64| (0.0..=1e6).contains(&rounds);
        let Self {
            ticks,
            slowest,
            session,
            away,
            loss,
            ..
        } = *self;
        let keys = [
            (
                "ticks",
                f64::from(ticks),
                (1..=1000).contains(&ticks),
                "1 to 1000",
            ),
            (
                "slowest",
                slowest,
                (1.0..=1000.0).contains(&slowest),
                "1 to 1000",
            ),
            ("session", session, length(session), "0 to 1e6"),
            ("away", away, length(away), "0 to 1e6"),
            (
                "away",
                away,
                away == 0.0 || session > 0.0,
                "0 where session is 0: nobody leaves",
            ),
            (
                "delay",
                f64::from(self.delay),
                self.delay <= 1_000_000,
                "0 to 1000000",
            ),
            ("loss", loss, (0.0..=1.0).contains(&loss), "0 to 1"),
            (
                "staleness",
                f64::from(self.staleness),
                (1..=1_000_000).contains(&self.staleness),
                "1 to 1000000",
            ),
        ];
        match keys.into_iter().find(|(_, _, ok, _)| !ok) {
            Some((key, found, _, expected)) => Err(format!(
                "swarm.clock.{key}: found {found}, expected {expected}"
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: VirtualClock = VirtualClock::LOCK_STEP;

    #[test]
    fn what_a_clock_may_not_hold_is_named() {
        let check = |clock: VirtualClock, expected: &str| {
            assert_eq!(
                clock.validate().unwrap_err(),
                format!("swarm.clock.{expected}")
            );
        };
        check(
            VirtualClock { ticks: 0, ..CLOCK },
            "ticks: found 0, expected 1 to 1000",
        );
        check(
            VirtualClock {
                slowest: 0.5,
                ..CLOCK
            },
            "slowest: found 0.5, expected 1 to 1000",
        );
        check(
            VirtualClock { loss: 1.5, ..CLOCK },
            "loss: found 1.5, expected 0 to 1",
        );
        check(
            VirtualClock {
                loss: f64::NAN,
                ..CLOCK
            },
            "loss: found NaN, expected 0 to 1",
        );
        check(
            VirtualClock {
                staleness: 0,
                ..CLOCK
            },
            "staleness: found 0, expected 1 to 1000000",
        );
        check(
            VirtualClock { away: 2.0, ..CLOCK },
            "away: found 2, expected 0 where session is 0: nobody leaves",
        );
        assert_eq!(CLOCK.validate(), Ok(()));
    }
}
