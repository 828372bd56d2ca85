//! Consents: single use of codes and refresh tokens, expiry, and complete removal.

use chatkeep_core::role::Scope;
use chatkeep_store::{Grant, NewGrant, OAuthClient, Tokens};

use super::{Fixture, at, on_both};

on_both!(
    a_client_is_known_by_its_id,
    a_code_serves_once_and_ends_the_consent_the_second_time,
    a_refresh_token_may_get_lost_once,
    two_who_use_a_refresh_token_share_one_chain,
    what_does_not_fit_uses_nothing_up,
    an_access_token_works_until_its_end,
    ending_a_consent_ends_all_of_it,
    people_see_and_take_back_their_own,
    a_person_has_a_hundred_consents_at_most,
    what_is_over_goes,
);

const HOUR: i64 = 3_600_000;

async fn consent(fixture: &Fixture, code: &str) {
    let (user, id) = ("U1".into(), format!("grant-{code}"));
    fixture.store.accounts().add_user(&user, None, at(1)).await.unwrap();
    let grant = NewGrant {
        id: &id,
        user: &user,
        client_id: "client",
        client_name: "A client",
        scopes: &[Scope::ReadMessages],
        channels: None,
        resource: "https://chat.example.org/mcp",
        code,
        code_until: at(HOUR),
        redirect_uri: "https://client.example/cb",
        challenge: "challenge",
    };
    fixture.store.oauth().add_grant(&grant, at(1)).await.unwrap();
}

fn tokens(access: &str, refresh: &str) -> Tokens {
    let (access, refresh) = (access.to_owned(), refresh.to_owned());
    Tokens { access: (access, at(HOUR)), refresh: (refresh, at(9 * HOUR)) }
}

/// Exchanges a code for these tokens.
async fn exchange(
    fixture: &Fixture,
    code: &str,
    (access, refresh): (&str, &str),
    time: i64,
) -> Option<Grant> {
    let tokens = tokens(access, refresh);
    fixture.store.oauth().exchange_code(code, |_| true, &tokens, at(time)).await.unwrap()
}

/// Exchanges a refresh token: the next tokens are named after the seed.
async fn refresh(fixture: &Fixture, secret: &str, seed: &str, time: i64) -> Option<String> {
    let make = |seed: &str, _| tokens(&format!("a{seed}"), &format!("r{seed}"));
    let next =
        fixture.store.oauth().refresh_grant(secret, |_| true, seed, make, at(time)).await.unwrap();
    next.map(|(_, tokens)| tokens.refresh.0)
}

async fn works(fixture: &Fixture, access: &str, time: i64) -> bool {
    fixture.store.oauth().access_token(access, at(time)).await.unwrap().is_some()
}

async fn a_client_is_known_by_its_id(fixture: Fixture) {
    let client = OAuthClient {
        id: "ckp_1".to_owned(),
        name: "名前 \"x\"".to_owned(),
        redirect_uris: vec!["https://a.example/cb".to_owned(), "cursor://x".to_owned()],
    };
    fixture.store.oauth().add_oauth_client(&client, at(1)).await.unwrap();
    assert_eq!(fixture.store.oauth().oauth_client("ckp_1").await.unwrap(), Some(client));
    assert_eq!(fixture.store.oauth().oauth_client("ckp_2").await.unwrap(), None);
}

async fn a_code_serves_once_and_ends_the_consent_the_second_time(fixture: Fixture) {
    consent(&fixture, "c1").await;
    assert!(refresh(&fixture, "c1", "x", 2).await.is_none(), "a code is no refresh token");
    assert!(!works(&fixture, "c1", 2).await, "nor an access token");
    let grant = exchange(&fixture, "c1", ("a1", "r1"), 2).await.unwrap();
    assert_eq!((grant.id.as_str(), grant.user.as_str()), ("grant-c1", "U1"));
    assert_eq!(grant.scopes, [Scope::ReadMessages]);
    assert_eq!(grant.redirect_uri.as_deref(), Some("https://client.example/cb"));
    assert_eq!(grant.challenge.as_deref(), Some("challenge"));
    assert!(works(&fixture, "a1", 3).await);
    assert!(exchange(&fixture, "c1", ("a2", "r2"), 3).await.is_none());
    assert!(!works(&fixture, "a1", 3).await, "one of the two was a thief");
    assert!(refresh(&fixture, "r1", "x", 3).await.is_none());
    consent(&fixture, "c2").await;
    assert!(exchange(&fixture, "c2", ("a3", "r3"), HOUR).await.is_none(), "too late");
}

