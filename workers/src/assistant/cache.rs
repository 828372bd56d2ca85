//! Compiled assistants, shared by everyone in the process.
//!
//! A change of settings is told on the bus, so that every process compiles them anew with the next
//! message. A notice may get lost; so what is known is looked after once a second, by one small
//! read.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_core::bus::{Bus, BusError};
use chatkeep_core::causes::with_causes;
use chatkeep_core::id::ChannelId;
use chatkeep_core::outage::Failure;
use chatkeep_core::store::{AssistantState, Store, StoreError};
use chatkeep_index::keyword::KeywordError;
use chatkeep_index::semantic::SemanticSpace;
use moka::future::Cache;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::compiled::{Compiled, Source};
use super::decide::Decision;
use crate::outcome::Outcome;

/// What changes are told under.
const TOPIC: &str = "assistant";
/// Memory for compiled assistants, in bytes; the least recently used go first.
const MEMORY: u64 = 256 * 1024 * 1024;
/// Channels whose state is remembered.
const STATES: u64 = 100_000;
/// A channel that nobody talks in is forgotten after this long.
const IDLE: Duration = Duration::from_hours(1);
/// For how long a state is taken for true without looking.
const FRESH: Duration = Duration::from_secs(1);

/// Why an assistant could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The store failed.
    #[error("the settings cannot be read")]
    Store(#[from] StoreError),
    /// The keywords cannot be compiled.
    #[error("the rules cannot be compiled")]
    Keywords(#[from] KeywordError),
    /// The thread that compiled died.
    #[error("compiling stopped unexpectedly")]
    Died(#[from] tokio::task::JoinError),
}

/// Compiled settings by channel. Cheap to clone.
#[derive(Clone)]
pub struct Assistants {
    store: Store,
    space: Arc<SemanticSpace>,
    states: Cache<ChannelId, Known>,
    compiled: Cache<Key, Arc<Compiled>>,
    /// The right to keep a processor busy with compiling or matching; one processor is left for
    /// the rest.
    turns: Arc<Semaphore>,
}

/// What is known of a channel.
#[derive(Clone, Copy, Debug)]
struct Known {
    state: Option<AssistantState>,
    /// Since when; `None` when it has to be looked after.
    at: Option<Instant>,
    /// The state before this one, of which something may be compiled.
    before: Option<(i64, bool)>,
}

/// Has a channel's state looked after with its next message.
async fn doubt(states: &Cache<ChannelId, Known>, channel: &ChannelId) {
    if let Some(known) = states.get(channel).await {
        states.insert(channel.clone(), Known { at: None, ..known }).await;
    }
}

/// What decides how an assistant decides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    channel: ChannelId,
    state: (i64, bool),
}

impl fmt::Debug for Assistants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assistants")
            .field("space", &self.space)
            .field("compiled", &self.compiled.entry_count())
            .finish_non_exhaustive()
    }
}

impl Assistants {
    /// An empty cache over `store`; semantic rules are matched in `space`.
    pub fn new(store: Store, space: Arc<SemanticSpace>) -> Self {
        let states = Cache::builder().max_capacity(STATES).time_to_idle(IDLE).build();
        let compiled = Cache::builder()
            .max_capacity(MEMORY)
            .weigher(|_: &Key, compiled: &Arc<Compiled>| {
                u32::try_from(compiled.size()).unwrap_or(u32::MAX)
            })
            .time_to_idle(IDLE)
            .build();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let turns = Arc::new(Semaphore::new(processors.saturating_sub(1).max(1)));
        Self { store, space, states, compiled, turns }
    }

    /// The channel's compiled settings; `None` while nothing was ever set.
    ///
    /// # Errors
    /// When the store fails or the settings cannot be compiled.
    pub async fn of(
        &self,
        channel: &ChannelId,
    ) -> Result<Option<Arc<Compiled>>, Arc<CompileError>> {
        let known = self.known(channel).await.map_err(|error| Arc::new(error.into()))?;
        let Some(state) = known.state else {
            return Ok(None);
        };
        let key = |state| Key { channel: channel.clone(), state };
        let new = key(Compiled::key(state));
        // Many messages at once wait for one compilation.
        let compiled = self.compiled.try_get_with(new, self.compile(channel, known)).await?;
        if let Some(old) = known.before {
            self.compiled.invalidate(&key(old)).await;
        }
        Ok(Some(compiled))
    }

