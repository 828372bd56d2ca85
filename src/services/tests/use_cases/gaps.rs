//! Gaps of pages and of many channels: together they tell of the whole time that was asked for.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::{DAY, Timestamp};
use chatkeep_store::{Gap, GapReason, Order};
use chatkeep_view::when::When;
use chrono_tz::Tz;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{arrive, at, bounded, establish, keep, said, since};
use crate::Caller;
use crate::access::{ChannelAccess, Member, ReadMessages};
use crate::gaps::{ChannelGaps, TimeSpan};
use crate::messages::{MessageQuery, MessageService};

fn messages(group: &Group) -> MessageService {
    MessageService::new(group.store.clone(), Tz::UTC)
}

async fn reader(group: &Group, caller: Caller) -> ChannelAccess<Member, ReadMessages> {
    group.access.channel(caller, GROUP.into()).await.unwrap()
}

fn span(from: Option<i64>, to: Option<i64>) -> TimeSpan {
    TimeSpan { from: from.map(at), to: to.map(at) }
}

fn query(order: Order, limit: u32, (from, to): (Option<&str>, Option<&str>)) -> MessageQuery {
    let when = |text: &str| When::parse(text).unwrap();
    MessageQuery { from: from.map(when), to: to.map(when), ..MessageQuery::all(order, limit) }
}

/// Returns the times of all pages of a list, and the numbers of their messages.
async fn pages(group: &Group, caller: Caller, mut query: MessageQuery) -> Vec<(TimeSpan, usize)> {
    let (access, service) = (reader(group, caller).await, messages(group));
    let mut pages = Vec::new();
    loop {
        let page = service.page(&access, &query).await.unwrap();
        let (from, to) = (page.span.from, page.span.to);
        for message in &page.messages {
            let is_within = from.is_none_or(|from| from <= message.sent_at)
                && to.is_none_or(|to| message.sent_at <= to);
            assert!(is_within, "{:?} in {:?}", message.sent_at, page.span);
        }
        pages.push((page.span, page.messages.len()));
        query.cursor = page.next;
        if query.cursor.is_none() {
            return pages;
        }
    }
}

#[tokio::test]
async fn the_times_of_all_pages_together_are_the_time_that_was_asked_for() {
    let group = Group::new().await;
    // Several of one moment, too.
    for (number, second) in (1..).zip([1, 2, 2, 2, 3, 5, 8]) {
        keep(&group, &[said(GROUP, &format!("m{number}"), OTHER, at(1_000 * second), "x")]).await;
    }
    let late = bounded(OWNER, since(at(2_000)));
    let [early, end] = ["1970-01-01T00:00:02Z", "1970-01-01T00:00:06Z"].map(Some);
    for (caller, times, whole, count) in [
        (caller(OWNER), (None, None), span(None, None), 7),
        (caller(OWNER), (early, None), span(Some(2_000), None), 6),
        (caller(OWNER), (early, end), span(Some(2_000), Some(6_000)), 5),
        (late.clone(), (None, end), span(None, Some(6_000)), 5),
        (late.clone(), (early, end), span(Some(2_000), Some(6_000)), 5),
        (late, (None, None), span(None, None), 6),
    ] {
        for limit in [1, 2, 3, 6, 7, 100] {
            let asked = format!("{times:?} by {limit}");
            let query = |order| query(order, limit, times);
            let forward = pages(&group, caller.clone(), query(Order::Ascending)).await;
            let back = pages(&group, caller.clone(), query(Order::Descending)).await;
            let total =
                |pages: &[(TimeSpan, usize)]| pages.iter().map(|page| page.1).sum::<usize>();
            assert_eq!((total(&forward), total(&back)), (count, count), "{asked}");
            for pair in forward.windows(2) {
                assert_eq!(pair[0].0.to, pair[1].0.from, "{asked}");
            }
            for pair in back.windows(2) {
                assert_eq!(pair[0].0.from, pair[1].0.to, "{asked}");
            }
            let ends = |first: &(TimeSpan, usize), last: &(TimeSpan, usize)| TimeSpan {
                from: first.0.from,
                to: last.0.to,
            };
            assert_eq!(ends(&forward[0], &forward[forward.len() - 1]), whole, "{asked}");
            assert_eq!(ends(&back[back.len() - 1], &back[0]), whole, "{asked}");
        }
    }
}

