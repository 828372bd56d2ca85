//! Backup settings of a channel: all of a change is made or nothing, and not by everybody.

use chatkeep_core::role::Role;
use chatkeep_store::{ActivityChange, ActivityFilter, ChangeKind};
use chrono_tz::Tz;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{appoint, at, bounded, parts, refused_at, since};
use crate::access::{Admin, Member, ReadMembers, ReadMessages, WriteBackup};
use crate::channels::{BackupChange, ChannelService, ChannelSettings};
use crate::{Caller, Nullable, ServiceError};

/// Returns the channels of a service whose own zone is Tokyo's.
fn channels(group: &Group) -> ChannelService {
    let (store, clock) = parts(group);
    ChannelService::new(store, clock, Tz::Asia__Tokyo)
}

async fn change(
    group: &Group,
    caller: Caller,
    change: BackupChange,
) -> Result<ChannelSettings, ServiceError> {
    let access = group.access.channel::<Admin, WriteBackup>(caller, GROUP.into()).await?;
    channels(group).change_backup(&access, change).await
}

async fn settings(group: &Group) -> ChannelSettings {
    let access = group.access.channel::<Member, ReadMembers>(caller(OTHER), GROUP.into());
    channels(group).settings(&access.await.unwrap()).await.unwrap()
}

/// Returns the zone, the days and the setting for earlier texts.
fn shown(settings: &ChannelSettings) -> (Option<&str>, Option<i64>, bool) {
    let channel = &settings.channel;
    (channel.time_zone.as_deref(), channel.retention_days, channel.keeps_earlier_texts)
}

/// Returns the logged changes of settings, oldest first.
async fn logged(group: &Group) -> Vec<String> {
    let (log, all) = (group.store.activity_log(), ActivityFilter::default());
    let changes = log.changes(&GROUP.into(), &all, None, 100).await.unwrap();
    let changes = changes.into_iter().rev().filter(|change| {
        [ChangeKind::TimeZone, ChangeKind::Retention, ChangeKind::EarlierTexts]
            .contains(&change.kind)
    });
    let text = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let line = |change: ActivityChange| {
        let (by, kind) = (change.by.user, change.kind.name());
        format!("{by} {kind} {} {}", text(change.before), text(change.after))
    };
    changes.map(line).collect()
}

fn to_zone(name: &str) -> BackupChange {
    let time_zone = Nullable::To(Some(name.to_owned()));
    BackupChange { time_zone, ..BackupChange::default() }
}

/// Returns a change to another zone and to these days.
fn to_days(days: Option<u32>) -> BackupChange {
    BackupChange { retention_days: Nullable::To(days), ..to_zone("Asia/Bangkok") }
}

/// Returns a change to another zone, and of the setting for earlier texts.
fn keeping(keep: bool) -> BackupChange {
    BackupChange { keep_earlier_texts: Some(keep), ..to_zone("Asia/Bangkok") }
}

/// Returns a group with settings and an admin.
async fn with_settings() -> Group {
    let group = Group::new().await;
    appoint(&group, OTHER, Role::Admin).await;
    let all = BackupChange {
        retention_days: Nullable::To(Some(90)),
        keep_earlier_texts: Some(true),
        ..to_zone("Asia/Taipei")
    };
    change(&group, caller(OWNER), all).await.unwrap();
    group
}

#[tokio::test]
async fn of_a_refused_change_nothing_is_made() {
    let group = with_settings().await;
    let before = logged(&group).await;
    let late = || bounded(OWNER, since(at(1)));
    let everything = |days| BackupChange { keep_earlier_texts: Some(false), ..to_days(Some(days)) };
    let denied = Some(ServiceError::PermissionDenied);
    let insufficient = Some(ServiceError::InsufficientPermissions);
    for (caller, refused, error) in [
        (caller(OTHER), everything(91), &denied),
        (caller(OTHER), to_days(Some(1)), &denied),
        (caller(OTHER), to_days(None), &denied),
        (late(), everything(90), &insufficient),
        (late(), to_days(Some(91)), &insufficient),
        (late(), to_days(None), &insufficient),
        (late(), keeping(false), &insufficient),
    ] {
        assert_eq!(&change(&group, caller, refused.clone()).await.err(), error, "{refused:?}");
        assert_eq!(shown(&settings(&group).await), (Some("Asia/Taipei"), Some(90), true));
    }
    let nowhere = |name: &str| BackupChange { keep_earlier_texts: Some(false), ..to_zone(name) };
    for (wrong, place) in [
        (nowhere("Asia/Taipeh"), "/timeZone"),
        (nowhere(""), "/timeZone"),
        (nowhere("+08:00"), "/timeZone"),
        (nowhere("Asia/Taipei "), "/timeZone"),
        (everything(0), "/retentionDays"),
        (everything(36_501), "/retentionDays"),
        (everything(u32::MAX), "/retentionDays"),
    ] {
        assert_eq!(refused_at(change(&group, caller(OWNER), wrong.clone()).await), place);
        assert_eq!(shown(&settings(&group).await), (Some("Asia/Taipei"), Some(90), true));
    }
    assert_eq!(logged(&group).await, before);
}

