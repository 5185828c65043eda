//! Runs that are killed, stopped or damaged, and go on as if nothing had happened.

use crate::program::{root, sapo};
use sapo::seed::Seed;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A small experiment of two runs into a folder.
fn arguments(out: &Path, more: &[&str]) -> Vec<String> {
    let set = [
        "rounds=20",
        "swarm.agents=3",
        "mixes=[{local=3,external=0},{local=2,external=2}]",
        "eval.questions=8",
        "train.learning_rate=1e-3",
        "checkpoint.every=1",
        "log.rollouts_every=3",
        "log.rollouts_mib=0",
        "model.save=true",
    ];
    let mut args = vec![
        "run".to_owned(),
        "experiments/smoke.toml".to_owned(),
        "--out".to_owned(),
    ];
    args.push(out.to_str().unwrap().to_owned());
    args.extend(
        set.iter()
            .chain(more)
            .flat_map(|set| ["--set".to_owned(), (*set).to_owned()]),
    );
    args
}

fn start(out: &Path) -> std::process::Child {
    start_with(out, &[])
}

/// The program, hearing every signal even where the tests were started in the background, deaf to some.
pub(crate) fn hearing() -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,TERM,HUP");
    command.arg(assert_cmd::cargo::cargo_bin!("sapo"));
    command
}

fn start_with(out: &Path, more: &[&str]) -> std::process::Child {
    let mut command = hearing();
    command
        .current_dir(root())
        .args(arguments(out, more))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs to the end; returns what was said on the way.
fn complete(out: &Path) -> String {
    complete_with(out, &[])
}

fn complete_with(out: &Path, more: &[&str]) -> String {
    let args = arguments(out, more);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = sapo(&args).assert().success().get_output().clone();
    String::from_utf8(output.stderr).unwrap()
}

/// Every file that a finished experiment leaves, but those that never repeat.
fn results(out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    fn walk(dir: &Path, all: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, all);
            } else {
                all.push(path);
            }
        }
    }
    let mut files = Vec::new();
    walk(out, &mut files);
    files.sort();
    let lasting = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        // the manifests know how long the timings are
        ![
            "timings.csv",
            "timings.md",
            ".lock",
            "manifest.json",
            "log.txt",
        ]
        .contains(&name)
    };
    let file = |path: PathBuf| {
        (
            path.strip_prefix(out).unwrap().to_owned(),
            fs::read(&path).unwrap(),
        )
    };
    files.into_iter().filter(lasting).map(file).collect()
}

fn assert_same(a: &Path, b: &Path) {
    let (a, b) = (results(a), results(b));
    let names = |files: &[(PathBuf, Vec<u8>)]| {
        files
            .iter()
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&a), names(&b));
    for ((name, a), (_, b)) in a.iter().zip(&b) {
        assert!(a == b, "{} differs", name.display());
    }
    let table = a
        .iter()
        .find(|(name, _)| name == Path::new("table.md"))
        .unwrap();
    assert!(String::from_utf8_lossy(&table.1).contains("20 rounds"));
}

#[test]
fn killed_at_any_moment_it_ends_as_if_never_touched() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, killed) = (dir.path().join("whole"), dir.path().join("killed"));
    complete(&whole);
    let mut rng = Seed::new(5).rng();
    let mut kills = 0;
    while kills < 22 {
        let mut child = start(&killed);
        std::thread::sleep(Duration::from_millis(rng.below(450) + 30));
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended after {kills} kills"
        );
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    complete(&killed);
    assert_same(&whole, &killed);
}

#[test]
fn what_is_remembered_and_momentum_survive_a_kill() {
    let replay = ["swarm.draw_from=\"self\"", "swarm.replay_rounds=5"];
    let late = ["swarm.replay_rounds=3", "train.optim=\"sgd\""];
    let skip = ["train.step_without_signal=false", "tasks.names=[\"bf\"]"];
    let runs = [("replay", &replay), ("late", &late), ("skip", &skip)];
    survive_kills(&runs);
}

