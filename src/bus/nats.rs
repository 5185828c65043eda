//! The bus between processes and machines: a stream of NATS JetStream, with a subject for each run and author.
//!
//! It is its own barrier: whoever collects waits until every agent has published its part of the round, so that any
//! number of nodes see what the memory bus of one process would show. Everybody's author is the subject, which the
//! broker lets nobody but the author publish under; what cannot be read or is more than anybody may publish is dropped
//! and counted.

use super::{Bus, Delivery};
use crate::process::{Broker, Incoming, Outgoing, Reader};
use crate::rollout::{AgentId, Rollout};
use crate::wire::{self, Limits};
use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Bytes of a message besides the texts in it.
const ROOM: usize = 1 << 16;
/// Bytes of a character of text in JSON at most.
const ESCAPED: usize = 6;

/// What agents tell each other, compressed, as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Message {
    /// One of the rollouts of a tick.
    Rollout {
        tick: u64,
        rollout: serde_json::Value,
    },
    /// The agent has published all of this tick.
    Published { tick: u64 },
    /// What is to be recorded of the agent's round.
    Record { round: u32, record: String },
}

/// Who takes part in a run over a broker.
#[derive(Clone, Debug)]
pub struct Run {
    /// The name of the swarm, that of its stream.
    pub swarm: String,
    /// A word for arm and seed.
    pub name: String,
    /// How many agents it has.
    pub agents: usize,
    /// How much an agent may publish.
    pub limits: Limits,
}

impl Run {
    fn subject(&self, agent: AgentId) -> String {
        format!("{}.{}.{agent}", self.swarm, self.name)
    }

    /// The agent that has published under a subject.
    fn author(&self, subject: &str) -> Option<AgentId> {
        let number = subject.rsplit('.').next()?.parse().ok()?;
        (usize::from(number) < self.agents).then_some(AgentId(number))
    }

    /// Bytes of the longest message that an honest agent publishes.
    fn longest(&self) -> usize {
        let Limits {
            completions,
            completion_bytes,
            question_bytes,
            ..
        } = self.limits;
        (completions * completion_bytes + question_bytes) * ESCAPED + ROOM
    }
}

/// What has been heard of a tick or a round that is not over.
#[derive(Default)]
struct Heard {
    rollouts: BTreeMap<AgentId, Vec<Arc<Rollout>>>,
    published: BTreeSet<AgentId>,
}

/// The bus of a run on one of its nodes.
pub struct NatsBus {
    broker: Arc<Broker>,
    reader: Reader,
    run: Run,
    heard: BTreeMap<u64, Heard>,
    records: BTreeMap<u32, BTreeMap<AgentId, String>>,
    /// The first tick that can still be asked for.
    oldest: u64,
    /// Messages that nobody should have published.
    dropped: u64,
}

impl NatsBus {
    /// The bus of a run whose first round here has this number.
    ///
    /// # Errors
    /// When the broker cannot be reached.
    pub fn new(broker: Arc<Broker>, run: Run, first: u32) -> Result<Self> {
        let reader = Broker::read(&broker, &format!("{}.{}.*", run.swarm, run.name))?;
        Ok(Self {
            broker,
            reader,
            run,
            heard: BTreeMap::new(),
            records: BTreeMap::new(),
            oldest: u64::from(first),
            dropped: 0,
        })
    }

