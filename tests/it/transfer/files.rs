//! Media files are exported beside the messages and imported again.

use std::convert::Infallible;
use std::io::Read as _;

use bytes::Bytes;
use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_core::config::{BlobsKind, S3Config};
use chatkeep_core::id::MessageId;
use chatkeep_core::message::MessageType;
use chatkeep_core::time::{Clock as _, SystemClock};
use chatkeep_store::{MediaOutcome, NewMedia};
use futures_util::stream;

use super::home::Home;
use super::{GROUP, OWNER, on_both};
use crate::stack::Parts;

on_both!(files_come_back_with_their_messages,);

const PICTURE: &[u8] = b"\xff\xd8\xff\xe0 a picture of the station";

fn blobs(home: &Home) -> Blobs {
    let s3 = S3Config {
        endpoint: None,
        region: String::new(),
        access_key_id: None,
        secret_access_key: None,
        path_style: true,
    };
    Blobs::open(&BlobsKind::Folder(home.path("data").join("blobs")), &s3).unwrap()
}

/// Stores a file for the first picture, as the media worker does.
async fn with_file(home: &Home) -> MessageId {
    let messages = home.messages().await;
    let picture = messages.iter().find(|m| m.kind == MessageType::Image && m.content.is_some());
    let (id, store) = (picture.unwrap().id.clone(), home.store().await);
    let bytes = stream::iter([Ok::<_, Infallible>(Bytes::from_static(PICTURE))]);
    let claim =
        async |blob| store.media().claim_blob(blob, SystemClock.now()).await.map_err(Into::into);
    let put: Result<_, BlobError> = blobs(home).put(bytes, 1 << 20, claim).await;
    let (stored, claim) = put.unwrap();
    let media = NewMedia {
        claim,
        bytes: i64::try_from(stored.bytes).unwrap(),
        content_type: "image/jpeg".to_owned(),
        preview: None,
    };
    let kept =
        store.media().store_media(&GROUP.into(), &id, &media, SystemClock.now()).await.unwrap();
    assert_eq!(kept, MediaOutcome::Stored);
    store.close().await;
    id
}

async fn files_come_back_with_their_messages(parts: Parts) {
    let from = Home::with_messages(parts).await;
    let id = with_file(&from).await;
    let expected = from.export("plain.jsonl").await;
    for out in ["backup", "backup.zip"] {
        let path = from.path(out).display().to_string();
        from.run(&["export", "--channel", GROUP, "--out", &path]).await.succeeded();
        let to = Home::with_user(parts).await;
        let imported = to.import(&path, &["--user", OWNER]).await.succeeded();
        assert_eq!(imported.count("files"), 1);
        assert_eq!(to.export("again.jsonl").await, expected, "{out}");
        assert_eq!(to.counters().await, from.counters().await);
        let again = to.import(&path, &[]).await.succeeded();
        assert_eq!((again.count("files"), again.count("stored")), (0, 0));
        assert_eq!(to.counters().await, from.counters().await);
        let store = to.store().await;
        let record = store.media().get(&GROUP.into(), &id).await.unwrap().unwrap().record;
        assert!(blobs(&to).size(&record.blob.unwrap()).await.unwrap().is_some());
        store.close().await;
    }
    assert_eq!(
        std::fs::read(from.path("backup").join(format!("media/{id}.jpg"))).unwrap(),
        PICTURE
    );
    let archive = std::fs::File::open(from.path("backup.zip")).unwrap();
    let mut archive = zip::ZipArchive::new(archive).unwrap();
    let mut inside = Vec::new();
    archive.by_name(&format!("media/{id}.jpg")).unwrap().read_to_end(&mut inside).unwrap();
    assert_eq!(inside, PICTURE);
}
