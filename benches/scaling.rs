//! Time and memory of a round by the number of agents and by the length of completions.
//!
//! `cargo bench --bench scaling -- FOLDER` runs the program itself, once a point, and writes `scaling.csv` and `scaling.png`. The
//! weights are random, so that no row ends early; beta gives every rollout a gradient.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const AGENTS: [usize; 6] = [1, 2, 4, 8, 16, 32];
const LENGTHS: [usize; 5] = [32, 64, 128, 256, 512];
const ROUNDS: usize = 5;

/// What all points have in common; a quarter of the ablation's width would be too quick to time.
const EXPERIMENT: &str = r#"
extends = "ablation.toml"
rounds  = 5
seeds   = [1]
mixes   = [{ local = 4, external = 4 }]
[swarm]
selection = "uniform"
[train]
beta = 0.001
[eval]
every = 0
[checkpoint]
every = 0
[log]
rollouts_every = 0
[device]
kind = "cpu"
"#;

struct Point {
    what: &'static str,
    agents: usize,
    length: usize,
    seconds: f64,
    mib: f64,
}

/// A round with so many agents and completions of this length: median seconds, and the peak of memory.
fn measure(what: &'static str, agents: usize, length: usize) -> Point {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().expect("a temporary folder");
    let base = root.join("experiments/ablation.toml");
    let text = EXPERIMENT.replace("ablation.toml", base.to_str().expect("a path in UTF-8"));
    let (file, shape) = (
        dir.path().join("scaling.toml"),
        dir.path().join("shape.json"),
    );
    std::fs::write(&file, text).expect("the folder can be written");
    let config = std::fs::read_to_string(root.join("models/tiny/config.json"))
        .expect("the embedded model is there");
    let config = config.replace(
        "\"max_position_embeddings\": 256",
        "\"max_position_embeddings\": 1024",
    );
    std::fs::write(&shape, config).expect("the folder can be written");
    let out = dir.path().join("out");
    let mut child = Command::new(env!("CARGO_BIN_EXE_sapo"))
        .current_dir(root)
        .arg("run")
        .arg(&file)
        .args(["--threads", "2", "--out"])
        .arg(&out)
        .args(["--set", &format!("swarm.agents={agents}")])
        .args(["--set", &format!("generate.max_completion_length={length}")])
        .args(["--set", &format!("model.random_weights={shape:?}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0.0_f64;
    while child.try_wait().expect("the program ends").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        peak = peak.max(kib.unwrap_or(0.0) / 1024.0);
        std::thread::sleep(Duration::from_millis(5));
    }
    let csv =
        std::fs::read_to_string(out.join("runs/4-4/seed-1/timings.csv")).expect("the run was made");
    let row = |line: &str| {
        line.split(',')
            .skip(1)
            .filter_map(|cell| cell.parse::<f64>().ok())
            .sum::<f64>()
    };
    let mut rounds: Vec<f64> = csv.lines().skip(1).map(row).collect();
    assert_eq!(rounds.len(), ROUNDS);
    rounds.sort_by(f64::total_cmp);
    Point {
        what,
        agents,
        length,
        seconds: rounds[ROUNDS / 2],
        mib: peak,
    }
}

#[expect(clippy::print_stdout, reason = "for whoever runs it")]
fn main() {
    let Some(dir) = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
    else {
        return;
    };
    let agents = AGENTS.map(|agents| ("agents", agents, 32));
    let lengths = LENGTHS.map(|length| ("length", 8, length));
    let mut text = "what,agents,completion_length,round_s,memory_mib\n".to_owned();
    for (what, agents, length) in agents.into_iter().chain(lengths) {
        let Point {
            what,
            agents,
            length,
            seconds,
            mib,
        } = measure(what, agents, length);
        let line = format!("{what},{agents},{length},{seconds:.3},{mib:.0}\n");
        print!("{line}");
        text += &line;
    }
    std::fs::create_dir_all(&dir).expect("the folder can be made");
    let file = Path::new(&dir).join("scaling.csv");
    std::fs::File::create(file)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("the folder can be written");
    sapo::report::scaling(Path::new(&dir)).expect("the picture can be drawn");
}
