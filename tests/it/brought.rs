//! What people bring: signals, terminals, text files and permissions of other systems than ours.

use crate::folders::broken;
use crate::program::{fails, root, sapo};
use crate::resume::hearing;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const SMALL: [&str; 5] = [
    "mixes=[{local=2,external=2}]",
    "swarm.agents=2",
    "eval.every=0",
    "eval.questions=0",
    "rounds=3",
];

fn arguments(out: &Path, more: &[&str]) -> Vec<String> {
    let start = ["run", "experiments/smoke.toml", "--out"];
    let mut args: Vec<String> = start.map(str::to_owned).into();
    args.push(out.to_str().unwrap().to_owned());
    for set in SMALL.iter().chain(more) {
        args.extend(["--set".to_owned(), (*set).to_owned()]);
    }
    args
}

fn run(out: &Path, more: &[&str]) -> assert_cmd::assert::Assert {
    let args = arguments(out, more);
    sapo(&args.iter().map(String::as_str).collect::<Vec<_>>()).assert()
}

fn rounds(out: &Path) -> usize {
    let text = fs::read_to_string(out.join("runs/2-2/seed-1/rounds.csv"));
    text.map_or(0, |text| text.lines().count().saturating_sub(1) / 2)
}

/// Waits until a run has done so many rounds.
fn wait_for(out: &Path, count: usize) {
    for _ in 0..6000 {
        if rounds(out) >= count {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{} rounds of {count} in a minute", rounds(out));
}

#[cfg(unix)]
fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-s", name, &id])
            .status()
            .unwrap()
            .success()
    );
}

#[cfg(unix)]
#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let dir = tempfile::tempdir().unwrap();
    for ignored in ["HUP", "INT"] {
        let out = dir.path().join(ignored);
        let deaf = format!("trap '' {ignored}; exec \"$0\" \"$@\"");
        let mut child = Command::new("sh")
            .current_dir(root())
            .args([
                "-c",
                &deaf,
                assert_cmd::cargo::cargo_bin!("sapo").to_str().unwrap(),
            ])
            .args(arguments(&out, &["rounds=100000"]))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(&out, 1);
        signal(&child, ignored);
        wait_for(&out, rounds(&out) + 3);
        assert!(
            child.try_wait().unwrap().is_none(),
            "{ignored} is not heard"
        );
        signal(&child, "TERM");
        assert_eq!(child.wait().unwrap().code(), Some(130), "another signal is");
    }
}

