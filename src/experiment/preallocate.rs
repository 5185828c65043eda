//! The largest round that an experiment can have, worked once before its first: memory that is missing
//! is missed in the first minute and not in the last, and what a run takes stays the same from then on.

use super::resolved::Resolved;
use crate::member::{Asked, LanguageModel, Learner, Responder, TrainingRollout};
use crate::rollout::{
    AgentId, AuthorLogprobs, Completion, FinishReason, Prompt, Question, Rollout, RolloutId,
    ScoredRollout, Token,
};
use crate::seed::Seed;
use crate::swarm::Workers;
use anyhow::Result;
use std::sync::Arc;

/// Questions of each split among which the longest is looked for.
const PROBES: u64 = 64;

/// Lets members that are thrown away, one per worker, answer the longest questions and learn from
/// completions of full length that all carry a signal.
///
/// # Errors
/// When a member fails.
pub(super) fn preallocate(
    arm: &Resolved,
    mut members: Vec<LanguageModel>,
    workers: &Workers,
) -> Result<()> {
    members.truncate(workers.threads());
    let done = workers.map(&mut members, |member| largest_round(arm, member));
    done.into_iter().collect()
}

fn largest_round(arm: &Resolved, member: &mut dyn Responder) -> Result<()> {
    let generate = &arm.keys.generate;
    let some = arm.tasks.some_questions(PROBES);
    let read = some.filter_map(|question| member.prompt(&question).ok().map(|p| (question, p)));
    let mut questions: Vec<(Question, Prompt)> = read.collect();
    questions.sort_by_key(|(_, prompt)| std::cmp::Reverse(prompt.tokens.len()));
    questions.truncate(arm.balance().most());
    member.complete(
        &Asked::all(&questions),
        generate.num_generations,
        Seed::new(0),
    )?;
    let any = Token {
        id: 0,
        logprob: 0.0,
        entropy: 0.0,
    };
    let longest = Completion {
        text: String::new(),
        finish_reason: FinishReason::Length,
        tokens: vec![any; generate.max_completion_length],
        logprobs: AuthorLogprobs::Untold,
    };
    let rollout = |(question, prompt)| {
        own_rollout(
            question,
            prompt,
            vec![longest.clone(); generate.num_generations],
        )
    };
    let all: Vec<ScoredRollout> = questions.into_iter().map(rollout).collect();
    if let Some(learner) = member.learner() {
        update_with_signal(learner, &all, Seed::new(0));
    }
    Ok(())
}

/// A rollout as an agent has its own, not scored yet.
pub(super) fn own_rollout(
    question: Question,
    prompt: Prompt,
    completions: Vec<Completion>,
) -> ScoredRollout {
    let id = RolloutId {
        author: AgentId(0),
        round: 0,
        index: 0,
    };
    ScoredRollout {
        rollout: Arc::new(Rollout {
            id,
            question,
            completions,
        }),
        prompt,
        rewards: Vec::new(),
    }
}

/// Learns from own rollouts that are all given a signal, so that the update leaves nothing out.
pub(super) fn update_with_signal(learner: &mut dyn Learner, own: &[ScoredRollout], seed: Seed) {
    let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    let training =
        |scored: &'_ ScoredRollout| (0..scored.rollout.completions.len()).map(sign).collect();
    let training: Vec<TrainingRollout<'_>> = own
        .iter()
        .map(|scored| TrainingRollout {
            scored,
            advantages: training(scored),
            foreign: false,
        })
        .collect();
    learner.update(&training, seed);
}
