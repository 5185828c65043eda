//! A process that hosts some of the agents of a swarm, the others being elsewhere, and what nodes must agree on before
//! they begin.

use super::arms::Experiment;
use super::bus_table::BusKind;
use super::resolved::Resolved;
use crate::bus::{Bus, MemoryBus};
use crate::swarm::VirtualClock;
use crate::wire::Limits;
use anyhow::{Result, bail};
use std::path::Path;

/// What a node is told on its command line.
#[derive(Clone, Debug, Default)]
pub struct NodeOptions {
    /// The agents that it hosts; all where there are none.
    pub agents: Vec<u16>,
    /// Whether a broker that is not there yet is waited for.
    pub wait: bool,
}

/// A node of a swarm.
pub struct Node {
    /// The agents that it hosts, in order; all where there are none.
    agents: Vec<u16>,
    #[cfg(feature = "nats")]
    broker: Option<std::sync::Arc<crate::process::Broker>>,
}

impl Node {
    /// The only node of a swarm.
    pub fn alone() -> Self {
        Self {
            agents: Vec::new(),
            #[cfg(feature = "nats")]
            broker: None,
        }
    }

    /// Whether an agent is here.
    pub(super) fn hosts(&self, agent: usize) -> bool {
        self.agents.is_empty() || self.agents.iter().any(|&here| usize::from(here) == agent)
    }

    /// The node that an experiment asks for. `dir` is its results folder, by which it is known again.
    ///
    /// # Errors
    /// When the broker cannot be reached, another experiment or another node stands in the way, or this build has no
    /// broker.
    pub fn open(experiment: &Experiment, options: &NodeOptions, dir: &Path) -> Result<Self> {
        for arm in &experiment.arms {
            let agents = arm.resolved.keys.swarm.agents;
            let unknown = options
                .agents
                .iter()
                .find(|&&agent| usize::from(agent) >= agents);
            if let Some(agent) = unknown {
                bail!(
                    "--agents: found {agent}, expected 0 to {} (swarm.agents - 1)",
                    agents - 1
                );
            }
        }
        match experiment.file.bus.kind {
            BusKind::Memory if options.agents.is_empty() => Ok(Self::alone()),
            BusKind::Memory => bail!(
                "bus.kind: found \"memory\", expected \"nats\" where some of the agents are elsewhere; --url sets it too"
            ),
            BusKind::Nats => Self::connect(experiment, options, dir),
        }
    }

    #[cfg(not(feature = "nats"))]
    fn connect(_: &Experiment, _: &NodeOptions, _: &Path) -> Result<Self> {
        bail!("bus.kind: found \"nats\", which needs a build with --features nats")
    }

    /// The bus of a run that begins here with a round.
    ///
    /// # Errors
    /// When the broker cannot be reached.
    pub(super) fn bus(
        &self,
        arm: &Resolved,
        run: &str,
        limits: Limits,
        first: u32,
    ) -> Result<Box<dyn Bus>> {
        #[cfg(feature = "nats")]
        if let Some(broker) = &self.broker {
            let run = crate::bus::Run {
                swarm: arm.keys.bus.swarm.clone(),
                name: over_broker::word(run),
                agents: arm.keys.swarm.agents,
                limits,
            };
            let bus = crate::bus::NatsBus::new(std::sync::Arc::clone(broker), run, first)?;
            return Ok(Box::new(bus));
        }
        let _ = (run, limits, first);
        let clock = arm.keys.swarm.clock.unwrap_or(VirtualClock::LOCK_STEP);
        Ok(Box::new(MemoryBus::new(clock.staleness.into())))
    }
}

#[cfg(not(feature = "nats"))]
impl Experiment {
    /// The experiment that a swarm runs, from its broker.
    ///
    /// # Errors
    /// Always, in a build without one.
    pub fn join(_: &[String], _: bool) -> Result<Self> {
        bail!("--join needs a build with --features nats")
    }
}

#[cfg(feature = "nats")]
mod over_broker {
    use super::super::bus_table::BusTable;
    use super::super::checkpoint::CheckpointTable;
    use super::super::config::ExperimentFile;
    use super::super::rollout_log::LogTable;
    use super::super::toml_file;
    use super::{Experiment, Node, NodeOptions, Path, Result, bail};
    use crate::process::{Address, Broker, Retention};
    use crate::results_layout::{NODE, write_atomically};
    use anyhow::Context;
    use sha2::{Digest, Sha256};
    use std::fs;
    use std::io::Write;
    use std::sync::Arc;
    use std::time::Duration;

