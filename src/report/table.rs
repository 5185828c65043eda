//! How a summary reads: `table.md` for people, `table.csv` for programs, a short table for the console.
//!
//! Every number of ours has the paper's beside it where the paper has one. Footnotes say what each is.

use comfy_table::{Cell, CellAlignment, Table, presets};

use super::{
    csv::Series,
    stats::Estimate,
    summary::{Row, Summary},
};

/// Stands where there is no number.
pub(super) const NONE: &str = "–";

/// The whole of `table.md`.
pub(super) fn markdown(summary: &Summary) -> String {
    let base = base_name(summary);
    let sum = |row: &Row, at: usize| plain(row.cumulative[at], 2);
    let gain = |row: &Row, at: usize| percent(row.gain[at]);
    let mean = |row: &Row, at: usize| plain(row.mean[at], 4);
    let blocks = [
        "# Results".to_owned(),
        headline(summary),
        "**Cumulative reward** (all agents, all rounds)".to_owned(),
        beside_paper(summary, &sum, &|row| {
            row.paper.map(|p| format!("{:.2}", p.cumulative))
        }),
        format!("**Gain over {base}**"),
        beside_paper(summary, &gain, &|row| {
            row.paper?.gain.map(|gain| format!("{gain:+.1} %"))
        }),
        "**Mean reward per agent-round**".to_owned(),
        beside_paper(summary, &mean, &|row| {
            row.paper.map(|p| format!("{:.4}", p.mean))
        }),
        "**Last evaluation, and each mix against the one without sharing**".to_owned(),
        tests(summary),
        "**Swings**".to_owned(),
        swings(summary),
        "**Details**".to_owned(),
        details(summary),
        footnotes(summary).join("\n"),
    ];
    blocks.join("\n\n") + "\n"
}

/// The table for the console: each cell holds the sum and, below it, the gain.
pub(super) fn console(summary: &Summary) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let titles = Series::ALL.map(Series::title);
    table.set_header(["mix", "seeds"].into_iter().chain(titles).chain(["paper"]));
    for row in &summary.rows {
        let ours = (0..3).map(|at| {
            format!(
                "{}\n{}",
                plain(row.cumulative[at], 2),
                percent(row.gain[at])
            )
        });
        let paper = row.paper.map_or(NONE.to_owned(), |paper| {
            let gain = paper
                .gain
                .map_or(NONE.to_owned(), |gain| format!("{gain:+.1} %"));
            format!("{:.2}\n{gain}", paper.cumulative)
        });
        let numbers = [row.seeds.to_string()]
            .into_iter()
            .chain(ours)
            .chain([paper]);
        let mix = [Cell::new(row.mix.to_string())].into_iter();
        table.add_row(mix.chain(numbers.map(|n| Cell::new(n).set_alignment(CellAlignment::Right))));
    }
    let mut lines = vec![headline(summary), table.to_string()];
    for row in &summary.rows {
        lines.extend(
            row.unfinished
                .as_ref()
                .map(|missing| format!("{}: {missing}", row.mix)),
        );
    }
    lines.push(format!(
        "Cumulative reward and, below it, the gain over {}. {}",
        base_name(summary),
        intervals(summary)
    ));
    lines.join("\n")
}

/// The whole of `table.csv`: a row a mix, blank where there is no number.
pub(super) fn machine(summary: &Summary) -> String {
    let names = ["own", "train", "eval"];
    let estimates = |row: &Row| {
        let start_end = [
            ("start_own_reward".to_owned(), row.start),
            ("final_own_reward".to_owned(), row.end),
        ];
        let of = |what: &'static str, numbers: [Option<Estimate>; 3]| {
            (0..3).map(move |at| (format!("{}_{what}", names[at]), numbers[at]))
        };
        let three = of("cumulative", row.cumulative)
            .chain(of("gain_percent", row.gain))
            .chain(of("mean", row.mean));
        let last = [("final_held_out".to_owned(), row.final_eval)];
        let swings = ["own", "train"]
            .into_iter()
            .zip(row.swing)
            .flat_map(|(name, numbers)| {
                let kinds = ["oscillation", "largest_drop", "peak"];
                kinds
                    .into_iter()
                    .zip(numbers)
                    .map(move |(kind, number)| (format!("{name}_{kind}"), number))
            });
        three
            .chain(start_end)
            .chain(last)
            .chain(swings)
            .collect::<Vec<_>>()
    };
    let cells = |row: &Row| {
        let mut cells = vec![
            ("local".to_owned(), row.mix.local.to_string()),
            ("external".to_owned(), row.mix.external.to_string()),
            ("seeds".to_owned(), row.seeds.to_string()),
            ("agents".to_owned(), row.agents.to_string()),
            ("rounds".to_owned(), row.rounds.to_string()),
            (
                "unfinished".to_owned(),
                row.unfinished.is_some().to_string(),
            ),
        ];
        for (name, number) in estimates(row) {
            let interval = number.and_then(|n| n.interval);
            cells.push((name.clone(), cell(number.map(|n| n.mean))));
            cells.push((format!("{name}_low"), cell(interval.map(|[low, _]| low))));
            cells.push((format!("{name}_high"), cell(interval.map(|[_, high]| high))));
        }
        for (name, p) in ["own", "train", "eval", "final_held_out"]
            .into_iter()
            .zip(row.p)
        {
            cells.push((format!("{name}_p"), cell(p)));
        }
        cells.push(("completions".to_owned(), cell(Some(row.completions))));
        cells.push((
            "paper_cumulative".to_owned(),
            cell(row.paper.map(|p| p.cumulative)),
        ));
        cells.push((
            "paper_gain_percent".to_owned(),
            cell(row.paper.and_then(|p| p.gain)),
        ));
        cells.push(("paper_mean".to_owned(), cell(row.paper.map(|p| p.mean))));
        cells
    };
    let join = |cells: Vec<String>| cells.join(",") + "\n";
    let rows: Vec<Vec<(String, String)>> = summary.rows.iter().map(cells).collect();
    let header = rows
        .first()
        .map(|row| join(row.iter().map(|(name, _)| name.clone()).collect()));
    let lines = rows
        .into_iter()
        .map(|row| join(row.into_iter().map(|(_, cell)| cell).collect()));
    header.into_iter().chain(lines).collect()
}

