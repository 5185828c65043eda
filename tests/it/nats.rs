//! Swarms of several processes over a real NATS server, `SAPO_NATS_SERVER` or `nats-server`: `make test-nats`.

use crate::program::{root, sapo};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// A server of its own, stopped when the test ends.
struct Server {
    process: Child,
    port: u16,
    dir: PathBuf,
    config: Option<PathBuf>,
}

impl Server {
    fn start(dir: &Path) -> Self {
        Self::with(dir, None)
    }

    fn with(dir: &Path, config: Option<PathBuf>) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let process = Self::launch(dir, port, config.as_deref());
        Self {
            process,
            port,
            dir: dir.to_owned(),
            config,
        }
    }

    fn launch(dir: &Path, port: u16, config: Option<&Path>) -> Child {
        let program = std::env::var("SAPO_NATS_SERVER").unwrap_or("nats-server".to_owned());
        let mut command = Command::new(program);
        command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"]);
        command.arg(dir.join("store"));
        if let Some(config) = config {
            command.arg("-c").arg(config);
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().expect("nats-server can be started");
        let up = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        assert!((0..100).any(|_| {
            thread::sleep(Duration::from_millis(100));
            up()
        }));
        process
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    fn restart(&mut self) {
        self.process = Self::launch(&self.dir, self.port, self.config.as_deref());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Keys of a small experiment: four agents, two mixes, one seed.
const KEYS: [&str; 5] = [
    "swarm.agents=4",
    "mixes=[{local=3,external=0},{local=2,external=2}]",
    "seeds=[1]",
    "eval.questions=8",
    "checkpoint.every=2",
];

fn arguments<'a>(subcommand: &'a str, out: &'a str, rounds: &'a str) -> Vec<&'a str> {
    let mut all = vec![
        subcommand,
        "experiments/smoke.toml",
        "--out",
        out,
        "--threads",
        "1",
    ];
    all.extend(["--set", rounds]);
    all.extend(KEYS.iter().flat_map(|key| ["--set", key]));
    all
}

fn node(server: &Server, agents: &str, out: &Path, rounds: &str, more: &[&str]) -> Child {
    let url = server.url();
    let mut all = arguments("node", out.to_str().unwrap(), rounds);
    all.extend(["--agents", agents, "--url", &url]);
    all.extend(more);
    Command::new(assert_cmd::cargo::cargo_bin!("sapo"))
        .current_dir(root())
        .args(all)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn ended(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn rounds(out: &Path) -> [String; 2] {
    ["3-0", "2-2"]
        .map(|arm| fs::read_to_string(out.join(format!("runs/{arm}/seed-1/rounds.csv"))).unwrap())
}

/// What one process makes of the same experiment.
fn alone(dir: &Path, count: &str) -> [String; 2] {
    let out = dir.join("alone");
    sapo(&arguments("run", out.to_str().unwrap(), count))
        .assert()
        .success();
    rounds(&out)
}

#[test]
#[ignore = "needs nats-server"]
fn several_nodes_write_what_one_process_writes() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let out = |name: &str| dir.path().join(name);
    let nodes =
        ["0", "1,3", "2"].map(|agents| node(&server, agents, &out(agents), "rounds=4", &[]));
    for node in nodes {
        let output = ended(node);
        assert!(output.status.success(), "{}", said(&output));
    }
    let expected = alone(dir.path(), "rounds=4");
    for agents in ["0", "1,3", "2"] {
        assert_eq!(rounds(&out(agents)), expected, "{agents}");
    }
}

#[test]
#[ignore = "needs nats-server"]
fn killed_nodes_and_brokers_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let count = "rounds=12";
    let steady = node(&server, "0-1", &a, count, &[]);
    for i in 0..10 {
        let mut other = node(&server, "2-3", &b, count, &[]);
        thread::sleep(Duration::from_millis(400 + 150 * (i % 3)));
        if i % 3 == 2 {
            server.kill();
            thread::sleep(Duration::from_millis(300));
            server.restart();
        }
        other.kill().unwrap();
        other.wait().unwrap();
    }
    let other = node(&server, "2-3", &b, count, &["--wait"]);
    for node in [steady, other] {
        let output = ended(node);
        assert!(output.status.success(), "{}", said(&output));
    }
    let expected = alone(dir.path(), count);
    assert_eq!(rounds(&a), expected);
    assert_eq!(rounds(&b), expected);
}

#[test]
#[ignore = "needs nats-server"]
fn who_does_not_fit_is_told_why() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let refused = |server: &Server, agents: &str, name: &str, more: &[&str], words: &str| {
        let output = ended(node(
            server,
            agents,
            &dir.path().join(name),
            "rounds=2",
            more,
        ));
        let said = said(&output);
        assert!(!output.status.success() && said.contains(words), "{said}");
    };
    let patience = ["--set", "bus.patience_s=2"];
    refused(
        &server,
        "0-1",
        "first",
        &patience,
        "nothing was heard of agents 2, 3 for 2 s",
    );
    refused(
        &server,
        "1-2",
        "second",
        &[],
        "agent 1 of the swarm sapo is hosted by another node",
    );
    refused(
        &server,
        "2-4",
        "third",
        &[],
        "--agents: found 4, expected 0 to 3",
    );
    let other = ["--set", "train.learning_rate=0.5"];
    refused(
        &server,
        "2-3",
        "fourth",
        &other,
        "the swarm sapo runs another experiment",
    );
    server.kill();
    refused(
        &server,
        "2-3",
        "fifth",
        &[],
        "--wait waits for a broker that is not there yet",
    );
}

#[test]
#[ignore = "needs nats-server"]
fn one_command_joins_a_swarm() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    let begun = node(&server, "0-2", &first, "rounds=3", &[]);
    thread::sleep(Duration::from_millis(1500));
    let args = [
        "node",
        "--join",
        "sapo",
        "--url",
        &server.url(),
        "--agents",
        "3",
        "--out",
    ];
    sapo(&args).arg(&second).assert().success();
    let output = ended(begun);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(rounds(&first), rounds(&second));
}

#[test]
#[ignore = "needs nats-server"]
fn strangers_are_kept_out() {
    let dir = tempfile::tempdir().unwrap();
    let keys = dir.path().join("keys");
    let config = [
        "bus-config",
        "experiments/smoke.toml",
        "--node",
        "0-1",
        "--node",
        "2-3",
        "--out",
    ];
    sapo(&config).arg(&keys).assert().success();
    let server = Server::with(dir.path(), Some(keys.join("nats-server.conf")));
    let key = |name: &str| format!("bus.nkey={:?}", keys.join(name));
    let (own, other) = (key("node-0-1.nk"), key("node-2-3.nk"));
    let run = |agents: &str, name: &str, set: &[&str]| {
        node(&server, agents, &dir.path().join(name), "rounds=2", set)
    };
    // without a key, and with that of others
    let output = ended(run("0-1", "none", &[]));
    assert!(
        !output.status.success() && said(&output).contains("authorization"),
        "{}",
        said(&output)
    );
    let output = ended(run(
        "2-3",
        "foreign",
        &["--set", &own, "--set", "bus.patience_s=2"],
    ));
    assert!(!output.status.success(), "{}", said(&output));
    let nodes = [
        run("0-1", "a", &["--set", &own]),
        run("2-3", "b", &["--set", &other]),
    ];
    for node in nodes {
        let output = ended(node);
        assert!(output.status.success(), "{}", said(&output));
    }
    assert_eq!(rounds(&dir.path().join("a")), alone(dir.path(), "rounds=2"));
}
