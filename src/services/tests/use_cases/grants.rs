//! Consents to programs: what a person can grant, how long a code is good, and what ends a token.

use std::collections::BTreeSet;
use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::ChannelId;
use chatkeep_core::role::{Role, Scope};
use chatkeep_core::time::{DAY, Timestamp};
use chatkeep_i18n::Language;
use chatkeep_store::{Grant, OAuthClient, RoleSet, Tokens};

use super::super::{GROUP, Group, OTHER, OWNER};
use super::{arrive, establish, leave, parts};
use crate::credentials::CredentialService;
use crate::grants::{
    GRANTABLE_SCOPES, GrantRequest, GrantService, READING_SCOPES, client_name, nameless_client,
};
use crate::{Caller, Credential, ServiceError};

const RESOURCE: &str = "https://chat.example.org/mcp";

fn grants(group: &Group) -> GrantService {
    let (store, clock) = parts(group);
    GrantService::new(store, clock)
}

fn tokens(name: &str, now: Timestamp) -> Tokens {
    Tokens {
        access: (format!("cka_{name}"), now.plus(Duration::from_hours(1))),
        refresh: (format!("ckr_{name}"), now.plus(30 * DAY)),
    }
}

/// Stores a consent of a person to that program, whose tokens are given for a code.
async fn consent(group: &Group, user: &str, code: &str, channels: Option<&[ChannelId]>) {
    let client = OAuthClient {
        id: "client".to_owned(),
        name: "Helper".to_owned(),
        redirect_uris: vec!["https://client.example/cb".to_owned()],
    };
    let request = GrantRequest {
        client: &client,
        scopes: &READING_SCOPES,
        channels,
        resource: RESOURCE,
        redirect_uri: "https://client.example/cb",
        challenge: "challenge",
    };
    grants(group).add(&user.into(), &request, code).await.unwrap();
}

/// Exchanges a code for tokens of that name.
async fn exchange(group: &Group, code: &str, admit: bool) -> Option<Grant> {
    let tokens = tokens(code, group.clock.now());
    grants(group).exchange_code(code, |_| admit, &tokens).await.unwrap()
}

async fn caller_with(group: &Group, token: &str) -> Result<Caller, ServiceError> {
    let (store, clock) = parts(group);
    CredentialService::new(store, clock).caller(token).await
}

#[tokio::test]
async fn nobody_grants_channels_that_they_may_not_read() {
    let group = Group::new().await;
    for channel in ["C2", "C3", "C4"] {
        establish(&group, channel, &["Uboss", OWNER]).await;
    }
    leave(&group, "C3", OWNER).await;
    let (boss, owner, now) = ("Uboss".into(), OWNER.into(), group.clock.now());
    let members = group.store.members();
    let set = members.set_role(&"C4".into(), &boss, &owner, Role::Guest, now).await;
    assert_eq!(set.unwrap(), RoleSet::Done);
    arrive(&group, "C5", &[OTHER]).await;
    let grants = grants(&group);
    let offered = grants.offered(&owner).await.unwrap();
    let offered: Vec<_> = offered.iter().map(|channel| channel.id.as_str()).collect();
    assert_eq!(offered, [GROUP, "C2"]);
    let grantable = async |chosen: &[&str]| {
        let chosen = chosen.iter().map(|id| ChannelId::from(*id)).collect();
        grants.grantable(&owner, Some(chosen)).await.unwrap()
    };
    let all = ["C5", "C4", "C3", "C2", "C9", GROUP, GROUP];
    assert_eq!(grantable(&all).await, Some(vec![GROUP.into(), "C2".into()]));
    // None of them is not all of them.
    assert_eq!(grantable(&["C3", "C4", "C5", "C9"]).await, Some(vec![]));
    assert_eq!(grantable(&[]).await, Some(vec![]));
    assert_eq!(grants.grantable(&owner, None).await.unwrap(), None);
}

#[test]
fn programs_are_granted_nothing_that_changes_something() {
    assert!(GRANTABLE_SCOPES.iter().all(|scope| scope.name().starts_with("read:")));
    assert!(READING_SCOPES.iter().all(|scope| GRANTABLE_SCOPES.contains(scope)));
    let mut reading = Scope::ALL.into_iter().filter(|scope| scope.name().starts_with("read:"));
    assert!(reading.all(|scope| GRANTABLE_SCOPES.contains(&scope)));
}

#[tokio::test]
async fn a_code_is_good_for_two_minutes_and_once() {
    let group = Group::new().await;
    for code in ["quick", "slow", "refused"] {
        consent(&group, OTHER, code, None).await;
    }
    assert!(exchange(&group, "QUICK", true).await.is_none(), "another code");
    group.hands.advance(Duration::from_millis(119_999));
    let granted = exchange(&group, "quick", true).await.unwrap();
    assert_eq!((granted.user.as_str(), granted.client_id.as_str()), (OTHER, "client"));
    assert_eq!((granted.resource.as_str(), granted.scopes), (RESOURCE, READING_SCOPES.to_vec()));
    assert_eq!(granted.redirect_uri.as_deref(), Some("https://client.example/cb"));
    assert_eq!(granted.challenge.as_deref(), Some("challenge"));
    // Who is not let in has not used it up.
    assert!(exchange(&group, "refused", false).await.is_none());
    assert!(exchange(&group, "refused", true).await.is_some());
    group.hands.advance(Duration::from_millis(1));
    assert!(exchange(&group, "slow", true).await.is_none());
    // One of two who use it has stolen it, so neither keeps anything.
    assert!(caller_with(&group, "cka_quick").await.is_ok());
    assert!(exchange(&group, "quick", true).await.is_none());
    assert_eq!(caller_with(&group, "cka_quick").await.err(), Some(ServiceError::InvalidKey));
    assert!(caller_with(&group, "cka_refused").await.is_ok(), "that of another consent");
}

