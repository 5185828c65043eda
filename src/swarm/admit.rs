//! What an agent takes from the bus: nothing that could crash, stall or swell it, whoever sent it,
//! and nothing that it cannot read or judge. All of this comes before the draw.

use crate::bus::Delivery;
use crate::member::Responder;
use crate::reward::Reward;
use crate::rollout::{AgentId, ScoredRollout};
use crate::wire::Limits;
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The rollouts of these rounds that the receiver can use, read by its member and scored by its own
/// reward, in the order in which they were delivered.
pub(super) fn admit(
    deliveries: &[Delivery],
    rounds: RangeInclusive<u32>,
    limits: &Limits,
    member: &dyn Responder,
    reward: &mut dyn Reward,
) -> Vec<ScoredRollout> {
    let mut seen = HashSet::new();
    let mut counts = HashMap::<(AgentId, u32), usize>::new();
    let mut admitted = Vec::new();
    for Delivery { sender, rollout } in deliveries {
        let count = counts.entry((*sender, rollout.id.round)).or_default();
        let honest = rollout.id.author == *sender && rounds.contains(&rollout.id.round);
        if !honest || *count >= limits.rollouts || limits.check(rollout).is_err() {
            continue;
        }
        if !seen.insert(rollout.id) {
            continue;
        }
        let Ok(prompt) = member.prompt(&rollout.question) else {
            continue;
        };
        let Some(rewards) = reward.score(&rollout.question, &rollout.completions) else {
            continue;
        };
        *count += 1;
        admitted.push(ScoredRollout {
            rollout: Arc::clone(rollout),
            prompt,
            rewards,
        });
    }
    admitted
}
