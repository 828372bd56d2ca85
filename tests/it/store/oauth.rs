//! Consents: what serves once serves once, tokens end, and nothing of what is over stays.

use chatkeep_core::role::Scope;
use chatkeep_core::store::{Grant, NewGrant, NewTokens, OAuthClient, Once};

use super::{Fixture, at, on_both};

on_both!(
    a_client_is_known_by_its_id,
    a_code_serves_once_and_ends_the_consent_the_second_time,
    a_refresh_token_may_get_lost_once,
    an_access_token_works_until_its_end,
    ending_a_consent_ends_all_of_it,
    people_see_and_take_back_their_own,
    what_is_over_goes,
);

const HOUR: i64 = 3_600_000;

async fn consent(fixture: &Fixture, code: &str) {
    let (user, id) = ("U1".into(), format!("grant-{code}"));
    fixture.store.add_user(&user, None, at(1)).await.unwrap();
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
    fixture.store.add_grant(&grant, at(1)).await.unwrap();
}

async fn tokens(fixture: &Fixture, grant: &str, access: &str, refresh: &str) {
    let tokens = NewTokens { access: (access, at(HOUR)), refresh: (refresh, at(9 * HOUR)) };
    fixture.store.add_tokens(grant, &tokens).await.unwrap();
}

async fn take(fixture: &Fixture, kind: Once, secret: &str, time: i64) -> Option<Grant> {
    fixture.store.take_grant(kind, secret, at(time)).await.unwrap()
}

async fn works(fixture: &Fixture, access: &str, time: i64) -> bool {
    fixture.store.access_token(access, at(time)).await.unwrap().is_some()
}

async fn a_client_is_known_by_its_id(fixture: Fixture) {
    let client = OAuthClient {
        id: "ckp_1".to_owned(),
        name: "名前 \"x\"".to_owned(),
        redirect_uris: vec!["https://a.example/cb".to_owned(), "cursor://x".to_owned()],
    };
    fixture.store.add_oauth_client(&client, at(1)).await.unwrap();
    assert_eq!(fixture.store.oauth_client("ckp_1").await.unwrap(), Some(client));
    assert_eq!(fixture.store.oauth_client("ckp_2").await.unwrap(), None);
}

async fn a_code_serves_once_and_ends_the_consent_the_second_time(fixture: Fixture) {
    consent(&fixture, "c1").await;
    assert!(take(&fixture, Once::Refresh, "c1", 2).await.is_none(), "a code is no refresh token");
    assert!(!works(&fixture, "c1", 2).await, "nor an access token");
    let grant = take(&fixture, Once::Code, "c1", 2).await.unwrap();
    assert_eq!((grant.id.as_str(), grant.user.as_str()), ("grant-c1", "U1"));
    assert_eq!(grant.scopes, [Scope::ReadMessages]);
    assert_eq!(grant.redirect_uri.as_deref(), Some("https://client.example/cb"));
    assert_eq!(grant.challenge.as_deref(), Some("challenge"));
    tokens(&fixture, "grant-c1", "a1", "r1").await;
    assert!(works(&fixture, "a1", 3).await);
    assert!(take(&fixture, Once::Code, "c1", 3).await.is_none());
    assert!(!works(&fixture, "a1", 3).await, "one of the two was a thief");
    assert!(take(&fixture, Once::Refresh, "r1", 3).await.is_none());
    consent(&fixture, "c2").await;
    assert!(take(&fixture, Once::Code, "c2", HOUR).await.is_none(), "too late");
}

async fn a_refresh_token_may_get_lost_once(fixture: Fixture) {
    consent(&fixture, "c").await;
    tokens(&fixture, "grant-c", "a1", "r1").await;
    assert!(take(&fixture, Once::Refresh, "r1", 10).await.is_some());
    tokens(&fixture, "grant-c", "a2", "r2").await;
    assert!(take(&fixture, Once::Refresh, "r1", 20_000).await.is_some(), "the answer was lost");
    tokens(&fixture, "grant-c", "a3", "r3").await;
    assert!(take(&fixture, Once::Refresh, "r1", 40_000).await.is_none());
    for access in ["a1", "a2", "a3"] {
        assert!(!works(&fixture, access, 40_000).await, "{access}");
    }
}

