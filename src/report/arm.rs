//! An arm of an experiment, as `arms.csv` tells of it.

use std::fmt;

use serde::Deserialize;

/// How many rollouts of a training set are own and how many come from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mix {
    /// Own rollouts.
    pub(super) local: usize,
    /// Rollouts of other agents.
    pub(super) external: usize,
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {}", self.local, self.external)
    }
}

impl Mix {
    /// The mix that a name of the form `<local>-<external>` stands for.
    pub(super) fn named(name: &str) -> Option<Self> {
        let (local, external) = name.split_once('-')?;
        Some(Mix {
            local: local.parse().ok()?,
            external: external.parse().ok()?,
        })
    }
}

/// The value that an arm of a sweep has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Swept {
    /// The key of the experiment file.
    pub(super) key: String,
    /// Its value as a part of a name.
    pub(super) value: String,
}

impl Swept {
    /// The last part of the key with the value, as names of arms end.
    pub(super) fn setting(&self) -> String {
        let short = self.key.rsplit('.').next().unwrap_or_default();
        format!("{short}={}", self.value)
    }
}

/// A named variant of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Arm {
    /// Its name, which is that of its folder.
    pub(super) name: String,
    /// What it shares; none where nobody says.
    pub(super) mix: Option<Mix>,
    /// The name of the arm that it is compared with.
    pub(super) baseline: Option<String>,
    /// None where nothing is swept.
    pub(super) swept: Option<Swept>,
    /// The step size, as text; empty where nobody says.
    pub(super) learning_rate: String,
    /// Whether that was chosen for this arm by a tuning.
    pub(super) tuned: bool,
    /// Whether it draws its own rollouts of earlier rounds.
    pub(super) replays: bool,
    /// The rounds before each that it draws from; 0 for the round itself.
    pub(super) replay_rounds: usize,
    /// What its agents start from.
    pub(super) model: String,
    /// How many rounds its runs have when they are finished; none where nobody says.
    pub(super) rounds: Option<usize>,
    /// What it is in a league of rules; none where there is no league.
    pub(super) league: Option<League>,
}

/// What an arm is in a league of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum League {
    /// One of the paper's mixes.
    Mix,
    /// An agent that learns from its own past in the place of others.
    SelfReplay,
    /// A rule of sharing.
    Rule,
    /// Shown, and compared with nothing.
    Bound,
}

impl Arm {
    /// How people read its name: `8 / 0` for `8-0`, `4 / 4, agents=2` for `4-4,agents=2`.
    pub(super) fn title(&self) -> String {
        let family = self.family_title();
        match &self.swept {
            Some(swept) => format!("{family}, {}", swept.setting()),
            None => family,
        }
    }

    /// The same without the value of a sweep.
    pub(super) fn family_title(&self) -> String {
        let family = self.family();
        Mix::named(family).map_or_else(|| family.to_owned(), |mix| mix.to_string())
    }

    /// Its name without the value of a sweep.
    pub(super) fn family(&self) -> &str {
        let end = self
            .swept
            .as_ref()
            .map(|swept| format!(",{}", swept.setting()));
        let family = end.and_then(|end| self.name.strip_suffix(&end[..]));
        family.unwrap_or(&self.name)
    }

    /// Whether its agents never learn.
    pub(super) fn is_control(&self) -> bool {
        self.learning_rate.parse() == Ok(0.0)
    }

    /// Whether its name begins with, or is, that of a mix.
    pub(super) fn is_named_after_mix(&self) -> bool {
        Mix::named(self.family()).is_some()
    }

    /// The mix that its whole name stands for: an arm that differs in more has another name.
    pub(super) fn named_mix(&self) -> Option<Mix> {
        Mix::named(&self.name)
    }
}
