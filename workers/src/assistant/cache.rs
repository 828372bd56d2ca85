//! Cache of compiled assistants, shared by the whole process.
//!
//! A change of settings is broadcast on the bus, so that every process compiles them anew with the
//! next message. A notice may get lost; so the cached state is checked once a second, by one small
//! read.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_bus::{Bus, BusError};
use chatkeep_core::cache::Cache;
use chatkeep_core::causes::with_causes;
use chatkeep_core::heavy::{BlockingPool, all_but_one};
use chatkeep_core::id::ChannelId;
use chatkeep_index::keyword::KeywordError;
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_store::{AssistantState, Store, StoreError};
use tokio::task::JoinError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::compiled::{Compiled, Source};
use super::decide::Decision;
use crate::outcome::Unfinished;

/// Bus topic of changes.
const TOPIC: &str = "assistant";
/// Maximum memory of compiled assistants in bytes, unless another one is set.
const MEMORY: u64 = 256 * 1024 * 1024;
/// Maximum number of channels whose state is cached.
const STATES: usize = 100_000;
/// Idle time after which a channel is evicted.
const IDLE: Duration = Duration::from_hours(1);
/// Time for which a state is used without a check.
const STATE_TTL: Duration = Duration::from_secs(1);

/// Error of compiling an assistant.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The store failed.
    #[error("the settings cannot be read")]
    Store(#[from] StoreError),
    /// The keywords cannot be compiled.
    #[error("the rules cannot be compiled")]
    Keywords(#[from] KeywordError),
    /// The compiling thread died.
    #[error("compiling stopped unexpectedly")]
    Died(#[from] JoinError),
}

/// Compiled settings. Whoever waits for them gets the failure, too; a failure is not cached.
type CompileResult = Result<Arc<Compiled>, Arc<CompileError>>;

/// Address of a channel's page; `None` without a public address of the service.
type ChannelLinks = Arc<dyn Fn(&ChannelId) -> Option<String> + Send + Sync>;

/// Compiling and matching of assistants.
static ASSISTANTS: BlockingPool = BlockingPool::new(all_but_one);

/// Cache of compiled settings by channel. Cheap to clone.
#[derive(Clone)]
pub struct Assistants {
    pub(super) store: Store,
    space: Arc<SemanticSpace>,
    states: Arc<CachedStates>,
    compiled: Cache<Key, CompileResult>,
    links: ChannelLinks,
}

/// Cached state of a channel.
#[derive(Clone, Copy, Debug)]
struct CachedState {
    state: Option<AssistantState>,
    /// Time of the last check; `None` if it has to be checked.
    at: Option<Instant>,
    /// Previous state, of which something may be compiled.
    before: Option<(i64, bool)>,
}

/// Cached states of all channels.
struct CachedStates {
    cache: Cache<ChannelId, CachedState>,
    /// Number of invalidations so far, of any channel. Locked while an entry changes.
    invalidations: Mutex<u64>,
}

impl CachedStates {
    fn new() -> Self {
        Self { cache: Cache::new(STATES, IDLE), invalidations: Mutex::default() }
    }

    fn get(&self, channel: &ChannelId) -> Option<CachedState> {
        self.cache.get(channel)
    }

    /// Changes the state of a channel, if it is cached.
    fn change(&self, channel: &ChannelId, change: impl FnOnce(CachedState) -> CachedState) {
        if let Some(known) = self.cache.get(channel) {
            self.cache.insert(channel.clone(), change(known));
        }
    }

    /// Returns the number of invalidations so far, for what is read from now on.
    fn invalidations(&self) -> u64 {
        *self.invalidations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks a channel's state to be checked with its next message.
    fn invalidate(&self, channel: &ChannelId) {
        let mut invalidations = self.invalidations.lock().unwrap_or_else(PoisonError::into_inner);
        *invalidations += 1;
        self.change(channel, |known| CachedState { at: None, ..known });
    }

    /// Caches a state that was read after so many invalidations. If there was another one since, it
    /// may be older than that, and has to be checked.
    fn insert(&self, channel: &ChannelId, known: CachedState, since: u64) {
        let invalidations = self.invalidations.lock().unwrap_or_else(PoisonError::into_inner);
        let at = known.at.filter(|_| *invalidations == since);
        self.cache.insert(channel.clone(), CachedState { at, ..known });
    }

    /// Forgets the previous state of a channel, of which nothing is compiled any more.
    fn forget_before(&self, channel: &ChannelId, before: (i64, bool)) {
        let _unchanged = self.invalidations.lock().unwrap_or_else(PoisonError::into_inner);
        self.change(channel, |known| CachedState {
            before: known.before.filter(|known| *known != before),
            ..known
        });
    }
}

/// Inputs of an assistant's decisions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    channel: ChannelId,
    state: (i64, bool),
}

impl fmt::Debug for Assistants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assistants")
            .field("space", &self.space)
            .field("compiled", &self.compiled)
            .finish_non_exhaustive()
    }
}

