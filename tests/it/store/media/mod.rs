//! Files of media messages: counted exactly.

mod sweep;

use chatkeep_core::blob::BlobId;
use chatkeep_core::id::MessageId;
use chatkeep_core::message::{Content, MediaInfo, MessageType};
use chatkeep_core::plan::Plan;
use chatkeep_store::{
    BlobClaim, ChannelChange, MediaFigures, MediaFilter, MediaItem, MediaOutcome, MediaReason,
    MediaStatus, NewMedia, OrphanSweep,
};

use super::{Fixture, at, on_both, picture_by, said, sent_by, unsent};

on_both!(
    a_file_is_stored_and_read_with_its_message,
    storing_twice_counts_once,
    a_shared_blob_counts_for_each_message,
    a_file_counts_for_whom_it_was_stored,
    a_paused_channel_has_nothing_downloaded,
    a_full_quota_skips_and_records_the_gap,
    a_message_taken_back_meanwhile_holds_nothing,
    what_cannot_be_had_says_why,
    pages_are_newest_first_and_filtered,
    figures_count_a_shared_file_once,
);

const IMAGE: &str = r#"{"type":"image"}"#;

async fn prepared(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
}

fn picture(channel: &str, message: &str, time: i64) -> ChannelChange {
    picture_by("U1", channel, message, time)
}

fn media(channel: &str, id: &str, time: i64, kind: MessageType, content: &str) -> ChannelChange {
    sent_by("U1", (channel, id), time, (kind, content.to_owned()))
}

/// Returns the bytes counted for a picture without its file.
fn bare() -> i64 {
    i64::try_from(IMAGE.len()).unwrap()
}

fn blob(letter: char) -> BlobId {
    BlobId::parse(&letter.to_string().repeat(64)).unwrap()
}

async fn claim(fixture: &Fixture, letter: char, now: i64) -> BlobClaim {
    fixture.store.media().claim_blob(blob(letter), at(now)).await.unwrap()
}

fn file(claim: BlobClaim, bytes: i64) -> NewMedia {
    NewMedia { claim, bytes, content_type: "image/jpeg".to_owned(), preview: None }
}

/// Claims and stores, as a worker does after a download.
async fn store(
    fixture: &Fixture,
    message: &str,
    letter: char,
    bytes: i64,
    now: i64,
) -> MediaOutcome {
    let media = file(claim(fixture, letter, now).await, bytes);
    fixture.store.media().store_media(&"C1".into(), &message.into(), &media, at(now)).await.unwrap()
}

async fn item(fixture: &Fixture, message: &str) -> Option<MediaItem> {
    fixture.store.media().get(&"C1".into(), &message.into()).await.unwrap()
}

/// Begins a sweep at a time when every claim is old.
async fn begun(fixture: &Fixture) -> OrphanSweep {
    fixture.store.media().begin_orphan_sweep(at(1_000_000_000), 100).await.unwrap()
}

/// Returns the blobs that a sweep would delete now, at a time when every claim is old.
async fn orphans(fixture: &Fixture) -> Vec<BlobId> {
    let sweep = begun(fixture).await;
    let mut blobs = sweep.blobs().to_vec();
    sweep.finish(&blobs, &[]).await.unwrap();
    blobs.sort();
    blobs
}

async fn a_file_is_stored_and_read_with_its_message(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[picture("C1", "p", 10)], 20).await;
    let waiting = item(&fixture, "p").await.unwrap();
    assert_eq!((waiting.record.status, waiting.record.bytes), (MediaStatus::Pending, 0));
    assert_eq!((waiting.kind, waiting.sent_at), (MessageType::Image, at(10)));
    let preview = Some((claim(&fixture, 'b', 30).await, "image/png".to_owned()));
    let new = NewMedia { preview, ..file(claim(&fixture, 'a', 30).await, 1_000) };
    let (channel, id) = ("C1".into(), "p".into());
    let kept = fixture.store.media().store_media(&channel, &id, &new, at(31)).await.unwrap();
    assert_eq!(kept, MediaOutcome::Stored);
    let record = item(&fixture, "p").await.unwrap().record;
    assert_eq!((record.status, record.bytes), (MediaStatus::Stored, 1_000));
    assert_eq!((record.stored_at, record.reason), (Some(at(31)), None));
    assert_eq!(
        (record.blob.clone(), record.content_type.as_deref()),
        (Some(blob('a')), Some("image/jpeg"))
    );
    let preview = record.preview.clone().unwrap();
    assert_eq!((preview.blob, preview.content_type.as_str()), (blob('b'), "image/png"));
    let message = fixture.store.messages().message(&channel, &id).await.unwrap().unwrap();
    assert_eq!(
        (message.media.clone(), message.media_status()),
        (Some(record), Some(MediaStatus::Stored))
    );
    assert_eq!(message.bytes, 1_000 + bare());
    assert_eq!(fixture.counters("C1").await, (message.bytes, 1));
    assert_eq!(fixture.used("U1").await, message.bytes);
    assert!(fixture.store.media().pending_media(at(99), 9, 0).await.unwrap().is_empty());
    assert!(orphans(&fixture).await.is_empty());
}