#[test]
fn balances_and_memories_survive_a_kill() {
    let fill = [
        "swarm.balance=\"fill\"",
        "swarm.selection=\"largest-variance\"",
    ];
    let adaptive = ["swarm.balance=\"adaptive\"", "mix={local=1,external=2}"];
    let schedule = [
        "swarm.balance=\"schedule\"",
        "swarm.schedule=[{from_round=5,local=1,external=2}]",
    ];
    survive_kills(&[
        ("fill", &fill),
        ("adaptive", &adaptive),
        ("schedule", &schedule),
    ]);
    let memory = [
        "swarm.balance=\"fill\"",
        "swarm.draw_from=\"others-and-memory\"",
        "swarm.replay_rounds=4",
        "swarm.replay_max_uses=2",
    ];
    survive_kills(&[("memory", &memory)]);
}

#[test]
fn what_is_asked_and_told_survives_a_kill() {
    let shared = [
        "swarm.ask=\"shared-questions\"",
        "model.path=\"models/strong\"",
    ];
    let statistics = [
        "swarm.ask=\"task-statistics\"",
        "train.scale_rewards=\"mean\"",
    ];
    survive_kills(&[("shared", &shared), ("statistics", &statistics)]);
    let redraw = [
        "swarm.max_redraws=3",
        "swarm.max_completions=24",
        "train.foreign_lean=0.25",
    ];
    let few = [
        "swarm.generations_at_a_time=2",
        "swarm.max_completions=40",
        "model.path=\"models/strong\"",
    ];
    let weights = [
        "swarm.share_logprobs=\"token\"",
        "train.importance_sampling=\"token_truncate\"",
        "train.foreign_max_kl=5.0",
    ];
    survive_kills(&[("redraw", &redraw), ("few", &few), ("weights", &weights)]);
}

/// Runs with these keys end with the same bytes, killed or not.
fn survive_kills<const N: usize>(runs: &[(&str, &[&str; N])]) {
    let dir = tempfile::tempdir().unwrap();
    for (name, more) in runs {
        let folder = |kind| dir.path().join(format!("{name}-{kind}"));
        let (whole, killed) = (folder("whole"), folder("killed"));
        complete_with(&whole, *more);
        let mut rng = Seed::new(6).rng();
        for _ in 0..4 {
            let mut child = start_with(&killed, *more);
            std::thread::sleep(Duration::from_millis(rng.below(400) + 300));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        complete_with(&killed, *more);
        assert_same(&whole, &killed);
    }
}

#[test]
fn one_signal_finishes_the_round_and_says_how_to_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, stopped) = (dir.path().join("whole"), dir.path().join("stopped"));
    complete(&whole);
    for signal in ["INT", "TERM"] {
        let mut child = start(&stopped);
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        said.by_ref()
            .map(Result::unwrap)
            .find(|line| line.contains("rounds, "))
            .unwrap();
        Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status()
            .unwrap();
        let rest: Vec<String> = said.map(Result::unwrap).collect();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
        assert!(
            rest.iter()
                .any(|line| line.contains("the same command goes on with it")),
            "{rest:?}"
        );
    }
    assert!(complete(&stopped).contains("goes on after round"));
    assert_same(&whole, &stopped);
    assert_eq!(complete(&stopped), "", "finished runs are not run again");
}

#[test]
fn two_signals_stop_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("stopped");
    let mut child = start(&out);
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    said.by_ref()
        .map(Result::unwrap)
        .find(|line| line.contains("rounds, "))
        .unwrap();
    let signal = || {
        Command::new("kill")
            .args(["-s", "INT", &child.id().to_string()])
            .status()
            .unwrap()
    };
    signal();
    said.by_ref()
        .map(Result::unwrap)
        .find(|line| line.contains("once more to stop at once"))
        .unwrap();
    signal();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    complete(&out);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, to).unwrap();
        }
    }
}

/// A copy of a finished experiment whose second run lost its last checkpoint.
fn unfinished(whole: &Path, out: &Path) -> PathBuf {
    copy(whole, out);
    let run = out.join("runs/2-2/seed-1");
    fs::remove_dir_all(run.join("checkpoint/round-00000020")).unwrap();
    run
}

