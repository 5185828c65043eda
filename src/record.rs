//! One row of `rounds.csv`: what one agent did in one round.
//!
//! A row is a list of (column, cell) pairs in a fixed order. An empty cell means that there is no
//! such number (nothing was evaluated, no group was updated on); it never holds NaN.

/// What one agent did in one round. Rewards are means over completions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoundRecord {
    /// Counted from 1.
    pub round: u32,
    /// Counted from 0.
    pub agent: u16,
    /// Mean reward of the completions that the agent generated this round.
    pub own_reward: Option<f64>,
    /// Mean reward of its training set, own and drawn external rollouts alike (what GenRL logs).
    pub train_reward: Option<f64>,
    /// Mean reward on the held-out questions, before this round's update.
    pub eval_reward: Option<f64>,
    /// Share of groups of the training set whose rewards are all equal (TRL).
    pub frac_reward_zero_std: Option<f64>,
    /// Own rollouts in the training set.
    pub own_groups: usize,
    /// External rollouts in the training set.
    pub external_groups: usize,
    /// Rollouts of the other agents in the pool.
    pub pool_groups: usize,
    /// Rollouts of the other agents that could not be used: of an unknown task, without a completion, or
    /// with a prompt that is too long for this agent's model.
    pub pool_dropped: usize,
    /// Share of the pool with an advantage that is not zero.
    pub pool_nonzero_frac: Option<f64>,
    /// Mean loss of the optimizer steps.
    pub loss: Option<f64>,
    /// Mean global norm of the gradient before clipping.
    pub grad_norm: Option<f64>,
    /// Optimizer steps taken; 0 where the agent learned nothing.
    pub steps: usize,
    /// Steps left out because loss or gradient was not finite.
    pub bad_updates: usize,
    /// Mean entropy (nats) of the distributions that own tokens were drawn from.
    pub entropy: Option<f64>,
    /// Share of trained tokens whose ratio was clipped.
    pub clip_ratio: Option<f64>,
    /// Mean KL estimate to the frozen copy, where beta is not 0.
    pub kl: Option<f64>,
    /// Mean log-prob of own completion tokens when they were generated.
    pub own_logp: Option<f64>,
    /// Mean log-prob, before the update, of the external completion tokens that it computed: those
    /// with an advantage, or all where beta is not 0.
    pub foreign_logp: Option<f64>,
    /// Share of own completions whose text encodes to other tokens than were generated.
    pub reencode_mismatch_frac: Option<f64>,
    /// Own and held-out questions left out because their prompts are too long.
    pub overlong_prompts: usize,
    /// Completions generated.
    pub completions: usize,
    /// Mean tokens of an own completion.
    pub completion_length: Option<f64>,
    /// Share of own completions cut off at the longest length.
    pub clipped_completions: Option<f64>,
    /// Prompt and completion tokens of own completions so far.
    pub num_tokens: u64,
    /// Mean own reward a task, in the order of the experiment's tasks.
    pub task_rewards: Vec<Option<f64>>,
}

impl RoundRecord {
    /// The row as (column, cell) pairs, with a column `reward_<task>` for each of `tasks`.
    ///
    /// # Panics
    /// When there is not one reward a task.
    pub fn cells(&self, tasks: &[String]) -> Vec<(String, String)> {
        assert_eq!(tasks.len(), self.task_rewards.len(), "one reward a task");
        let mut cells: Vec<(String, String)> = [
            ("round", self.round.to_string()),
            ("agent", self.agent.to_string()),
            ("own_reward", number(self.own_reward)),
            ("train_reward", number(self.train_reward)),
            ("eval_reward", number(self.eval_reward)),
            ("frac_reward_zero_std", number(self.frac_reward_zero_std)),
            ("own_groups", self.own_groups.to_string()),
            ("external_groups", self.external_groups.to_string()),
            ("pool_groups", self.pool_groups.to_string()),
            ("pool_dropped", self.pool_dropped.to_string()),
            ("pool_nonzero_frac", number(self.pool_nonzero_frac)),
            ("loss", number(self.loss)),
            ("grad_norm", number(self.grad_norm)),
            ("steps", self.steps.to_string()),
            ("bad_updates", self.bad_updates.to_string()),
            ("entropy", number(self.entropy)),
            ("clip_ratio", number(self.clip_ratio)),
            ("kl", number(self.kl)),
            ("own_logp", number(self.own_logp)),
            ("foreign_logp", number(self.foreign_logp)),
            (
                "reencode_mismatch_frac",
                number(self.reencode_mismatch_frac),
            ),
            ("overlong_prompts", self.overlong_prompts.to_string()),
            ("completions", self.completions.to_string()),
            ("completion_length", number(self.completion_length)),
            ("clipped_completions", number(self.clipped_completions)),
            ("num_tokens", self.num_tokens.to_string()),
        ]
        .map(|(name, cell)| (name.to_owned(), cell))
        .into();
        let rewards = tasks.iter().zip(&self.task_rewards);
        cells.extend(rewards.map(|(task, reward)| (format!("reward_{task}"), number(*reward))));
        cells
    }
}

/// The shortest text that reads back as the same 32-bit float, which is more than any of these
/// numbers carries. NaN has no cell, and there is one zero.
fn number(value: Option<f64>) -> String {
    match value.map(|v| v as f32) {
        Some(v) if v.is_finite() => (v + 0.0).to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_means_blank_and_never_nan() {
        let record = RoundRecord {
            round: 2,
            own_reward: Some(0.5),
            loss: Some(f64::NAN),
            task_rewards: vec![None],
            ..Default::default()
        };
        let cells = record.cells(&["bf".to_owned()]);
        let cell = |name: &str| cells.iter().find(|(n, _)| n == name).unwrap().1.clone();
        assert_eq!(cell("own_reward"), "0.5");
        assert_eq!(
            (number(Some(-0.0)), number(Some(1e-7))),
            ("0".to_owned(), "0.0000001".to_owned())
        );
        assert_eq!(cell("loss"), "");
        assert_eq!(cell("eval_reward"), "");
        assert_eq!(cell("reward_bf"), "");
    }
}
