//! A broker of messages, NATS with JetStream, seen as what the bus needs of it: a stream that keeps what was published,
//! without doubles, and a place for what all nodes must agree on.

use anyhow::{Context, Result, bail};
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::kv::{self, CreateErrorKind};
use async_nats::jetstream::stream::{Config, StorageType, Stream};
use async_nats::jetstream::{self, Context as JetStream};
use async_nats::{ConnectOptions, HeaderMap};
use futures_util::StreamExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// How long a broker may take to answer before it is asked again.
const ANSWER: Duration = Duration::from_secs(5);
/// Between two attempts to reach it.
const PAUSE: Duration = Duration::from_millis(500);

/// Where a broker is and how one gets in.
#[derive(Clone, Debug)]
pub struct Address {
    /// `nats://host:port`, or `tls://`.
    pub url: String,
    /// A file with credentials (JWT and NKey).
    pub credentials: Option<PathBuf>,
    /// A file with an NKey seed.
    pub nkey: Option<PathBuf>,
    /// The certificates that are trusted, where they are not those of the system.
    pub certificates: Option<PathBuf>,
}

/// What a stream may grow to; beyond it the oldest goes first.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Age of a message.
    pub age: Duration,
    /// Bytes of all messages.
    pub bytes: i64,
}

/// A message to be published.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Under which subject.
    pub subject: String,
    /// One of the same id is the same message.
    pub id: String,
    /// What it says.
    pub payload: Vec<u8>,
}

/// A message as a reader finds it.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// Under which subject it was published, which the broker vouches for.
    pub subject: String,
    /// What it says.
    pub payload: Vec<u8>,
}

/// A connection to a broker with the stream of a swarm.
pub struct Broker {
    runtime: Runtime,
    url: String,
    context: JetStream,
    stream: Stream,
    agreed: kv::Store,
    /// How long it may be away.
    patience: Duration,
}

impl Broker {
    /// Connects, and makes the stream `name` over the subjects `name.>` where there is none yet. With `wait` a broker
    /// that cannot be reached is waited for.
    ///
    /// # Errors
    /// Names the address that cannot be reached, or what the broker refuses.
    pub fn connect(
        address: &Address,
        name: &str,
        retention: Retention,
        patience: Duration,
        wait: bool,
    ) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("no thread can be started")?;
        let connected = runtime.block_on(async {
            let client = loop {
                let options = options(address).await?;
                match options.connect(&address.url).await {
                    Ok(client) => break client,
                    Err(e) if wait && is_away(&e) => tokio::time::sleep(PAUSE).await,
                    Err(e) => bail!("{e}; --wait waits for a broker that is not there yet"),
                }
            };
            let mut context = jetstream::new(client);
            context.set_timeout(ANSWER);
            let stream = context
                .get_or_create_stream(Config {
                    name: name.to_owned(),
                    subjects: vec![format!("{name}.>")],
                    max_age: retention.age,
                    max_bytes: retention.bytes,
                    duplicate_window: retention.age,
                    storage: StorageType::File,
                    ..Config::default()
                })
                .await?;
            let bucket = format!("{name}-agreed");
            let agreed = match context.get_key_value(&bucket).await {
                Ok(store) => store,
                Err(_) => {
                    context
                        .create_key_value(kv::Config {
                            bucket,
                            history: 1,
                            ..kv::Config::default()
                        })
                        .await?
                }
            };
            anyhow::Ok((context, stream, agreed))
        });
        let (context, stream, agreed) =
            connected.with_context(|| format!("{}: the broker cannot be used", address.url))?;
        Ok(Self {
            runtime,
            url: address.url.clone(),
            context,
            stream,
            agreed,
            patience,
        })
    }

    /// Publishes messages in order; all of them are kept by the broker when this returns.
    ///
    /// # Errors
    /// When the broker has been away for too long.
    pub fn publish(&self, messages: &[Outgoing]) -> Result<()> {
        let end = Instant::now() + self.patience;
        let mut left = messages;
        self.runtime.block_on(async {
            while !left.is_empty() {
                let (kept, why) = self.try_publish(left).await;
                left = &left[kept..];
                let Some(why) = why else { continue };
                if Instant::now() >= end {
                    let seconds = self.patience.as_secs_f64();
                    bail!(
                        "{}: nothing could be published for {seconds} s: {why}",
                        self.url
                    );
                }
                tokio::time::sleep(PAUSE).await;
            }
            Ok(())
        })
    }

    /// How many of the messages, from the first on, the broker has kept, and why not more.
    async fn try_publish(&self, messages: &[Outgoing]) -> (usize, Option<String>) {
        let mut waiting = Vec::new();
        let mut failure = None;
        for message in messages {
            let mut headers = HeaderMap::new();
            headers.insert(async_nats::header::NATS_MESSAGE_ID, &message.id[..]);
            let (subject, payload) = (message.subject.clone(), message.payload.clone());
            let sent = self
                .context
                .publish_with_headers(subject, headers, payload.into());
            match sent.await {
                Ok(answer) => waiting.push(answer),
                Err(e) => {
                    failure = Some(e.to_string());
                    break;
                }
            }
        }
        for (kept, answer) in waiting.into_iter().enumerate() {
            if let Err(e) = answer.await {
                return (kept, Some(e.to_string()));
            }
        }
        (messages.len() - usize::from(failure.is_some()), failure)
    }

    /// Reads what was and will be published under subjects of this form, from the first on.
    ///
    /// # Errors
    /// When the broker cannot be reached.
    pub fn read(broker: &Arc<Self>, subjects: &str) -> Result<Reader> {
        let messages = broker.runtime.block_on(async {
            let config = OrderedConfig {
                filter_subject: subjects.to_owned(),
                ..OrderedConfig::default()
            };
            anyhow::Ok(
                broker
                    .stream
                    .create_consumer(config)
                    .await?
                    .messages()
                    .await?,
            )
        });
        Ok(Reader {
            messages: messages.with_context(|| format!("{}: cannot be read", broker.url))?,
            broker: Arc::clone(broker),
        })
    }

    /// Sets what all must agree on, unless somebody has set it before; what is set then.
    ///
    /// # Errors
    /// When the broker cannot be reached.
    pub fn agree(&self, key: &str, value: &[u8]) -> Result<Vec<u8>> {
        let agreed = self.runtime.block_on(async {
            match self.agreed.create(key, value.to_vec().into()).await {
                Ok(_) => Ok(value.to_vec()),
                Err(e) if e.kind() == CreateErrorKind::AlreadyExists => {
                    let found = self.agreed.get(key).await?;
                    Ok(found.map_or_else(|| value.to_vec(), |found| found.to_vec()))
                }
                Err(e) => Err(anyhow::Error::from(e)),
            }
        });
        agreed.with_context(|| format!("{}: {key}: cannot be agreed on", self.url))
    }

    /// What has been agreed on; none where nobody has set it.
    ///
    /// # Errors
    /// When the broker cannot be reached.
    pub fn agreed(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let found = self.runtime.block_on(self.agreed.get(key));
        let found = found.with_context(|| format!("{}: {key}: cannot be read", self.url))?;
        Ok(found.map(|value| value.to_vec()))
    }

    /// A name that no other has.
    pub fn unique_name(&self) -> String {
        self.context.client().new_inbox()
    }

    /// Seconds for which a broker or another node may be away.
    pub fn patience_s(&self) -> f64 {
        self.patience.as_secs_f64()
    }
}

