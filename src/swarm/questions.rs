//! Which questions are asked: the tasks of the swarm, and the split into training and held-out.
//!
//! A question belongs to the held-out part or to training by the hash of its text, so the two can
//! never share one, whatever the seeds and wherever the question comes from.

use crate::reward::Verifiers;
use crate::rollout::Question;
use crate::seed::Seed;
use crate::task::Task;
use sha2::{Digest, Sha256};
use std::sync::Arc;

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
    if Sha256::digest(&question.text)[0] < 32 {
        Split::HeldOut
    } else {
        Split::Training
    }
}

/// Questions drawn until one belongs to the wanted part.
const ATTEMPTS: u64 = 10_000;

/// How often each task is asked, in proportion: one number per task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskProportions(Vec<f64>);

impl TaskProportions {
    /// # Errors
    /// When one is negative or not finite, or all are zero.
    pub fn new(proportions: Vec<f64>) -> Result<Self, String> {
        let sum: f64 = proportions.iter().sum();
        if proportions.iter().all(|w| *w >= 0.0) && sum > 0.0 && sum.is_finite() {
            return Ok(Self(proportions));
        }
        Err(format!(
            "found {proportions:?}, expected finite numbers of 0 or more, not all 0"
        ))
    }

    /// That of a task.
    pub(super) fn of(&self, task: usize) -> f64 {
        self.0.get(task).copied().unwrap_or(0.0)
    }

    /// The task at `uniform` in `[0, 1)` of the sum.
    fn pick(&self, uniform: f64) -> usize {
        let mut left = uniform * self.0.iter().sum::<f64>();
        let found = self.0.iter().position(|proportion| {
            left -= proportion;
            left < 0.0
        });
        found.unwrap_or_else(|| self.0.iter().rposition(|w| *w > 0.0).unwrap_or(0))
    }
}

/// One task of the swarm and where its questions come from.
struct Entry {
    task: Arc<dyn Task>,
    /// Given questions, by split; without them the task makes its own.
    given: Option<[Vec<Question>; 2]>,
}

/// The tasks of the swarm: what is asked, and who verifies it.
pub struct Tasks {
    entries: Vec<Entry>,
    proportions: TaskProportions,
}

impl Tasks {
    /// Tasks that make their own questions.
    ///
    /// # Panics
    /// When there is not one number per task, or no task.
    pub fn new(tasks: Vec<Arc<dyn Task>>, proportions: TaskProportions) -> Self {
        assert!(
            !tasks.is_empty() && tasks.len() == proportions.0.len(),
            "a swarm needs a task, and each task a proportion"
        );
        Self {
            entries: tasks
                .into_iter()
                .map(|task| Entry { task, given: None })
                .collect(),
            proportions,
        }
    }

    /// The same tasks, with these questions instead of their own. Questions of other tasks are left out.
    #[must_use]
    pub fn with_questions(mut self, questions: &[Question]) -> Self {
        for entry in &mut self.entries {
            let of = |split| {
                let wanted = |q: &&Question| q.task == entry.task.name() && split_of(q) == split;
                questions.iter().filter(wanted).cloned().collect()
            };
            entry.given = Some([of(Split::Training), of(Split::HeldOut)]);
        }
        self
    }

    /// Their names, in order.
    pub fn names(&self) -> Vec<String> {
        self.entries
            .iter()
            .map(|entry| entry.task.name().to_owned())
            .collect()
    }

    /// The proportions of the swarm.
    pub fn proportions(&self) -> &TaskProportions {
        &self.proportions
    }

    /// The question that belongs to a seed: a task by its proportion, and an instance of it.
    ///
    /// # Panics
    /// When the task has practically no question in this part; see [`Tasks::check_splits`].
    pub fn question(&self, proportions: &TaskProportions, split: Split, seed: Seed) -> Question {
        let entry = &self.entries[proportions.pick(seed.child("task", 0).rng().uniform())];
        entry
            .question(split, seed)
            .unwrap_or_else(|| panic!("task {} has no {split:?} question", entry.task.name()))
    }