/// Creates an empty cache of compiled assistants of at most that many bytes.
fn compiled_within(bytes: u64) -> Cache<Key, CompileResult> {
    let size = |compiled: &CompileResult| match compiled {
        Ok(compiled) => compiled.size() as u64,
        Err(_) => 0,
    };
    let age = |compiled: &CompileResult| compiled.as_ref().map_or(Duration::ZERO, |_| IDLE);
    Cache::with_weights(bytes, size, age).renewed_by_reads()
}

impl Assistants {
    /// Creates an empty cache over `store`; semantic rules are matched in `space`. Channels have no
    /// links until [`with_links`](Self::with_links) says them.
    pub fn new(store: Store, space: Arc<SemanticSpace>) -> Self {
        let states = Arc::new(CachedStates::new());
        let compiled = compiled_within(MEMORY);
        Self { store, space, states, compiled, links: Arc::new(|_| None) }
    }

    /// Sets the maximum memory of compiled rules in bytes; the least recently used are evicted
    /// first.
    #[must_use]
    pub fn with_memory(self, bytes: u64) -> Self {
        Self { compiled: compiled_within(bytes), ..self }
    }

    /// Sets the addresses of channels' pages, which the bot replies with where that is switched on.
    #[must_use]
    pub fn with_links(
        self,
        links: impl Fn(&ChannelId) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { links: Arc::new(links), ..self }
    }

    /// Returns the address of a channel's page; `None` without a public address of the service.
    pub fn link_of(&self, channel: &ChannelId) -> Option<String> {
        (self.links)(channel)
    }

    /// Returns the channel's compiled settings; `None` if nothing was ever set.
    ///
    /// # Errors
    /// Fails when the store fails or the settings cannot be compiled.
    #[boxed]
    pub async fn of(
        &self,
        channel: &ChannelId,
    ) -> Result<Option<Arc<Compiled>>, Arc<CompileError>> {
        let known = self.state_of(channel).await.map_err(|error| Arc::new(error.into()))?;
        let Some(state) = known.state else {
            return Ok(None);
        };
        let key = |state| Key { channel: channel.clone(), state };
        let new = key(Compiled::key(state));
        // Concurrent messages wait for one compilation.
        let compile = async { self.compile(channel, known).await.map_err(Arc::new) };
        let compiled = self.compiled.get_or_compute(&new, compile).await?;
        if let Some(old) = known.before {
            self.compiled.remove(&key(old));
            self.states.forget_before(channel, old);
        }
        Ok(Some(compiled))
    }

    async fn state_of(&self, channel: &ChannelId) -> Result<CachedState, StoreError> {
        let known = self.states.get(channel);
        if let Some(known) = known
            && known.at.is_some_and(|at| at.elapsed() < STATE_TTL)
        {
            return Ok(known);
        }
        let (at, since) = (Some(Instant::now()), self.states.invalidations());
        let state = self.store.assistant().assistant_state(channel).await?;
        let old = known.and_then(|known| known.state).map(Compiled::key);
        let changed = old != state.map(Compiled::key);
        let before = if changed { old } else { known.and_then(|known| known.before) };
        let known = CachedState { state, at, before };
        self.states.insert(channel, known, since);
        Ok(known)
    }

    /// Compiles the current settings, which may be newer than the state: then the next check finds
    /// a newer state, and the same is compiled once more.
    async fn compile(
        &self,
        channel: &ChannelId,
        known: CachedState,
    ) -> Result<Arc<Compiled>, CompileError> {
        let mut source = self.source(channel).await?;
        source.plan = known.state.and_then(|state| state.plan);
        if source.config.link.enabled && source.link.is_none() {
            warn!(
                channel = %channel,
                "the link of a channel is switched on, but its trigger words get no reply: \
                 api.base_url is not set"
            );
        }
        let before = |state| self.compiled.get(&Key { channel: channel.clone(), state })?.ok();
        let before = known.before.and_then(before);
        self.compile_source(source, before).await
    }

