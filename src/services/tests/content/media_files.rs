//! Media files of a channel: lists, ranges, previews, and the reasons for which there is none.

use std::convert::Infallible;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_blobs::{Blobs, BoxError};
use chatkeep_core::bounds::Bounds;
use chatkeep_core::message::{Content, MediaInfo, MessageType};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{BlobClaim, MediaOutcome, NewMedia};
use chatkeep_view::pseudonyms::Mask;
use futures_util::stream::{TryStreamExt as _, iter};

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::conversation::{access, message, refusal, store, text, texts, unsent};
use crate::access::{ChannelAccess, Member, ReadMedia};
use crate::media::{AbsentMedia, MediaError, MediaFile, MediaListQuery, MediaService};
use crate::{Caller, ServiceError};

type Reader = ChannelAccess<Member, ReadMedia>;

const FILE: &[u8] = b"0123456789 \xff\0 the bytes of a file";
const PREVIEW: &[u8] = b"the bytes of its preview";

/// Group with files in a media store.
struct Files {
    group: Group,
    blobs: Blobs,
    service: MediaService,
    reader: Reader,
}

impl Files {
    async fn new() -> Self {
        let group = Group::new().await;
        let blobs = group.files();
        let service = MediaService::new(group.store.clone(), blobs.clone());
        let reader = access(&group, caller(OTHER)).await;
        Self { group, blobs, service, reader }
    }

    async fn put(&self, content: &'static [u8]) -> (BlobClaim, u64) {
        let pieces = iter([Ok::<_, Infallible>(Bytes::from_static(content))]);
        let claim = |blob| async {
            let claimed = self.group.store.media().claim_blob(blob, self.group.clock.now()).await;
            claimed.map_err(BoxError::from)
        };
        let (stored, claim) = self.blobs.put(pieces, u64::MAX, claim).await.unwrap();
        (claim, stored.bytes)
    }

    /// Stores a message with that file.
    async fn send(&self, id: &str, at: Timestamp, content: &Content, preview: bool) {
        store(&self.group, &[message(id, Some(OWNER), at, content)]).await;
        let (claim, bytes) = self.put(FILE).await;
        let preview =
            if preview { Some((self.put(PREVIEW).await.0, "image/jpeg".to_owned())) } else { None };
        let content_type = "application/pdf".to_owned();
        let bytes = i64::try_from(bytes).unwrap();
        let media = NewMedia { claim, bytes, content_type, preview };
        let (media_store, now) = (self.group.store.media(), self.group.clock.now());
        let stored = media_store.store_media(&GROUP.into(), &id.into(), &media, now).await;
        assert_eq!(stored.unwrap(), MediaOutcome::Stored);
    }

    async fn file(&self, id: &str, preview: bool) -> Result<MediaFile, MediaError> {
        self.service.file(&self.reader, &id.into(), preview).await
    }

    async fn read(&self, file: &MediaFile, part: Option<Range<u64>>) -> Vec<u8> {
        let stream = self.service.read(&self.reader, file, part).await.unwrap();
        let pieces: Vec<Bytes> = stream.try_collect().await.unwrap();
        pieces.concat()
    }

    async fn page(&self, query: &MediaListQuery) -> (Vec<String>, Option<String>) {
        let (items, next) = self.service.page(&self.reader, query).await.unwrap();
        let ids = texts(items.iter().map(|item| &item.message));
        (ids.into_iter().map(str::to_owned).collect(), next)
    }
}

fn named(name: &str) -> Content {
    Content::File(MediaInfo { file_name: Some(name.to_owned()), ..MediaInfo::default() })
}