#[test]
fn the_common_part_of_two_times_is_in_both() {
    let ends = [None, Some(1), Some(2), Some(3)];
    let inside = |span: TimeSpan, time: i64| {
        span.from.is_none_or(|from| from <= at(time)) && span.to.is_none_or(|to| at(time) < to)
    };
    for (one_from, one_to) in ends.iter().flat_map(|from| ends.map(|to| (*from, to))) {
        for (from, to) in ends.iter().flat_map(|from| ends.map(|to| (*from, to))) {
            let (one, other) = (span(one_from, one_to), span(from, to));
            let both = one.within((other.from, other.to));
            for time in 0..=4 {
                let expected = inside(one, time) && inside(other, time);
                assert_eq!(inside(both, time), expected, "{one:?} {other:?} at {time}");
            }
        }
    }
}

/// Returns a group with gaps: of seven messages from second 2,000 to 5,000, and of a moment each
/// with nothing and with something missing.
pub(super) async fn with_gaps() -> Group {
    let group = Group::new().await;
    for gap in [
        "INSERT INTO gaps (channel_id, from_at, to_at, reason, skipped)
         VALUES ('C1', 2000000, 5000000, 'quota', 7)",
        "INSERT INTO gaps (channel_id, from_at, to_at, reason, skipped)
         VALUES ('C1', 6000000, 6000999, 'quota', 0)",
        "INSERT INTO gaps (channel_id, from_at, to_at, reason, skipped)
         VALUES ('C1', 7000000, 7000001, 'quota', 1)",
    ] {
        group.sql(gap).await;
    }
    group.hands.set(at(9_000_000));
    group
}

const fn gap(from: i64, to: i64, skipped: Option<i64>) -> Gap {
    Gap { from: at(from), to: Some(at(to)), reason: GapReason::Quota, skipped }
}

#[tokio::test]
async fn of_a_gap_a_reader_is_told_the_part_that_they_may_read() {
    let group = with_gaps().await;
    let moment = gap(7_000_000, 7_000_001, Some(1));
    let all = span(Some(1_500_000), None);
    for (bounds, span, expected) in [
        (Bounds::full(), all, vec![gap(2_000_000, 5_000_000, Some(7)), moment.clone()]),
        // How many of them were sent since then nobody knows.
        (since(at(2_000_001)), all, vec![gap(2_000_001, 5_000_000, None), moment.clone()]),
        (since(at(2_000_000)), all, vec![gap(2_000_000, 5_000_000, Some(7)), moment.clone()]),
        (since(at(5_000_000)), all, vec![moment.clone()]),
        (since(at(7_000_001)), all, vec![]),
        (Bounds::full(), span(Some(5_000_001), Some(7_000_000)), vec![]),
        (
            Bounds::full(),
            span(Some(3_000_000), Some(4_000_000)),
            vec![gap(2_000_000, 5_000_000, Some(7))],
        ),
        (Bounds::full(), span(None, Some(2_000_000)), vec![]),
    ] {
        let (service, channel) = (messages(&group), GROUP.into());
        let found = service.gaps(&bounds, &channel, span).await.unwrap();
        assert_eq!(found, expected, "{bounds:?} {span:?}");
        let each = service.each_gap(&bounds, &channel, span).await.unwrap();
        assert_eq!(each, expected, "nobody has opted out");
        let of_many = service.gaps_of(&bounds, &[channel], span).await.unwrap();
        let of_many: Vec<_> = of_many.of.into_iter().flat_map(|(_, gaps)| gaps).collect();
        assert_eq!(of_many, expected, "{bounds:?} {span:?}");
    }
}

#[tokio::test]
async fn days_of_people_who_opted_out_are_one_gap_but_in_lists() {
    let group = Group::new().await;
    let (user, channel) = (OTHER.into(), ChannelId::from(GROUP));
    let begin = at(0).plus(DAY * 10);
    group.hands.set(begin);
    let members = group.store.members();
    members.set_opted_out(&user, Some(&channel), true, || begin).await.unwrap();
    for (number, day) in (1..).zip([11_u32, 11, 12, 15]) {
        let sent = at(0).plus(DAY * day + Duration::from_hours(3));
        group.hands.set(sent);
        keep(&group, &[said(GROUP, &format!("m{number}"), OTHER, sent, "not kept")]).await;
    }
    let (service, all) = (messages(&group), TimeSpan { from: Some(begin), to: None });
    let days = |gaps: Vec<Gap>| {
        let day = |at: Timestamp| at.since(Timestamp::default()).as_secs() / DAY.as_secs();
        let shown = gaps.into_iter().map(|gap| (day(gap.from), gap.to.map(day), gap.skipped));
        shown.collect::<Vec<_>>()
    };
    let joined = service.gaps(&Bounds::full(), &channel, all).await.unwrap();
    assert_eq!(days(joined), [(11, Some(16), Some(4))]);
    let each = service.each_gap(&Bounds::full(), &channel, all).await.unwrap();
    let expected = [(11, Some(12), Some(2)), (12, Some(13), Some(1)), (15, Some(16), Some(1))];
    assert_eq!(days(each), expected);
    // A reader from the middle of a day on is not told how many of it there are.
    let noon = since(at(0).plus(DAY * 11 + Duration::from_hours(12)));
    let joined = service.gaps(&noon, &channel, all).await.unwrap();
    assert_eq!(days(joined), [(11, Some(16), None)]);
}