async fn an_access_token_works_until_its_end(fixture: Fixture) {
    consent(&fixture, "c").await;
    tokens(&fixture, "grant-c", "a1", "r1").await;
    assert!(works(&fixture, "a1", HOUR - 1).await && !works(&fixture, "a1", HOUR).await);
    assert!(!works(&fixture, "r1", 2).await && !works(&fixture, "a2", 2).await);
}

async fn ending_a_consent_ends_all_of_it(fixture: Fixture) {
    for code in ["c1", "c2"] {
        consent(&fixture, code).await;
        tokens(&fixture, &format!("grant-{code}"), &format!("a{code}"), &format!("r{code}")).await;
    }
    assert!(!fixture.store.end_grant("unknown").await.unwrap());
    assert!(fixture.store.end_grant("rc1").await.unwrap());
    assert!(!works(&fixture, "ac1", 2).await && works(&fixture, "ac2", 2).await);
    assert!(!fixture.store.end_grant("ac1").await.unwrap());
}

async fn people_see_and_take_back_their_own(fixture: Fixture) {
    for code in ["c1", "c2"] {
        consent(&fixture, code).await;
        tokens(&fixture, &format!("grant-{code}"), &format!("a{code}"), &format!("r{code}")).await;
    }
    let (own, other) = ("U1".into(), "U2".into());
    let seen = fixture.store.consents(&own).await.unwrap();
    let ids: Vec<_> = seen.iter().map(|consent| consent.id.as_str()).collect();
    assert_eq!((ids, &*seen[0].client_name), (vec!["grant-c1", "grant-c2"], "A client"));
    assert!(fixture.store.consents(&other).await.unwrap().is_empty());
    assert!(!fixture.store.take_back(&other, "grant-c1").await.unwrap());
    assert!(works(&fixture, "ac1", 2).await);
    assert!(fixture.store.take_back(&own, "grant-c1").await.unwrap());
    assert!(!works(&fixture, "ac1", 2).await && works(&fixture, "ac2", 2).await);
    assert!(!fixture.store.take_back(&own, "grant-c1").await.unwrap());
    assert_eq!(fixture.store.consents(&own).await.unwrap().len(), 1);
}

async fn what_is_over_goes(fixture: Fixture) {
    let client = |id: &str| OAuthClient {
        id: id.to_owned(),
        name: "x".to_owned(),
        redirect_uris: vec!["https://a.example/cb".to_owned()],
    };
    for id in ["client", "unused"] {
        fixture.store.add_oauth_client(&client(id), at(1)).await.unwrap();
    }
    for code in ["c1", "c2", "c3"] {
        consent(&fixture, code).await;
    }
    tokens(&fixture, "grant-c3", "a", "r").await;
    let now = at(2 * HOUR);
    assert!(fixture.store.purge_grants(2, now).await.unwrap(), "there is more");
    assert!(fixture.store.purge_grants(2, now).await.unwrap());
    assert!(!fixture.store.purge_grants(2, now).await.unwrap());
    assert_eq!(fixture.value("SELECT count(*) FROM oauth_grants").await, "1");
    assert_eq!(fixture.value("SELECT count(*) FROM oauth_secrets").await, "1");
    assert!(take(&fixture, Once::Refresh, "r", 2 * HOUR).await.is_some());
    assert!(fixture.store.oauth_client("unused").await.unwrap().is_some(), "not a day yet");
    assert!(!fixture.store.purge_grants(2, at(25 * HOUR)).await.unwrap());
    assert!(fixture.store.oauth_client("unused").await.unwrap().is_none());
    assert!(fixture.store.oauth_client("client").await.unwrap().is_some());
}
