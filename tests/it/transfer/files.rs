//! Media files are exported beside the messages and imported again.

use std::convert::Infallible;
use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use bytes::Bytes;
use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_core::blob::BlobId;
use chatkeep_core::config::{BlobsKind, S3Config};
use chatkeep_core::id::MessageId;
use chatkeep_core::message::{MessageChange, MessageType};
use chatkeep_core::time::{Clock as _, SystemClock};
use chatkeep_i18n::Language;
use chatkeep_store::{MediaOutcome, MediaStatus, NewMedia, Store, StoredMessage};
use chatkeep_transfer::pack::{ExportTarget, pack};
use chatkeep_transfer::{Export, Format, MediaLinks, MediaSource, StoredMedia, TransferError};
use chatkeep_view::Links;
use chatkeep_view::pseudonyms::Mask;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use zip::ZipArchive;

use super::home::{Home, START};
use super::{GROUP, OWNER, on_both};
use crate::harness::files::holding;
use crate::stack::Parts;
use crate::store::{at, change};

on_both!(
    files_come_back_with_their_messages,
    previews_come_back_with_their_files,
    files_without_room_are_counted,
    a_missing_file_is_left_out_and_told,
    a_file_of_another_size_is_missing,
    damaged_and_missing_files_are_told_and_brought_later,
    a_file_whose_message_is_taken_back_meanwhile_is_not_missing,
);

const PICTURE: &[u8] = b"\xff\xd8\xff\xe0 a picture of the station";
const PREVIEW: &[u8] = b"\xff\xd8\xff\xe0 the station\xff\xd9";

fn blobs(home: &Home) -> Blobs {
    Blobs::open(&BlobsKind::Folder(home.path("data").join("blobs")), &S3Config::default()).unwrap()
}

/// Stores a file for the first picture, as the media worker does, but without a preview.
async fn with_file(home: &Home) -> MessageId {
    with_file_and(home, None).await
}

/// Stores a file for the first picture, and a preview.
async fn with_file_and(home: &Home, preview: Option<&'static [u8]>) -> MessageId {
    let messages = home.messages().await;
    let picture = messages.iter().find(|m| m.kind == MessageType::Image && m.content.is_some());
    let (id, store) = (picture.unwrap().id.clone(), home.store().await);
    let put = async |content: &'static [u8]| {
        let bytes = stream::iter([Ok::<_, Infallible>(Bytes::from_static(content))]);
        let claim = async |blob| {
            store.media().claim_blob(blob, SystemClock.now()).await.map_err(Into::into)
        };
        let put: Result<_, BlobError> = blobs(home).put(bytes, 1 << 20, claim).await;
        put.unwrap()
    };
    let (stored, claim) = put(PICTURE).await;
    let (bytes, content_type) = (i64::try_from(stored.bytes).unwrap(), "image/jpeg".to_owned());
    let preview = match preview {
        Some(preview) => Some((put(preview).await.1, content_type.clone())),
        None => None,
    };
    let media = NewMedia { claim, bytes, content_type, preview };
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
    let mut archive = archive(&from);
    let mut inside = Vec::new();
    archive.by_name(&format!("media/{id}.jpg")).unwrap().read_to_end(&mut inside).unwrap();
    assert_eq!(inside, PICTURE);
}

async fn previews_come_back_with_their_files(parts: Parts) {
    let from = Home::with_messages(parts).await;
    let id = with_file_and(&from, Some(PREVIEW)).await;
    let expected = preview_of(&from, &id).await;
    assert!(expected.is_some());
    for out in ["backup", "backup.zip"] {
        let path = from.path(out).display().to_string();
        from.run(&["export", "--channel", GROUP, "--out", &path]).await.succeeded();
        let to = Home::with_user(parts).await;
        let imported = to.import(&path, &["--user", OWNER]).await.succeeded();
        assert_eq!(imported.count("files"), 1);
        assert_eq!(preview_of(&to, &id).await, expected, "{out}");
    }
    // What is no whole picture is none, and costs the file nothing.
    let folder = from.path("backup");
    let preview = folder.join(format!("media/{id}.preview.jpg"));
    assert_eq!(std::fs::read(&preview).unwrap(), PREVIEW);
    for content in [&PREVIEW[..PREVIEW.len() - 1], b"<script>"] {
        std::fs::write(&preview, content).unwrap();
        let to = Home::with_user(parts).await;
        let imported = to.import(&folder.display().to_string(), &["--user", OWNER]).await;
        assert_eq!(imported.succeeded().count("files"), 1);
        assert_eq!(preview_of(&to, &id).await, None);
    }
}

