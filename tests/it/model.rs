//! The decoder: cached decoding, ragged batches, files in Hugging Face's layout.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use safetensors::SafeTensors;
use sapo::learn::{Decoding, generate};
use sapo::model::weights::{self, Dtype, WeightFiles};
use sapo::model::{Decoder, ModelConfig};
use sapo::rollout::FinishReason;
use sapo::seed::Seed;
use std::path::{Path, PathBuf};

const VOCAB: usize = 40;

fn config(tied: bool) -> ModelConfig {
    serde_json::from_value(serde_json::json!({
        "model_type": "qwen2", "vocab_size": VOCAB, "hidden_size": 24, "intermediate_size": 32,
        "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2, "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0, "tie_word_embeddings": tied, "max_position_embeddings": 64, "eos_token_id": [3, 5]
    }))
    .unwrap()
}

fn model() -> Decoder {
    weights::random(&config(false), Seed::new(3), &Device::flex())
}

fn tokens(seed: u64, len: usize) -> Vec<u32> {
    let mut rng = Seed::new(seed).rng();
    (0..len).map(|_| rng.below(VOCAB as u64) as u32).collect()
}

fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().unwrap()
}

/// Logits after each token of a row, from one forward pass.
fn full(model: &Decoder, row: &[u32]) -> Vec<f32> {
    floats(model.forward(row))
}

fn assert_close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() < 1e-4, "{x} is not {y}");
    }
}

/// The models of the reference implementation: Qwen2, Qwen3 and Llama, tied or not, in every type and in shards.
fn golden_models() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/models");
    let mut dirs: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    dirs.sort();
    assert!(dirs.len() >= 15);
    dirs
}

fn open(dir: &Path) -> (ModelConfig, WeightFiles) {
    let mut config = ModelConfig::load(&dir.join("config.json")).unwrap();
    let files = WeightFiles::open(dir, &config).unwrap();
    config.tie_word_embeddings &= !files.has_own_head().unwrap();
    (config, files)
}

#[test]
fn logits_and_greedy_tokens_equal_those_of_the_reference_implementation() {
    for dir in golden_models() {
        let (config, files) = open(&dir);
        let model = weights::load(&files, &config, &Device::flex()).unwrap();
        let golden: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(dir.join("computed.json")).unwrap())
                .unwrap();
        let rows: Vec<Vec<u32>> = serde_json::from_value(golden["rows"].clone()).unwrap();
        let logits: Vec<Vec<Vec<f32>>> = serde_json::from_value(golden["logits"].clone()).unwrap();
        for (row, expected) in rows.iter().zip(logits) {
            assert_close(&full(&model, row), &expected.concat());
        }
        let greedy: Vec<Vec<u32>> = serde_json::from_value(golden["greedy"].clone()).unwrap();
        let groups = generate(&model, &rows, 1, &decoding(0.0, 32), &[], Seed::new(1));
        for (group, expected) in groups.iter().zip(greedy) {
            let ids: Vec<u32> = group[0].tokens.iter().map(|token| token.id).collect();
            assert_eq!(ids, expected, "{}", dir.display());
        }
    }
}

#[test]
fn weights_survive_loading_and_saving_byte_for_byte() {
    for dir in golden_models() {
        let (config, files) = open(&dir);
        let model = weights::load(&files, &config, &Device::flex()).unwrap();
        let saved = tempfile::tempdir().unwrap();
        weights::save(&model, saved.path(), |name| files.dtype(name)).unwrap();
        let after = std::fs::read(saved.path().join("model.safetensors")).unwrap();
        let after = SafeTensors::deserialize(&after).unwrap();
        let files = std::fs::read_dir(&dir)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut tensors = 0;
        for file in files.filter(|file| file.extension().is_some_and(|end| end == "safetensors")) {
            let before = std::fs::read(file).unwrap();
            for (name, view) in SafeTensors::deserialize(&before).unwrap().iter() {
                // of a tied pair the embedding is kept, whichever of the two there was
                let names = [name, &format!("model.{name}"), "model.embed_tokens.weight"];
                let found = names.iter().find_map(|name| after.tensor(name).ok());
                assert_eq!(found.unwrap(), view, "{name}");
                tensors += 1;
            }
        }
        assert_eq!(after.len(), tensors, "{}", dir.display());
    }
}

#[test]
fn cached_decoding_equals_the_full_forward_at_every_step() {
    let model = model();
    let row = tokens(1, 12);
    let expected = full(&model, &row);
    let mut cache = model.start(&[&[]], 1, 12);
    for (t, &token) in row.iter().enumerate() {
        let logits = floats(model.step(&[token], &mut cache));
        assert_close(&logits, &expected[t * VOCAB..(t + 1) * VOCAB]);
    }
    assert!(
        expected.iter().any(|x| x.abs() > 0.5),
        "logits are far from flat"
    );
}

