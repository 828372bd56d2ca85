//! Keys: rotation, pages, and bounds.

use chatkeep_core::id::{ChannelId, KeyId, UserId};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{KEYS_OF_USER, NewKey, Rotated};

use super::{Fixture, at, item, on_both};

on_both!(
    rotation_keeps_properties_and_ends_the_old_key,
    nobody_touches_another_persons_keys,
    pages_give_every_key_once,
    bound_keys_see_their_channels_only,
    a_user_has_only_so_many_keys_that_work,
    keys_made_at_once_are_no_more_than_that,
    rotating_makes_no_more_keys,
    what_ended_long_ago_goes,
);

fn new<'a>(id: &'a KeyId, user: &'a UserId) -> NewKey<'a> {
    NewKey {
        pseudonyms: None,
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
    store.accounts().add_user(&user, None, at(1)).await.unwrap();
    let (old, next) = (KeyId::from("key_old"), KeyId::from("key_new"));
    let channels = [ChannelId::from("C1")];
    let lineage = PseudonymKey::new([5; 32]);
    let key = NewKey {
        pseudonyms: Some(&lineage),
        channels: Some(&channels),
        not_before: Some(at(7)),
        expires_at: Some(at(500)),
        ..new(&old, &user)
    };
    let added = store.keys().add_key(&key, at(10)).await.unwrap().unwrap();
    let stored = store.keys().key(key.secret).await.unwrap().unwrap();
    assert_eq!(format!("{added:?}"), format!("{stored:?}"));
    let rotate = async |by: &str, old: &KeyId, new: &KeyId, until, now| {
        let pair = (new, new.as_str());
        match store.keys().rotate_key(&by.into(), old, pair, at(until), at(now)).await.unwrap() {
            Rotated::Done(key) => Some(*key),
            Rotated::NoKey => None,
            Rotated::Replaced => panic!("replaced before"),
        }
    };
    let made = rotate("U1", &old, &next, 90, 20).await.unwrap();
    let found = store.keys().key("key_new").await.unwrap().unwrap();
    for key in [made, found] {
        assert_eq!(key.bounds().pseudonyms.as_ref(), Some(&lineage));
        assert_eq!((key.id, key.name.as_str(), key.mask.as_str()), (next.clone(), "mine", "_new"));
        assert_eq!(key.scopes, [Scope::ReadMessages, Scope::ManageKeys]);
        assert_eq!(key.channels.as_deref(), Some(&channels[..]));
        assert_eq!((key.not_before, key.expires_at), (Some(at(7)), Some(at(500))));
        assert_eq!((key.created_at, key.last_used_at), (at(20), None));
    }
    let expires = async |secret: &str| store.keys().key(secret).await.unwrap().unwrap().expires_at;
    assert_eq!(expires("key_old").await, Some(at(90)));
    // Its end is that of the overlap by now, which no other successor is to have.
    let third = KeyId::from("key_third");
    let again = store.keys().rotate_key(&user, &old, (&third, "key_third"), at(300), at(30)).await;
    assert!(matches!(again.unwrap(), Rotated::Replaced));
    assert_eq!(expires("key_old").await, Some(at(90)));
    assert!(rotate("U1", &old, &third, 300, 90).await.is_none(), "it has expired");
    assert!(rotate("U1", &"key_none".into(), &third, 300, 30).await.is_none());
    assert!(store.keys().key("key_third").await.unwrap().is_none());
}

async fn nobody_touches_another_persons_keys(fixture: Fixture) {
    let (store, user) = (&fixture.store, UserId::from("U1"));
    for user in ["U1", "U2"] {
        store.accounts().add_user(&user.into(), None, at(1)).await.unwrap();
    }
    let (mine, other) = (KeyId::from("key_mine"), UserId::from("U2"));
    store.keys().add_key(&new(&mine, &user), at(10)).await.unwrap();
    let pair = (&"key_x".into(), "key_x");
    assert!(matches!(
        store.keys().rotate_key(&other, &mine, pair, at(90), at(20)).await.unwrap(),
        Rotated::NoKey
    ));
    assert!(!store.keys().drop_key_of(&other, &mine, at(30)).await.unwrap());
    assert!(store.keys().list(&other, None, 10).await.unwrap().is_empty());
    let key = store.keys().key("key_mine").await.unwrap().unwrap();
    assert_eq!((key.user, key.expires_at), (user.clone(), None));
    assert!(store.keys().drop_key_of(&user, &mine, at(30)).await.unwrap());
    assert!(!store.keys().drop_key_of(&user, &mine, at(30)).await.unwrap());
    assert!(store.keys().key("key_mine").await.unwrap().is_none());
}

async fn pages_give_every_key_once(fixture: Fixture) {
    let (store, user) = (&fixture.store, UserId::from("U1"));
    store.accounts().add_user(&user, None, at(1)).await.unwrap();
    let ids: Vec<_> = (0..11).map(|n| KeyId::from(format!("key_{n:02}"))).collect();
    for (n, id) in (0..).zip(&ids) {
        // Several of one millisecond.
        store.keys().add_key(&new(id, &user), at(10 + n / 4)).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut after: Option<(Timestamp, KeyId)> = None;
    loop {
        let page = store.keys().list(&user, after.as_ref(), 3).await.unwrap();
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
    let foreign = item("C4", 1, chatkeep_store::PresenceEvidenceKind::BotJoined);
    store.members().record_presence(&[foreign], at(1)).await.unwrap();
    let id = KeyId::from("key_bound");
    let only = ["C1", "C3", "C4", "C9"].map(ChannelId::from);
    store
        .keys()
        .add_key(&NewKey { channels: Some(&only), ..new(&id, &user) }, at(9))
        .await
        .unwrap();
    let key = store.keys().key("key_bound").await.unwrap().unwrap();
    let only = key.channels.as_deref();
    assert_eq!(only.map(<[_]>::len), Some(4));
    let channels = store.channels().channels_of(&user, only, None, 10).await.unwrap();
    let channels: Vec<_> = channels.iter().map(|channel| channel.id.as_str()).collect();
    assert_eq!(channels, ["C1", "C3"]);
    let after = "C1".into();
    let subscriptions =
        store.accounts().subscriptions(&user, only, Some(&after), 10).await.unwrap();
    let subscriptions: Vec<_> = subscriptions.iter().map(|s| s.channel.as_str()).collect();
    assert_eq!(subscriptions, ["C3"]);
    assert!(store.channels().channels_of(&user, Some(&[]), None, 10).await.unwrap().is_empty());
    assert_eq!(store.accounts().subscriptions(&user, None, None, 10).await.unwrap().len(), 3);
}

/// Creates keys of that name up to the user's limit; returns their number.
async fn fill(fixture: &Fixture, name: &str, ends: Option<i64>, now: i64) -> usize {
    let user = UserId::from("U1");
    for n in 0.. {
        let id = KeyId::from(format!("key_{name}{n:03}"));
        let key = NewKey { expires_at: ends.map(at), ..new(&id, &user) };
        if fixture.store.keys().add_key(&key, at(now)).await.unwrap().is_none() {
            return n;
        }
    }
    unreachable!("there is an end");
}

async fn a_user_has_only_so_many_keys_that_work(fixture: Fixture) {
    let (store, user) = (&fixture.store, UserId::from("U1"));
    for user in ["U1", "U2"] {
        store.accounts().add_user(&user.into(), None, at(1)).await.unwrap();
    }
    assert_eq!(fill(&fixture, "a", Some(100), 10).await, KEYS_OF_USER);
    let other = UserId::from("U2");
    assert!(
        store.keys().add_key(&new(&"key_other".into(), &other), at(10)).await.unwrap().is_some()
    );
    // One deletion makes room for one; when all have expired there is room for as many.
    assert!(store.keys().drop_key_of(&user, &"key_a007".into(), at(11)).await.unwrap());
    assert_eq!(fill(&fixture, "b", None, 12).await, 1);
    assert_eq!(fill(&fixture, "c", None, 100).await, KEYS_OF_USER - 1);
    // Keys that expire at once do not pile up either.
    for round in 0..6 {
        let now = 1_000 + round * 10;
        fixture.run("UPDATE api_keys SET expires_at = 999 WHERE expires_at IS NULL").await;
        fill(&fixture, &format!("d{round}_"), Some(now + 5), now).await;
    }
    let rows: usize = fixture.value("SELECT COUNT(*) FROM api_keys").await.parse().unwrap();
    assert!(rows <= 2 * KEYS_OF_USER + KEYS_OF_USER + 1, "{rows}");
}

async fn keys_made_at_once_are_no_more_than_that(fixture: Fixture) {
    let user = UserId::from("U1");
    fixture.store.accounts().add_user(&user, None, at(1)).await.unwrap();
    let add = async |n: usize| {
        let id = KeyId::from(format!("key_{n:03}"));
        fixture.store.keys().add_key(&new(&id, &UserId::from("U1")), at(10)).await.unwrap()
    };
    let made = futures_util::future::join_all((0..KEYS_OF_USER + 30).map(add)).await;
    assert_eq!(made.into_iter().flatten().count(), KEYS_OF_USER);
}

async fn rotating_makes_no_more_keys(fixture: Fixture) {
    let (store, user) = (&fixture.store, UserId::from("U1"));
    store.accounts().add_user(&user, None, at(1)).await.unwrap();
    assert_eq!(fill(&fixture, "a", None, 10).await, KEYS_OF_USER);
    let live = "SELECT COUNT(*) FROM api_keys WHERE expires_at IS NULL OR expires_at > 21";
    let rotate = async |old: &str, next: &str| {
        let next = KeyId::from(next);
        store
            .keys()
            .rotate_key(&user, &old.into(), (&next, next.as_str()), at(900), at(20))
            .await
            .unwrap()
    };
    // A full set can be rotated; however often, only one overlap of each line works.
    let mut last = "key_a000".to_owned();
    for n in 0..10 {
        let next = format!("key_r{n}");
        assert!(matches!(rotate(&last, &next).await, Rotated::Done(_)), "{n}");
        last = next;
    }
    assert_eq!(fixture.value(live).await, (KEYS_OF_USER + 1).to_string());
    assert!(store.keys().add_key(&new(&"key_more".into(), &user), at(21)).await.unwrap().is_none());
    // One more would be in overlap.
    assert!(matches!(rotate("key_r8", "key_twice").await, Rotated::Replaced));
    // Without its successor it counts by itself.
    assert!(store.keys().drop_key_of(&user, &"key_r9".into(), at(21)).await.unwrap());
    assert!(store.keys().add_key(&new(&"key_more".into(), &user), at(21)).await.unwrap().is_none());
}

async fn what_ended_long_ago_goes(fixture: Fixture) {
    const DAY: i64 = 86_400_000;
    let (store, user) = (&fixture.store, UserId::from("U1"));
    store.accounts().add_user(&user, None, at(1)).await.unwrap();
    for (id, ends) in [("key_old", Some(DAY)), ("key_new", Some(3 * DAY)), ("key_stays", None)] {
        let id = KeyId::from(id);
        let key = NewKey { expires_at: ends.map(at), ..new(&id, &user) };
        assert!(store.keys().add_key(&key, at(2)).await.unwrap().is_some());
    }
    assert_eq!(store.keys().purge_keys(10, at(31 * DAY - 1)).await.unwrap(), 0);
    assert_eq!(store.keys().purge_keys(10, at(31 * DAY)).await.unwrap(), 1);
    let left = store.keys().list(&user, None, 10).await.unwrap();
    let left: Vec<_> = left.iter().map(|key| key.id.as_str()).collect();
    assert_eq!(left, ["key_new", "key_stays"]);
}
