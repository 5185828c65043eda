//! What the keys of an experiment may hold.
//!
//! Errors name the key, what was found and what was expected.

use super::agent_table::MemberKind;
use super::bus_table::{BusKind, BusTable};
use super::config::{ExperimentFile, ShadowTable};
use crate::learn::ImportanceSampling;
use crate::swarm::{
    BalanceRule, DrawFrom, Mix, ShareLogprobs, SignalLimit, TaskProportions, VirtualClock,
};
use crate::tokenizer::ChatOptions;
use std::fmt::Display;

/// Most rollouts of a kind, and most completions of one.
const MOST: usize = 4096;

/// # Errors
/// Unless the value may stand at that key.
pub(super) fn check(
    ok: bool,
    key: &str,
    found: impl Display,
    expected: &str,
) -> Result<(), String> {
    match ok {
        true => Ok(()),
        false => Err(format!("{key}: found {found}, expected {expected}")),
    }
}

impl ExperimentFile {
    /// # Errors
    /// Names the first key that holds what it may not, whatever the arms are.
    pub(super) fn validate(&self) -> Result<(), String> {
        check(self.rounds > 0, "rounds", 0, "at least 1")?;
        distinct("seeds", &self.seeds)?;
        let agents = self.swarm.agents;
        check(
            (1..=1024).contains(&agents),
            "swarm.agents",
            agents,
            "1 to 1024",
        )?;
        self.validate_redraws()?;
        self.validate_draw()?;
        self.swarm
            .clock
            .iter()
            .try_for_each(VirtualClock::validate)?;
        self.validate_generation()?;
        let questions = self.eval.questions;
        let sane = questions <= 1 << 16 && (questions > 0 || self.eval.every == 0);
        let expected = "1 to 65536 where eval.every is not 0";
        check(sane, "eval.questions", questions, expected)?;
        let kept = self.checkpoint.keep_last;
        check(
            (1..=1024).contains(&kept),
            "checkpoint.keep_last",
            kept,
            "1 to 1024",
        )?;
        let mib = self.log.rollouts_mib;
        check(mib <= 1 << 20, "log.rollouts_mib", mib, "0 to 1048576")?;
        let memory = self.device.memory_gib.unwrap_or(1.0);
        let sane = memory > 0.0 && memory.is_finite();
        check(sane, "device.memory_gib", memory, "more than 0")?;
        self.train.validate()?;
        self.validate_bus()?;
        let kwargs = self.model.chat_template_kwargs.iter().flatten();
        for (name, _) in kwargs.filter(|(name, _)| ChatOptions::TAKEN.contains(&name.as_str())) {
            let key = format!("model.chat_template_kwargs.{name}");
            check(false, &key, "one", "none: the template is given it already")?;
        }
        self.validate_person()?;
        self.validate_logprobs()
    }

    /// At most one agent is the person at the terminal, and what they write is kept.
    fn validate_person(&self) -> Result<(), String> {
        let is_person = |&agent: &usize| self.kind_of(agent) == MemberKind::Human;
        let people = (0..self.swarm.agents).filter(is_person).count();
        let found = format!("{people} agents of kind \"human\"");
        let expected = "at most 1: there is one terminal";
        check(people <= 1, "swarm.agent", found, expected)?;
        let why = "where an agent is of kind \"human\", so that what is written is kept";
        let (every, expected) = (self.log.rollouts_every, format!("1 {why}"));
        let kept = people == 0 || every == 1;
        check(kept, "log.rollouts_every", every, &expected)?;
        let (whole, expected) = (self.log.whole, format!("true {why}"));
        check(people == 0 || whole, "log.whole", whole, &expected)
    }

    fn validate_bus(&self) -> Result<(), String> {
        let BusTable {
            kind,
            swarm,
            patience_s,
            keep_h,
            keep_gib,
            ..
        } = &self.bus;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let sane = (1..=64).contains(&swarm.len()) && swarm.chars().all(word);
        check(
            sane,
            "bus.swarm",
            swarm,
            "1 to 64 letters, digits, `-` and `_`",
        )?;
        let numbers = [
            ("patience_s", patience_s),
            ("keep_h", keep_h),
            ("keep_gib", keep_gib),
        ];
        numbers.into_iter().try_for_each(|(key, value)| {
            check(
                (1e-3..=1e6).contains(value),
                &format!("bus.{key}"),
                value,
                "0.001 to 1e6",
            )
        })?;
        let in_step = *kind == BusKind::Memory || self.swarm.clock.is_none();
        let expected = "none where bus.kind is \"nats\", whose rounds are in lock-step";
        check(in_step, "swarm.clock", "one", expected)
    }