/// Returns the preview of a message's file, which the media store has.
async fn preview_of(home: &Home, id: &MessageId) -> Option<BlobId> {
    let store = home.store().await;
    let item = store.media().get(&GROUP.into(), id).await.unwrap().unwrap();
    store.close().await;
    let preview = item.record.preview?.blob;
    assert!(blobs(home).size(&preview).await.unwrap().is_some());
    Some(preview)
}

async fn files_without_room_are_counted(parts: Parts) {
    let from = Home::with_messages(parts).await;
    with_file(&from).await;
    from.export("plain.jsonl").await;
    let to = Home::with_user(parts).await;
    let messages = from.path("plain.jsonl").display().to_string();
    to.import(&messages, &["--user", OWNER]).await.succeeded();
    let used = 524_288_000;
    to.sql(&format!("UPDATE channels SET bytes = {used} WHERE channel_id = '{GROUP}'")).await;
    to.sql(&format!("UPDATE users SET used_bytes = {used} WHERE user_id = '{OWNER}'")).await;
    for out in ["backup", "backup.zip"] {
        let path = from.path(out).display().to_string();
        from.run(&["export", "--channel", GROUP, "--out", &path]).await.succeeded();
        let stopped = to.import(&path, &[]).await.ended(1);
        let said = "quota exceeded: 1 media files remain; raise the plan";
        assert!(stopped.stderr.contains(said), "{}", stopped.stderr);
        assert_eq!((stopped.count("filesLeft"), stopped.count("files")), (1, 0));
    }
}

async fn damaged_and_missing_files_are_told_and_brought_later(parts: Parts) {
    let from = Home::with_messages(parts).await;
    let id = with_file(&from).await;
    for out in ["backup", "backup.zip"] {
        let path = from.path(out).display().to_string();
        from.run(&["export", "--channel", GROUP, "--out", &path]).await.succeeded();
    }
    let (file, archive) =
        (from.path("backup").join(format!("media/{id}.jpg")), from.path("backup.zip"));
    let zip = std::fs::read(&archive).unwrap();
    // Pictures are stored in the archive as they are.
    let at = zip.windows(PICTURE.len()).position(|window| window == PICTURE).unwrap();
    let mut broken = zip.clone();
    broken[at] ^= 1;
    let to = Home::with_user(parts).await;
    let folder = from.path("backup").display().to_string();
    let import = async |path: &str, damaged: u64, missing: u64| {
        let ended = to.import(path, &["--user", OWNER]).await.ended(3);
        assert!(ended.stderr.contains("1 media files are missing or damaged"), "{}", ended.stderr);
        let counts =
            (ended.count("files"), ended.count("filesDamaged"), ended.count("filesMissing"));
        assert_eq!(counts, (0, damaged, missing));
        let store = to.store().await;
        let record = store.media().get(&GROUP.into(), &id).await.unwrap().unwrap().record;
        assert_eq!((record.status, record.blob), (MediaStatus::Expired, None));
        store.close().await;
    };
    std::fs::write(&file, &PICTURE[..PICTURE.len() - 1]).unwrap();
    import(&folder, 1, 0).await;
    std::fs::remove_file(&file).unwrap();
    import(&folder, 0, 1).await;
    std::fs::write(&archive, &broken).unwrap();
    import(&archive.display().to_string(), 1, 0).await;
    std::fs::write(&archive, &zip).unwrap();
    let whole = to.import(&archive.display().to_string(), &[]).await.succeeded();
    assert_eq!((whole.count("files"), whole.count("filesDamaged")), (1, 0));
    assert_eq!(blob_of(&to, &id).await, blob_of(&from, &id).await);
}

/// Opens the archive of an export.
fn archive(home: &Home) -> ZipArchive<File> {
    ZipArchive::new(File::open(home.path("backup.zip")).unwrap()).unwrap()
}

/// Returns the blob of a message's file.
async fn blob_of(home: &Home, id: &MessageId) -> BlobId {
    let store = home.store().await;
    let item = store.media().get(&GROUP.into(), id).await.unwrap().unwrap();
    store.close().await;
    item.record.blob.unwrap()
}

