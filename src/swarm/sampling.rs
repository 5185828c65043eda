//! Completions a few at a time, until they differ: what is solved always or never costs no more than it must tell.

use crate::rollout::{Completion, std};

/// How the completions of a question are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Completions of a rollout (the paper's L).
    pub num_generations: usize,
    /// So many at a time, until rewards differ or there are twice `num_generations`; 0 for a whole group at once.
    pub at_a_time: usize,
    /// Most completions of an agent in a round, beyond the first ones; 0 for any number.
    pub most: usize,
}

impl Sampling {
    /// Most completions of one question.
    pub(super) fn most_of_a_question(&self) -> usize {
        match self.at_a_time {
            0 => self.num_generations,
            _ => 2 * self.num_generations,
        }
    }

    /// How many questions may still be given so many completions each where some have been generated.
    pub(super) fn questions_left(&self, generated: usize, each: usize) -> usize {
        match self.most {
            0 => usize::MAX,
            most => most.saturating_sub(generated) / each.max(1),
        }
    }
}

/// The completions of a question so far, with their rewards.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) completions: Vec<Completion>,
    pub(super) rewards: Vec<f64>,
}

impl Group {
    pub(super) fn is_divided(&self) -> bool {
        self.rewards.iter().any(|r| *r != self.rewards[0])
    }

    /// Splits off all but so many completions, those whose rewards vary most: the lowest and the highest. The order of
    /// both parts is that in which they were generated.
    pub(super) fn split(self, count: usize) -> (Self, Self) {
        if self.rewards.len() <= count {
            return (self, Self::default());
        }
        let mut order: Vec<usize> = (0..self.rewards.len()).collect();
        order.sort_by(|&a, &b| self.rewards[a].total_cmp(&self.rewards[b]));
        let all = order.len();
        let ends = |low: usize| {
            order[..low]
                .iter()
                .chain(&order[all - (count - low)..])
                .copied()
        };
        let spread = |low: usize| std(&ends(low).map(|i| self.rewards[i]).collect::<Vec<f64>>());
        // of equal ones the most even; the last of equals wins
        let even = |low: usize| std::cmp::Reverse(low.abs_diff(count / 2));
        let best = (0..=count)
            .max_by(|&a, &b| spread(a).total_cmp(&spread(b)).then(even(a).cmp(&even(b))));
        let kept: Vec<usize> = ends(best.unwrap_or(0)).collect();
        let (mut first, mut rest) = (Self::default(), Self::default());
        for (i, (completion, reward)) in self.completions.into_iter().zip(self.rewards).enumerate()
        {
            let part = if kept.contains(&i) {
                &mut first
            } else {
                &mut rest
            };
            part.completions.push(completion);
            part.rewards.push(reward);
        }
        (first, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::{AuthorLogprobs, FinishReason};

    fn group(rewards: &[f64]) -> Group {
        let completion = |i: usize| Completion {
            text: i.to_string(),
            finish_reason: FinishReason::Stop,
            tokens: Vec::new(),
            logprobs: AuthorLogprobs::Untold,
        };
        Group {
            completions: (0..rewards.len()).map(completion).collect(),
            rewards: rewards.to_vec(),
        }
    }

    #[test]
    fn what_is_kept_varies_most_and_keeps_its_order() {
        let split = |rewards: &[f64], count| {
            let (kept, rest) = group(rewards).split(count);
            let texts: Vec<String> = kept.completions.into_iter().map(|c| c.text).collect();
            (kept.rewards, texts.concat(), rest.rewards)
        };
        let all_right_but_two = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0];
        let (kept, _, rest) = split(&all_right_but_two, 4);
        assert_eq!((kept, rest), (vec![0.0, 1.0, 1.0, 0.0], vec![1.0, 1.0]));
        assert_eq!(
            split(&[0.0, 0.1, 1.0], 2),
            (vec![0.0, 1.0], "02".into(), vec![0.1])
        );
        assert_eq!(split(&[0.5; 3], 5), (vec![0.5; 3], "012".into(), vec![]));
    }
}
