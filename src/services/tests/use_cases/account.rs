//! Accounts of callers: their usage, what of it each credential is shown, and their notices.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::plan::Plan;
use chatkeep_core::role::Scope;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{bounded, establish, leave, only, parts, with_scopes};
use crate::access::{Scoped, WriteBackup};
use crate::account::{AccountService, ChannelShare};
use crate::operator::Operator;
use crate::{Caller, ServiceError};

fn accounts(group: &Group) -> AccountService {
    let (store, clock) = parts(group);
    AccountService::new(store, clock)
}

/// Returns a group whose owner has two other channels: of `C1` less is stored than when they
/// subscribed, of `C2` 200 bytes more, of `C3` 900.
async fn with_usage() -> Group {
    let group = Group::new().await;
    establish(&group, "C2", &[OWNER]).await;
    establish(&group, "C3", &[OWNER, OTHER]).await;
    group.sql("UPDATE channels SET bytes = 10 WHERE channel_id = 'C1'").await;
    group.sql("UPDATE subscriptions SET bytes_at_subscribe = 500 WHERE channel_id = 'C1'").await;
    group.sql("UPDATE channels SET bytes = 300 WHERE channel_id = 'C2'").await;
    group.sql("UPDATE subscriptions SET bytes_at_subscribe = 100 WHERE channel_id = 'C2'").await;
    group.sql("UPDATE channels SET bytes = 900 WHERE channel_id = 'C3'").await;
    group
}

#[tokio::test]
async fn every_credential_is_told_the_usage_of_the_user_and_its_own_channels() {
    let group = with_usage().await;
    let accounts = accounts(&group);
    let (one, two): (&[&str], &[&str]) = (&["C2"], &["C1", "C3", "C9"]);
    for (bounds, channels) in [
        (Bounds::full(), vec![GROUP, "C2", "C3"]),
        (only(one), vec!["C2"]),
        (only(two), vec![GROUP, "C3"]),
        (only(&[]), vec![]),
        // It needs no scope.
        (with_scopes(&[]), vec![GROUP, "C2", "C3"]),
    ] {
        let usage = accounts.usage(&bounded(OWNER, bounds)).await.unwrap();
        // A channel that lost bytes makes no room for another one.
        assert_eq!((usage.total.used, usage.total.quota), (1_100, Plan::Free.quota()));
        let listed: Vec<_> = usage.channels.iter().map(|one| one.channel.as_str()).collect();
        assert_eq!((listed, usage.at), (channels, group.clock.now()));
    }
}

#[tokio::test]
async fn the_largest_share_comes_first_and_one_of_a_channel_that_was_left_has_no_name() {
    let group = with_usage().await;
    let shares = async |caller: &Caller| {
        let (_, shares) = accounts(&group).shares(caller).await.unwrap();
        let share = |share: &ChannelShare| {
            let usage = share.usage.channel.as_str().to_owned();
            (usage, share.channel.is_some(), share.counted())
        };
        shares.iter().map(share).collect::<Vec<_>>()
    };
    let share = |id: &str, is_seen: bool, counted: i64| (id.to_owned(), is_seen, counted);
    let (first, second) = (share("C2", true, 200), share(GROUP, true, 0));
    let all = [share("C3", true, 900), first.clone(), second.clone()];
    assert_eq!(shares(&caller(OWNER)).await, all);
    leave(&group, "C3", OWNER).await;
    let left = [share("C3", false, 900), first.clone(), second];
    assert_eq!(shares(&caller(OWNER)).await, left, "it counts until they cancel it");
    assert_eq!(shares(&bounded(OWNER, only(&["C2"]))).await, [first]);
}