#[tokio::test]
async fn what_stays_as_it_is_needs_no_permission() {
    let group = with_settings().await;
    // Whoever sends all settings back has changed one of them.
    change(&group, caller(OTHER), to_days(Some(90))).await.unwrap();
    let late = || bounded(OWNER, since(at(1)));
    change(&group, late(), to_days(Some(90))).await.unwrap();
    change(&group, late(), keeping(true)).await.unwrap();
    change(&group, caller(OTHER), keeping(false)).await.unwrap();
    change(&group, late(), keeping(false)).await.unwrap();
    // Nothing is erased by what is kept from now on.
    let kept = change(&group, late(), keeping(true)).await.unwrap();
    assert_eq!(shown(&kept), (Some("Asia/Bangkok"), Some(90), true));
    let expected = [
        "U1 retention - 90",
        "U1 time_zone - Asia/Taipei",
        "U1 earlier_texts false true",
        "U2 time_zone Asia/Taipei Asia/Bangkok",
        "U2 earlier_texts true false",
        "U1 earlier_texts false true",
    ];
    assert_eq!(logged(&group).await, expected);
}

#[tokio::test]
async fn days_of_a_channel_without_a_zone_are_those_of_the_service() {
    let group = Group::new().await;
    assert_eq!(settings(&group).await.zone, Tz::Asia__Tokyo);
    let own = change(&group, caller(OWNER), to_zone("America/New_York")).await.unwrap();
    assert_eq!((own.zone, settings(&group).await.zone), (Tz::America__New_York, own.zone));
    let none = BackupChange { time_zone: Nullable::To(None), ..BackupChange::default() };
    let again = change(&group, caller(OWNER), none).await.unwrap();
    assert_eq!((again.zone, shown(&again)), (Tz::Asia__Tokyo, (None, None, false)));
    // A zone of a later version may be unknown to an earlier one.
    group.sql("UPDATE channels SET time_zone = 'Mars/Olympus_Mons'").await;
    assert_eq!(settings(&group).await.zone, Tz::Asia__Tokyo);
}

#[tokio::test]
async fn a_channel_is_paused_while_all_who_back_it_up_have_used_up_their_quota() {
    let group = Group::new().await;
    let state = async || {
        let access = group.access.channel::<Member, ReadMessages>(caller(OTHER), GROUP.into());
        let backed_up = channels(&group).is_backed_up(&access.await.unwrap()).await.unwrap();
        let settings = settings(&group).await;
        assert_eq!(settings.is_backed_up, backed_up);
        (backed_up, settings.is_paused)
    };
    assert_eq!(state().await, (true, false));
    group.sql("UPDATE users SET used_bytes = 524287999 WHERE user_id = 'U1'").await;
    assert_eq!(state().await, (true, false), "a byte is left");
    group.sql("UPDATE users SET used_bytes = 524288000 WHERE user_id = 'U1'").await;
    assert_eq!(state().await, (true, true));
    let (channel, other, now) = (GROUP.into(), OTHER.into(), group.clock.now());
    group.store.accounts().subscribe(&channel, &other, now).await.unwrap();
    assert_eq!(state().await, (true, false), "the other one's is not");
    for user in [OWNER, OTHER] {
        let user = user.into();
        assert!(group.store.accounts().unsubscribe(&channel, &user, now).await.unwrap());
    }
    assert_eq!(state().await, (false, false), "nobody has it backed up");
}
