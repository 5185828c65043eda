//! What an agent takes from the bus: nothing that could crash, stall or swell it, whoever sent it,
//! and nothing that it cannot read or judge. All of this comes before the draw.

use super::config::{Admission, SwarmConfig};
use super::questions::Tasks;
use crate::bus::Delivery;
use crate::member::Responder;
use crate::reward::Reward;
use crate::rollout::{AgentId, ScoredRollout};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The rollouts of the rounds that can be read that the receiver can use, read by its member and scored by its own
/// reward, in the order in which they were delivered.
pub(super) fn admit(
    deliveries: &[Delivery],
    round: u32,
    config: &SwarmConfig,
    tasks: &Tasks,
    member: &dyn Responder,
    reward: &mut dyn Reward,
) -> Vec<ScoredRollout> {
    let (limits, rounds) = (&config.limits, config.clock().readable(round));
    let Admission {
        remake_questions,
        max_per_sender,
    } = config.admission;
    let most = match max_per_sender {
        0 => limits.rollouts,
        most => most.min(limits.rollouts),
    };
    let mut seen = HashSet::new();
    let mut counts = HashMap::<(AgentId, u32), usize>::new();
    let mut admitted = Vec::new();
    for Delivery { sender, rollout } in deliveries {
        let count = counts.entry((*sender, rollout.id.round)).or_default();
        let honest = rollout.id.author == *sender && rounds.contains(&rollout.id.round);
        if !honest || *count >= most || limits.check(rollout).is_err() {
            continue;
        }
        if !seen.insert(rollout.id) {
            continue;
        }
        if remake_questions && !tasks.is_authentic(&rollout.question) {
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
