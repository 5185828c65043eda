//! Model folders that are broken, sharded, or several in one swarm.

use crate::program::{fails, root, sapo};
use burn::tensor::Device;
use sapo::model::ModelConfig;
use sapo::model::weights::{self, Dtype};
use sapo::seed::Seed;
use sapo::tokenizer;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A copy of the base model with one file changed.
pub(crate) fn broken(change: impl FnOnce(&Path)) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(root().join("models/tiny")).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        fs::copy(&path, dir.path().join(path.file_name().unwrap())).unwrap();
    }
    change(dir.path());
    let set = format!("model.path={:?}", dir.path().to_str().unwrap());
    (dir, set)
}

pub(crate) fn rewrite(
    dir: &Path,
    change: impl Fn(&str, Vec<usize>, Vec<u8>) -> Option<(Vec<usize>, Vec<u8>)>,
) {
    let file = dir.join("model.safetensors");
    let bytes = fs::read(&file).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let kept: Vec<_> = tensors
        .iter()
        .filter_map(|(name, view)| {
            Some((name, change(name, view.shape().into(), view.data().into())?))
        })
        .collect();
    let views = kept.iter().map(|(name, (shape, data))| {
        (
            *name,
            safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.clone(), data)
                .unwrap(),
        )
    });
    fs::write(&file, safetensors::serialize(views, None).unwrap()).unwrap();
}

/// Shapes and bytes of tensors by their names.
pub(crate) type Tensors = BTreeMap<String, (Vec<usize>, Vec<u8>)>;

/// Changes the tensors of a model as a whole.
pub(crate) fn rewrite_with(dir: &Path, change: impl FnOnce(&mut Tensors)) {
    let file = dir.join("model.safetensors");
    let bytes = fs::read(&file).unwrap();
    let stored = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors: Tensors = stored
        .iter()
        .map(|(name, view)| (name.to_owned(), (view.shape().into(), view.data().into())))
        .collect();
    change(&mut tensors);
    let views = tensors.iter().map(|(name, (shape, data))| {
        let view =
            safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.clone(), data);
        (name, view.unwrap())
    });
    fs::write(&file, safetensors::serialize(views, None).unwrap()).unwrap();
}

