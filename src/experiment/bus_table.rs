//! The `[bus]` table: what carries rollouts between agents.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The `[bus]` table: what carries rollouts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BusTable {
    /// Within this process, or over a broker.
    pub kind: BusKind,
    /// Where the broker is: `nats://host:port`, or `tls://host:port`.
    pub url: String,
    /// The name of the swarm, that of its stream.
    pub swarm: String,
    /// A file with credentials for the broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// A file with the seed of an NKey for the broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nkey: Option<PathBuf>,
    /// A file with the certificates that are trusted, where they are not those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificates: Option<PathBuf>,
    /// Seconds for which the broker may be away, or nothing be heard of other nodes.
    pub patience_s: f64,
    /// Hours for which the stream keeps what was published.
    pub keep_h: f64,
    /// GiB that the stream keeps at most.
    pub keep_gib: f64,
}

impl Default for BusTable {
    fn default() -> Self {
        Self {
            kind: BusKind::Memory,
            url: "nats://127.0.0.1:4222".to_owned(),
            swarm: "sapo".to_owned(),
            credentials: None,
            nkey: None,
            certificates: None,
            patience_s: 600.0,
            keep_h: 168.0,
            keep_gib: 8.0,
        }
    }
}

/// What carries rollouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BusKind {
    /// The memory of this process.
    #[default]
    Memory,
    /// A stream of NATS JetStream.
    Nats,
}
