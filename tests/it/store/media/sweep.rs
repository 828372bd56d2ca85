//! The orphan sweep beside uploads: never a message without its file, nor a file without a message.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_blobs::Blobs;
use chatkeep_core::config::{BlobsKind, S3Config};
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    BlobClaim, Bookmark, CLAIM, FeedReader, IngestOutcome, MediaFilter, MediaOutcome, MediaStatus,
    NewMedia, Store,
};
use futures_util::{TryStreamExt as _, stream};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::super::{Fixture, at, on_both, said, unsent};
use super::{bare, begun, blob, claim, file, item, orphans, picture, prepared};
use crate::harness::wait::{DEADLINE, until};

on_both!(
    claims_keep_the_sweep_away,
    a_sweep_under_way_stops_nobody_else,
    a_swept_blob_is_put_again,
    a_lease_lasts_whatever_others_do,
    whoever_claims_after_a_lease_is_safe_from_its_sweep,
    a_claim_of_an_earlier_version_is_void,
    only_what_failed_comes_again_at_once,
    what_was_leased_before_comes_after_the_others,
    a_mark_of_somebody_else_is_no_claim,
    many_at_once_lose_no_file_and_leave_none,
);

/// Time for which something is seen not to happen.
const MOMENT: Duration = Duration::from_millis(300);
/// Time that a change may take which nothing holds up; SQLite's writer is waited for much longer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Ends every lease.
const LEASES_END: &str = "UPDATE blob_orphans SET since = -1 WHERE since < 0";

/// Claims beside what the test does.
fn claiming(fixture: &Fixture, letter: char, now: i64) -> JoinHandle<BlobClaim> {
    let store = fixture.store.clone();
    tokio::spawn(async move { store.media().claim_blob(blob(letter), at(now)).await.unwrap() })
}

/// Stores a file that was put under a claim from before.
async fn store_file(fixture: &Fixture, message: &str, media: &NewMedia, now: i64) -> MediaOutcome {
    fixture.store.media().store_media(&"C1".into(), &message.into(), media, at(now)).await.unwrap()
}

async fn claims_keep_the_sweep_away(fixture: Fixture) {
    let old = i64::try_from(CLAIM.as_millis()).unwrap();
    claim(&fixture, 'a', 1).await;
    claim(&fixture, 'b', 1).await;
    claim(&fixture, 'b', 9).await;
    let found = async |now: i64| {
        let sweep = fixture.store.media().begin_orphan_sweep(at(now - old), 9).await.unwrap();
        let blobs = sweep.blobs().to_vec();
        // None of them could be deleted: they come again.
        sweep.finish(&[], &blobs).await.unwrap();
        blobs
    };
    assert_eq!(found(1 + old).await, []);
    assert_eq!(found(2 + old).await, [blob('a')]);
    assert_eq!(found(2 + old).await, [blob('a')]);
    assert_eq!(found(10 + old).await, [blob('a'), blob('b')]);
    let sweep = fixture.store.media().begin_orphan_sweep(at(10), 1).await.unwrap();
    assert_eq!((sweep.blobs(), sweep.seen()), (&[blob('a')][..], 1));
    sweep.finish(&[blob('a')], &[]).await.unwrap();
    assert_eq!(found(10 + old).await, [blob('b')]);
}

/// Files are deleted by a media store that may hang.
async fn a_sweep_under_way_stops_nobody_else(fixture: Fixture) {
    prepared(&fixture).await;
    claim(&fixture, 'a', 1).await;
    let sweep = begun(&fixture).await;
    assert_eq!(sweep.blobs(), [blob('a')]);
    let message = [said("C1", "m", 10, "x")];
    let kept = timeout(TIMEOUT, fixture.keep(&message, 20)).await;
    assert_eq!(kept, Ok(vec![IngestOutcome::Changed]), "the database takes changes");
    let (user, channels) = (UserId::from("U1"), [ChannelId::from("C1")]);
    let reader = FeedReader { user: &user, channels: &channels, not_before: None };
    until("readers of the log have it", DEADLINE, async || {
        let outbox = fixture.store.outbox();
        let feed = outbox.outbox_events(reader, Bookmark::default(), 100).await.unwrap();
        feed.outbox_events.iter().any(|event| event.subject.as_deref() == Some("m"))
    })
    .await;
    sweep.finish(&[blob('a')], &[]).await.unwrap();
    assert_eq!(begun(&fixture).await.seen(), 0);
}

