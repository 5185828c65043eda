//! What a run leaves to be watched and read.

use crate::folders::stranger;
use crate::program::{fails, sapo};
use sapo::model::ModelConfig;
use sapo::model::weights::{self, Dtype, WeightFiles};
use std::fs;
use std::path::Path;

fn run(out: &Path, more: &[&str]) {
    let mut args = vec![
        "run",
        "experiments/smoke.toml",
        "--out",
        out.to_str().unwrap(),
    ];
    let set = [
        "rounds=4",
        "swarm.agents=2",
        "mixes=[{local=2,external=2}]",
        "swarm.selection=uniform",
        "log.tensorboard=true",
    ];
    args.extend(set.iter().chain(more).flat_map(|set| ["--set", set]));
    sapo(&args).assert().success();
}

fn stdout(args: &[&str]) -> String {
    String::from_utf8(sapo(args).assert().success().get_output().stdout.clone()).unwrap()
}

#[test]
fn rounds_are_logged_and_rollouts_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("watched");
    run(&out, &["log.rollouts_every=2"]);
    let folder = out.to_str().unwrap();
    let log = fs::read_to_string(out.join("runs/2-2/seed-1/log.txt")).unwrap();
    assert_eq!(log.lines().count(), 4);
    assert!(
        log.starts_with("round 1/4  own 0.") && log.contains(" of 2 learned  "),
        "{log}"
    );
    let status = stdout(&["status", folder]);
    assert!(
        status.contains("1 of 1 runs finished") && status.contains("4/4"),
        "{status}"
    );

    let all = stdout(&["rollouts", folder]);
    let heads: Vec<&str> = all
        .lines()
        .filter(|line| line.starts_with("=== "))
        .collect();
    assert_eq!(
        heads.len(),
        3 * 4,
        "rounds 1, 2 and 4, two rollouts of two agents each"
    );
    assert!(
        all.contains("--- drawn by agents 0") && all.contains("--- drawn by agents 1"),
        "{all}"
    );
    let some = stdout(&["rollouts", folder, "--round", "2", "--agent", "1"]);
    assert_eq!(
        some.lines().filter(|line| line.starts_with("=== ")).count(),
        2
    );
    assert_eq!(
        some.lines()
            .filter(|line| line.starts_with("[0.") || line.starts_with("[1."))
            .count(),
        16
    );
    let task = heads[0].rsplit(' ').next().unwrap();
    let of_task = stdout(&["rollouts", folder, "--task", task]);
    assert!(
        of_task
            .lines()
            .filter(|line| line.starts_with("=== "))
            .all(|line| line.ends_with(task))
    );
    fails(
        &["rollouts", dir.path().to_str().unwrap()],
        &["cannot be read"],
    );
    fails(
        &["status", dir.path().to_str().unwrap()],
        &["experiment.toml"],
    );
}

/// The records of an event file: the length, its checksum, and what it holds.
fn records(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut rest, mut all) = (bytes, Vec::new());
    while !rest.is_empty() {
        let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
        all.push(&rest[12..12 + length]);
        rest = &rest[12 + length + 4..];
    }
    all
}

#[test]
fn every_round_is_an_event_for_tensorboard() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("events");
    // one that earns rewards in any round, so that there is a loss
    run(&out, &["model.path=models/strong"]);
    let entries = fs::read_dir(out.join("runs/2-2/seed-1"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files: Vec<_> = entries
        .filter(|path| path.to_str().unwrap().contains("events.out.tfevents."))
        .collect();
    let bytes = fs::read(&files[0]).unwrap();
    let records = records(&bytes);
    assert_eq!(
        (files.len(), records.len()),
        (1, 5),
        "the version and four rounds"
    );
    let has = |record: &[u8], text: &str| {
        record
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    assert!(has(records[0], "brain.Event:2"));
    assert!(
        ["own_reward", "eval_reward", "loss", "entropy"]
            .iter()
            .all(|tag| has(records[1], tag))
    );
    // the checksum of the length 24 of the first record, from TensorBoard's own writer
    assert_eq!(bytes[8..12], [0xa3, 0x7f, 0x4b, 0x22]);
}

#[test]
fn updates_that_are_not_finite_are_left_out_kept_and_end_the_run_in_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let (other, out) = (dir.path().join("other"), dir.path().join("out"));
    fs::create_dir(&other).unwrap();
    stranger(&other, false);
    // a head as large as its norm is small: its logits are sane, the square of its gradient is not
    let config = ModelConfig::load(&other.join("config.json")).unwrap();
    let scale = |file: &Path, name: &str, by: f32| {
        let bytes = fs::read(file).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let scaled = |data: &[u8]| -> Vec<u8> {
            data.chunks(4)
                .flat_map(|v| (f32::from_le_bytes(v.try_into().unwrap()) * by).to_le_bytes())
                .collect()
        };
        let all: Vec<_> = tensors
            .iter()
            .map(|(other, view)| {
                let data = if other == name {
                    scaled(view.data())
                } else {
                    view.data().to_vec()
                };
                (other.to_owned(), view.shape().to_vec(), data)
            })
            .collect();
        let views = all.iter().map(|(name, shape, data)| {
            (
                name.clone(),
                safetensors::tensor::TensorView::new(Dtype::F32, shape.clone(), data).unwrap(),
            )
        });
        fs::write(file, safetensors::serialize(views, None).unwrap()).unwrap();
    };
    let files = WeightFiles::open(&other, &config).unwrap();
    let model = weights::load(&files, &config, &burn::tensor::Device::flex()).unwrap();
    weights::save(&model, &other, |_| Dtype::F32).unwrap();
    scale(&other.join("model.safetensors"), "lm_head.weight", 1e30);
    scale(&other.join("model.safetensors"), "model.norm.weight", 1e-30);

    let agent = format!(
        "swarm.agent=[{{agents=[1], model={:?}}}]",
        other.to_str().unwrap()
    );
    let mut args = vec![
        "run",
        "experiments/smoke.toml",
        "--out",
        out.to_str().unwrap(),
    ];
    for set in [
        "rounds=40",
        "swarm.agents=2",
        "mixes=[{local=4,external=4}]",
        "tasks.names=[\"fraction_simplification\"]",
        "train.max_bad_updates=1",
        "eval.every=0",
        "eval.questions=0",
        "checkpoint.every=1",
        &agent,
    ] {
        args.extend(["--set", set]);
    }
    let words = [
        "agent 1: loss or gradient is not finite, 1 updates left out",
        "2 in a row, where train.max_bad_updates allows 1",
    ];
    fails(&args, &words);
    let run = out.join("runs/4-4/seed-1");
    let dumps = || {
        let entries = fs::read_dir(&run).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let bad =
            |name: &String| name.starts_with("bad-round-") && name.ends_with("-agent-1.jsonl");
        let mut names: Vec<String> = names.filter(bad).collect();
        names.sort();
        names
    };
    let found = dumps();
    // a restart goes on counting: the round that was too much is so again, and nothing stands twice
    fails(&args, &words);
    assert_eq!(dumps(), found);
    let dumps = found;
    assert_eq!(dumps.len(), 2, "{dumps:?}");
    let dump = fs::read_to_string(run.join(&dumps[0])).unwrap();
    assert!(
        dump.lines().count() >= 5 && dump.contains("\"drawn_by\":[1]"),
        "{dump}"
    );
    assert!(
        fs::read_to_string(run.join("log.txt"))
            .unwrap()
            .contains("1 updates left out, not finite")
    );
}
