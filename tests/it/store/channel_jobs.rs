//! Deletions as jobs: begun once, worked on by one, counted exactly.

use std::sync::Arc;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::ManualClock;
use chatkeep_services::removals::RemovalWorker;
use chatkeep_store::{
    ChannelChange, ChannelJob, IngestOutcome, JobKind, JobStatus, NewChannelJob, SMALL_JOB,
};
use futures_util::future::join_all;
use sqlx::Executor as _;
use tokio_util::sync::CancellationToken;

use super::{Fixture, at, clock_at, on_both, unsent};
use crate::harness::wait::{DEADLINE, until, until_is};

on_both!(
    a_small_job_is_claimed_by_whoever_begins_it,
    a_job_counts_what_was_not_unsent_before,
    what_is_to_be_removed_is_barred_from_the_beginning,
    a_large_job_is_for_one_worker_at_a_time,
    a_claim_is_renewed_by_its_worker_alone,
    many_workers_do_everything_once,
    the_same_job_is_begun_once,
    a_job_that_fails_is_never_given_up,
    a_job_that_ends_its_process_is_tried_later_each_time,
    unfinished_jobs_are_counted_with_their_progress,
    finished_jobs_are_purged,
    an_erasure_of_nothing_is_no_job,
);

/// Longer than a claim lasts without a batch.
const CLAIM: i64 = 10_001;
/// Reason of a job that ends its process again and again.
const WHY: &str = "it ends its process";

fn said_by(user: &str, message: &str, time: i64) -> ChannelChange {
    super::said_by(user, "C1", message, time, "secret")
}

/// Sets up a group with that many messages of U2 at time 10.
async fn group(fixture: &Fixture, messages: usize) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let many: Vec<_> = (0..messages).map(|n| said_by("U2", &format!("m{n}"), 10)).collect();
    for batch in many.chunks(1_000) {
        fixture.keep(batch, 20).await;
    }
}

fn erasure() -> JobKind {
    JobKind::Erasure("U2".into())
}

async fn begin(fixture: &Fixture, id: &str, kind: JobKind, before: i64) -> (ChannelJob, bool) {
    let (channel, by) = (ChannelId::from("C1"), UserId::from("U1"));
    let (channel, kind, by) = (&channel, &kind, &by);
    let new = NewChannelJob { id, channel, kind, sent_before: at(before), by, worker: Some("A") };
    fixture.store.jobs().begin_job(&new, at(100)).await.unwrap()
}

/// Runs a batch by that worker; returns the job after it, `None` when the worker has no claim.
async fn work(
    fixture: &Fixture,
    job: &ChannelJob,
    worker: &str,
    limit: u32,
    now: i64,
) -> Option<ChannelJob> {
    let done = fixture.store.jobs().work_on_job(job, worker, limit, &clock_at(now)).await.unwrap();
    done.map(|done| done.job)
}

async fn secrets(fixture: &Fixture) -> String {
    fixture.value("SELECT COUNT(*) FROM messages WHERE content IS NOT NULL").await
}

async fn an_erasure_of_nothing_is_no_job(fixture: Fixture) {
    group(&fixture, 3).await;
    let (channel, by, store) = (ChannelId::from("C1"), UserId::from("U1"), &fixture.store);
    let queued = async |id: &str, user: &str| {
        let kind = JobKind::Erasure(user.into());
        let (channel, kind, by) = (&channel, &kind, &by);
        let new = NewChannelJob { id, channel, kind, sent_before: at(50), by, worker: None };
        store.jobs().begin_needed_job(&new, at(100)).await.unwrap()
    };
    let logged = "SELECT COUNT(*) FROM channel_changes WHERE kind = 'erasure'";
    assert_eq!(queued("j1", "U3").await, None);
    assert_eq!(store.jobs().claim_job("B", WHY, at(101)).await.unwrap(), None);
    assert_eq!(fixture.value(logged).await, "0");
    // What was sent before stays away all the same.
    let late = fixture.keep(&[said_by("U3", "late", 49), said_by("U3", "new", 51)], 102).await;
    assert_eq!(late, [IngestOutcome::Known, IngestOutcome::Changed]);
    let job = queued("j2", "U2").await.unwrap();
    assert_eq!((job.total, job.status), (3, JobStatus::Pending));
    assert_eq!(store.jobs().running_erasure(&channel, &"U2".into()).await.unwrap(), Some(job));
    assert_eq!(store.jobs().running_erasure(&channel, &"U3".into()).await.unwrap(), None);
    let job = store.jobs().claim_job("B", WHY, at(101)).await.unwrap().unwrap();
    assert_eq!(job.id, "j2", "any worker does it at once");
    work(&fixture, &job, "B", 10, 102).await.unwrap();
    assert_eq!(queued("j3", "U2").await, None, "nothing is left");
    assert_eq!(fixture.value(logged).await, "1");
}

