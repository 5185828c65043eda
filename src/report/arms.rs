//! The arms of an experiment and their runs: `arms.csv` and the folders `runs/<arm>/seed-<s>`.
//!
//! `arms.csv` says in which order arms stand, what each shares, which arm it is compared with and which value of
//! a sweep it has. In a folder without that file the arms are the folders, those named `<local>-<external>` are
//! mixes, and all are compared with the one that shares nothing.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

pub(super) use super::arm::{Arm, League, Mix, Swept};
use super::{
    rounds_file,
    runs::{self, Run},
};
use crate::results_layout::{ARMS, ROUNDS, RUNS, seed_of};

/// An arm with its runs, one or more, by seed.
#[derive(Clone, Debug)]
pub(super) struct ArmRuns {
    pub(super) arm: Arm,
    pub(super) runs: Vec<Run>,
}

impl ArmRuns {
    /// The runs that count.
    pub(super) fn grown(&self) -> Vec<&Run> {
        runs::grown(&self.runs)
    }
}

/// Arms that are looked at together: those with the same value of a sweep, or all where nothing is swept.
pub(super) fn by_value(arms: &[ArmRuns]) -> Vec<Vec<&ArmRuns>> {
    let mut groups: Vec<Vec<&ArmRuns>> = Vec::new();
    for arm in arms {
        let same = |group: &&mut Vec<&ArmRuns>| group[0].arm.swept == arm.arm.swept;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(arm),
            None => groups.push(vec![arm]),
        }
    }
    groups
}

/// The values without repetition, in the order of their first occurrence.
pub(super) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut all, value| {
        if !all.contains(&value) {
            all.push(value);
        }
        all
    })
}

/// All arms below `dir` that have a round, in their order.
///
/// # Errors
/// When there is none, or a file cannot be understood.
pub(super) fn read(dir: &Path) -> Result<Vec<ArmRuns>> {
    let root = dir.join(RUNS);
    let wanted = format!("{}/<arm>/seed-<s>/{ROUNDS}", root.display());
    let mut found = Vec::new();
    let arm_folders = folders(&root).with_context(|| format!("no runs: expected {wanted}"))?;
    for (name, folder) in arm_folders {
        let mut runs = Vec::new();
        for (run, folder) in folders(&folder)? {
            if let Some(seed) = seed_of(&run) {
                runs.extend(rounds_file::read(&folder, seed)?);
            }
        }
        runs.sort_by_key(|run| run.seed);
        if !runs.is_empty() {
            found.push((name, runs));
        }
    }
    ensure!(!found.is_empty(), "no runs: found no round in any {wanted}");
    let names = || found.iter().map(|(name, _)| name.clone()).collect();
    let mut arms = match listed(dir)? {
        Some(arms) => arms,
        None => compared(from_folders(names())),
    };
    let known = |arm: &Arm| arms.iter().any(|known| known.name == arm.name);
    let others: Vec<Arm> = from_folders(names())
        .into_iter()
        .filter(|arm| !known(arm))
        .collect();
    arms.extend(others);
    let with_runs = |arm: Arm| {
        let at = found.iter().position(|(name, _)| *name == arm.name)?;
        let (_, runs) = found.swap_remove(at);
        Some(ArmRuns { arm, runs })
    };
    Ok(arms.into_iter().filter_map(with_runs).collect())
}

/// Names and paths of the folders in a folder.
fn folders(dir: &Path) -> Result<Vec<(String, std::path::PathBuf)>> {
    let failed = || format!("cannot read {}", dir.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if let (true, Some(name)) = (path.is_dir(), path.file_name()) {
            found.push((name.to_string_lossy().into_owned(), path));
        }
    }
    Ok(found)
}

/// The key of the step size.
const STEP_SIZE: &str = "train.learning_rate";

/// A line of `arms.csv`.
#[derive(Deserialize)]
struct Line {
    arm: String,
    local: Option<usize>,
    external: Option<usize>,
    baseline: String,
    sweep_key: String,
    sweep_value: String,
    // files of earlier versions end here
    #[serde(default)]
    learning_rate: String,
    #[serde(default)]
    tuned: String,
    #[serde(default)]
    draw_from: String,
    #[serde(default)]
    replay_rounds: usize,
    #[serde(default)]
    model: String,
    rounds: Option<usize>,
    #[serde(default)]
    league: Option<League>,
}

/// What `arms.csv` says; none where there is no such file.
fn listed(dir: &Path) -> Result<Option<Vec<Arm>>> {
    let file = dir.join(ARMS);
    if !file.is_file() {
        return Ok(None);
    }
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let arms = parse(&text).with_context(|| format!("in {}", file.display()))?;
    Ok(Some(arms))
}

