//! Exports in the background: parts in order, one worker at a time, nothing outdated.

use chatkeep_core::blob::BlobId;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::MessageChange;
use chatkeep_store::{
    EXPORT_RETENTION, ExportJob, ExportPart, ExportStep, JobKind, JobStatus, NewChannelJob,
    NewExportJob, PartOutcome, WrittenPart,
};

use super::{Fixture, at, change, clock_at, on_both, said, unsent};

on_both!(
    an_export_is_written_part_by_part,
    one_worker_at_a_time_goes_on_where_another_stopped,
    a_change_takes_its_part_out_of_date,
    a_part_that_changes_while_it_is_written_is_not_stored,
    a_removal_takes_parts_out_of_date,
    files_of_exports_are_not_swept_while_they_are_needed,
    an_export_that_cannot_be_written_fails,
    exports_expire,
    the_oldest_exports_make_room,
    a_copy_has_no_exports,
    what_an_export_does_not_have_leaves_it_alone,
    the_number_of_messages_is_counted_anew,
    earlier_texts_that_are_switched_off_leave_exports,
    a_file_that_is_missing_is_written_again,
    an_export_that_is_deleted_gets_no_more_parts,
);

/// Longer than a claim lasts without a part.
pub(super) const CLAIM: i64 = 10_001;
pub(super) const NOW: i64 = 1_000;
/// Reason of an export that ends its process again and again.
pub(super) const WHY: &str = "it ends its process";
/// Time at which a completed export that has changed is written again.
pub(super) const SETTLED: i64 = NOW + 10_000;

pub(super) async fn group(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let messages: Vec<_> =
        (1..=4).map(|n| said("C1", &format!("m{n}"), n * 10, "a secret")).collect();
    fixture.keep(&messages, 50).await;
}

pub(super) async fn begun(fixture: &Fixture, id: &str, now: i64) -> ExportJob {
    begun_by(fixture, "U1", id, now, |_| {}).await
}

