//! Permissions: what a credential and a role let in, and what is taken back later.

use std::collections::BTreeSet;
use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::{Role, Scope};

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{appoint, arrive, bounded, key_of, leave, only, with_scopes};
use crate::access::{
    Admin, HasScope as _, ManageKeys, ManageWebhooks, Member, Owner, ReadMedia, ReadMembers,
    ReadMessages, WriteAssistant, WriteBackup, WriteMembers, is_me,
};
use crate::{Caller, Credential, ServiceError};

/// Returns the scopes with which a caller is let in.
fn let_in(group: &Group, caller: &Caller) -> Vec<Scope> {
    let (access, again) = (&group.access, || caller.clone());
    let tried = [
        (ReadMessages::SCOPE, access.scoped::<ReadMessages>(again()).is_ok()),
        (ReadMedia::SCOPE, access.scoped::<ReadMedia>(again()).is_ok()),
        (ReadMembers::SCOPE, access.scoped::<ReadMembers>(again()).is_ok()),
        (WriteAssistant::SCOPE, access.scoped::<WriteAssistant>(again()).is_ok()),
        (WriteMembers::SCOPE, access.scoped::<WriteMembers>(again()).is_ok()),
        (WriteBackup::SCOPE, access.scoped::<WriteBackup>(again()).is_ok()),
        (ManageWebhooks::SCOPE, access.scoped::<ManageWebhooks>(again()).is_ok()),
        (ManageKeys::SCOPE, access.scoped::<ManageKeys>(again()).is_ok()),
    ];
    tried.into_iter().filter(|(_, is_in)| *is_in).map(|(scope, _)| scope).collect()
}

#[tokio::test]
async fn a_credential_lets_in_with_its_own_scopes_until_its_end() {
    let group = Group::new().await;
    for scope in Scope::ALL {
        assert_eq!(let_in(&group, &bounded(OWNER, with_scopes(&[scope]))), [scope]);
    }
    // Whatever is stored: who sees pseudonyms changes nothing.
    let masked = Bounds { pseudonyms: Some(PseudonymKey::new([1; 32])), ..Bounds::full() };
    let reading = Scope::ALL.into_iter().filter(|scope| scope.allows_pseudonyms());
    assert_eq!(let_in(&group, &bounded(OWNER, masked)), reading.collect::<Vec<_>>());

    let end = group.clock.now().plus(Duration::from_millis(1));
    let ending = Bounds { expires_at: Some(end), ..with_scopes(&[Scope::ReadMedia]) };
    let ending = bounded(OWNER, ending);
    assert_eq!(let_in(&group, &ending), [Scope::ReadMedia]);
    group.hands.advance(Duration::from_millis(1));
    let (own, other) = (
        group.access.scoped::<ReadMedia>(ending.clone()).err(),
        group.access.scoped::<ReadMembers>(ending).err(),
    );
    let over = Some(ServiceError::InvalidKey);
    assert_eq!((&own, &other), (&over, &over), "not that it never had the scope");
}

/// Returns the reason for which somebody is not let in as a member, an admin and an owner.
async fn kept_out(group: &Group, caller: &Caller, channel: &str) -> [Option<ServiceError>; 3] {
    let (access, again) = (&group.access, || (caller.clone(), ChannelId::from(channel)));
    let (who, id) = again();
    let member = access.channel::<Member, ReadMembers>(who, id).await.err();
    let (who, id) = again();
    let admin = access.channel::<Admin, ReadMembers>(who, id).await.err();
    let (who, id) = again();
    let owner = access.channel::<Owner, ReadMembers>(who, id).await.err();
    [member, admin, owner]
}

/// Returns a group with an admin, a guest and somebody who left.
async fn with_roles() -> Group {
    let group = Group::new().await;
    arrive(&group, GROUP, &["Uadmin", "Uguest", "Uleft"]).await;
    appoint(&group, "Uadmin", Role::Admin).await;
    appoint(&group, "Uguest", Role::Guest).await;
    leave(&group, GROUP, "Uleft").await;
    group
}

