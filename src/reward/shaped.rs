//! A reward with terms for form and length added to it: an agent's taste.

use super::Reward;
use crate::rollout::{Completion, FinishReason, Question};
use serde::{Deserialize, Serialize};

/// What is added to a reward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shape {
    /// Where the completion has the rewarded form: with an answer in tags.
    pub form: f64,
    /// For each character of the completion; below 0 the short are better.
    pub character: f64,
    /// Where the completion was cut off.
    pub cut_off: f64,
}

/// A reward and what is added to it.
pub struct Shaped {
    inner: Box<dyn Reward>,
    shape: Shape,
}

impl Shaped {
    /// A reward with these terms.
    pub fn new(inner: Box<dyn Reward>, shape: Shape) -> Self {
        Self { inner, shape }
    }

    fn terms(&self, completion: &Completion) -> f64 {
        let Shape {
            form,
            character,
            cut_off,
        } = self.shape;
        let when = |applies: bool, term: f64| if applies { term } else { 0.0 };
        let characters = completion.text.chars().count() as f64;
        when(self.inner.has_form(completion), form)
            + character * characters
            + when(completion.finish_reason == FinishReason::Length, cut_off)
    }
}

impl Reward for Shaped {
    fn score(&mut self, question: &Question, completions: &[Completion]) -> Option<Vec<f64>> {
        let rewards = self.inner.score(question, completions)?;
        let all = rewards.into_iter().zip(completions);
        Some(
            all.map(|(reward, completion)| reward + self.terms(completion))
                .collect(),
        )
    }

    fn has_form(&self, completion: &Completion) -> bool {
        self.inner.has_form(completion)
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.inner.take_notes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::AuthorLogprobs;

    struct Ones;

    impl Reward for Ones {
        fn score(&mut self, _: &Question, completions: &[Completion]) -> Option<Vec<f64>> {
            Some(vec![1.0; completions.len()])
        }

        fn has_form(&self, completion: &Completion) -> bool {
            completion.text.starts_with('<')
        }
    }

    #[test]
    fn terms_are_added_by_hand() {
        let completion = |text: &str, finish_reason| Completion {
            text: text.into(),
            finish_reason,
            tokens: Vec::new(),
            logprobs: AuthorLogprobs::Untold,
        };
        let question = Question {
            task: "t".into(),
            text: String::new(),
            answer: None,
            metadata: serde_json::Map::new().into(),
            seed: None,
        };
        let shape = Shape {
            form: 0.5,
            character: -0.125,
            cut_off: -2.0,
        };
        let given = [
            completion("<é", FinishReason::Stop),
            completion("", FinishReason::Stop),
            completion("1234", FinishReason::Length),
        ];
        let rewards = Shaped::new(Box::new(Ones), shape).score(&question, &given);
        assert_eq!(rewards.unwrap(), [1.25, 1.0, -1.5]);
    }
}
