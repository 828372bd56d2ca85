//! Activity of a channel: its charts by the clocks of the channel, and who is named in them.

use std::collections::BTreeMap;
use std::time::Duration;

use chatkeep_core::message::{Content, Sticker};
use chatkeep_core::time::{DAY, Timestamp};
use chatkeep_store::ChannelChange;
use chrono::{DateTime, Datelike as _, NaiveDate, Timelike as _};
use chrono_tz::Tz;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{arrive, bounded, keep, parts, said, sent, since, time, unsent};
use crate::Caller;
use crate::access::{ChannelAccess, Member, ReadMessages};
use crate::activity::{Activity, ActivityService, BarUnit, Period};

const QUARTER: Duration = Duration::from_mins(15);

/// Returns the activity of the group in the days of that zone, if it has any messages.
async fn activity_of(group: &Group, caller: Caller, zone: Tz, period: Period) -> Option<Activity> {
    let access: ChannelAccess<Member, ReadMessages> =
        group.access.channel(caller, GROUP.into()).await.unwrap();
    let (store, clock) = parts(group);
    let service = ActivityService::new(store, clock, zone, group.assistant.clone());
    service.of(&access, period).await.unwrap()
}

async fn activity(group: &Group, zone: Tz, period: Period) -> Activity {
    activity_of(group, caller(OWNER), zone, period).await.unwrap()
}

/// Stores many texts of the owner at once.
async fn say_at(group: &Group, times: &[Timestamp]) {
    let said =
        |(number, at): (usize, &Timestamp)| said(GROUP, &format!("m{number}"), OWNER, *at, "x");
    let changes: Vec<ChannelChange> = times.iter().enumerate().map(said).collect();
    group.store.messages().ingest(&changes, group.clock.now()).await.unwrap();
}