    /// Every given question, or where the tasks make their own, `probes` of each part.
    pub fn some_questions(&self, probes: u64) -> impl Iterator<Item = Question> + '_ {
        let given = self
            .entries
            .iter()
            .filter_map(|entry| entry.given.as_ref())
            .flatten()
            .flatten()
            .cloned();
        let makes_own = self.entries.iter().any(|entry| entry.given.is_none());
        let fresh = (0..if makes_own { probes } else { 0 }).flat_map(|i| {
            [Split::Training, Split::HeldOut].map(|split| {
                self.question(&self.proportions, split, Seed::new(0).child("probe", i))
            })
        });
        given.chain(fresh)
    }

    /// Whether text and ground truth of a question are what its task makes of its seed, or stand among those that were
    /// given.
    pub fn is_authentic(&self, question: &Question) -> bool {
        let same =
            |other: &Question| other.text == question.text && other.answer == question.answer;
        let of_task = |entry: &&Entry| entry.task.name() == question.task;
        self.entries
            .iter()
            .find(of_task)
            .is_some_and(|entry| match (&entry.given, question.seed) {
                (Some(given), _) => given.iter().flatten().any(same),
                (None, Some(seed)) => same(&entry.task.question(seed)),
                (None, None) => false,
            })
    }

    /// The tasks' own verifiers, as a reward.
    pub fn verifiers(&self) -> Verifiers {
        Verifiers::new(self.entries.iter().map(|entry| Arc::clone(&entry.task)))
    }

    /// # Errors
    /// Names the task whose questions are so few that one of the parts is nearly empty.
    pub fn check_splits(&self) -> Result<(), String> {
        self.entries.iter().try_for_each(Entry::check_splits)
    }
}

impl Entry {
    fn question(&self, split: Split, seed: Seed) -> Option<Question> {
        if let Some(given) = &self.given {
            let given = &given[split as usize];
            return (!given.is_empty()).then(|| seed.child("given", 0).rng().choose(given).clone());
        }
        let mut attempts = (0..ATTEMPTS).map(|i| {
            let seed = seed.child("attempt", i);
            Question {
                seed: Some(seed),
                ..self.task.question(seed)
            }
        });
        attempts.find(|question| split_of(question) == split)
    }

    fn check_splits(&self) -> Result<(), String> {
        const PROBES: u64 = 400;
        let name = self.task.name();
        if let Some([training, held_out]) = &self.given {
            if training.is_empty() || held_out.is_empty() {
                let (training, held_out) = (training.len(), held_out.len());
                return Err(format!(
                    "tasks.source: found {training} training and {held_out} held-out questions of {name}, expected at \
                     least one of each"
                ));
            }
            return Ok(());
        }
        let questions = (0..PROBES).map(|i| self.task.question(Seed::new(0).child("probe", i)));
        let held_out = questions.filter(|q| split_of(q) == Split::HeldOut).count() as u64;
        if (4..=PROBES - 4).contains(&held_out) {
            return Ok(());
        }
        Err(format!(
            "tasks.{name}: {held_out} of {PROBES} questions are held out, expected about one in eight: the task as \
             configured has too few different questions"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_come_by_their_proportions() {
        let proportions = TaskProportions::new(vec![1.0, 0.0, 3.0]).unwrap();
        for (uniform, expected) in [(0.0, 0), (0.24, 0), (0.26, 2), (0.999_999, 2)] {
            assert_eq!(proportions.pick(uniform), expected);
        }
        for bad in [
            vec![],
            vec![0.0],
            vec![1.0, -1.0],
            vec![f64::NAN],
            vec![f64::INFINITY],
        ] {
            assert!(TaskProportions::new(bad).is_err());
        }
    }
}