async fn a_swept_blob_is_put_again(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[picture("C1", "p", 10)], 20).await;
    let slow = file(claim(&fixture, 'a', 20).await, 10);
    let sweep = begun(&fixture).await;
    assert_eq!(sweep.blobs(), [blob('a')]);
    // A claim during the deletion of a file waits for it.
    let mut again = claiming(&fixture, 'a', 31);
    assert!(timeout(MOMENT, &mut again).await.is_err());
    sweep.finish(&[blob('a')], &[]).await.unwrap();
    let again = file(again.await.unwrap(), 10);
    assert_eq!(store_file(&fixture, "p", &slow, 32).await, MediaOutcome::BlobGone);
    assert_eq!(item(&fixture, "p").await.unwrap().record.status, MediaStatus::Pending);
    assert_eq!(fixture.used("U1").await, bare());
    assert_eq!(store_file(&fixture, "p", &again, 33).await, MediaOutcome::Stored);
    assert!(orphans(&fixture).await.is_empty());
}

async fn a_lease_lasts_whatever_others_do(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[picture("C1", "p", 10), picture("C1", "q", 11)], 20).await;
    let slow = file(claim(&fixture, 'a', 20).await, 10);
    let sweep = begun(&fixture).await;
    assert_eq!(sweep.blobs(), [blob('a')]);
    // The file of a claim from before is not held, and the end of that claim is not one of the lease.
    assert_eq!(store_file(&fixture, "p", &slow, 30).await, MediaOutcome::BlobGone);
    assert_eq!(store_file(&fixture, "none", &slow, 31).await, MediaOutcome::Unwanted);
    fixture.store.audits().mark_blobs(&[blob('a')].into()).await.unwrap();
    assert_eq!(begun(&fixture).await.seen(), 0, "another sweep leaves it alone");
    let mut waiting = claiming(&fixture, 'a', 32);
    assert!(timeout(MOMENT, &mut waiting).await.is_err());
    // The deletion failed: the file is there, or it is not.
    sweep.finish(&[], &[blob('a')]).await.unwrap();
    assert_eq!(store_file(&fixture, "p", &slow, 33).await, MediaOutcome::BlobGone);
    let again = file(waiting.await.unwrap(), 10);
    assert_eq!(store_file(&fixture, "q", &again, 34).await, MediaOutcome::Stored);
    assert!(orphans(&fixture).await.is_empty());
}

/// A process may die during a sweep, or stand still for longer than its lease.
async fn whoever_claims_after_a_lease_is_safe_from_its_sweep(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[picture("C1", "p", 10)], 20).await;
    for letter in ['a', 'b'] {
        claim(&fixture, letter, 20).await;
    }
    let late = begun(&fixture).await;
    assert_eq!(late.blobs(), [blob('a'), blob('b')]);
    // Newer than what these sweeps look for.
    let mut waiting = claiming(&fixture, 'a', 2_000_000_000);
    assert!(timeout(MOMENT, &mut waiting).await.is_err());
    fixture.run(LEASES_END).await;
    let media = file(waiting.await.unwrap(), 10);
    let next = begun(&fixture).await;
    assert_eq!(next.blobs(), [blob('b')], "the other one is claimed");
    // Their marks are not those of the late sweep any more.
    late.finish(&[blob('a')], &[blob('b')]).await.unwrap();
    assert_eq!(begun(&fixture).await.seen(), 0);
    assert_eq!(store_file(&fixture, "p", &media, 31).await, MediaOutcome::Stored);
    next.finish(&[blob('b')], &[]).await.unwrap();
    assert!(orphans(&fixture).await.is_empty());
}