/// Begins an export of a person that differs from that of [`begun`] as `change` says.
pub(super) async fn begun_by(
    fixture: &Fixture,
    by: &str,
    id: &str,
    now: i64,
    change: impl FnOnce(&mut NewExportJob<'_>),
) -> ExportJob {
    let (channel, by) = (ChannelId::from("C1"), UserId::from(by));
    let mut new = NewExportJob {
        id,
        channel: &channel,
        by: &by,
        format: "jsonl",
        from: None,
        before: at(now),
        not_before: None,
        time_zone: "Asia/Taipei",
        language: "en",
        total: 4,
    };
    change(&mut new);
    fixture.store.exports().begin_export(&new, at(now)).await.unwrap()
}

pub(super) async fn claimed(fixture: &Fixture, worker: &str, now: i64) -> Option<ExportJob> {
    applied(fixture).await;
    fixture.store.exports().claim_export(worker, WHY, at(now)).await.unwrap()
}

/// Applies all changes, as a worker does before it claims an export.
pub(super) async fn applied(fixture: &Fixture) {
    while fixture.store.exports().apply_export_changes(at(NOW)).await.unwrap() {}
}

pub(super) async fn step(fixture: &Fixture, export: &ExportJob, worker: &str) -> ExportStep {
    fixture.store.exports().next_export_part(export, worker, at(NOW)).await.unwrap()
}

pub(super) async fn part(fixture: &Fixture, export: &ExportJob, worker: &str) -> ExportPart {
    match step(fixture, export, worker).await {
        ExportStep::Part(part) => part,
        other => panic!("no part: {other:?}"),
    }
}

pub(super) fn blob(letter: char) -> BlobId {
    BlobId::parse(&letter.to_string().repeat(64)).unwrap()
}

/// Stores a part of two messages whose last one is that.
pub(super) async fn stored(
    fixture: &Fixture,
    export: &ExportJob,
    (worker, part, letter): (&str, &ExportPart, char),
    (last, is_last): (i64, bool),
) -> PartOutcome {
    let claim = fixture.store.media().claim_blob(blob(letter), at(NOW)).await.unwrap();
    let last = (at(last * 10), format!("m{last}").into());
    let written = WrittenPart { claim: &claim, bytes: 7, messages: 2, last: Some(&last), is_last };
    let exports = fixture.store.exports();
    exports.store_export_part(export, worker, part, &written, at(NOW)).await.unwrap()
}

/// Completes an export of two parts, with the files `a` and `b`.
pub(super) async fn completed(fixture: &Fixture, id: &str) -> ExportJob {
    begun(fixture, id, NOW).await;
    let mut export = claimed(fixture, "A", NOW).await.unwrap();
    for (letter, last) in [('a', 2), ('b', 4)] {
        let part = part(fixture, &export, "A").await;
        let outcome = stored(fixture, &export, ("A", &part, letter), (last, last == 4)).await;
        let PartOutcome::Stored(next) = outcome else { panic!("{outcome:?}") };
        export = *next;
    }
    match step(fixture, &export, "A").await {
        ExportStep::Completed(export) => *export,
        other => panic!("not completed: {other:?}"),
    }
}

pub(super) async fn present(fixture: &Fixture, id: &str) -> ExportJob {
    fixture.store.exports().export(&"C1".into(), id).await.unwrap().unwrap()
}

pub(super) async fn files(fixture: &Fixture, id: &str) -> Option<Vec<BlobId>> {
    let files = fixture.store.exports().export_files(id).await.unwrap();
    files.map(|files| files.into_iter().map(|file| file.blob).collect())
}

/// Returns the blobs that a sweep would delete, at a time when every claim is old.
pub(super) async fn orphans(fixture: &Fixture) -> Vec<BlobId> {
    applied(fixture).await;
    let sweep = fixture.store.media().begin_orphan_sweep(at(1_000_000_000), 100).await.unwrap();
    let mut blobs = sweep.blobs().to_vec();
    sweep.finish(&blobs, &[]).await.unwrap();
    blobs.sort();
    blobs
}

pub(super) fn edited(message: &str, time: i64) -> chatkeep_store::ChannelChange {
    let content = r#"{"type":"text","text":"another"}"#.to_owned();
    change("C1", message, MessageChange::Edited { at: at(time), by: None, content })
}

async fn an_export_is_written_part_by_part(fixture: Fixture) {
    group(&fixture).await;
    let new = begun(&fixture, "exp_1", NOW).await;
    assert_eq!((new.status, new.done, new.total), (JobStatus::Pending, 0, 4));
    assert_eq!(files(&fixture, "exp_1").await, None);
    let export = claimed(&fixture, "A", NOW).await.unwrap();
    let first = part(&fixture, &export, "A").await;
    assert_eq!((first.number, &first.after, first.messages_before), (0, &None, 0));
    let outcome = stored(&fixture, &export, ("A", &first, 'a'), (2, false)).await;
    let PartOutcome::Stored(export) = outcome else { panic!("{outcome:?}") };
    assert_eq!((export.status, export.done, export.bytes), (JobStatus::Running, 2, 7));
    let second = part(&fixture, &export, "A").await;
    assert_eq!((second.number, second.messages_before), (1, 2));
    assert_eq!(second.after, Some((at(20), "m2".into())));
    assert_eq!(files(&fixture, "exp_1").await, None, "not yet");
    stored(&fixture, &export, ("A", &second, 'b'), (4, true)).await;
    let ExportStep::Completed(export) = step(&fixture, &export, "A").await else { panic!() };
    assert_eq!((export.status, export.done, export.total), (JobStatus::Done, 4, 4));
    assert_eq!(export.finished_at, Some(at(NOW)));
    assert_eq!(export.expires_at, Some(at(NOW).plus(EXPORT_RETENTION)));
    assert_eq!(files(&fixture, "exp_1").await, Some(vec![blob('a'), blob('b')]));
    assert_eq!(claimed(&fixture, "B", NOW + CLAIM).await, None, "it is over");
    let own = fixture.store.exports().exports_of(&"C1".into(), &"U1".into()).await.unwrap();
    assert_eq!(own, [*export]);
    assert!(
        fixture.store.exports().exports_of(&"C1".into(), &"U2".into()).await.unwrap().is_empty()
    );
}

async fn one_worker_at_a_time_goes_on_where_another_stopped(fixture: Fixture) {
    group(&fixture).await;
    begun(&fixture, "exp_1", NOW).await;
    let export = claimed(&fixture, "A", NOW).await.unwrap();
    assert_eq!(claimed(&fixture, "B", NOW).await, None);
    let first = part(&fixture, &export, "A").await;
    stored(&fixture, &export, ("A", &first, 'a'), (2, false)).await;
    let second = part(&fixture, &export, "A").await;
    let export = claimed(&fixture, "B", NOW + CLAIM).await.unwrap();
    assert_eq!(export.done, 2, "what is written stays");
    let late = stored(&fixture, &export, ("A", &second, 'c'), (4, true)).await;
    assert_eq!(late, PartOutcome::Lost);
    assert_eq!(step(&fixture, &export, "A").await, ExportStep::Lost);
    let again = part(&fixture, &export, "B").await;
    assert_eq!((again.number, &again.after), (second.number, &second.after));
    assert_eq!(
        stored(&fixture, &export, ("A", &second, 'c'), (4, true)).await,
        PartOutcome::Outdated,
        "another attempt has begun"
    );
    let kept = stored(&fixture, &export, ("B", &again, 'd'), (4, true)).await;
    assert!(matches!(kept, PartOutcome::Stored(_)), "{kept:?}");
    // A worker that stops gives it back at once.
    fixture.store.exports().release_export(&export, "B", at(NOW)).await.unwrap();
    let export = claimed(&fixture, "C", NOW).await.unwrap();
    assert!(matches!(step(&fixture, &export, "C").await, ExportStep::Completed(_)));
}

async fn a_change_takes_its_part_out_of_date(fixture: Fixture) {
    group(&fixture).await;
    completed(&fixture, "exp_1").await;
    fixture.keep(&[said("C1", "m5", 990, "new")], NOW).await;
    assert_eq!(present(&fixture, "exp_1").await.status, JobStatus::Done, "it is as of its request");
    fixture.keep(&[unsent("C1", "m1", 100)], NOW).await;
    let export = present(&fixture, "exp_1").await;
    assert_eq!((export.status, export.finished_at), (JobStatus::Pending, None));
    assert_eq!(files(&fixture, "exp_1").await, None);
    assert_eq!(orphans(&fixture).await, [blob('a')]);
    assert_eq!(claimed(&fixture, "B", NOW + 9_999).await, None, "more changes may come");
    let export = claimed(&fixture, "B", SETTLED).await.unwrap();
    let first = part(&fixture, &export, "B").await;
    assert_eq!((first.number, &first.until), (0, &Some((at(20), "m2".into()))));
    stored(&fixture, &export, ("B", &first, 'c'), (2, false)).await;
    let ExportStep::Completed(done) = step(&fixture, &export, "B").await else { panic!() };
    assert_eq!(done.expires_at, Some(at(NOW).plus(EXPORT_RETENTION)), "it does not last longer");
    // An edit of the last message leaves the first part as it is.
    fixture.keep(&[edited("m4", 200)], NOW).await;
    assert_eq!(orphans(&fixture).await, [blob('b')]);
    let export = claimed(&fixture, "B", SETTLED).await.unwrap();
    let last = part(&fixture, &export, "B").await;
    assert!(last.number == 1 && last.is_last && last.messages_before == 2, "{last:?}");
}

async fn a_part_that_changes_while_it_is_written_is_not_stored(fixture: Fixture) {
    group(&fixture).await;
    begun(&fixture, "exp_1", NOW).await;
    let export = claimed(&fixture, "A", NOW).await.unwrap();
    let first = part(&fixture, &export, "A").await;
    fixture.keep(&[unsent("C1", "m3", 100)], NOW).await;
    let outcome = stored(&fixture, &export, ("A", &first, 'a'), (4, true)).await;
    assert_eq!(outcome, PartOutcome::Outdated);
    assert_eq!(orphans(&fixture).await, [blob('a')]);
    let again = part(&fixture, &export, "A").await;
    assert_eq!((again.number, &again.until), (0, &None));
    let outcome = stored(&fixture, &export, ("A", &again, 'b'), (4, true)).await;
    assert!(matches!(outcome, PartOutcome::Stored(_)), "{outcome:?}");
}

async fn a_removal_takes_parts_out_of_date(fixture: Fixture) {
    group(&fixture).await;
    completed(&fixture, "exp_1").await;
    let (channel, by, kind) = (ChannelId::from("C1"), UserId::from("U1"), JobKind::Deletion);
    let new = NewChannelJob {
        id: "job_1",
        channel: &channel,
        kind: &kind,
        sent_before: at(15),
        by: &by,
        worker: Some("R"),
    };
    let (job, _) = fixture.store.jobs().begin_job(&new, at(NOW)).await.unwrap();
    fixture.store.jobs().work_on_job(&job, "R", 100, &clock_at(NOW)).await.unwrap().unwrap();
    assert_eq!(present(&fixture, "exp_1").await.status, JobStatus::Pending);
    assert_eq!(orphans(&fixture).await, [blob('a')]);
}

pub(super) async fn files_of_exports_are_not_swept_while_they_are_needed(fixture: Fixture) {
    group(&fixture).await;
    let export = completed(&fixture, "exp_1").await;
    assert!(orphans(&fixture).await.is_empty());
    let all = [blob('a'), blob('b')];
    let loose = fixture.store.audits().unreferenced_blobs(&all.clone().into()).await.unwrap();
    assert!(loose.is_empty(), "the doctor knows them: {loose:?}");
    fixture.store.exports().delete_export(&export).await.unwrap();
    assert_eq!(fixture.store.exports().export(&"C1".into(), "exp_1").await.unwrap(), None);
    assert_eq!(orphans(&fixture).await, all);
}

async fn an_export_that_cannot_be_written_fails(fixture: Fixture) {
    group(&fixture).await;
    begun(&fixture, "exp_1", NOW).await;
    for attempt in 1..=3 {
        let export = claimed(&fixture, "A", NOW).await.unwrap();
        let exports = fixture.store.exports();
        exports.fail_export(&export, "A", "broken", (at(NOW), at(NOW))).await.unwrap();
        let export = present(&fixture, "exp_1").await;
        assert_eq!(export.status == JobStatus::Failed, attempt == 3, "{export:?}");
    }
    let export = present(&fixture, "exp_1").await;
    assert_eq!(export.error.as_deref(), Some("broken"));
    assert!(export.expires_at.is_some());
    assert_eq!(claimed(&fixture, "A", NOW).await, None);
}

async fn exports_expire(fixture: Fixture) {
    group(&fixture).await;
    completed(&fixture, "exp_1").await;
    begun(&fixture, "exp_2", NOW).await;
    let purge = async |now| fixture.store.exports().purge_exports(now).await.unwrap();
    let end = at(NOW).plus(EXPORT_RETENTION);
    assert_eq!(purge(end.minus(std::time::Duration::from_millis(1))).await, 0);
    assert_eq!(purge(end).await, 1);
    assert_eq!(orphans(&fixture).await, [blob('a'), blob('b')]);
    assert_eq!(present(&fixture, "exp_2").await.status, JobStatus::Pending);
    // One that is never completed does not stay for ever either.
    assert_eq!(purge(at(NOW + 7 * 86_400_000)).await, 1);
}

async fn the_oldest_exports_make_room(fixture: Fixture) {
    group(&fixture).await;
    completed(&fixture, "exp_0").await;
    for n in 1..=5 {
        begun_at(&fixture, &format!("exp_{n}"), (n, 40), NOW + n).await;
    }
    let own = fixture.store.exports().exports_of(&"C1".into(), &"U1".into()).await.unwrap();
    let ids: Vec<_> = own.iter().map(|export| export.id.as_str()).collect();
    assert_eq!(ids, ["exp_5", "exp_4", "exp_3", "exp_2", "exp_1"]);
    assert_eq!(orphans(&fixture).await, [blob('a'), blob('b')]);
}

async fn a_copy_has_no_exports(fixture: Fixture) {
    group(&fixture).await;
    completed(&fixture, "exp_1").await;
    fixture.store.exports().forget_exports().await.unwrap();
    assert_eq!(fixture.store.exports().export(&"C1".into(), "exp_1").await.unwrap(), None);
    assert_eq!(fixture.value("SELECT COUNT(*) FROM export_parts").await, "0");
    assert_eq!(orphans(&fixture).await, [blob('a'), blob('b')]);
}

/// Begins an export of that time of sending.
async fn begun_of(fixture: &Fixture, id: &str, from: i64, before: i64) {
    begun_at(fixture, id, (from, before), NOW).await;
}

async fn begun_at(fixture: &Fixture, id: &str, (from, before): (i64, i64), now: i64) -> ExportJob {
    let (channel, by) = (ChannelId::from("C1"), UserId::from("U1"));
    let new = NewExportJob {
        id,
        channel: &channel,
        by: &by,
        format: "html",
        from: Some(at(from)),
        before: at(before),
        not_before: None,
        time_zone: "UTC",
        language: "en",
        total: 4,
    };
    fixture.store.exports().begin_export(&new, at(now)).await.unwrap()
}

async fn what_an_export_does_not_have_leaves_it_alone(fixture: Fixture) {
    group(&fixture).await;
    begun_of(&fixture, "exp_1", 20, 40).await;
    let export = claimed(&fixture, "A", NOW).await.unwrap();
    let only = part(&fixture, &export, "A").await;
    assert_eq!(only.after, None);
    // Before it, and after it, while it is written.
    fixture.keep(&[unsent("C1", "m1", 100), edited("m4", 100)], NOW).await;
    let outcome = stored(&fixture, &export, ("A", &only, 'a'), (3, true)).await;
    assert!(matches!(outcome, PartOutcome::Stored(_)), "{outcome:?}");
    assert!(matches!(step(&fixture, &export, "A").await, ExportStep::Completed(_)));
    fixture.keep(&[edited("m1", 200), unsent("C1", "m4", 200)], NOW).await;
    assert_eq!(present(&fixture, "exp_1").await.status, JobStatus::Done);
    fixture.keep(&[unsent("C1", "m2", 300)], NOW).await;
    assert_eq!(present(&fixture, "exp_1").await.status, JobStatus::Pending);
}

async fn the_number_of_messages_is_counted_anew(fixture: Fixture) {
    group(&fixture).await;
    completed(&fixture, "exp_1").await;
    fixture.keep(&[unsent("C1", "m1", 100)], NOW).await;
    let export = claimed(&fixture, "B", SETTLED).await.unwrap();
    let first = part(&fixture, &export, "B").await;
    let claim = fixture.store.media().claim_blob(blob('c'), at(NOW)).await.unwrap();
    let last = (at(20), "m2".into());
    let fewer =
        WrittenPart { claim: &claim, bytes: 7, messages: 1, last: Some(&last), is_last: false };
    let exports = fixture.store.exports();
    let outcome = exports.store_export_part(&export, "B", &first, &fewer, at(NOW)).await.unwrap();
    assert!(matches!(outcome, PartOutcome::Stored(_)), "{outcome:?}");
    let last = part(&fixture, &export, "B").await;
    assert_eq!((last.number, last.messages_before), (1, 1), "the end of the document has it");
}

async fn earlier_texts_that_are_switched_off_leave_exports(fixture: Fixture) {
    group(&fixture).await;
    let set = async |keep| {
        let (channel, by) = (ChannelId::from("C1"), UserId::from("U1"));
        fixture.store.channels().set_earlier_texts(&channel, keep, &by, at(NOW)).await.unwrap();
    };
    set(true).await;
    completed(&fixture, "exp_1").await;
    set(false).await;
    assert_eq!(present(&fixture, "exp_1").await.status, JobStatus::Pending);
    assert_eq!(orphans(&fixture).await, [blob('a'), blob('b')]);
}

async fn a_file_that_is_missing_is_written_again(fixture: Fixture) {
    group(&fixture).await;
    completed(&fixture, "exp_1").await;
    let files = fixture.store.exports().export_files("exp_1").await.unwrap().unwrap();
    let lose = async || {
        fixture.store.exports().lose_export_file("exp_1", &files[0], at(NOW)).await.unwrap();
    };
    lose().await;
    let export = claimed(&fixture, "B", NOW).await.unwrap();
    let first = part(&fixture, &export, "B").await;
    assert_eq!(first.number, 0);
    stored(&fixture, &export, ("B", &first, 'c'), (2, false)).await;
    // Whoever read the list of files before does not lose the new one.
    lose().await;
    assert!(matches!(step(&fixture, &export, "B").await, ExportStep::Completed(_)));
}

async fn an_export_that_is_deleted_gets_no_more_parts(fixture: Fixture) {
    group(&fixture).await;
    begun(&fixture, "exp_1", NOW).await;
    let export = claimed(&fixture, "A", NOW).await.unwrap();
    let first = part(&fixture, &export, "A").await;
    fixture.store.exports().delete_export(&export).await.unwrap();
    let late = stored(&fixture, &export, ("A", &first, 'a'), (2, false)).await;
    assert_eq!(late, PartOutcome::Outdated);
    assert_eq!(step(&fixture, &export, "A").await, ExportStep::Lost);
    assert_eq!(fixture.value("SELECT COUNT(*) FROM export_parts").await, "0");
    assert_eq!(orphans(&fixture).await, [blob('a')]);
}
