//! The one writer of a replica's index, shared by the tasks of its process. Its calls block, so
//! they run on threads of their own.
//!
//! A writer that fails is replaced by one that begins at the last commit: what was written since is
//! lost. So changes are written by a [`ChangeSequence`], which belongs to one writer. With another
//! one it ends in a failure, and nothing of it is ever committed without the rest.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chatkeep_index::search::{IndexChange, IndexError, MessageIndex, MessageWriter, WriterOptions};

use super::{LogPosition, ReplicaError};

/// Handle of the writer. Clones share it.
#[derive(Clone)]
pub(super) struct SharedWriter {
    index: MessageIndex,
    options: WriterOptions,
    current: Arc<Mutex<CurrentWriter>>,
}

/// The writer that is in use.
struct CurrentWriter {
    /// `None` after a failure, until another one is opened.
    writer: Option<MessageWriter>,
    /// Number of the writers that were in use before.
    number: u64,
}

/// Changes up to a commit. Those of a sequence that is dropped before it are committed with the next
/// one, or lost with the writer.
pub(super) struct ChangeSequence {
    shared: SharedWriter,
    /// Number of the writer that has the changes so far; `None` before the first.
    number: Option<u64>,
}

impl SharedWriter {
    pub(super) fn new(index: MessageIndex, writer: MessageWriter, options: WriterOptions) -> Self {
        let current = CurrentWriter { writer: Some(writer), number: 0 };
        Self { index, options, current: Arc::new(Mutex::new(current)) }
    }

    /// Returns the options of each writer.
    pub(super) const fn options(&self) -> WriterOptions {
        self.options
    }

    /// Begins a sequence of changes.
    pub(super) fn begin(&self) -> ChangeSequence {
        ChangeSequence { shared: self.clone(), number: None }
    }

    /// Rewrites segments with words of erased messages.
    pub(super) async fn purge(&self) -> Result<(), ReplicaError> {
        // What waits for its commit is untouched by that, so the writer stays where it fails.
        let (purged, _) = self.with(None, |writer| Ok(writer.purge())).await?;
        Ok(purged?)
    }

    /// Discards the changes since the last commit.
    pub(super) async fn abandon(&self) {
        let current = Arc::clone(&self.current);
        let dropped = tokio::task::spawn_blocking(move || lock(&current).writer = None);
        // It can only fail by a panic, and then there is no such writer any more.
        drop(dropped.await);
    }

    /// Runs `work` with the writer, which has the number `expected` if there is one. Returns its
    /// result, and the number of the writer.
    async fn with<T: Send + 'static>(
        &self,
        expected: Option<u64>,
        work: impl FnOnce(&mut MessageWriter) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<(T, u64), ReplicaError> {
        let (index, options) = (self.index.clone(), self.options);
        let current = Arc::clone(&self.current);
        let done = tokio::task::spawn_blocking(move || {
            let mut current = lock(&current);
            let mut writer = current.take(expected, || index.writer(options))?;
            // A failed writer is dropped: the next one begins at the last commit.
            let done = work(&mut writer)?;
            current.writer = Some(writer);
            Ok::<_, ReplicaError>((done, current.number))
        });
        done.await?
    }
}

impl ChangeSequence {
    /// Empties the index.
    pub(super) async fn wipe(&mut self) -> Result<(), ReplicaError> {
        self.with(MessageWriter::wipe).await
    }

    /// Writes changes that wait for more.
    pub(super) async fn write(&mut self, changes: Vec<IndexChange>) -> Result<(), ReplicaError> {
        self.with(move |writer| writer.apply(&changes)).await
    }

    /// Makes the changes so far durable; the index is incomplete.
    pub(super) async fn save(&mut self) -> Result<(), ReplicaError> {
        self.with(MessageWriter::save).await
    }

    /// Writes the last changes, and makes all of them durable and searchable, together with this
    /// position.
    pub(super) async fn commit(
        mut self,
        changes: Vec<IndexChange>,
        position: &LogPosition,
    ) -> Result<(), ReplicaError> {
        let text = position.to_text();
        self.with(move |writer| {
            writer.apply(&changes)?;
            writer.commit(&text)
        })
        .await
    }

    /// Runs `work` with the writer that has the changes so far.
    async fn with(
        &mut self,
        work: impl FnOnce(&mut MessageWriter) -> Result<(), IndexError> + Send + 'static,
    ) -> Result<(), ReplicaError> {
        let ((), number) = self.shared.with(self.number, work).await?;
        self.number = Some(number);
        Ok(())
    }
}

