//! Who watches the runs of an experiment, and what is told of them.

/// What is told after every round.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The arm that runs.
    pub arm: String,
    /// The seed that runs.
    pub seed: u64,
    /// Rounds done in this run.
    pub round: u32,
    /// Rounds of this run.
    pub rounds: u32,
    /// Rounds done in all runs, earlier starts included.
    pub done: u64,
    /// Rounds of all runs.
    pub total: u64,
    /// Mean own reward over the agents in this round.
    pub own_reward: f64,
    /// Mean reward of the training sets in this round.
    pub train_reward: f64,
    /// Mean held-out reward of the latest evaluation.
    pub eval_reward: Option<f64>,
}

/// Who watches the runs of an experiment and may stop them.
pub trait Watcher {
    /// Before the first round: so many of all rounds were done by earlier starts.
    fn start(&mut self, done: u64, total: u64);

    /// A round is done.
    fn round(&mut self, progress: Progress);

    /// Something that whoever started the runs should know.
    fn note(&mut self, note: String);

    /// True when the runs are to stop after this round.
    fn stop(&self) -> bool {
        false
    }
}
