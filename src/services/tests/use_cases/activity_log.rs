//! The activity log of a channel: its days, its readers, and parts of it.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::time::DAY;
use chatkeep_store::{ActivityChange, ActivityRead, ChangeKind, ReadAction, Reader};
use chatkeep_view::pseudonyms::Mask;
use chrono::NaiveDate;
use chrono_tz::Tz;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{call, establish, key_of, refused_at, time};
use crate::access::{ChannelAccess, Member, Owner, ReadMembers, ReadMessages};
use crate::activity_log::{ActivityLogQuery, ActivityLogService};
use crate::{Caller, Credential, ServiceError};

fn service(group: &Group, zone: Tz) -> ActivityLogService {
    ActivityLogService::new(group.store.clone(), zone)
}

async fn owner_of(group: &Group, channel: &str) -> ChannelAccess<Owner, ReadMembers> {
    group.access.channel(caller(OWNER), channel.into()).await.unwrap()
}

/// Returns a query for everything of one kind, or of all.
const fn every<K>(kind: Option<K>) -> ActivityLogQuery<K> {
    ActivityLogQuery { kind, user: None, day: None, limit: 100, cursor: None }
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// Counts a request of that caller by which messages of the group are read.
async fn read(group: &Group, caller: &Caller, action: ReadAction) {
    let access: ChannelAccess<Member, ReadMessages> =
        group.access.channel(caller.clone(), GROUP.into()).await.unwrap();
    access.read(action);
}

async fn set_retention(group: &Group, days: u32, by: &str) {
    let (channel, by, now) = (ChannelId::from(GROUP), UserId::from(by), group.clock.now());
    group.store.channels().set_retention(&channel, Some(days), &by, now).await.unwrap();
}

async fn set_zone(group: &Group, zone: Option<&str>) {
    let (channel, by, now) = (ChannelId::from(GROUP), UserId::from(OWNER), group.clock.now());
    group.store.channels().set_time_zone(&channel, zone, &by, now).await.unwrap();
}

#[tokio::test]
async fn a_day_of_changes_is_the_channels_and_a_day_of_reads_is_of_utc() {
    let group = Group::new().await;
    for (days, now) in (1..).zip([
        "2024-02-28T15:59:59.999Z",
        "2024-02-28T16:00:00Z",
        "2024-02-29T15:59:59.999Z",
        "2024-02-29T16:00:00Z",
    ]) {
        group.hands.set(time(now));
        set_retention(&group, days, OWNER).await;
        read(&group, &caller(OTHER), ReadAction::List).await;
    }
    group.store.activity_log().write_reads().await.unwrap();
    // The days there begin an hour before those of the channel.
    let (log, access) = (service(&group, Tz::Asia__Tokyo), owner_of(&group, GROUP).await);
    let set_on = async |text: &str| {
        let query = ActivityLogQuery { day: Some(day(text)), ..every(Some(ChangeKind::Retention)) };
        let (changes, _) = log.changes(&access, &query).await.unwrap();
        changes.into_iter().filter_map(|change| change.after).collect::<Vec<_>>().concat()
    };
    set_zone(&group, Some("Asia/Taipei")).await;
    for (day, expected) in
        [("2024-02-27", ""), ("2024-02-28", "1"), ("2024-02-29", "32"), ("2024-03-01", "4")]
    {
        assert_eq!(set_on(day).await, expected, "{day} in Taipei");
    }
    set_zone(&group, None).await;
    for (day, expected) in [("2024-02-28", ""), ("2024-02-29", "21"), ("2024-03-01", "43")] {
        assert_eq!(set_on(day).await, expected, "{day} in Tokyo");
    }
    for (text, expected) in [
        ("2024-02-27", None),
        ("2024-02-28", Some(2)),
        ("2024-02-29", Some(2)),
        ("2024-03-01", None),
    ] {
        let query = ActivityLogQuery { day: Some(day(text)), ..every(Some(ReadAction::List)) };
        let (reads, _) = log.reads(&access, &query).await.unwrap();
        assert_eq!(reads.first().map(|read| read.requests), expected, "{text}");
    }
}

#[tokio::test]
async fn a_day_beyond_the_calendar_is_refused() {
    let group = Group::new().await;
    let (log, access) = (service(&group, Tz::Pacific__Kiritimati), owner_of(&group, GROUP).await);
    let [after, before] = [(10_000, 1, 1), (-1, 12, 31)]
        .map(|(year, month, day)| NaiveDate::from_ymd_opt(year, month, day).unwrap());
    for wrong in [after, before, NaiveDate::MAX, NaiveDate::MIN] {
        let changes = ActivityLogQuery { day: Some(wrong), ..every(None) };
        assert_eq!(refused_at(log.changes(&access, &changes).await), "day", "{wrong}");
        let reads = ActivityLogQuery { day: Some(wrong), ..every(None) };
        assert_eq!(refused_at(log.reads(&access, &reads).await), "day", "{wrong}");
    }
    for last in [day("0000-01-01"), day("9999-12-31")] {
        let changes = ActivityLogQuery { day: Some(last), ..every(None) };
        assert_eq!(log.changes(&access, &changes).await.unwrap().0, [], "{last}");
        let reads = ActivityLogQuery { day: Some(last), ..every(None) };
        assert_eq!(log.reads(&access, &reads).await.unwrap().0, [], "{last}");
    }
}

#[tokio::test]
async fn readers_are_told_apart_by_what_they_read_with() {
    let group = Group::new().await;
    call(&group, &[(OTHER, "Bea")]).await;
    let (log, access) = (service(&group, Tz::UTC), owner_of(&group, GROUP).await);
    let key = key_of(&group, OTHER, "key_1", &Bounds::full()).await;
    let resource = "https://chat.example.org/mcp".to_owned();
    let credential = Credential::Token { grant: "g1".to_owned(), resource };
    let token = Caller { credential, ..caller(OTHER) };
    for who in [&key, &caller(OTHER), &token, &key] {
        read(&group, who, ReadAction::Search).await;
    }
    let told = async || {
        group.store.activity_log().write_reads().await.unwrap();
        let (reads, _) = log.reads(&access, &every(None)).await.unwrap();
        assert!(reads.iter().all(|read| read.by.user.as_str() == OTHER), "{reads:?}");
        let name = |read: ActivityRead| (read.reader, read.reader_name, read.requests);
        reads.into_iter().map(name).collect::<Vec<_>>()
    };
    let by_key =
        |name: &str, requests: i64| (Reader::Key("key_1".into()), Some(name.to_owned()), requests);
    let person = (Reader::Person, None, 1);
    let program = (Reader::Program("g1".to_owned()), None, 1);
    assert_eq!(told().await, [by_key("program", 2), person.clone(), program.clone()]);
    // The name of a key is that of its first read on a day; that of its person is today's.
    group.sql("UPDATE api_keys SET name = 'renamed'").await;
    read(&group, &key, ReadAction::Search).await;
    assert_eq!(told().await, [by_key("program", 3), person.clone(), program.clone()]);
    group.hands.advance(DAY);
    read(&group, &key, ReadAction::Search).await;
    let both = [by_key("renamed", 1), by_key("program", 3), person, program];
    assert_eq!(told().await, both, "the newest day first");
    call(&group, &[(OTHER, "Bella")]).await;
    let (reads, _) = log.reads(&access, &every(None)).await.unwrap();
    assert!(reads.iter().all(|read| read.by.display_name.as_deref() == Some("Bella")), "{reads:?}");
}

/// Returns all pages of the changes that a query asks for.
async fn changes(group: &Group, query: &ActivityLogQuery<ChangeKind>) -> Vec<ActivityChange> {
    let (log, access) = (service(group, Tz::UTC), owner_of(group, GROUP).await);
    let (mut query, mut all) = (query.clone(), Vec::new());
    loop {
        let (page, next) = log.changes(&access, &query).await.unwrap();
        all.extend(page);
        query.cursor = next;
        if query.cursor.is_none() {
            return all;
        }
    }
}

/// Returns all pages of the reads that a query asks for.
async fn reads(group: &Group, query: &ActivityLogQuery<ReadAction>) -> Vec<ActivityRead> {
    let (log, access) = (service(group, Tz::UTC), owner_of(group, GROUP).await);
    let (mut query, mut all) = (query.clone(), Vec::new());
    loop {
        let (page, next) = log.reads(&access, &query).await.unwrap();
        all.extend(page);
        query.cursor = next;
        if query.cursor.is_none() {
            return all;
        }
    }
}

const USERS: [Option<&str>; 5] = [None, Some(OWNER), Some(OTHER), Some("U3"), Some("U")];
const DAYS: [Option<&str>; 4] = [None, Some("1970-01-01"), Some("1970-01-02"), Some("1970-01-03")];
/// Limits of pages.
const LIMITS: [u32; 3] = [1, 4, 100];

#[tokio::test]
async fn a_part_of_the_changes_is_those_of_the_whole_that_fit() {
    let group = Group::new().await;
    let channel = ChannelId::from(GROUP);
    let authors = [OWNER, OTHER, "U3", "U3", OTHER].into_iter().cycle();
    for (step, by) in (0_u32..30).zip(authors) {
        // Several happen in one moment.
        if step.is_multiple_of(4) {
            group.hands.advance(Duration::from_hours(8));
        }
        if step.is_multiple_of(2) {
            set_retention(&group, step + 1, by).await;
        } else {
            let (keep, now, by) = (step % 4 == 1, group.clock.now(), UserId::from(by));
            group.store.channels().set_earlier_texts(&channel, keep, &by, now).await.unwrap();
        }
    }
    let whole = changes(&group, &every(None)).await;
    assert!((29..=31).contains(&whole.len()), "{}", whole.len());
    let order = |change: &ActivityChange| (change.at, change.id);
    assert!(whole.is_sorted_by(|a, b| order(a) > order(b)), "the newest first, each once");
    for kind in [None, Some(ChangeKind::Retention), Some(ChangeKind::Role)] {
        for (user, date) in USERS.iter().flat_map(|user| DAYS.map(|day| (*user, day))) {
            let begin = date.map(|day| time(&format!("{day}T00:00:00Z")));
            let fits = |change: &&ActivityChange| {
                kind.is_none_or(|kind| change.kind == kind)
                    && user.is_none_or(|user| change.by.user.as_str() == user)
                    && begin.is_none_or(|begin| change.at.utc_day() == begin)
            };
            let expected: Vec<_> = whole.iter().filter(fits).cloned().collect();
            for limit in LIMITS {
                let (user, day) = (user.map(UserId::from), date.map(day));
                let query = ActivityLogQuery { user, day, limit, ..every(kind) };
                assert_eq!(changes(&group, &query).await, expected, "{query:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_part_of_the_reads_is_those_of_the_whole_that_fit() {
    let group = Group::new().await;
    let channel = ChannelId::from(GROUP);
    let readers = [Reader::Person, Reader::Key("k1".into()), Reader::Key("k2".into())];
    let actions = [ReadAction::List, ReadAction::Open, ReadAction::Search];
    for _ in 0..3 {
        for (user, number) in [(OWNER, 1), (OTHER, 2), ("U3", 3)] {
            for (reader, action) in
                readers[..number].iter().flat_map(|one| actions.map(|a| (one, a)))
            {
                let (user, now) = (UserId::from(user), group.clock.now());
                group.store.activity_log().note_read(&channel, (&user, reader), action, now);
            }
        }
        group.store.activity_log().write_reads().await.unwrap();
        group.hands.advance(DAY);
    }
    let whole = reads(&group, &every(None)).await;
    assert_eq!(whole.len(), 3 * (1 + 2 + 3) * actions.len());
    assert!(whole.is_sorted_by(|a, b| a.day >= b.day), "the newest day first");
    for kind in [None, Some(ReadAction::Open), Some(ReadAction::Export)] {
        for (user, date) in USERS.iter().flat_map(|user| DAYS.map(|day| (*user, day))) {
            let begin = date.map(|day| time(&format!("{day}T00:00:00Z")));
            let fits = |read: &&ActivityRead| {
                kind.is_none_or(|kind| read.action == kind)
                    && user.is_none_or(|user| read.by.user.as_str() == user)
                    && begin.is_none_or(|begin| read.day == begin)
            };
            let expected: Vec<_> = whole.iter().filter(fits).cloned().collect();
            for limit in LIMITS {
                let (user, day) = (user.map(UserId::from), date.map(day));
                let query = ActivityLogQuery { user, day, limit, ..every(kind) };
                assert_eq!(reads(&group, &query).await, expected, "{query:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_cursor_serves_the_part_of_the_log_that_it_was_made_for() {
    let group = Group::new().await;
    establish(&group, "C2", &[OWNER]).await;
    for days in 1..=3 {
        set_retention(&group, days, OWNER).await;
    }
    let (log, access) = (service(&group, Tz::UTC), owner_of(&group, GROUP).await);
    let first = || ActivityLogQuery { limit: 1, ..every(None) };
    let (_, cursor) = log.changes(&access, &first()).await.unwrap();
    assert!(cursor.is_some());
    let next = ActivityLogQuery { cursor: cursor.clone(), ..first() };
    assert_eq!(log.changes(&access, &next).await.unwrap().0[0].after.as_deref(), Some("2"));
    let longer = ActivityLogQuery { limit: 9, ..next.clone() };
    assert_eq!(log.changes(&access, &longer).await.unwrap().0.len(), 3, "of another length");
    for other in [
        ActivityLogQuery { kind: Some(ChangeKind::Retention), ..next.clone() },
        ActivityLogQuery { user: Some(OWNER.into()), ..next.clone() },
        ActivityLogQuery { day: Some(day("1970-01-01")), ..next.clone() },
        ActivityLogQuery { cursor: Some(String::new()), ..next.clone() },
    ] {
        assert_eq!(refused_at(log.changes(&access, &other).await), "cursor", "{other:?}");
    }
    let elsewhere = owner_of(&group, "C2").await;
    assert_eq!(refused_at(log.changes(&elsewhere, &next).await), "cursor");
    let reads = ActivityLogQuery { cursor, ..every(None) };
    assert_eq!(refused_at(log.reads(&access, &reads).await), "cursor");
}

#[tokio::test]
async fn a_reader_of_pseudonyms_gets_no_activity_log() {
    let group = Group::new().await;
    let mask = Mask::of(&PseudonymKey::new([7; 32]), &[(OWNER.into(), None)]).unwrap();
    let masked = Caller { mask, ..caller(OWNER) };
    let access = group.access.channel::<Owner, ReadMembers>(masked, GROUP.into()).await.unwrap();
    let log = service(&group, Tz::UTC);
    let refused = Some(ServiceError::PseudonymousKey);
    assert_eq!(log.changes(&access, &every(None)).await.err(), refused);
    assert_eq!(log.reads(&access, &every(None)).await.err(), refused);
}
