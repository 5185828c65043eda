//! Advantages of groups of rewards, as plain floats.

use crate::rollout::{mean, std};
use serde::{Deserialize, Serialize};

/// How advantages are scaled (TRL's `scale_rewards`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScaleRewards {
    /// By the standard deviation of the rewards of the group.
    Group,
    /// By the standard deviation of all rewards of the training set.
    Batch,
    /// By the mean of the rewards of the group (MaxRL, arXiv 2602.02710): the rarer a success, the larger.
    Mean,
    /// Not at all.
    None,
}

/// Added to what advantages are divided by (GenRL).
const ADVANTAGE_EPSILON: f64 = 1e-8;

/// A group of rewards, and what is added to each before it is scaled.
#[derive(Clone, Copy, Debug)]
pub struct RewardGroup<'a> {
    /// One per completion.
    pub rewards: &'a [f64],
    /// 0 for the advantage of GRPO; above it the group leans to its successes.
    pub lean: f64,
}

/// Advantages of the training set, one list per group: the reward minus the mean of its group, plus its lean, over
/// the standard deviation (two passes, `n - 1` degrees of freedom) plus 1e-8, or over what else scales it.
///
/// A group whose rewards are all equal, and a group of one, have advantage exactly 0.
pub fn advantages(groups: &[RewardGroup<'_>], scale: ScaleRewards) -> Vec<Vec<f64>> {
    let all: Vec<f64> = groups.iter().flat_map(|g| g.rewards).copied().collect();
    let batch_std = std(&all);
    let of_group = |&RewardGroup {
                        rewards: group,
                        lean,
                    }: &RewardGroup<'_>| {
        if group.iter().all(|r| *r == group[0]) {
            return vec![0.0; group.len()];
        }
        let mean = mean(group);
        let divisor = match scale {
            ScaleRewards::Group => std(group) + ADVANTAGE_EPSILON,
            ScaleRewards::Batch => batch_std + ADVANTAGE_EPSILON,
            ScaleRewards::Mean => mean.abs() + ADVANTAGE_EPSILON,
            ScaleRewards::None => 1.0,
        };
        let advantage = |r: &f64| (r - mean + lean) / divisor;
        group.iter().map(advantage).collect()
    };
    groups.iter().map(of_group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(rewards: &[f64]) -> RewardGroup<'_> {
        RewardGroup { rewards, lean: 0.0 }
    }

    fn check(rewards: &[f64], scale: ScaleRewards, expected: &[f64]) {
        let got = advantages(&[plain(rewards)], scale).remove(0);
        assert_eq!(got.len(), expected.len());
        for (a, b) in got.iter().zip(expected) {
            assert!((a - b).abs() < 1e-6, "{got:?} is not {expected:?}");
        }
    }

    #[test]
    fn group_advantages_by_hand() {
        // mean 0.5, std sqrt(1/3) with ddof 1
        check(
            &[1.0, 0.0, 1.0, 0.0],
            ScaleRewards::Group,
            &[0.866_025, -0.866_025, 0.866_025, -0.866_025],
        );
        check(
            &[1.0, 0.0, 1.0, 0.0],
            ScaleRewards::None,
            &[0.5, -0.5, 0.5, -0.5],
        );
        let one_of_eight = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert!(
            (advantages(&[plain(&one_of_eight)], ScaleRewards::Group)[0][0] - 2.474_87).abs()
                < 1e-4
        );
    }

    #[test]
    fn batch_scale_uses_every_reward() {
        // all rewards: 1, 0, 0, 0; mean 0.25, std 0.5
        let got = advantages(
            &[plain(&[1.0, 0.0]), plain(&[0.0, 0.0])],
            ScaleRewards::Batch,
        );
        assert!((got[0][0] - 1.0).abs() < 1e-6 && (got[0][1] + 1.0).abs() < 1e-6);
        assert_eq!(got[1], [0.0, 0.0]);
    }

    #[test]
    fn close_rewards_do_not_cancel() {
        // E[x²] - E[x]² would lose these in rounding; two passes in f64 do not.
        check(
            &[1.0, 1.000_01],
            ScaleRewards::Group,
            &[-0.706_108, 0.706_108],
        );
    }

    #[test]
    fn the_mean_as_divisor_favours_what_is_rare() {
        check(
            &[1.0, 0.0, 0.0, 0.0],
            ScaleRewards::Mean,
            &[3.0, -1.0, -1.0, -1.0],
        );
        check(
            &[1.0, 1.0, 1.0, 0.0],
            ScaleRewards::Mean,
            &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, -1.0],
        );
        check(&[-1.0, -3.0], ScaleRewards::Mean, &[0.5, -0.5]);
    }

    #[test]
    fn a_group_that_leans_gains_on_all_its_rewards_where_it_has_a_signal() {
        let leaning = |rewards| RewardGroup {
            rewards,
            lean: 0.25,
        };
        let groups = [
            leaning(&[1.0, 0.0, 1.0, 0.0]),
            leaning(&[1.0, 1.0]),
            plain(&[1.0, 0.0]),
        ];
        let got = advantages(&groups, ScaleRewards::None);
        assert_eq!(
            got,
            [
                vec![0.75, -0.25, 0.75, -0.25],
                vec![0.0, 0.0],
                vec![0.5, -0.5]
            ]
        );
        let scaled = advantages(&groups[..1], ScaleRewards::Group);
        assert!((scaled[0][0] - 0.75 * 3f64.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn no_signal_is_exactly_zero_and_never_large() {
        for scale in [
            ScaleRewards::Group,
            ScaleRewards::Batch,
            ScaleRewards::Mean,
            ScaleRewards::None,
        ] {
            check(&[0.3; 8], scale, &[0.0; 8]);
            check(&[0.7], scale, &[0.0]);
            check(&[], scale, &[]);
        }
        for tiny in [1e-3, 1e-9, 1e-15] {
            let group = [0.1 + tiny, 0.1, 0.1, 0.1];
            let got = advantages(&[plain(&group)], ScaleRewards::Group).remove(0);
            assert!(got.iter().all(|a| a.abs() <= 2.0), "{got:?}");
        }
    }
}
