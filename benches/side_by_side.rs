//! Our side of `benches/vs_pytorch`: makes the work that both sides do, and does it on demand.
//!
//! `side_by_side make FOLDER` writes two models and two lists of work. `side_by_side serve FOLDER NAME THREADS`
//! reads a command a line (`agree`, `generate`, `update`, `round`) and answers each with a line of JSON.

use burn::module::Module;
use burn::tensor::Device;
use rayon::ThreadPoolBuilder;
use sapo::experiment::{Experiment, Models};
use sapo::learn::{Decoding, Example, Optimizer, TrainConfig, Update, UpdateStats, generate};
use sapo::model::weights::{self, Dtype, WeightFiles};
use sapo::model::{Decoder, ModelConfig};
use sapo::seed::Seed;
use sapo::swarm::Workers;
use sapo::tokenizer::ChatOptions;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

/// The allocator of the program.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Completions per prompt.
const GROUP: usize = 8;

/// What both sides work on.
#[derive(Serialize, Deserialize)]
struct Work {
    /// Of each agent, the prompts of its groups.
    prompts: Vec<Vec<Vec<u32>>>,
    /// Of each agent, the completions to train on, one group per prompt.
    completions: Vec<Vec<Vec<Vec<u32>>>>,
    /// Of each agent and group, whether it carries a signal in a round.
    signal: Vec<Vec<bool>>,
    /// Ends a completion.
    eos: u32,
    /// Tokens per row when generation is timed alone, and at most in a round.
    length: usize,
    longest: usize,
    learning_rate: f64,
}

impl Work {
    /// The rows of an agent's update: advantages of +1 and -1 in turn, 0 without a signal.
    fn examples(&self, agent: usize, all_signal: bool) -> Vec<Example> {
        let mut examples = Vec::new();
        for (group, completions) in self.completions[agent].iter().enumerate() {
            let size = if all_signal || self.signal[agent][group] {
                1.0
            } else {
                0.0
            };
            examples.extend(
                completions
                    .iter()
                    .enumerate()
                    .map(|(i, completion)| Example {
                        prompt: self.prompts[agent][group].clone(),
                        completion: completion.clone(),
                        advantage: if i % 2 == 0 { size } else { -size },
                        truncated: false,
                        foreign: false,
                        author: sapo::rollout::AuthorLogprobs::Untold,
                    }),
            );
        }
        examples
    }
}

fn decoding(max_completion_length: usize) -> Decoding {
    Decoding {
        temperature: 1.0,
        top_k: 0,
        top_p: 1.0,
        max_completion_length,
    }
}

/// The eight agents of `make ablation`: their questions, and completions by the embedded model.
fn tiny(root: &Path, dir: &Path) -> Work {
    let experiment = Experiment::load(&root.join("experiments/ablation.toml"), &[])
        .expect("the experiment is there");
    let arm = &experiment.arms[0].resolved;
    let folder = Models::folder(&root.join("models/tiny")).expect("the embedded model is there");
    let model = folder
        .weights(&Device::flex())
        .expect("the embedded model is whole");
    folder
        .save(&model, &dir.join("tiny"))
        .expect("the folder can be written");
    let prompt = |q: sapo::rollout::Question| {
        folder
            .tokenizer
            .prompt(&ChatOptions::default(), &q.text)
            .expect("a question can be asked")
    };
    let all: Vec<Vec<u32>> = arm.tasks.some_questions(32).map(prompt).collect();
    let prompts: Vec<Vec<Vec<u32>>> = all.chunks(GROUP).map(<[_]>::to_vec).collect();
    let longest = arm.keys.generate.max_completion_length;
    let completions = prompts.iter().enumerate().map(|(agent, prompts)| {
        let groups = generate(
            &model,
            prompts,
            GROUP,
            &decoding(longest),
            &folder.eos,
            Seed::new(agent as u64),
        );
        groups
            .iter()
            .map(|group| {
                group
                    .iter()
                    .map(|row| row.tokens.iter().map(|t| t.id).collect())
                    .collect()
            })
            .collect()
    });
    Work {
        completions: completions.collect(),
        // five of eight groups carry a signal, about the mean over the four mixes of `make ablation`
        signal: vec![(0..GROUP).map(|group| group < 5).collect(); prompts.len()],
        prompts,
        eos: folder.eos[0],
        length: 16,
        longest,
        learning_rate: 1e-6,
    }
}

/// One agent of the width of a Qwen2.5-0.5B with four of its layers and its whole vocabulary.
fn wide(root: &Path, dir: &Path) -> Work {
    let file = root.join("experiments/shapes/qwen2.5-0.5b.json");
    let mut shape: Value =
        serde_json::from_reader(std::fs::File::open(file).expect("the shape is there"))
            .expect("JSON");
    shape["num_hidden_layers"] = 4.into();
    let config: ModelConfig = serde_json::from_value(shape).expect("the shape is right");
    let model = weights::random(&config, Seed::new(1), &Device::flex());
    std::fs::create_dir_all(dir.join("wide")).expect("the folder can be made");
    weights::save(&model, &dir.join("wide"), |_| Dtype::F32).expect("the folder can be written");
    config
        .save(&dir.join("wide"))
        .expect("the folder can be written");
    let mut rng = Seed::new(2).rng();
    let mut row = |len: usize| {
        (0..len)
            .map(|_| rng.below(150_000) as u32)
            .collect::<Vec<u32>>()
    };
    let prompts: Vec<Vec<u32>> = (0..GROUP).map(|_| row(60)).collect();
    let completions = vec![
        (0..1)
            .map(|_| (0..GROUP).map(|_| row(24)).collect())
            .collect(),
    ];
    Work {
        completions,
        signal: vec![vec![true]],
        prompts: vec![prompts],
        eos: 151_645,
        length: 24,
        longest: 24,
        learning_rate: 1e-6,
    }
}

