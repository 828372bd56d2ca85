//! The indexer: makes kept messages searchable.
//!
//! A job only names messages; what goes into the index is what the store holds of them when the
//! job is handled. So late, repeated and disordered jobs end the same, and a job is acknowledged
//! only after the index has committed it.

mod audit;
mod channel;
mod purge;
mod rebuild;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::{Content, MessageState};
use chatkeep_core::store::{Store, StoreError};
use chatkeep_index::search::{
    IndexChange, IndexDoc, IndexError, MessageIndex, MessageWriter, WriterOptions,
};
use tracing::info;

pub use audit::{Drift, IndexAudit, mend};
pub use purge::Purger;
pub use rebuild::rebuild;

use crate::jobs::IndexJob;
use crate::outcome::{Outcome, described};
use crate::runner::Stage;
use crate::stages::StageName;

/// Jobs in one commit, at most; a commit costs about as much as indexing a thousand messages.
const JOBS: usize = 256;
/// Messages read from the store at once when an index is filled anew.
const PAGE: u32 = 2_000;
/// Messages after which what was read is put on disk while an index is filled.
const COMMIT: usize = 100_000;
/// What the index' last commit says when the index holds everything up to it.
const FILLED: &str = "filled";

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexerError {
    /// The index' folder failed.
    #[error("the search index failed")]
    Index(#[from] IndexError),
    /// The store failed.
    #[error("the store failed while the index was filled")]
    Store(#[from] StoreError),
    /// The thread that indexes died.
    #[error("indexing stopped unexpectedly")]
    Died(#[from] tokio::task::JoinError),
}

/// What comes after changes are written.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// More of them.
    Wait,
    /// They are made durable, and the index is not yet whole.
    Save,
    /// They are made durable and found.
    Commit,
}

/// The indexer stage.
pub struct Indexer {
    store: Store,
    index: MessageIndex,
    /// `None` from when a rebuilt index has taken the place of the one that it wrote, until it can
    /// be opened.
    writer: Arc<Mutex<Option<MessageWriter>>>,
}

impl fmt::Debug for Indexer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Indexer").field("messages", &self.index.doc_count()).finish_non_exhaustive()
    }
}

impl Indexer {
    /// Opens the index in `folder`. One that is new, or that another version wrote, is filled
    /// from the store: at once when that is soon done, else before the stage's first job.
    ///
    /// # Errors
    /// When the index or the store cannot be read.
    pub async fn open(store: Store, folder: PathBuf) -> Result<Self, IndexerError> {
        let (index, writer) = tokio::task::spawn_blocking(move || {
            let index = MessageIndex::open(&folder)?;
            let writer = index.writer(WriterOptions::default())?;
            Ok::<_, IndexError>((index, writer))
        })
        .await??;
        let indexer = Self { store, index, writer: Arc::new(Mutex::new(Some(writer))) };
        if indexer.index.progress().is_none() {
            let first = indexer.store.all_messages(None, PAGE).await?;
            if first.len() < PAGE as usize {
                indexer.fill().await?;
            }
        }
        Ok(indexer)
    }

    /// The index, for searching.
    pub fn index(&self) -> MessageIndex {
        self.index.clone()
    }

    /// What looks after words that erased messages leave behind.
    pub fn purger(&self) -> Purger {
        Purger { writer: Arc::clone(&self.writer) }
    }

    /// Puts everything that the store keeps into an index that was never committed. What is kept
    /// meanwhile has jobs of its own.
    async fn fill(&self) -> Result<(), IndexerError> {
        if self.index.progress().is_some() {
            return Ok(());
        }
        match self.fill_all().await {
            // One that was built beside it is in use now, and full.
            Err(IndexerError::Index(IndexError::Superseded)) => Ok(()),
            filled => filled,
        }
    }

    async fn fill_all(&self) -> Result<(), IndexerError> {
        info!("the search index is being filled from the store");
        let mut after = None;
        let mut messages = 0_usize;
        loop {
            let page = self.store.all_messages(after.as_ref(), PAGE).await?;
            let Some((channel, message, _)) = page.last() else {
                break;
            };
            after = Some((channel.clone(), message.clone()));
            let is_much = messages / COMMIT != (messages + page.len()) / COMMIT;
            messages += page.len();
            let changes = page.into_iter().map(|(c, m, state)| change_of(c, m, state)).collect();
            self.write(changes, if is_much { Then::Save } else { Then::Wait }).await?;
        }
        self.write(Vec::new(), Then::Commit).await?;
        info!(messages, "search index filled from the store");
        Ok(())
    }

    async fn write(&self, changes: Vec<IndexChange>, then: Then) -> Result<(), IndexerError> {
        let (index, writer) = (self.index.clone(), Arc::clone(&self.writer));
        let written = tokio::task::spawn_blocking(move || {
            // A panic in the index leaves it as its last commit was, so going on is safe.
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            // What it was about to write is gone with it; the next one begins at the last commit.
            write_now(&index, &mut writer, &changes, then).inspect_err(|_| *writer = None)
        });
        Ok(written.await??)
    }

