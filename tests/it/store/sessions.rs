//! Logins are completed once and in time; sessions live as long as they are used.

use std::time::Duration;

use chatkeep_store::{LOGIN_TIME, NewLogin, NewSession, Session, SignedIn};

use super::{Fixture, at, on_both};

on_both!(
    a_login_is_taken_once,
    a_login_has_ten_minutes,
    signing_in_makes_known_and_refreshes,
    a_session_lives_while_it_is_used,
    sessions_are_listed_and_ended,
    old_rows_go_in_batches,
);

const HOUR: i64 = 3_600_000;
const IDLE: Duration = Duration::from_hours(24);

async fn set_out(fixture: &Fixture, state: &str, time: i64) {
    let login = NewLogin { state, nonce: "n", verifier: "v", return_to: "/x" };
    fixture.store.sessions().add_login(&login, at(time)).await.unwrap();
}

async fn sign_in(fixture: &Fixture, user: &str, secret: &str, time: i64) {
    let (user, id) = (user.into(), format!("id-{secret}").into());
    let person = SignedIn { user: &user, display_name: None, picture_url: None };
    let session = NewSession { id: &id, secret, csrf: "c" };
    fixture.store.sessions().sign_in(&person, &session, at(time)).await.unwrap();
}

async fn session(fixture: &Fixture, secret: &str, time: i64) -> Option<Session> {
    fixture.store.sessions().session(secret, IDLE, at(time)).await.unwrap()
}

async fn a_login_is_taken_once(fixture: Fixture) {
    set_out(&fixture, "s1", 1).await;
    set_out(&fixture, "s2", 1).await;
    assert!(fixture.store.sessions().take_login("s3", at(2)).await.unwrap().is_none());
    let sessions = fixture.store.sessions();
    let tries = (0..8).map(|_| sessions.take_login("s1", at(2)));
    let tries = futures_util::future::join_all(tries).await;
    let taken: Vec<_> = tries.into_iter().filter_map(Result::unwrap).collect();
    assert_eq!(taken.len(), 1);
    let login = &taken[0];
    assert_eq!((&*login.nonce, &*login.verifier, &*login.return_to), ("n", "v", "/x"));
    assert!(fixture.store.sessions().take_login("s2", at(2)).await.unwrap().is_some());
}

async fn a_login_has_ten_minutes(fixture: Fixture) {
    let limit = i64::try_from(LOGIN_TIME.as_millis()).unwrap();
    set_out(&fixture, "quick", 5).await;
    set_out(&fixture, "slow", 5).await;
    assert!(fixture.store.sessions().take_login("quick", at(4 + limit)).await.unwrap().is_some());
    assert!(fixture.store.sessions().take_login("slow", at(5 + limit)).await.unwrap().is_none());
    let late = fixture.store.sessions().take_login("slow", at(6)).await.unwrap();
    assert!(late.is_none(), "a login that came too late is gone");
}

async fn signing_in_makes_known_and_refreshes(fixture: Fixture) {
    let user = "U1".into();
    let cases = [
        ((None, None), (None, None)),
        ((Some("Ann"), Some("https://a")), (Some("Ann"), Some("https://a"))),
        ((None, None), (Some("Ann"), Some("https://a"))),
        ((Some("Anna"), None), (Some("Anna"), None)),
    ];
    for (number, ((display_name, picture_url), expected)) in cases.into_iter().enumerate() {
        let (id, secret) = (format!("id{number}").into(), format!("secret{number}"));
        let person = SignedIn { user: &user, display_name, picture_url };
        let session = NewSession { id: &id, secret: &secret, csrf: "c" };
        let now = 10 + i64::try_from(number).unwrap();
        fixture.store.sessions().sign_in(&person, &session, at(now)).await.unwrap();
        let known = fixture.store.accounts().user(&user).await.unwrap().unwrap();
        assert_eq!((known.display_name.as_deref(), known.picture_url.as_deref()), expected);
        assert_eq!(known.created_at, at(10));
    }
}