#[tokio::test]
async fn a_role_lets_in_wherever_a_lower_one_does() {
    let group = with_roles().await;
    let denied = || Some(ServiceError::PermissionDenied);
    for (user, expected) in [
        (OWNER, [None, None, None]),
        ("Uadmin", [None, None, denied()]),
        (OTHER, [None, denied(), denied()]),
        ("Uguest", [denied(), denied(), denied()]),
        ("Uleft", [denied(), denied(), denied()]),
        ("Ustranger", [denied(), denied(), denied()]),
    ] {
        assert_eq!(kept_out(&group, &caller(user), GROUP).await, expected, "{user}");
    }
}

#[tokio::test]
async fn a_channel_that_is_not_for_a_credential_answers_like_one_that_does_not_exist() {
    let group = Group::new().await;
    let denied = [const { Some(ServiceError::PermissionDenied) }; 3];
    assert_eq!(kept_out(&group, &caller(OWNER), "Cnone").await, denied);
    let elsewhere = bounded(OWNER, only(&["C2"]));
    for channel in [GROUP, "C2"] {
        assert_eq!(kept_out(&group, &elsewhere, channel).await, denied, "{channel}");
    }
    // What the scopes do not cover is refused before anything is looked up.
    let narrow = bounded(OWNER, with_scopes(&[Scope::ReadMessages]));
    let lacking = [const { Some(ServiceError::InsufficientPermissions) }; 3];
    for channel in [GROUP, "Cnone"] {
        assert_eq!(kept_out(&group, &narrow, channel).await, lacking, "{channel}");
    }
}

#[tokio::test]
async fn who_reaches_a_channel_has_there_the_role_of_whoever_takes_part() {
    let group = with_roles().await;
    let role = async |caller: Caller, channel: &str| {
        let reached = group.access.reaches::<WriteBackup>(caller, channel.into()).await;
        reached.map(|reached| reached.role)
    };
    for (user, expected) in [
        (OWNER, Some(Role::Owner)),
        ("Uadmin", Some(Role::Admin)),
        (OTHER, Some(Role::Member)),
        ("Uguest", None),
        ("Uleft", None),
        ("Ustranger", None),
    ] {
        assert_eq!(role(caller(user), GROUP).await, Ok(expected), "{user}");
    }
    let elsewhere = bounded(OWNER, only(&["C2"]));
    assert_eq!(role(elsewhere, GROUP).await, Err(ServiceError::PermissionDenied));
    let reader = bounded(OWNER, with_scopes(&[Scope::ReadMessages]));
    assert_eq!(role(reader, GROUP).await, Err(ServiceError::InsufficientPermissions));
}

#[tokio::test]
async fn each_kind_of_job_needs_its_own_scope() {
    const BOTH: &[Scope] = &[Scope::WriteBackup, Scope::ReadMessages];
    const REMOVE: &[Scope] = &[Scope::WriteBackup];
    const READ: &[Scope] = &[Scope::ReadMessages];
    const OTHERS: &[Scope] = &[Scope::ReadMembers, Scope::ReadMedia, Scope::ManageKeys];
    let group = with_roles().await;
    let jobs = async |caller: Caller| {
        let access = group.access.jobs(caller, GROUP.into()).await;
        access.map(|jobs| (jobs.removals.is_some(), jobs.exports.is_some()))
    };
    for (user, scopes, expected) in [
        (OTHER, BOTH, Ok((true, true))),
        (OTHER, REMOVE, Ok((true, false))),
        (OTHER, READ, Ok((false, true))),
        // An erasure of one's own messages may be watched from outside, an export may not.
        ("Uleft", BOTH, Ok((true, false))),
        ("Uguest", BOTH, Ok((true, false))),
        ("Uguest", READ, Err(ServiceError::PermissionDenied)),
        ("Ustranger", READ, Err(ServiceError::PermissionDenied)),
        (OWNER, OTHERS, Err(ServiceError::InsufficientPermissions)),
    ] {
        let caller = bounded(user, with_scopes(scopes));
        assert_eq!(jobs(caller).await, expected, "{user} {scopes:?}");
    }
    let elsewhere = bounded(OWNER, only(&["C2"]));
    assert_eq!(jobs(elsewhere).await, Err(ServiceError::PermissionDenied));
    let over = Bounds { expires_at: Some(group.clock.now()), ..Bounds::full() };
    assert_eq!(jobs(bounded(OWNER, over)).await, Err(ServiceError::InvalidKey));
}

