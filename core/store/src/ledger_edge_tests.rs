//! Laws of the ledger: what is charged adds up for every subscriber, whenever they subscribed, and
//! what is taken back leaves nothing behind.

use proptest::prelude::*;

use super::*;

const CHANNELS: [&str; 2] = ["C1", "C2"];
const USERS: [&str; 2] = ["U1", "U2"];

/// Channel, time of storing, bytes.
type Charge = (usize, i64, i64);
/// Channel, user, time of subscribing.
type Subscription = (usize, usize, i64);

fn charges() -> impl Strategy<Value = Vec<Charge>> {
    prop::collection::vec((0_usize..2, 0_i64..10, -60_i64..60), 0..20)
}

fn subscriptions() -> impl Strategy<Value = Vec<Subscription>> {
    prop::collection::vec(prop::option::of(0_i64..10), 4).prop_map(|times| {
        let each = |(place, since): (usize, Option<i64>)| Some((place / 2, place % 2, since?));
        times.into_iter().enumerate().filter_map(each).collect()
    })
}

/// Usages around the quota.
fn usages() -> impl Strategy<Value = [i64; 2]> {
    prop::array::uniform2((-80_i64..40).prop_map(|off| Plan::Free.quota() + off))
}

fn ledger(subscriptions: &[Subscription], used: [i64; 2]) -> Ledger {
    let rows = subscriptions.iter().map(|(channel, user, since)| SubscriberRow {
        channel_id: CHANNELS[*channel].to_owned(),
        user_id: USERS[*user].to_owned(),
        created_at: *since,
        plan: "free".to_owned(),
        used_bytes: used[*user],
    });
    Ledger::new(CHANNELS.map(ChannelId::from), rows.collect()).unwrap()
}

fn apply(ledger: &mut Ledger, charges: &[Charge], sign: i64) {
    for (channel, at, bytes) in charges {
        let (channel, at) = (ChannelId::from(CHANNELS[*channel]), Timestamp::from_millis(*at));
        ledger.charge_file(&channel, at, MessageType::Image, sign * bytes);
    }
}

/// Returns the bytes that were charged to a channel and are, or are not, later than a time.
fn sum(charges: &[Charge], of: usize, since: i64, is_later: bool) -> i64 {
    let of = charges.iter().filter(|(channel, at, _)| *channel == of && (*at > since) == is_later);
    of.map(|(_, _, bytes)| bytes).sum()
}

/// Returns the bytes by which the usage of a user has changed, by the rule.
fn gained(subscriptions: &[Subscription], charges: &[Charge], user: usize) -> i64 {
    let own = subscriptions.iter().filter(|(_, of, _)| *of == user);
    own.map(|(channel, _, since)| sum(charges, *channel, *since, true)).sum()
}

