//! An experiment: a list of arms times a list of seeds.
//!
//! A file names its arms in one of three ways, which all come to the same: `mixes` for arms that
//! differ in their mix and bear its name, `[[arm]]` for arms with a name and any keys, or a single
//! `mix`. A `[sweep]` repeats each of them for every value of a key.

use super::config::{ExperimentFile, SweepTable};
use super::resolved::{Built, Resolved};
use super::toml_file::{self, Loaded};
use super::validate::{distinct, validate_mix};
use crate::swarm::Mix;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::path::Path;
use toml::{Table, Value};

/// Keys that name arms: those of a file take the place of those that it extends.
const NAMING: [&str; 3] = ["mix", "mixes", "arm"];
/// Keys that say what the arms are.
const OF_ARMS: [&str; 5] = ["baseline", "mixes", "arm", "sweep", "tune"];
/// Keys that concern all arms alike.
const COMMON: [&str; 10] = [
    "bus",
    "seeds",
    "mixes",
    "arm",
    "sweep",
    "tune",
    "shadow",
    "device",
    "checkpoint",
    "log",
];
/// The columns of `arms.csv`.
const COLUMNS: [&str; 13] = [
    "arm",
    "local",
    "external",
    "baseline",
    "sweep_key",
    "sweep_value",
    "learning_rate",
    "tuned",
    "draw_from",
    "replay_rounds",
    "model",
    "rounds",
    // the last, and only where it says something
    "league",
];

/// One named variant of an experiment.
#[derive(Clone)]
pub struct Arm {
    /// Its name, that of its folder.
    pub name: String,
    /// The name of the arm that it is compared with.
    pub baseline: Option<String>,
    /// The key that is swept and the label of its value here.
    pub swept: Option<(String, String)>,
    /// The key whose value a tuning has chosen.
    pub tuned: Option<String>,
    /// What its runs are made of.
    pub resolved: Resolved,
}

/// One experiment: a list of arms times a list of seeds.
#[derive(Clone)]
pub struct Experiment {
    /// Its file, as it was put together.
    pub file: ExperimentFile,
    /// Its arms, each with another name.
    pub arms: Vec<Arm>,
    /// The file, key by key.
    pub(super) table: Table,
}

/// An arm before its keys are read.
struct Draft {
    name: String,
    /// The name without the value of a sweep.
    family: String,
    swept: Option<(String, String)>,
    /// The arm that it names as its own baseline.
    baseline: Option<String>,
    keys: Table,
}

impl Experiment {
    /// Reads an experiment, applies `key=value` overrides, and checks every value of every arm.
    ///
    /// # Errors
    /// Names the file and the key, what was found and what was expected.
    pub fn load(file: &Path, overrides: &[String]) -> Result<Self> {
        let Loaded { value, table, name } = toml_file::load(file, overrides, &NAMING)?;
        let experiment = Self::new(value, &table, overrides).with_context(|| name.clone())?;
        // so that a value that is tuned is found wrong before anything runs
        experiment.tuning().with_context(|| name)?;
        Ok(experiment)
    }

    /// Whether an agent of any arm is the person at the terminal.
    pub fn has_person(&self) -> bool {
        self.arms
            .iter()
            .any(|arm| arm.resolved.keys.person().is_some())
    }

    /// An experiment from its keys.
    ///
    /// # Errors
    /// As [`Experiment::load`].
    pub(super) fn from_table(table: &Table) -> Result<Self> {
        Self::new(toml_file::parse(table, "experiment")?, table, &[])
    }

    fn new(file: ExperimentFile, table: &Table, overrides: &[String]) -> Result<Self> {
        file.validate_tuning().map_err(|problem| anyhow!(problem))?;
        if let Some(tune) = &file.tune {
            let overridden = overrides.iter().any(|text| sets(text, &tune.key));
            ensure!(
                !overridden,
                "{} is tuned, and cannot be set as well",
                tune.key
            );
        }
        let mut drafts = named(&file)?;
        if let Some(sweep) = &file.sweep {
            drafts = multiplied(&drafts, sweep, overrides)?;
        }
        let mut base = table.clone();
        // `mix` stays: it is what arms without one of their own have
        OF_ARMS.iter().for_each(|key| drop(base.remove(*key)));
        let names: Vec<String> = drafts.iter().map(|draft| draft.name.clone()).collect();
        distinct("arm names", &names).map_err(|problem| anyhow!(problem))?;
        let mut built = Built::default();
        let mut arms: Vec<Arm> = Vec::new();
        for draft in &drafts {
            let mut keys = base.clone();
            toml_file::lay_over(&mut keys, &draft.keys);
            let place = format!("arm {}", draft.name);
            let keys = toml_file::parse(&keys, &place)?;
            let resolved = Resolved::new(keys, &mut built);
            let alone = file.arm.is_empty() && file.sweep.is_none();
            arms.push(Arm {
                name: draft.name.clone(),
                baseline: None,
                swept: draft.swept.clone(),
                tuned: None,
                resolved: resolved.map_err(|problem| match alone {
                    true => anyhow!(problem),
                    false => anyhow!("{place}: {problem}"),
                })?,
            });
        }
        compare(&mut arms, &drafts, file.baseline.as_deref())?;
        let table = table.clone();
        Ok(Self { file, arms, table })
    }

