//! The bot that owns each channel: replaced only after it left, whatever the order of events, and
//! never by events of another bot.

use chatkeep_core::event::{ChannelKind, ChannelRef, Event, EventKind, PlatformKind};
use chatkeep_core::id::ChannelId;
use chatkeep_store::{ChannelStatus, Standing};
use proptest::strategy::{Just, Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::value::RawValue;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

use super::{Fixture, at, on_both};
use crate::harness::wait::{DEADLINE, until};

on_both!(
    another_bot_takes_over_only_after_the_owner_left,
    any_order_ends_with_the_same_owner,
    what_was_received_in_time_counts_after_a_take_over,
    nobody_joins_in_advance,
    each_bot_has_its_own_chat_with_a_person,
    an_imported_channel_waits_for_its_bot,
    operators_give_channels_to_other_bots,
);

/// Returns an event in a group, received at its own time.
fn event(bot: &str, channel: &str, time: i64, kind: EventKind) -> Event {
    Event {
        id: format!("E{time}").into(),
        platform: PlatformKind::Line,
        bot: bot.to_owned(),
        at: at(time),
        received_at: at(time),
        channel: Some(ChannelRef { id: channel.into(), kind: ChannelKind::Group }),
        sender: None,
        reply_token: None,
        redelivered: false,
        active: true,
        kind,
        raw: RawValue::from_string("{}".to_owned()).unwrap(),
    }
}

fn joined(bot: &str, channel: &str, time: i64) -> Event {
    event(bot, channel, time, EventKind::BotJoined)
}

fn left(bot: &str, channel: &str, time: i64) -> Event {
    event(bot, channel, time, EventKind::BotLeft)
}

fn spoke(bot: &str, channel: &str, time: i64) -> Event {
    event(bot, channel, time, EventKind::Other { name: "x".to_owned(), message: None })
}

/// Moves an event to a 1:1 chat.
fn alone(mut event: Event) -> Event {
    event.channel.as_mut().unwrap().kind = ChannelKind::User;
    event
}

async fn admit(fixture: &Fixture, event: Event, now: i64) -> Standing {
    fixture.store.channels().admit(&[&event], false, at(now)).await.unwrap().remove(0)
}

async fn owner(fixture: &Fixture, channel: &str) -> String {
    fixture.store.channels().channel(&channel.into()).await.unwrap().unwrap().bot
}

fn foreign(owner: &str, pending: bool) -> Standing {
    Standing::Foreign { owner: owner.to_owned(), pending }
}

async fn another_bot_takes_over_only_after_the_owner_left(fixture: Fixture) {
    assert_eq!(admit(&fixture, joined("a", "C1", 10), 10).await, Standing::Own);
    for forged in [spoke("b", "C1", 5), spoke("b", "C1", 20), left("b", "C1", 21)] {
        assert_eq!(admit(&fixture, forged, 30).await, foreign("a", false));
    }
    for time in [1, 9, 10, 40] {
        let pending = time > 21;
        assert_eq!(admit(&fixture, joined("b", "C1", time), 50).await, foreign("a", pending));
    }
    assert_eq!(owner(&fixture, "C1").await, "a");
    assert_eq!(admit(&fixture, spoke("a", "C1", 51), 51).await, Standing::Own);
    assert_eq!(admit(&fixture, left("a", "C1", 60), 60).await, Standing::Own);
    assert_eq!(owner(&fixture, "C1").await, "a", "what joined before that is not in it now");
    assert_eq!(admit(&fixture, spoke("b", "C1", 61), 61).await, foreign("a", true));
    assert_eq!(admit(&fixture, joined("b", "C1", 62), 62).await, Standing::Own);
    assert_eq!(owner(&fixture, "C1").await, "b");
    assert_eq!(admit(&fixture, spoke("a", "C1", 63), 63).await, foreign("b", false));
    assert_eq!(admit(&fixture, left("a", "C1", 64), 64).await, foreign("b", false));
    // Bots without a recorded owner own the channels of which they have the first event.
    assert_eq!(admit(&fixture, spoke("b", "C2", 5), 5).await, Standing::Own);
    assert_eq!(admit(&fixture, joined("a", "C2", 6), 6).await, foreign("b", true));
}

/// Three bots come and go; every event comes twice, in any order, alone or in batches.
async fn any_order_ends_with_the_same_owner(fixture: Fixture) {
    const ORDERS: usize = 30;
    let mut runner = TestRunner::deterministic();
    for round in 0..ORDERS {
        let c = format!("C{round}");
        let history = vec![
            joined("a", &c, 1),
            left("a", &c, 10),
            joined("b", &c, 20),
            left("b", &c, 30),
            joined("a", &c, 40),
            left("a", &c, 50),
            joined("c", &c, 50),
            left("c", &c, 70),
            joined("b", &c, 80),
        ];
        let twice: Vec<_> = history.iter().chain(&history).cloned().collect();
        let shuffled = Just(twice).prop_shuffle().new_tree(&mut runner).unwrap().current();
        for batch in shuffled.chunks(1 + round % 4) {
            let batch: Vec<_> = batch.iter().collect();
            fixture.store.channels().admit(&batch, false, at(100)).await.unwrap();
        }
        let channel = fixture.store.channels().channel(&c.as_str().into()).await.unwrap().unwrap();
        assert_eq!(channel.bot, "b", "{shuffled:?}");
        let first = shuffled[0].bot == "b" && shuffled.iter().all(|event| event.bot == "b");
        assert!(!first);
        assert_eq!(admit(&fixture, spoke("a", &c, 101), 101).await, foreign("b", false));
    }
}

async fn what_was_received_in_time_counts_after_a_take_over(fixture: Fixture) {
    admit(&fixture, joined("a", "C1", 10), 10).await;
    // A stage that is ahead of the others records that b took over.
    let events = [left("a", "C1", 20), joined("b", "C1", 30)];
    let all: Vec<_> = events.iter().collect();
    let standings = fixture.store.channels().admit(&all, false, at(35)).await.unwrap();
    assert_eq!(standings, [Standing::Own, Standing::Own]);
    // Those behind still accept earlier events of a, and its leave.
    assert_eq!(admit(&fixture, spoke("a", "C1", 15), 40).await, Standing::Own);
    assert_eq!(admit(&fixture, left("a", "C1", 20), 40).await, Standing::Own);
    let mut forged = spoke("a", "C1", 15);
    forged.received_at = at(36);
    assert_eq!(admit(&fixture, forged, 40).await, foreign("b", false));
    // A late leave hands the channel over, too.
    admit(&fixture, joined("a", "C2", 10), 10).await;
    assert_eq!(admit(&fixture, joined("b", "C2", 30), 30).await, foreign("a", true));
    assert_eq!(admit(&fixture, spoke("b", "C2", 31), 31).await, foreign("a", true));
    let mut late = left("a", "C2", 20);
    late.received_at = at(50);
    assert_eq!(admit(&fixture, late, 50).await, Standing::Own);
    assert_eq!(admit(&fixture, spoke("b", "C2", 31), 51).await, Standing::Own);
    let channel = fixture.store.channels().channel(&"C2".into()).await.unwrap().unwrap();
    assert_eq!((channel.bot.as_str(), channel.status), ("b", ChannelStatus::Active));
    assert_eq!(channel.enabled_at, at(30));
}

async fn nobody_joins_in_advance(fixture: Fixture) {
    admit(&fixture, joined("a", "C1", 1_000), 1_000).await;
    let mut forged = joined("b", "C1", 9_000_000_000);
    forged.received_at = at(2_000);
    assert_eq!(admit(&fixture, forged, 2_000).await, foreign("a", true));
    assert_eq!(admit(&fixture, left("a", "C1", 500_000), 500_000).await, Standing::Own);
    assert_eq!(owner(&fixture, "C1").await, "a");
}

async fn each_bot_has_its_own_chat_with_a_person(fixture: Fixture) {
    let chat = |bot: &str| Standing::OwnChat(ChannelId::from("U1").chat_with(bot));
    assert_eq!(admit(&fixture, alone(spoke("a", "U1", 10)), 10).await, Standing::Own);
    for event in [joined("b", "U1", 20), spoke("b", "U1", 21), left("b", "U1", 22)] {
        assert_eq!(admit(&fixture, alone(event), 30).await, chat("b"));
    }
    // Also after the first was blocked: the two chats stay two.
    assert_eq!(admit(&fixture, alone(left("a", "U1", 30)), 30).await, Standing::Own);
    assert_eq!(admit(&fixture, alone(joined("b", "U1", 40)), 40).await, chat("b"));
    assert_eq!(admit(&fixture, alone(joined("c", "U1", 41)), 41).await, chat("c"));
    assert_eq!(owner(&fixture, "U1").await, "a");
    assert_eq!(
        (owner(&fixture, "U1~b").await, owner(&fixture, "U1~c").await),
        ("b".into(), "c".into())
    );
    // As a group, the person's id is another bot's channel, and nobody can claim ids of chats.
    assert_eq!(admit(&fixture, spoke("b", "U1", 50), 50).await, foreign("a", false));
    for channel in ["U1~b", "U1~d", "C1~b"] {
        assert_eq!(admit(&fixture, spoke("b", channel, 50), 50).await, foreign("", false));
        assert_eq!(admit(&fixture, alone(spoke("b", channel, 50)), 50).await, foreign("", false));
    }
    // A person whose id was claimed as a group has a chat all the same.
    assert_eq!(admit(&fixture, spoke("b", "U2", 50), 50).await, Standing::Own);
    let own = Standing::OwnChat("U2~a".into());
    assert_eq!(admit(&fixture, alone(spoke("a", "U2", 51)), 51).await, own);
}

async fn an_imported_channel_waits_for_its_bot(fixture: Fixture) {
    fixture.store.accounts().add_user(&"U1".into(), None, at(1)).await.unwrap();
    for channel in ["C1", "C2"] {
        let (platform, kind, user) = (PlatformKind::Line, ChannelKind::Group, "U1".into());
        let imports = fixture.store.imports();
        imports.open_for_import(&channel.into(), platform, kind, &user, at(1)).await.unwrap();
    }
    for forged in [joined("b", "C1", 10), spoke("b", "C1", 11)] {
        assert!(matches!(admit(&fixture, forged, 12).await, Standing::Foreign { .. }));
    }
    assert_eq!(owner(&fixture, "C1").await, "");
    let only = spoke("a", "C2", 20);
    let standings = fixture.store.channels().admit(&[&only], true, at(20)).await.unwrap();
    assert_eq!((standings, owner(&fixture, "C2").await), (vec![Standing::Own], "a".to_owned()));
}

async fn operators_give_channels_to_other_bots(fixture: Fixture) {
    let store = &fixture.store;
    for channel in ["C1", "C2"] {
        admit(&fixture, joined("gone", channel, 10), 10).await;
    }
    assert!(!store.channels().assign_channel(&"C9".into(), "b", at(20)).await.unwrap());
    assert!(store.channels().assign_channel(&"C1".into(), "b", at(20)).await.unwrap());
    assert_eq!(admit(&fixture, spoke("b", "C1", 21), 21).await, Standing::Own);
    assert_eq!(admit(&fixture, spoke("gone", "C1", 15), 21).await, Standing::Own);
    assert_eq!(admit(&fixture, spoke("gone", "C1", 21), 21).await, foreign("b", false));
    // From then on it leaves like any other.
    admit(&fixture, left("b", "C1", 30), 30).await;
    assert_eq!(admit(&fixture, joined("c", "C1", 31), 31).await, Standing::Own);

    assert_eq!(store.channels().rename_bot("gone", "named", at(40)).await.unwrap(), 1);
    assert_eq!(admit(&fixture, spoke("named", "C2", 41), 41).await, Standing::Own);
    assert_eq!(admit(&fixture, spoke("gone", "C2", 39), 41).await, Standing::Own);
    assert_eq!(admit(&fixture, spoke("gone", "C2", 41), 41).await, foreign("named", false));
    assert_eq!(admit(&fixture, left("named", "C2", 50), 50).await, Standing::Own);
    assert_eq!(admit(&fixture, joined("b", "C2", 51), 51).await, Standing::Own);
    let bots: Vec<_> = store
        .channels()
        .bots_of_channels()
        .await
        .unwrap()
        .into_iter()
        .map(|row| (row.bot, row.channels))
        .collect();
    assert_eq!(bots, [("b".to_owned(), 1), ("c".to_owned(), 1)]);
}

/// Renaming a bot waits for a channel without holding one that comes after it by key.
#[tokio::test]
async fn a_bot_is_renamed_in_the_order_of_locks() {
    const WAITING: &str = "SELECT COUNT(*) FROM pg_stat_activity
                           WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let fixture = Fixture::postgres().await;
    // The database finds them in the order in which they came.
    for channel in ["C2", "C1"] {
        admit(&fixture, joined("old", channel, 10), 10).await;
    }
    let url = fixture.database.as_ref().unwrap().url();
    let mut other = PgConnection::connect(&url).await.unwrap();
    other.execute("BEGIN").await.unwrap();
    let lock = async |other: &mut PgConnection, channel: &str| {
        let sql = format!("SELECT 1 FROM channels WHERE channel_id = '{channel}' FOR UPDATE");
        other.execute(AssertSqlSafe(sql)).await.unwrap();
    };
    lock(&mut other, "C1").await;
    let store = fixture.store.clone();
    let renaming =
        tokio::spawn(async move { store.channels().rename_bot("old", "new", at(20)).await });
    until("it waits", DEADLINE, async || fixture.value(WAITING).await == "1").await;
    lock(&mut other, "C2").await;
    other.execute("COMMIT").await.unwrap();
    assert_eq!(renaming.await.unwrap().unwrap(), 2);
    for channel in ["C1", "C2"] {
        assert_eq!(owner(&fixture, channel).await, "new");
    }
}