/// During an update, processes run that take a mark without looking whether it is leased.
async fn a_claim_of_an_earlier_version_is_void(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[picture("C1", "p", 10)], 20).await;
    let claimed = claim(&fixture, 'a', 20).await;
    let sweep = begun(&fixture).await;
    assert_eq!(sweep.blobs(), [blob('a')]);
    fixture.run("UPDATE blob_orphans SET since = 31").await;
    let taken = file(claim(&fixture, 'a', 31).await, 10);
    assert_ne!(taken.claim, claimed);
    sweep.finish(&[blob('a')], &[]).await.unwrap();
    assert_eq!(fixture.value("SELECT COUNT(*) FROM blob_orphans").await, "1");
    assert_eq!(store_file(&fixture, "p", &taken, 32).await, MediaOutcome::BlobGone);
    assert_eq!(orphans(&fixture).await, [blob('a')]);
}

async fn only_what_failed_comes_again_at_once(fixture: Fixture) {
    for letter in ['a', 'b', 'c'] {
        claim(&fixture, letter, 1).await;
    }
    let sweep = begun(&fixture).await;
    assert_eq!(sweep.blobs(), ['a', 'b', 'c'].map(blob));
    sweep.finish(&[blob('a')], &[blob('b')]).await.unwrap();
    // The deletion of the third may still be carried out.
    assert_eq!(orphans(&fixture).await, [blob('b')]);
    fixture.run(LEASES_END).await;
    assert_eq!(orphans(&fixture).await, [blob('c')]);
}

/// The media store may refuse to delete a file for ever.
async fn what_was_leased_before_comes_after_the_others(fixture: Fixture) {
    let next = async || {
        let media = fixture.store.media();
        media.begin_orphan_sweep(at(1_000_000_000), 1).await.unwrap()
    };
    claim(&fixture, 'a', 1).await;
    assert_eq!(next().await.blobs(), [blob('a')]);
    fixture.run(LEASES_END).await;
    for letter in ['b', 'c'] {
        claim(&fixture, letter, 2).await;
        let sweep = next().await;
        assert_eq!(sweep.blobs(), [blob(letter)]);
        sweep.finish(&[blob(letter)], &[]).await.unwrap();
        let sweep = next().await;
        assert_eq!(sweep.blobs(), [blob('a')], "nothing else is left");
        // Its deletion does not even begin: it keeps its place.
        sweep.finish(&[], &[blob('a')]).await.unwrap();
    }
    // Those of the longest ago come first.
    claim(&fixture, 'd', 3).await;
    assert_eq!(next().await.blobs(), [blob('d')]);
    fixture.run("UPDATE blob_orphans SET since = since + 300000 WHERE since < -1").await;
    assert_eq!(next().await.blobs(), [blob('a')]);
    assert_eq!(next().await.blobs(), [blob('d')]);
    assert_eq!(next().await.seen(), 0);
}

/// A blob claimed by another worker does not exist before that one has put it, and it may die
/// before.
async fn a_mark_of_somebody_else_is_no_claim(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[picture("C1", "p", 10), picture("C1", "q", 11)], 20).await;
    let slow = file(claim(&fixture, 'a', 20).await, 10);
    assert_eq!(orphans(&fixture).await, [blob('a')]);
    let dying = claim(&fixture, 'a', 30).await;
    let (channel, id) = ("C1".into(), "p".into());
    let kept = fixture.store.media().store_media(&channel, &id, &slow, at(31)).await.unwrap();
    assert_eq!(kept, MediaOutcome::BlobGone);
    // A blob held by another message exists.
    let kept = fixture
        .store
        .media()
        .store_media(&channel, &"q".into(), &file(dying, 10), at(32))
        .await
        .unwrap();
    assert_eq!(kept, MediaOutcome::Stored);
    assert!(orphans(&fixture).await.is_empty());
    let kept = fixture.store.media().store_media(&channel, &id, &slow, at(33)).await.unwrap();
    assert_eq!(kept, MediaOutcome::Stored);
}