    /// All runs, seed after seed: each has one of every arm before the next begins.
    pub fn runs(&self) -> impl Iterator<Item = (&Arm, u64)> {
        let runs = |&seed: &u64| self.arms.iter().map(move |arm| (arm, seed));
        self.file.seeds.iter().flat_map(runs)
    }

    /// The arm with the most completions and tokens to learn from in a round.
    ///
    /// # Panics
    /// Never: an experiment has an arm.
    pub fn largest(&self) -> &Arm {
        let size = |arm: &&Arm| {
            let (keys, rollouts) = (&arm.resolved.keys, arm.resolved.balance().most());
            let generate = &keys.generate;
            rollouts * generate.num_generations * generate.max_completion_length
        };
        let largest = self.arms.iter().rev().max_by_key(size);
        largest.expect("an experiment has an arm")
    }

    /// The file that would load as this experiment.
    ///
    /// # Errors
    /// Never for an experiment that was loaded.
    pub fn to_toml(&self) -> Result<String> {
        Ok(toml::to_string(&self.file)?)
    }

    /// The arms as `arms.csv` has them, for those who see only CSV files.
    ///
    /// # Errors
    /// Never for an experiment that was loaded.
    pub fn arms_csv(&self) -> Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let in_league = self
            .arms
            .iter()
            .any(|arm| arm.resolved.keys.league.is_some());
        let columns = if in_league {
            COLUMNS.len()
        } else {
            COLUMNS.len() - 1
        };
        writer.write_record(&COLUMNS[..columns])?;
        for arm in &self.arms {
            let Mix { local, external } = arm.resolved.mix;
            let (key, value) = arm.swept.clone().unwrap_or_default();
            let keys = &arm.resolved.keys;
            let cells: [String; COLUMNS.len()] = [
                arm.name.clone(),
                local.to_string(),
                external.to_string(),
                arm.baseline.clone().unwrap_or_default(),
                key,
                value,
                label(&keys.train.learning_rate.into()),
                arm.tuned.clone().unwrap_or_default(),
                label(&Value::try_from(keys.swarm.draw_from)?),
                keys.swarm.replay_rounds.to_string(),
                keys.model.path.display().to_string(),
                keys.rounds.to_string(),
                keys.league.map_or(Ok(String::new()), |league| {
                    Value::try_from(league).map(|name| label(&name))
                })?,
            ];
            writer.write_record(&cells[..columns])?;
        }
        Ok(writer.into_inner()?)
    }
}

/// The arms that a file names.
fn named(file: &ExperimentFile) -> Result<Vec<Draft>> {
    let of_mix = |key: &str, mix: Mix| {
        validate_mix(key, mix).map_err(|problem| anyhow!(problem))?;
        let keys = Table::from_iter([("mix".to_owned(), Value::try_from(mix)?)]);
        Ok(Draft::new(mix.to_string(), keys))
    };
    match (&file.mixes[..], &file.arm[..], file.mix) {
        ([], [], Some(mix)) => Ok(vec![of_mix("mix", mix)?]),
        ([], [], None) => bail!("mixes: found an empty list, expected at least one"),
        ([], arms, _) => arms
            .iter()
            .enumerate()
            .map(|(i, arm)| of_arm(i, arm))
            .collect(),
        (_, [], Some(_)) => bail!("mix: found beside mixes, expected one of the two"),
        (_, [_, ..], _) => bail!("mixes: found beside arm, expected one of the two"),
        (mixes, [], None) => {
            let pairs: Vec<_> = mixes.iter().map(|m| (m.local, m.external)).collect();
            distinct("mixes", &pairs).map_err(|problem| anyhow!(problem))?;
            let all = mixes.iter().enumerate();
            all.map(|(i, mix)| of_mix(&format!("mixes[{i}]"), *mix))
                .collect()
        }
    }
}