#[tokio::test]
async fn a_key_that_is_replaced_serves_until_its_overlap_ends() {
    let group = Group::new().await;
    let caller = key_of(&group, OTHER, "key_1", &Bounds::full()).await;
    let reader = group.access.channel::<Member, ReadMessages>(caller.clone(), GROUP.into());
    let reader = reader.await.unwrap();
    let manager = group.access.scoped::<ManageKeys>(caller).unwrap();
    assert!(group.keys.rotate(&manager, &"key_1".into(), Some(60)).await.is_ok());
    group.hands.advance(Duration::from_millis(59_999));
    assert_eq!(reader.still_granted().await, Ok(()));
    assert_eq!(manager.still_granted().await, Ok(()));
    group.hands.advance(Duration::from_millis(1));
    assert_eq!(reader.still_granted().await, Err(ServiceError::InvalidKey));
    assert_eq!(manager.still_granted().await, Err(ServiceError::InvalidKey));
}

#[tokio::test]
async fn a_key_whose_bounds_are_others_by_now_serves_no_more() {
    for change in [
        "UPDATE api_keys SET scopes = '[\"read:messages\"]'",
        "UPDATE api_keys SET channel_ids = '[\"C1\"]'",
        "UPDATE api_keys SET not_before = 5",
        "UPDATE api_keys SET user_id = 'U1'",
    ] {
        let group = Group::new().await;
        let caller = key_of(&group, OTHER, "key_1", &Bounds::full()).await;
        let reader = group.access.channel::<Member, ReadMessages>(caller, GROUP.into());
        let reader = reader.await.unwrap();
        assert_eq!(reader.still_granted().await, Ok(()), "{change}");
        group.sql(change).await;
        assert_eq!(reader.still_granted().await, Err(ServiceError::InvalidKey), "{change}");
    }
}

#[tokio::test]
async fn a_role_that_is_taken_back_serves_no_more() {
    let group = Group::new().await;
    appoint(&group, OTHER, Role::Admin).await;
    let editor = group.access.channel::<Admin, WriteAssistant>(caller(OTHER), GROUP.into());
    let reader = group.access.channel::<Member, ReadMessages>(caller(OTHER), GROUP.into());
    let (editor, reader) = (editor.await.unwrap(), reader.await.unwrap());
    let denied = Err(ServiceError::PermissionDenied);
    assert_eq!(editor.still_granted().await, Ok(()));
    appoint(&group, OTHER, Role::Member).await;
    assert_eq!(editor.still_granted().await, denied);
    assert_eq!(reader.still_granted().await, Ok(()), "a member may still read");
    appoint(&group, OTHER, Role::Guest).await;
    assert_eq!(reader.still_granted().await, denied);
}

#[test]
fn credentials_of_two_kinds_never_share_a_name() {
    let (grant, resource) = ("one".to_owned(), "https://chat.example.org/mcp".to_owned());
    let all = [
        Credential::Key("one".into()),
        Credential::Session("one".into()),
        Credential::Token { grant, resource },
    ];
    let names: BTreeSet<_> = all.iter().map(Credential::owner).collect();
    assert_eq!(names.len(), all.len(), "{names:?}");
}

#[test]
fn callers_name_themselves_in_any_case_and_nobody_else_so() {
    let ann = caller(OWNER);
    for own in ["me", "ME", "Me"] {
        assert_eq!(ann.person(UserId::from(own)), UserId::from(OWNER), "{own}");
    }
    for other in ["", " me", "me ", "ｍｅ", "mé", "self", OTHER] {
        assert!(!is_me(other), "{other}");
        assert_eq!(ann.person(UserId::from(other)), UserId::from(other));
    }
}