async fn a_refresh_token_may_get_lost_once(fixture: Fixture) {
    consent(&fixture, "c").await;
    exchange(&fixture, "c", ("a1", "r1"), 5).await.unwrap();
    assert_eq!(refresh(&fixture, "r1", "2", 10).await.as_deref(), Some("r2"));
    // The response was lost: it is repeated, and no other tokens are issued.
    assert_eq!(refresh(&fixture, "r1", "3", 20_000).await.as_deref(), Some("r2"));
    assert!(works(&fixture, "a2", 20_001).await && !works(&fixture, "a3", 20_001).await);
    assert_eq!(refresh(&fixture, "r2", "4", 25_000).await.as_deref(), Some("r4"));
    assert!(refresh(&fixture, "r1", "5", 40_000).await.is_none());
    for access in ["a1", "a2", "a4"] {
        assert!(!works(&fixture, access, 40_000).await, "{access}");
    }
}

async fn two_who_use_a_refresh_token_share_one_chain(fixture: Fixture) {
    consent(&fixture, "c").await;
    exchange(&fixture, "c", ("a1", "r1"), 5).await.unwrap();
    for round in 0..3_i64 {
        let token = match round {
            0 => "r1".to_owned(),
            _ => fixture.value("SELECT 'r' || MAX(seed) FROM oauth_secrets").await,
        };
        let seeds: Vec<_> = (0..8).map(|n| format!("{round}_{n}")).collect();
        let uses = seeds.iter().map(|seed| refresh(&fixture, &token, seed, 10 + round));
        let answers = futures_util::future::join_all(uses).await;
        assert!(answers[0].is_some());
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    }
    // The first, and one for each round.
    let kinds = "SELECT COUNT(*) FROM oauth_secrets WHERE kind = 'refresh' AND used_at IS NULL";
    assert_eq!(fixture.value(kinds).await, "1", "one chain lives");
    let all = "SELECT COUNT(*) FROM oauth_secrets WHERE kind = 'refresh'";
    assert_eq!(fixture.value(all).await, "4");
}

async fn what_does_not_fit_uses_nothing_up(fixture: Fixture) {
    consent(&fixture, "c").await;
    let (store, next) = (&fixture.store, tokens("a1", "r1"));
    assert!(store.oauth().exchange_code("c", |_| false, &next, at(2)).await.unwrap().is_none());
    assert!(exchange(&fixture, "c", ("a1", "r1"), 3).await.is_some());
    let make = |_: &str, _| tokens("a2", "r2");
    assert!(
        store.oauth().refresh_grant("r1", |_| false, "s", make, at(4)).await.unwrap().is_none()
    );
    assert_eq!(refresh(&fixture, "r1", "3", 60_000).await.as_deref(), Some("r3"));
}

async fn an_access_token_works_until_its_end(fixture: Fixture) {
    consent(&fixture, "c").await;
    exchange(&fixture, "c", ("a1", "r1"), 2).await.unwrap();
    assert!(works(&fixture, "a1", HOUR - 1).await && !works(&fixture, "a1", HOUR).await);
    assert!(!works(&fixture, "r1", 2).await && !works(&fixture, "a2", 2).await);
}

async fn ending_a_consent_ends_all_of_it(fixture: Fixture) {
    for code in ["c1", "c2"] {
        consent(&fixture, code).await;
        exchange(&fixture, code, (&format!("a{code}"), &format!("r{code}")), 2).await.unwrap();
    }
    assert!(!fixture.store.oauth().end_grant("unknown").await.unwrap());
    assert!(fixture.store.oauth().end_grant("rc1").await.unwrap());
    assert!(!works(&fixture, "ac1", 2).await && works(&fixture, "ac2", 2).await);
    assert!(!fixture.store.oauth().end_grant("ac1").await.unwrap());
}