fn of_arm(i: usize, arm: &Table) -> Result<Draft> {
    let mut keys = arm.clone();
    let name = keys.remove("name");
    let name = name.as_ref().and_then(Value::as_str);
    let name = name.with_context(|| format!("arm[{i}].name: expected the arm's name"))?;
    let odd = |c: char| !c.is_alphanumeric() && !" -_.,=+".contains(c);
    let fits = !name.is_empty() && name.len() <= 100 && !name.contains(odd);
    ensure!(
        fits && !name.starts_with(['.', ' ']) && !name.ends_with(' '),
        "arm[{i}].name: found {name:?}, expected what can be the name of a folder: letters, digits \
         and `-_.,=+ `"
    );
    if let Some(key) = COMMON.iter().find(|key| keys.contains_key(**key)) {
        bail!("arm[{i}].{key}: found in an arm, expected at the top: it concerns all arms");
    }
    let baseline = keys.remove("baseline").map(|value| {
        let name = value.as_str().map(str::to_owned);
        name.with_context(|| format!("arm[{i}].baseline: expected the name of an arm"))
    });
    Ok(Draft {
        baseline: baseline.transpose()?,
        ..Draft::new(name.to_owned(), keys)
    })
}

impl Draft {
    fn new(name: String, keys: Table) -> Self {
        Self {
            family: name.clone(),
            name,
            swept: None,
            baseline: None,
            keys,
        }
    }
}

/// Every arm with every value of a sweep, named `arm,key=value`.
fn multiplied(drafts: &[Draft], sweep: &SweepTable, overrides: &[String]) -> Result<Vec<Draft>> {
    let SweepTable { key, values } = sweep;
    ensure!(
        !values.is_empty(),
        "sweep.values: found an empty list, expected at least one value"
    );
    let top = key.split('.').next().unwrap_or_default();
    ensure!(
        !COMMON.contains(&top) && top != "mix",
        "sweep.key: found {key}, expected a key that arms can differ in"
    );
    let overridden = overrides.iter().any(|text| sets(text, key));
    ensure!(!overridden, "{key} is swept, and cannot be set as well");
    let short = key.rsplit('.').next().unwrap_or(key);
    let labels: Vec<String> = values.iter().map(label).collect();
    distinct("sweep.values", &labels).map_err(|problem| anyhow!(problem))?;
    let mut all = Vec::new();
    for (value, label) in values.iter().zip(&labels) {
        for draft in drafts {
            let mut keys = draft.keys.clone();
            toml_file::set(&mut keys, key, value.clone()).context("sweep.key")?;
            all.push(Draft {
                name: format!("{},{short}={label}", draft.name),
                family: draft.family.clone(),
                swept: Some((key.clone(), label.clone())),
                baseline: draft.baseline.clone(),
                keys,
            });
        }
    }
    Ok(all)
}

/// Whether an override sets a key.
fn sets(text: &str, key: &str) -> bool {
    text.split('=').next().is_some_and(|set| set.trim() == key)
}

/// A value as a part of a name: numbers in their shortest form, whichever way they were written.
pub(super) fn label(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Float(number) => {
            let (plain, scientific) = (number.to_string(), format!("{number:e}"));
            if scientific.len() < plain.len() {
                scientific
            } else {
                plain
            }
        }
        other => other.to_string(),
    };
    let fits = |c: char| c.is_alphanumeric() || "-.".contains(c);
    text.trim()
        .chars()
        .map(|c| if fits(c) { c } else { '_' })
        .collect()
}

/// Gives every arm the one that it is compared with: that of its own name for it or of the file's, or
/// the one that shares nothing and generates most; in a sweep, the one with the same value.
fn compare(arms: &mut [Arm], drafts: &[Draft], baseline: Option<&str>) -> Result<()> {
    let mix = |arm: &Arm| arm.resolved.mix;
    let alone = drafts.iter().zip(&*arms);
    let alone = alone.filter(|(_, arm)| mix(arm).external == 0).rev();
    let alone = alone.max_by_key(|(_, arm)| mix(arm).local);
    let common = match baseline {
        Some(name) => Some(named_arm(name, drafts)?),
        None => alone.map(|(draft, _)| draft),
    };
    for (arm, draft) in arms.iter_mut().zip(drafts) {
        let (name, chosen) = match &draft.baseline {
            Some(name) => (Some(&name[..]), Some(named_arm(name, drafts)?)),
            None => (baseline, common),
        };
        let Some(chosen) = chosen else { continue };
        // one that is named in full is that of all values
        let one = name == Some(&chosen.name[..]) && chosen.name != chosen.family;
        let same = |other: &&Draft| match one {
            true => other.name == chosen.name,
            false => other.family == chosen.family && other.swept == draft.swept,
        };
        let found = drafts.iter().find(same).map(|other| other.name.clone());
        arm.baseline = found.filter(|name| *name != arm.name);
    }
    Ok(())
}

/// The arm of a name, with or without the value of a sweep.
fn named_arm<'a>(name: &str, drafts: &'a [Draft]) -> Result<&'a Draft> {
    let named = |draft: &&Draft| draft.name == name || draft.family == name;
    drafts.iter().find(named).with_context(|| {
        let names: Vec<&str> = drafts.iter().map(|draft| &draft.name[..]).collect();
        let names = names.join(", ");
        format!("baseline: found {name:?}, expected one of {names}")
    })
}
