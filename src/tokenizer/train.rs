//! Training a small tokenizer, for base models that are made from a recipe.

use super::error::Error;
use std::path::Path;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::{AddedToken, TokenizerBuilder};

/// The end-of-sequence token of tokenizers made by [`train`].
pub const END_OF_TEXT: &str = "<|endoftext|>";

/// Trains a byte-level BPE tokenizer in which every digit is its own token, and writes its
/// `tokenizer.json`. The same texts give the same file.
///
/// # Errors
/// When training fails or the file cannot be written.
pub fn train(texts: &[String], vocab_size: usize, dir: &Path) -> Result<(), Error> {
    let file = dir.join("tokenizer.json");
    let fail = |e: tokenizers::Error| Error {
        file: file.clone(),
        problem: format!("cannot be made: {e}"),
    };
    let split = Sequence::new(vec![
        Digits::new(true).into(),
        ByteLevel::new(false, true, true).into(),
    ]);
    let mut tokenizer = TokenizerBuilder::new()
        .with_model(BPE::default())
        .with_normalizer(None::<tokenizers::normalizers::NFC>)
        .with_pre_tokenizer(Some(split))
        .with_post_processor(None::<ByteLevel>)
        .with_decoder(Some(ByteLevel::default()))
        .build()
        .map_err(fail)?;
    let mut trainer = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(vocab_size)
        .special_tokens(vec![AddedToken::from(END_OF_TEXT, true)])
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build();
    tokenizer
        .train(&mut trainer, texts.iter().map(String::as_str))
        .map_err(fail)?;
    tokenizer.save(&file, true).map_err(fail)?;
    Ok(())
}
