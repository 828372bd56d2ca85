//! Sink of imported messages: stores them in batches.

use std::collections::BTreeMap;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::SharedClock;
use chatkeep_store::{ImportId, ImportOutcome, Imported, ImportedMessage, ImportedPerson, Store};

use super::super::TransferError;
use super::Summary;

/// Batch size: messages in one transaction.
const BATCH: usize = 1_000;
/// Approximate maximum size of content in one transaction, in bytes.
const BYTES: usize = 4 * 1_024 * 1_024;

/// Sink of an import.
pub(super) struct Sink<'a> {
    pub(super) store: &'a Store,
    /// Number of the import; `None` for a dry run, which changes nothing.
    pub(super) import: Option<ImportId>,
    pub(super) clock: &'a SharedClock,
    pub(super) channel: &'a ChannelId,
    batch: Vec<ImportedMessage>,
    bytes: usize,
    /// People whom the batch names. Those of an earlier batch are named again: they may be gone.
    people: BTreeMap<UserId, ImportedPerson>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(
        store: &'a Store,
        import: Option<ImportId>,
        clock: &'a SharedClock,
        channel: &'a ChannelId,
    ) -> Self {
        Self {
            store,
            import,
            clock,
            channel,
            batch: Vec::with_capacity(BATCH),
            bytes: 0,
            people: BTreeMap::new(),
        }
    }

    /// Adds one message with its sender.
    pub(super) async fn take(
        &mut self,
        message: ImportedMessage,
        person: Option<ImportedPerson>,
        summary: &mut Summary,
    ) -> Result<(), TransferError> {
        if summary.full {
            summary.left += 1;
            return Ok(());
        }
        if let Some(person) = person {
            self.people.entry(person.id.clone()).or_insert(person);
        }
        let earlier = message.earlier_texts.as_slice().iter().map(|text| text.content.len());
        self.bytes += message.content.as_ref().map_or(0, String::len) + earlier.sum::<usize>();
        self.batch.push(message);
        if self.batch.len() == BATCH || self.bytes >= BYTES {
            self.flush(summary).await?;
        }
        Ok(())
    }

    /// Stores the pending batch.
    pub(super) async fn flush(&mut self, summary: &mut Summary) -> Result<(), TransferError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let imported = match self.import {
            None => self.store.imports().try_import(self.channel, &self.batch).await?,
            Some(import) => self.store_batch(import).await?,
        };
        summary.stored += imported.stored as u64;
        summary.known += imported.known as u64;
        summary.erased += imported.erased as u64;
        summary.full |= imported.full;
        summary.left += (self.batch.len() - imported.taken()) as u64;
        self.batch.clear();
        self.people.clear();
        self.bytes = 0;
        Ok(())
    }

    async fn store_batch(&self, import: ImportId) -> Result<Imported, TransferError> {
        let people: Vec<_> = self.people.values().cloned().collect();
        let (imports, batch) = (self.store.imports(), (&*self.batch, &*people));
        match imports.import_with_people(import, self.channel, batch, self.clock.now()).await? {
            ImportOutcome::Done(imported) => Ok(imported),
            ImportOutcome::NotSubscribed => Err(TransferError::NotSubscribed),
            ImportOutcome::Undone => Err(TransferError::Undone(import)),
        }
    }
}
