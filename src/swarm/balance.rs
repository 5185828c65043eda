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

/// As it names an arm and its folder: `6-2`.
impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.local, self.external)
    }
}

/// The rule that says how many rollouts of each kind the next training set has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    mix: Mix,
}

impl Balance {
    /// The same mix in every round, as in the paper.
    pub fn fixed(mix: Mix) -> Self {
        Self { mix }
    }

    /// Own rollouts of a round.
    pub fn local(&self) -> usize {
        self.mix.local
    }

    /// External rollouts of a round, as far as the pool has so many.
    pub fn external(&self) -> usize {
        self.mix.external
    }

    /// The largest training set of any round.
    pub fn most(&self) -> usize {
        self.mix.local + self.mix.external
    }
}