/// Workers put few contents again and again for messages that are retracted, beside two sweeps for
/// which every claim is old. The sweeps run whenever something was stored, so that they do not
/// delete everything before it is.
async fn many_at_once_lose_no_file_and_leave_none(fixture: Fixture) {
    prepared(&fixture).await;
    let folder = TempDir::new().unwrap();
    let blobs = folder_of_blobs(&folder);
    let (stored, _) = watch::channel(0);
    let sweeps = [(); 2].map(|()| {
        let (store, blobs, mut stored) = (fixture.store.clone(), blobs.clone(), stored.subscribe());
        tokio::spawn(async move {
            while stored.changed().await.is_ok() {
                sweep(&store, &blobs).await;
            }
        })
    });
    let workers = (0..4).map(|worker| {
        let (store, blobs, stored) = (fixture.store.clone(), blobs.clone(), stored.clone());
        tokio::spawn(async move { work(&store, &blobs, worker, &stored).await })
    });
    for worker in futures_util::future::join_all(workers).await {
        worker.unwrap();
    }
    drop(stored);
    for sweep in sweeps {
        sweep.await.unwrap();
    }
    while sweep(&fixture.store, &blobs).await > 0 {}
    let filter = MediaFilter { limit: 1_000, ..MediaFilter::default() };
    let page = fixture.store.media().media_page(&"C1".into(), &filter).await.unwrap();
    let mut held: Vec<_> =
        page.media.iter().map(|item| item.record.blob.clone().unwrap()).collect();
    held.sort();
    held.dedup();
    let mut there: Vec<_> = blobs.list().try_collect().await.unwrap();
    there.sort();
    assert!(!held.is_empty());
    assert_eq!(there, held);
    let bytes: i64 = page.media.iter().map(|item| item.record.bytes + bare()).sum();
    assert_eq!((fixture.used("U1").await, fixture.counters("C1").await.0), (bytes, bytes));
}

fn folder_of_blobs(folder: &TempDir) -> Blobs {
    Blobs::open(&BlobsKind::Folder(folder.path().to_owned()), &S3Config::default()).unwrap()
}

async fn sweep(store: &Store, blobs: &Blobs) -> usize {
    let sweep = store.media().begin_orphan_sweep(at(1_000_000_000), 3).await.unwrap();
    let (seen, gone) = (sweep.seen(), sweep.blobs().to_vec());
    for blob in &gone {
        blobs.delete(blob).await.unwrap();
    }
    sweep.finish(&gone, &[]).await.unwrap();
    seen
}

/// Stores messages with files of three contents; every other message is unsent.
async fn work(store: &Store, blobs: &Blobs, worker: i64, stored: &watch::Sender<usize>) {
    let channel = "C1".into();
    for round in 0..12 {
        let id = MessageId::from(format!("{worker}-{round}"));
        let now = at(100 + round);
        let kept =
            store.messages().ingest(&[picture("C1", id.as_str(), 50 + round)], now).await.unwrap();
        assert_eq!(kept, [IngestOutcome::Changed]);
        let content = Bytes::from(format!("content {}", (worker + round) % 3));
        while put(store, blobs, &id, &content, now).await == MediaOutcome::BlobGone {}
        stored.send_modify(|count| *count += 1);
        let item = store.media().get(&channel, &id).await.unwrap().unwrap();
        let blob = item.record.blob.unwrap();
        assert!(blobs.size(&blob).await.unwrap().is_some(), "{id} has lost its file");
        if round % 2 == 0 {
            store.messages().ingest(&[unsent("C1", id.as_str(), 200)], at(201)).await.unwrap();
        }
    }
}

async fn put(
    store: &Store,
    blobs: &Blobs,
    id: &MessageId,
    content: &Bytes,
    now: Timestamp,
) -> MediaOutcome {
    let stream = stream::iter([Ok::<_, Infallible>(content.clone())]);
    let claim = async |blob| store.media().claim_blob(blob, now).await.map_err(Into::into);
    let (stored, claim) = blobs.put(stream, 1_000, claim).await.unwrap();
    let media = file(claim, i64::try_from(stored.bytes).unwrap());
    store.media().store_media(&"C1".into(), id, &media, now).await.unwrap()
}