fn parse(text: &str) -> Result<Vec<Arm>> {
    let mut arms: Vec<Arm> = Vec::new();
    for line in csv::Reader::from_reader(text.as_bytes()).into_deserialize() {
        let line: Line = line?;
        let name = line.arm;
        ensure!(
            arms.iter().all(|arm| arm.name != name),
            "arm `{name}` is there twice"
        );
        let (key, value) = (line.sweep_key, line.sweep_value);
        arms.push(Arm {
            mix: line
                .local
                .zip(line.external)
                .map(|(local, external)| Mix { local, external }),
            baseline: Some(line.baseline).filter(|baseline| !baseline.is_empty()),
            swept: (!key.is_empty()).then_some(Swept { key, value }),
            learning_rate: line.learning_rate,
            tuned: line.tuned == STEP_SIZE,
            replays: line.draw_from == "self",
            // where the pool comes first, what is drawn is not late
            replay_rounds: if line.draw_from == "others-and-memory" {
                0
            } else {
                line.replay_rounds
            },
            model: line.model,
            rounds: line.rounds,
            league: line.league,
            name,
        });
    }
    for Arm { name, baseline, .. } in &arms {
        let Some(baseline) = baseline else { continue };
        if baseline == name || arms.iter().all(|arm| arm.name != *baseline) {
            bail!("arm `{name}`: expected another arm as its baseline, found `{baseline}`");
        }
    }
    Ok(arms)
}

/// Arms of which nothing is known but their names: mixes with most own rollouts first, then the others.
fn from_folders(mut names: Vec<String>) -> Vec<Arm> {
    names.sort();
    let arm = |name: String| Arm {
        mix: Mix::named(&name),
        name,
        ..Arm::default()
    };
    let mut arms: Vec<Arm> = names.into_iter().map(arm).collect();
    arms.sort_by_key(|arm| match arm.mix {
        Some(mix) => (false, usize::MAX - mix.local, mix.external),
        None => (true, 0, 0),
    });
    arms
}

/// Compares all with the first that takes nothing from others.
fn compared(mut arms: Vec<Arm>) -> Vec<Arm> {
    let shares_nothing = |arm: &&Arm| arm.mix.is_some_and(|mix| mix.external == 0);
    let baseline = arms.iter().find(shares_nothing).map(|arm| arm.name.clone());
    for arm in &mut arms {
        arm.baseline = baseline.clone().filter(|name| *name != arm.name);
    }
    arms
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "arm,local,external,baseline,sweep_key,sweep_value\n";

    #[test]
    fn names_read_as_mixes_where_they_are() {
        let text = format!(
            "{HEADER}8-0,8,0,,,\nfrozen,4,4,8-0,,\n\"4-4,agents=2\",4,4,,swarm.agents,2\n\"frozen,agents=2\",4,4,,swarm.agents,2\n"
        );
        let arms = parse(&text).unwrap();
        let titles: Vec<String> = arms.iter().map(Arm::title).collect();
        assert_eq!(
            titles,
            ["8 / 0", "frozen", "4 / 4, agents=2", "frozen, agents=2"]
        );
        assert_eq!(
            (arms[2].family_title(), arms[2].named_mix()),
            ("4 / 4".to_owned(), None)
        );
        assert_eq!(arms[0].named_mix(), arms[0].mix);
    }

    #[test]
    fn folders_alone_are_compared_with_the_one_that_shares_nothing() {
        let names = [
            "10-2",
            "frozen",
            "4-4",
            "8-0",
            "8-4",
            "12-0",
            "4-4,agents=2",
        ];
        let arms = compared(from_folders(names.map(str::to_owned).into()));
        let names: Vec<&str> = arms.iter().map(|arm| &arm.name[..]).collect();
        assert_eq!(
            names,
            [
                "12-0",
                "10-2",
                "8-0",
                "8-4",
                "4-4",
                "4-4,agents=2",
                "frozen"
            ]
        );
        assert_eq!(
            (&arms[0].baseline, arms[2].baseline.as_deref()),
            (&None, Some("12-0"))
        );
    }

    fn check_error(lines: &str, expected: &str) {
        let error = format!("{:#}", parse(&format!("{HEADER}{lines}")).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn errors_say_what_is_wrong_with_the_file() {
        check_error("8-0,8,0,,,\n8-0,8,0,,,\n", "arm `8-0` is there twice");
        check_error(
            "4-4,4,4,8-0,,\n",
            "arm `4-4`: expected another arm as its baseline, found `8-0`",
        );
        check_error("8-0,eight,0,,,\n", "line: 2");
        check_error("8-0,8\n", "line: 2");
    }
}
