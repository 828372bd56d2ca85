//! Media files whose message, or whose reader's permission, ends while they are sent.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_blobs::{Blobs, BoxError};
use chatkeep_core::config::{BlobsKind, S3Config};
use chatkeep_core::id::MessageId;
use chatkeep_core::message::{Content, MediaInfo, MessageChange};
use chatkeep_store::{ChannelChange, MediaOutcome, NewMedia};
use futures_util::stream::{StreamExt as _, TryStreamExt as _, iter};

use super::super::access::{Member, ReadMedia};
use super::super::documents::DocumentError;
use super::super::media::{FileStream, MediaService};
use super::scene::sent;
use super::{GROUP, Group, OTHER, OWNER, caller, session};

/// Size of the file in bytes: that of several pieces.
const SIZE: usize = 1 << 20;

/// Group with a file, whose beginning was sent to a member.
struct Sending {
    group: Group,
    message: MessageId,
    /// Number of bytes that were sent.
    sent: usize,
    rest: FileStream,
}

impl Group {
    /// Opens a media store in a folder of its own.
    pub(super) fn files(&self) -> Blobs {
        let folder = BlobsKind::Folder(self.folder.path().join("files"));
        Blobs::open(&folder, &S3Config::default()).unwrap()
    }

    async fn change(&self, message: &MessageId, change: MessageChange) {
        let change = ChannelChange { channel: GROUP.into(), message: message.clone(), change };
        self.store.messages().ingest(&[change], self.clock.now()).await.unwrap();
    }

    /// Stores a message with a file.
    async fn send_file(&self, message: &MessageId, blobs: &Blobs) {
        let (now, content) = (self.clock.now(), Content::Image(MediaInfo::default()));
        let picture = sent(GROUP, message.as_str(), Some(OWNER), now, &content);
        self.store.messages().ingest(&[picture], now).await.unwrap();
        let file = iter([Ok::<_, Infallible>(Bytes::from(vec![7; SIZE]))]);
        let claim = |blob| async {
            self.store.media().claim_blob(blob, self.clock.now()).await.map_err(BoxError::from)
        };
        let (stored, claim) = blobs.put(file, u64::MAX, claim).await.unwrap();
        let media = NewMedia {
            claim,
            bytes: i64::try_from(stored.bytes).unwrap(),
            content_type: "image/png".to_owned(),
            preview: None,
        };
        let stored = self.store.media().store_media(&GROUP.into(), message, &media, now).await;
        assert_eq!(stored.unwrap(), MediaOutcome::Stored);
    }
}

impl Sending {
    async fn begin() -> Self {
        let group = Group::new().await;
        let (blobs, message) = (group.files(), MessageId::from("picture"));
        group.send_file(&message, &blobs).await;
        let service = MediaService::new(group.store.clone(), blobs);
        let reader = group.access.channel::<Member, ReadMedia>(caller(OTHER), GROUP.into());
        let reader = reader.await.unwrap();
        let file = service.file(&reader, &message, false).await.unwrap();
        let mut rest = service.read(&reader, &file, None).await.unwrap();
        let sent = rest.next().await.unwrap().unwrap().len();
        Self { group, message, sent, rest }
    }

    /// Returns the failure of the next piece, a second later.
    async fn failure(mut self) -> DocumentError {
        self.group.hands.advance(Duration::from_secs(1));
        let failure = self.rest.next().await.unwrap().unwrap_err();
        assert!(self.rest.next().await.is_none());
        failure
    }
}

#[tokio::test]
async fn a_file_is_sent_whole_to_whom_may_read_it() {
    let Sending { group, sent, rest, .. } = Sending::begin().await;
    let sizes = rest.map_ok(|piece| {
        group.hands.advance(Duration::from_secs(1));
        piece.len()
    });
    let sizes: Vec<_> = sizes.try_collect().await.unwrap();
    assert!(sizes.len() > 3, "{sizes:?}");
    assert_eq!(sent + sizes.iter().sum::<usize>(), SIZE);
}

#[tokio::test]
async fn sending_ends_with_the_message() {
    let mut sending = Sending::begin().await;
    let unsent = MessageChange::Unsent { at: sending.group.clock.now() };
    sending.group.change(&sending.message, unsent).await;
    assert!(sending.rest.next().await.unwrap().is_ok(), "it was checked a moment ago");
    let failure = sending.failure().await;
    assert!(matches!(failure, DocumentError::Changed), "{failure:?}");
}

#[tokio::test]
async fn sending_ends_with_the_permission() {
    let sending = Sending::begin().await;
    let sessions = sending.group.store.sessions();
    sessions.end_session(&OTHER.into(), &session(OTHER)).await.unwrap();
    let failure = sending.failure().await;
    assert!(matches!(failure, DocumentError::Withdrawn), "{failure:?}");

    let sending = Sending::begin().await;
    sending.group.leaves().await;
    let failure = sending.failure().await;
    assert!(matches!(failure, DocumentError::Withdrawn), "{failure:?}");
}