/// A number of `table.csv`.
fn cell(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| rounded(number, 6).to_string())
}

/// One quantity for the three rewards, and the paper's.
fn beside_paper(
    summary: &Summary,
    ours: &dyn Fn(&Row, usize) -> String,
    paper: &dyn Fn(&Row) -> Option<String>,
) -> String {
    let mut lines = vec![
        format!(
            "| mix | {} | paper |",
            Series::ALL.map(Series::title).join(" | ")
        ),
        "|---|--:|--:|--:|--:|".to_owned(),
    ];
    for row in &summary.rows {
        let cells = [0, 1, 2].map(|at| ours(row, at)).join(" | ");
        lines.push(format!(
            "| {} | {cells} | {} |",
            row_name(row),
            paper(row).unwrap_or(NONE.to_owned())
        ));
    }
    lines.join("\n")
}

/// The last evaluation, and p of each mix.
fn tests(summary: &Summary) -> String {
    let mut lines = vec![
        "| mix | held-out, last | p: own reward | p: training set | p: held-out | p: held-out, last |".to_owned(),
        "|---|--:|--:|--:|--:|--:|".to_owned(),
    ];
    for row in &summary.rows {
        let ps = row
            .p
            .map(|p| p.map_or(NONE.to_owned(), probability))
            .join(" | ");
        lines.push(format!(
            "| {} | {} | {ps} |",
            row_name(row),
            plain(row.final_eval, 4)
        ));
    }
    lines.join("\n")
}

