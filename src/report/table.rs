//! `table.md`: the summary for people.
//!
//! Every number of ours has the paper's beside it where the paper has one. Footnotes say what each is.

use super::{
    format::{NONE, count, number, percent, probability, range, without_interval},
    runs::Series,
    summary::{Row, Summary},
};

/// The whole of `table.md`.
pub(super) fn markdown(summary: &Summary) -> String {
    let sum = |row: &Row, at: usize| number(row.cumulative[at], 2);
    let gain = |row: &Row, at: usize| percent(row.gain[at]);
    let mean = |row: &Row, at: usize| number(row.mean[at], 4);
    let blocks = [
        "# Results".to_owned(),
        headline(summary),
        "**Cumulative reward** (all agents, all rounds)".to_owned(),
        rewards(summary, &sum, &|row| {
            row.paper.map(|paper| format!("{:.2}", paper.cumulative))
        }),
        format!("**Gain over {}**", baseline_name(summary)),
        rewards(summary, &gain, &|row| {
            row.paper?.gain.map(|gain| format!("{gain:+.1} %"))
        }),
        "**Mean reward per agent-round**".to_owned(),
        rewards(summary, &mean, &|row| {
            row.paper.map(|paper| format!("{:.4}", paper.mean))
        }),
        "**Last evaluation, and each arm against its baseline**".to_owned(),
        tests(summary),
        "**Swings**".to_owned(),
        swings(summary),
        "**Details**".to_owned(),
        details(summary),
        footnotes(summary).join("\n"),
    ];
    blocks.join("\n\n") + "\n"
}

/// A Markdown table with a row per arm; all columns but its name are numbers.
fn table(summary: &Summary, columns: &[String], cells: impl Fn(&Row) -> Vec<String>) -> String {
    let mut lines = vec![
        format!("| arm | {} |", columns.join(" | ")),
        format!("|---|{}", "--:|".repeat(columns.len())),
    ];
    for row in &summary.rows {
        let missing = row.unfinished.as_ref();
        let missing = missing.map_or(String::new(), |missing| format!(", {missing}"));
        let name = format!("{}{missing}", row.arm.title());
        lines.push(format!("| {name} | {} |", cells(row).join(" | ")));
    }
    lines.join("\n")
}

/// One quantity of the three rewards, and the paper's.
fn rewards(
    summary: &Summary,
    ours: &dyn Fn(&Row, usize) -> String,
    paper: &dyn Fn(&Row) -> Option<String>,
) -> String {
    let beside = summary.has_paper().then(|| "paper".to_owned());
    let titles = Series::ALL.map(|series| series.title().to_owned());
    let columns: Vec<String> = titles.into_iter().chain(beside).collect();
    table(summary, &columns, |row| {
        let mut cells: Vec<String> = (0..3).map(|at| ours(row, at)).collect();
        if summary.has_paper() {
            cells.push(paper(row).unwrap_or(NONE.to_owned()));
        }
        cells
    })
}

/// The last evaluation, and p of each arm.
fn tests(summary: &Summary) -> String {
    let titles = [
        "held-out, last",
        "p: own reward",
        "p: training set",
        "p: held-out",
        "p: held-out, last",
    ];
    table(summary, &titles.map(str::to_owned), |row| {
        let ps = row.p.map(|p| p.map_or(NONE.to_owned(), probability));
        [number(row.final_eval, 4)].into_iter().chain(ps).collect()
    })
}

/// How steady an arm is, by own and by training-set reward.
fn swings(summary: &Summary) -> String {
    let kinds = ["oscillation", "largest drop", "peak"];
    let columns = Series::ALL[..2]
        .iter()
        .flat_map(|series| kinds.map(|kind| format!("{}: {kind}", series.title())));
    table(summary, &columns.collect::<Vec<_>>(), |row| {
        let of_series = row.swing.iter().flat_map(|of| of.iter().zip([4, 3, 3]));
        of_series
            .map(|(value, decimals)| number(*value, decimals))
            .collect()
    })
}

