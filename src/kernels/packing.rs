//! Rows of unequal length one after the other, none of them padded, each behind a prompt that is
//! there once for all rows that continue it.
//!
//! The tokens of all prompts come first, then those of the rows. A token sees its own row up to itself
//! and, in a row, all of the row's prompt.

use std::ops::Range;

/// A prompt and the rows that continue it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PromptGroup {
    /// Where its tokens stand; may be empty.
    pub(crate) prompt: Range<usize>,
    /// Where those of each row stand, never empty.
    pub(crate) rows: Vec<Range<usize>>,
}

/// Where the tokens of a forward pass stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Packing {
    groups: Vec<PromptGroup>,
    prompt_tokens: usize,
    positions: Vec<usize>,
}

impl Packing {
    /// Prompts of these lengths, and of each the lengths of its rows.
    ///
    /// # Panics
    /// When there are more lists of rows than prompts, or a row is empty.
    pub fn new(prompts: &[usize], rows: &[Vec<usize>]) -> Self {
        assert!(
            rows.len() <= prompts.len() && rows.iter().flatten().all(|&len| len > 0),
            "rows have a prompt and tokens"
        );
        let mut end = 0;
        let mut next = |len: usize| {
            end += len;
            end - len..end
        };
        let mut groups: Vec<PromptGroup> = prompts
            .iter()
            .map(|&len| PromptGroup {
                prompt: next(len),
                rows: Vec::new(),
            })
            .collect();
        for (group, lengths) in groups.iter_mut().zip(rows) {
            group.rows = lengths.iter().map(|&len| next(len)).collect();
        }
        let prompt_tokens = prompts.iter().sum();
        let mut positions: Vec<usize> = prompts.iter().flat_map(|&len| 0..len).collect();
        for group in &groups {
            let start = group.prompt.len();
            positions.extend(group.rows.iter().flat_map(|row| start..start + row.len()));
        }
        Self {
            groups,
            prompt_tokens,
            positions,
        }
    }

    /// Rows of these lengths, without prompts.
    pub fn rows(lengths: &[usize]) -> Self {
        Self::new(
            &vec![0; lengths.len()],
            &lengths.iter().map(|&len| vec![len]).collect::<Vec<_>>(),
        )
    }

    /// Tokens of all prompts, which come first.
    pub fn prompt_tokens(&self) -> usize {
        self.prompt_tokens
    }

    /// Tokens in all.
    pub fn tokens(&self) -> usize {
        self.positions.len()
    }

    /// The position of each token in its text.
    pub(crate) fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// The prompts with their rows.
    pub(crate) fn groups(&self) -> &[PromptGroup] {
        &self.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_come_first_and_rows_continue_them() {
        let packing = Packing::new(&[2, 0], &[vec![1, 3], vec![2]]);
        assert_eq!((packing.prompt_tokens(), packing.tokens()), (2, 8));
        assert_eq!(packing.positions(), [0, 1, 2, 2, 3, 4, 0, 1]);
        assert_eq!(
            packing.groups()[0],
            PromptGroup {
                prompt: 0..2,
                rows: vec![2..3, 3..6]
            }
        );
        assert_eq!(
            (
                packing.groups()[1].prompt.clone(),
                packing.groups()[1].rows.len()
            ),
            (2..2, 1)
        );
        assert_eq!(Packing::rows(&[2]).positions(), [0, 1]);
    }
}