async fn gaps_of(group: &Group, bounds: &Bounds, ids: &[ChannelId], span: TimeSpan) -> ChannelGaps {
    messages(group).gaps_of(bounds, ids, span).await.unwrap()
}

#[tokio::test]
async fn of_a_time_that_may_not_be_read_nothing_else_is_told() {
    let group = with_gaps().await;
    let ids = [GROUP.into()];
    let (start, bounds) = (at(5_500_000), since(at(5_500_000)));
    for (span, is_told, is_all) in [
        (span(None, None), true, false),
        (span(Some(5_499_999), None), true, false),
        // It begins with what they may read, not before it.
        (span(Some(5_500_000), None), false, false),
        (span(Some(5_500_001), None), false, false),
        (span(None, Some(5_500_000)), true, true),
        (span(Some(5_500_000), Some(5_500_000)), false, true),
        (span(Some(1), Some(2)), true, true),
    ] {
        let found = gaps_of(&group, &bounds, &ids, span).await;
        assert_eq!(found.unreadable, is_told.then_some(start), "{span:?}");
        let rest = found.of.len() + found.removed.len() + found.begun.len();
        assert_eq!(rest == 0, is_all, "{span:?} {found:?}");
    }
    let full = gaps_of(&group, &Bounds::full(), &ids, span(None, None)).await;
    assert_eq!(full.unreadable, None);
}

#[tokio::test]
async fn the_time_before_a_backup_is_told_by_what_was_imported_of_it() {
    let group = Group::new().await;
    group.hands.set(at(5_000_000));
    establish(&group, "C2", &[OWNER]).await;
    arrive(&group, "C3", &[OWNER]).await;
    keep(&group, &[said("C2", "m1", OWNER, at(3_000_000), "imported")]).await;
    let ids = ["C2", "C3", "Cnone"].map(ChannelId::from);
    let told = async |from: Option<i64>, to: Option<i64>| {
        let found = gaps_of(&group, &Bounds::full(), &ids, span(from, to)).await;
        let show = |all: Vec<(ChannelId, Timestamp)>| {
            let shown = all.into_iter().map(|(id, at)| format!("{id} {}", at.millis() / 1_000));
            shown.collect::<Vec<_>>()
        };
        (show(found.imported), show(found.begun))
    };
    let (imported, none) = (vec!["C2 5000".to_owned()], Vec::<String>::new());
    let begun = vec!["C3 5000".to_owned()];
    assert_eq!(told(None, None).await, (imported.clone(), begun.clone()));
    assert_eq!(told(Some(4_999_999), None).await, (imported, begun.clone()));
    assert_eq!(told(Some(5_000_000), None).await, (none.clone(), none.clone()));
    // Before the first imported message there is nothing.
    let both = vec!["C2 3000".to_owned(), "C3 5000".to_owned()];
    assert_eq!(told(None, Some(3_000_000)).await, (none, both));
}

#[tokio::test]
async fn more_than_a_thousand_channels_are_not_examined_and_that_is_told() {
    let group = with_gaps().await;
    let mut ids: Vec<_> = (0..1_001).map(|number| ChannelId::new(format!("C9{number}"))).collect();
    let all = span(Some(1_500_000), None);
    ids.push(GROUP.into());
    let found = gaps_of(&group, &Bounds::full(), &ids, all).await;
    assert_eq!((found.unexamined, found.of.len()), (2, 0), "the last ones");
    ids.swap(999, 1_001);
    let found = gaps_of(&group, &Bounds::full(), &ids, all).await;
    assert_eq!((found.unexamined, found.of.len()), (2, 1));
    let found = gaps_of(&group, &Bounds::full(), &ids[..1_000], all).await;
    assert_eq!((found.unexamined, found.of.len()), (0, 1));
}
