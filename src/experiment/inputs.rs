//! What an experiment reads besides its TOML: model folders, questions, recordings. Their hashes lie in
//! the results folder, since other bytes behind the same path are another experiment.

use super::arms::Experiment;
use super::checkpoint::hash;
use super::config::ExperimentFile;
use super::hub;
use crate::member::ModelFolder;
use crate::results_layout::{INPUTS, rollout_files};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// By the path in the TOML and the name of the file, the SHA-256 of what lies there.
#[derive(Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Inputs(BTreeMap<String, BTreeMap<String, String>>);

impl Inputs {
    /// Those of all arms, also of those that a tuning makes.
    ///
    /// # Errors
    /// Names the file that cannot be read.
    pub(super) fn of(experiment: &Experiment) -> Result<Self> {
        let mut inputs = Self::default();
        let tuning = experiment.tuning()?;
        for arm in tuning.iter().chain([experiment]).flat_map(|e| &e.arms) {
            inputs.add_all(&arm.resolved.keys)?;
        }
        Ok(inputs)
    }

    /// Those that a results folder was made from; none where an earlier version made it.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub(super) fn known(results: &Path) -> Result<Self> {
        let file = results.join(INPUTS);
        let read = match fs::read_to_string(&file) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Self::default());
            }
            read => read.with_context(|| format!("{}: cannot be read", file.display()))?,
        };
        serde_json::from_str(&read).with_context(|| format!("{}: is damaged", file.display()))
    }

    /// The first file of these that is not what it was there, if any.
    pub(super) fn change(&self, known: &Self) -> Option<String> {
        for (path, files) in &self.0 {
            let Some(before) = known.0.get(path).filter(|before| *before != files) else {
                continue;
            };
            let differs = |name: &&String| before.get(*name) != files.get(*name);
            let name = files.keys().chain(before.keys()).find(differs)?;
            let place = Path::new(path).join(name);
            let place = place.to_string_lossy();
            return Some(format!("{} has changed", place.trim_end_matches('/')));
        }
        None
    }

    /// These, and those that were known besides, as the file has them.
    ///
    /// # Errors
    /// Never.
    pub(super) fn to_json(&self, mut known: Self) -> Result<String> {
        known.0.extend(self.0.clone());
        Ok(serde_json::to_string_pretty(&known)? + "\n")
    }

    fn add_all(&mut self, keys: &ExperimentFile) -> Result<()> {
        for agent in keys.models() {
            let path = keys.model_of(agent);
            let random = path == keys.model.path && keys.model.random_weights.is_some();
            self.add(path, || {
                let folder = hub::folder(path)?;
                Ok(ModelFolder::files(&folder, !random)?)
            })?;
        }
        let shape = keys.model.random_weights.iter();
        for file in shape.chain(&keys.tasks.source) {
            self.add(file, || Ok(vec![file.clone()]))?;
        }
        for file in keys
            .swarm
            .agent
            .iter()
            .filter_map(|table| table.file.as_ref())
        {
            self.add(file, || match file.is_dir() {
                true => Ok(rollout_files(file)?),
                false => Ok(vec![file.clone()]),
            })?;
        }
        Ok(())
    }

    /// Adds the files that belong to a path, once.
    fn add(&mut self, path: &Path, files: impl FnOnce() -> Result<Vec<PathBuf>>) -> Result<()> {
        let key = path.to_string_lossy().into_owned();
        if self.0.contains_key(&key) {
            return Ok(());
        }
        let unread = |file: &Path| format!("{}: cannot be read", file.display());
        let mut hashes = BTreeMap::new();
        for file in files().with_context(|| unread(path))? {
            let name = match file == path {
                true => String::new(),
                false => file
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into(),
            };
            hashes.insert(name, hash(&file).with_context(|| unread(&file))?);
        }
        self.0.insert(key, hashes);
        Ok(())
    }
}