#[test]
fn broken_model_folders_are_named() {
    let check = |change: &dyn Fn(&Path), words: &[&str]| {
        let (_dir, set) = broken(change);
        fails(&["check", "experiments/smoke.toml", "--set", &set], words);
    };
    check(
        &|dir| fs::remove_file(dir.join("model.safetensors")).unwrap(),
        &["model.safetensors", "cannot be read"],
    );
    check(
        &|dir| fs::remove_file(dir.join("tokenizer.json")).unwrap(),
        &["tokenizer.json"],
    );
    check(
        &|dir| fs::write(dir.join("model.safetensors"), "junk").unwrap(),
        &["not a safetensors file"],
    );
    check(
        &|dir| {
            rewrite(dir, |name, shape, data| {
                (!name.ends_with("q_proj.bias")).then_some((shape, data))
            });
        },
        &[
            "model.layers.0.self_attn.q_proj.bias",
            "missing",
            "expected with shape",
        ],
    );
    check(
        &|dir| {
            rewrite(dir, |name, shape, data| {
                if name == "model.norm.weight" {
                    Some((vec![1], data[..4].into()))
                } else {
                    Some((shape, data))
                }
            });
        },
        &["model.norm.weight", "[1]", "config.json asks for"],
    );
    check(
        &|dir| {
            rewrite(dir, |name, shape, mut data| {
                if name == "model.norm.weight" {
                    data[..4].copy_from_slice(&f32::NAN.to_le_bytes());
                }
                Some((shape, data))
            });
        },
        &["model.norm.weight", "not finite"],
    );
    let edit = |from: &'static str, to: &'static str| {
        move |dir: &Path| {
            let file = dir.join("config.json");
            let text = fs::read_to_string(&file).unwrap();
            let line = text.lines().find(|line| line.contains(from)).unwrap();
            fs::write(&file, text.replace(line, to)).unwrap();
        }
    };
    check(
        &edit("\"vocab_size\"", "\"vocab_size\": 100,"),
        &["vocab_size of 100", "tokenizer.json"],
    );
    check(
        &edit("\"model_type\"", "\"model_type\": \"mistral\","),
        &["model_type", "mistral", "\"qwen2\", \"qwen3\" or \"llama\""],
    );
    check(
        &edit("\"hidden_size\"", "\"hidden_size\": \"big\","),
        &["config.json", "invalid type"],
    );
    check(
        &edit("\"eos_token_id\"", "\"eos_token_id\": 1023999,"),
        &["eos_token_id 1023999", "vocab_size 1024"],
    );
    check(
        &edit("\"rope_theta\"", "\"rope_theta\": 0.0,"),
        &["rope_theta", "found 0"],
    );
    let yarn = "\"rope_theta\": 1e4, \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0},";
    check(
        &edit("\"rope_theta\"", yarn),
        &["key `rope_scaling`", "yarn", "\"llama3\""],
    );
    let sliding =
        "\"rope_theta\": 1e4, \"layer_types\": [\"full_attention\", \"sliding_attention\"],";
    check(
        &edit("\"rope_theta\"", sliding),
        &["key `layer_types`", "sliding_attention"],
    );
    let quantized = "\"rope_theta\": 1e4, \"quantization_config\": {\"quant_method\": \"fp8\"},";
    check(
        &edit("\"rope_theta\"", quantized),
        &["key `quantization_config`", "fp8"],
    );
    check(
        &|dir| {
            fs::rename(dir.join("model.safetensors"), dir.join("pytorch_model.bin")).unwrap();
        },
        &[
            "model.safetensors",
            "found pytorch_model.bin",
            "from safetensors alone",
        ],
    );
    let rename = |from: &'static str, to: &'static str| {
        move |dir: &Path| {
            rewrite_with(dir, |tensors| {
                let all = std::mem::take(tensors).into_iter();
                tensors.extend(all.map(|(name, tensor)| (name.replacen(from, to, 1), tensor)));
            });
        }
    };
    check(
        &rename("model.", "_orig_mod.model."),
        &[
            "is missing",
            "found `_orig_mod.model.embed_tokens.weight`",
            "without `_orig_mod.`",
        ],
    );
    check(
        &|dir| {
            rewrite_with(dir, |tensors| {
                let norm = tensors["model.norm.weight"].clone();
                tensors.insert("score.weight".to_owned(), norm);
            });
        },
        &[
            "`score.weight` belongs to no part",
            "a head of another kind",
        ],
    );
    check(
        &|dir| {
            rewrite_with(dir, |tensors| {
                let norm = tensors["model.norm.weight"].clone();
                tensors.insert("norm.weight".to_owned(), norm);
            });
        },
        &["has tensor `norm.weight`, which `model.norm.weight` is too"],
    );
    check(
        &|dir| {
            rewrite_with(dir, |tensors| {
                let norm = tensors["model.norm.weight"].clone();
                tensors.insert("lm_head.weight".to_owned(), norm);
            });
        },
        &[
            "`lm_head.weight` has shape [96]",
            "config.json asks for [1024, 96]",
        ],
    );
}

#[test]
fn damaged_weights_are_named() {
    let check = |change: &dyn Fn(&mut Vec<u8>), words: &[&str]| {
        let (_dir, set) = broken(|dir| {
            let file = dir.join("model.safetensors");
            let mut bytes = fs::read(&file).unwrap();
            change(&mut bytes);
            fs::write(&file, bytes).unwrap();
        });
        fails(&["check", "experiments/smoke.toml", "--set", &set], words);
    };
    check(
        &|bytes| bytes.clear(),
        &["model.safetensors", "has 0 bytes"],
    );
    check(
        &|bytes| bytes.truncate(1000),
        &["model.safetensors", "1000 bytes", "a header of"],
    );
    check(
        &|bytes| bytes.truncate(100_000),
        &["model.safetensors", "not whole"],
    );
    check(
        &|bytes| bytes.extend([0; 3]),
        &["model.safetensors", "not whole"],
    );
    check(
        &|bytes| bytes[..8].fill(0xff),
        &["model.safetensors", "a header of 18446744073709551615"],
    );
    check(
        &|bytes| bytes[..8].copy_from_slice(&99_999_999_u64.to_le_bytes()),
        &["a header of 99999999"],
    );
    check(
        &|bytes| bytes[9] ^= 0x40,
        &["model.safetensors", "its header is wrong"],
    );
    check(
        &|bytes| flip(bytes, b"\"F32\"", b"\"I32\""),
        &["has type I32", "expected F32, F16, BF16 or F64"],
    );
    check(
        &|bytes| flip(bytes, b"[1024,96]", b"[9024,96]"),
        &["model.safetensors", "its header is wrong"],
    );
    check(
        &|bytes| flip(bytes, b"model.norm.weight", b"model.nose.weight"),
        &[
            "`model.norm.weight` is missing",
            "found `model.nose.weight`",
        ],
    );
}

