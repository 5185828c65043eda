//! Agents that are no language models, and rewards that are no verifiers: programs and recordings, made from the TOML.

use super::agent_table::{AgentTable, MemberKind, RewardTable};
use super::recording;
use super::resolved::Resolved;
use super::validate::check;
use crate::member::{Command, Human, Poison, Recorded, Responder};
use crate::process::{LineProcess, Program, Terminal};
use crate::reward::{Reward, Scorer, Shape, Shaped};
use crate::wire::Limits;
use anyhow::{Context, Result};
use std::time::Duration;

/// Seconds that a program may take where nobody says.
const TIME_LIMIT_S: f64 = 60.0;
/// Bytes of a line besides the texts in it.
const ROOM: usize = 4096;
/// Bytes of a character of text in JSON at most: `\\u0000`.
const ESCAPED: usize = 6;

impl AgentTable {
    /// # Errors
    /// Names the key that does not fit the kind of the agents.
    pub(super) fn validate(&self, key: &str) -> Result<(), String> {
        let is = |kind| self.kind == kind;
        let fits = |name: &str, given: bool, wanted: bool, kind: &str| {
            let (found, expected) = match wanted {
                true => ("none", format!("one where kind is {kind:?}")),
                false => ("one", format!("none where kind is not {kind:?}")),
            };
            check(given == wanted, &format!("{key}.{name}"), found, &expected)
        };
        let (command, file) = (is(MemberKind::Command), is(MemberKind::File));
        fits("command", !self.command.is_empty(), command, "command")?;
        let poison = is(MemberKind::Poison);
        fits("attack", self.attack.is_some(), poison, "poison")?;
        fits("file", self.file.is_some(), file, "file")?;
        let only = |name: &str, given: bool, may: bool, kind: &str| {
            let expected = format!("none where kind is not {kind:?}");
            check(may || !given, &format!("{key}.{name}"), "one", &expected)
        };
        check(
            command || is(MemberKind::Human) || self.time_limit_s.is_none(),
            &format!("{key}.time_limit_s"),
            "one",
            "none where kind is neither \"command\" nor \"human\"",
        )?;
        only("examined", self.examined, command, "command")?;
        only(
            "recorded_agent",
            self.recorded_agent.is_some(),
            file,
            "file",
        )?;
        only("cycle", self.cycle, file, "file")?;
        let model = is(MemberKind::Model) || is(MemberKind::Frozen);
        only("model", self.model.is_some(), model, "model")?;
        validate_time(&format!("{key}.time_limit_s"), self.time_limit_s)?;
        self.reward
            .iter()
            .try_for_each(|reward| reward.validate(&format!("{key}.reward")))
    }
}

impl RewardTable {
    fn validate(&self, key: &str) -> Result<(), String> {
        validate_time(&format!("{key}.time_limit_s"), self.time_limit_s)?;
        let program = !self.command.is_empty();
        let expected = "one of command and scoring";
        check(!program || self.scoring.is_none(), key, "both", expected)?;
        let expected = "none without a command";
        let key_of = |name: &str| format!("{key}.{name}");
        check(
            program || self.time_limit_s.is_none(),
            &key_of("time_limit_s"),
            "one",
            expected,
        )?;
        let terms = [
            ("form", self.form),
            ("character", self.character),
            ("cut_off", self.cut_off),
        ];
        terms.iter().try_for_each(|(name, term)| {
            check(term.abs() <= 1e6, &key_of(name), term, "-1e6 to 1e6")
        })
    }
}

fn validate_time(key: &str, seconds: Option<f64>) -> Result<(), String> {
    let seconds = seconds.unwrap_or(TIME_LIMIT_S);
    let sane = (1e-3..=86_400.0).contains(&seconds);
    check(sane, key, seconds, "0.001 to 86400")
}

/// The member of an agent that is no model; none for one that is.
///
/// # Errors
/// When its program cannot be started or its recording cannot be read.
pub(super) fn member(
    arm: &Resolved,
    agent: usize,
    limits: &Limits,
) -> Result<Option<Box<dyn Responder>>> {
    let Some(table) = arm.keys.table_of(agent) else {
        return Ok(None);
    };
    Ok(match (table.kind, &table.file) {
        (MemberKind::Command, _) => {
            let texts = limits.completions * limits.completion_bytes;
            let process = program(&table.command, table.time_limit_s, texts)
                .with_context(|| format!("agent {agent}"))?;
            let longest = limits.completion_bytes;
            Some(Box::new(Command::new(process, longest, table.examined)))
        }
        (MemberKind::File, Some(file)) => {
            let recorded = table.recorded_agent.unwrap_or(agent as u16);
            let rounds = recording::read(file, recorded)?;
            Some(Box::new(Recorded::new(rounds.into(), table.cycle)))
        }
        (MemberKind::Poison, _) => table.attack.map(|attack| {
            Box::new(Poison::new(attack, limits.completion_bytes)) as Box<dyn Responder>
        }),
        (MemberKind::Human, _) => {
            let patience = Duration::from_secs_f64(table.time_limit_s.unwrap_or_default());
            let terminal = Terminal::open(patience).context("the terminal cannot be read")?;
            let terminal = terminal.with_context(|| {
                format!(
                    "agent {agent}: found no terminal at standard input, expected one where kind is \"human\"; \
                     kind = \"file\" plays what a person wrote in an earlier run"
                )
            })?;
            Some(Box::new(Human::new(terminal, limits.completion_bytes)))
        }
        _ => None,
    })
}

/// The reward of an agent.
///
/// # Errors
/// When its program cannot be started.
pub(super) fn reward(arm: &Resolved, agent: usize, limits: &Limits) -> Result<Box<dyn Reward>> {
    let table = arm
        .keys
        .table_of(agent)
        .and_then(|table| table.reward.as_ref());
    let Some(table) = table else {
        return Ok(Box::new(arm.tasks.verifiers()));
    };
    let inner: Box<dyn Reward> = match (&table.command[..], table.scoring) {
        ([], None) => Box::new(arm.tasks.verifiers()),
        ([], Some(scoring)) => Box::new(arm.verifiers(scoring)?),
        (command, _) => {
            let process = program(command, table.time_limit_s, limits.completions * ROOM);
            Box::new(Scorer::new(
                process.with_context(|| format!("the reward of agent {agent}"))?,
            ))
        }
    };
    let shape = Shape {
        form: table.form,
        character: table.character,
        cut_off: table.cut_off,
    };
    Ok(match shape == Shape::default() {
        true => inner,
        false => Box::new(Shaped::new(inner, shape)),
    })
}

/// A running program that may write so many bytes of text in a line.
fn program(command: &[String], time_limit_s: Option<f64>, texts: usize) -> Result<LineProcess> {
    let started = LineProcess::start(Program {
        command: command.to_vec(),
        time_limit: Duration::from_secs_f64(time_limit_s.unwrap_or(TIME_LIMIT_S)),
        longest_line: texts * ESCAPED + ROOM,
    });
    started.with_context(|| format!("{}: cannot be started", command.join(" ")))
}
