//! Keys: rotation, pages, and what a key may see.

use chatkeep_core::id::{ChannelId, KeyId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_core::store::NewKey;
use chatkeep_core::time::Timestamp;

use super::{Fixture, at, on_both, sighting};

on_both!(
    rotation_keeps_properties_and_ends_the_old_key,
    nobody_touches_another_persons_keys,
    pages_give_every_key_once,
    bound_keys_see_their_channels_only,
);

fn new<'a>(id: &'a KeyId, user: &'a UserId) -> NewKey<'a> {
    NewKey {
        id,
        secret: id.as_str(),
        user,
        name: "mine",
        scopes: &[Scope::ReadMessages, Scope::ManageKeys],
        channels: None,
        not_before: None,
        expires_at: None,
    }
}

async fn rotation_keeps_properties_and_ends_the_old_key(fixture: Fixture) {
    let (store, user) = (&fixture.store, UserId::from("U1"));
    store.add_user(&user, None, at(1)).await.unwrap();
    let (old, next) = (KeyId::from("key_old"), KeyId::from("key_new"));
    let channels = [ChannelId::from("C1")];
    let key = NewKey {
        channels: Some(&channels),
        not_before: Some(at(7)),
        expires_at: Some(at(500)),
        ..new(&old, &user)
    };
    store.add_key(&key, at(10)).await.unwrap();
    let rotate = async |by: &str, old: &KeyId, new: &KeyId, until, now| {
        let pair = (new, new.as_str());
        store.rotate_key(&by.into(), old, pair, at(until), at(now)).await.unwrap()
    };
    let made = rotate("U1", &old, &next, 90, 20).await.unwrap();
    let found = store.key("key_new").await.unwrap().unwrap();
    for key in [made, found] {
        assert_eq!((key.id, key.name.as_str(), key.mask.as_str()), (next.clone(), "mine", "_new"));
        assert_eq!(key.scopes, [Scope::ReadMessages, Scope::ManageKeys]);
        assert_eq!(key.channels.as_deref(), Some(&channels[..]));
        assert_eq!((key.not_before, key.expires_at), (Some(at(7)), Some(at(500))));
        assert_eq!((key.created_at, key.last_used_at), (at(20), None));
    }
    let expires = async |secret: &str| store.key(secret).await.unwrap().unwrap().expires_at;
    assert_eq!(expires("key_old").await, Some(at(90)));
    // The old one never lives longer for being rotated again.
    let third = KeyId::from("key_third");
    assert!(rotate("U1", &old, &third, 300, 30).await.is_some());
    assert_eq!(expires("key_old").await, Some(at(90)));
    let fourth = KeyId::from("key_fourth");
    assert!(rotate("U1", &old, &fourth, 300, 90).await.is_none(), "it has expired");
    assert!(rotate("U1", &"key_none".into(), &fourth, 300, 30).await.is_none());
    assert!(store.key("key_fourth").await.unwrap().is_none());
}

async fn nobody_touches_another_persons_keys(fixture: Fixture) {
    let (store, user) = (&fixture.store, UserId::from("U1"));
    for user in ["U1", "U2"] {
        store.add_user(&user.into(), None, at(1)).await.unwrap();
    }
    let (mine, other) = (KeyId::from("key_mine"), UserId::from("U2"));
    store.add_key(&new(&mine, &user), at(10)).await.unwrap();
    let pair = (&"key_x".into(), "key_x");
    assert!(store.rotate_key(&other, &mine, pair, at(90), at(20)).await.unwrap().is_none());
    assert!(!store.drop_key_of(&other, &mine).await.unwrap());
    assert!(store.keys(&other, None, 10).await.unwrap().is_empty());
    let key = store.key("key_mine").await.unwrap().unwrap();
    assert_eq!((key.user, key.expires_at), (user.clone(), None));
    assert!(store.drop_key_of(&user, &mine).await.unwrap());
    assert!(!store.drop_key_of(&user, &mine).await.unwrap());
    assert!(store.key("key_mine").await.unwrap().is_none());
}

async fn pages_give_every_key_once(fixture: Fixture) {
    let (store, user) = (&fixture.store, UserId::from("U1"));
    store.add_user(&user, None, at(1)).await.unwrap();
    let ids: Vec<_> = (0..11).map(|n| KeyId::from(format!("key_{n:02}"))).collect();
    for (n, id) in (0..).zip(&ids) {
        // Several of one millisecond.
        store.add_key(&new(id, &user), at(10 + n / 4)).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut after: Option<(Timestamp, KeyId)> = None;
    loop {
        let page = store.keys(&user, after.as_ref(), 3).await.unwrap();
        assert!(page.len() <= 3);
        let Some(last) = page.last() else { break };
        after = Some((last.created_at, last.id.clone()));
        seen.extend(page.into_iter().map(|key| key.id));
    }
    assert_eq!(seen, ids);
}

async fn bound_keys_see_their_channels_only(fixture: Fixture) {
    let (store, user) = (&fixture.store, UserId::from("U1"));
    for channel in ["C1", "C2", "C3"] {
        fixture.group(channel, &["U1"]).await;
        fixture.subscribe(channel, "U1", 5).await;
    }
    let foreign = sighting("C4", 1, chatkeep_core::store::SightingKind::BotJoined);
    store.sight(&[foreign], at(1)).await.unwrap();
    let id = KeyId::from("key_bound");
    let only = ["C1", "C3", "C4", "C9"].map(ChannelId::from);
    store.add_key(&NewKey { channels: Some(&only), ..new(&id, &user) }, at(9)).await.unwrap();
    let key = store.key("key_bound").await.unwrap().unwrap();
    let only = key.channels.as_deref();
    assert_eq!(only.map(<[_]>::len), Some(4));
    let channels = store.channels_of(&user, only, None, 10).await.unwrap();
    let channels: Vec<_> = channels.iter().map(|channel| channel.id.as_str()).collect();
    assert_eq!(channels, ["C1", "C3"]);
    let after = "C1".into();
    let subscriptions = store.subscriptions(&user, only, Some(&after), 10).await.unwrap();
    let subscriptions: Vec<_> = subscriptions.iter().map(|s| s.channel.as_str()).collect();
    assert_eq!(subscriptions, ["C3"]);
    assert!(store.channels_of(&user, Some(&[]), None, 10).await.unwrap().is_empty());
    assert_eq!(store.subscriptions(&user, None, None, 10).await.unwrap().len(), 3);
}
