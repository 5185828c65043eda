//! Ragged examples as packed rows, each distinct prompt computed once.
//!
//! A row is fed its prompt's last token and its completion but for the last token, so the hidden state at
//! its place `t` predicts completion token `t`, and those of all rows predict all completion tokens.

use crate::kernels::Packing;
use crate::model::Decoder;
use crate::rollout::AuthorLogprobs;
use crate::seed::Seed;
use burn::tensor::Tensor;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// One training row.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Tokens of the prompt, at least one.
    pub prompt: Vec<u32>,
    /// Tokens of the completion, end-of-sequence included unless it was cut off.
    pub completion: Vec<u32>,
    /// The advantage of every token of the completion.
    pub advantage: f64,
    /// True when it was cut off at the longest length.
    pub truncated: bool,
    /// True when another policy wrote it.
    pub foreign: bool,
    /// What that other policy's log-probs were, as far as its author has told them.
    pub author: AuthorLogprobs,
}

/// The layout of a batch of examples.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    examples: &'a [&'a Example],
    /// The example of each row.
    rows: Vec<usize>,
    /// What the model is fed, and where it stands.
    tokens: Vec<u32>,
    packing: Arc<Packing>,
}

impl<'a> Batch<'a> {
    /// Examples without a completion have no row.
    ///
    /// # Panics
    /// When there is no example or an example has an empty prompt.
    pub(crate) fn new(examples: &'a [&'a Example]) -> Self {
        assert!(!examples.is_empty(), "a batch holds at least one example");
        let mut prompts: Vec<&[u32]> = Vec::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut known: HashMap<&[u32], usize> = HashMap::new();
        for (index, example) in examples.iter().enumerate() {
            assert!(
                !example.prompt.is_empty(),
                "example {index} has an empty prompt"
            );
            if example.completion.is_empty() {
                continue;
            }
            let prompt = *known.entry(&example.prompt).or_insert_with(|| {
                prompts.push(&example.prompt);
                members.push(Vec::new());
                prompts.len() - 1
            });
            members[prompt].push(index);
        }
        let mut tokens: Vec<u32> = prompts
            .iter()
            .flat_map(|p| &p[..p.len() - 1])
            .copied()
            .collect();
        for (prompt, members) in prompts.iter().zip(&members) {
            for &index in members {
                let completion = &examples[index].completion;
                tokens.push(prompt[prompt.len() - 1]);
                tokens.extend(&completion[..completion.len() - 1]);
            }
        }
        let lengths = |members: &Vec<usize>| {
            members
                .iter()
                .map(|&index| examples[index].completion.len())
                .collect()
        };
        let rows: Vec<Vec<usize>> = members.iter().map(lengths).collect();
        let prompts: Vec<usize> = prompts.iter().map(|p| p.len() - 1).collect();
        Self {
            examples,
            rows: members.concat(),
            tokens,
            packing: Arc::new(Packing::new(&prompts, &rows)),
        }
    }

    /// The completion tokens of all examples, in the order of [`Batch::hidden`]'s rows.
    pub(crate) fn targets(&self) -> Vec<u32> {
        self.rows
            .iter()
            .flat_map(|&index| self.examples[index].completion.iter().copied())
            .collect()
    }

    /// The example of each row and its completion tokens' place among [`Batch::targets`].
    pub(crate) fn completions(&self) -> Vec<(usize, Range<usize>)> {
        let mut end = 0;
        let row = |&index: &usize| {
            let start = end;
            end += self.examples[index].completion.len();
            (index, start..end)
        };
        self.rows.iter().map(row).collect()
    }

    /// The example that each of those tokens belongs to.
    pub(crate) fn owners(&self) -> Vec<usize> {
        let tokens =
            |&index: &usize| std::iter::repeat_n(index, self.examples[index].completion.len());
        self.rows.iter().flat_map(tokens).collect()
    }

    /// What the model is fed.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Where it stands.
    pub(crate) fn packing(&self) -> &Arc<Packing> {
        &self.packing
    }

    /// The hidden state that predicts each completion token.
    ///
    /// # Shapes
    /// - output: `[completion tokens, hidden]`
    pub(crate) fn hidden(&self, model: &Decoder) -> Tensor<2> {
        model.hidden(&self.tokens, &self.packing)
    }
}

/// Indices of the examples of each optimizer step, `size` at a time; 0 takes all at once. Rows of one
/// prompt stay together; with more than one step per round, the prompts come in random order.
pub(crate) fn minibatches(examples: &[&Example], size: usize, seed: Seed) -> Vec<Vec<usize>> {
    let indices: Vec<usize> = (0..examples.len()).collect();
    if size == 0 || size >= examples.len() {
        return vec![indices];
    }
    let mut groups: Vec<&[usize]> = indices
        .chunk_by(|&a, &b| examples[a].prompt == examples[b].prompt)
        .collect();
    seed.child("minibatches", 0).rng().shuffle(&mut groups);
    groups
        .concat()
        .chunks(size)
        .map(<[usize]>::to_vec)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_behind_their_prompts_and_nothing_is_filled_up() {
        let example = |prompt: &[u32], completion: &[u32]| Example {
            prompt: prompt.into(),
            completion: completion.into(),
            advantage: 1.0,
            truncated: false,
            foreign: false,
            author: AuthorLogprobs::Untold,
        };
        let all = [
            example(&[1, 2], &[3]),
            example(&[4], &[5, 6]),
            example(&[1, 2], &[7, 8, 9]),
            example(&[4], &[]),
        ];
        let refs: Vec<&Example> = all.iter().collect();
        let batch = Batch::new(&refs);
        assert_eq!(batch.tokens(), [1, 2, 2, 7, 8, 4, 5]);
        assert_eq!(
            **batch.packing(),
            Packing::new(&[1, 0], &[vec![1, 3], vec![2]])
        );
        assert_eq!(batch.targets(), [3, 7, 8, 9, 5, 6]);
        assert_eq!(batch.owners(), [0, 2, 2, 2, 1, 1]);
        assert_eq!(batch.completions(), [(0, 0..1), (2, 1..4), (1, 4..6)]);
    }
}