    /// Returns the current settings of a channel's assistant.
    ///
    /// # Errors
    /// Fails when the store fails.
    #[boxed]
    pub async fn source(&self, channel: &ChannelId) -> Result<Source, StoreError> {
        Ok(Source {
            config: self.store.assistant().assistant_config(channel).await?,
            group_rules: self.store.assistant().group_rules(channel).await?.value.text,
            rules: self.store.assistant().rules(channel).await?.value.items,
            plan: self.store.members().owner_plan(channel).await?,
            link: self.link_of(channel),
        })
    }

    /// Compiles settings without caching them. Phrases that are in `before` as well are not
    /// computed again.
    ///
    /// # Errors
    /// Fails when the keywords cannot be compiled.
    #[boxed]
    pub async fn compile_source(
        &self,
        source: Source,
        before: Option<Arc<Compiled>>,
    ) -> Result<Arc<Compiled>, CompileError> {
        let space = Arc::clone(&self.space);
        let compile = move || Compiled::new(source, &space, before.as_deref());
        Ok(Arc::new(ASSISTANTS.try_run(compile).await??))
    }

    /// Decides on a text with `compiled`; if that may take long, on a thread of its own.
    ///
    /// # Errors
    /// Fails when the deciding thread died.
    #[boxed]
    pub async fn decide(
        &self,
        compiled: &Arc<Compiled>,
        text: &str,
    ) -> Result<Decision, Arc<CompileError>> {
        if compiled.is_quick(text) {
            return Ok(compiled.decide(text));
        }
        let (compiled, text) = (Arc::clone(compiled), text.to_owned());
        let decision = ASSISTANTS.try_run(move || compiled.decide(&text)).await;
        decision.map_err(|error| Arc::new(error.into()))
    }

    /// Invalidates a channel's settings, so that its next message is decided by the new ones: here
    /// at once, and in every other process by a notice.
    #[boxed]
    pub async fn changed(&self, channel: &ChannelId, bus: &Bus) {
        self.states.invalidate(channel);
        let notice = Bytes::copy_from_slice(channel.as_str().as_bytes());
        if let Err(error) = bus.broadcast(TOPIC, notice).await {
            // They check by themselves within a second.
            debug!(error = with_causes(&error), "cannot broadcast a settings change");
        }
    }

    /// Subscribes to changes until `stop`.
    ///
    /// # Errors
    /// Fails when the bus is closed.
    #[boxed]
    pub async fn listen(
        &self,
        bus: &Bus,
        stop: CancellationToken,
    ) -> Result<impl Future<Output = ()> + Send + use<>, BusError> {
        let mut changes = bus.subscribe(TOPIC).await?;
        let states = Arc::clone(&self.states);
        Ok(async move {
            while let Some(Some(channel)) = stop.run_until_cancelled(changes.next()).await {
                if let Ok(channel) = std::str::from_utf8(&channel) {
                    states.invalidate(&ChannelId::new(channel));
                }
            }
        })
    }
}

impl From<Arc<CompileError>> for Unfinished {
    fn from(error: Arc<CompileError>) -> Self {
        match &*error {
            CompileError::Store(error) => error.into(),
            other => Self::Retry(crate::failure::of(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached(version: i64, before: Option<(i64, bool)>) -> CachedState {
        let state = Some(AssistantState { version, plan: None });
        CachedState { state, at: Some(Instant::now()), before }
    }

    fn is_checked(states: &CachedStates, channel: &ChannelId) -> bool {
        states.get(channel).is_some_and(|known| known.at.is_some())
    }

    #[test]
    fn a_state_that_was_read_before_a_change_is_checked_again() {
        let (states, channel) = (CachedStates::new(), ChannelId::from("C1"));
        let since = states.invalidations();
        // Nothing is cached yet that could be marked.
        states.invalidate(&channel);
        states.insert(&channel, cached(1, None), since);
        assert!(!is_checked(&states, &channel));
        states.insert(&channel, cached(2, None), states.invalidations());
        assert!(is_checked(&states, &channel));
        states.invalidate(&channel);
        assert!(!is_checked(&states, &channel));
    }

    #[test]
    fn a_previous_state_is_forgotten_once_and_a_later_one_is_not() {
        let (states, channel) = (CachedStates::new(), ChannelId::from("C1"));
        states.insert(&channel, cached(3, Some((2, false))), 0);
        states.forget_before(&channel, (1, false));
        assert_eq!(states.get(&channel).unwrap().before, Some((2, false)));
        states.forget_before(&channel, (2, false));
        assert_eq!(states.get(&channel).unwrap().before, None);
        assert!(is_checked(&states, &channel));
    }
}