    async fn index_jobs(&self, jobs: &[IndexJob]) -> Result<(), IndexerError> {
        let channels = jobs.iter().flat_map(|job| job.channels.iter().cloned()).collect();
        let wanted = jobs.iter().flat_map(|job| job.messages.iter().cloned()).collect();
        let watched = self.write_channels(channels).await?;
        self.write(changes_to(&self.store, &wanted).await?, Then::Commit).await?;
        watched.ended(&self.store).await;
        Ok(())
    }

    /// Forgets what was written since the last commit: half of a channel must not get into the next
    /// one.
    async fn abandon(&self) {
        let writer = Arc::clone(&self.writer);
        let dropped = tokio::task::spawn_blocking(move || {
            *writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
        });
        // It can only fail by a panic, and then there is no such writer any more.
        drop(dropped.await);
    }

    /// Makes what another process committed, or built anew, visible to searches here.
    ///
    /// # Errors
    /// When the index' folder fails.
    pub async fn refresh(index: MessageIndex) -> Result<(), IndexerError> {
        Ok(tokio::task::spawn_blocking(move || index.refresh()).await??)
    }
}

/// Writes with the writer that there is, or opens one.
fn write_now(
    index: &MessageIndex,
    writer: &mut Option<MessageWriter>,
    changes: &[IndexChange],
    then: Then,
) -> Result<(), IndexError> {
    let writer = match writer {
        Some(writer) => writer,
        None => writer.insert(index.writer(WriterOptions::default())?),
    };
    writer.apply(changes)?;
    match then {
        Then::Wait => Ok(()),
        Then::Save => writer.save(),
        Then::Commit => writer.commit(FILLED),
    }
}

/// What the store has of these messages. What it no longer knows must not be found either.
async fn changes_to(
    store: &Store,
    wanted: &BTreeSet<(ChannelId, MessageId)>,
) -> Result<Vec<IndexChange>, StoreError> {
    let known = store.message_states(wanted).await?;
    let found: BTreeSet<_> =
        known.iter().map(|(channel, message, _)| (channel.clone(), message.clone())).collect();
    let gone = wanted.difference(&found).cloned();
    let changes =
        known.into_iter().map(|(channel, message, state)| change_of(channel, message, state));
    Ok(changes.chain(gone.map(|(channel, message)| erase(channel, message))).collect())
}

impl Stage for Indexer {
    type Item = IndexJob;

    fn name(&self) -> StageName {
        StageName::Indexer
    }

    fn chunk(&self) -> usize {
        JOBS
    }

    fn parallel(&self) -> usize {
        1
    }

    async fn prepare(&self) -> Result<(), String> {
        self.fill().await.map_err(|error| described(&error))
    }

    fn decode(&self, payload: &[u8]) -> Result<IndexJob, String> {
        serde_json::from_slice(payload)
            .map_err(|error| format!("unreadable job: {:?}", error.classify()))
    }

    async fn handle(&self, jobs: &[IndexJob]) -> Vec<Outcome> {
        let mut indexed = self.index_jobs(jobs).await;
        if let Err(IndexerError::Index(IndexError::Superseded)) = indexed {
            indexed = self.index_jobs(jobs).await;
        }
        if indexed.is_err() {
            self.abandon().await;
        }
        let outcome = match indexed {
            Ok(()) => Outcome::Done,
            Err(IndexerError::Store(error)) => error.into(),
            // Whoever built it anew is about to let go of it.
            Err(error @ IndexerError::Index(IndexError::WriterBusy)) => {
                Outcome::Wait(described(&error))
            }
            Err(error) => Outcome::Retry(described(&error)),
        };
        vec![outcome; jobs.len()]
    }
}

/// What a message's state means for the index.
fn change_of(channel: ChannelId, message: MessageId, state: MessageState) -> IndexChange {
    let content = state.content.as_deref().filter(|_| state.counts());
    let content = content.and_then(|json| serde_json::from_str::<Content>(json).ok());
    let (Some(content), Some(sent_at)) = (content, state.sent_at) else {
        return erase(channel, message);
    };
    IndexChange::Put(IndexDoc {
        channel_id: channel.into_string(),
        message_id: message.into_string(),
        sender_id: state.sender.map(chatkeep_core::id::UserId::into_string),
        kind: content.kind().name().to_owned(),
        sent_at: sent_at.millis(),
        text: content.searchable().unwrap_or_default(),
    })
}

fn erase(channel: ChannelId, message: MessageId) -> IndexChange {
    IndexChange::Erase { channel_id: channel.into_string(), message_id: message.into_string() }
}
