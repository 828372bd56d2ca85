//! The one writer of a replica's index, shared by the tasks of its process. Its calls block, so
//! they run on threads of their own.

use std::sync::{Arc, Mutex, PoisonError};

use chatkeep_index::search::{IndexChange, IndexError, MessageIndex, MessageWriter, WriterOptions};

use super::ReplicaError;

/// Step after changes are written.
#[derive(Clone, Debug)]
pub(super) enum Then {
    /// Wait for more changes.
    Wait,
    /// Make them durable; the index is incomplete.
    Save,
    /// Make them durable and searchable, together with this progress.
    Commit(String),
}

/// Handle of the writer. Clones share it.
#[derive(Clone)]
pub(super) struct SharedWriter {
    index: MessageIndex,
    options: WriterOptions,
    /// Writer; `None` after a failure, until it is opened again.
    writer: Arc<Mutex<Option<MessageWriter>>>,
}

impl SharedWriter {
    pub(super) fn new(index: MessageIndex, writer: MessageWriter, options: WriterOptions) -> Self {
        Self { index, options, writer: Arc::new(Mutex::new(Some(writer))) }
    }

    /// Returns the options of each writer.
    pub(super) const fn options(&self) -> WriterOptions {
        self.options
    }

    /// Writes changes. After a failure all changes since the last commit are discarded.
    pub(super) async fn write(
        &self,
        changes: Vec<IndexChange>,
        then: Then,
    ) -> Result<(), ReplicaError> {
        self.with(move |writer| {
            writer.apply(&changes)?;
            match then {
                Then::Wait => Ok(()),
                Then::Save => writer.save(),
                Then::Commit(progress) => writer.commit(&progress),
            }
        })
        .await
    }

    /// Empties the index.
    pub(super) async fn wipe(&self) -> Result<(), ReplicaError> {
        self.with(MessageWriter::wipe).await
    }

    /// Rewrites segments with words of erased messages.
    pub(super) async fn purge(&self) -> Result<(), ReplicaError> {
        self.with(MessageWriter::purge).await
    }

    /// Discards the changes since the last commit.
    pub(super) async fn abandon(&self) {
        let writer = Arc::clone(&self.writer);
        let dropped = tokio::task::spawn_blocking(move || *lock(&writer) = None);
        // It can only fail by a panic, and then there is no such writer any more.
        drop(dropped.await);
    }

    async fn with(
        &self,
        work: impl FnOnce(&mut MessageWriter) -> Result<(), IndexError> + Send + 'static,
    ) -> Result<(), ReplicaError> {
        let (index, writer) = (self.index.clone(), Arc::clone(&self.writer));
        let options = self.options;
        let done = tokio::task::spawn_blocking(move || {
            let mut slot = lock(&writer);
            let mut open = match slot.take() {
                Some(writer) => writer,
                None => index.writer(options)?,
            };
            // A failed writer is dropped: the next one begins at the last commit.
            work(&mut open)?;
            *slot = Some(open);
            Ok::<_, IndexError>(())
        });
        Ok(done.await??)
    }
}

fn lock(writer: &Mutex<Option<MessageWriter>>) -> std::sync::MutexGuard<'_, Option<MessageWriter>> {
    // A panic in the index leaves it at its last commit, so continuing is safe.
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}