async fn a_session_lives_while_it_is_used(fixture: Fixture) {
    sign_in(&fixture, "U1", "s1", 0).await;
    assert!(session(&fixture, "s2", 1).await.is_none());
    let mut found = session(&fixture, "s1", HOUR - 1).await.unwrap();
    assert_eq!((found.id.as_str(), found.user.as_str(), &*found.csrf), ("id-s1", "U1", "c"));
    let shown = format!("{found:?}");
    assert!(!shown.contains("csrf"), "{shown}");

    let written = async || fixture.value("SELECT seen_at FROM sessions").await;
    fixture.store.keys().note_session_use(&mut found, at(HOUR - 1));
    assert_eq!(session(&fixture, "s1", HOUR).await.unwrap().seen_at, at(0), "within the hour");
    fixture.store.keys().note_session_use(&mut found, at(HOUR));
    assert_eq!(found.seen_at, at(HOUR));
    assert_eq!(session(&fixture, "s1", HOUR).await.unwrap().seen_at, at(HOUR));
    assert_eq!(written().await, "0", "no request waits for the writer");
    fixture.store.keys().write_uses().await.unwrap();
    assert_eq!(written().await, HOUR.to_string());
    // As a reader sees it whose row is from just before the write.
    fixture.run("UPDATE sessions SET seen_at = 0").await;
    let list = fixture.store.sessions().list(&"U1".into(), IDLE, at(HOUR)).await.unwrap();
    assert_eq!(list[0].seen_at, at(HOUR));
    assert_eq!(session(&fixture, "s1", HOUR).await.unwrap().seen_at, at(0), "by its row");
    fixture.run(&format!("UPDATE sessions SET seen_at = {HOUR}")).await;
    let mut slower = Session { seen_at: at(0), ..found };
    fixture.store.keys().note_session_use(&mut slower, at(HOUR));
    fixture.store.keys().write_uses().await.unwrap();
    assert_eq!(written().await, HOUR.to_string());

    assert!(session(&fixture, "s1", 25 * HOUR - 1).await.is_some());
    assert!(session(&fixture, "s1", 25 * HOUR).await.is_none());
}

async fn sessions_are_listed_and_ended(fixture: Fixture) {
    for (user, secret, time) in [("U1", "a", 1), ("U1", "b", 2), ("U2", "c", 3), ("U1", "d", HOUR)]
    {
        sign_in(&fixture, user, secret, time).await;
    }
    let (one, two) = ("U1".into(), "U2".into());
    let listed = async |time| -> Vec<String> {
        let sessions = fixture.store.sessions().list(&one, IDLE, at(time)).await.unwrap();
        sessions.into_iter().map(|session| session.id.into_string()).collect()
    };
    assert_eq!(listed(HOUR).await, ["id-a", "id-b", "id-d"]);
    assert_eq!(listed(24 * HOUR + 2).await, ["id-d"], "the others were not used for a day");

    let (a, c) = ("id-a".into(), "id-c".into());
    assert!(!fixture.store.sessions().end_session(&one, &c).await.unwrap(), "somebody else's");
    let known = async |user| fixture.store.sessions().has_session(user, &a).await.unwrap();
    assert!(known(&one).await && !known(&two).await);
    assert!(fixture.store.sessions().end_session(&one, &a).await.unwrap());
    assert!(!known(&one).await);
    assert!(!fixture.store.sessions().end_session(&one, &a).await.unwrap());
    assert!(session(&fixture, "a", HOUR).await.is_none());
    let d = "id-d".into();
    assert_eq!(fixture.store.sessions().end_other_sessions(&one, &d).await.unwrap(), 1);
    assert_eq!(listed(HOUR).await, ["id-d"]);
    assert_eq!(fixture.store.sessions().end_sessions(&one).await.unwrap(), 1);
    assert!(listed(HOUR).await.is_empty());
    assert_eq!(fixture.store.sessions().list(&two, IDLE, at(HOUR)).await.unwrap().len(), 1);
}

async fn old_rows_go_in_batches(fixture: Fixture) {
    for number in 0..5 {
        sign_in(&fixture, "U1", &format!("s{number}"), number).await;
        set_out(&fixture, &format!("l{number}"), number).await;
    }
    let store = &fixture.store;
    let day = 24 * HOUR;
    for (more, left) in [(true, 3), (true, 1), (false, 1)] {
        assert_eq!(store.sessions().purge_sessions(IDLE, 2, at(day + 3)).await.unwrap(), more);
        let young = store.sessions().list(&"U1".into(), IDLE, at(0)).await.unwrap();
        assert_eq!(young.len(), left);
    }
    let limit = i64::try_from(LOGIN_TIME.as_millis()).unwrap();
    assert!(store.sessions().purge_logins(2, at(limit + 3)).await.unwrap());
    assert!(!store.sessions().purge_logins(3, at(limit + 3)).await.unwrap());
    for (number, there) in [(3, false), (4, true)] {
        let login = store.sessions().take_login(&format!("l{number}"), at(5)).await.unwrap();
        assert_eq!(login.is_some(), there);
    }
}