fn counted(bytes: i64) -> Counted {
    Counted {
        sent_at: Timestamp::from_millis(1),
        sender: Some("U9".into()),
        kind: MessageType::Text,
        is_bot: false,
        bytes,
        origin: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_charged_adds_up(
        subscriptions in subscriptions(),
        charges in charges(),
        used in usages(),
    ) {
        let mut ledger = ledger(&subscriptions, used);
        apply(&mut ledger, &charges, 1);
        for (place, name) in CHANNELS.into_iter().enumerate() {
            let found = ledger.channels[&ChannelId::from(name)].bytes_delta;
            prop_assert_eq!(found, sum(&charges, place, i64::MIN, true));
        }
        let users: Vec<_> = ledger.user_deltas().map(|(id, bytes)| (id.as_str(), bytes)).collect();
        let expected = USERS.into_iter().enumerate().map(|(place, name)| {
            (name, gained(&subscriptions, &charges, place))
        });
        prop_assert_eq!(users, expected.filter(|(_, bytes)| *bytes != 0).collect::<Vec<_>>());
        // What somebody's usage does not have of a channel, their baseline has.
        let baselines: Vec<_> = ledger
            .baseline_deltas()
            .map(|(channel, user, bytes)| (channel.as_str(), user.as_str(), bytes))
            .collect();
        let expected = subscriptions.iter().map(|(channel, user, since)| {
            (CHANNELS[*channel], USERS[*user], sum(&charges, *channel, *since, false))
        });
        prop_assert_eq!(baselines, expected.filter(|(.., bytes)| *bytes != 0).collect::<Vec<_>>());
    }

    #[test]
    fn a_channel_is_paused_when_each_of_its_subscribers_is_full(
        subscriptions in subscriptions(),
        charges in charges(),
        used in usages(),
        more in 0_i64..80,
    ) {
        let mut ledger = ledger(&subscriptions, used);
        apply(&mut ledger, &charges, 1);
        let bytes = |user: usize| used[user] + gained(&subscriptions, &charges, user);
        let is_full = |user: usize, more: i64| bytes(user) + more >= Plan::Free.quota();
        for (place, name) in CHANNELS.into_iter().enumerate() {
            let mut own = subscriptions.iter().filter(|(channel, ..)| *channel == place);
            let channel = ChannelId::from(name);
            prop_assert_eq!(ledger.subscribed(&channel), own.clone().next().is_some());
            prop_assert_eq!(ledger.paused(&channel), own.all(|(_, user, _)| is_full(*user, 0)));
        }
        let has_room = subscriptions.iter().all(|(_, user, _)| !is_full(*user, more));
        prop_assert_eq!(ledger.has_room(more), has_room);
        for (user, before, after) in ledger.crossings() {
            let place = USERS.into_iter().position(|name| name == user.as_str()).unwrap();
            prop_assert_eq!(before, Usage::new(used[place], Plan::Free).status());
            prop_assert_eq!(after, Usage::new(bytes(place), Plan::Free).status());
            prop_assert_ne!(before, after);
        }
    }

    #[test]
    fn what_is_taken_back_leaves_nothing(
        subscriptions in subscriptions(),
        charges in charges(),
        used in usages(),
        sizes in prop::collection::vec((0_usize..2, 0_i64..10, 0_i64..60), 0..6),
    ) {
        let mut ledger = ledger(&subscriptions, used);
        apply(&mut ledger, &charges, 1);
        for store in [true, false] {
            for (channel, at, bytes) in &sizes {
                let (id, at) = (CHANNELS[*channel].into(), Timestamp::from_millis(*at));
                let message = counted(*bytes);
                let message = Some(&message);
                let (before, after) = if store { (None, message) } else { (message, None) };
                ledger.charge_message(&id, at, before, after);
            }
        }
        apply(&mut ledger, &charges, -1);
        prop_assert_eq!(ledger.channel_deltas().count(), 0);
        prop_assert_eq!(ledger.user_deltas().count(), 0);
        prop_assert_eq!(ledger.baseline_deltas().count(), 0);
        prop_assert_eq!(ledger.crossings().count(), 0);
    }

    #[test]
    fn what_is_stored_now_counts_for_everybody(
        subscriptions in subscriptions(),
        now in 0_i64..12,
    ) {
        let mut ledger = ledger(&subscriptions, [0, 0]);
        for (place, name) in CHANNELS.into_iter().enumerate() {
            let channel = ChannelId::from(name);
            let at = ledger.storing_time(&channel, Timestamp::from_millis(now));
            prop_assert!(at.millis() >= now);
            ledger.charge_message(&channel, at, None, Some(&counted(7)));
            prop_assert_eq!(ledger.channels[&channel].count_delta, 1);
            let subscribers = subscriptions.iter().filter(|(channel, ..)| *channel == place);
            for (_, user, _) in subscribers {
                ledger.release(&USERS[*user].into(), 7);
            }
        }
        prop_assert_eq!(ledger.user_deltas().count(), 0);
        prop_assert_eq!(ledger.baseline_deltas().count(), 0);
    }
}

#[test]
fn channels_and_plans_that_are_not_known_are_told() {
    let mut ledger = ledger(&[(0, 0, 5)], [0, 0]);
    let elsewhere = ChannelId::from("C9");
    ledger.charge_file(&elsewhere, Timestamp::from_millis(9), MessageType::Image, 100);
    assert_eq!((ledger.user_deltas().count(), ledger.channel_deltas().count()), (0, 0));
    assert!(ledger.paused(&elsewhere) && !ledger.subscribed(&elsewhere));
    let row = SubscriberRow {
        channel_id: "C1".to_owned(),
        user_id: "U1".to_owned(),
        created_at: 1,
        plan: "platinum".to_owned(),
        used_bytes: 0,
    };
    assert!(Ledger::new([ChannelId::from("C1")], vec![row]).is_err());
}