async fn a_small_job_is_claimed_by_whoever_begins_it(fixture: Fixture) {
    group(&fixture, 3).await;
    let (job, claimed) = begin(&fixture, "j", erasure(), 50).await;
    assert_eq!((job.total, job.done, job.status, claimed), (3, 0, JobStatus::Pending, true));
    assert!(fixture.store.jobs().claim_job("B", WHY, at(101)).await.unwrap().is_none());
    let job = work(&fixture, &job, "A", 10, 101).await.unwrap();
    assert_eq!((job.done, job.total, job.status), (3, 3, JobStatus::Done));
    assert_eq!((job.freed_bytes, job.finished_at), (3 * 31, Some(at(101))));
    assert_eq!(fixture.counters("C1").await, (0, 0));
    assert_eq!(fixture.used("U1").await, 0);
    let found = fixture.store.jobs().channel_job(&"C1".into(), "j").await.unwrap();
    assert_eq!(found, Some(job));
    assert_eq!(fixture.store.jobs().channel_job(&"C2".into(), "j").await.unwrap(), None);
    assert!(fixture.store.jobs().claim_job("B", WHY, at(CLAIM + 200)).await.unwrap().is_none());
}

async fn a_job_counts_what_was_not_unsent_before(fixture: Fixture) {
    group(&fixture, 3).await;
    fixture.keep(&[unsent("C1", "m0", 30), unsent("C1", "m2", 30)], 31).await;
    let (job, _) = begin(&fixture, "j", erasure(), 50).await;
    let job = work(&fixture, &job, "A", 10, 101).await.unwrap();
    assert_eq!((job.done, job.total, job.status), (1, 1, JobStatus::Done));
    assert_eq!(fixture.value("SELECT COUNT(*) FROM messages WHERE sender_id = 'U2'").await, "0");
}

async fn what_is_to_be_removed_is_barred_from_the_beginning(fixture: Fixture) {
    group(&fixture, 1).await;
    begin(&fixture, "e", erasure(), 50).await;
    begin(&fixture, "d", JobKind::Deletion, 40).await;
    let late =
        [said_by("U2", "late", 45), said_by("U1", "of then", 39), said_by("U1", "of now", 41)];
    let kept = fixture.keep(&late, 101).await;
    assert_eq!(kept, [IngestOutcome::Known, IngestOutcome::Known, IngestOutcome::Changed]);
}