#[test]
fn damage_is_said_and_mended() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    complete(&whole);
    let check = |name: &str, damage: &dyn Fn(&Path), words: &[&str]| {
        let out = dir.path().join(name);
        let run = unfinished(&whole, &out);
        damage(&run);
        let said = complete(&out);
        for word in words {
            assert!(said.contains(word), "{name}: no {word:?} in {said}");
        }
        assert_same(&whole, &out);
    };
    check(
        "rows-too-many",
        &|_| (),
        &["goes on after round 19; rows after it are cut off and made again"],
    );
    let newest = "checkpoint/round-00000019";
    let flip = |file: PathBuf| {
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(file, bytes).unwrap();
    };
    let again = "what came before it is used";
    check(
        "weights",
        &|run| flip(run.join(newest).join("agent-1/model.safetensors")),
        &["model.safetensors is damaged", again],
    );
    check(
        "moments",
        &|run| flip(run.join(newest).join("agent-0/optimizer.safetensors")),
        &["optimizer.safetensors is damaged", again],
    );
    check(
        "manifest",
        &|run| flip(run.join(newest).join("manifest.json")),
        &["manifest is damaged", again],
    );
    check(
        "no-file",
        &|run| fs::remove_file(run.join(newest).join("agent-2/optimizer.safetensors")).unwrap(),
        &["cannot be read"],
    );
    let tear = |run: &Path, end: &str| {
        let text = fs::read_to_string(run.join("rounds.csv")).unwrap();
        fs::write(run.join("rounds.csv"), text + end).unwrap();
    };
    check(
        "torn-row",
        &|run| tear(run, "21,0,0.1"),
        &["goes on after round 19"],
    );
    check(
        "csv-too-short",
        &|run| fs::write(run.join("rounds.csv"), "round,agent\n").unwrap(),
        &["rounds.csv has 12 bytes"],
    );
    check(
        "csv-gone",
        &|run| fs::remove_file(run.join("rounds.csv")).unwrap(),
        &["rounds.csv is missing"],
    );
}

#[test]
fn other_mixes_and_seeds_are_the_same_experiment() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("more");
    complete(&out);
    let run = |set: &str| {
        let mut args = arguments(&out, &[]);
        args.extend(["--set".to_owned(), set.to_owned()]);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = sapo(&args).assert().get_output().clone();
        (
            output.status.success(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let before = fs::metadata(out.join("runs/3-0/seed-1/rounds.csv"))
        .unwrap()
        .modified()
        .unwrap();
    let (ok, said) = run("seeds=[1,2]");
    assert!(
        ok && out.join("runs/2-2/seed-2/rounds.csv").exists(),
        "{said}"
    );
    assert_eq!(
        fs::metadata(out.join("runs/3-0/seed-1/rounds.csv"))
            .unwrap()
            .modified()
            .unwrap(),
        before
    );
    let (ok, said) = run("train.learning_rate=2e-3");
    assert!(
        !ok && said.contains("`learning_rate = 0.001` there, `learning_rate = 0.002` here"),
        "{said}"
    );
}

#[test]
fn a_full_disk_is_one_clear_error_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let namespace = ["--user", "--map-root-user", "--mount"];
    if !Command::new("unshare")
        .args(namespace)
        .arg("true")
        .status()
        .is_ok_and(|status| status.success())
    {
        return; // no small disk can be had here
    }
    let (whole, small) = (dir.path().join("whole"), dir.path().join("small"));
    complete(&whole);
    fs::create_dir(&small).unwrap();
    let args = arguments(&small.join("out"), &[]).join("' '");
    let program = assert_cmd::cargo::cargo_bin!("sapo");
    // a namespace of its own, so that no right to mount is needed and nothing is left behind
    let script = format!(
        "mount -t tmpfs -o size=30m tmpfs {small} && '{program}' '{args}' && exit 9; \
         mount -o remount,size=200m {small} && '{program}' '{args}' && cp -r {small}/out {kept}",
        small = small.display(),
        program = program.display(),
        kept = dir.path().join("kept").display()
    );
    let mut command = Command::new("unshare");
    command
        .args(namespace)
        .args(["sh", "-c", &script])
        .current_dir(root());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("error: ") && said.contains("No space left on device"),
        "{said}"
    );
    assert!(!said.contains("panicked"), "{said}");
    assert_same(&whole, &dir.path().join("kept"));
}