fn train(learning_rate: f64) -> TrainConfig {
    TrainConfig {
        learning_rate,
        ..TrainConfig::default()
    }
}

struct Agent {
    index: usize,
    model: Option<Decoder>,
    optimizer: Optimizer,
    seed: u64,
}

impl Agent {
    fn generate(&mut self, work: &Work, length: usize, eos: &[u32]) -> usize {
        self.seed += 1;
        let model = self.model.as_ref().expect("no update runs").valid();
        let seed = Seed::new(self.seed).child("agent", self.index as u64);
        let groups = generate(
            &model,
            &work.prompts[self.index],
            GROUP,
            &decoding(length),
            eos,
            seed,
        );
        groups.iter().flatten().map(|row| row.tokens.len()).sum()
    }

    fn update(&mut self, work: &Work, all_signal: bool) -> UpdateStats {
        let config = train(work.learning_rate);
        let seed = Seed::new(1);
        let update = Update {
            config: &config,
            temperature: 1.0,
            max_completion_length: work.longest,
            reference: None,
            seed,
        };
        let model = self.model.take().expect("no update runs");
        let (model, stats) = update.run(
            model,
            &mut self.optimizer,
            &work.examples(self.index, all_signal),
        );
        self.model = Some(model);
        stats
    }
}

/// Log-probs of the completion tokens of the first agent, row after row.
fn logprobs(model: &Decoder, work: &Work) -> Vec<f32> {
    let mut all = Vec::new();
    for example in work.examples(0, true) {
        let row = [&example.prompt[..], &example.completion].concat();
        let logits = model.forward(&row[..row.len() - 1]);
        let [_, vocab] = logits.dims();
        let logits: Vec<f32> = logits.into_data().try_into_vec().expect("logits are f32");
        let predicting = logits.chunks(vocab).skip(example.prompt.len() - 1);
        all.extend(predicting.zip(&example.completion).map(|(logits, &token)| {
            let total: f64 = logits.iter().map(|&z| f64::from(z).exp()).sum();
            (f64::from(logits[token as usize]) - total.ln()) as f32
        }));
    }
    all
}

fn answer(command: &str, agents: &mut [Agent], work: &Work, workers: &Workers) -> Value {
    let start = Instant::now();
    let counts: Vec<usize> = match command {
        "agree" => {
            let model = agents[0].model.clone().expect("no update runs");
            let logprobs = logprobs(&model.valid(), work);
            let stats = agents[0].update(work, true);
            return json!({ "logprobs": logprobs, "loss": stats.loss, "grad_norm": stats.grad_norm });
        }
        "generate" => workers.map(agents, |agent| agent.generate(work, work.length, &[])),
        "update" => workers.map(agents, |agent| {
            agent.update(work, true);
            0
        }),
        "round" => {
            let counts = workers.map(agents, |agent| {
                agent.generate(work, work.longest, &[work.eos])
            });
            workers.map(agents, |agent| agent.update(work, false));
            counts
        }
        other => panic!("no such command: {other}"),
    };
    json!({ "seconds": start.elapsed().as_secs_f64(), "tokens": counts.iter().sum::<usize>() })
}

fn serve(dir: &Path, name: &str, threads: usize) {
    let work: Work = serde_json::from_str(
        &std::fs::read_to_string(dir.join(format!("{name}.json"))).expect("work"),
    )
    .expect("JSON");
    let folder = dir.join(name);
    let config = ModelConfig::load(&folder.join("config.json")).expect("the model was made");
    let files = WeightFiles::open(&folder, &config).expect("the model was made");
    let model =
        weights::load(&files, &config, &Device::flex().autodiff()).expect("the model was made");
    let agent = |index| Agent {
        index,
        model: Some(model.clone().fork(&model.device())),
        optimizer: Optimizer::new(train(work.learning_rate).optimizer()),
        seed: 0,
    };
    let mut agents: Vec<Agent> = (0..work.prompts.len()).map(agent).collect();
    // as in a run: an agent a thread; a single agent has all of them
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .expect("the first use of the global pool");
    let workers = if agents.len() > 1 {
        Workers::new(threads).expect("threads")
    } else {
        Workers::here()
    };
    let mut out = std::io::stdout();
    for command in std::io::stdin().lock().lines() {
        let line = answer(&command.expect("a line"), &mut agents, &work, &workers);
        writeln!(out, "{line}")
            .and_then(|()| out.flush())
            .expect("the driver listens");
    }
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", dir] => {
            let dir = Path::new(dir);
            for (name, work) in [("tiny", tiny(root, dir)), ("wide", wide(root, dir))] {
                let text = serde_json::to_string(&work).expect("JSON");
                std::fs::write(dir.join(format!("{name}.json")), text)
                    .expect("the folder can be written");
            }
        }
        ["serve", dir, name, threads] => serve(
            Path::new(dir),
            name,
            threads.parse().expect("a number of threads"),
        ),
        _ => {} // `cargo bench` runs every bench without arguments
    }
}
