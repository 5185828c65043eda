//! Which questions are asked: the tasks of the swarm, and the split into training and held-out.
//!
//! A question belongs to the held-out part or to training by the hash of its text, so the two can
//! never share one, whatever the seeds.

use crate::rollout::Question;
use crate::seed::{Rng, Seed};
use crate::task::{Task, score_completion};
use sha2::{Digest, Sha256};

/// The two parts of all questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Seven eighths.
    Training,
    /// One eighth.
    HeldOut,
}

/// The part that a question belongs to.
pub fn split_of(question: &Question) -> Split {
    if Sha256::digest(&question.text)[0] < 32 { Split::HeldOut } else { Split::Training }
}

/// Questions drawn until one belongs to the wanted part.
const ATTEMPTS: u64 = 10_000;

/// The tasks of the swarm.
pub struct Tasks(Vec<Box<dyn Task>>);

impl Tasks {
    /// All tasks, equally likely.
    ///
    /// # Panics
    /// When there is none.
    pub fn new(tasks: Vec<Box<dyn Task>>) -> Self {
        assert!(!tasks.is_empty(), "a swarm needs a task");
        Self(tasks)
    }

    /// Their names, in order.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|task| task.name().to_owned()).collect()
    }

    /// The question that belongs to a seed: a task, all equally likely, and a fresh instance of it.
    ///
    /// # Panics
    /// When the task has practically no question in this part; see [`Tasks::check_splits`].
    pub fn question(&self, split: Split, seed: Seed) -> Question {
        let task = self.choose(&mut seed.child("task", 0).rng());
        instance(task, split, seed).unwrap_or_else(|| panic!("task {} has no {split:?} question", task.name()))
    }

    fn choose(&self, rng: &mut Rng) -> &dyn Task {
        rng.choose(&self.0).as_ref()
    }

    /// The score of a completion by this swarm's own verifiers; `None` when it lacks the task.
    pub fn score(&self, question: &Question, completion: &str) -> Option<f64> {
        let task = self.0.iter().find(|task| task.name() == question.task)?;
        Some(score_completion(task.as_ref(), question, completion))
    }

    /// # Errors
    /// Names the task whose questions are so few that one of the parts is nearly empty.
    pub fn check_splits(&self) -> Result<(), String> {
        const PROBES: u64 = 400;
        for task in &self.0 {
            let questions = (0..PROBES).map(|i| task.question(Seed::new(0).child("probe", i)));
            let held_out = questions.filter(|q| split_of(q) == Split::HeldOut).count() as u64;
            if !(4..=PROBES - 4).contains(&held_out) {
                return Err(format!(
                    "tasks.{}: {held_out} of {PROBES} questions are held out, expected about one in eight: \
                     the task as configured has too few different questions",
                    task.name()
                ));
            }
        }
        Ok(())
    }
}

fn instance(task: &dyn Task, split: Split, seed: Seed) -> Option<Question> {
    let attempts = (0..ATTEMPTS).map(|i| task.question(seed.child("attempt", i)));
    attempts.into_iter().find(|question| split_of(question) == split)
}