async fn a_large_job_is_for_one_worker_at_a_time(fixture: Fixture) {
    let total = SMALL_JOB + 1;
    group(&fixture, usize::try_from(total).unwrap()).await;
    let (job, claimed) = begin(&fixture, "j", JobKind::Deletion, 50).await;
    assert_eq!((job.total, claimed), (total, false));
    assert_eq!(work(&fixture, &job, "A", 10, 100).await, None, "whoever began it has no claim");
    let job = fixture.store.jobs().claim_job("B", WHY, at(101)).await.unwrap().unwrap();
    assert_eq!(job.status, JobStatus::Running);
    assert!(fixture.store.jobs().claim_job("C", WHY, at(102)).await.unwrap().is_none());
    assert_eq!(work(&fixture, &job, "B", 10, 5_000).await.unwrap().done, 10);
    // Each batch renews the claim; without one it ends.
    assert!(fixture.store.jobs().claim_job("C", WHY, at(CLAIM + 101)).await.unwrap().is_none());
    fixture.store.jobs().claim_job("C", WHY, at(CLAIM + 5_000)).await.unwrap().unwrap();
    assert_eq!(work(&fixture, &job, "B", 10, CLAIM + 5_001).await, None);
    assert_eq!(secrets(&fixture).await, (total - 10).to_string(), "nothing was removed");
    fixture.store.jobs().release_job(&job, "B", at(0)).await.unwrap();
    assert_eq!(work(&fixture, &job, "C", 10, CLAIM + 5_002).await.unwrap().done, 20);
    fixture.store.jobs().release_job(&job, "C", at(30_000)).await.unwrap();
    assert!(fixture.store.jobs().claim_job("B", WHY, at(29_999)).await.unwrap().is_none());
    assert!(fixture.store.jobs().claim_job("B", WHY, at(30_000)).await.unwrap().is_some());
    let job = work(&fixture, &job, "B", 10_000, 30_001).await.unwrap();
    assert_eq!((job.done, job.total, job.status), (total, total, JobStatus::Done));
}

async fn a_claim_is_renewed_by_its_worker_alone(fixture: Fixture) {
    group(&fixture, 3).await;
    let (job, _) = begin(&fixture, "j", erasure(), 50).await;
    let jobs = fixture.store.jobs();
    jobs.renew_job(&job, "A", at(5_000)).await.unwrap();
    jobs.renew_job(&job, "B", at(50_000)).await.unwrap();
    assert_eq!(jobs.claim_job("B", WHY, at(14_999)).await.unwrap(), None);
    assert!(jobs.claim_job("B", WHY, at(15_000)).await.unwrap().is_some());
}

/// A batch may wait for rows of messages that somebody else changes, or be slow.
#[tokio::test]
async fn a_batch_keeps_its_job_however_long_it_takes() {
    let fixture = Fixture::postgres().await;
    group(&fixture, 3).await;
    let (job, _) = begin(&fixture, "j", erasure(), 50).await;
    let mut other = fixture.locked("SELECT 1 FROM messages FOR UPDATE").await;
    let (store, clock) = (fixture.store.clone(), Arc::new(clock_at(101)));
    let (worked_on, hands) = (job.clone(), Arc::clone(&clock));
    let batch =
        tokio::spawn(async move { store.jobs().work_on_job(&worked_on, "A", 2, &*hands).await });
    fixture.until_one_waits().await;
    let late = 100 + CLAIM;
    clock.set(at(late));
    let jobs = fixture.store.jobs();
    assert_eq!(jobs.claim_job("B", WHY, at(late)).await.unwrap(), None);
    // It waits for nothing, and has nothing to do.
    jobs.renew_job(&job, "A", at(late)).await.unwrap();
    other.execute("COMMIT").await.unwrap();
    let job = batch.await.unwrap().unwrap().unwrap().job;
    assert_eq!((job.done, job.status), (2, JobStatus::Running));
    assert_eq!(fixture.value("SELECT interruptions FROM channel_jobs").await, "0");
    // The claim lasts from the end of the batch on.
    assert_eq!(jobs.claim_job("B", WHY, at(late + CLAIM - 2)).await.unwrap(), None);
    assert!(jobs.claim_job("B", WHY, at(late + CLAIM)).await.unwrap().is_some());
}

/// A worker whose batch waits for the channel renews the claim meanwhile.
#[tokio::test]
async fn a_job_that_waits_for_its_channel_is_kept() {
    let fixture = Fixture::postgres().await;
    group(&fixture, 3).await;
    let (job, _) = begin(&fixture, "j", erasure(), 50).await;
    fixture.store.jobs().release_job(&job, "A", at(100)).await.unwrap();
    let mut other = fixture.locked("SELECT 1 FROM channels FOR UPDATE").await;
    let clock = Arc::new(clock_at(100));
    let worker = RemovalWorker::new(fixture.store.clone(), Arc::<ManualClock>::clone(&clock));
    let stop = CancellationToken::new();
    let working = tokio::spawn(worker.run(stop.clone()));
    fixture.until_one_waits().await;
    clock.set(at(5_000));
    until_is("the claim to be renewed", DEADLINE, "15000".to_owned(), async || {
        fixture.value("SELECT claimed_until FROM channel_jobs").await
    })
    .await;
    assert_eq!(fixture.store.jobs().claim_job("B", WHY, at(100 + CLAIM)).await.unwrap(), None);
    other.execute("COMMIT").await.unwrap();
    until("the job to be done", DEADLINE, async || {
        let job = fixture.store.jobs().channel_job(&"C1".into(), "j").await.unwrap().unwrap();
        job.status == JobStatus::Done
    })
    .await;
    stop.cancel();
    working.await.unwrap();
}