    /// What all nodes run, at the broker.
    const EXPERIMENT: &str = "experiment";
    const GIB: f64 = (1u64 << 30) as f64;
    const HOUR: f64 = 3600.0;

    impl BusTable {
        /// # Errors
        /// When the broker cannot be reached.
        fn connect(&self, wait: bool) -> Result<Broker> {
            let address = Address {
                url: self.url.clone(),
                credentials: self.credentials.clone(),
                nkey: self.nkey.clone(),
                certificates: self.certificates.clone(),
            };
            let retention = Retention {
                age: Duration::from_secs_f64(self.keep_h * HOUR),
                bytes: (self.keep_gib * GIB) as i64,
            };
            let patience = Duration::from_secs_f64(self.patience_s);
            Broker::connect(&address, &self.swarm, retention, patience, wait)
        }
    }

    impl Experiment {
        /// The experiment that a swarm runs, from its broker; the overrides say where that is, and may change how this
        /// node gets there and what it writes.
        ///
        /// # Errors
        /// When the broker cannot be reached, or knows of none.
        pub fn join(overrides: &[String], wait: bool) -> Result<Self> {
            let table = toml_file::overridden::<Joining>(overrides)?.bus;
            let found = table.connect(wait)?.agreed(EXPERIMENT)?;
            let found = found.with_context(|| {
                format!(
                    "{}: no node of the swarm {} has begun yet",
                    table.url, table.swarm
                )
            })?;
            let mut file = tempfile::Builder::new().suffix(".toml").tempfile()?;
            file.write_all(&found)?;
            Self::load(file.path(), overrides)
        }
    }

    /// What is needed of an experiment to find it.
    #[derive(serde::Deserialize)]
    struct Joining {
        bus: BusTable,
    }

    impl Node {
        pub(super) fn connect(
            experiment: &Experiment,
            options: &NodeOptions,
            dir: &Path,
        ) -> Result<Self> {
            let table = &experiment.file.bus;
            let broker = table.connect(options.wait)?;
            let own = common(&experiment.file)?;
            let agreed = broker.agree(EXPERIMENT, own.as_bytes())?;
            if agreed != own.as_bytes() {
                bail!(
                    "{}: the swarm {} runs another experiment; choose another bus.swarm, or join it with --join",
                    table.url,
                    table.swarm
                );
            }
            let name = name(dir, &broker)?;
            let mut agents = options.agents.clone();
            agents.sort_unstable();
            agents.dedup();
            let most = experiment
                .arms
                .iter()
                .map(|arm| arm.resolved.keys.swarm.agents)
                .max();
            let all = 0..most.unwrap_or_default() as u16;
            for agent in all.filter(|agent| agents.is_empty() || agents.contains(agent)) {
                let host = broker.agree(&format!("agent-{agent}"), name.as_bytes())?;
                if host != name.as_bytes() {
                    bail!(
                        "agent {agent} of the swarm {} is hosted by another node; one that was killed goes on with its own \
                         results folder",
                        table.swarm
                    );
                }
            }
            Ok(Self {
                agents,
                broker: Some(Arc::new(broker)),
            })
        }
    }

    /// What all nodes must have in common, as TOML: all but how each gets to the broker and what it writes.
    fn common(file: &ExperimentFile) -> Result<String> {
        Ok(toml::to_string(&ExperimentFile {
            bus: BusTable::default(),
            checkpoint: CheckpointTable::default(),
            log: LogTable::default(),
            ..file.clone()
        })?)
    }

    /// The name by which a node is known again, kept in its results folder.
    fn name(dir: &Path, broker: &Broker) -> Result<String> {
        let file = dir.join(NODE);
        if let Ok(name) = fs::read_to_string(&file) {
            return Ok(name);
        }
        let name = broker.unique_name();
        write_atomically(&file, name.as_bytes())
            .with_context(|| format!("{}: cannot be written", file.display()))?;
        Ok(name)
    }

    /// A word that stands for any text in a subject.
    pub(super) fn word(text: &str) -> String {
        let hash = Sha256::digest(text);
        hash.iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
