//! The models that the agents of an experiment start from, and the seats that they take.

use super::agent_table::MemberKind;
use super::arms::Experiment;
use super::config::{Dtype, ExperimentFile};
use super::hub;
use super::node::Node;
use super::outsiders;
use super::resolved::Resolved;
use crate::member::{LanguageModel, ModelFolder, Prompts, Responder, Setup};
use crate::model::{Decoder, Device};
use crate::rollout::AgentId;
use crate::swarm::Seat;
use crate::wire::Limits;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the replacement character, which stands for a byte that is no UTF-8.
const REPLACEMENT: usize = 3;

/// Bytes of the longest question and completion in a swarm without a model.
const LONGEST_TEXT: usize = 1 << 16;

/// Every model folder of an experiment once.
pub struct Models {
    sources: Vec<Source>,
    folders: Vec<Arc<ModelFolder>>,
}

/// Where a model comes from.
#[derive(PartialEq)]
struct Source {
    path: PathBuf,
    /// The shape of random weights, where they are not read.
    random: Option<PathBuf>,
}

impl Source {
    fn of(keys: &ExperimentFile, agent: usize) -> Self {
        let (path, table) = (keys.model_of(agent), &keys.model);
        let random = table.random_weights.clone();
        Self {
            path: path.to_owned(),
            random: random.filter(|_| path == table.path),
        }
    }
}

impl Models {
    /// Reads everything but the values of the weights.
    ///
    /// # Errors
    /// Names the folder, the file or the key that is wrong.
    pub fn open(experiment: &Experiment) -> Result<Self> {
        let mut sources = Vec::new();
        for arm in &experiment.arms {
            let keys = &arm.resolved.keys;
            for source in keys.models().map(|agent| Source::of(keys, agent)) {
                if !sources.contains(&source) {
                    sources.push(source);
                }
            }
        }
        let open = |source: &Source| match &source.random {
            Some(shape) => ModelFolder::random(&source.path, shape),
            None => Self::folder(&source.path),
        };
        let folders = sources.iter().map(|source| open(source).map(Arc::new));
        let models = Self {
            folders: folders.collect::<Result<_>>()?,
            sources,
        };
        for arm in &experiment.arms {
            let options = arm.resolved.keys.model.chat_options();
            for folder in models.folders(&arm.resolved) {
                folder.tokenizer.check(&options)?;
            }
        }
        Ok(models)
    }

    /// A model folder by its path or its id on the hub.
    ///
    /// # Errors
    /// Names the file that is missing or wrong.
    pub fn folder(path: &Path) -> Result<ModelFolder> {
        ModelFolder::open(&hub::folder(path)?)
    }

    /// The place of what an agent starts from.
    fn place(&self, arm: &Resolved, agent: usize) -> usize {
        let source = Source::of(&arm.keys, agent);
        let place = self.sources.iter().position(|known| *known == source);
        place.expect("the arm is one of the experiment's")
    }

    /// What an agent of an arm starts from.
    pub fn of(&self, arm: &Resolved, agent: usize) -> &ModelFolder {
        &self.folders[self.place(arm, agent)]
    }

    /// What the agents of an arm start from, each once.
    pub fn folders(&self, arm: &Resolved) -> Vec<&ModelFolder> {
        let mut places: Vec<usize> = self.places(arm);
        places.sort_unstable();
        places.dedup();
        places
            .into_iter()
            .map(|place| &*self.folders[place])
            .collect()
    }

    fn places(&self, arm: &Resolved) -> Vec<usize> {
        let models = arm.keys.models();
        models.map(|agent| self.place(arm, agent)).collect()
    }

    /// Reads the weights of each folder onto a device.
    ///
    /// # Errors
    /// Names the file and the tensor, what was found and what was expected.
    pub fn weights(&self, device: &Device) -> Result<Vec<Decoder>> {
        self.folders
            .iter()
            .map(|folder| folder.weights(device))
            .collect()
    }

    /// The language models of an arm, from [`Models::weights`].
    pub fn members(&self, arm: &Resolved, weights: &[Decoder]) -> Vec<LanguageModel> {
        self.members_here(arm, weights, &Node::alone())
    }

    fn members_here(&self, arm: &Resolved, weights: &[Decoder], node: &Node) -> Vec<LanguageModel> {
        let prompts: Vec<Arc<Prompts>> = self.folders.iter().map(|f| prompts(arm, f)).collect();
        let keys = &arm.keys;
        let member = |agent: usize| {
            let place = self.place(arm, agent);
            let setup = Setup {
                folder: Arc::clone(&self.folders[place]),
                prompts: Arc::clone(&prompts[place]),
                decoding: keys.decoding(),
                half: keys.model.dtype == Dtype::Bf16,
                config: keys.train.clone(),
                learns: keys.kind_of(agent) == MemberKind::Model,
            };
            LanguageModel::new(&weights[place], setup)
        };
        let here = keys.models().filter(|&agent| node.hosts(agent));
        here.map(member).collect()
    }

    /// A seat for each agent of an arm that a node hosts, from [`Models::weights`].
    ///
    /// # Errors
    /// When a program cannot be started or a recording cannot be read.
    pub fn seats(
        &self,
        arm: &Resolved,
        weights: &[Decoder],
        node: &Node,
    ) -> Result<Vec<(AgentId, Seat)>> {
        let limits = self.limits(arm);
        let mut models = self.members_here(arm, weights, node).into_iter();
        let mut seats = Vec::new();
        let all = arm.proportions.iter().enumerate();
        for (agent, tasks) in all.filter(|(agent, _)| node.hosts(*agent)) {
            let member: Box<dyn Responder> = match outsiders::member(arm, agent, &limits)? {
                Some(member) => member,
                None => Box::new(models.next().expect("the agent is one of the models")),
            };
            let seat = Seat {
                name: arm.keys.member_name(agent),
                member,
                reward: outsiders::reward(arm, agent, &limits)?,
                tasks: tasks.clone(),
            };
            seats.push((AgentId(agent as u16), seat));
        }
        Ok(seats)
    }

    /// How much an agent of an arm may publish: what its tokens can be as text.
    pub fn limits(&self, arm: &Resolved) -> Limits {
        let bytes = |tokens: &dyn Fn(&ModelFolder) -> usize| {
            let folders = self.folders(arm).into_iter();
            let bytes = folders.map(|f| tokens(f) * f.tokenizer.longest_token() * REPLACEMENT);
            bytes.max().unwrap_or(LONGEST_TEXT)
        };
        let generate = &arm.keys.generate;
        Limits {
            rollouts: arm.balance().most_local(),
            completions: generate.num_generations,
            completion_bytes: bytes(&|_| generate.max_completion_length),
            question_bytes: bytes(&|folder| max_prompt_length(&arm.keys, folder)),
        }
    }
}

fn prompts(arm: &Resolved, folder: &Arc<ModelFolder>) -> Arc<Prompts> {
    let most = max_prompt_length(&arm.keys, folder);
    let options = arm.keys.model.chat_options();
    Arc::new(Prompts::new(Arc::clone(&folder.tokenizer), options, most))
}

/// Most tokens of a prompt of this model.
pub(super) fn max_prompt_length(keys: &ExperimentFile, folder: &ModelFolder) -> usize {
    let room = folder.room(keys.generate.max_completion_length);
    match keys.generate.max_prompt_length {
        0 => room,
        most => most.min(room),
    }
}