    fn validate_logprobs(&self) -> Result<(), String> {
        let (told, key) = (self.swarm.share_logprobs, "swarm.share_logprobs");
        let needed = self.train.needs_logprobs();
        let expected = "\"sequence\" or \"token\" where train.importance_sampling or train.foreign_max_kl needs it";
        check(
            !needed || told != ShareLogprobs::None,
            key,
            "\"none\"",
            expected,
        )?;
        let of_tokens = self.train.importance_sampling == ImportanceSampling::TokenTruncate;
        let found = "\"sequence\"";
        let expected = "\"token\" where train.importance_sampling is \"token_truncate\"";
        check(
            !of_tokens || told == ShareLogprobs::Token,
            key,
            found,
            expected,
        )
    }

    fn validate_redraws(&self) -> Result<(), String> {
        let (swarm, range) = (&self.swarm, format!("0 to {MOST}"));
        let redraws = swarm.max_redraws;
        check(redraws <= MOST, "swarm.max_redraws", redraws, &range)?;
        let (step, group) = (swarm.generations_at_a_time, self.generate.num_generations);
        let key = "swarm.generations_at_a_time";
        let expected = format!("0 to {group} (generate.num_generations)");
        check(step <= group, key, step, &expected)?;
        let shadows = !self.shadow.all().is_empty();
        let expected = "0 where there are shadow draws, which are of whole groups";
        check(step == 0 || !shadows, key, step, expected)?;
        let (most, key) = (swarm.max_completions, "swarm.max_completions");
        check(
            most <= MOST * MOST,
            key,
            most,
            &format!("0 to {}", MOST * MOST),
        )?;
        let asks_again = redraws > 0 || step > 0;
        let expected =
            "0 where neither swarm.max_redraws nor swarm.generations_at_a_time asks for more";
        check(most == 0 || asks_again, key, most, expected)
    }

    fn validate_draw(&self) -> Result<(), String> {
        let (from, replay) = (self.swarm.draw_from, self.swarm.replay_rounds);
        let key = "swarm.replay_rounds";
        check(replay <= 1000, key, replay, "0 to 1000")?;
        let possible = from == DrawFrom::Others || replay > 0;
        let expected = "at least 1 where swarm.draw_from is not \"others\"";
        check(possible, key, replay, expected)?;
        self.validate_balance()?;
        let ShadowTable { mixes, selections } = &self.shadow;
        if mixes.is_empty() && selections.is_empty() {
            return Ok(());
        }
        let pairs: Vec<_> = mixes.iter().map(|m| (m.local, m.external)).collect();
        distinct("shadow.mixes", &pairs)?;
        distinct("shadow.selections", selections)?;
        let mut mixes = mixes.iter();
        mixes.try_for_each(|mix| validate_mix("shadow.mixes", *mix))
    }

    fn validate_balance(&self) -> Result<(), String> {
        let (rule, schedule) = (self.swarm.balance, &self.swarm.schedule);
        let scheduled = rule == BalanceRule::Schedule;
        let key = "swarm.schedule";
        let (found, expected) = if scheduled {
            (
                "no entry",
                "at least one where swarm.balance is \"schedule\"",
            )
        } else {
            ("entries", "none where swarm.balance is not \"schedule\"")
        };
        check(scheduled != schedule.is_empty(), key, found, expected)?;
        for entry in schedule {
            validate_mix(key, entry.mix())?;
        }
        let rounds: Vec<u32> = schedule.iter().map(|entry| entry.from_round).collect();
        let ascending = rounds.is_sorted_by(|a, b| a < b) && rounds.first() != Some(&0);
        let expected = "from_round from 1 on, in ascending order";
        check(ascending, key, "another order", expected)?;
        let limited = self.swarm.signal_limit == SignalLimit::Own;
        let fills = rule == BalanceRule::Fill;
        let expected = "\"none\" where swarm.balance is \"fill\", which brings more signals than the own rollouts have";
        check(
            !(limited && fills),
            "swarm.signal_limit",
            "\"own\"",
            expected,
        )
    }

