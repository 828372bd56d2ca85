//! Exports in the background: equal requests, and exports that end the process which writes them.

use std::sync::Arc;

use chatkeep_blobs::Blobs;
use chatkeep_core::config::{BlobsKind, S3Config};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::time::ManualClock;
use chatkeep_services::export_jobs::ExportWorker;
use chatkeep_store::{EXPORT_RETENTION, JobStatus, NewExportJob, PartOutcome};
use chatkeep_view::Links;
use sqlx::Executor as _;
use tokio_util::sync::CancellationToken;

use super::exports::{
    CLAIM, NOW, WHY, applied, begun, begun_by, claimed, completed, group, part, present, stored,
};
use super::{Fixture, at, clock_at, on_both, unsent};
use crate::harness::wait::{DEADLINE, until_is};

on_both!(
    an_export_that_ends_its_process_is_given_up,
    a_part_that_is_written_ends_the_count_of_interruptions,
    whoever_asks_again_gets_the_export_that_is_not_completed_yet,
    requests_at_the_same_moment_make_one_export,
    a_slow_step_does_not_shorten_a_renewed_claim,
);

async fn an_export_that_ends_its_process_is_given_up(fixture: Fixture) {
    group(&fixture).await;
    begun(&fixture, "exp_1", NOW).await;
    let mut now = NOW;
    for (process, minutes) in (1..).zip([0, 1, 5, 15]) {
        let export = claimed(&fixture, &format!("P{process}"), now).await.unwrap();
        part(&fixture, &export, &format!("P{process}")).await;
        now += CLAIM;
        // A worker that stops while it writes releases it: that is no interruption.
        if let Some(export) = claimed(&fixture, "other", now).await {
            assert_eq!(minutes, 0, "{process}");
            part(&fixture, &export, "other").await;
            fixture.store.exports().release_export(&export, "other", at(now)).await.unwrap();
        }
        now += minutes * 60_000;
        assert!(minutes == 0 || claimed(&fixture, "other", now - 1).await.is_none(), "{process}");
        assert_eq!(present(&fixture, "exp_1").await.interruptions, process);
    }
    claimed(&fixture, "P5", now).await.unwrap();
    // Its own worker lives: it could not reach the database for a while.
    assert!(claimed(&fixture, "P5", now + CLAIM).await.is_some());
    now += 2 * CLAIM;
    assert_eq!(claimed(&fixture, "P6", now).await, None);
    let export = present(&fixture, "exp_1").await;
    assert_eq!((export.status, export.error.as_deref()), (JobStatus::Failed, Some(WHY)));
    assert!(export.was_interrupted());
    assert_eq!(export.finished_at, Some(at(now)));
    assert_eq!(export.expires_at, Some(at(now).plus(EXPORT_RETENTION)));
    assert_eq!(claimed(&fixture, "P6", now + 1_000_000_000).await, None);
}

async fn a_part_that_is_written_ends_the_count_of_interruptions(fixture: Fixture) {
    group(&fixture).await;
    begun(&fixture, "exp_1", NOW).await;
    claimed(&fixture, "P1", NOW).await.unwrap();
    let export = claimed(&fixture, "P2", NOW + CLAIM).await.unwrap();
    assert_eq!(export.interruptions, 1);
    let first = part(&fixture, &export, "P2").await;
    let outcome = stored(&fixture, &export, ("P2", &first, 'a'), (2, false)).await;
    let PartOutcome::Stored(export) = outcome else { panic!("{outcome:?}") };
    assert_eq!(export.interruptions, 0);
    let export = claimed(&fixture, "P3", NOW + 2 * CLAIM).await.unwrap();
    assert_eq!((export.interruptions, export.was_interrupted()), (1, false));
}

/// A step that waits for locks knows the time of before.
async fn a_slow_step_does_not_shorten_a_renewed_claim(fixture: Fixture) {
    group(&fixture).await;
    begun(&fixture, "exp_1", NOW).await;
    let export = claimed(&fixture, "A", NOW).await.unwrap();
    let renewed = NOW + 20_000;
    fixture.store.exports().renew_export(&export, "A", at(renewed)).await.unwrap();
    let first = part(&fixture, &export, "A").await;
    assert_eq!(claimed(&fixture, "B", renewed).await, None, "a part was begun");
    let outcome = stored(&fixture, &export, ("A", &first, 'a'), (2, false)).await;
    assert!(matches!(outcome, PartOutcome::Stored(_)), "{outcome:?}");
    assert_eq!(claimed(&fixture, "B", renewed).await, None, "a part was stored");
}

