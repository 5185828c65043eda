//! `sapo bus-config`: a configuration for a NATS server that lets each node publish for its own agents alone, and a key
//! for each of them.

use super::node::agents;
use crate::experiment::Experiment;
use anyhow::{Context, Result, ensure};
use nkeys::KeyPair;
use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `sapo bus-config`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The experiment file
    #[arg(value_name = "EXPERIMENT")]
    file: PathBuf,
    /// The agents of a node, e.g. 0-3; once for each node
    #[arg(long = "node", value_name = "AGENTS", required = true)]
    nodes: Vec<String>,
    /// A new folder for nats-server.conf and a key a node
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let experiment = Experiment::load(&args.file, &[])?;
    let swarm = &experiment.file.bus.swarm;
    let mut seen = HashSet::new();
    let mut users = Vec::new();
    for node in &args.nodes {
        let agents = agents(node)?;
        for agent in &agents {
            ensure!(
                seen.insert(*agent),
                "--node: found agent {agent} twice, expected it once"
            );
        }
        users.push((node.replace(',', "-"), agents, KeyPair::new_user()));
    }
    let place = || format!("{}: cannot be made", args.out.display());
    fs::create_dir(&args.out).with_context(place)?;
    let mut text =
        "# nats-server -c nats-server.conf -js -sd STORE\nauthorization {\n  users = [\n"
            .to_owned();
    for (name, agents, key) in &users {
        text += &user(swarm, agents, &key.public_key());
        let seed = key
            .seed()
            .map_err(|e| anyhow::anyhow!("no key can be made: {e}"))?;
        write_secret(&args.out.join(format!("node-{name}.nk")), &seed)?;
    }
    text += "  ]\n}\n";
    let file = args.out.join("nats-server.conf");
    fs::write(&file, text).with_context(|| format!("{}: cannot be written", file.display()))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}: for the server", file.display())?;
    for (name, ..) in &users {
        let key = args.out.join(format!("node-{name}.nk"));
        writeln!(
            out,
            "{0}: for a node, with --set bus.nkey=\"{0}\"",
            key.display()
        )?;
    }
    Ok(())
}

/// What the user of a node may do: publish for its agents, read everything, agree on what concerns it.
fn user(swarm: &str, agents: &[u16], key: &str) -> String {
    let agreed = format!("{swarm}-agreed");
    let own = agents.iter().map(|agent| format!("{swarm}.*.{agent}"));
    let claims = agents
        .iter()
        .map(|agent| format!("$KV.{agreed}.agent-{agent}"));
    let streams = [swarm.to_owned(), format!("KV_{agreed}")]
        .into_iter()
        .flat_map(|stream| {
            [
                format!("$JS.API.STREAM.INFO.{stream}"),
                format!("$JS.API.STREAM.CREATE.{stream}"),
                format!("$JS.API.STREAM.MSG.GET.{stream}"),
                format!("$JS.API.DIRECT.GET.{stream}"),
                format!("$JS.API.DIRECT.GET.{stream}.>"),
                format!("$JS.API.CONSUMER.CREATE.{stream}"),
                format!("$JS.API.CONSUMER.CREATE.{stream}.>"),
                format!("$JS.API.CONSUMER.INFO.{stream}.>"),
                format!("$JS.API.CONSUMER.DELETE.{stream}.>"),
                format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.>"),
            ]
        });
    let common = [
        "$JS.API.INFO".to_owned(),
        format!("$KV.{agreed}.experiment"),
    ];
    let allowed: Vec<String> = own
        .chain(claims)
        .chain(common)
        .chain(streams)
        .map(|subject| format!("\"{subject}\""))
        .collect();
    format!(
        "    {{ nkey: {key}, permissions: {{ publish: {{ allow: [{}] }}, subscribe: {{ allow: [\"_INBOX.>\"] }} }} }}\n",
        allowed.join(", ")
    )
}

/// Writes a file that only its owner may read.
fn write_secret(file: &Path, text: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let place = || format!("{}: cannot be written", file.display());
    let mut open = options.open(file).with_context(place)?;
    open.write_all(text.as_bytes()).with_context(place)
}