async fn figures_count_a_shared_file_once(fixture: Fixture) {
    let figures = async || fixture.store.media().media_figures().await.unwrap();
    assert_eq!(figures().await, MediaFigures::default());
    prepared(&fixture).await;
    let pictures = ["p", "q", "r", "s"].map(|message| picture("C1", message, 10));
    fixture.keep(&pictures, 20).await;
    for message in ["p", "q"] {
        assert_eq!(store(&fixture, message, 'a', 1_000, 30).await, MediaOutcome::Stored);
    }
    fixture
        .store
        .media()
        .fail_media(&"C1".into(), &"r".into(), MediaReason::Refused, at(31))
        .await
        .unwrap();
    let expected = MediaFigures { files: 1, bytes: 1_000, pending: 1, failed: 1 };
    assert_eq!(figures().await, expected);
    assert_eq!(fixture.store.media().count_pending_media().await.unwrap(), 1);
}

async fn storing_twice_counts_once(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[picture("C1", "p", 10)], 20).await;
    assert_eq!(store(&fixture, "p", 'a', 1_000, 30).await, MediaOutcome::Stored);
    assert_eq!(store(&fixture, "p", 'a', 1_000, 31).await, MediaOutcome::Known);
    // Another content of the same message, as after a crash between put and store: no message's.
    assert_eq!(store(&fixture, "p", 'b', 5_000, 32).await, MediaOutcome::Known);
    fixture.keep(&[picture("C1", "p", 10)], 33).await;
    assert_eq!(fixture.used("U1").await, 1_000 + bare());
    assert_eq!(fixture.counters("C1").await, (1_000 + bare(), 1));
    assert_eq!(orphans(&fixture).await, [blob('b')]);
}

async fn a_shared_blob_counts_for_each_message(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[picture("C1", "p", 10), picture("C1", "q", 11)], 20).await;
    for message in ["p", "q"] {
        assert_eq!(store(&fixture, message, 'a', 1_000, 30).await, MediaOutcome::Stored);
    }
    assert_eq!(fixture.used("U1").await, 2 * (1_000 + bare()));
    fixture.keep(&[unsent("C1", "p", 40)], 41).await;
    assert_eq!(fixture.used("U1").await, 1_000 + bare());
    assert!(orphans(&fixture).await.is_empty(), "the other message holds it");
    fixture.keep(&[unsent("C1", "q", 42)], 43).await;
    fixture.keep(&[unsent("C1", "q", 41)], 44).await;
    assert_eq!((fixture.used("U1").await, fixture.counters("C1").await), (0, (0, 0)));
    assert_eq!(orphans(&fixture).await, [blob('a')]);
    assert!(orphans(&fixture).await.is_empty());
}

async fn a_file_counts_for_whom_it_was_stored(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[picture("C1", "before", 10), picture("C1", "after", 11)], 20).await;
    store(&fixture, "before", 'a', 1_000, 25).await;
    fixture.subscribe("C1", "U2", 30).await;
    store(&fixture, "after", 'b', 500, 40).await;
    // U2's baseline has both messages and the first file, but not the second.
    assert_eq!((fixture.used("U1").await, fixture.used("U2").await), (1_500 + 2 * bare(), 500));
    fixture.keep(&[unsent("C1", "before", 50)], 51).await;
    assert_eq!((fixture.used("U1").await, fixture.used("U2").await), (500 + bare(), 500));
    fixture.keep(&[unsent("C1", "after", 52)], 53).await;
    assert_eq!((fixture.used("U1").await, fixture.used("U2").await), (0, 0));
    assert_eq!(fixture.counters("C1").await, (0, 0));
}

