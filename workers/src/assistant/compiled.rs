//! A channel's settings compiled for matching, and the cache of them.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::assistant::{AssistantConfig, Rule};
use chatkeep_core::id::ChannelId;
use chatkeep_core::store::Store;
use chatkeep_index::keyword::{KeywordError, KeywordMatcher};
use moka::future::Cache;

use crate::outcome::{Outcome, described};

/// Compiled channels kept; the least recently used goes first.
const CHANNELS: u64 = 2_000;
/// A channel nobody talks in is forgotten after this long.
const IDLE: Duration = Duration::from_hours(1);

/// A channel's settings, ready to decide.
#[derive(Debug)]
pub struct Compiled {
    pub(super) version: i64,
    pub(super) config: AssistantConfig,
    pub(super) group_rules: String,
    pub(super) rules: Vec<Rule>,
    pub(super) triggers: KeywordMatcher,
    pub(super) keywords: KeywordMatcher,
}

/// Compiled settings by channel. Cheap to clone; every event asks for the version, so a change is
/// seen by the next message in every process.
#[derive(Clone, Debug)]
pub struct Assistants {
    store: Store,
    cache: Cache<ChannelId, Arc<Compiled>>,
}

impl Assistants {
    /// An empty cache over `store`.
    pub fn new(store: Store) -> Self {
        let cache = Cache::builder().max_capacity(CHANNELS).time_to_idle(IDLE).build();
        Self { store, cache }
    }

    /// The channel's compiled settings; `None` while nothing was ever set.
    ///
    /// # Errors
    /// What to do about a store that fails.
    pub async fn of(&self, channel: &ChannelId) -> Result<Option<Arc<Compiled>>, Outcome> {
        let version = self.store.assistant_version(channel).await?;
        if version == 0 {
            return Ok(None);
        }
        if let Some(known) = self.cache.get(channel).await
            && known.version == version
        {
            return Ok(Some(known));
        }
        let compiled = Arc::new(self.compile(channel, version).await?);
        self.cache.insert(channel.clone(), Arc::clone(&compiled)).await;
        Ok(Some(compiled))
    }

    /// Reads everything after the version: what changes meanwhile has a newer version and is
    /// compiled again with the next event.
    async fn compile(&self, channel: &ChannelId, version: i64) -> Result<Compiled, Outcome> {
        let config = self.store.assistant_config(channel).await?;
        let group_rules = self.store.group_rules(channel).await?.value.text;
        let rules = self.store.rules(channel).await?.value.items;
        Compiled::new(version, config, group_rules, rules)
            .map_err(|error| Outcome::Retry(described(&error)))
    }
}

impl Compiled {
    /// Compiles settings; `rules` oldest first.
    ///
    /// # Errors
    /// When the keywords cannot be compiled.
    pub fn new(
        version: i64,
        config: AssistantConfig,
        group_rules: String,
        rules: Vec<Rule>,
    ) -> Result<Self, KeywordError> {
        let keywords = rules.iter().zip(0_u32..).flat_map(|(rule, ordinal)| {
            rule.keywords.iter().map(move |keyword| (ordinal, keyword.as_str()))
        });
        let keywords = KeywordMatcher::build(keywords)?;
        let triggers = config.rules.trigger_keywords.iter().map(|keyword| (0, keyword.as_str()));
        let triggers = KeywordMatcher::build(triggers)?;
        Ok(Self { version, config, group_rules, rules, triggers, keywords })
    }
}
