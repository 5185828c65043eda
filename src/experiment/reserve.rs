//! The largest round that an experiment can have, worked once before its first: memory that is missing is
//! missed in the first minute and not in the last, and what a run takes stays the same from then on.

use super::config::Experiment;
use super::models::Models;
use crate::model::Decoder;
use crate::policy::TrainingRollout;
use crate::rollout::{AgentId, Completion, FinishReason, Question, Rollout, Token};
use crate::seed::Seed;
use crate::swarm::{Tasks, Workers};

/// Questions of each split among which the longest is looked for.
const PROBES: u64 = 64;

/// Lets policies that are thrown away, one a worker, answer the longest questions and learn from
/// completions of full length that all carry a signal.
pub(super) fn reserve(
    experiment: &Experiment,
    models: &Models,
    weights: &[Decoder],
    tasks: &Tasks,
    workers: &Workers,
) {
    let rollouts = experiment
        .mixes
        .iter()
        .map(|mix| mix.local + mix.external)
        .max()
        .unwrap_or(0);
    let (n, decoding) = (experiment.generate.num_generations, experiment.decoding());
    let mut policies = models.policies(experiment, weights);
    policies.truncate(workers.threads());
    workers.map(&mut policies, |policy| {
        let known = tasks
            .some_questions(PROBES)
            .filter_map(|q| policy.prompt_length(&q).map(|length| (length, q)));
        let mut questions: Vec<(usize, Question)> = known.collect();
        questions.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        let questions: Vec<Question> = questions
            .into_iter()
            .map(|(_, question)| question)
            .take(rollouts)
            .collect();
        policy.complete(&questions, n, &decoding, Seed::new(0));
        let any = Token {
            id: 0,
            logprob: 0.0,
            entropy: 0.0,
        };
        let longest = Completion {
            text: String::new(),
            finish_reason: FinishReason::Length,
            tokens: vec![any; decoding.max_completion_length],
        };
        let rollout = |question: &Question| Rollout {
            author: AgentId(0),
            index: 0,
            question: question.clone(),
            completions: vec![longest.clone(); n],
            rewards: Vec::new(),
        };
        let all: Vec<Rollout> = questions.iter().map(rollout).collect();
        policy.update(&with_signal(&all), &decoding, Seed::new(0));
    });
}

/// Own rollouts that all carry a signal, so that an update leaves nothing out.
pub(super) fn with_signal(rollouts: &[Rollout]) -> Vec<TrainingRollout<'_>> {
    let advantages = |n: usize| {
        (0..n)
            .map(|i| if i % 2 == 0 { 1.0 } else { -1.0 })
            .collect()
    };
    let training = |rollout| TrainingRollout {
        rollout,
        advantages: advantages(rollout.completions.len()),
        foreign: false,
    };
    rollouts.iter().map(training).collect()
}