async fn a_missing_file_is_left_out_and_told(parts: Parts) {
    let home = Home::with_messages(parts).await;
    let id = with_file(&home).await;
    // It is known by what a service leaves there, not by its files.
    blobs(&home).identity("m1".to_owned()).await.unwrap();
    blobs(&home).delete(&blob_of(&home, &id).await).await.unwrap();
    for out in ["backup", "backup.zip"] {
        let path = home.path(out).display().to_string();
        let ended = home.run(&["export", "--channel", GROUP, "--out", &path]).await.ended(3);
        assert!(ended.stderr.contains("1 media files are missing"), "{}", ended.stderr);
        let to = Home::with_user(parts).await;
        let imported = to.import(&path, &["--user", OWNER]).await.succeeded();
        assert_eq!(imported.count("files"), 0);
        assert_eq!(to.messages().await.len(), home.messages().await.len());
    }
    let list = std::fs::read_to_string(home.path("backup").join("missing-files.txt")).unwrap();
    assert_eq!(list.lines().skip(1).collect::<Vec<_>>(), [id.as_str()]);
    assert!(!home.path("backup").join("media").exists());
    let mut listed = String::new();
    let mut archive = archive(&home);
    archive.by_name("missing-files.txt").unwrap().read_to_string(&mut listed).unwrap();
    assert_eq!((listed, archive.len()), (list, 2));
}

async fn a_file_of_another_size_is_missing(parts: Parts) {
    let home = Home::with_messages(parts).await;
    let id = with_file(&home).await;
    blobs(&home).identity("m1".to_owned()).await.unwrap();
    let stored = holding(&home.path("data").join("blobs"), PICTURE).pop().unwrap();
    std::fs::write(&stored, &PICTURE[..PICTURE.len() - 1]).unwrap();
    let path = home.path("backup").display().to_string();
    let ended = home.run(&["export", "--channel", GROUP, "--out", &path]).await.ended(3);
    assert!(ended.stderr.contains("1 media files are missing"), "{}", ended.stderr);
    let list = std::fs::read_to_string(home.path("backup").join("missing-files.txt")).unwrap();
    assert_eq!(list.lines().skip(1).collect::<Vec<_>>(), [id.as_str()]);
    assert!(!home.path("backup").join("media").exists());
}

/// Source of files whose message is taken back, and whose blob is swept, before they are opened.
#[derive(Debug)]
struct RetractedMedia {
    store: Store,
    stored: StoredMedia,
}

impl MediaSource for RetractedMedia {
    fn name(&self, message: &StoredMessage) -> Option<String> {
        self.stored.name(message)
    }

    fn open<'a>(
        &'a self,
        message: &'a StoredMessage,
    ) -> BoxFuture<'a, Result<BoxStream<'static, Result<Bytes, TransferError>>, TransferError>>
    {
        Box::pin(async move {
            let retracted = MessageChange::Unsent { at: at(START + 950_000) };
            let retracted = [change(GROUP, message.id.as_str(), retracted)];
            self.store.messages().ingest(&retracted, at(START + 960_000)).await.unwrap();
            let blob = message.media.as_ref().and_then(|record| record.blob.as_ref());
            self.stored.0.delete(blob.unwrap()).await.unwrap();
            self.stored.open(message).await
        })
    }
}

async fn a_file_whose_message_is_taken_back_meanwhile_is_not_missing(parts: Parts) {
    let home = Home::with_messages(parts).await;
    with_file(&home).await;
    let store = home.store().await;
    let media = RetractedMedia { store: store.clone(), stored: StoredMedia(blobs(&home)) };
    let target = ExportTarget::Folder(home.path("backup"));
    let export = Export {
        format: Format::Jsonl,
        from: None,
        to: None,
        not_before: None,
        zone: chrono_tz::UTC,
        language: Language::English,
        media: MediaLinks::None,
        links: Links::default(),
        mask: Mask::none(),
    };
    let packed = pack(&store, &GROUP.into(), export, Some(Arc::new(media)), &target, |_| {}).await;
    let packed = packed.unwrap();
    assert_eq!((packed.files, packed.missing), (0, 0));
    assert!(packed.messages > 0 && !home.path("backup").join("missing-files.txt").exists());
    store.close().await;
}