fn zone(name: &str) -> Tz {
    name.parse().unwrap()
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// Returns the days with messages, and their numbers.
fn days(activity: &Activity) -> BTreeMap<NaiveDate, i64> {
    let bars = activity.bars.iter().filter(|bar| bar.messages > 0);
    bars.map(|bar| (bar.from, bar.messages)).collect()
}

#[tokio::test]
async fn a_message_is_in_the_day_and_the_hour_that_clocks_showed() {
    for (name, begin) in [
        ("UTC", "2024-02-28T12:00:00Z"),
        ("Asia/Taipei", "2026-12-30T20:00:00Z"),
        ("Asia/Kathmandu", "2026-03-01T00:00:00Z"),
        // Clocks are put forward and back, by half an hour, and at midnight.
        ("America/New_York", "2026-03-07T20:00:00Z"),
        ("America/New_York", "2026-10-31T20:00:00Z"),
        ("Australia/Lord_Howe", "2026-04-03T20:00:00Z"),
        ("Australia/Lord_Howe", "2026-10-02T20:00:00Z"),
        ("Asia/Beirut", "2026-03-27T20:00:00Z"),
        // A day was left out.
        ("Pacific/Apia", "2011-12-28T20:00:00Z"),
    ] {
        let (group, zone, begin) = (Group::new().await, zone(name), time(begin));
        let times: Vec<_> = (0..200).map(|number| begin.plus(QUARTER * number)).collect();
        group.hands.set(begin.plus(DAY * 3));
        say_at(&group, &times).await;
        let (mut by_day, mut by_hour) = (BTreeMap::new(), vec![[0; 24]; 7]);
        for at in &times {
            let local = DateTime::from_timestamp_millis(at.millis()).unwrap().with_timezone(&zone);
            *by_day.entry(local.date_naive()).or_default() += 1;
            let weekday = usize::try_from(local.weekday().num_days_from_monday()).unwrap();
            by_hour[weekday][usize::try_from(local.hour()).unwrap()] += 1;
        }
        for period in [Period::Days(7), Period::Days(30), Period::All] {
            let shown = activity(&group, zone, period).await;
            assert_eq!(shown.unit, BarUnit::Day, "{name}");
            assert_eq!(days(&shown), by_day, "{name} {period:?}");
            assert_eq!(shown.hours, by_hour, "{name} {period:?}");
            assert_eq!(shown.messages, 200, "{name} {period:?}");
            assert_eq!((shown.people[0].messages, shown.other_people), (200, 0), "{name}");
        }
    }
}

#[tokio::test]
async fn a_period_ends_with_today_and_everything_with_the_latest_message() {
    let group = Group::new().await;
    let taipei = zone("Asia/Taipei");
    // In the evening of the last day of February there.
    group.hands.set(time("2024-02-29T15:59:59.999Z"));
    say_at(
        &group,
        &[
            time("2024-02-22T15:59:59.999Z"),
            time("2024-02-22T16:00:00Z"),
            time("2024-02-29T15:59:59.999Z"),
            time("2024-02-29T16:00:00Z"),
        ],
    )
    .await;
    let week = activity(&group, taipei, Period::Days(7)).await;
    assert_eq!((week.bars.len(), week.last), (7, day("2024-02-29")));
    let inside = [(day("2024-02-23"), 1), (day("2024-02-29"), 1)];
    assert_eq!(days(&week), BTreeMap::from(inside));
    let today = activity(&group, taipei, Period::Days(1)).await;
    assert_eq!((today.bars.len(), today.messages), (1, 1));
    let none = activity(&group, taipei, Period::Days(0)).await;
    assert_eq!((none.bars.len(), none.messages), (1, 1), "today is always there");
    let all = activity(&group, taipei, Period::All).await;
    assert_eq!((all.bars[0].from, all.last), (day("2024-02-22"), day("2024-03-01")));
    assert_eq!(all.messages, 4);
    // A moment later it is the next day.
    group.hands.advance(Duration::from_millis(1));
    let week = activity(&group, taipei, Period::Days(7)).await;
    assert_eq!((week.bars[0].from, week.messages), (day("2024-02-24"), 2));
}

#[tokio::test]
async fn who_may_read_from_a_time_on_gets_the_whole_days_after_it() {
    let group = Group::new().await;
    let tokyo = zone("Asia/Tokyo");
    group.hands.set(time("2026-03-10T00:00:00Z"));
    let times = (0..72).map(|hour| time("2026-03-07T00:00:00Z").plus(4 * QUARTER * hour));
    let times: Vec<_> = times.collect();
    say_at(&group, &times).await;
    let late = |start: &str| bounded(OWNER, since(time(start)));
    for (start, first, count) in [
        // The day there began nine hours before.
        ("2026-03-08T00:00:00Z", "2026-03-09", 33),
        ("2026-03-08T14:59:59.999Z", "2026-03-09", 33),
        ("2026-03-08T15:00:00.001Z", "2026-03-10", 9),
    ] {
        let shown = activity_of(&group, late(start), tokyo, Period::Days(7)).await.unwrap();
        assert_eq!(shown.bars[0].from, day(first), "{start}");
        assert_eq!(shown.messages, count, "{start}");
        let hours: i64 = shown.hours.iter().flatten().sum();
        assert_eq!((hours, shown.people[0].messages), (count, count), "{start}");
    }
    let none = activity_of(&group, late("2026-03-10T00:00:00Z"), tokyo, Period::All).await;
    let none = none.unwrap();
    assert_eq!((none.messages, none.bars.len(), none.people.len()), (0, 0, 0));
}

#[tokio::test]
async fn twenty_people_are_named_and_the_others_are_one_sum() {
    let group = Group::new().await;
    let people: Vec<_> = (10..32).map(|number| format!("U{number}")).collect();
    arrive(&group, GROUP, &people.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let now = group.clock.now();
    let mut changes = Vec::new();
    for (count, user) in (1..).zip(&people) {
        for number in 0..count {
            changes.push(said(GROUP, &format!("{user}-{number}"), user, now, "x"));
        }
    }
    group.store.messages().ingest(&changes, now).await.unwrap();
    let shown = activity(&group, Tz::UTC, Period::All).await;
    let named: Vec<_> = shown.people.iter().map(|person| person.messages).collect();
    assert_eq!(named, (3..=22).rev().collect::<Vec<_>>(), "those with the most messages");
    assert_eq!((shown.other_people, shown.messages), (1 + 2, (1..=22).sum()));
}

#[tokio::test]
async fn what_is_stored_is_what_the_channel_counts() {
    let group = Group::new().await;
    let none = activity_of(&group, caller(OTHER), Tz::UTC, Period::All).await;
    assert!(none.is_none(), "nobody has written anything");
    group.hands.set(time("2026-03-10T00:00:00Z"));
    let now = group.clock.now();
    let sticker = Content::Sticker(Sticker { package_id: "1".to_owned(), ..Sticker::default() });
    let place = Content::Location { title: None, address: None, latitude: 0.5, longitude: 0.25 };
    keep(
        &group,
        &[
            said(GROUP, "m1", OWNER, now, &"長い文".repeat(100)),
            said(GROUP, "m2", OTHER, now, "taken back"),
            unsent(GROUP, "m2", now),
            sent(GROUP, "m3", OTHER, now, &sticker),
            sent(GROUP, "m4", OTHER, now.minus(DAY * 500), &place),
        ],
    )
    .await;
    // Everything, whatever the period.
    let shown = activity(&group, Tz::UTC, Period::Days(1)).await;
    assert_eq!(shown.messages, 2);
    let names: Vec<_> = shown.storage.iter().map(|one| one.kind.name()).collect();
    assert_eq!(names, ["text", "location", "sticker"], "the most bytes first");
    let channel = group.store.channels().channel(&GROUP.into()).await.unwrap().unwrap();
    let sum = (
        shown.storage.iter().map(|one| one.bytes).sum::<i64>(),
        shown.storage.iter().map(|one| one.messages).sum::<i64>(),
    );
    assert_eq!(sum, (channel.bytes, channel.message_count));
}
