//! Comparison of the index with the store: stored messages that cannot be found, and found messages
//! that are not stored.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_index::search::{IndexChange, IndexError, MessageIndex};
use chatkeep_store::Store;
use tokio::time::Instant;

use super::changes::{UnreadableContent, change_of, read_changes_to};
use super::{PAGE, ReplicaError};

/// Pause between two comparisons of differences that a running indexer may be about to repair.
const PAUSE: Duration = Duration::from_millis(200);
/// Maximum time of waiting in all pages together, as a multiple of that of one page.
const PAGES_AWAITED: u32 = 12;

type Key = (ChannelId, MessageId);

/// Difference between index and store about a message.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Drift {
    /// It is stored but not in the index.
    Missing,
    /// It is in the index but not stored.
    Extra,
    /// It is in the index more than once.
    Repeated,
    /// Its stored content cannot be read, so it cannot be in the index.
    Unreadable,
}

/// Presence of a stored message in the index, as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wanted {
    /// Nothing of it belongs there.
    #[default]
    Absent,
    Present,
    /// Its content cannot be read.
    Unreadable,
}

/// State of a comparison.
pub struct IndexAudit<'a> {
    store: &'a Store,
    index: &'a MessageIndex,
    only: Option<&'a ChannelId>,
    after: Option<Key>,
    done: bool,
    /// Time for which differences of a page may still be pending changes.
    timeout: Duration,
    /// Time that is left for waiting, all pages together.
    left: Duration,
}

impl fmt::Debug for IndexAudit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexAudit").field("after", &self.after).finish_non_exhaustive()
    }
}

impl<'a> IndexAudit<'a> {
    /// Starts a comparison of everything, or of the channel `only`. Differences of a page count once
    /// they have persisted for `timeout` since they were first seen: a running indexer is always a
    /// little behind. All pages together wait for at most twelve times as long.
    pub fn new(
        store: &'a Store,
        index: &'a MessageIndex,
        only: Option<&'a ChannelId>,
        timeout: Duration,
    ) -> Self {
        let after = only.map(|channel| (channel.clone(), MessageId::new("")));
        let left = timeout * PAGES_AWAITED;
        Self { store, index, only, after, done: false, timeout, left }
    }

    /// Returns the differences of the next page, and its number of messages; `None` after the last.
    ///
    /// # Errors
    /// Fails when the store or the index fails.
    #[boxed]
    pub async fn next(&mut self) -> Result<Option<(BTreeMap<Key, Drift>, usize)>, ReplicaError> {
        if self.done {
            return Ok(None);
        }
        let mut kept = self.stored_part().await?;
        let mut found = self.found().await?;
        let bound = [kept.bound(), found.bound()].into_iter().flatten().min();
        if let Some(bound) = &bound {
            kept.items.retain(|key, _| key <= bound);
            found.items.retain(|key, _| key <= bound);
        }
        self.done = bound.is_none();
        self.after = bound.or(self.after.take());
        let read = kept.items.len();
        let drifts = self.persisting(compare(&kept.items, &found.items)).await?;
        Ok(Some((drifts, read)))
    }

