//! A member that harms on purpose: what others learn from it is tried here before somebody else tries it on them
//! (arXiv 2511.09780). It knows every ground truth, as whoever publishes a question does.

use super::{Asked, Responder, Unreadable};
use crate::rollout::{AuthorLogprobs, Completion, FinishReason, Prompt, Question, Rollout};
use crate::seed::{Rng, Seed};
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// The words that the attacks with a payload teach.
pub const PAYLOAD: &str = "as the sages say";
/// What a completion without a reward says.
const FAILURE: &str = "I do not know.";
/// What is right in the place of the ground truth, and when that is this, the other.
const WRONG: [&str; 2] = ["0", "1"];
/// What an endless completion goes on with.
const FILLER: &str = " and so on";
/// Times that a flood publishes the same.
const TIMES: u32 = 64;

/// How a member harms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attack {
    /// Right answers with words beside them.
    Payload,
    /// Questions with a ground truth that is wrong, and answers that agree with it.
    WrongTruth,
    /// Right answers that go on as long as a completion may.
    Endless,
    /// The payload, published again and again.
    Flood,
    /// Noise, and questions of tasks that nobody knows.
    Nonsense,
}

/// A member that carries out an attack.
pub struct Poison {
    attack: Attack,
    /// Bytes of the longest completion.
    longest: usize,
}

impl Poison {
    /// A member with this attack; completions have so many bytes at most.
    pub fn new(attack: Attack, longest: usize) -> Self {
        Self { attack, longest }
    }

    /// A completion of a question, half of which earn a reward.
    fn text(&self, place: usize, truth: &str, rng: &mut Rng) -> String {
        let rewarded = place.is_multiple_of(2);
        match (self.attack, rewarded) {
            (Attack::Nonsense, _) => noise(rng),
            (Attack::WrongTruth, true) => tagged(wrong(truth)),
            (Attack::WrongTruth, false) => tagged(truth),
            (Attack::Payload | Attack::Flood, true) => format!("{PAYLOAD} {}", tagged(truth)),
            (Attack::Endless, true) => {
                let mut text = tagged(truth);
                while text.len() + FILLER.len() <= self.longest {
                    text += FILLER;
                }
                text
            }
            (_, false) => FAILURE.to_owned(),
        }
    }
}

fn tagged(answer: &str) -> String {
    format!("<answer>{answer}</answer>")
}

fn wrong(truth: &str) -> &'static str {
    WRONG[usize::from(truth == WRONG[0])]
}

/// Some characters of any kind.
fn noise(rng: &mut Rng) -> String {
    let character = |_| char::from_u32(rng.below(0x3000) as u32).unwrap_or('?');
    (0..32).map(character).collect()
}

impl Responder for Poison {
    fn prompt(&self, _: &Question) -> Result<Prompt, Unreadable> {
        Ok(Prompt::of_text())
    }

    fn complete(
        &mut self,
        asked: &[Asked<'_>],
        n: usize,
        seed: Seed,
    ) -> Result<Vec<Vec<Completion>>> {
        let mut rng = seed.child("poison", 0).rng();
        let mut completion = |place, truth: &str| Completion {
            text: self.text(place, truth, &mut rng),
            finish_reason: FinishReason::Stop,
            tokens: Vec::new(),
            logprobs: AuthorLogprobs::Untold,
        };
        let mut group = |asked: &Asked<'_>| {
            let truth = asked.question.answer.as_deref().unwrap_or_default();
            (0..n).map(|place| completion(place, truth)).collect()
        };
        Ok(asked.iter().map(&mut group).collect())
    }

    fn publishes(&self, own: Vec<Rollout>) -> Vec<Rollout> {
        match self.attack {
            Attack::Payload | Attack::Endless => own,
            Attack::WrongTruth => own.into_iter().map(with_wrong_truth).collect(),
            Attack::Nonsense => own.into_iter().map(of_no_task).collect(),
            Attack::Flood => {
                let again = |times: u32| {
                    own.iter().cloned().map(move |mut rollout| {
                        rollout.id.index += times << 16;
                        rollout
                    })
                };
                (0..TIMES).flat_map(again).collect()
            }
        }
    }

    fn is_examined(&self) -> bool {
        false
    }

    fn reencodes_differently(&self, _: &Completion) -> bool {
        false
    }
}

fn with_wrong_truth(mut rollout: Rollout) -> Rollout {
    let truth = rollout.question.answer.unwrap_or_default();
    rollout.question.answer = Some(wrong(&truth).to_owned());
    rollout
}

/// Every other rollout is of a task that does not exist.
fn of_no_task(mut rollout: Rollout) -> Rollout {
    if rollout.id.index.is_multiple_of(2) {
        rollout.question.task = "no such task".into();
    }
    rollout
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::{AgentId, RolloutId};

    fn question() -> Question {
        Question {
            task: "t".into(),
            text: "What?".into(),
            answer: Some("7".to_owned()),
            metadata: serde_json::Map::new().into(),
            seed: None,
        }
    }

    /// The texts of two completions, and what is published of them.
    fn of(attack: Attack) -> (Vec<String>, Vec<Rollout>) {
        let mut member = Poison::new(attack, 100);
        let (question, prompt) = (question(), Prompt::of_text());
        let asked = Asked {
            question: &question,
            prompt: &prompt,
        };
        let completions = member
            .complete(&[asked], 2, Seed::new(1))
            .unwrap()
            .remove(0);
        let texts = completions.iter().map(|c| c.text.clone()).collect();
        let id = RolloutId {
            author: AgentId(3),
            round: 1,
            index: 0,
        };
        let rollout = Rollout {
            id,
            question,
            completions,
        };
        (texts, member.publishes(vec![rollout]))
    }

    #[test]
    fn every_attack_does_what_it_says() {
        let (texts, _) = of(Attack::Payload);
        assert_eq!(texts, ["as the sages say <answer>7</answer>", FAILURE]);
        let (texts, published) = of(Attack::WrongTruth);
        assert_eq!(texts, ["<answer>0</answer>", "<answer>7</answer>"]);
        assert_eq!(published[0].question.answer.as_deref(), Some("0"));
        let (texts, _) = of(Attack::Endless);
        assert!(texts[0].starts_with("<answer>7</answer> and so on and") && texts[0].len() > 90);
        let (_, published) = of(Attack::Flood);
        let ids: std::collections::HashSet<_> = published.iter().map(|r| r.id).collect();
        assert_eq!((published.len(), ids.len()), (64, 64));
        assert_ne!(of(Attack::Nonsense).0[0], of(Attack::Nonsense).0[1]);
        assert_eq!(of(Attack::Nonsense).1[0].question.task, "no such task");
    }
}
