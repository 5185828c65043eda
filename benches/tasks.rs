//! Making and scoring the questions of each task, at its default difficulty.
//!
//! One thread, as each agent has in a run. `cargo bench --bench tasks`. With `-- --once ROWS` it prints one
//! line a task, `name generation scoring` in nanoseconds, for the comparison in benches/vs_python.

use criterion::{Criterion, criterion_group};
use sapo::rollout::Question;
use sapo::seed::Seed;
use sapo::task::catalog::{NAMES, TaskConfigs, build, fields};
use sapo::task::{Scoring, Task};
use serde_json::Value;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Questions that a bench goes round.
const QUESTIONS: u64 = 200;

/// The same for the comparison, and how long it goes round; as in benches/vs_python/tasks.py.
const QUESTIONS_ONCE: u64 = 500;
const ONCE: Duration = Duration::from_millis(50);

fn task(name: &str, scoring: Scoring) -> Box<dyn Task> {
    build(name, &TaskConfigs::default(), scoring).expect("the default difficulty is valid")
}

fn right_answer(question: &Question) -> String {
    let example = || {
        question
            .metadata
            .get("example_answer")
            .and_then(Value::as_str)
    };
    question
        .answer
        .as_deref()
        .or_else(example)
        .expect("every question has an answer")
        .to_owned()
}

fn generation(c: &mut Criterion) {
    let mut group = c.benchmark_group("question");
    for name in NAMES {
        let task = task(name, Scoring::ReasoningGym);
        let seed = Seed::new(1);
        let mut index = 0;
        group.bench_function(*name, |b| {
            b.iter(|| {
                index = (index + 1) % QUESTIONS;
                black_box(task.question(seed.child("question", index)))
            });
        });
    }
}

/// Alternates between the right answer and a wrong one.
fn scoring(c: &mut Criterion) {
    for (mode, label) in [
        (Scoring::ReasoningGym, "score/reasoning-gym"),
        (Scoring::Exact, "score/exact"),
    ] {
        let mut group = c.benchmark_group(label);
        for name in NAMES {
            let task = task(name, mode);
            let questions =
                (0..QUESTIONS).map(|i| task.question(Seed::new(1).child("question", i)));
            let pairs: Vec<(Question, [String; 2])> = questions
                .map(|question| {
                    let right = right_answer(&question);
                    (question, [format!("{right} or so"), right])
                })
                .collect();
            let mut next = 0;
            group.bench_function(*name, |b| {
                b.iter(|| {
                    next = (next + 1) % (2 * pairs.len());
                    let (question, answers) = &pairs[next / 2];
                    black_box(task.score(question, &answers[next % 2]))
                });
            });
        }
    }
}

/// Nanoseconds that one of `count` pieces of work takes, done round and round.
fn nanoseconds(count: u64, mut round: impl FnMut()) -> f64 {
    let (start, mut rounds) = (Instant::now(), 0);
    while rounds == 0 || start.elapsed() < ONCE {
        round();
        rounds += 1;
    }
    start.elapsed().as_nanos() as f64 / (rounds * count) as f64
}

/// The candidates of a file of golden scores for questions of the default difficulty.
fn candidates(name: &str, rows: &[Value]) -> Vec<(Question, Vec<String>)> {
    let defaults: serde_json::Map<String, Value> = fields(name)
        .into_iter()
        .flatten()
        .map(|field| (field.name.to_owned(), field.default))
        .collect();
    let fitting = rows
        .iter()
        .filter(|row| row["task"] == name && row["config"].as_object() == Some(&defaults));
    fitting
        .map(|row| {
            let question = Question {
                task: name.to_owned().into(),
                text: String::new(),
                answer: row["answer"].as_str().map(str::to_owned),
                metadata: row["metadata"]
                    .as_object()
                    .cloned()
                    .unwrap_or_default()
                    .into(),
                seed: None,
            };
            let scored = row["scored"].as_array().into_iter().flatten();
            (
                question,
                scored
                    .filter_map(|pair| pair[0].as_str().map(str::to_owned))
                    .collect(),
            )
        })
        .collect()
}

#[expect(clippy::print_stdout, reason = "benches/vs_python reads this")]
fn once(file: &str) {
    let text = std::fs::read_to_string(file).expect("the file of golden scores can be read");
    let rows: Vec<Value> = text
        .lines()
        .map(|row| serde_json::from_str(row).expect("a row is JSON"))
        .collect();
    for name in NAMES {
        let task = task(name, Scoring::ReasoningGym);
        let seed = Seed::new(1);
        let generation = nanoseconds(QUESTIONS_ONCE, || {
            for i in 0..QUESTIONS_ONCE {
                black_box(task.question(seed.child("question", i)));
            }
        });
        let pairs = candidates(name, &rows);
        let count = pairs.iter().map(|(_, answers)| answers.len() as u64).sum();
        let scoring = nanoseconds(count, || {
            for (question, answers) in &pairs {
                for answer in answers {
                    black_box(task.score(black_box(question), black_box(answer)));
                }
            }
        });
        println!("{name} {generation:.1} {scoring:.1}");
    }
}

criterion_group!(benches, generation, scoring);

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--once");
    match (arguments.next(), arguments.next()) {
        (Some(_), Some(file)) => once(&file),
        _ => {
            benches();
            Criterion::default().configure_from_args().final_summary();
        }
    }
}