    fn outgoing(&self, agent: AgentId, id: &str, message: &Message) -> Result<Outgoing> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        serde_json::to_writer(&mut encoder, message)?;
        encoder.flush()?;
        let subject = self.run.subject(agent);
        Ok(Outgoing {
            id: format!("{subject}.{id}"),
            subject,
            payload: encoder.finish()?,
        })
    }

    /// Listens until something is so.
    ///
    /// # Errors
    /// When that takes longer than another node may be away; `missing` says who has not been heard then.
    fn until(
        &mut self,
        what: &str,
        done: impl Fn(&Self) -> bool,
        missing: impl Fn(&Self) -> Vec<AgentId>,
    ) -> Result<()> {
        while !done(self) {
            let Some(message) = self.reader.receive()? else {
                let names: Vec<String> = missing(self).iter().map(AgentId::to_string).collect();
                bail!(
                    "{what}: nothing was heard of agents {} for {} s (bus.patience_s)",
                    names.join(", "),
                    self.broker.patience_s()
                );
            };
            if self.take(&message).is_none() {
                self.dropped += 1;
            }
        }
        Ok(())
    }

    /// Takes in a message; none where it is none that an agent of this run publishes.
    fn take(&mut self, message: &Incoming) -> Option<()> {
        let author = self.run.author(&message.subject)?;
        let mut text = Vec::new();
        let longest = self.run.longest() as u64;
        let decoder = ZlibDecoder::new(&message.payload[..]);
        decoder.take(longest + 1).read_to_end(&mut text).ok()?;
        if text.len() as u64 > longest {
            return None;
        }
        let limits = self.run.limits;
        match serde_json::from_slice(&text).ok()? {
            // what is over has been heard before
            Message::Rollout { tick, .. } | Message::Published { tick } if tick < self.oldest => {}
            Message::Record { round, .. } if u64::from(round) < self.oldest => {}
            Message::Rollout { tick, rollout } => {
                let bytes = serde_json::to_vec(&rollout).ok()?;
                let rollout = wire::decode(&bytes, &limits).ok()?;
                let heard = self.of_tick(tick)?.rollouts.entry(author).or_default();
                let known = heard.iter().any(|other| other.id == rollout.id);
                if heard.len() >= limits.rollouts || known {
                    return None;
                }
                heard.push(Arc::new(rollout));
            }
            Message::Published { tick } => {
                self.of_tick(tick)?.published.insert(author);
            }
            Message::Record { round, record } => {
                if !self.unpublished(u64::from(round)).is_empty() {
                    return None;
                }
                let records = self.records.entry(round).or_default();
                records.entry(author).or_insert(record);
            }
        }
        Some(())
    }

    /// What has been heard of a tick; none of one to which nobody can have come, since nobody begins it before all have
    /// published the one before.
    fn of_tick(&mut self, tick: u64) -> Option<&mut Heard> {
        let near = tick == self.oldest || self.unpublished(tick - 1).is_empty();
        near.then(|| self.heard.entry(tick).or_default())
    }

    fn missing(&self, heard: &BTreeSet<AgentId>) -> Vec<AgentId> {
        let all = (0..self.run.agents as u16).map(AgentId);
        all.filter(|agent| !heard.contains(agent)).collect()
    }

    fn unpublished(&self, tick: u64) -> Vec<AgentId> {
        let none = BTreeSet::new();
        let heard = self.heard.get(&tick);
        self.missing(heard.map_or(&none, |heard| &heard.published))
    }

    fn unrecorded(&self, round: u32) -> Vec<AgentId> {
        let records = self.records.get(&round);
        let heard = records.map_or(BTreeSet::new(), |all| all.keys().copied().collect());
        self.missing(&heard)
    }
}

impl Bus for NatsBus {
    fn publish(&mut self, sender: AgentId, tick: u64, rollouts: Vec<Arc<Rollout>>) -> Result<()> {
        let mut messages = Vec::new();
        for rollout in &rollouts {
            let message = Message::Rollout {
                tick,
                rollout: serde_json::from_slice(&wire::encode(rollout)?)?,
            };
            messages.push(self.outgoing(
                sender,
                &format!("{tick}.{}", rollout.id.index),
                &message,
            )?);
        }
        let end = Message::Published { tick };
        messages.push(self.outgoing(sender, &format!("{tick}.published"), &end)?);
        self.broker.publish(&messages)
    }

    fn collect(&mut self, reader: AgentId, ticks: RangeInclusive<u64>) -> Result<Vec<Delivery>> {
        let tick = *ticks.end();
        self.until(
            &format!("round {tick}"),
            |bus| bus.unpublished(tick).is_empty(),
            |bus| bus.unpublished(tick),
        )?;
        let mut found = Vec::new();
        for heard in self.heard.range(ticks).map(|(_, heard)| heard) {
            for (&sender, rollouts) in heard
                .rollouts
                .iter()
                .filter(|(sender, _)| **sender != reader)
            {
                found.extend(rollouts.iter().map(|rollout| Delivery {
                    sender,
                    rollout: Arc::clone(rollout),
                }));
            }
        }
        found.sort_by_key(|d| (d.sender, d.rollout.id));
        Ok(found)
    }

    fn exchange(&mut self, round: u32, own: Vec<(AgentId, String)>) -> Result<Vec<String>> {
        let mut messages = Vec::new();
        for (agent, record) in own {
            let message = Message::Record { round, record };
            messages.push(self.outgoing(agent, &format!("{round}.record"), &message)?);
        }
        self.broker.publish(&messages)?;
        self.until(
            &format!("the end of round {round}"),
            |bus| bus.unrecorded(round).is_empty(),
            |bus| bus.unrecorded(round),
        )?;
        self.oldest = u64::from(round) + 1;
        self.heard = self.heard.split_off(&self.oldest);
        let records = self.records.remove(&round).context("all have been heard")?;
        Ok(records.into_values().collect())
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }
}
