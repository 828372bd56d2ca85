//! Deletion and erasure: which messages go, who may ask for it, and who sees the jobs.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ChannelJob, JobStatus};
use chatkeep_view::when::When;
use chrono::NaiveDate;
use chrono_tz::Tz;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{
    appoint, arrive, at, bounded, edited, establish, keep, leave, parts, refused_at, said, since,
    time, unsent,
};
use crate::access::{ChannelAccess, Owner, Reaches, WriteBackup};
use crate::deletion::DeletionService;
use crate::messages::MessageService;
use crate::removals::RemovalWorker;
use crate::{Caller, ServiceError};

fn deletion(group: &Group) -> DeletionService {
    let (store, clock) = parts(group);
    let messages = MessageService::new(store.clone(), Tz::UTC);
    let worker = RemovalWorker::new(store.clone(), Arc::clone(&clock));
    DeletionService::new(store, clock, messages, worker)
}

async fn owner(group: &Group) -> ChannelAccess<Owner, WriteBackup> {
    group.access.channel(caller(OWNER), GROUP.into()).await.unwrap()
}

async fn reaches(group: &Group, caller: Caller) -> Reaches<WriteBackup> {
    group.access.reaches(caller, GROUP.into()).await.unwrap()
}

async fn erase(group: &Group, caller: Caller, user: &str) -> Result<ChannelJob, ServiceError> {
    let access = reaches(group, caller).await;
    deletion(group).erase(&access, user.into()).await
}

/// Returns the ids of the stored messages, tombstones included, in the order of their ids.
async fn stored(group: &Group) -> Vec<String> {
    let all = group.store.messages().all_messages(None, 100).await.unwrap();
    all.into_iter().map(|(_, message, _)| message.into_string()).collect()
}

/// Returns the bytes and the number of messages of the group.
async fn counters(group: &Group) -> (i64, i64) {
    let channel = group.store.channels().channel(&GROUP.into()).await.unwrap().unwrap();
    (channel.bytes, channel.message_count)
}

fn when(text: &str) -> When {
    When::parse(text).unwrap()
}

#[tokio::test]
async fn a_day_ends_where_the_clocks_of_the_channel_say_so() {
    for (zone, last, first) in [
        (None, "2026-03-28T23:59:59.999Z", "2026-03-29T00:00:00Z"),
        (Some("Asia/Taipei"), "2026-03-28T15:59:59.999Z", "2026-03-28T16:00:00Z"),
        (Some("Asia/Kathmandu"), "2026-03-28T18:14:59.999Z", "2026-03-28T18:15:00Z"),
        // There the clocks were put forward at midnight: the day begins at one o'clock.
        (Some("Asia/Beirut"), "2026-03-28T21:59:59.999Z", "2026-03-28T22:00:00Z"),
    ] {
        let group = Group::new().await;
        group.hands.set(time("2026-05-01T00:00:00Z"));
        let (channel, by, now) = (GROUP.into(), OWNER.into(), group.clock.now());
        group.store.channels().set_time_zone(&channel, zone, &by, now).await.unwrap();
        let elsewhere = said("C2", "m3", OWNER, time(last), "elsewhere");
        establish(&group, "C2", &[OWNER]).await;
        keep(&group, &[said(GROUP, "m1", OTHER, time(last), "the day before"), elsewhere]).await;
        keep(&group, &[said(GROUP, "m2", OTHER, time(first), "that day")]).await;
        let (access, before) = (owner(&group).await, when("2026-03-29"));
        let estimate = deletion(&group).estimate(&access, before).await.unwrap();
        let deleted = deletion(&group).delete(&access, before).await.unwrap();
        assert_eq!((deleted.status, deleted.done), (JobStatus::Done, 1), "{zone:?}");
        assert_eq!((estimate.messages, estimate.bytes), (deleted.done, deleted.freed_bytes));
        assert_eq!(stored(&group).await, ["m2", "m3"], "{zone:?}");
    }
}

