//! API keys: what they may be called and limited to, and who sees, makes and deletes which.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, KeyId};
use chatkeep_core::role::Scope;
use chatkeep_core::time::{DAY, Timestamp};

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{bounded, key_of, only, refused_at, since};
use crate::access::{ManageKeys, Scoped};
use crate::keys::{IssueKeyError, KeyDraft, OperatorKey, new_pseudonyms};
use crate::operator::Operator;
use crate::{Caller, ServiceError};

fn manager(group: &Group, caller: Caller) -> Scoped<ManageKeys> {
    group.access.scoped(caller).unwrap()
}

/// Returns the draft of a key that reads messages.
fn wish() -> KeyDraft {
    KeyDraft {
        name: "program".to_owned(),
        scopes: vec![Scope::ReadMessages],
        channels: None,
        not_before: None,
        expires_at: None,
        pseudonyms: None,
    }
}

#[tokio::test]
async fn a_name_has_a_hundred_characters_that_can_be_seen() {
    let group = Group::new().await;
    let access = manager(&group, caller(OWNER));
    let create = async |name: &str| {
        let draft = KeyDraft { name: name.to_owned(), ..wish() };
        group.keys.create(&access, draft).await.map(|made| made.key.name)
    };
    // As they are composed; what joins emoji counts, too.
    let (accented, family) = ("e\u{301}", "👨\u{200d}👩\u{200d}👧");
    for good in [
        "x",
        "มือถือของฉัน",
        "مفتاح",
        "ｋｅｙ №1",
        &accented.repeat(100),
        &family.repeat(20),
        &"鍵".repeat(100),
    ] {
        assert_eq!(create(good).await, Ok(good.to_owned()), "as it was given");
    }
    for bad in [
        "",
        " \u{3000}\t",
        "\u{200b}\u{200d}\u{2060}",
        "a\0b",
        &accented.repeat(101),
        &family.repeat(21),
        &"鍵".repeat(101),
    ] {
        assert_eq!(refused_at(create(bad).await), "/name", "{bad:?}");
    }
}

#[tokio::test]
async fn ids_of_channels_are_those_of_a_platform() {
    let group = Group::new().await;
    let access = manager(&group, caller(OWNER));
    let create = async |ids: &[&str]| {
        let channels = Some(ids.iter().map(ToString::to_string).collect());
        let made = group.keys.create(&access, KeyDraft { channels, ..wish() }).await;
        let ids = made.map(|made| made.key.channels.unwrap());
        ids.map(|ids| ids.into_iter().map(ChannelId::into_string).collect::<Vec<_>>())
    };
    let longest = format!("C{}", "x".repeat(99));
    let given = [GROUP, "R1", GROUP, "U1~shop", "telegram:-100123", &longest, "R1"];
    let expected = [GROUP, "R1", "U1~shop", "telegram:-100123", &longest];
    assert_eq!(create(&given).await.unwrap(), expected, "each once, in their order");
    // Repetitions count before they collapse.
    assert_eq!(create(&[GROUP; 1_000]).await.unwrap(), [GROUP]);
    assert_eq!(refused_at(create(&[GROUP; 1_001]).await), "/channelIds");
    for bad in [
        "",
        "C",
        " C1",
        "C1\n",
        "C\u{a0}1",
        "c1",
        "group",
        "Ｃ1",
        "Cé",
        "C\u{200b}1",
        "C1\0",
        "C\u{fffd}",
        ":1",
        "Telegram:1",
        &format!("{longest}x"),
    ] {
        assert_eq!(refused_at(create(&[GROUP, bad]).await), "/channelIds/1", "{bad:?}");
    }
}