    async fn known(&self, channel: &ChannelId) -> Result<Known, StoreError> {
        let known = self.states.get(channel).await;
        if let Some(known) = known
            && known.at.is_some_and(|at| at.elapsed() < FRESH)
        {
            return Ok(known);
        }
        let at = Some(Instant::now());
        let state = self.store.assistant_state(channel).await?;
        let old = known.and_then(|known| known.state).map(Compiled::key);
        let changed = old != state.map(Compiled::key);
        let before = if changed { old } else { known.and_then(|known| known.before) };
        let known = Known { state, at, before };
        self.states.insert(channel.clone(), known).await;
        Ok(known)
    }

    /// What is read may be newer than the state: then the next look finds a newer state, and the
    /// same is compiled once more.
    async fn compile(
        &self,
        channel: &ChannelId,
        known: Known,
    ) -> Result<Arc<Compiled>, CompileError> {
        let mut source = self.source(channel).await?;
        source.plan = known.state.and_then(|state| state.plan);
        let before = match known.before {
            Some(state) => self.compiled.get(&Key { channel: channel.clone(), state }).await,
            None => None,
        };
        self.compile_source(source, before).await
    }

    /// What a channel's assistant is compiled from, as it is now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn source(&self, channel: &ChannelId) -> Result<Source, StoreError> {
        Ok(Source {
            config: self.store.assistant_config(channel).await?,
            group_rules: self.store.group_rules(channel).await?.value.text,
            rules: self.store.rules(channel).await?.value.items,
            plan: self.store.owner_plan(channel).await?,
        })
    }

    /// Compiles settings without keeping them. What `before` knows of the same phrases is not
    /// worked out again.
    ///
    /// # Errors
    /// When the keywords cannot be compiled.
    pub async fn compile_source(
        &self,
        source: Source,
        before: Option<Arc<Compiled>>,
    ) -> Result<Arc<Compiled>, CompileError> {
        let space = Arc::clone(&self.space);
        let compile = move || Compiled::new(source, &space, before.as_deref());
        // Never closed.
        let turn = self.turns.acquire().await;
        let compiled = tokio::task::spawn_blocking(compile).await;
        drop(turn);
        Ok(Arc::new(compiled??))
    }

    /// What `compiled` says to a text; where that may take long, apart from the threads that
    /// everything else runs on.
    ///
    /// # Errors
    /// When the thread that decided died.
    pub async fn decide(
        &self,
        compiled: &Arc<Compiled>,
        text: &str,
    ) -> Result<Decision, Arc<CompileError>> {
        if compiled.is_quick(text) {
            return Ok(compiled.decide(text));
        }
        let (compiled, text) = (Arc::clone(compiled), text.to_owned());
        // Never closed.
        let turn = self.turns.acquire().await;
        let decision = tokio::task::spawn_blocking(move || compiled.decide(&text)).await;
        drop(turn);
        decision.map_err(|error| Arc::new(error.into()))
    }

    /// Has the next message of a channel decided by its settings as they are by then: here at
    /// once, and in every other process by a notice.
    pub async fn changed(&self, channel: &ChannelId, bus: &Bus) {
        doubt(&self.states, channel).await;
        let notice = Bytes::copy_from_slice(channel.as_str().as_bytes());
        if let Err(error) = bus.tell(TOPIC, notice).await {
            // Within a second they look for themselves.
            debug!(error = with_causes(&error), "other processes were not told of a change");
        }
    }

    /// Hears of changes until `stop`.
    ///
    /// # Errors
    /// When the bus is closed.
    pub async fn listen(
        &self,
        bus: &Bus,
        stop: CancellationToken,
    ) -> Result<impl Future<Output = ()> + Send + 'static, BusError> {
        let mut changes = bus.listen(TOPIC).await?;
        let states = self.states.clone();
        Ok(async move {
            while let Some(Some(channel)) = stop.run_until_cancelled(changes.next()).await {
                if let Ok(channel) = std::str::from_utf8(&channel) {
                    doubt(&states, &ChannelId::new(channel)).await;
                }
            }
        })
    }
}

impl From<Arc<CompileError>> for Outcome {
    fn from(error: Arc<CompileError>) -> Self {
        match &*error {
            CompileError::Store(error) => error.into(),
            other => Self::Retry(Failure::of(other)),
        }
    }
}