async fn people_see_and_take_back_their_own(fixture: Fixture) {
    for code in ["c1", "c2"] {
        consent(&fixture, code).await;
        exchange(&fixture, code, (&format!("a{code}"), &format!("r{code}")), 2).await.unwrap();
    }
    let (own, other) = ("U1".into(), "U2".into());
    let seen = fixture.store.oauth().consents(&own).await.unwrap();
    let ids: Vec<_> = seen.iter().map(|consent| consent.id.as_str()).collect();
    assert_eq!((ids, &*seen[0].client_name), (vec!["grant-c1", "grant-c2"], "A client"));
    assert_eq!(seen[0].last_used_at, Some(at(2)), "it last got tokens then");
    assert!(fixture.store.oauth().consents(&other).await.unwrap().is_empty());
    assert!(!fixture.store.oauth().revoke_consent(&other, "grant-c1").await.unwrap());
    assert!(works(&fixture, "ac1", 2).await);
    let known = async |user| fixture.store.oauth().has_consent(user, "grant-c1").await.unwrap();
    assert!(known(&own).await && !known(&other).await);
    assert!(fixture.store.oauth().revoke_consent(&own, "grant-c1").await.unwrap());
    assert!(!works(&fixture, "ac1", 2).await && works(&fixture, "ac2", 2).await);
    assert!(!known(&own).await);
    assert!(!fixture.store.oauth().revoke_consent(&own, "grant-c1").await.unwrap());
    assert_eq!(fixture.store.oauth().consents(&own).await.unwrap().len(), 1);
}

async fn a_person_has_a_hundred_consents_at_most(fixture: Fixture) {
    for n in 0..100 {
        consent(&fixture, &format!("c{n}")).await;
    }
    exchange(&fixture, "c99", ("a", "r"), 5).await.unwrap();
    consent(&fixture, "new").await;
    let user = "U1".into();
    let kept = fixture.store.oauth().consents(&user).await.unwrap();
    assert_eq!(kept.len(), 100);
    let known = async |id| fixture.store.oauth().has_consent(&user, id).await.unwrap();
    assert!(known("grant-c99").await && known("grant-new").await, "one is used, one is new");
    assert!(!known("grant-c98").await, "of the same time, the last one");
    assert!(exchange(&fixture, "c98", ("b", "s"), 5).await.is_none(), "its code went with it");
}

async fn what_is_over_goes(fixture: Fixture) {
    const DAY: i64 = 24 * HOUR;
    let client = |id: &str| OAuthClient {
        id: id.to_owned(),
        name: "x".to_owned(),
        redirect_uris: vec!["https://a.example/cb".to_owned()],
    };
    for id in ["client", "unused"] {
        fixture.store.oauth().add_oauth_client(&client(id), at(1)).await.unwrap();
    }
    for code in ["c1", "c2", "c3"] {
        consent(&fixture, code).await;
    }
    exchange(&fixture, "c3", ("a", "r"), 2).await.unwrap();
    let now = at(2 * HOUR);
    assert!(fixture.store.oauth().purge_grants(2, now).await.unwrap(), "there is more");
    assert!(fixture.store.oauth().purge_grants(2, now).await.unwrap());
    assert!(!fixture.store.oauth().purge_grants(2, now).await.unwrap());
    assert_eq!(fixture.value("SELECT count(*) FROM oauth_grants").await, "1");
    assert_eq!(fixture.value("SELECT count(*) FROM oauth_secrets").await, "1");
    assert!(refresh(&fixture, "r", "2", 2 * HOUR).await.is_some());
    let known = async |id| fixture.store.oauth().oauth_client(id).await.unwrap().is_some();
    fixture.store.oauth().purge_grants(9, at(6 * DAY)).await.unwrap();
    assert!(known("unused").await, "not a week yet");
    fixture.store.oauth().purge_grants(9, at(8 * DAY)).await.unwrap();
    assert!(!known("unused").await);
    assert_eq!(fixture.value("SELECT count(*) FROM oauth_grants").await, "0");
    // No consent any more, and none for long.
    fixture.store.oauth().purge_grants(9, at(89 * DAY)).await.unwrap();
    assert!(known("client").await);
    fixture.store.oauth().purge_grants(9, at(91 * DAY)).await.unwrap();
    assert!(!known("client").await);
}