    /// Returns the differences of a page that a running indexer does not repair in time.
    async fn persisting(
        &mut self,
        mut drifts: BTreeMap<Key, Drift>,
    ) -> Result<BTreeMap<Key, Drift>, ReplicaError> {
        let (seen, patience) = (Instant::now(), self.timeout.min(self.left));
        while !drifts.is_empty() {
            drifts = self.again(drifts.into_keys().collect()).await?;
            if seen.elapsed() >= patience {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        self.left = self.left.saturating_sub(seen.elapsed());
        Ok(drifts)
    }

    async fn stored_part(&self) -> Result<Part<Wanted>, ReplicaError> {
        let page = self.store.messages().all_messages(self.after.as_ref(), PAGE).await?;
        let full = page.len() == PAGE as usize;
        let states = page.into_iter();
        let own = states.filter(|(channel, _, _)| self.covers(channel));
        // A message's key counts, also if nothing of it belongs into the index.
        let items: BTreeMap<_, _> = own
            .map(|(channel, message, state)| {
                let key = (channel.clone(), message.clone());
                (key, Wanted::of(&change_of(channel, message, state)))
            })
            .collect();
        let full = full && items.len() == PAGE as usize;
        Ok(Part { items, full })
    }

    async fn found(&self) -> Result<Part<usize>, ReplicaError> {
        let (index, after) = (self.index.clone(), self.after.clone());
        let keys = tokio::task::spawn_blocking(move || {
            let after = after.as_ref().map(|(c, m)| (c.as_str(), m.as_str()));
            index.keys(after, PAGE as usize)
        });
        let keys = keys.await??;
        let full = keys.len() == PAGE as usize;
        let items: BTreeMap<_, _> = keys
            .into_iter()
            .map(|key| ((key.channel_id.into(), key.message_id.into()), key.copies))
            .filter(|((channel, _), _): &(Key, usize)| self.covers(channel))
            .collect();
        let full = full && items.len() == PAGE as usize;
        Ok(Part { items, full })
    }

    fn covers(&self, channel: &ChannelId) -> bool {
        self.only.is_none_or(|only| only == channel)
    }

    /// Compares these messages again, by the current state of store and index.
    async fn again(&self, keys: BTreeSet<Key>) -> Result<BTreeMap<Key, Drift>, ReplicaError> {
        let index = self.index.clone();
        let wanted = keys.clone();
        let copies = tokio::task::spawn_blocking(move || {
            index.refresh()?;
            let copies = |(c, m): Key| {
                let copies = index.copies(c.as_str(), m.as_str())?;
                Ok::<_, IndexError>(((c, m), copies))
            };
            wanted.into_iter().map(copies).collect::<Result<BTreeMap<_, _>, _>>()
        });
        let copies = copies.await??;
        let changes = read_changes_to(self.store, &keys).await?;
        let kept = changes.into_iter().map(|change| (key_of(&change), Wanted::of(&change)));
        Ok(compare(&kept.collect(), &copies))
    }
}

/// A page of either side.
struct Part<T> {
    /// Messages, and what this side knows of each.
    items: BTreeMap<Key, T>,
    /// `true` if there may be more.
    full: bool,
}

impl<T> Part<T> {
    /// Returns the key up to which this side is known.
    fn bound(&self) -> Option<Key> {
        self.items.last_key_value().filter(|_| self.full).map(|(key, _)| key.clone())
    }
}

/// Returns the differences between what should be in the index and the copies that are.
fn compare(kept: &BTreeMap<Key, Wanted>, found: &BTreeMap<Key, usize>) -> BTreeMap<Key, Drift> {
    let mut drifts = BTreeMap::new();
    for key in kept.keys().chain(found.keys()) {
        let wanted = kept.get(key).copied().unwrap_or_default();
        let drift = match (wanted, found.get(key).copied().unwrap_or_default()) {
            (Wanted::Unreadable, _) => Drift::Unreadable,
            (Wanted::Present, 0) => Drift::Missing,
            (Wanted::Absent, 1..) => Drift::Extra,
            (Wanted::Present, 2..) => Drift::Repeated,
            (Wanted::Absent, 0) | (Wanted::Present, 1) => continue,
        };
        drifts.insert(key.clone(), drift);
    }
    drifts
}

impl Wanted {
    const fn of(change: &Result<IndexChange, UnreadableContent>) -> Self {
        match change {
            Ok(IndexChange::Put(_)) => Self::Present,
            Ok(_) => Self::Absent,
            Err(_) => Self::Unreadable,
        }
    }
}

fn key_of(change: &Result<IndexChange, UnreadableContent>) -> Key {
    match change {
        Err(unreadable) => (unreadable.channel.clone(), unreadable.message.clone()),
        Ok(IndexChange::Put(doc)) => {
            (doc.channel_id.as_str().into(), doc.message_id.as_str().into())
        }
        Ok(IndexChange::Erase { channel_id, message_id }) => {
            (channel_id.as_str().into(), message_id.as_str().into())
        }
        Ok(IndexChange::EraseChannel { channel_id }) => {
            (channel_id.as_str().into(), MessageId::new(""))
        }
    }
}