/// Messages in the order in which they were published. A broker that is away for a while is waited for.
pub struct Reader {
    broker: Arc<Broker>,
    messages: Ordered,
}

impl Reader {
    /// The next message; none where nothing comes for as long as others may be away.
    ///
    /// # Errors
    /// When the stream has been taken away.
    pub fn receive(&mut self) -> Result<Option<Incoming>> {
        self.broker.runtime.block_on(async {
            let end = Instant::now() + self.broker.patience;
            loop {
                let left = end.saturating_duration_since(Instant::now());
                match timeout(left, self.messages.next()).await {
                    Err(_) => return Ok(None),
                    Ok(Some(Ok(message))) => {
                        return Ok(Some(Incoming {
                            subject: message.subject.to_string(),
                            payload: message.payload.to_vec(),
                        }));
                    }
                    // the reader begins again by itself where it stood
                    Ok(Some(Err(_))) => tokio::time::sleep(PAUSE.min(left)).await,
                    Ok(None) => bail!("{}: the stream has ended", self.broker.url),
                }
            }
        })
    }
}

async fn options(address: &Address) -> Result<ConnectOptions> {
    let mut options = ConnectOptions::new().connection_timeout(ANSWER);
    if let Some(file) = &address.credentials {
        let read = options.credentials_file(file).await;
        options = read.with_context(|| format!("{}: cannot be read", file.display()))?;
    }
    if let Some(file) = &address.nkey {
        let seed = std::fs::read_to_string(file);
        let seed = seed.with_context(|| format!("{}: cannot be read", file.display()))?;
        options = options.nkey(seed.trim().to_owned());
    }
    if let Some(file) = &address.certificates {
        options = options.add_root_certificates(file.clone());
    }
    Ok(options)
}

/// Whether nobody answers at all, as against a broker that refuses.
fn is_away(error: &async_nats::ConnectError) -> bool {
    use async_nats::ConnectErrorKind::{Dns, Io, TimedOut};
    matches!(error.kind(), Io | TimedOut | Dns)
}