#[tokio::test]
async fn the_history_of_usage_is_for_credentials_of_all_channels() {
    let group = Group::new().await;
    group.sql("DELETE FROM usage_days").await;
    group.sql("INSERT INTO usage_days (user_id, day, bytes) VALUES ('U1', 0, 5)").await;
    let months = async |caller: &Caller, months: u32| {
        accounts(&group).usage_by_month(caller, months).await.unwrap().len()
    };
    assert_eq!(months(&caller(OWNER), 1).await, 1);
    // Of the months before the first one nothing is known.
    assert_eq!(months(&caller(OWNER), 24).await, 1);
    assert_eq!(months(&caller(OWNER), 0).await, 0);
    assert_eq!(months(&caller(OTHER), 24).await, 0, "somebody else's");
    assert_eq!(months(&bounded(OWNER, only(&[GROUP])), 24).await, 0);
    // More months than a calendar has.
    assert_eq!(months(&caller(OWNER), u32::MAX).await, 0);
}

#[tokio::test]
async fn notices_are_switched_for_the_account_as_a_whole() {
    let group = Group::new().await;
    let accounts = accounts(&group);
    let switch = |caller: Caller| -> Result<Scoped<WriteBackup>, ServiceError> {
        group.access.scoped::<WriteBackup>(caller)
    };
    let wanted = async || accounts.wants_notices(&caller(OWNER)).await;
    assert_eq!(wanted().await, Ok(true));
    let own = switch(caller(OWNER)).unwrap();
    accounts.set_notices(&own, false).await.unwrap();
    assert_eq!(wanted().await, Ok(false));
    assert_eq!(accounts.wants_notices(&caller(OTHER)).await, Ok(true), "somebody else's");
    // The quota is that of all channels.
    let narrow = switch(bounded(OWNER, only(&[GROUP]))).unwrap();
    let denied = Err(ServiceError::PermissionDenied);
    assert_eq!(accounts.set_notices(&narrow, true).await, denied);
    assert_eq!(wanted().await, Ok(false));
    let reader = switch(bounded(OWNER, with_scopes(&[Scope::ReadMessages])));
    assert_eq!(reader.err(), Some(ServiceError::InsufficientPermissions));
}

#[tokio::test]
async fn the_credential_of_somebody_who_is_gone_is_as_one_that_was_deleted() {
    let group = Group::new().await;
    let (accounts, gone) = (accounts(&group), caller("Ugone"));
    let over = Some(ServiceError::InvalidKey);
    assert_eq!(accounts.user(&gone).await.err(), over);
    assert_eq!(accounts.usage(&gone).await.err(), over);
    assert_eq!(accounts.shares(&gone).await.err(), over);
    assert_eq!(accounts.wants_notices(&gone).await.err(), over);
    let access = group.access.scoped::<WriteBackup>(gone).unwrap();
    assert_eq!(accounts.set_notices(&access, true).await.err(), over);
}

#[tokio::test]
async fn registering_somebody_again_changes_only_what_is_given() {
    let group = Group::new().await;
    let (accounts, operator) = (accounts(&group), Operator::at_command_line());
    let user = "Unew".into();
    let known = async || {
        let user = accounts.user(&caller("Unew")).await.unwrap();
        (user.display_name.clone(), user.plan, user.created_at)
    };
    let begin = group.clock.now();
    accounts.register(&operator, &user, Some("林小姐"), Some(Plan::Standard)).await.unwrap();
    let first = (Some("林小姐".to_owned()), Plan::Standard, begin);
    assert_eq!(known().await, first);
    group.hands.advance(Duration::from_secs(1));
    accounts.register(&operator, &user, None, None).await.unwrap();
    assert_eq!(known().await, first);
    accounts.register(&operator, &user, Some("สมชาย"), None).await.unwrap();
    assert_eq!(known().await, (Some("สมชาย".to_owned()), Plan::Standard, begin));
    assert!(accounts.set_plan(&operator, &user, Plan::Pro).await.unwrap());
    assert_eq!(known().await.1, Plan::Pro);
    assert!(!accounts.set_plan(&operator, &"Unobody".into(), Plan::Pro).await.unwrap());

    let mut pages = Vec::new();
    let mut after = None;
    loop {
        let page = accounts.page_of_all(&operator, after.as_ref(), 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        pages.push(page.iter().map(|user| user.id.as_str().to_owned()).collect::<Vec<_>>());
    }
    assert_eq!(pages, [vec![OWNER, OTHER], vec!["Unew"]]);
}
