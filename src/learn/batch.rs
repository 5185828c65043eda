//! Ragged examples as rectangular tensors, each distinct prompt computed once.
//!
//! Completion rows stand in blocks of one prompt. A row is fed its prompt's last token and its
//! completion but for the last token, so the hidden state at column `t` predicts completion token
//! `t`; only those states, and none of the padding, leave this file.

use crate::model::{Decoder, indices, padded_tokens};
use burn::tensor::{Device, Int, Tensor};
use std::collections::HashMap;

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
}

/// The layout of a batch of examples.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    examples: &'a [&'a Example],
    /// Distinct prompts in order of appearance.
    prompts: Vec<&'a [u32]>,
    /// The prompt of each block.
    blocks: Vec<usize>,
    /// Rows a block.
    group: usize,
    /// The example of each row; `None` fills a block up.
    rows: Vec<Option<usize>>,
    /// Tokens of the longest completion.
    seq: usize,
}

impl<'a> Batch<'a> {
    /// # Panics
    /// When there is no example or an example has an empty prompt.
    pub(crate) fn new(examples: &'a [&'a Example]) -> Self {
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut prompts: Vec<&[u32]> = Vec::new();
        let mut known: HashMap<&[u32], usize> = HashMap::new();
        for (index, example) in examples.iter().enumerate() {
            assert!(!example.prompt.is_empty(), "example {index} has an empty prompt");
            let prompt = *known.entry(&example.prompt).or_insert_with(|| {
                prompts.push(&example.prompt);
                members.push(Vec::new());
                prompts.len() - 1
            });
            members[prompt].push(index);
        }
        let group = best_group(&members.iter().map(Vec::len).collect::<Vec<_>>());
        let (mut blocks, mut rows) = (Vec::new(), Vec::new());
        for (prompt, members) in members.iter().enumerate() {
            for block in members.chunks(group) {
                blocks.push(prompt);
                rows.extend(block.iter().map(|&index| Some(index)));
                rows.resize(blocks.len() * group, None);
            }
        }
        let seq = examples.iter().map(|e| e.completion.len()).max().expect("at least one example");
        Self { examples, prompts, blocks, group, rows, seq }
    }

    /// The completion tokens of all examples, in the order of [`Batch::hidden`]'s rows.
    pub(crate) fn targets(&self) -> Vec<u32> {
        self.order().flat_map(|index| self.examples[index].completion.iter().copied()).collect()
    }

    /// The example that each of those tokens belongs to.
    pub(crate) fn owners(&self) -> Vec<usize> {
        self.order().flat_map(|index| std::iter::repeat_n(index, self.examples[index].completion.len())).collect()
    }

    fn order(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows.iter().filter_map(|row| *row)
    }

    /// The hidden state that predicts each completion token.
    ///
    /// # Shapes
    /// - output: `[tokens, hidden]`
    pub(crate) fn hidden(&self, model: &Decoder) -> Tensor<2> {
        let mut prefix = model.prefill(&self.shortened_prompts());
        if self.repeats_prompts() {
            prefix = prefix.map(|prefix| prefix.select(&self.blocks));
        }
        let mut cache = model.cache(prefix, self.group, 0);
        let (tokens, starts) = self.inputs(&model.device());
        self.predicting(model.hidden(tokens, &starts, &mut cache))
    }

    /// The prompts without their last tokens, which the rows are fed.
    pub(crate) fn shortened_prompts(&self) -> Vec<&[u32]> {
        self.prompts.iter().map(|p| &p[..p.len() - 1]).collect()
    }

    /// The prompt of each block.
    pub(crate) fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// Rows a block.
    pub(crate) fn group(&self) -> usize {
        self.group
    }

    /// True unless every block has a prompt of its own, in order.
    pub(crate) fn repeats_prompts(&self) -> bool {
        self.blocks.iter().enumerate().any(|(block, &prompt)| block != prompt)
    }

    fn completion(&self, row: usize) -> &[u32] {
        self.rows[row].map_or(&[][..], |index| &self.examples[index].completion)
    }

    /// What the rows are fed, and the position of the first token of each.
    ///
    /// # Shapes
    /// - output: `[rows, seq]`
    pub(crate) fn inputs(&self, device: &Device) -> (Tensor<2, Int>, Vec<usize>) {
        let mut inputs = Vec::with_capacity(self.rows.len());
        let mut starts = Vec::with_capacity(self.rows.len());
        for row in 0..self.rows.len() {
            let prompt = self.prompts[self.blocks[row / self.group]];
            let completion = self.completion(row);
            let mut input = vec![prompt[prompt.len() - 1]];
            input.extend(&completion[..completion.len().saturating_sub(1)]);
            inputs.push(input);
            starts.push(prompt.len() - 1);
        }
        let inputs: Vec<&[u32]> = inputs.iter().map(Vec::as_slice).collect();
        (padded_tokens(&inputs, self.seq, device), starts)
    }

    /// Of the hidden states of all rows, those that predict a completion token.
    ///
    /// # Shapes
    /// - hidden: `[rows, seq, hidden]`, output: `[tokens, hidden]`
    pub(crate) fn predicting(&self, hidden: Tensor<3>) -> Tensor<2> {
        let [rows, seq, width] = hidden.dims();
        let of_row = |row: usize| (0..self.completion(row).len()).map(move |t| row * seq + t);
        let places: Vec<usize> = (0..rows).flat_map(of_row).collect();
        let device = hidden.device();
        let hidden = hidden.reshape([rows * seq, width]);
        if places.len() == rows * seq { hidden } else { hidden.select(0, indices(&places, &device)) }
    }
}

/// The block size of the least work, where a block costs about as much as a row.
fn best_group(sizes: &[usize]) -> usize {
    let largest = sizes.iter().copied().max().unwrap_or(1);
    let cost = |group: usize| sizes.iter().map(|size| size.div_ceil(group) * (group + 1)).sum::<usize>();
    (1..=largest).rev().min_by_key(|&group| cost(group)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_one_prompt_and_waste_little() {
        let example = |prompt: &[u32], completion: &[u32]| Example {
            prompt: prompt.into(),
            completion: completion.into(),
            advantage: 1.0,
            truncated: false,
            foreign: false,
        };
        let all = [example(&[1, 2], &[3]), example(&[4], &[5, 6]), example(&[1, 2], &[7, 8, 9]), example(&[4], &[])];
        let refs: Vec<&Example> = all.iter().collect();
        let batch = Batch::new(&refs);
        assert_eq!((batch.group, batch.seq), (2, 3));
        assert_eq!(batch.blocks, [0, 1]);
        assert_eq!(batch.rows, [Some(0), Some(2), Some(1), Some(3)]);
        assert_eq!(batch.targets(), [3, 7, 8, 9, 5, 6]);
        assert_eq!(batch.owners(), [0, 2, 2, 2, 1, 1]);
    }

    #[test]
    fn block_size_fits_uneven_groups() {
        assert_eq!(best_group(&[8, 8, 8]), 8);
        assert_eq!(best_group(&[8, 16, 8]), 8);
        assert_eq!(best_group(&[8, 4]), 4);
        assert_eq!(best_group(&[8, 8, 8, 7]), 8);
        assert_eq!(best_group(&[1]), 1);
    }
}
