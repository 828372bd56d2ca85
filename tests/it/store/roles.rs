//! Roles, and requests to the platform about people.

use std::time::Duration;

use chatkeep_core::role::Role;
use chatkeep_store::{MembershipCheck, PresenceEvidenceKind, RoleSet};
use futures_util::future::join_all;

use super::{Fixture, at, item, on_both};

on_both!(
    owners_and_admins_set_what_they_may,
    people_who_left_set_nothing,
    two_owners_of_one_moment_agree,
    a_person_is_asked_about_once_in_a_while,
    an_owner_who_left_makes_room_for_another,
    one_of_many_becomes_the_owner,
    an_owner_who_comes_back_meanwhile_stays_or_not,
);

async fn set(fixture: &Fixture, by: &str, user: &str, role: Role) -> RoleSet {
    let set = fixture
        .store
        .members()
        .set_role(&"C1".into(), &by.into(), &user.into(), role, at(50))
        .await;
    set.unwrap()
}

async fn role(fixture: &Fixture, user: &str) -> Role {
    fixture.store.members().member(&"C1".into(), &user.into()).await.unwrap().unwrap().role
}

/// U1 owns the channel, U2 is an admin, U3 a member, U4 a guest.
async fn prepared(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2", "U3", "U4"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    assert_eq!(set(fixture, "U1", "U2", Role::Admin).await, RoleSet::Done);
    assert_eq!(set(fixture, "U1", "U4", Role::Guest).await, RoleSet::Done);
}

async fn owners_and_admins_set_what_they_may(fixture: Fixture) {
    prepared(&fixture).await;
    let cases = [
        ("U1", "U3", Role::Owner, RoleSet::Denied),
        ("U1", "U1", Role::Member, RoleSet::Denied),
        ("U1", "U9", Role::Admin, RoleSet::NoMember),
        ("U2", "U9", Role::Admin, RoleSet::NoMember),
        ("U2", "U3", Role::Admin, RoleSet::Denied),
        ("U2", "U3", Role::Guest, RoleSet::Denied),
        ("U2", "U4", Role::Admin, RoleSet::Denied),
        ("U2", "U1", Role::Member, RoleSet::Denied),
        ("U2", "U2", Role::Member, RoleSet::Denied),
        ("U3", "U4", Role::Member, RoleSet::Denied),
        ("U3", "U9", Role::Member, RoleSet::Denied),
        ("U4", "U4", Role::Member, RoleSet::Denied),
        ("U9", "U4", Role::Member, RoleSet::Denied),
    ];
    let roles = async || {
        let mut roles = Vec::new();
        for user in ["U1", "U2", "U3", "U4"] {
            roles.push(role(&fixture, user).await);
        }
        roles
    };
    let before = roles().await;
    assert_eq!(before, [Role::Owner, Role::Admin, Role::Member, Role::Guest]);
    for (by, user, wanted, answer) in cases {
        assert_eq!(set(&fixture, by, user, wanted).await, answer, "{by} {user} {wanted}");
    }
    assert_eq!(roles().await, before, "what was refused changed nothing");
    assert_eq!(set(&fixture, "U2", "U4", Role::Member).await, RoleSet::Done);
    assert_eq!(set(&fixture, "U1", "U2", Role::Member).await, RoleSet::Done);
    assert_eq!(set(&fixture, "U1", "U2", Role::Member).await, RoleSet::Done);
    assert_eq!(roles().await, [Role::Owner, Role::Member, Role::Member, Role::Member]);
    let member = fixture.store.members().member(&"C1".into(), &"U4".into()).await.unwrap().unwrap();
    assert_eq!(member.updated_at, at(50));
}

async fn people_who_left_set_nothing(fixture: Fixture) {
    prepared(&fixture).await;
    let left = item("C1", 60, PresenceEvidenceKind::Left("U1".into()));
    fixture.store.members().record_presence(&[left], at(60)).await.unwrap();
    assert_eq!(set(&fixture, "U1", "U4", Role::Member).await, RoleSet::Denied);
    let left = item("C1", 61, PresenceEvidenceKind::Left("U4".into()));
    fixture.store.members().record_presence(&[left], at(61)).await.unwrap();
    // A former member may still get a role for a return.
    assert_eq!(set(&fixture, "U2", "U4", Role::Member).await, RoleSet::Done);
    let back = item("C1", 70, PresenceEvidenceKind::Joined("U1".into()));
    fixture.store.members().record_presence(&[back], at(70)).await.unwrap();
    assert_eq!(set(&fixture, "U1", "U4", Role::Guest).await, RoleSet::Done);
}

/// An admin raises guests while the owner takes the admin's role away, over and over: whatever the
/// order, nothing hangs, and the admin sets nothing any more without the role.
async fn two_owners_of_one_moment_agree(fixture: Fixture) {
    prepared(&fixture).await;
    for _ in 0..10 {
        assert_eq!(set(&fixture, "U1", "U2", Role::Admin).await, RoleSet::Done);
        assert_eq!(set(&fixture, "U1", "U4", Role::Guest).await, RoleSet::Done);
        let (raised, lowered) = tokio::join!(
            set(&fixture, "U2", "U4", Role::Member),
            set(&fixture, "U1", "U2", Role::Member),
        );
        assert_eq!(lowered, RoleSet::Done);
        let expected = if raised == RoleSet::Done { Role::Member } else { Role::Guest };
        assert_eq!(role(&fixture, "U4").await, expected);
        assert_eq!(set(&fixture, "U2", "U4", Role::Member).await, RoleSet::Denied);
    }
    let (roles, people) = ([Role::Admin, Role::Member, Role::Guest], ["U2", "U3", "U4"]);
    let all = (0..30).map(|n| set(&fixture, "U1", people[n % 3], roles[(n / 3) % 3]));
    assert!(join_all(all).await.iter().all(|done| *done == RoleSet::Done));
}

