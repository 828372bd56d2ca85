//! Sessions of browsers: their secrets, their end, and who ends which.

use std::collections::BTreeSet;
use std::time::Duration;

use chatkeep_core::id::SessionId;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{NewLogin, Session, SignedIn};

use super::super::{Group, OTHER, OWNER};
use super::parts;
use crate::ServiceError;
use crate::sessions::SessionService;

const IDLE: Duration = Duration::from_hours(24);

fn sessions(group: &Group) -> SessionService {
    let (store, clock) = parts(group);
    SessionService::new(store, clock, IDLE)
}

/// Signs somebody in; returns the secret and the session.
async fn sign_in(group: &Group, user: &str) -> (String, Session) {
    let (sessions, user) = (sessions(group), user.into());
    let person = SignedIn { user: &user, display_name: None, picture_url: None };
    let secret = sessions.begin(&person).await.unwrap();
    let session = sessions.of_secret(&secret).await.unwrap().unwrap();
    (secret, session)
}

fn ids(sessions: &[Session]) -> Vec<&str> {
    sessions.iter().map(|session| session.id.as_str()).collect()
}

#[tokio::test]
async fn every_browser_has_a_session_whose_secret_is_known_to_it_alone() {
    let group = Group::new().await;
    let (mut secrets, mut tokens, mut names) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for user in [OWNER, OWNER, OTHER] {
        let (secret, session) = sign_in(&group, user).await;
        assert_eq!(session.user.as_str(), user);
        assert_eq!((session.created_at, session.seen_at), (group.clock.now(), group.clock.now()));
        // What pages and lists show opens nothing.
        for shown in [session.id.as_str(), &session.csrf, &secret.to_uppercase(), ""] {
            assert!(sessions(&group).of_secret(shown).await.unwrap().is_none(), "{shown}");
        }
        secrets.insert(secret);
        tokens.insert(session.csrf);
        names.insert(session.id);
    }
    assert_eq!((secrets.len(), tokens.len(), names.len()), (3, 3, 3));
}

#[tokio::test]
async fn a_session_ends_when_it_was_not_used_for_its_time() {
    let group = Group::new().await;
    let (secret, session) = sign_in(&group, OTHER).await;
    let (service, begin) = (sessions(&group), session.created_at);
    assert_eq!(service.expires_at(&session), begin.plus(IDLE));
    group.hands.set(begin.plus(IDLE.saturating_sub(Duration::from_millis(1))));
    let used = service.of_secret(&secret).await.unwrap().unwrap();
    let end = service.expires_at(&used);
    assert_eq!(end, group.clock.now().plus(IDLE), "a use moves it");
    group.store.keys().write_uses().await.unwrap();
    group.hands.set(begin.plus(IDLE));
    assert!(service.of_secret(&secret).await.unwrap().is_some());
    assert!(!service.purge_batch().await.unwrap());
    group.hands.set(end);
    assert!(service.of_secret(&secret).await.unwrap().is_none());
    assert!(service.of_person(&session).await.unwrap().is_empty());
    let person = service.user(&session).await.unwrap().unwrap();
    assert_eq!(person.id, session.user, "the person is still there");
}

#[tokio::test]
async fn the_session_that_was_used_last_is_listed_first() {
    let group = Group::new().await;
    let begin = group.clock.now();
    group.hands.advance(Duration::from_mins(1));
    let (_, first) = sign_in(&group, OWNER).await;
    group.hands.advance(Duration::from_mins(1));
    let (secret, second) = sign_in(&group, OWNER).await;
    group.hands.advance(Duration::from_mins(1));
    let (_, third) = sign_in(&group, OWNER).await;
    let service = sessions(&group);
    let own = super::super::session(OWNER);
    let all = service.of_person(&third).await.unwrap();
    let [first, second, third] = [first, second, third].map(|one| one.id.into_string());
    assert_eq!(ids(&all), [third.as_str(), &second, &first, own.as_str()]);
    // Two hours later the second one is used.
    group.hands.set(begin.plus(Duration::from_hours(2)));
    let used = service.of_secret(&secret).await.unwrap().unwrap();
    let all = service.of_person(&used).await.unwrap();
    assert_eq!(ids(&all), [second.as_str(), &third, &first, own.as_str()]);
    assert_eq!(all[0].seen_at, group.clock.now());
}

#[tokio::test]
async fn people_end_their_own_sessions_alone() {
    let group = Group::new().await;
    let service = sessions(&group);
    let (secret, own) = sign_in(&group, OWNER).await;
    let (other_secret, other) = sign_in(&group, OTHER).await;
    let (_, more) = sign_in(&group, OWNER).await;
    for unknown in [other.id.clone(), SessionId::from("none")] {
        let missing = service.end_one(&own, &unknown).await;
        assert_eq!(missing, Err(ServiceError::NotFound), "{unknown}");
    }
    service.end_one(&own, &more.id).await.unwrap();
    assert_eq!(service.end_one(&own, &more.id).await, Err(ServiceError::NotFound));
    sign_in(&group, OWNER).await;
    // The one of the beginning and the last one.
    assert_eq!(service.end_others(&own).await, Ok(2));
    assert_eq!(service.end_others(&own).await, Ok(0));
    assert_eq!(ids(&service.of_person(&own).await.unwrap()), [own.id.as_str()]);
    service.end(&own).await.unwrap();
    assert!(service.of_secret(&secret).await.unwrap().is_none());
    assert!(service.of_secret(&other_secret).await.unwrap().is_some());
    // It is over already.
    service.end(&own).await.unwrap();
}

#[tokio::test]
async fn a_login_is_taken_once_by_its_own_state() {
    let group = Group::new().await;
    let service = sessions(&group);
    let login = |state| NewLogin { state, nonce: "n", verifier: "v", return_to: "/c/C1?a=é" };
    service.add_login(&login("one")).await.unwrap();
    service.add_login(&login("two")).await.unwrap();
    for wrong in ["", "ONE", "one ", "on", "%"] {
        assert!(service.take_login(wrong).await.unwrap().is_none(), "{wrong}");
    }
    let taken = service.take_login("one").await.unwrap().unwrap();
    assert_eq!(taken.return_to, "/c/C1?a=é");
    assert!(service.take_login("one").await.unwrap().is_none());
    assert!(service.take_login("two").await.unwrap().is_some(), "the other is still there");
}

#[tokio::test]
async fn what_has_ended_is_removed_and_nothing_else() {
    let group = Group::new().await;
    let service = sessions(&group);
    let rows = async || {
        let mut found = 0;
        for user in [OWNER, OTHER] {
            let all = group.store.sessions().list(&user.into(), IDLE, Timestamp::default()).await;
            found += all.unwrap().len();
        }
        found
    };
    group.hands.advance(Duration::from_hours(1));
    let (secret, _) = sign_in(&group, OTHER).await;
    assert!(!service.purge_batch().await.unwrap());
    assert_eq!(rows().await, 3);
    group.hands.advance(IDLE.saturating_sub(Duration::from_hours(1)));
    assert!(!service.purge_batch().await.unwrap());
    assert_eq!(rows().await, 1, "the one that was begun later");
    assert!(service.of_secret(&secret).await.unwrap().is_some());
}