impl CurrentWriter {
    /// Takes the writer for a call; opens another one if there is none, unless one of that number
    /// is expected.
    fn take(
        &mut self,
        expected: Option<u64>,
        open: impl FnOnce() -> Result<MessageWriter, IndexError>,
    ) -> Result<MessageWriter, ReplicaError> {
        let is_another = |number: u64| number != self.number || self.writer.is_none();
        if expected.is_some_and(is_another) {
            return Err(ReplicaError::WriterLost);
        }
        if let Some(writer) = self.writer.take() {
            return Ok(writer);
        }
        self.number += 1;
        Ok(open()?)
    }
}

fn lock(current: &Mutex<CurrentWriter>) -> MutexGuard<'_, CurrentWriter> {
    // A panic in the index leaves it at its last commit, so continuing is safe.
    current.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chatkeep_index::search::IndexDoc;
    use chatkeep_store::OutboxPosition;
    use tempfile::TempDir;

    use super::*;

    fn put(message: &str) -> Vec<IndexChange> {
        vec![IndexChange::Put(IndexDoc {
            channel_id: "C1".to_owned(),
            message_id: message.to_owned(),
            sender_id: None,
            kind: "text".to_owned(),
            sent_at: 1,
            text: "tea".to_owned(),
        })]
    }

    fn position() -> LogPosition {
        let last = OutboxPosition(0, 7);
        LogPosition { epoch: "a".to_owned(), last: last.into(), filled: last }
    }

    fn shared(folder: &TempDir) -> SharedWriter {
        let (index, options) =
            (MessageIndex::open(folder.path()).unwrap(), WriterOptions::default());
        let writer = index.writer(options).unwrap();
        SharedWriter::new(index, writer, options)
    }

    fn committed(shared: &SharedWriter) -> (u64, Option<LogPosition>) {
        let position = shared.index.position();
        (shared.index.doc_count(), position.as_deref().and_then(LogPosition::parse))
    }

    fn is_lost(done: &Result<(), ReplicaError>) -> bool {
        matches!(done, Err(ReplicaError::WriterLost))
    }

    #[tokio::test]
    async fn changes_are_never_committed_by_another_writer_than_the_one_that_has_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let shared = shared(&folder);
        let (mut first, mut second) = (shared.begin(), shared.begin());
        for sequence in [&mut first, &mut second] {
            sequence.write(put("1")).await.unwrap();
        }
        shared.abandon().await;
        assert!(is_lost(&first.write(put("2")).await), "there is none");
        assert!(is_lost(&first.save().await));
        let mut other = shared.begin();
        other.write(put("3")).await.unwrap();
        assert!(is_lost(&second.wipe().await), "there is another one");
        for lost in [first, second] {
            assert!(is_lost(&lost.commit(put("2"), &position()).await));
        }
        assert_eq!(committed(&shared), (0, None));
        other.commit(put("4"), &position()).await.unwrap();
        assert_eq!(committed(&shared), (2, Some(position())));
    }

    #[tokio::test]
    async fn a_call_that_fails_or_panics_ends_every_sequence() {
        let folder = tempfile::tempdir().unwrap();
        let shared = shared(&folder);
        for panics in [false, true] {
            let mut sequence = shared.begin();
            sequence.write(put("1")).await.unwrap();
            let failed = shared.with(None, move |_| {
                assert!(!panics, "a panic in the index");
                Err::<(), _>(IndexError::NoKey)
            });
            failed.await.unwrap_err();
            assert!(is_lost(&sequence.commit(put("2"), &position()).await), "{panics}");
            assert_eq!(committed(&shared), (0, None));
        }
        let mut again = shared.begin();
        again.write(put("1")).await.unwrap();
        again.commit(put("2"), &position()).await.unwrap();
        assert_eq!(committed(&shared), (2, Some(position())));
    }

    #[tokio::test]
    async fn a_purge_that_fails_loses_nothing_that_waits_for_its_commit() {
        let folder = tempfile::tempdir().unwrap();
        let shared = shared(&folder);
        let mut sequence = shared.begin();
        sequence.write(put("1")).await.unwrap();
        // As a disk that is gone for a moment.
        let mut parts = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let (part, away) = (parts.find(|path| path.is_dir()).unwrap(), folder.path().join("away"));
        fs::rename(&part, &away).unwrap();
        shared.purge().await.unwrap_err();
        fs::rename(&away, &part).unwrap();
        sequence.commit(put("2"), &position()).await.unwrap();
        assert_eq!(committed(&shared), (2, Some(position())));
        shared.purge().await.unwrap();
    }
}