#[tokio::test]
async fn a_key_ends_in_the_future_and_scopes_are_given_once() {
    let group = Group::new().await;
    let (access, now) = (manager(&group, caller(OWNER)), group.clock.now());
    let ending = async |expires_at: Timestamp| {
        let draft = KeyDraft { expires_at: Some(expires_at), ..wish() };
        group.keys.create(&access, draft).await.map(|made| made.key.expires_at)
    };
    assert_eq!(refused_at(ending(now).await), "/expiresAt");
    let next = now.plus(Duration::from_millis(1));
    assert_eq!(ending(next).await, Ok(Some(next)));
    let scoped = async |scopes: &[Scope]| {
        let draft = KeyDraft { scopes: scopes.to_vec(), ..wish() };
        group.keys.create(&access, draft).await.map(|made| made.key.scopes)
    };
    let (read, write) = (Scope::ReadMessages, Scope::WriteBackup);
    assert_eq!(scoped(&[write, read, write]).await, Ok(vec![write, read]));
    assert_eq!(scoped(&Scope::ALL).await, Ok(Scope::ALL.to_vec()));
    // Repetitions are gone before they count.
    assert_eq!(scoped(&[read; 20]).await, Ok(vec![read]));
    assert_eq!(scoped(&[Scope::ALL, Scope::ALL].concat()).await, Ok(Scope::ALL.to_vec()));
    assert_eq!(refused_at(scoped(&[]).await), "/scopes");
}

/// Returns drafts of every combination of channels, begins and ends, of the days after a time.
fn wishes(now: Timestamp) -> Vec<KeyDraft> {
    let day = |day: u32| Some(now.plus(DAY * day));
    let channels = [None, Some(vec!["C1"]), Some(vec!["C1", "C3"])];
    let mut all = Vec::new();
    for channels in channels {
        for (not_before, expires_at) in [(None, None), (day(1), day(10)), (day(9), day(30))] {
            let channels = channels.as_ref().map(|ids| ids.iter().map(ToString::to_string));
            let channels = channels.map(Iterator::collect);
            all.push(KeyDraft { channels, not_before, expires_at, ..wish() });
        }
    }
    all
}

#[tokio::test]
async fn whatever_is_asked_for_a_key_is_within_its_maker_who_sees_and_deletes_it() {
    let group = Group::new().await;
    let now = group.clock.now();
    let day = |day: u32| Some(now.plus(DAY * day));
    let timed = Bounds { not_before: day(5), expires_at: day(20), ..Bounds::full() };
    let both = Bounds { channels: only(&["C1", "C2"]).channels, ..timed.clone() };
    let (mut made, mut refused) = (0, 0);
    for maker in [Bounds::full(), timed, only(&["C1", "C2"]), both] {
        let access = manager(&group, bounded(OWNER, maker.clone()));
        for wish in wishes(now) {
            let asked = format!("{maker:?} {wish:?}");
            match group.keys.create(&access, wish).await {
                Ok(issued) => {
                    let key = issued.key;
                    assert!(key.bounds().within(&maker), "{asked}");
                    assert_eq!(group.keys.one(&access, &key.id).await.unwrap().id, key.id);
                    group.keys.remove(&access, &key.id).await.unwrap();
                    made += 1;
                }
                Err(error) => {
                    assert_eq!(error, ServiceError::InsufficientPermissions, "{asked}");
                    refused += 1;
                }
            }
        }
    }
    // Only the channel that two of the makers do not see is refused.
    assert_eq!((made, refused), (30, 6));
}

#[tokio::test]
async fn a_page_is_full_whatever_is_hidden_between_its_keys() {
    let group = Group::new().await;
    // Every second key is of another channel.
    for number in 0..8 {
        group.hands.advance(Duration::from_millis(1));
        let bounds = only(&[if number % 2 == 0 { GROUP } else { "C2" }]);
        key_of(&group, OWNER, &format!("key_{number}"), &bounds).await;
    }
    let pages = async |caller: Caller, limit: u32| {
        let (access, mut pages) = (manager(&group, caller), Vec::new());
        let mut cursor: Option<String> = None;
        loop {
            let page = group.keys.page(&access, limit, cursor.as_deref()).await.unwrap();
            pages.push(page.0.iter().map(|key| key.id.to_string()).collect::<Vec<_>>());
            cursor = page.1;
            if cursor.is_none() {
                return pages;
            }
        }
    };
    let narrow = || bounded(OWNER, only(&[GROUP]));
    assert_eq!(pages(narrow(), 2).await, [["key_0", "key_2"], ["key_4", "key_6"]]);
    assert_eq!(pages(narrow(), 3).await, [&["key_0", "key_2", "key_4"][..], &["key_6"]]);
    let all = pages(caller(OWNER), 3).await;
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 2]);
    assert_eq!(pages(caller(OTHER), 3).await, [[""; 0]], "somebody else's");
    let cursor = crate::encode_cursor("webhooks", &(group.clock.now(), KeyId::from("key_0")));
    let foreign = group.keys.page(&manager(&group, narrow()), 2, cursor.as_deref()).await;
    assert_eq!(refused_at(foreign), "cursor");
}