async fn many_workers_do_everything_once(fixture: Fixture) {
    group(&fixture, 2_100).await;
    begin(&fixture, "j", erasure(), 50).await;
    let workers = (0..4).map(|worker| {
        let (fixture, name) = (&fixture, format!("W{worker}"));
        async move {
            let mut done = 0;
            let channel = "C1".into();
            let job =
                async || fixture.store.jobs().channel_job(&channel, "j").await.unwrap().unwrap();
            while job().await.status != JobStatus::Done {
                if let Some(job) =
                    fixture.store.jobs().claim_job(&name, WHY, at(200)).await.unwrap()
                {
                    let (jobs, clock) = (fixture.store.jobs(), clock_at(200));
                    let batch = jobs.work_on_job(&job, &name, 100, &clock).await.unwrap();
                    done += batch.map_or(0, |batch| batch.removed.messages.len());
                    fixture.store.jobs().release_job(&job, &name, at(200)).await.unwrap();
                }
            }
            done
        }
    });
    let done: usize = join_all(workers).await.into_iter().sum();
    let job = fixture.store.jobs().channel_job(&"C1".into(), "j").await.unwrap().unwrap();
    assert_eq!((done, job.done, job.total), (2_100, 2_100, 2_100));
    assert_eq!(fixture.counters("C1").await, (0, 0));
    assert_eq!(fixture.used("U1").await, 0);
}

async fn the_same_job_is_begun_once(fixture: Fixture) {
    group(&fixture, 2_500).await;
    let (first, _) = begin(&fixture, "first", erasure(), 50).await;
    fixture.keep(&[said_by("U2", "since", 60)], 61).await;
    let (second, claimed) = begin(&fixture, "second", erasure(), 70).await;
    assert_eq!((second.id.as_str(), second.sent_before, claimed), ("first", at(70), false));
    assert_eq!((first.total, second.total), (2_500, 2_501));
    fixture.store.jobs().claim_job("A", WHY, at(101)).await.unwrap();
    // A worker that had claimed it before erases later messages, too.
    let job = work(&fixture, &first, "A", 5_000, 102).await.unwrap();
    assert_eq!((job.done, job.status), (2_501, JobStatus::Done));
    assert_ne!(begin(&fixture, "third", erasure(), 80).await.0.id, "first", "that one is over");
    let deletions = [("a", 50), ("b", 50), ("c", 51)];
    let mut begun = Vec::new();
    for (id, before) in deletions {
        begun.push(begin(&fixture, id, JobKind::Deletion, before).await.0.id);
    }
    assert_eq!(begun, ["a", "a", "c"]);
}

async fn a_job_that_fails_is_never_given_up(fixture: Fixture) {
    group(&fixture, 2_500).await;
    begin(&fixture, "j", erasure(), 50).await;
    let present =
        async || fixture.store.jobs().channel_job(&"C1".into(), "j").await.unwrap().unwrap();
    let claim = async |now| fixture.store.jobs().claim_job("A", WHY, at(now)).await.unwrap();
    let mut now = 1_000;
    for (failures, minutes) in (1..).zip([0, 1, 5, 15, 30, 30]) {
        let job = claim(now).await.unwrap();
        let next = at(now + 500);
        fixture.store.jobs().put_off_job(&job, "A", "it does not work", next).await.unwrap();
        let told = present().await;
        assert_eq!((told.status, told.finished_at), (JobStatus::Running, None));
        let why = (failures >= 3).then_some("it does not work");
        assert_eq!(told.error.as_deref(), why, "{failures}");
        now += 500 + minutes * 60_000;
        assert_eq!(claim(now - 1).await, None, "after {minutes} minutes");
    }
    // Whoever asks again joins it.
    assert_eq!(begin(&fixture, "again", erasure(), 50).await.0.id, "j");
    let job = claim(now).await.unwrap();
    let job = work(&fixture, &job, "A", 10, now).await.unwrap();
    assert_eq!((job.done, job.error), (10, None), "progress ends the count");
}