async fn a_person_is_asked_about_once_in_a_while(fixture: Fixture) {
    const AGAIN: Duration = Duration::from_hours(24);
    const LEASE: i64 = 30_000;
    let day = 86_400_000;
    let store = &fixture.store;
    let check = async |channel: &str, user: &str, now| {
        let claimed = store
            .members()
            .claim_membership_check(&channel.into(), &user.into(), at(now), AGAIN)
            .await;
        claimed.unwrap()
    };
    let claim = async |channel: &str, user: &str, now| {
        let claimed = check(channel, user, now).await == MembershipCheck::Claimed;
        let (channel, user) = (channel.into(), user.into());
        // The platform does not know the person.
        if claimed {
            store.members().settle_membership_check(&channel, &user, at(now)).await.unwrap();
        }
        claimed
    };
    let many = (0..8).map(|_| claim("C1", "U1", 1_000));
    let claimed = join_all(many).await.into_iter().filter(|claimed| *claimed).count();
    assert_eq!(claimed, 1, "of many at once one asks");
    assert!(!claim("C1", "U1", day + 1_000).await, "not yet");
    assert!(claim("C1", "U1", day + 1_001).await, "a day later");
    assert!(!claim("C1", "U1", day + 1_002).await);
    assert!(claim("C1", "U2", 1_000).await && claim("C2", "U1", 1_000).await);
    store.members().release_membership_check(&"C1".into(), &"U1".into()).await.unwrap();
    assert!(!claim("C2", "U1", 1_001).await, "only what was released is free");
    assert!(claim("C1", "U1", day + 1_003).await);
    // Also shortly before it is due again, when a claim of that moment would end.
    for now in [day + 1_004, 2 * day + 1_003 - LEASE, 2 * day + 1_003] {
        assert_eq!(check("C1", "U1", now).await, MembershipCheck::Done, "{now}");
    }
    // Whoever claims it and goes away keeps others from it for a moment alone.
    assert_eq!(check("C3", "U1", 1_000).await, MembershipCheck::Claimed);
    assert_eq!(check("C3", "U1", 1_000 + LEASE).await, MembershipCheck::UnderWay);
    assert_eq!(check("C3", "U1", 1_001 + LEASE).await, MembershipCheck::Claimed);
}

/// Returns all owners of the channel, present or not.
async fn owners(fixture: &Fixture) -> Vec<String> {
    let owners =
        fixture.store.members().list(&"C1".into(), Some(Role::Owner), None, None, 99).await;
    owners.unwrap().into_iter().map(|member| member.user.into_string()).collect()
}

async fn go(fixture: &Fixture, user: &str, time: i64) {
    let left = item("C1", time, PresenceEvidenceKind::Left(user.into()));
    fixture.store.members().record_presence(&[left], at(time)).await.unwrap();
}

async fn an_owner_who_left_makes_room_for_another(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.subscribe("C1", "U3", 51).await;
    assert_eq!(owners(&fixture).await, ["U1"], "there is an owner");
    go(&fixture, "U1", 60).await;
    go(&fixture, "U2", 61).await;
    // A guest takes nothing over.
    fixture.subscribe("C1", "U4", 62).await;
    fixture.subscribe("C1", "U2", 63).await;
    assert_eq!(owners(&fixture).await, ["U1"]);
    // They subscribe already, and do so again.
    fixture.subscribe("C1", "U3", 64).await;
    assert_eq!(owners(&fixture).await, ["U3"]);
    assert_eq!(set(&fixture, "U3", "U4", Role::Member).await, RoleSet::Done);
    let back = item("C1", 70, PresenceEvidenceKind::Joined("U1".into()));
    fixture.store.members().record_presence(&[back], at(70)).await.unwrap();
    assert_eq!(role(&fixture, "U1").await, Role::Member);
    fixture.subscribe("C1", "U1", 71).await;
    assert_eq!(owners(&fixture).await, ["U3"]);
    // Unsubscribing is no leave.
    fixture.store.accounts().unsubscribe(&"C1".into(), &"U3".into(), at(80)).await.unwrap();
    fixture.subscribe("C1", "U4", 81).await;
    assert_eq!(owners(&fixture).await, ["U3"]);
}

async fn one_of_many_becomes_the_owner(fixture: Fixture) {
    let people: Vec<_> = (1..9).map(|n| format!("U{n}")).collect();
    fixture.group("C1", &people.iter().map(String::as_str).collect::<Vec<_>>()).await;
    fixture.subscribe("C1", "U1", 5).await;
    go(&fixture, "U1", 10).await;
    join_all(people[1..].iter().map(|user| fixture.subscribe("C1", user, 20))).await;
    let owners = owners(&fixture).await;
    assert!(owners.len() == 1 && owners[0] != "U1", "{owners:?}");
}

/// The owner comes back during a subscription: there is one owner, who is in the channel.
async fn an_owner_who_comes_back_meanwhile_stays_or_not(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let mut owner = "U1".to_owned();
    for round in 0..10 {
        let time = 100 * (round + 1);
        go(&fixture, &owner, time).await;
        let other = if owner == "U1" { "U2" } else { "U1" };
        let back = [item("C1", time + 1, PresenceEvidenceKind::Joined(owner.as_str().into()))];
        let members = fixture.store.members();
        let (back, ()) = tokio::join!(
            members.record_presence(&back, at(time + 2)),
            fixture.subscribe("C1", other, time + 3),
        );
        back.unwrap();
        let owners = owners(&fixture).await;
        assert_eq!(owners.len(), 1, "{owners:?}");
        owner.clone_from(&owners[0]);
    }
}