#[tokio::test]
async fn a_key_that_reaches_further_is_as_unknown_as_another_persons() {
    let group = Group::new().await;
    let start = group.clock.now();
    key_of(&group, OWNER, "key_all", &Bounds::full()).await;
    key_of(&group, OWNER, "key_here", &only(&[GROUP])).await;
    key_of(&group, OTHER, "key_other", &only(&[GROUP])).await;
    let narrow = manager(&group, bounded(OWNER, only(&[GROUP])));
    let late = manager(&group, bounded(OWNER, since(start)));
    for (access, unknown) in [
        (&narrow, ["key_all", "key_other", "key_none"]),
        (&late, ["key_all", "key_here", "key_other"]),
    ] {
        for id in unknown.map(KeyId::from) {
            let missing = Some(ServiceError::NotFound);
            assert_eq!(group.keys.one(access, &id).await.err(), missing, "{id}");
            assert_eq!(group.keys.remove(access, &id).await.err(), missing, "{id}");
        }
    }
    let all = group.keys.all_of(&Operator::at_command_line(), &OWNER.into()).await.unwrap();
    assert_eq!(all.len(), 2, "nothing was deleted");
    group.keys.remove(&narrow, &"key_here".into()).await.unwrap();
    let again = group.keys.remove(&narrow, &"key_here".into()).await;
    assert_eq!(again, Err(ServiceError::NotFound));
}

/// Returns an operator's key of the owner with these scopes.
fn issued(scopes: &[Scope]) -> OperatorKey {
    OperatorKey {
        user: OWNER.into(),
        name: "first".to_owned(),
        scopes: scopes.to_vec(),
        channels: None,
        not_before: None,
        expires_at: None,
        pseudonyms: None,
    }
}

#[tokio::test]
async fn an_operator_makes_keys_of_people_and_channels_that_there_are() {
    let group = Group::new().await;
    let operator = Operator::at_command_line();
    let read = Scope::ReadMessages;
    let issue = async |key: OperatorKey| group.keys.issue(&operator, key).await;
    let wanted = OperatorKey {
        channels: Some(vec![GROUP.into(), GROUP.into()]),
        ..issued(&[read, Scope::ManageKeys, read])
    };
    let made = issue(wanted).await.unwrap();
    assert_eq!(made.key.scopes, [read, Scope::ManageKeys]);
    assert_eq!(made.key.channels, Some(vec![GROUP.into()]));
    assert_eq!(made.previous_until, None);
    let stranger = OperatorKey { user: "U9".into(), ..issued(&[read]) };
    let stranger = issue(stranger).await.err();
    assert!(matches!(stranger, Some(IssueKeyError::UnknownUser(_))), "{stranger:?}");
    let nameless = OperatorKey { name: "\u{200b}".to_owned(), ..issued(&[read]) };
    let nameless = issue(nameless).await.err();
    assert!(matches!(nameless, Some(IssueKeyError::Name)), "{nameless:?}");
    let pseudonyms = Some(new_pseudonyms());
    let writing = OperatorKey { pseudonyms: pseudonyms.clone(), ..issued(&Scope::ALL) };
    let refused = issue(writing).await.err().unwrap().to_string();
    assert_eq!(refused, "a key with pseudonyms cannot have the scope write:assistant");
    let reading = OperatorKey { pseudonyms: pseudonyms.clone(), ..issued(&[read]) };
    assert_eq!(issue(reading).await.unwrap().key.pseudonyms, pseudonyms);

    assert!(group.keys.revoke(&operator, &made.key.id).await.unwrap());
    assert!(!group.keys.revoke(&operator, &made.key.id).await.unwrap());
    assert_eq!(group.keys.all_of(&operator, &OWNER.into()).await.unwrap().len(), 1);
}