async fn a_job_that_ends_its_process_is_tried_later_each_time(fixture: Fixture) {
    group(&fixture, 2_500).await;
    begin(&fixture, "j", erasure(), 50).await;
    let claim = async |worker: &str, now| {
        fixture.store.jobs().claim_job(worker, WHY, at(now)).await.unwrap()
    };
    let mut now = 1_000;
    for (process, minutes) in (1..).zip([0, 1, 5, 15, 30, 30]) {
        let job = claim(&format!("P{process}"), now).await.unwrap();
        // It was interrupted once less than there were processes.
        assert_eq!(job.error.is_some(), process > 3, "{process}");
        now += CLAIM;
        assert_eq!(claim("other", now).await.is_some(), minutes == 0, "{process}");
        if minutes == 0 {
            // A worker that stops releases it, which is no interruption.
            let job = fixture.store.jobs().channel_job(&"C1".into(), "j").await.unwrap().unwrap();
            fixture.store.jobs().release_job(&job, "other", at(now)).await.unwrap();
        }
        now += minutes * 60_000;
        assert!(minutes == 0 || claim("other", now - 1).await.is_none(), "{process}");
    }
    let job = claim("A", now).await.unwrap();
    assert_eq!((job.status, job.error.as_deref()), (JobStatus::Running, Some(WHY)));
    let job = work(&fixture, &job, "A", 10, now).await.unwrap();
    assert_eq!((job.done, job.error), (10, None));
    assert!(claim("other", now + CLAIM).await.is_some(), "the first one after progress");
}

async fn unfinished_jobs_are_counted_with_their_progress(fixture: Fixture) {
    group(&fixture, 2_500).await;
    let figures = async |kind: &str| {
        let all = fixture.store.jobs().job_figures().await.unwrap();
        let of_kind = all.into_iter().find(|figures| figures.kind == kind);
        of_kind.map(|figures| (figures.unfinished, figures.last_progress, figures.troubled))
    };
    assert_eq!((figures("erasure").await, figures("export").await), (None, Some((0, None, 0))));
    begin(&fixture, "j", erasure(), 50).await;
    assert_eq!(figures("erasure").await, Some((1, Some(at(100)), 0)));
    let job = fixture.store.jobs().claim_job("A", WHY, at(200)).await.unwrap().unwrap();
    let job = work(&fixture, &job, "A", 10, 300).await.unwrap();
    assert_eq!(figures("erasure").await, Some((1, Some(at(300)), 0)));
    for _ in 0..3 {
        fixture.store.jobs().put_off_job(&job, "A", "no", at(400)).await.unwrap();
        fixture.store.jobs().claim_job("A", WHY, at(10_000_000)).await.unwrap().unwrap();
    }
    assert_eq!(figures("erasure").await, Some((1, Some(at(300)), 1)));
    work(&fixture, &job, "A", 5_000, 500).await.unwrap();
    assert_eq!(figures("erasure").await, None);
}

async fn finished_jobs_are_purged(fixture: Fixture) {
    group(&fixture, 1).await;
    let (job, _) = begin(&fixture, "done", erasure(), 50).await;
    work(&fixture, &job, "A", 10, 500).await.unwrap();
    begin(&fixture, "open", JobKind::Deletion, 50).await;
    assert_eq!(fixture.store.jobs().purge_jobs(at(500)).await.unwrap(), 0);
    assert_eq!(fixture.store.jobs().purge_jobs(at(501)).await.unwrap(), 1);
    assert!(fixture.store.jobs().channel_job(&"C1".into(), "open").await.unwrap().is_some());
}