async fn a_paused_channel_has_nothing_downloaded(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&["kept", "late"].map(|id| picture("C1", id, 10)), 20).await;
    let skip = async |id: &str, now| {
        fixture.store.media().skip_media(&"C1".into(), &id.into(), at(now)).await.unwrap()
    };
    assert!(!skip("late", 29).await);
    assert_eq!(store(&fixture, "kept", 'a', 50, 30).await, MediaOutcome::Stored);
    fixture.preload("C1", "U1", Plan::Free.quota()).await;
    fixture.subscribe("C1", "U2", 40).await;
    assert!(!skip("late", 41).await, "one subscriber with room is enough");
    fixture.store.accounts().unsubscribe(&"C1".into(), &"U2".into(), at(42)).await.unwrap();
    assert!(skip("late", 43).await && skip("late", 44).await && skip("kept", 44).await);
    let statuses = [item(&fixture, "late").await, item(&fixture, "kept").await];
    let statuses = statuses.map(|item| item.unwrap().record.status);
    assert_eq!(statuses, [MediaStatus::Skipped, MediaStatus::Stored]);
    let gaps = fixture.store.messages().gaps(&"C1".into(), Some(at(20)), None).await.unwrap();
    assert_eq!((gaps.len(), gaps[0].skipped, gaps[0].to), (1, Some(1), None));
    assert!(fixture.store.accounts().set_plan(&"U1".into(), Plan::Standard, at(50)).await.unwrap());
    assert!(!skip("late", 51).await);
}

async fn a_full_quota_skips_and_records_the_gap(fixture: Fixture) {
    prepared(&fixture).await;
    let all = ["crosses", "late", "later"];
    fixture.keep(&all.map(|id| picture("C1", id, 10)), 20).await;
    fixture.preload("C1", "U1", Plan::Free.quota() - 3 * bare() - 50).await;
    assert_eq!(store(&fixture, "crosses", 'a', 1_000, 30).await, MediaOutcome::Stored);
    assert_eq!(store(&fixture, "late", 'b', 1_000, 31).await, MediaOutcome::Skipped);
    let gaps =
        async || fixture.store.messages().gaps(&"C1".into(), Some(at(20)), None).await.unwrap();
    let gap = gaps().await[0].clone();
    assert_eq!((gap.from, gap.to, gap.skipped), (at(10), None, Some(1)));
    let record = item(&fixture, "late").await.unwrap().record;
    assert_eq!((record.status, record.reason), (MediaStatus::Skipped, Some(MediaReason::Quota)));
    assert_eq!(fixture.used("U1").await, Plan::Free.quota() + 950);
    assert_eq!(orphans(&fixture).await, [blob('b')]);
    assert!(fixture.store.accounts().set_plan(&"U1".into(), Plan::Standard, at(40)).await.unwrap());
    assert_eq!(store(&fixture, "late", 'b', 1_000, 41).await, MediaOutcome::Known, "for good");
    assert_eq!(store(&fixture, "later", 'c', 1_000, 42).await, MediaOutcome::Stored);
    assert_eq!((gaps().await.len(), gaps().await[0].skipped), (1, Some(1)));
    assert_eq!(fixture.used("U1").await, Plan::Free.quota() + 1_950);
    // Nobody is charged, but the stored message is completed.
    fixture.keep(&[picture("C1", "last", 50)], 51).await;
    fixture.store.accounts().unsubscribe(&"C1".into(), &"U1".into(), at(52)).await.unwrap();
    assert_eq!(store(&fixture, "last", 'd', 7, 53).await, MediaOutcome::Stored);
    assert_eq!(fixture.used("U1").await, 0);
}