/// A worker whose next part waits for the channel renews the claim meanwhile.
#[tokio::test]
async fn an_export_that_waits_for_its_channel_is_kept() {
    let fixture = Fixture::postgres().await;
    group(&fixture).await;
    begun(&fixture, "exp_1", NOW).await;
    let mut other = fixture.locked("SELECT 1 FROM channels FOR UPDATE").await;
    let clock = Arc::new(clock_at(NOW));
    let folder = BlobsKind::Folder(fixture.folder.path().join("files"));
    let worker = ExportWorker::new(
        fixture.store.clone(),
        Blobs::open(&folder, &S3Config::default()).unwrap(),
        Arc::<ManualClock>::clone(&clock),
        DiskReserve::new(0),
        Links::default(),
    );
    let stop = CancellationToken::new();
    let working = tokio::spawn(worker.run(stop.clone()));
    fixture.until_one_waits().await;
    clock.set(at(NOW + 5_000));
    let renewed = (NOW + 15_000).to_string();
    until_is("the claim to be renewed", DEADLINE, renewed, async || {
        fixture.value("SELECT claimed_until FROM exports").await
    })
    .await;
    assert_eq!(claimed(&fixture, "B", NOW + CLAIM).await, None);
    other.execute("COMMIT").await.unwrap();
    stop.cancel();
    working.await.unwrap();
}

async fn whoever_asks_again_gets_the_export_that_is_not_completed_yet(fixture: Fixture) {
    group(&fixture).await;
    let begin = async |id: &str, now, change: &dyn Fn(&mut NewExportJob<'_>)| {
        begun_by(&fixture, "U1", id, now, change).await.id
    };
    assert_eq!(begin("first", NOW, &|_| {}).await, "first");
    // Later, too, when there may be more messages: it is as of the first request.
    assert_eq!(begin("second", NOW + 5_000, &|_| {}).await, "first");
    claimed(&fixture, "A", NOW).await.unwrap();
    assert_eq!(begin("third", NOW + 6_000, &|_| {}).await, "first", "it is being written");
    assert_eq!(begin("format", NOW, &|new| new.format = "csv").await, "format");
    assert_eq!(begin("from", NOW, &|new| new.from = Some(at(7))).await, "from");
    assert_eq!(begin("from2", NOW + 1, &|new| new.from = Some(at(7))).await, "from");
    assert_eq!(begin("zone", NOW, &|new| new.time_zone = "UTC").await, "zone");
    assert_eq!(begin("bounds", NOW, &|new| new.not_before = Some(at(7))).await, "bounds");
    let to = |new: &mut NewExportJob<'_>| (new.before, new.language) = (at(30), "ja");
    assert_eq!(begin("to", NOW, &to).await, "to");
    assert_eq!(begin("to2", NOW + 1, &to).await, "to");
    assert_eq!(begun_by(&fixture, "U2", "theirs", NOW, |_| {}).await.id, "theirs");
    fixture.run("DELETE FROM exports").await;
    completed(&fixture, "done").await;
    assert_eq!(begin("new", NOW, &|_| {}).await, "new", "a completed one is of another time");
    fixture.run("DELETE FROM exports WHERE id = 'new'").await;
    fixture.keep(&[unsent("C1", "m1", 100)], NOW).await;
    applied(&fixture).await;
    assert_eq!(begin("new", NOW, &|_| {}).await, "new", "also while it is written again");
}

async fn requests_at_the_same_moment_make_one_export(fixture: Fixture) {
    group(&fixture).await;
    let ids: Vec<_> = (0..8).map(|n| format!("exp_{n}")).collect();
    let all = ids.iter().zip(0..).map(|(id, n)| begun(&fixture, id, NOW + n));
    let begun = futures_util::future::join_all(all).await;
    assert!(begun.iter().all(|export| export.id == begun[0].id), "{begun:?}");
    assert_eq!(fixture.value("SELECT COUNT(*) FROM exports").await, "1");
}