/// What else there is to know of an arm.
fn details(summary: &Summary) -> String {
    let titles = [
        "seeds",
        "own reward, start",
        "own reward, final",
        "completions per run",
        "steps of an agent",
        "steps with a signal",
        "in tags, final",
        "right of those, final",
    ];
    table(summary, &titles.map(str::to_owned), |row| {
        vec![
            row.seeds.to_string(),
            number(row.start, 4),
            number(row.end, 4),
            format!("{:.0}", row.completions),
            without_interval(row.steps[0], 1),
            without_interval(row.steps[1], 1),
            number(row.form[0], 3),
            number(row.form[1], 3),
        ]
    })
}

/// How much of what there is.
pub(super) fn headline(summary: &Summary) -> String {
    let mixes = summary.rows.iter().any(|row| row.arm.is_named_after_mix());
    let named = if mixes {
        " (local / external rollouts)"
    } else {
        ""
    };
    format!(
        "{}{named}, {}, {}, {}.",
        count(summary.rows.len(), "arm"),
        count(summary.seeds, "seed"),
        range(summary.agents, "agent"),
        count(summary.rounds, "round")
    )
}

/// What each number is, one note per line.
fn footnotes(summary: &Summary) -> Vec<String> {
    let mut notes = vec![
        format!("- {}", intervals(summary)),
        "- *Own reward*: of the completions that an agent generated. *Training set*: of the own and external rollouts \
         it trained on. *Held-out*: on questions never trained on; between evaluations it is taken to go in a straight line."
            .to_owned(),
    ];
    notes.extend(summary.has_paper().then(|| {
        "- *Paper*: 8 agents and 2000 rounds, so compare gains and means rather than sums. It does not say which reward \
         it sums; its public code logs that of the training set, which rises with the external share by selection alone, \
         before anything is learned. Read it beside *training set*. What was learned shows in own reward, and what of it carries \
         over to new questions in held-out."
            .to_owned()
    }));
    notes.extend([
        "- *Start* and *final*: mean over the first tenth (ten rounds at most) and the last tenth of the rounds. *Held-out, \
         last*: the last evaluation."
            .to_owned(),
        "- *Steps with a signal*: those in which some completion had an advantage; in the others momentum alone moved the \
         weights, where the experiment lets it. *In tags*: share of own completions with an answer in tags, the form without which \
         nothing is right."
            .to_owned(),
        "- *p*: two-sided paired t test over seeds against the arm's baseline, Holm's correction over the arms with \
         that baseline."
            .to_owned(),
        "- *Oscillation*: standard deviation of the mean over agents, smoothed as in the pictures, around its trend, a \
         parabola over five times that window, after the first quarter of the rounds. *Largest drop*: of the same curve from a peak to a later trough, all rounds. \
         *Peak*: highest reward of one agent in one round."
            .to_owned(),
    ]);
    let over = match &summary.baselines()[..] {
        [] => None,
        [one] => Some(format!("over the {one} run of the same seed")),
        several => Some(format!(
            "over the run of the same seed of the arm's baseline ({})",
            several.join("; ")
        )),
    };
    notes.extend(over.map(|over| {
        format!("- *Gain*: {over}, in the rounds that both have, then the mean over seeds.")
    }));
    if summary.rows.iter().any(|row| row.unfinished.is_some()) {
        notes.push(
            "- *Unfinished*: sums cover the rounds that there are, so they are not yet comparable; a run less than half \
             as long as the longest of its arm is left out."
                .to_owned(),
        );
    }
    notes
}

/// What the brackets mean in this table.
pub(super) fn intervals(summary: &Summary) -> String {
    let several = "In brackets: the 95 % interval of Student's t over seeds.";
    let single = "A single seed has no interval.";
    match (summary.has_single_seed(), summary.seeds) {
        (false, _) => several.to_owned(),
        (true, 1) => single.to_owned(),
        (true, _) => format!("{several} {single}"),
    }
}

/// What gains are over.
pub(super) fn baseline_name(summary: &Summary) -> String {
    match summary.baselines()[..] {
        [] => "a baseline (none here)".to_owned(),
        [one] => one.to_owned(),
        _ => "the arm's baseline".to_owned(),
    }
}
