//! Claims beside what was measured, one table per claim: `claims.md`.
//!
//! Each claim is looked at in every series that it can be about. It holds or does not hold where the 95 % interval
//! of Student's t over seeds says so, and is undecided otherwise. What holds is looked for in the control too, a
//! swarm that never learns: what holds there as well says nothing about learning.

mod claim;
mod paper_claims;
mod sharing_claims;

use std::path::Path;

use self::claim::Claim;
use super::{
    arms::{self, ArmRuns, distinct},
    format::range,
};

/// The folder of the control, beside that of the results.
const CONTROL: &str = "control";

/// What the control is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    Missing,
    Beside,
    Itself,
}

/// The whole of `claims.md` of the results in a folder.
pub(super) fn markdown(dir: &Path, arms: &[ArmRuns]) -> String {
    let ours = claims(arms);
    if ours.is_empty() {
        return "# Claims\n\nNone can be looked at here: they are about the paper's four mixes, about sharing and its \
                baseline, and about replay.\n"
            .to_owned();
    }
    let (control, theirs) = control(dir, arms);
    let mut text = head(arms, control);
    for claim in ours {
        let same = theirs.iter().find(|other| other.says == claim.says);
        text += &section(&claim, same, control);
    }
    text
}

fn claims(arms: &[ArmRuns]) -> Vec<Claim> {
    let mut all = paper_claims::claims(arms).unwrap_or_default();
    all.extend(sharing_claims::claims(arms));
    all
}

/// The claims as the control has them: the arms themselves where they never learn, else those of the folder
/// `control` beside, if that has the same models and as many agents.
fn control(dir: &Path, arms: &[ArmRuns]) -> (Control, Vec<Claim>) {
    if arms.iter().all(|arm| arm.arm.is_control()) {
        return (Control::Itself, claims(arms));
    }
    let beside = std::path::absolute(dir).ok();
    let beside = beside.and_then(|dir| Some(dir.parent()?.join(CONTROL)));
    let found = beside
        .and_then(|dir| arms::read(&dir).ok())
        .filter(|found| {
            let models = |arms: &[ArmRuns]| distinct(arms.iter().map(|arm| arm.arm.model.clone()));
            let agents = |arms: &[ArmRuns]| {
                let runs = arms.iter().flat_map(|arm| &arm.runs);
                runs.map(|run| run.agents).max()
            };
            found.iter().all(|arm| arm.arm.is_control())
                && models(found) == models(arms)
                && agents(found) == agents(arms)
        });
    found.map_or((Control::Missing, Vec::new()), |found| {
        (Control::Beside, claims(&found))
    })
}

/// What the numbers are, for how long agents learned and with which step sizes.
fn head(arms: &[ArmRuns], control: Control) -> String {
    let rounds = arms.iter().flat_map(|arm| &arm.runs).map(|run| run.rounds);
    let rounds = (rounds.clone().min().unwrap_or(0), rounds.max().unwrap_or(0));
    let steps = arms.iter().filter(|arm| !arm.arm.learning_rate.is_empty());
    let steps = steps.map(|arm| {
        let how = if arm.arm.tuned { ", tuned" } else { "" };
        format!("{} ({}{how})", arm.arm.learning_rate, arm.arm.title())
    });
    let steps = steps.collect::<Vec<_>>().join("; ");
    let steps = if steps.is_empty() {
        "not noted".to_owned()
    } else {
        steps
    };
    let control = match control {
        Control::Missing => "There is no control beside these results",
        Control::Beside => "The control is [this swarm](../control/table.md), which never learns",
        Control::Itself => "Nobody learns here: this is the control itself",
    };
    format!(
        "# Claims\n\nHorizon: {}. Step size: {steps}.\n\nDifferences and gains pair the runs of a seed; in brackets the 95 % \
         interval of Student's t over seeds. A claim *holds* or *does not hold* where that interval says so, else it is \
         *undecided*; what would hold without any learning shows nothing about learning. {control}. The paper does not \
         say which series it plots; what its code logs is the training set's.\n",
        range(rounds, "round")
    )
}

fn section(claim: &Claim, theirs: Option<&Claim>, control: Control) -> String {
    let mut text = format!(
        "\n**{}**\n\n| series | {} | |\n|---|---|---|\n",
        claim.says, claim.quantity
    );
    for finding in &claim.findings {
        let same = theirs.and_then(|theirs| {
            let mut findings = theirs.findings.iter();
            findings.find(|other| other.series == finding.series)
        });
        let verdict = verdict(finding.holds, same.map(|same| same.holds), control);
        text += &format!(
            "| {} | {} | {verdict} |\n",
            finding.series, finding.measured
        );
    }
    let (file, line) = claim.code;
    text += claim.note;
    text += &format!(
        "\nFrom [the CSV files](runs) and [the configuration](experiment.toml), by [this code](../../{file}#L{line}).\n"
    );
    text
}

/// In words, from what was found here and, where it was looked at there, in the control.
fn verdict(holds: Option<bool>, there: Option<Option<bool>>, control: Control) -> &'static str {
    match (holds, there, control) {
        (None, ..) => "undecided",
        (Some(false), ..) => "**does not hold**",
        (_, Some(Some(true)), _) => "holds, and in the control too: shows nothing about learning",
        (_, _, Control::Missing) => "holds; no control to compare with",
        (_, Some(Some(false)), _) => "**holds**, and not in the control",
        (_, Some(None), _) => "**holds**; undecided in the control",
        (_, None, _) => "holds; the control has no such arms",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_without_learning_is_never_a_bare_holds() {
        let bare = |control| verdict(Some(true), Some(Some(true)), control);
        assert_eq!(bare(Control::Itself), bare(Control::Beside));
        assert!(bare(Control::Itself).ends_with("nothing about learning"));
        let beside = |there| verdict(Some(true), there, Control::Beside);
        assert_eq!(
            [Some(Some(false)), Some(None), None].map(beside),
            [
                "**holds**, and not in the control",
                "**holds**; undecided in the control",
                "holds; the control has no such arms"
            ]
        );
        let alone = verdict(Some(true), None, Control::Missing);
        assert_eq!(alone, "holds; no control to compare with");
        assert_eq!(
            verdict(None, Some(Some(true)), Control::Beside),
            "undecided"
        );
    }
}
