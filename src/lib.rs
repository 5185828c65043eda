//! sapo: a swarm of language models that post-train by RL and share rollouts.
//!
//! One process hosts the swarm of "Sharing is Caring" (arXiv 2509.08721). Its modules, in the order
//! a rollout meets them:
//!
//! | module | what it is |
//! |---|---|
//! | [`seed`] | the only randomness |
//! | [`rollout`] | question, completion, rollout |
//! | [`advantage`] | advantages of groups of rewards |
//! | [`task`] | questions and their verifiers |
//! | [`tokenizer`] | text to tokens, the chat template |
//! | [`kernels`] | tensor operations, those of the CPU and those of every other device |
//! | [`model`] | the decoder and its weights |
//! | [`learn`] | generation and the update |
//! | [`process`] | a program of the user's, asked in JSON lines |
//! | [`member`] | who answers and learns, seen without tensors |
//! | [`reward`] | what an agent finds good |
//! | [`wire`] | what travels, and how much of it |
//! | [`bus`] | what carries it |
//! | [`swarm`] | agents, the draw, the round, one row of `rounds.csv` |
//! | [`text_file`] | text and JSON as people bring them |
//! | [`results_layout`] | names and paths of the results folder |
//! | [`kept_rollouts`] | rollouts that a run keeps to be read |
//! | [`experiment`] | the TOML, the runs, the results folder |
//! | [`report`] | tables, plots and a page from CSV |
//! | [`cli`] | the command line |
//!
//! A round in nine steps: a task makes a question; the tokenizer makes it a prompt; the member
//! completes it, a group at a time; the agent's reward scores the group; the bus takes it to the
//! others; each agent reads and scores what it finds with its own reward; draws some of it; updates
//! on that and all of its own; and a row of the record says what happened.
//!
//! Dimensions of tensors: `tokens` (those of all prompts and rows of a batch one after the other, without padding;
//! of a loss, the completion tokens alone), `rows`, `heads`, `kv_heads`, `heads_per_kv` (query heads per key head), `head_dim`,
//! `hidden`, `vocab`; where attention runs over padded blocks, `blocks` (rows with one prompt), `group` (rows per block)
//! and `seq` (tokens per row).

pub mod advantage;
pub mod bus;
pub mod cli;
pub mod experiment;
pub mod kept_rollouts;
pub mod kernels;
pub mod learn;
pub mod member;
pub mod model;
pub mod process;
pub mod report;
pub mod results_layout;
pub mod reward;
pub mod rollout;
pub mod seed;
pub mod swarm;
pub mod task;
pub mod text_file;
pub mod tokenizer;
pub mod wire;

/// The examples of the page are compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/rules.md")]
struct RulesOfSharing;
