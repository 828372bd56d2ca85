//! Credentials: which texts are keys, whose they are, and when they count as used.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::UserId;
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::time::Timestamp;

use super::super::{Group, OTHER, OWNER};
use super::{call, key_of, parts};
use crate::credentials::CredentialService;
use crate::{Caller, Credential, ServiceError};

async fn caller_with(group: &Group, secret: &str) -> Result<Caller, ServiceError> {
    let (store, clock) = parts(group);
    CredentialService::new(store, clock).caller(secret).await
}

async fn last_used(group: &Group, key: &str) -> Option<Timestamp> {
    let key = group.store.keys().key_of(&OWNER.into(), &key.into()).await;
    key.unwrap().unwrap().last_used_at
}

#[tokio::test]
async fn only_a_key_to_the_letter_is_one() {
    let group = Group::new().await;
    key_of(&group, OWNER, "key_1", &Bounds::full()).await;
    let found = caller_with(&group, "ck_key_1").await.unwrap();
    assert_eq!(found.user, UserId::from(OWNER));
    assert_eq!(found.credential, Credential::Key("key_1".into()));
    assert_eq!((found.bounds, found.mask.is_on()), (Bounds::full(), false));
    let long = format!("ck_{}", "a".repeat(1_000_000));
    for wrong in [
        "",
        "ck_",
        "key_1",
        "CK_KEY_1",
        "ck_KEY_1",
        " ck_key_1",
        "ck_key_1 ",
        "ck_key_1\n",
        "ck_key_1\0",
        "ck_key_",
        "ck_key_11",
        "ck_ｋey_1",
        "ck_' OR 1=1 --",
        "cka_",
        "cka_ck_key_1",
        "secret of U1",
        &long,
    ] {
        let refused = caller_with(&group, wrong).await.err();
        assert_eq!(refused, Some(ServiceError::InvalidKey), "{:?}", &wrong[..wrong.len().min(20)]);
    }
}

#[tokio::test]
async fn a_key_counts_as_used_until_its_end_and_not_when_it_is_refused() {
    let group = Group::new().await;
    let begin = group.clock.now();
    let end = begin.plus(Duration::from_mins(10));
    let bounds = Bounds { expires_at: Some(end), ..Bounds::full() };
    key_of(&group, OWNER, "key_1", &bounds).await;
    assert_eq!(last_used(&group, "key_1").await, None);
    assert!(caller_with(&group, "ck_key_1").await.is_ok());
    assert_eq!(last_used(&group, "key_1").await, Some(begin));
    // To the minute.
    group.hands.advance(Duration::from_mins(1));
    assert!(caller_with(&group, "ck_key_1").await.is_ok());
    assert_eq!(last_used(&group, "key_1").await, Some(begin));
    let last = begin.plus(Duration::from_millis(599_999));
    group.hands.set(last);
    assert!(caller_with(&group, "ck_key_1").await.is_ok());
    group.hands.set(end);
    let refused = caller_with(&group, "ck_key_1").await.err();
    assert_eq!(refused, Some(ServiceError::InvalidKey));
    group.hands.advance(Duration::from_hours(1));
    assert!(caller_with(&group, "ck_key_1").await.is_err());
    assert_eq!(last_used(&group, "key_1").await, Some(last));
    group.store.keys().write_uses().await.unwrap();
    assert_eq!(last_used(&group, "key_1").await, Some(last));
}

#[tokio::test]
async fn a_key_with_pseudonyms_sees_them_by_the_names_of_this_moment() {
    let group = Group::new().await;
    let key = PseudonymKey::new([7; 32]);
    let bounds = Bounds { pseudonyms: Some(key.clone()), ..Bounds::full() };
    key_of(&group, OWNER, "key_1", &bounds).await;
    let shown = async |text: &str| {
        let caller = caller_with(&group, "ck_key_1").await.unwrap();
        assert!(caller.mask.is_on() && caller.sees_people().is_err());
        caller.mask.text(text.to_owned())
    };
    let stand_in = key.person(&OTHER.into()).name;
    assert_eq!(shown("Xiomara is here").await, "Xiomara is here", "nobody is called that");
    call(&group, &[(OTHER, "Xiomara")]).await;
    assert_eq!(shown("Xiomara is here").await, format!("{stand_in} is here"));
    call(&group, &[(OTHER, "Yolanda")]).await;
    let text = shown("Yolanda is here").await;
    assert_eq!(text, format!("{stand_in} is here"));
}