async fn a_message_taken_back_meanwhile_holds_nothing(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[picture("C1", "p", 10)], 20).await;
    let media = file(claim(&fixture, 'a', 25).await, 1_000);
    fixture.keep(&[unsent("C1", "p", 26)], 27).await;
    let (channel, id) = ("C1".into(), "p".into());
    for id in [&id, &"none".into()] {
        let kept = fixture.store.media().store_media(&channel, id, &media, at(30)).await.unwrap();
        assert_eq!(kept, MediaOutcome::Unwanted);
    }
    assert!(item(&fixture, "p").await.is_none());
    let message = fixture.store.messages().message(&channel, &id).await.unwrap().unwrap();
    assert_eq!((message.bytes, message.media_status()), (0, Some(MediaStatus::Erased)));
    assert_eq!((fixture.used("U1").await, fixture.counters("C1").await), (0, (0, 0)));
    // At once: the claim has ended with the refusal.
    let sweep = fixture.store.media().begin_orphan_sweep(at(1), 9).await.unwrap();
    assert_eq!(sweep.blobs(), [blob('a')]);
}

async fn what_cannot_be_had_says_why(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[picture("C1", "p", 10)], 20).await;
    fixture.keep(&[picture("C1", "q", 9)], 21).await;
    let waiting = async |before, limit| -> Vec<MessageId> {
        let items = fixture.store.media().pending_media(at(before), limit, 0).await.unwrap();
        items.into_iter().map(|item| item.message).collect()
    };
    assert_eq!(waiting(99, 9).await, ["p".into(), "q".into()], "the one that waits longest first");
    assert_eq!(waiting(99, 1).await, ["p".into()]);
    assert_eq!(waiting(21, 9).await, ["p".into()]);
    let (channel, id) = ("C1".into(), "p".into());
    let store = &fixture.store;
    assert!(store.media().fail_media(&channel, &id, MediaReason::TooSlow, at(9)).await.unwrap());
    let record = item(&fixture, "p").await.unwrap().record;
    assert_eq!((record.status, record.reason), (MediaStatus::Failed, Some(MediaReason::TooSlow)));
    assert_eq!(waiting(99, 9).await, ["q".into()]);
    assert!(store.media().expire_media(&channel, &id, at(9)).await.unwrap());
    assert_eq!(item(&fixture, "p").await.unwrap().record.status, MediaStatus::Expired);
    assert!(!store.media().fail_media(&channel, &id, MediaReason::Refused, at(9)).await.unwrap());
    // A later attempt succeeded after all.
    assert_eq!(self::store(&fixture, "p", 'a', 10, 40).await, MediaOutcome::Stored);
    assert_eq!(item(&fixture, "p").await.unwrap().record.reason, None);
    assert!(!store.media().expire_media(&channel, &id, at(9)).await.unwrap());
    assert!(
        !store
            .media()
            .fail_media(&channel, &"none".into(), MediaReason::Refused, at(9))
            .await
            .unwrap()
    );
}

async fn pages_are_newest_first_and_filtered(fixture: Fixture) {
    prepared(&fixture).await;
    let info = MediaInfo { file_name: Some("a.pdf".into()), ..MediaInfo::default() };
    let pdf = serde_json::to_string(&Content::File(info)).unwrap();
    let mut batch =
        vec![said("C1", "text", 10, "x"), media("C1", "f", 12, MessageType::File, &pdf)];
    batch.extend((0..7).map(|n| picture("C1", &format!("p{n}"), 10 + n / 2)));
    fixture.keep(&batch, 20).await;
    fixture.keep(&[unsent("C1", "p3", 30)], 31).await;
    let ids = async |mut filter: MediaFilter| {
        let mut ids = Vec::new();
        loop {
            let page = fixture.store.media().media_page(&"C1".into(), &filter).await.unwrap();
            assert!(page.media.len() <= filter.limit as usize);
            ids.extend(page.media.iter().map(|item| item.message.clone().into_string()));
            let Some(next) = page.next else { return ids };
            filter.after = Some(next);
        }
    };
    let all = ["p6", "p5", "p4", "f", "p2", "p1", "p0"];
    for limit in [2, 3, 100] {
        assert_eq!(ids(MediaFilter { limit, ..MediaFilter::default() }).await, all);
    }
    let kind = Some(MessageType::File);
    assert_eq!(ids(MediaFilter { limit: 9, kind, ..MediaFilter::default() }).await, ["f"]);
    let from = Some(at(12));
    assert_eq!(ids(MediaFilter { limit: 9, from, ..MediaFilter::default() }).await, all[..4]);
    assert_eq!(item(&fixture, "f").await.unwrap().info.file_name.as_deref(), Some("a.pdf"));
}
