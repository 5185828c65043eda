//! `report.html`: everything of a results folder on one page that needs nothing else.

use std::{fmt::Write, fs, path::Path};

use anyhow::{Context, Result};
use base64::{Engine, prelude::BASE64_STANDARD};
use pulldown_cmark::{Options, Parser, html::push_html};
use pulldown_cmark_escape::escape_html;

use super::arms::ArmRuns;
use crate::{
    kept_rollouts::{self, KeptRollout},
    results_layout::{EXPERIMENT, run_folder},
};

/// Pictures in the order of the page, and what is said of each. Not every folder has all of them.
const PICTURES: [(&str, &str); 11] = [
    ("open-swarm.png", "The open swarm"),
    ("cumulative.png", "Cumulative reward of the arms"),
    ("selection.png", "The three rewards of each arm"),
    ("costs.png", "Rewards by what they cost"),
    ("form.png", "The rewarded form"),
    ("selection-only.png", "What the draw alone gives"),
    (
        "smoothed.png",
        "Smoothed reward with the spread over agents",
    ),
    ("raw.png", "Reward of each agent"),
    ("tasks.png", "Reward by task"),
    ("sweep.png", "Rewards by the value of the sweep"),
    ("tuning.png", "Tuning"),
];
/// Tables in the order of the page.
const TABLES: [&str; 10] = [
    "open-swarm.md",
    "league.md",
    "members.md",
    "sweep.md",
    "table.md",
    "claims.md",
    "horizons.md",
    "budgets.md",
    "selection-only.md",
    "tuning.md",
];

/// Rollouts that are shown of the first and of the last round whose rollouts were kept.
const SHOWN: usize = 3;

const STYLE: &str = "body{margin:0 auto;max-width:1100px;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:#202020}\
    h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.5rem;border-bottom:1px solid #ddd}\
    img{max-width:100%;height:auto;display:block;margin:1rem 0}.wide{overflow-x:auto}\
    table{border-collapse:collapse;font-size:.9rem;margin:.5rem 0}th,td{padding:.25rem .6rem;border-bottom:1px solid #e4e4e4}\
    th,td:first-child,td[style*=right]{white-space:nowrap}\
    pre{background:#f6f6f6;padding:.8rem;overflow-x:auto;font-size:.85rem}\
    .rollout{border:1px solid #ddd;border-radius:6px;padding:.6rem .9rem;margin:.8rem 0}\
    .rollout p{white-space:pre-wrap;margin:.3rem 0}.right{color:#00734f;font-weight:600}li{overflow-wrap:anywhere}";

/// Writes the page from the tables and pictures that lie in the folder.
pub(super) fn write(dir: &Path, arms: &[ArmRuns]) -> Result<()> {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>sapo results</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>sapo results</h1>\n"
    );
    for (file, heading) in PICTURES {
        let Some(bytes) = read(&dir.join(file))? else {
            continue;
        };
        let data = BASE64_STANDARD.encode(bytes);
        write!(
            page,
            "<h2>{heading}</h2>\n<img alt=\"{heading}\" src=\"data:image/png;base64,{data}\">\n"
        )?;
    }
    for file in TABLES {
        if let Some(text) = read(&dir.join(file))? {
            page += &markdown(&String::from_utf8_lossy(&text));
        }
    }
    if let Ok(text) = fs::read_to_string(dir.join(EXPERIMENT)) {
        write!(
            page,
            "<h2>Configuration</h2>\n<pre>{}</pre>\n",
            escaped(text.trim_end())
        )?;
    }
    page += &rollouts(dir, arms)?;
    page += "</body>\n</html>\n";
    super::output::write_file(&dir.join("report.html"), page.as_bytes())
}

/// The bytes of a file; none where there is no such file.
fn read(file: &Path) -> Result<Option<Vec<u8>>> {
    if !file.exists() {
        return Ok(None);
    }
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(Some(bytes))
}

