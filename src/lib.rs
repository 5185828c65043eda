//! sapo: a swarm of language models that post-train by RL and share rollouts.
//!
//! One process hosts the swarm of "Sharing is Caring" (arXiv 2509.08721). Its modules, in the order
//! a rollout meets them:
//!
//! | module | what it is |
//! |---|---|
//! | [`seed`] | the only randomness |
//! | [`rollout`] | question, completion, rollout; advantages |
//! | [`task`] | questions and their verifiers |
//! | [`tokenizer`] | text to tokens, the chat template |
//! | [`kernels`] | tensor operations, those of the CPU and those of every other device |
//! | [`model`] | the decoder and its weights |
//! | [`learn`] | generation and the update |
//! | [`policy`] | a model that answers and learns, seen without tensors |
//! | [`swarm`] | agents, bus, the round |
//! | [`record`] | one row of `rounds.csv` |
//! | [`experiment`] | the TOML, the runs, the results folder |
//! | [`report`] | tables, plots and a page from CSV |
//! | [`cli`] | the command line |
//!
//! A round in nine steps: a task makes a question; the tokenizer makes it a prompt; the policy
//! completes it, a group at a time; the task scores the group; the bus takes it to the others; each
//! agent scores what it finds with its own verifiers; draws some of it; updates on that and all of
//! its own; and a row of the record says what happened.
//!
//! Dimensions of tensors: `tokens` (those of all prompts and rows of a batch one after the other, without padding;
//! of a loss, the completion tokens alone), `rows`, `heads`, `kv_heads`, `heads_per_kv` (query heads per key head), `head_dim`,
//! `hidden`, `vocab`; where attention runs over padded blocks, `blocks` (rows with one prompt), `group` (rows per block)
//! and `seq` (tokens per row).

pub mod cli;
pub mod experiment;
pub mod kernels;
pub mod learn;
pub mod model;
pub mod policy;
pub mod record;
pub mod report;
pub mod rollout;
pub mod seed;
pub mod swarm;
pub mod task;
pub mod tokenizer;
