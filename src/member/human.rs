//! A person at the terminal as a member, who learns nothing here. The others do not wait: a question stays open over as
//! many rounds as it takes, and what is answered belongs to the round in which the answer ends.
//!
//! A line is a completion, an empty line ends the answer; an answer of no lines skips the question. Several lines to a
//! question, right and wrong, are a group that others can learn from.

use super::{Asked, Record, Responder, Unreadable};
use crate::process::{Terminal, Typed, Until};
use crate::rollout::{AuthorLogprobs, Completion, FinishReason, Prompt, Question};
use crate::seed::Seed;
use anyhow::Result;

/// A person who answers.
pub struct Human {
    terminal: Terminal,
    /// Bytes of the longest completion.
    longest: usize,
    greeted: bool,
    open: Option<Open>,
    gone: bool,
    notes: Vec<String>,
}

/// A question that is shown and not yet answered.
struct Open {
    question: Question,
    /// Completions that are asked for.
    wanted: usize,
    lines: Vec<String>,
}

impl Human {
    /// The person at a terminal, and the bytes of the longest completion.
    pub fn new(terminal: Terminal, longest: usize) -> Self {
        Self {
            terminal,
            longest,
            greeted: false,
            open: None,
            gone: false,
            notes: Vec::new(),
        }
    }

    fn show(&mut self, question: &Question, wanted: usize) {
        if !std::mem::replace(&mut self.greeted, true) {
            self.terminal.show(&format!(
                "You are one of the agents. A line is an answer, with or without your reasoning: what stands in the last \
                 <answer> tags counts, or the whole line where there are none. Give up to {wanted} to a question, right \
                 and wrong; an empty line ends, and skips where there is none; \\n within a line is a line break. Ctrl-D leaves the swarm."
            ));
        }
        self.terminal.forget();
        self.terminal
            .show(&format!("\n[{}] {}", question.task, question.text));
        self.open = Some(Open {
            question: question.clone(),
            wanted,
            lines: Vec::new(),
        });
    }

    /// The open question with its answer, if that ends until then; without lines where it was skipped.
    fn answered(&mut self, until: Until) -> Option<(Question, Vec<Completion>)> {
        let open = self.open.as_mut()?;
        while open.lines.len() < open.wanted {
            match self.terminal.line(until) {
                Typed::Line(line) if line.trim().is_empty() => break,
                Typed::Line(line) if line.len() > self.longest => {
                    let (found, most) = (line.len(), self.longest);
                    self.terminal.show(&format!(
                        "not taken: found {found} bytes, expected at most {most}"
                    ));
                }
                Typed::Line(line) => open.lines.push(line),
                Typed::Nothing => return None,
                Typed::Gone => {
                    self.gone = true;
                    self.notes
                        .push("the person has left; the others go on".to_owned());
                    break;
                }
            }
        }
        let open = self.open.take()?;
        let completions = open.lines.iter().map(|line| completion(line)).collect();
        Some((open.question, completions))
    }
}

/// A line as a completion, with its line breaks: the whole of it is the answer where no part is marked as one.
fn completion(line: &str) -> Completion {
    let line = line.replace("\\n", "\n");
    let text = match line.contains("<answer>") {
        true => line,
        false => format!("<answer>{}</answer>", line.trim()),
    };
    Completion {
        text,
        finish_reason: FinishReason::Stop,
        tokens: Vec::new(),
        logprobs: AuthorLogprobs::Untold,
    }
}

impl Responder for Human {
    fn prompt(&self, _: &Question) -> Result<Prompt, Unreadable> {
        Ok(Prompt::of_text())
    }

    fn complete(&mut self, asked: &[Asked<'_>], n: usize, _: Seed) -> Result<Vec<Vec<Completion>>> {
        let mut groups = vec![Vec::new(); asked.len()];
        let until = self.terminal.until();
        for (group, asked) in groups.iter_mut().zip(asked) {
            if self.gone || self.open.is_some() {
                break;
            }
            self.show(asked.question, n);
            if let Some((_, completions)) = self.answered(until) {
                *group = completions;
            }
        }
        Ok(groups)
    }

    fn brings(&mut self, _: u32) -> Option<Vec<Record>> {
        if self.gone {
            return Some(Vec::new());
        }
        self.open.as_ref()?;
        let answered = self.answered(self.terminal.until());
        let with_lines = answered.filter(|(_, completions)| !completions.is_empty());
        Some(with_lines.into_iter().collect())
    }

    fn reencodes_differently(&self, _: &Completion) -> bool {
        false
    }

    fn is_examined(&self) -> bool {
        false
    }

    fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}