/// Markdown of ours as HTML: its title a heading of the page, tables that may be wider than the page.
fn markdown(text: &str) -> String {
    let mut html = String::new();
    push_html(&mut html, Parser::new_ext(text, Options::ENABLE_TABLES));
    let html = html.replace("<h1>", "<h2>").replace("</h1>", "</h2>");
    html.replace("<table>", "<div class=\"wide\"><table>")
        .replace("</table>", "</table></div>")
}

fn escaped(text: &str) -> String {
    let mut safe = String::new();
    // a String takes all that is written
    let _ = escape_html(&mut safe, text);
    safe
}

/// Some of what was asked and answered at the start and at the end of the first run of each arm, where it was kept.
fn rollouts(dir: &Path, arms: &[ArmRuns]) -> Result<String> {
    let mut html = String::new();
    for arm in arms {
        let kept = kept(dir, arm)?;
        let rounds = [kept.first(), kept.last()].map(|kept| kept.map(|kept| kept.round));
        let mut rounds: Vec<u32> = rounds.into_iter().flatten().collect();
        rounds.dedup();
        for round in rounds {
            let title = escaped(&arm.arm.title());
            writeln!(html, "<h3>{title}, round {round}</h3>")?;
            // one of each agent, so that tasks differ
            let mut agents = Vec::new();
            for rollout in kept.iter().filter(|kept| kept.round == round) {
                if agents.len() < SHOWN && !agents.contains(&rollout.agent) {
                    agents.push(rollout.agent);
                    html += &rollout_html(rollout);
                }
            }
        }
    }
    if html.is_empty() {
        return Ok(html);
    }
    Ok(format!(
        "<h2>Some rollouts of the first and the last round that were kept</h2>\n{html}"
    ))
}

/// The kept rollouts of the lowest seed of an arm that has any.
fn kept(dir: &Path, arm: &ArmRuns) -> Result<Vec<KeptRollout>> {
    for run in &arm.runs {
        let folder = run_folder(dir, &arm.arm.name, run.seed);
        let kept = kept_rollouts::of_run(&folder)
            .with_context(|| format!("cannot read the rollouts of {}", folder.display()))?;
        if !kept.is_empty() {
            return Ok(kept);
        }
    }
    Ok(Vec::new())
}

fn rollout_html(rollout: &KeptRollout) -> String {
    let right = rollout.answer.as_deref();
    let mut html = format!(
        "<div class=\"rollout\"><p><b>{}</b>, agent {}</p><p>{}</p><p>right: <code>{}</code></p><ol>",
        escaped(&rollout.task),
        rollout.agent,
        escaped(&rollout.question),
        escaped(right.unwrap_or("any that its verifier accepts"))
    );
    for (completion, reward) in rollout.completions.iter().zip(&rollout.rewards) {
        let class = if *reward >= 1.0 {
            " class=\"right\""
        } else {
            ""
        };
        html += &format!("<li{class}>{} ({reward})</li>", escaped(completion));
    }
    html + "</ol></div>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_models_is_no_markup() {
        let kept = KeptRollout {
            round: 1,
            agent: 2,
            index: 0,
            task: "bf".into(),
            question: "<b>?".into(),
            answer: None,
            completions: vec!["<script>alert(1)</script>".into()],
            rewards: vec![1.0],
            drawn_by: Vec::new(),
            metadata: None,
            finish_reasons: Vec::new(),
        };
        let html = rollout_html(&kept);
        assert!(
            html.contains("&lt;script&gt;")
                && !html.contains("<script>")
                && html.contains("&lt;b&gt;?"),
            "{html}"
        );
    }

    #[test]
    fn tables_become_tables() {
        let html = markdown("# T\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n");
        assert!(
            html.contains("<h2>T</h2>") && html.contains("<td style=\"text-align: right\">2</td>"),
            "{html}"
        );
    }
}