fn probability(p: f64) -> String {
    if p < 1e-4 {
        "< 0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}

/// How steady a mix is, by own and by training-set reward.
fn swings(summary: &Summary) -> String {
    let columns = Series::ALL[..2].iter().flat_map(|series| {
        ["oscillation", "largest drop", "peak"].map(|kind| format!("{}: {kind}", series.title()))
    });
    let columns: Vec<String> = columns.collect();
    let mut lines = vec![
        format!("| mix | {} |", columns.join(" | ")),
        "|---|--:|--:|--:|--:|--:|--:|".to_owned(),
    ];
    for row in &summary.rows {
        let decimals = [4, 3, 3];
        let numbers = row.swing.iter().flat_map(|of| {
            of.iter()
                .zip(decimals)
                .map(|(n, decimals)| plain(*n, decimals))
        });
        lines.push(format!(
            "| {} | {} |",
            row_name(row),
            numbers.collect::<Vec<_>>().join(" | ")
        ));
    }
    lines.join("\n")
}

/// What else there is to know of a mix.
fn details(summary: &Summary) -> String {
    let mut lines = vec![
        "| mix | seeds | own reward, start | own reward, final | completions a run |".to_owned(),
        "|---|--:|--:|--:|--:|".to_owned(),
    ];
    for row in &summary.rows {
        let (start, end) = (plain(row.start, 4), plain(row.end, 4));
        lines.push(format!(
            "| {} | {} | {start} | {end} | {:.0} |",
            row_name(row),
            row.seeds,
            row.completions
        ));
    }
    lines.join("\n")
}

fn headline(summary: &Summary) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let mixes = match summary.rows.len() {
        1 => "1 mix".to_owned(),
        n => format!("{n} mixes"),
    };
    let rest = [
        count(summary.seeds, "seed"),
        count(summary.agents, "agent"),
        count(summary.rounds, "round"),
    ];
    format!("{mixes} (local / external rollouts), {}.", rest.join(", "))
}

/// What each number is, a line a note.
fn footnotes(summary: &Summary) -> Vec<String> {
    let mut notes = vec![
        format!("- {}", intervals(summary)),
        "- *Own reward*: of the completions that an agent generated. *Training set*: of the own and external rollouts \
         it trained on. *Held-out*: on questions never trained on; between evaluations it is taken to go in a straight line."
            .to_owned(),
        "- *Paper*: 8 agents and 2000 rounds, so compare gains and means rather than sums. It does not say which reward \
         it sums; its public code logs that of the training set, which rises with the external share by selection alone, \
         before anything is learned. Read it beside *training set*. What was learned shows in own reward, and what of it carries \
         over to new questions in held-out."
            .to_owned(),
        "- *Start* and *final*: mean over the first tenth (ten rounds at most) and the last tenth of the rounds. *Held-out, \
         last*: the last evaluation."
            .to_owned(),
        "- *p*: two-sided paired t test over seeds against the mix without sharing, Holm's correction over the mixes."
            .to_owned(),
        "- *Oscillation*: standard deviation of the mean over agents, smoothed as in the pictures, around its trend, a \
         parabola over five times that window, after the first quarter of the rounds. *Largest drop*: of the same curve from a peak to a later trough, all rounds. \
         *Peak*: highest reward of one agent in one round."
            .to_owned(),
    ];
    notes.extend(summary.base.map(|base| {
        format!(
            "- *Gain*: over the {base} run of the same seed, in the rounds that both have, then the mean over seeds."
        )
    }));
    if summary.rows.iter().any(|row| row.unfinished.is_some()) {
        notes.push(
            "- *Unfinished*: sums cover the rounds that there are, so they are not yet comparable; a run less than half \
             as long as the longest of its mix is left out."
                .to_owned(),
        );
    }
    notes
}

/// What the brackets mean in this table.
fn intervals(summary: &Summary) -> String {
    let several = "In brackets: the 95 % bootstrap interval over seeds (percentiles). Of \
                   five seeds it covers about 80 %, of two or three far less: p and the verdicts in claims.md rest on Student's t.";
    let single = "A single seed has no interval.";
    match (summary.has_single_seed(), summary.seeds) {
        (false, _) => several.to_owned(),
        (true, 1) => single.to_owned(),
        (true, _) => format!("{several} {single}"),
    }
}

fn base_name(summary: &Summary) -> String {
    summary.base.map_or(
        "a mix without external rollouts (none here)".to_owned(),
        |mix| mix.to_string(),
    )
}

fn row_name(row: &Row) -> String {
    let missing = row
        .unfinished
        .as_ref()
        .map_or(String::new(), |missing| format!(", {missing}"));
    format!("{}{missing}", row.mix)
}

/// `1.25 [0.75, 1.75]`, or the mean alone where there is no interval.
pub(super) fn plain(estimate: Option<Estimate>, decimals: usize) -> String {
    let Some(Estimate { mean, interval, .. }) = estimate else {
        return NONE.to_owned();
    };
    let number = |number: f64| format!("{:.decimals$}", rounded(number, decimals));
    let interval = interval.map(|ends| ends.map(number).join(", "));
    format!(
        "{}{}",
        number(mean),
        interval.map_or(String::new(), |ends| format!(" [{ends}]"))
    )
}

/// `+52.1 % [+49.1, +55.1]`.
pub(super) fn percent(estimate: Option<Estimate>) -> String {
    let Some(Estimate { mean, interval, .. }) = estimate else {
        return NONE.to_owned();
    };
    let number = |number: f64| format!("{:+.1}", rounded(number, 1));
    let interval = interval.map(|ends| ends.map(number).join(", "));
    format!(
        "{} %{}",
        number(mean),
        interval.map_or(String::new(), |ends| format!(" [{ends}]"))
    )
}

/// Rounded, and never minus zero.
fn rounded(number: f64, decimals: usize) -> f64 {
    let scale = 10_f64.powi(decimals as i32);
    (number * scale).round() / scale + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_the_papers_do() {
        let estimate = |mean, interval| {
            Some(Estimate {
                mean,
                interval,
                sure: None,
            })
        };
        assert_eq!(plain(estimate(561.786, None), 2), "561.79");
        assert_eq!(
            plain(estimate(0.035112, Some([0.032, 0.03768])), 4),
            "0.0351 [0.0320, 0.0377]"
        );
        assert_eq!(
            percent(estimate(52.09, Some([-0.01, 55.0]))),
            "+52.1 % [+0.0, +55.0]"
        );
        assert_eq!(percent(estimate(-0.01, None)), "+0.0 %");
        assert_eq!(
            (plain(None, 2), percent(None), cell(None)),
            (NONE.to_owned(), NONE.to_owned(), String::new())
        );
    }
}
