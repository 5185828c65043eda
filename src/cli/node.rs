//! `sapo node`: this process hosts some agents of a swarm, others are elsewhere.

use super::experiment_args::{overrides, threads};
use super::run::Job;
use crate::experiment::{DeviceKind, Experiment, NodeOptions, RunOptions};
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `sapo node`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The experiment file; left out with --join
    #[arg(
        value_name = "EXPERIMENT",
        required_unless_present = "join",
        conflicts_with = "join"
    )]
    file: Option<PathBuf>,
    /// Join the swarm of this name: the experiment comes from the broker
    #[arg(long, value_name = "NAME")]
    join: Option<String>,
    /// The agents that this process hosts, e.g. 0-3 or 1,5
    #[arg(long, value_name = "AGENTS")]
    agents: String,
    /// Where the broker is, instead of the experiment's bus.url
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Wait for a broker that is not there yet
    #[arg(long)]
    wait: bool,
    /// Override a key of the experiment, e.g. --set bus.nkey=\"agent-3.nk\"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Where to compute, instead of the experiment's device.kind
    #[arg(long, value_name = "KIND")]
    device: Option<DeviceKind>,
    /// Agents that work at the same time; the numbers do not depend on it [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Results folder [default: results/NAME-node-AGENTS]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Start over: set aside the results in that folder, under a new name
    #[arg(long)]
    fresh: bool,
}

pub(super) fn run(args: Args) -> Result<ExitCode> {
    let mut set = overrides(&args.set, args.device);
    set.push("bus.kind=\"nats\"".to_owned());
    set.extend(args.url.map(|url| format!("bus.url={url:?}")));
    set.extend(args.join.iter().map(|name| format!("bus.swarm={name:?}")));
    let (experiment, name) = match (&args.file, &args.join) {
        (Some(file), _) => {
            let name = file.file_stem().context("an experiment file has a name")?;
            (
                Experiment::load(file, &set)?,
                name.to_string_lossy().into_owned(),
            )
        }
        (None, Some(name)) => (Experiment::join(&set, args.wait)?, name.clone()),
        (None, None) => bail!("found neither an experiment nor --join, expected one of them"),
    };
    ensure!(
        experiment.file.tune.is_none(),
        "tune: found one, expected none on a node: tune with `sapo run` first, and set what it has found"
    );
    let folder = format!("{name}-node-{}", args.agents.replace(',', "-"));
    let job = Job {
        place: name,
        dir: args
            .out
            .unwrap_or_else(|| PathBuf::from("results").join(folder)),
        fresh: args.fresh,
        node: NodeOptions {
            agents: agents(&args.agents)?,
            wait: args.wait,
        },
        options: RunOptions {
            threads: threads(args.threads),
            only_missing: false,
        },
    };
    job.run(&experiment)
}

/// Numbers and ranges of numbers.
pub(super) fn agents(text: &str) -> Result<Vec<u16>> {
    let wrong =
        || format!("--agents: found `{text}`, expected numbers and ranges such as 0-3 or 1,5");
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u16 = first.trim().parse().with_context(wrong)?;
        let last: u16 = last.trim().parse().with_context(wrong)?;
        ensure!(first <= last, wrong());
        all.extend(first..=last);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::agents;

    #[test]
    fn agents_are_numbers_and_ranges() {
        assert_eq!(agents("0-2,5").unwrap(), [0, 1, 2, 5]);
        for bad in ["", "a", "3-1", "1-", "-1", "1,,2", "99999"] {
            let error = agents(bad).unwrap_err().to_string();
            assert!(error.contains("--agents: found"), "{bad}: {error}");
        }
    }
}