#[cfg(unix)]
#[test]
fn a_stopped_run_says_so_by_its_exit_code_though_nobody_reads() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let mut child = hearing()
        .current_dir(root())
        .args(arguments(&out, &["rounds=100000"]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&out, 1);
    drop((child.stdout.take(), child.stderr.take()));
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[cfg(unix)]
#[test]
fn a_terminal_that_shows_no_bar_is_given_lines() {
    for term in [Some("dumb"), None] {
        let dir = tempfile::tempdir().unwrap();
        let pty = nix::pty::openpty(None, None).unwrap();
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sapo"));
        command
            .current_dir(root())
            .args(arguments(&dir.path().join("out"), &[]))
            .env_remove("TERM")
            .envs(term.map(|term| ("TERM", term)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(pty.slave);
        let mut child = command.spawn().unwrap();
        drop(command);
        let (mut seen, mut terminal) = (Vec::new(), File::from(pty.master));
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = terminal.read(&mut bytes) {
            seen.extend_from_slice(&bytes[..count]);
        }
        assert!(child.wait().unwrap().success());
        let seen = String::from_utf8_lossy(&seen);
        assert!(
            seen.contains("3/3 rounds") && !seen.contains('\u{1b}'),
            "{term:?}: {seen:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn what_is_written_has_the_permissions_that_the_umask_gives() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
    let (model, set) = broken(|dir| {
        // of a shared folder that nobody may write to
        fs::set_permissions(dir.join("config.json"), fs::Permissions::from_mode(0o400)).unwrap();
    });
    let dir = tempfile::tempdir().unwrap();
    let (out, usual) = (dir.path().join("out"), dir.path().join("usual"));
    fs::write(&usual, "").unwrap();
    run(&out, &["model.save=true", &set]).success();
    drop(model);
    let mut files = vec![out.clone()];
    let mut seen = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else {
            assert_eq!(mode(&path), mode(&usual), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 15);
}

#[test]
fn more_threads_than_agents_are_not_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let args = arguments(&dir.path().join("out"), &[]);
    let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
    args.extend(["--threads", "1000000"]);
    sapo(&args).assert().success();
}

/// Exported questions as a file.
fn questions(file: &Path, seed: u64) -> String {
    let seed = seed.to_string();
    let args = [
        "tasks",
        "export",
        "base_conversion",
        "--count",
        "200",
        "--seed",
        &seed,
    ];
    let output = sapo(&args).assert().success().get_output().stdout.clone();
    fs::write(file, &output).unwrap();
    String::from_utf8(output).unwrap()
}

#[test]
fn other_questions_or_weights_behind_a_path_are_another_experiment() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("questions.jsonl");
    let source = format!("tasks.source={:?}", file.to_str().unwrap());
    let asked = [&source[..], "tasks.names=[\"base_conversion\"]"];
    let first = questions(&file, 1);
    let out = dir.path().join("questions");
    run(&out, &asked).success();
    questions(&file, 2);
    let said = |out: &Path, more: &[&str]| {
        let stderr = run(out, more).failure().get_output().stderr.clone();
        String::from_utf8(stderr).unwrap()
    };
    let message = said(&out, &asked);
    let expected = [
        "another experiment",
        "questions.jsonl has changed",
        "--fresh",
    ];
    assert!(
        expected.iter().all(|word| message.contains(word)),
        "{message}"
    );
    fs::write(&file, first).unwrap();
    run(&out, &asked).success();
    // more arms and seeds are the same experiment, with what was known of the others
    run(&out, &[&asked[..], &["seeds=[1,2]"]].concat()).success();

    let (model, set) = broken(|_| ());
    let out = dir.path().join("weights");
    run(&out, &[&set]).success();
    let other = root().join("models/strong/model.safetensors");
    fs::copy(other, model.path().join("model.safetensors")).unwrap();
    assert!(said(&out, &[&set]).contains("model.safetensors has changed"));
    fs::copy(
        root().join("models/tiny/model.safetensors"),
        model.path().join("model.safetensors"),
    )
    .unwrap();
    fs::write(
        model.path().join("chat_template.jinja"),
        "{{ messages[0].content }}",
    )
    .unwrap();
    assert!(said(&out, &[&set]).contains("chat_template.jinja has changed"));
    fs::remove_file(model.path().join("chat_template.jinja")).unwrap();
    fs::write(model.path().join("README.md"), "is read by nobody").unwrap();
    run(&out, &[&set]).success();
    // what an earlier version made has no hashes, and is taken as it is
    fs::remove_file(out.join("inputs.json")).unwrap();
    run(&out, &[&set]).success();
    assert!(out.join("inputs.json").exists());
}

#[test]
fn text_files_of_other_systems_are_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("questions.jsonl");
    let text = questions(&file, 1);
    let result = |name: &str, text: &str, toml: &dyn Fn(String) -> String| {
        fs::write(&file, text).unwrap();
        let experiment = fs::read_to_string(root().join("experiments/smoke.toml")).unwrap();
        // a file that stands in another folder names its own paths
        let experiment =
            experiment.replace("\"models/", &format!("\"{}/models/", root().display()));
        let experiment = experiment.replace(
            "extends = \"",
            &format!("extends = \"{}/experiments/", root().display()),
        );
        let place = dir.path().join(format!("{name}.toml"));
        fs::write(&place, toml(experiment)).unwrap();
        let out = dir.path().join(name);
        let mut args = arguments(&out, &["tasks.names=[\"base_conversion\"]"]);
        place.to_str().unwrap().clone_into(&mut args[1]);
        args.extend([
            "--set".to_owned(),
            format!("tasks.source={:?}", file.to_str().unwrap()),
        ]);
        sapo(&args.iter().map(String::as_str).collect::<Vec<_>>())
            .assert()
            .success();
        fs::read(out.join("runs/2-2/seed-1/rounds.csv")).unwrap()
    };
    let plain = result("plain", &text, &|toml| toml);
    let dos = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let marked = |toml: String| format!("\u{feff}{}", toml.replace('\n', "\r\n"));
    assert!(
        plain == result("dos", dos.trim_end(), &marked),
        "a mark, other line ends, no last one"
    );
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&file, [&[0xff, 0xfe][..], &utf16].concat()).unwrap();
    let source = format!("tasks.source={:?}", file.to_str().unwrap());
    fails(
        &["check", "experiments/smoke.toml", "--set", &source],
        &["questions.jsonl", "line 1"],
    );
    fs::write(
        dir.path().join("x.toml"),
        [&[0xff, 0xfe][..], &utf16].concat(),
    )
    .unwrap();
    let file = dir.path().join("x.toml");
    fails(
        &["check", file.to_str().unwrap()],
        &["x.toml", "found UTF-16, expected UTF-8"],
    );
}

#[test]
fn a_model_folder_of_another_system_is_the_same() {
    let shown = |dir: &Path| {
        let args = [
            "ask",
            "--model",
            dir.to_str().unwrap(),
            "--chat",
            "What is 7 + 5?",
            "--greedy",
            "--json",
        ];
        let output = sapo(&args).assert().success().get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    };
    let expected = shown(&root().join("models/tiny"));
    let (dir, _) = broken(|dir| {
        for name in ["config.json", "tokenizer.json", "tokenizer_config.json"] {
            let text = fs::read_to_string(dir.join(name)).unwrap();
            fs::write(
                dir.join(name),
                format!("\u{feff}{}", text.replace('\n', "\r\n")),
            )
            .unwrap();
        }
        fs::write(
            dir.join("generation_config.json"),
            "{\"top_p\": NaN, \"eos_token_id\": [0]}",
        )
        .unwrap();
    });
    assert_eq!(shown(dir.path()), expected);
}

#[test]
fn values_for_the_chat_template_are_chosen_in_the_experiment_or_asked_with() {
    let (dir, set) = broken(|dir| {
        let template =
            "{{ messages[-1].content }}{% if enable_thinking %}<think>{{ effort }}{% endif %}\n";
        fs::write(dir.join("chat_template.jinja"), template).unwrap();
    });
    let prompt = |more: &[&str]| {
        let model = dir.path().to_str().unwrap();
        let mut args = vec![
            "ask",
            "--model",
            model,
            "--chat",
            "hi",
            "--max-completion-length",
            "1",
        ];
        args.extend(more);
        let output = sapo(&args).assert().success().get_output().stdout.clone();
        String::from_utf8(output)
            .unwrap()
            .lines()
            .nth(1)
            .unwrap()
            .to_owned()
    };
    assert_eq!(prompt(&[]), "hi");
    let kwargs = r#"{"enable_thinking": true, "effort": "low"}"#;
    assert_eq!(prompt(&["--chat-template-kwargs", kwargs]), "hi<think>low");
    let file = dir.path().join("x.toml");
    let base = root().join("experiments/smoke.toml");
    let text = format!(
        "extends = {base:?}\n[model.chat_template_kwargs]\nenable_thinking = true\neffort = 3\n"
    );
    fs::write(&file, text).unwrap();
    let experiment = ["--experiment", file.to_str().unwrap()];
    assert_eq!(prompt(&experiment), "hi<think>3");
    let both = [
        &experiment[..],
        &["--chat-template-kwargs", "{\"effort\": 4}"],
    ]
    .concat();
    assert_eq!(prompt(&both), "hi<think>4");

    // what is asked in a run, and that it is another experiment
    let out = dir.path().join("out");
    let thinking = "model.chat_template_kwargs.enable_thinking=true";
    run(&out, &[&set, thinking]).success();
    let written = fs::read_to_string(out.join("experiment.toml")).unwrap();
    assert!(
        written.contains("[model.chat_template_kwargs]\nenable_thinking = true"),
        "{written}"
    );
    let stderr = run(&out, &[&set]).failure().get_output().stderr.clone();
    assert!(
        String::from_utf8(stderr)
            .unwrap()
            .contains("another experiment")
    );
    let taken = "model.chat_template_kwargs.tools=[1]";
    fails(
        &["check", "experiments/smoke.toml", "--set", taken],
        &["model.chat_template_kwargs.tools", "given it already"],
    );
    fails(
        &[
            "ask",
            "--model",
            "models/tiny",
            "--chat",
            "x",
            "--chat-template-kwargs",
            "[]",
        ],
        &["expected an object in JSON"],
    );
}

#[test]
fn a_head_that_is_not_the_embedding_is_saved_as_such() {
    let golden = root().join("tests/golden/models/qwen2-tied-own-head");
    let (dir, set) = broken(|dir| {
        for name in ["config.json", "model.safetensors", "generation_config.json"] {
            fs::copy(golden.join(name), dir.join(name)).unwrap();
        }
        sapo::tokenizer::train(&["a".to_owned(), "b".to_owned()], 257, dir).unwrap();
    });
    // 32 rows are too few for any tokenizer here
    fails(
        &["check", "experiments/smoke.toml", "--set", &set],
        &["tokenizer.json", "vocab_size of 32"],
    );
    drop(dir);
    let (dir, set) = broken(|dir| {
        crate::folders::rewrite_with(dir, |tensors| {
            let embedding = tensors["model.embed_tokens.weight"].clone();
            let (shape, mut data) = embedding;
            data.rotate_left(4);
            tensors.insert("lm_head.weight".to_owned(), (shape, data));
        });
    });
    let out = tempfile::tempdir().unwrap();
    run(&out.path().join("out"), &[&set, "model.save=true"]).success();
    drop(dir);
    let saved: PathBuf = out.path().join("out/runs/2-2/seed-1/models/agent-0");
    let config: serde_json::Value =
        serde_json::from_reader(File::open(saved.join("config.json")).unwrap()).unwrap();
    assert_eq!(config["tie_word_embeddings"], false);
    let bytes = fs::read(saved.join("model.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_ne!(
        tensors.tensor("lm_head.weight").unwrap(),
        tensors.tensor("model.embed_tokens.weight").unwrap()
    );
}

#[test]
fn scores_are_asked_for_in_any_text() {
    let line = r#"{"task": "basic_arithmetic", "answer": "2", "metadata": {}, "candidate": "2"}"#;
    let text = format!("\u{feff}{line}\r\n\r\n{line}");
    let output = sapo(&["tasks", "score"])
        .write_stdin(text)
        .assert()
        .success()
        .get_output()
        .clone();
    let scores: Vec<String> = BufReader::new(&output.stdout[..])
        .lines()
        .map(Result::unwrap)
        .collect();
    assert_eq!(scores, ["{\"score\":1.0}", "{\"score\":1.0}"]);
}