/// Puts other bytes where some stand, once.
fn flip(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let at = bytes
        .windows(from.len())
        .position(|window| window == from)
        .unwrap();
    bytes[at..at + to.len()].copy_from_slice(to);
}

#[test]
fn broken_shards_are_named() {
    let golden = root().join("tests/golden/models/qwen2-sharded");
    let check = |change: &dyn Fn(&Path), words: &[&str]| {
        let (dir, set) = broken(|dir| {
            for entry in fs::read_dir(&golden).unwrap() {
                let path = entry.unwrap().path();
                fs::copy(&path, dir.join(path.file_name().unwrap())).unwrap();
            }
            fs::remove_file(dir.join("model.safetensors")).unwrap();
            // the tokenizer of the base model has 1,024 tokens, this model 32
            tokenizer::train(&["a".to_owned(), "b".to_owned()], 257, dir).unwrap();
            let config = fs::read_to_string(dir.join("config.json")).unwrap();
            fs::write(
                dir.join("config.json"),
                config.replace("\"vocab_size\": 32", "\"vocab_size\": 257"),
            )
            .unwrap();
            change(dir);
        });
        fails(&["check", "experiments/smoke.toml", "--set", &set], words);
        drop(dir);
    };
    let shard = "model-00002-of-00004.safetensors";
    let index = "model.safetensors.index.json";
    check(
        &|_| (),
        &["has shape [32, 16], config.json asks for [257, 16]"],
    );
    check(
        &|dir| fs::remove_file(dir.join(shard)).unwrap(),
        &[shard, "cannot be read"],
    );
    check(
        &|dir| {
            drop(fs::copy(
                dir.join("model-00001-of-00004.safetensors"),
                dir.join(shard),
            ));
        },
        &[shard, "has tensor", "00001-of-00004.safetensors has too"],
    );
    check(
        &|dir| fs::write(dir.join(index), "[]").unwrap(),
        &[index, "weight_map"],
    );
    check(
        &|dir| fs::write(dir.join(index), "{").unwrap(),
        &[index, "is not JSON"],
    );
    let elsewhere = r#"{"weight_map": {"model.norm.weight": "../model.safetensors"}}"#;
    check(
        &|dir| fs::write(dir.join(index), elsewhere).unwrap(),
        &[index, "expected the name of a file"],
    );
    let number = r#"{"weight_map": {"model.norm.weight": 7}}"#;
    check(
        &|dir| fs::write(dir.join(index), number).unwrap(),
        &[index, "found 7"],
    );
}

/// A model of random weights with a tokenizer that cuts text in other places than the base model's.
pub(crate) fn stranger(dir: &Path, tied: bool) {
    let texts: Vec<String> = (0..200)
        .map(|i| format!("<answer>{i}</answer> The answer is {i} days from Monday"))
        .collect();
    tokenizer::train(&texts, 300, dir).unwrap();
    let config: ModelConfig = serde_json::from_value(serde_json::json!({
        "model_type": "qwen3", "vocab_size": 300, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
        "tie_word_embeddings": tied, "max_position_embeddings": 2048, "eos_token_id": 0
    }))
    .unwrap();
    config.save(dir).unwrap();
    weights::save(
        &weights::random(&config, Seed::new(1), &Device::flex()),
        dir,
        |_| Dtype::BF16,
    )
    .unwrap();
}

/// The cells of a column of `rounds.csv`, with the agent of each.
fn column(dir: &Path, name: &str) -> Vec<(usize, String)> {
    let mut reader = csv::Reader::from_path(dir.join("runs/2-2/seed-1/rounds.csv")).unwrap();
    let headers = reader.headers().unwrap().clone();
    let place = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let row = |row: csv::StringRecord| {
        (
            row[place("agent")].parse().unwrap(),
            row[place(name)].to_owned(),
        )
    };
    reader
        .records()
        .map(|record| row(record.unwrap()))
        .collect()
}

