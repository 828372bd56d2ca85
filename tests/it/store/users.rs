//! Users and their keys.

use chatkeep_core::plan::Plan;
use chatkeep_core::role::Scope;
use chatkeep_store::NewKey;

use super::{Fixture, at, on_both, unbounded_key};

on_both!(users_are_added_once, keys_are_found_by_secret_only, ready_and_reopen);

async fn users_are_added_once(fixture: Fixture) {
    let (store, id) = (&fixture.store, "U1".into());
    store.accounts().add_user(&id, Some("Ann"), at(1)).await.unwrap();
    store.accounts().add_user(&id, None, at(2)).await.unwrap();
    let user = store.accounts().user(&id).await.unwrap().unwrap();
    assert_eq!((user.display_name.as_deref(), user.created_at), (Some("Ann"), at(1)));
    assert_eq!(user.plan, Plan::Free);
    assert!(store.accounts().set_plan(&id, Plan::Pro, at(3)).await.unwrap());
    assert!(!store.accounts().set_plan(&"U9".into(), Plan::Pro, at(3)).await.unwrap());
    assert_eq!(store.accounts().users(None, 10).await.unwrap()[0].plan, Plan::Pro);
}

async fn keys_are_found_by_secret_only(fixture: Fixture) {
    let (store, id, user) = (&fixture.store, "key_1".into(), "U1".into());
    store.accounts().add_user(&user, None, at(1)).await.unwrap();
    let key = NewKey {
        scopes: &[Scope::ReadMessages],
        expires_at: Some(at(99)),
        ..unbounded_key(&id, "ck_secret_1234", &user)
    };
    store.keys().add_key(&key, at(2)).await.unwrap();
    let found = store.keys().key("ck_secret_1234").await.unwrap().unwrap();
    assert_eq!((found.mask.as_str(), found.expires_at), ("1234", Some(at(99))));
    assert_eq!(found.scopes, [Scope::ReadMessages]);
    assert!(store.keys().key("ck_secret_1235").await.unwrap().is_none());
    let written = async || fixture.value("SELECT last_used_at FROM api_keys").await;
    store.keys().note_key_use(&found, at(70_000));
    assert_eq!(written().await, "", "no request waits for the writer");
    assert_eq!(store.keys().list(&user, None, 9).await.unwrap()[0].last_used_at, Some(at(70_000)));
    store.keys().write_uses().await.unwrap();
    assert_eq!(written().await, "70000");
    // As a reader sees it whose row is from just before the write.
    fixture.run("UPDATE api_keys SET last_used_at = NULL").await;
    let listed = store.keys().list(&user, None, 9).await.unwrap();
    assert_eq!(listed[0].last_used_at, Some(at(70_000)));
    let one = store.keys().key_of(&user, &"key_1".into()).await.unwrap().unwrap();
    assert_eq!(one.last_used_at, Some(at(70_000)));
    let checked = store.keys().key("ck_secret_1234").await.unwrap().unwrap();
    assert_eq!(checked.last_used_at, None, "what is checked goes by its row");
    store.keys().write_uses().await.unwrap();
    assert_eq!(store.keys().list(&user, None, 9).await.unwrap()[0].last_used_at, None);
    fixture.run("UPDATE api_keys SET last_used_at = 70000").await;
    let found = store.keys().key("ck_secret_1234").await.unwrap().unwrap();
    store.keys().note_key_use(&found, at(130_000));
    store.keys().write_uses().await.unwrap();
    assert_eq!(written().await, "70000", "to the minute");
    store.keys().note_key_use(&found, at(140_000));
    fixture.run("UPDATE api_keys SET last_used_at = 150000").await;
    store.keys().write_uses().await.unwrap();
    assert_eq!(written().await, "150000", "another process saw it later");
    assert!(store.keys().drop_key(&"key_1".into(), at(9)).await.unwrap());
    assert!(!store.keys().drop_key(&"key_1".into(), at(9)).await.unwrap());
    assert!(store.keys().key("ck_secret_1234").await.unwrap().is_none());
}

async fn ready_and_reopen(fixture: Fixture) {
    fixture.store.ready().await.unwrap();
    fixture.store.close().await;
    assert!(fixture.store.ready().await.is_err());
}
