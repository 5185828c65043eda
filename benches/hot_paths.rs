//! The hot paths on `models/tiny`: prefill, a decode step, generation, the update, the draw.
//!
//! One thread, as each agent has in a run. `cargo bench --bench hot_paths`.

use burn::module::Module;
use burn::tensor::Device;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use sapo::learn::{Decoding, Example, Optimizer, TrainConfig, Update, generate};
use sapo::model::weights::{self, WeightFiles};
use sapo::model::{Decoder, ModelConfig};
use sapo::rollout::AgentId;
use sapo::seed::Seed;
use sapo::swarm::{Draw, Pool, Selection};
use std::hint::black_box;
use std::path::Path;

/// The allocator of the program.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PROMPTS: usize = 8;
const GROUP: usize = 8;
const PROMPT_TOKENS: usize = 40;
const COMPLETION_TOKENS: usize = 16;

fn model() -> Decoder {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/tiny");
    let config = ModelConfig::load(&dir.join("config.json")).expect("the embedded model is there");
    weights::load(
        &WeightFiles::open(&dir, &config).expect("the embedded model is whole"),
        &config,
        &Device::flex().autodiff(),
    )
    .expect("the embedded model is whole")
}

fn tokens(seed: u64, len: usize) -> Vec<u32> {
    let mut rng = Seed::new(seed).rng();
    (0..len).map(|_| 1 + rng.below(250) as u32).collect()
}

fn prompts() -> Vec<Vec<u32>> {
    (0..PROMPTS as u64)
        .map(|i| tokens(i, PROMPT_TOKENS))
        .collect()
}

fn decoding(max_completion_length: usize) -> Decoding {
    Decoding {
        temperature: 1.0,
        top_k: 0,
        top_p: 1.0,
        max_completion_length,
    }
}

fn train() -> TrainConfig {
    TrainConfig {
        learning_rate: 1e-5,
        ..TrainConfig::default()
    }
}

fn examples() -> Vec<Example> {
    let row = |i: usize| Example {
        prompt: tokens((i / GROUP) as u64, PROMPT_TOKENS),
        completion: tokens(100 + i as u64, COMPLETION_TOKENS),
        advantage: if i.is_multiple_of(GROUP) { 2.4 } else { -0.3 },
        truncated: false,
        foreign: false,
        author: sapo::rollout::AuthorLogprobs::Untold,
    };
    (0..PROMPTS * GROUP).map(row).collect()
}

fn generation(c: &mut Criterion) {
    let inference = model().valid();
    let prompts = prompts();
    let rows: Vec<&[u32]> = prompts.iter().map(Vec::as_slice).collect();
    c.bench_function("prefill 8 x 40", |b| {
        b.iter(|| black_box(inference.start(&rows, GROUP, 2)));
    });

    let last = vec![5; PROMPTS * GROUP];
    c.bench_function("decode step, 64 rows", |b| {
        b.iter_batched(
            || inference.start(&rows, GROUP, 2),
            |mut cache| inference.step(&last, &mut cache).into_data(),
            BatchSize::SmallInput,
        );
    });
    c.bench_function("generate 64 x 16", |b| {
        b.iter(|| {
            generate(
                &inference,
                &prompts,
                GROUP,
                &decoding(COMPLETION_TOKENS),
                &[],
                Seed::new(1),
            )
        });
    });
}

fn learning(c: &mut Criterion) {
    let (model, config) = (model(), train());
    let update = Update {
        config: &config,
        temperature: 1.0,
        max_completion_length: COMPLETION_TOKENS,
        reference: None,
        seed: Seed::new(1),
    };
    let examples = examples();
    c.bench_function("update 64 x 16", |b| {
        b.iter_batched(
            || {
                (
                    model.clone().fork(&model.device()),
                    Optimizer::new(config.optimizer()),
                )
            },
            |(model, mut optimizer)| update.run(model, &mut optimizer, &examples),
            BatchSize::SmallInput,
        );
    });
}

fn drawing(c: &mut Criterion) {
    let rewards: Vec<Vec<f64>> = (0..56)
        .map(|i| (0..8).map(|j| f64::from(u8::from(j < i % 9))).collect())
        .collect();
    let pool = Pool {
        rewards: rewards.iter().map(Vec::as_slice).collect(),
        authors: (0..56).map(|i| AgentId(i / 8)).collect(),
    };
    c.bench_function("draw 4 of 56", |b| {
        b.iter(|| Selection::NonzeroAdvantage.draw(&pool, 4, Seed::new(1), Seed::new(2)));
    });
}

fn one_thread(c: &mut Criterion) {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()
        .expect("the first use of the global pool");
    generation(c);
    learning(c);
    drawing(c);
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = one_thread }
criterion_main!(benches);