#[test]
fn a_row_of_a_ragged_batch_equals_that_row_alone() {
    let model = model();
    // prompts of 3, 11 and 1 tokens, two rows each, eight steps of decoding over the shared prompts
    let prompts = [tokens(1, 3), tokens(2, 11), tokens(3, 1)];
    let prefixes: Vec<&[u32]> = prompts.iter().map(|p| &p[..p.len() - 1]).collect();
    let mut cache = model.start(&prefixes, 2, 8);
    let continuations: Vec<Vec<u32>> = (0..6).map(|row| tokens(10 + row, 7)).collect();
    for t in 0..8 {
        let fed = |row: usize| {
            if t == 0 {
                *prompts[row / 2].last().unwrap()
            } else {
                continuations[row][t - 1]
            }
        };
        let last: Vec<u32> = (0..6).map(fed).collect();
        let logits = floats(model.step(&last, &mut cache));
        for row in 0..6 {
            let whole: Vec<u32> = prompts[row / 2]
                .iter()
                .chain(&continuations[row][..t])
                .copied()
                .collect();
            let alone = full(&model, &whole);
            assert_close(
                &logits[row * VOCAB..(row + 1) * VOCAB],
                &alone[alone.len() - VOCAB..],
            );
        }
    }
}

fn decoding(temperature: f64, max_completion_length: usize) -> Decoding {
    Decoding {
        temperature,
        top_k: 0,
        top_p: 1.0,
        max_completion_length,
    }
}

#[test]
fn rows_end_on_any_eos_and_do_not_depend_on_their_neighbours() {
    let model = model();
    let prompts = vec![tokens(1, 3), tokens(2, 11), tokens(3, 1), tokens(4, 6)];
    let groups = generate(
        &model,
        &prompts,
        8,
        &decoding(1.0, 20),
        &[3, 5],
        Seed::new(8),
    );
    let (mut lengths, mut endings) = (Vec::new(), std::collections::HashSet::new());
    for group in &groups {
        for row in group {
            let ids: Vec<u32> = row.tokens.iter().map(|t| t.id).collect();
            let (last, before) = ids.split_last().unwrap();
            assert!(
                before.iter().all(|id| ![3, 5].contains(id)),
                "nothing follows an end"
            );
            let stopped = [3, 5].contains(last);
            assert_eq!(
                row.finish_reason,
                if stopped {
                    FinishReason::Stop
                } else {
                    FinishReason::Length
                }
            );
            assert!(stopped || ids.len() == 20);
            lengths.push(ids.len());
            endings.insert(stopped.then_some(*last));
        }
    }
    assert_eq!(
        endings.len(),
        3,
        "both ends and the longest length occur: {endings:?}"
    );
    assert!(
        lengths.iter().any(|l| *l < 10),
        "rows end at different times"
    );
    let alone = generate(
        &model,
        &prompts[..1],
        8,
        &decoding(1.0, 20),
        &[3, 5],
        Seed::new(8),
    );
    for (a, b) in alone[0].iter().zip(&groups[0]) {
        let ids = |g: &sapo::learn::Generated| g.tokens.iter().map(|t| t.id).collect::<Vec<_>>();
        assert_eq!(ids(a), ids(b), "dropping ended rows changes no other row");
    }
}

#[test]
fn completions_of_a_group_differ_and_continue_their_own_prompt() {
    let model = model();
    let prompts = vec![tokens(1, 3), tokens(2, 5)];
    let groups = generate(&model, &prompts, 16, &decoding(3.0, 1), &[3], Seed::new(8));
    for group in &groups {
        let firsts: std::collections::HashSet<u32> = group.iter().map(|g| g.tokens[0].id).collect();
        assert!(firsts.len() > 1, "a first token each, not one for all");
    }
    let greedy = generate(&model, &prompts, 1, &decoding(0.0, 5), &[], Seed::new(1));
    for (prompt, group) in prompts.iter().zip(greedy) {
        let mut row = prompt.clone();
        for token in &group[0].tokens {
            let logits = full(&model, &row);
            let last = &logits[logits.len() - VOCAB..];
            let best = last
                .iter()
                .enumerate()
                .max_by(|a, b| a.1.total_cmp(b.1))
                .unwrap()
                .0;
            assert_eq!(token.id as usize, best);
            row.push(token.id);
        }
    }
}

#[test]
fn saving_and_loading_changes_no_byte() {
    for tied in [true, false] {
        let config = config(tied);
        let decoder = weights::random(&config, Seed::new(1), &Device::flex().autodiff());
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        weights::save(&decoder, a.path(), |_| Dtype::F32).unwrap();
        config.save(a.path()).unwrap();
        let (read, files) = open(a.path());
        assert_eq!(read.eos_token_ids(Some(a.path())).unwrap(), [3, 5]);
        let again = weights::load(&files, &read, &Device::flex().autodiff()).unwrap();
        weights::save(&again.valid(), b.path(), |_| Dtype::F32).unwrap();
        read.save(b.path()).unwrap();
        for file in ["model.safetensors", "config.json"] {
            let bytes = |dir: &Path| std::fs::read(dir.join(file)).unwrap();
            assert_eq!(bytes(a.path()), bytes(b.path()), "{file}");
        }
    }
}