#[test]
fn models_with_other_tokenizers_share_text_and_are_saved() {
    let (other, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    stranger(other.path(), true);
    let agent = format!(
        "swarm.agent=[{{agents=[1], model={:?}}}]",
        other.path().to_str().unwrap()
    );
    let out = out.path().join("mixed");
    let mut args = vec![
        "run",
        "experiments/smoke.toml",
        "--out",
        out.to_str().unwrap(),
        "--set",
        &agent,
    ];
    for set in [
        "rounds=2",
        "model.path=models/strong",
        "swarm.agents=2",
        "mixes=[{local=2,external=2}]",
        "swarm.selection=uniform",
        "train.beta=0.01",
        "eval.every=0",
        "eval.questions=0",
        "model.save=true",
    ] {
        args.extend(["--set", set]);
    }
    sapo(&args).assert().success();
    assert!(
        column(&out, "external_groups")
            .iter()
            .all(|(_, cell)| cell == "2")
    );
    for (agent, cell) in column(&out, "foreign_logp") {
        // the stranger has 300 tokens, all about as likely; what it says is unlikely to the base model
        let logp: f64 = cell.parse().unwrap();
        assert!(
            if agent == 1 {
                (-8.0..-3.0).contains(&logp)
            } else {
                logp < -1.0
            },
            "{agent}: {logp}"
        );
    }
    let differs = |agent: usize| {
        column(&out, "reencode_mismatch_frac")
            .into_iter()
            .filter(move |(a, _)| *a == agent)
            .map(|(_, cell)| cell)
    };
    assert!(differs(0).all(|cell| cell.parse::<f64>().unwrap() < 0.5));
    assert!(
        differs(1).all(|cell| cell.parse::<f64>().unwrap() > 0.5),
        "random tokens make text that is cut elsewhere"
    );

    let saved = out.join("runs/2-2/seed-1/models");
    for (agent, from) in [
        (0, root().join("models/strong")),
        (1, other.path().to_owned()),
    ] {
        let dir = saved.join(format!("agent-{agent}"));
        for name in ["config.json", "tokenizer.json"] {
            assert_eq!(
                fs::read(dir.join(name)).unwrap(),
                fs::read(from.join(name)).unwrap(),
                "{name}"
            );
        }
        let size = |dir: &Path| fs::metadata(dir.join("model.safetensors")).unwrap().len();
        assert_eq!(size(&dir), size(&from), "in the type that it had");
        let same = fs::read(dir.join("model.safetensors")).unwrap()
            == fs::read(from.join("model.safetensors")).unwrap();
        assert!(!same, "agent {agent} has learned");
        sapo(&[
            "ask",
            "--model",
            dir.to_str().unwrap(),
            "--chat",
            "What is 1 + 1?",
            "--max-completion-length",
            "3",
        ])
        .assert()
        .success();
    }
}

#[test]
fn overlong_prompts_are_an_error_or_left_out_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("short");
    let args = [
        "experiments/smoke.toml",
        "--set",
        "generate.max_prompt_length=40",
        "--set",
        "rounds=2",
    ];
    let overlong = [
        "generate.overlong_prompts: found \"error\"",
        "where 40 are allowed",
    ];
    fails(&[&["check"], &args[..]].concat(), &overlong);
    let drop = [
        "--set",
        "generate.overlong_prompts=drop",
        "--set",
        "mixes=[{local=2,external=2}]",
    ];
    let check = sapo(&[&["check"], &args[..], &drop].concat())
        .assert()
        .success()
        .get_output()
        .clone();
    let text = String::from_utf8(check.stdout).unwrap();
    assert!(
        text.contains("of them are too long and will be left out"),
        "{text}"
    );
    sapo(
        &[
            &["run"],
            &args[..],
            &drop,
            &["--out", out.to_str().unwrap()],
        ]
        .concat(),
    )
    .assert()
    .success();
    let counts: Vec<usize> = column(&out, "overlong_prompts")
        .iter()
        .map(|(_, cell)| cell.parse().unwrap())
        .collect();
    assert!(counts.iter().sum::<usize>() > 4, "{counts:?}");
    let groups = column(&out, "own_groups");
    assert!(
        groups
            .iter()
            .zip(&counts)
            .all(|((_, own), left_out)| own == "2" || *left_out > 0),
        "{groups:?}"
    );
}

#[test]
fn what_cannot_fit_is_refused_with_the_numbers() {
    let shape = root().join("experiments/shapes/qwen2.5-0.5b.json");
    let shape = format!("model.random_weights={:?}", shape.to_str().unwrap());
    let check = |memory: &str, more: &[&str]| {
        let memory = format!("device.memory_gib={memory}");
        let args = [
            "check",
            "experiments/smoke.toml",
            "--set",
            &shape,
            "--set",
            &memory,
            "--threads",
            "1",
        ];
        sapo(&[&args[..], more].concat())
            .assert()
            .get_output()
            .clone()
    };
    let refused = check("8", &[]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success());
    for word in [
        "the plan needs",
        "has 8192.0 MiB",
        "weights 9",
        "optimizer",
        "micro_batch_size",
    ] {
        assert!(message.contains(word), "{message}");
    }
    assert!(
        check("80", &["--set", "train.micro_batch_size=8"])
            .status
            .success()
    );
}
