//! The doctor: no differences after any history of a store, and differences are found and repaired.

mod found;
mod gaps;
mod history;
mod lost;
mod media_store;
mod orders;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_blobs::Blobs;
use chatkeep_core::blob::BlobId;
use chatkeep_core::config::{BlobsKind, S3Config};
use chatkeep_core::time::SystemClock;
use chatkeep_index::search::MessageIndex;
use chatkeep_services::doctor::{Doctor, DoctorOptions, LocalIndex, Repair, Report};
use chatkeep_store::{ChannelChange, Check, MediaOutcome, NewMedia};
use chatkeep_workers::replica::Replica;
use futures_util::stream;

use super::{Fixture, at, picture_by};

/// A store with files and an index.
pub(super) struct DoctorFixture {
    pub(super) fixture: Fixture,
    pub(super) blobs: Blobs,
    pub(super) index: MessageIndex,
}

impl DoctorFixture {
    pub(super) fn new(fixture: Fixture) -> Self {
        let folder = fixture.folder.path();
        let blobs =
            Blobs::open(&BlobsKind::Folder(folder.join("blobs")), &S3Config::default()).unwrap();
        let index = MessageIndex::open(&folder.join("index")).unwrap();
        Self { fixture, blobs, index }
    }

    pub(super) fn file(&self, blob: &BlobId) -> std::path::PathBuf {
        let name = blob.as_str();
        let folder = self.fixture.folder.path().join("blobs");
        folder.join(&name[..2]).join(&name[2..4]).join(name)
    }

    /// Stores a file for a media message, as a worker does.
    pub(super) async fn store_file(
        &self,
        channel: &str,
        message: &str,
        content: &str,
        preview: Option<&str>,
        now: i64,
    ) -> (MediaOutcome, BlobId) {
        let claim = self.put(content, now).await;
        let blob = claim.blob().clone();
        let preview = match preview {
            Some(preview) => Some((self.put(preview, now).await, "image/png".to_owned())),
            None => None,
        };
        let bytes = i64::try_from(content.len()).unwrap();
        let media = NewMedia { claim, bytes, content_type: "image/png".to_owned(), preview };
        let kept = self
            .fixture
            .store
            .media()
            .store_media(&channel.into(), &message.into(), &media, at(now))
            .await;
        (kept.unwrap(), blob)
    }

    async fn put(&self, content: &str, now: i64) -> chatkeep_store::BlobClaim {
        let bytes = stream::iter([Ok::<_, Infallible>(Bytes::from(content.to_owned()))]);
        let claim =
            async |id| self.fixture.store.media().claim_blob(id, at(now)).await.map_err(Into::into);
        self.blobs.put(bytes, 1_000_000, claim).await.unwrap().1
    }

    pub(super) async fn doctor(&self, repair: bool, deep: bool) -> Report {
        let repair = repair.then(|| Repair { clock: Arc::new(SystemClock) });
        let timeout = Duration::ZERO;
        let options = DoctorOptions { deep, timeout, repair, ..DoctorOptions::default() };
        let (store, blobs) = (&self.fixture.store, Some(&self.blobs));
        let indexes = [LocalIndex::only(self.index.clone(), true)];
        let doctor = Doctor { store, blobs, indexes: &indexes, replicas: None, options };
        doctor.run(&mut |_| {}).await.unwrap()
    }

    /// Checks that nothing differs.
    pub(super) async fn is_well(&self) {
        let report = self.doctor(false, true).await;
        assert!(report.is_clean(), "{report}");
    }

    /// Updates the index, as a process with the role search does.
    pub(super) async fn index_all(&self) {
        let (store, folder) =
            (self.fixture.store.clone(), self.fixture.folder.path().join("index"));
        let replica = Replica::open(store, folder, Arc::new(SystemClock)).await.unwrap();
        self.fixture.log_settled().await;
        replica.catch_up().await.unwrap();
        self.index.refresh().unwrap();
    }

    /// Checks that these and no other differences are found; then repairs them, and finds none.
    pub(super) async fn finds(&self, what: &str, checks: &[Check]) -> Report {
        let report = self.doctor(false, true).await;
        let found: BTreeSet<_> = report.findings.iter().map(|f| f.difference.check).collect();
        assert_eq!(found, checks.iter().copied().collect(), "{what}: {report}");
        assert_eq!(report.repaired, 0, "{what}");
        let repaired = self.doctor(true, true).await;
        assert_eq!((repaired.left(), repaired.is_clean()), (0, false), "{what}: {repaired}");
        self.index_all().await;
        let after = self.doctor(false, true).await;
        assert!(after.is_clean(), "{what}: {after}");
        report
    }
}

pub(super) fn picture(channel: &str, message: &str, time: i64) -> ChannelChange {
    picture_by("U2", channel, message, time)
}