    /// # Errors
    /// Names the key of the `[tune]` table that holds what it may not.
    pub(super) fn validate_tuning(&self) -> Result<(), String> {
        let Some(tune) = &self.tune else {
            return Ok(());
        };
        let alone = self.sweep.is_none();
        check(alone, "tune", "it beside sweep", "one of the two")?;
        distinct("tune.values", &tune.values)?;
        distinct("tune.seeds", &tune.seeds)?;
        let numbers: Option<Vec<f64>> = tune.values.iter().map(number).collect();
        let ascending = numbers.is_none_or(|numbers| numbers.is_sorted());
        let expected = "numbers in ascending order";
        check(ascending, "tune.values", "another order", expected)?;
        let reported = tune.seeds.iter().find(|seed| self.seeds.contains(seed));
        let found = reported.map_or(0, |seed| *seed);
        let expected = "seeds that are not those of the results";
        check(reported.is_none(), "tune.seeds", found, expected)?;
        check(tune.rounds != Some(0), "tune.rounds", 0, "at least 1")?;
        let evaluated = self.eval.every > 0;
        check(
            evaluated,
            "eval.every",
            0,
            "at least 1: tuning needs held-out rewards",
        )
    }

    fn validate_generation(&self) -> Result<(), String> {
        let (generate, range) = (&self.generate, format!("1 to {MOST} (2 for a signal)"));
        let group = generate.num_generations;
        let sane = (1..=MOST).contains(&group);
        check(sane, "generate.num_generations", group, &range)?;
        let longest = generate.max_completion_length;
        let sane = (1..=1 << 20).contains(&longest);
        check(
            sane,
            "generate.max_completion_length",
            longest,
            "1 to 1048576",
        )?;
        let warmth = generate.temperature;
        let sane = warmth == 0.0 || (0.01..=100.0).contains(&warmth);
        check(
            sane,
            "generate.temperature",
            warmth,
            "0 (greedy) or 0.01 to 100",
        )?;
        let top_p = generate.top_p;
        check(
            (0.0..=1.0).contains(&top_p),
            "generate.top_p",
            top_p,
            "0 to 1",
        )
    }
}

/// A TOML value as a number, if it is one.
fn number(value: &toml::Value) -> Option<f64> {
    value
        .as_float()
        .or_else(|| value.as_integer().map(|n| n as f64))
}

/// # Errors
/// When a mix has no rollout, or too many.
pub(super) fn validate_mix(key: &str, mix: Mix) -> Result<(), String> {
    let found = format!("{} local and {} external", mix.local, mix.external);
    let sizes = mix.local <= MOST && mix.external <= MOST;
    check(sizes, key, &found, &format!("at most {MOST} of each"))?;
    check(
        mix.local + mix.external > 0,
        key,
        &found,
        "at least one rollout",
    )
}

/// # Errors
/// When a list is empty or holds an item twice.
pub(super) fn distinct<T: PartialEq + std::fmt::Debug>(
    key: &str,
    items: &[T],
) -> Result<(), String> {
    if items.is_empty() {
        return Err(format!("{key}: found an empty list, expected at least one"));
    }
    let twice = (1..items.len()).find(|&i| items[..i].contains(&items[i]));
    match twice {
        Some(i) => Err(format!(
            "{key}: found {:?} twice, expected each once",
            items[i]
        )),
        None => Ok(()),
    }
}

/// A proportion for each of `all`: those given for `named`, one each when there are none, 0 for others.
///
/// # Errors
/// When there is not one proportion per named task, or a name is none of all.
pub(super) fn proportions(
    key: &str,
    all: &[String],
    named: &[String],
    given: Option<&[f64]>,
) -> Result<TaskProportions, String> {
    if let Some(given) = given.filter(|given| given.len() != named.len()) {
        let (found, tasks) = (given.len(), named.len());
        return Err(format!(
            "{key}: found {found} proportions, expected one for each of {tasks} tasks"
        ));
    }
    let mut proportions = vec![0.0; all.len()];
    for (i, name) in named.iter().enumerate() {
        let Some(place) = all.iter().position(|known| known == name) else {
            let all = all.join(", ");
            return Err(format!(
                "{key}: found task {name:?}, expected one of tasks.names: {all}"
            ));
        };
        proportions[place] = given.map_or(1.0, |given| given[i]);
    }
    TaskProportions::new(proportions).map_err(|problem| format!("{key}: {problem}"))
}
