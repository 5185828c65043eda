//! Tuning: a key whose value is chosen for each arm on seeds of its own, before the reported runs.
//!
//! The tuning is an experiment by itself, a sweep over the values, in the folder `tuning` of the
//! results; what it found stands in `tuning.csv` beside them.

use super::arms::{Arm, Experiment, label};
use super::models::Models;
use super::node::Node;
use super::results::Results;
use super::run::{Ending, RunOptions, run};
use super::run_checks::RunFailed;
use super::toml_file;
use super::watcher::Watcher;
use crate::report::{self, Criterion, Tuning};
use crate::results_layout::TUNING;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use toml::{Table, Value};

impl Experiment {
    /// The sweep over the values of the tuned key, with every arm that does not state that key itself.
    /// None where nothing is tuned.
    ///
    /// # Errors
    /// When a value may not stand at the key.
    pub fn tuning(&self) -> Result<Option<Self>> {
        let Some(tune) = &self.file.tune else {
            return Ok(None);
        };
        let mut arms = self.arms_as_tables()?;
        arms.retain(|arm| !states(arm, &tune.key));
        if arms.is_empty() {
            return Ok(None);
        }
        for arm in &mut arms {
            arm.remove("baseline");
            if let Some(rounds) = tune.rounds {
                arm.insert("rounds".to_owned(), i64::from(rounds).into());
            }
        }
        let mut table = self.bare_table();
        table.remove("shadow");
        if tune.criterion == Criterion::HeldOutAtEqualRounds {
            // the last round is always evaluated, and no other counts
            toml_file::set(&mut table, "eval.every", i64::from(u32::MAX).into())?;
        }
        table.insert("arm".to_owned(), arms_of(arms));
        table.insert("seeds".to_owned(), Value::try_from(&tune.seeds)?);
        let sweep = Table::from_iter([
            ("key".to_owned(), tune.key.clone().into()),
            ("values".to_owned(), tune.values.clone().into()),
        ]);
        table.insert("sweep".to_owned(), sweep.into());
        let tuning = Self::from_table(&table).context("tune")?;
        for Arm { name, resolved, .. } in &tuning.arms {
            let every = resolved.keys.eval.every;
            ensure!(
                every > 0,
                "arm {name}: eval.every: found 0, expected at least 1: tuning needs held-out rewards"
            );
        }
        Ok(Some(tuning))
    }

    /// The same experiment with the values that the tuning in a results folder has chosen; none where it
    /// tunes nothing.
    ///
    /// # Errors
    /// When an arm has not been tuned there.
    pub fn tuned_in(&self, results: &Path) -> Result<Option<Self>> {
        let Some(tune) = &self.file.tune else {
            return Ok(None);
        };
        let choices = report::choices(results)?;
        let mut tables = self.arms_as_tables()?;
        let mut tuned = Vec::new();
        for arm in tables.iter_mut().filter(|arm| !states(arm, &tune.key)) {
            let name = arm.get("name").and_then(Value::as_str).unwrap_or_default();
            let choice = choices.iter().find(|choice| choice.arm == name);
            let choice = choice.with_context(|| format!("arm {name}: has not been tuned"))?;
            let value = tune.values.iter().find(|v| label(v) == choice.value);
            let value = value.with_context(|| {
                format!(
                    "arm {name}: {} was best, and is no longer in tune.values",
                    choice.value
                )
            })?;
            toml_file::set(arm, &tune.key, value.clone())?;
            tuned.push(choice.arm.clone());
        }
        let mut table = self.bare_table();
        table.insert("arm".to_owned(), arms_of(tables));
        if let Some(baseline) = &self.file.baseline {
            table.insert("baseline".to_owned(), baseline.clone().into());
        }
        let Self { mut arms, .. } = Self::from_table(&table).context("tune")?;
        for arm in arms.iter_mut().filter(|arm| tuned.contains(&arm.name)) {
            arm.tuned = Some(tune.key.clone());
        }
        Ok(Some(Self {
            file: self.file.clone(),
            table: self.table.clone(),
            arms,
        }))
    }

    /// Its arms as `[[arm]]` tables, whichever way the file has them.
    fn arms_as_tables(&self) -> Result<Vec<Table>> {
        if !self.file.arm.is_empty() {
            return Ok(self.file.arm.clone());
        }
        let table = |arm: &super::arms::Arm| {
            Ok(Table::from_iter([
                ("name".to_owned(), arm.name.clone().into()),
                ("mix".to_owned(), Value::try_from(arm.resolved.mix)?),
            ]))
        };
        self.arms.iter().map(table).collect()
    }

    /// The keys of the file without those that say what its arms are.
    fn bare_table(&self) -> Table {
        let mut table = self.table.clone();
        for key in ["mixes", "arm", "baseline", "tune"] {
            table.remove(key);
        }
        table
    }
}

fn arms_of(arms: Vec<Table>) -> Value {
    Value::Array(arms.into_iter().map(Value::Table).collect())
}

/// Whether a table has a dotted key.
fn states(table: &Table, key: &str) -> bool {
    let mut parts = key.split('.');
    let first = parts.next().and_then(|part| table.get(part));
    parts.fold(first, |value, part| value?.get(part)).is_some()
}

/// How the tuning of an experiment ended.
pub enum Tuned {
    /// The experiment with its values; as it was where nothing is tuned.
    Complete(Box<Experiment>),
    /// It was stopped, and goes on from there the next time.
    Stopped,
}

/// Tunes an experiment in its results folder, as far as that has not been done before, and sets the
/// chosen values.
///
/// # Errors
/// As [`run`], and when the results cannot be read.
pub fn tune(
    experiment: &Experiment,
    results: &Results,
    options: RunOptions,
    watcher: &mut dyn Watcher,
) -> Result<Tuned> {
    let (Some(tune), Some(tuning)) = (&experiment.file.tune, experiment.tuning()?) else {
        return Ok(Tuned::Complete(Box::new(experiment.clone())));
    };
    let arms = experiment.arms_as_tables()?;
    let arms = arms.iter().filter(|arm| !states(arm, &tune.key));
    let names = arms.filter_map(|arm| arm.get("name")?.as_str().map(str::to_owned));
    let plan = Tuning {
        key: tune.key.clone(),
        arms: names.collect(),
        values: tune.values.iter().map(label).collect(),
        seeds: tune.seeds.clone(),
    };
    if !plan.is_done(results.dir())? {
        let folder = results.dir().join(TUNING);
        let inner = Results::open(&folder, &tuning, false)?;
        let models = Models::open(&tuning)?;
        match run(&tuning, &models, &inner, &Node::alone(), options, watcher) {
            Ok(Ending::Stopped) => return Ok(Tuned::Stopped),
            Ok(Ending::Complete) => {}
            // a value that diverges is the worst of all, and is told of
            Err(error) if error.is::<RunFailed>() => {}
            Err(error) => return Err(error),
        }
        plan.gather(results.dir(), tune.criterion)?;
    }
    for choice in report::choices(results.dir())? {
        if plan.arms.contains(&choice.arm) {
            watcher.note(choice.to_string());
        }
    }
    let tuned = experiment.tuned_in(results.dir())?;
    let tuned = tuned.unwrap_or_else(|| experiment.clone());
    Ok(Tuned::Complete(Box::new(tuned)))
}
