//! Making and scoring the questions of each task, at its default difficulty.
//!
//! One thread, as each agent has in a run. `cargo bench --bench tasks`.

use criterion::{Criterion, criterion_group, criterion_main};
use sapo::rollout::Question;
use sapo::seed::Seed;
use sapo::task::catalog::{NAMES, TaskConfigs, build};
use sapo::task::{Scoring, Task};
use std::hint::black_box;

/// Questions that a bench goes round.
const QUESTIONS: u64 = 200;

fn task(name: &str, scoring: Scoring) -> Box<dyn Task> {
    build(name, &TaskConfigs::default(), scoring).expect("the default difficulty is valid")
}

fn right_answer(question: &Question) -> String {
    let example = || question.metadata.get("example_answer").and_then(serde_json::Value::as_str);
    question.answer.as_deref().or_else(example).expect("every question has an answer").to_owned()
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
    for (mode, label) in [(Scoring::ReasoningGym, "score/reasoning-gym"), (Scoring::Exact, "score/exact")] {
        let mut group = c.benchmark_group(label);
        for name in NAMES {
            let task = task(name, mode);
            let questions = (0..QUESTIONS).map(|i| task.question(Seed::new(1).child("question", i)));
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

criterion_group!(benches, generation, scoring);
criterion_main!(benches);