#[tokio::test]
async fn an_estimate_is_what_the_deletion_does() {
    let group = Group::new().await;
    keep(
        &group,
        &[
            said(GROUP, "m1", OTHER, at(1_000), "first"),
            edited(GROUP, "m1", at(1_500), "the first one"),
            said(GROUP, "m2", OTHER, at(2_000), "taken back"),
            unsent(GROUP, "m2", at(2_500)),
            said(GROUP, "m3", OWNER, at(3_000), "third"),
            said(GROUP, "m4", OWNER, at(4_000), "fourth"),
        ],
    )
    .await;
    let before = counters(&group).await;
    let (access, deletion) = (owner(&group).await, deletion(&group));
    let limit = when("1970-01-01T00:00:04Z");
    let estimate = deletion.estimate(&access, limit).await.unwrap();
    assert_eq!(counters(&group).await, before, "nothing is done");
    assert_eq!(estimate.messages, 2, "what was taken back does not count");
    let job = deletion.delete(&access, limit).await.unwrap();
    assert_eq!((job.done, job.freed_bytes), (estimate.messages, estimate.bytes));
    let (bytes, messages) = counters(&group).await;
    assert_eq!((before.0 - bytes, before.1 - messages), (estimate.bytes, 2));
    assert_eq!(stored(&group).await, ["m4"]);
    let again = deletion.estimate(&access, limit).await.unwrap();
    assert_eq!((again.messages, again.bytes), (0, 0));
    // Nothing of that time comes back, whatever comes late.
    keep(&group, &[said(GROUP, "m1", OTHER, at(1_000), "first")]).await;
    keep(&group, &[said(GROUP, "m5", OTHER, at(3_999), "late")]).await;
    keep(&group, &[said(GROUP, "m6", OTHER, at(4_000), "in time")]).await;
    assert_eq!(stored(&group).await, ["m4", "m6"]);
}

#[tokio::test]
async fn a_time_to_come_is_the_present() {
    let group = Group::new().await;
    let now = group.clock.now();
    keep(&group, &[said(GROUP, "m1", OTHER, now.minus(Duration::from_millis(1)), "before")]).await;
    keep(&group, &[said(GROUP, "m2", OTHER, now, "now")]).await;
    let (access, deletion) = (owner(&group).await, deletion(&group));
    let job = deletion.delete(&access, when("9999-12-31T23:59:59Z")).await.unwrap();
    assert_eq!((job.sent_before, job.done), (now, 1));
    keep(&group, &[said(GROUP, "m3", OTHER, now, "at the same moment")]).await;
    assert_eq!(stored(&group).await, ["m2", "m3"]);
    let beyond = When::of_day(NaiveDate::MAX);
    assert_eq!(refused_at(deletion.estimate(&access, beyond).await), "before");
    assert_eq!(refused_at(deletion.delete(&access, beyond).await), "before");
}

#[tokio::test]
async fn who_may_not_read_everything_removes_nothing() {
    let group = Group::new().await;
    keep(&group, &[said(GROUP, "m1", OTHER, at(1_000), "first")]).await;
    let late = |user: &str| bounded(user, since(at(5)));
    let access = group.access.channel::<Owner, WriteBackup>(late(OWNER), GROUP.into());
    let (access, deletion) = (access.await.unwrap(), deletion(&group));
    let limit = when("2026-01-01");
    let lacking = Some(ServiceError::InsufficientPermissions);
    assert_eq!(deletion.estimate(&access, limit).await.err(), lacking);
    assert_eq!(deletion.delete(&access, limit).await.err(), lacking);
    assert_eq!(erase(&group, late(OWNER), OTHER).await.err(), lacking);
    assert_eq!(erase(&group, late(OTHER), OTHER).await.err(), lacking, "not even their own");
    assert_eq!(counters(&group).await.1, 1);
}