#[track_caller]
fn absent(found: Result<MediaFile, MediaError>) -> AbsentMedia {
    match found {
        Err(MediaError::Absent(absent)) => absent,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_file_is_read_whole_or_in_part() {
    let files = Files::new().await;
    let now = files.group.clock.now();
    files.send("m1", now, &named("報告 \"✓\".pdf"), true).await;
    let file = files.file("m1", false).await.unwrap();
    let told = (file.size, &*file.content_type, file.name.as_deref(), file.is_preview);
    assert_eq!(told, (FILE.len() as u64, "application/pdf", Some("報告 \"✓\".pdf"), false));
    assert_eq!(files.read(&file, None).await, FILE);
    for part in [0..1, 5..20, 20..FILE.len()] {
        let wanted = part.start as u64..part.end as u64;
        assert_eq!(files.read(&file, Some(wanted)).await, FILE[part]);
    }
    let preview = files.file("m1", true).await.unwrap();
    let told = (preview.size, &*preview.content_type, preview.name.as_deref(), preview.is_preview);
    assert_eq!(told, (PREVIEW.len() as u64, "image/jpeg", None, true));
    assert_eq!(files.read(&preview, None).await, PREVIEW);
}

#[tokio::test]
async fn why_there_is_no_file_is_told() {
    let files = Files::new().await;
    let now = files.group.clock.now();
    files.send("m1", now, &named("a"), false).await;
    assert_eq!(absent(files.file("m1", true).await), AbsentMedia::NoPreview);
    for (sql, expected) in [
        ("UPDATE media SET status = 'pending'", AbsentMedia::Pending),
        ("UPDATE media SET status = 'skipped'", AbsentMedia::Skipped),
        ("UPDATE media SET status = 'failed'", AbsentMedia::Failed),
        ("UPDATE media SET status = 'expired'", AbsentMedia::Expired),
        // Its file has another size than was recorded.
        ("UPDATE media SET status = 'stored', bytes = bytes + 1", AbsentMedia::Missing),
        ("UPDATE media SET bytes = bytes - 1, sha256 = NULL", AbsentMedia::Missing),
    ] {
        files.group.sql(sql).await;
        assert_eq!(absent(files.file("m1", false).await), expected, "{sql}");
    }
    files.send("m2", now, &named("b"), true).await;
    let (file, preview) = (files.file("m2", false).await, files.file("m2", true).await);
    files.blobs.delete(&file.unwrap().blob).await.unwrap();
    assert_eq!(absent(files.file("m2", false).await), AbsentMedia::Missing);
    assert!(preview.is_ok() && files.file("m2", true).await.is_ok(), "it has a file of its own");
    store(&files.group, &[unsent("m2", now), text("words", now, "no file")]).await;
    for preview in [false, true] {
        assert_eq!(absent(files.file("m2", preview).await), AbsentMedia::Erased);
        for none in ["words", "nothing"] {
            let found = files.file(none, preview).await.unwrap_err();
            assert_eq!(found, MediaError::Service(ServiceError::NotFound), "{none}");
        }
    }
}

#[tokio::test]
async fn files_are_for_those_who_see_people_and_no_older_than_they_may() {
    let files = Files::new().await;
    let now = files.group.clock.now();
    let later = now.plus(Duration::from_millis(1));
    files.send("early", now, &named("a"), true).await;
    files.send("late", later, &named("b"), true).await;
    let bounds = Bounds { not_before: Some(later), ..Bounds::full() };
    let bounded: Reader = access(&files.group, Caller { bounds, ..caller(OTHER) }).await;
    let mask = Mask::of(&PseudonymKey::new([3; 32]), &[]).unwrap();
    let masked: Reader = access(&files.group, Caller { mask, ..caller(OTHER) }).await;
    for preview in [false, true] {
        let early = files.service.file(&bounded, &"early".into(), preview).await;
        assert_eq!(early.unwrap_err(), MediaError::Service(ServiceError::NotFound));
        assert!(files.service.file(&bounded, &"late".into(), preview).await.is_ok());
        let hidden = files.service.file(&masked, &"late".into(), preview).await;
        assert_eq!(hidden.unwrap_err(), MediaError::Service(ServiceError::PseudonymousKey));
    }
    let query = MediaListQuery { limit: 10, ..MediaListQuery::default() };
    let (items, _) = files.service.page(&bounded, &query).await.unwrap();
    assert_eq!(texts(items.iter().map(|item| &item.message)), ["late"]);
    let (items, _) = files.service.page(&masked, &query).await.unwrap();
    let names = items.iter().map(|item| item.info.file_name.as_deref());
    assert_eq!(names.collect::<Vec<_>>(), [Some("file"); 2], "names of files may be of people");
}

#[tokio::test]
async fn pages_have_every_file_once_newest_first() {
    let files = Files::new().await;
    let now = files.group.clock.now();
    let at = |nth: u64| now.plus(Duration::from_millis(nth / 2));
    let kinds = [
        Content::Image(MediaInfo::default()),
        Content::File(MediaInfo::default()),
        Content::Audio(MediaInfo::default()),
    ];
    let sent = (0..9_u64).zip(kinds.iter().cycle());
    let changes = sent.map(|(nth, content)| {
        let id = format!("m{nth}");
        [message(&id, Some(OWNER), at(nth), content), text(&format!("t{nth}"), at(nth), "no file")]
    });
    store(&files.group, &changes.flatten().collect::<Vec<_>>()).await;
    for (kind, expected) in [
        (None, vec!["m8", "m7", "m6", "m5", "m4", "m3", "m2", "m1", "m0"]),
        (Some(MessageType::Image), vec!["m6", "m3", "m0"]),
        (Some(MessageType::Audio), vec!["m8", "m5", "m2"]),
        (Some(MessageType::Video), vec![]),
    ] {
        for limit in [1, 2, 3, 9, 10] {
            let mut query = MediaListQuery { kind, limit, cursor: None };
            let mut found = Vec::new();
            loop {
                let (page, next) = files.page(&query).await;
                assert!(page.len() <= limit as usize);
                found.extend(page);
                query.cursor = next;
                if query.cursor.is_none() {
                    break;
                }
            }
            assert_eq!(found, expected, "{kind:?} {limit}");
        }
    }
    let query = |kind, cursor| MediaListQuery { kind, limit: 2, cursor };
    let (_, next) = files.page(&query(None, None)).await;
    let other = query(Some(MessageType::Image), next);
    assert_eq!(refusal(files.service.page(&files.reader, &other).await).0, "cursor");
}