#[tokio::test]
async fn a_token_reads_what_was_granted_until_its_end() {
    let group = Group::new().await;
    let channels = [GROUP.into()];
    consent(&group, OTHER, "code", Some(&channels)).await;
    let grant = exchange(&group, "code", true).await.unwrap();
    let end = group.clock.now().plus(Duration::from_hours(1));
    let caller = caller_with(&group, "cka_code").await.unwrap();
    assert_eq!(caller.user.as_str(), OTHER);
    let (grant, resource) = (grant.id, RESOURCE.to_owned());
    assert_eq!(caller.credential, Credential::Token { grant, resource });
    let expected = Bounds {
        scopes: READING_SCOPES.to_vec(),
        channels: Some(channels.to_vec()),
        not_before: None,
        expires_at: Some(end),
        pseudonyms: None,
    };
    assert_eq!(caller.bounds, expected);
    // A refresh token opens nothing by itself.
    assert!(caller_with(&group, "ckr_code").await.is_err());
    group.hands.set(end.minus(Duration::from_millis(1)));
    assert!(caller_with(&group, "cka_code").await.is_ok());
    group.hands.set(end);
    assert_eq!(caller_with(&group, "cka_code").await.err(), Some(ServiceError::InvalidKey));
}

#[tokio::test]
async fn a_consent_is_withdrawn_by_its_person_and_ended_by_its_program() {
    let group = Group::new().await;
    let grants = grants(&group);
    for code in ["one", "two"] {
        consent(&group, OTHER, code, None).await;
        exchange(&group, code, true).await.unwrap();
        group.hands.advance(Duration::from_secs(1));
    }
    let listed = async || {
        let consents = grants.consents(&OTHER.into()).await.unwrap();
        consents.into_iter().map(|consent| consent.id).collect::<Vec<_>>()
    };
    assert!(grants.consents(&OWNER.into()).await.unwrap().is_empty(), "somebody else's");
    let ids = listed().await;
    let [two, one] = &ids[..] else { panic!("two, the newest first: {ids:?}") };
    grants.withdraw(&OWNER.into(), one).await.unwrap();
    grants.withdraw(&OTHER.into(), "none").await.unwrap();
    assert_eq!(listed().await.len(), 2);
    grants.withdraw(&OTHER.into(), one).await.unwrap();
    assert_eq!(listed().await, std::slice::from_ref(two));
    assert!(caller_with(&group, "cka_one").await.is_err());
    assert!(caller_with(&group, "cka_two").await.is_ok());
    // A program gives any of its tokens back, and all end.
    grants.end("cka_none").await.unwrap();
    grants.end("ckr_two").await.unwrap();
    assert!(caller_with(&group, "cka_two").await.is_err());
    assert!(listed().await.is_empty());
}

#[tokio::test]
async fn tokens_are_replaced_while_they_are_refreshed() {
    let group = Group::new().await;
    let grants = grants(&group);
    consent(&group, OTHER, "code", None).await;
    exchange(&group, "code", true).await.unwrap();
    group.hands.advance(Duration::from_hours(2));
    let refresh = async |token: &str, admit: bool| {
        let made = grants.refresh(token, |_| admit, "seed", tokens).await.unwrap();
        made.map(|(_, tokens)| tokens.access.0)
    };
    assert_eq!(refresh("ckr_none", true).await, None);
    assert_eq!(refresh("ckr_code", false).await, None);
    assert_eq!(refresh("ckr_code", true).await.as_deref(), Some("cka_seed"));
    assert!(caller_with(&group, "cka_seed").await.is_ok());
    // The answer may have got lost, and is the same then.
    group.hands.advance(Duration::from_secs(30));
    assert_eq!(refresh("ckr_code", true).await.as_deref(), Some("cka_seed"));
    group.hands.advance(Duration::from_millis(1));
    assert_eq!(refresh("ckr_code", true).await, None);
    assert!(caller_with(&group, "cka_seed").await.is_err(), "it was used by two");
}

#[test]
fn a_program_without_a_name_is_told_of_in_the_language_of_the_reader() {
    let names: BTreeSet<_> = Language::ALL
        .into_iter()
        .map(|language| client_name(&nameless_client(), language))
        .collect();
    assert_eq!(names.len(), Language::ALL.len(), "{names:?}");
    for language in Language::ALL {
        for own in ["Helper", "助手", "", "an unnamed app"] {
            assert_eq!(client_name(own, language), own);
        }
    }
}