#[tokio::test]
async fn people_erase_what_is_theirs_and_the_owner_what_anybody_wrote() {
    let group = Group::new().await;
    arrive(&group, GROUP, &["Uadmin", "Uguest", "Uleft"]).await;
    appoint(&group, "Uadmin", Role::Admin).await;
    appoint(&group, "Uguest", Role::Guest).await;
    leave(&group, GROUP, "Uleft").await;
    let imported = "INSERT INTO imported_senders (channel_id, user_id) VALUES ('C1', 'Uimported')";
    group.sql(imported).await;
    let writers = [OWNER, OTHER, "Uadmin", "Uguest", "Uleft", "Uimported", "Ustranger"];
    for (number, user) in (1..).zip(writers) {
        keep(&group, &[said(GROUP, &format!("m{number}"), user, at(1_000 * number), "x")]).await;
    }
    let denied = Some(ServiceError::PermissionDenied);
    for (by, whose) in [
        (OTHER, OWNER),
        ("Uadmin", OTHER),
        ("Uguest", "Uadmin"),
        ("Uleft", OWNER),
        ("Ustranger", OWNER),
        // Whom the channel does not know has nothing there.
        ("Ustranger", "Ustranger"),
    ] {
        assert_eq!(erase(&group, caller(by), whose).await.err(), denied, "{by} of {whose}");
    }
    assert_eq!(counters(&group).await.1, 7);
    for user in [OTHER, "Uadmin", "Uguest", "Uleft", "Uimported", OWNER] {
        let job = erase(&group, caller(user), user).await.unwrap();
        assert_eq!((job.status, job.done), (JobStatus::Done, 1), "{user}");
    }
    let job = erase(&group, caller(OWNER), "Ustranger").await.unwrap();
    assert_eq!((job.done, job.created_by.as_str()), (1, OWNER));
    let job = erase(&group, caller(OWNER), "Unobody").await.unwrap();
    assert_eq!((job.status, job.done, job.freed_bytes), (JobStatus::Done, 0, 0));
    assert_eq!(counters(&group).await, (0, 0));
    assert_eq!(stored(&group).await.len(), 7, "tombstones stay");
}

#[tokio::test]
async fn a_job_is_seen_by_the_owner_and_by_the_person_whose_messages_it_erases() {
    let group = Group::new().await;
    arrive(&group, GROUP, &["U3"]).await;
    establish(&group, "C2", &[OWNER]).await;
    keep(&group, &[said(GROUP, "m1", OTHER, at(1_000), "x")]).await;
    let erasure = erase(&group, caller(OWNER), OTHER).await.unwrap().id;
    let limit = when("1970-01-01T00:00:02Z");
    let removal = deletion(&group).delete(&owner(&group).await, limit).await.unwrap().id;
    assert_ne!(erasure, removal);
    let seen = async |user: &str, id: &str| {
        let access = reaches(&group, caller(user)).await;
        deletion(&group).job(&access, id).await.map(|job| job.id)
    };
    let (denied, missing) = (Err(ServiceError::PermissionDenied), Err(ServiceError::NotFound));
    for (user, id, expected) in [
        (OWNER, erasure.as_str(), Ok(erasure.clone())),
        (OWNER, removal.as_str(), Ok(removal.clone())),
        (OWNER, "job_none", missing.clone()),
        (OTHER, erasure.as_str(), Ok(erasure.clone())),
        (OTHER, removal.as_str(), denied.clone()),
        // Who may not see one is not told which there are.
        (OTHER, "job_none", denied.clone()),
        ("U3", erasure.as_str(), denied.clone()),
        ("Ustranger", erasure.as_str(), denied),
    ] {
        assert_eq!(seen(user, id).await, expected, "{user} {id}");
    }
    let elsewhere = group.access.reaches::<WriteBackup>(caller(OWNER), "C2".into()).await.unwrap();
    let foreign = deletion(&group).job(&elsewhere, &erasure).await.map(|job| job.id);
    assert_eq!(foreign, missing, "it is of another channel");
    leave(&group, GROUP, OTHER).await;
    assert_eq!(seen(OTHER, &erasure).await, Ok(erasure.clone()), "also after they left");
}

#[tokio::test]
async fn what_is_sent_after_an_erasure_is_kept() {
    let group = Group::new().await;
    let now = group.clock.now();
    let just_before = now.minus(Duration::from_millis(1));
    keep(&group, &[said(GROUP, "m1", OTHER, just_before, "before")]).await;
    keep(&group, &[said(GROUP, "m2", OTHER, now, "at that moment")]).await;
    let job = erase(&group, caller(OTHER), OTHER).await.unwrap();
    assert_eq!((job.done, job.sent_before), (1, now));
    let late: [(&str, Timestamp, i64); 3] =
        [("m3", just_before, 1), ("m4", now, 2), ("m5", now.plus(Duration::from_hours(24)), 3)];
    for (id, sent, count) in late {
        keep(&group, &[said(GROUP, id, OTHER, sent, "late")]).await;
        assert_eq!(counters(&group).await.1, count, "{id}");
    }
}
