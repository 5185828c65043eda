//! The models that the agents of an experiment start from.

use super::base::Base;
use super::config::{Dtype, Experiment};
use super::device::Device;
use crate::model::Decoder;
use crate::policy::{Policy, QwenPolicy};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Each model folder once, and which agent starts from which.
pub struct Models {
    bases: Vec<Base>,
    /// The base of each agent.
    of_agents: Vec<usize>,
}

impl Models {
    /// Reads everything but the values of the weights.
    ///
    /// # Errors
    /// Names the folder, the file or the key that is wrong.
    pub fn open(experiment: &Experiment) -> Result<Self> {
        let mut paths: Vec<&Path> = Vec::new();
        let mut of_agents = Vec::new();
        for agent in 0..experiment.swarm.agents {
            let path = experiment.model_of(agent);
            let known = paths.iter().position(|known| *known == path);
            of_agents.push(known.unwrap_or(paths.len()));
            if known.is_none() {
                paths.push(path);
            }
        }
        let table = &experiment.model;
        let open = |path: &&Path| match table
            .random_weights
            .as_ref()
            .filter(|_| **path == table.path)
        {
            Some(shape) => Base::random(path, shape),
            None => Base::open(path),
        };
        Ok(Self {
            bases: paths.iter().map(open).collect::<Result<_>>()?,
            of_agents,
        })
    }

    /// What an agent starts from.
    pub fn of(&self, agent: usize) -> &Base {
        &self.bases[self.of_agents[agent]]
    }

    /// All of them, each once.
    pub fn bases(&self) -> &[Base] {
        &self.bases
    }

    /// Reads the weights of each onto a device.
    ///
    /// # Errors
    /// Names the file and the tensor, what was found and what was expected.
    pub fn weights(&self, device: &Device) -> Result<Vec<Decoder>> {
        self.bases.iter().map(|base| base.weights(device)).collect()
    }

    /// A policy for each agent, from weights in the order of [`Models::bases`].
    pub fn policies(&self, experiment: &Experiment, weights: &[Decoder]) -> Vec<Box<dyn Policy>> {
        let half = experiment.model.dtype == Dtype::Bf16;
        let policy = |&index: &usize| {
            let base = &self.bases[index];
            let language = base.language(
                experiment.model.system_prompt.as_deref(),
                experiment.max_prompt_length(base),
            );
            let policy = QwenPolicy::new(
                &weights[index],
                base.config.clone(),
                language,
                half,
                experiment.train.clone(),
            );
            Box::new(policy) as Box<dyn Policy>
        };
        self.of_agents.iter().map(policy).collect()
    }

    /// Saves the models of policies below a folder, each under the number of its agent.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn save<'a>(
        &self,
        policies: impl Iterator<Item = &'a dyn Policy>,
        dir: &Path,
    ) -> Result<()> {
        for (agent, policy) in policies.enumerate() {
            let folder: PathBuf = dir.join(format!("agent-{agent}"));
            if let Some(decoder) = policy.decoder() {
                self.of(agent).save(decoder, &folder)?;
            }
        }
        Ok(())
    }
}
