//! Pages of messages: each has its part, all of them have everything once, and no more than the
//! reader may see.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{MessageId, UserId};
use chatkeep_core::message::{Content, MediaInfo, MessageType};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Order, StoredMessage};
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::when::When;
use chrono_tz::Tz;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::conversation::{access, message, refusal, store, text, texts, time};
use crate::access::{ChannelAccess, Member, ReadMessages};
use crate::gaps::TimeSpan;
use crate::messages::{MessagePage, MessageQuery, MessageService};
use crate::{Caller, FieldPath, ServiceError};

const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];

type Reader = ChannelAccess<Member, ReadMessages>;

/// Group with messages, several of them of the same moment, and ids in no order.
struct Talk {
    group: Group,
    messages: MessageService,
    reader: Reader,
    /// Moment of the first message.
    begin: Timestamp,
    /// Time, sender, and id of each message, oldest first.
    all: Vec<(Timestamp, &'static str, String)>,
}

impl Talk {
    async fn new() -> Self {
        let group = Group::new().await;
        group.hands.set(time("2026-06-01T00:00:00Z"));
        let begin = time("2026-05-01T00:00:00Z");
        let mut all: Vec<_> = (0..23_u64)
            .map(|nth| {
                let at = begin.plus(Duration::from_secs(nth / 3));
                let sender = if nth % 4 == 0 { OTHER } else { OWNER };
                (at, sender, format!("m{}", (nth * 7) % 23))
            })
            .collect();
        let picture = Content::Image(MediaInfo::default());
        let changes: Vec<_> = all
            .iter()
            .enumerate()
            .map(|(nth, (at, sender, id))| {
                let text = Content::text(format!("text {nth}"));
                let content = if nth % 5 == 0 { &picture } else { &text };
                message(id, Some(*sender), *at, content)
            })
            .collect();
        store(&group, &changes).await;
        all.sort_by(|one, other| (one.0, &one.2).cmp(&(other.0, &other.2)));
        let messages = MessageService::new(group.store.clone(), Tz::UTC);
        let reader = access(&group, caller(OWNER)).await;
        Self { group, messages, reader, begin, all }
    }

    /// Returns the ids of all messages in that order.
    fn ids(&self, order: Order) -> Vec<&str> {
        let ids = self.all.iter().map(|(.., id)| id.as_str());
        match order {
            Order::Ascending => ids.collect(),
            Order::Descending => ids.rev().collect(),
        }
    }

    async fn page(&self, query: &MessageQuery) -> MessagePage {
        self.messages.page(&self.reader, query).await.unwrap()
    }

    /// Returns a page and all that follow it.
    async fn pages(&self, mut query: MessageQuery) -> Vec<MessagePage> {
        let mut pages = Vec::new();
        loop {
            let page = self.page(&query).await;
            query.cursor.clone_from(&page.next);
            pages.push(page);
            if query.cursor.is_none() {
                return pages;
            }
        }
    }

    async fn since(&self, earliest: Timestamp) -> Reader {
        let bounds = Bounds { not_before: Some(earliest), ..Bounds::full() };
        access(&self.group, Caller { bounds, ..caller(OWNER) }).await
    }
}

fn ids(messages: &[Masked<StoredMessage>]) -> Vec<&str> {
    texts(messages.iter().map(|message| &message.id))
}

fn all_ids(pages: &[MessagePage]) -> Vec<&str> {
    pages.iter().flat_map(|page| ids(&page.messages)).collect()
}

fn when(text: &str) -> When {
    When::parse(text).unwrap()
}

#[tokio::test]
async fn pages_of_any_size_have_every_message_once_in_order() {
    let talk = Talk::new().await;
    for order in ORDERS {
        for limit in [1, 2, 3, 22, 23, 24, 100] {
            let pages = talk.pages(MessageQuery::all(order, limit)).await;
            assert_eq!(all_ids(&pages), talk.ids(order), "{order:?} {limit}");
            let full = pages.iter().rev().skip(1);
            assert!(full.map(|page| page.messages.len()).all(|len| len == limit as usize));
            // The times of the pages join each other, and are those that were asked for.
            let spans = pages.iter().map(|page| page.span).collect::<Vec<_>>();
            let joined = spans.windows(2).all(|two| match order {
                Order::Ascending => two[0].to == two[1].from,
                Order::Descending => two[0].from == two[1].to,
            });
            let (first, last) = (spans[0], spans[spans.len() - 1]);
            let ends = match order {
                Order::Ascending => (first.from, last.to),
                Order::Descending => (last.from, first.to),
            };
            assert!(joined && ends == (None, None), "{order:?} {limit}: {spans:?}");
        }
    }
}

#[tokio::test]
async fn filters_choose_the_same_messages_whatever_the_page_and_the_order() {
    let talk = Talk::new().await;
    let (from, to) =
        (talk.begin.plus(Duration::from_secs(2)), talk.begin.plus(Duration::from_secs(6)));
    let within = |at: Timestamp| from <= at && at < to;
    let of = |chosen: &dyn Fn(&(Timestamp, &'static str, String)) -> bool| -> Vec<String> {
        talk.all.iter().filter(|one| chosen(one)).map(|(.., id)| id.clone()).collect()
    };
    let asked = |sender: Option<&str>, is_within: bool| MessageQuery {
        sender: sender.map(UserId::from),
        from: is_within.then(|| when(&from.to_string())),
        to: is_within.then(|| when(&to.to_string())),
        ..MessageQuery::all(Order::Ascending, 2)
    };
    for (query, expected) in [
        (asked(Some(OTHER), false), of(&|one| one.1 == OTHER)),
        (asked(None, true), of(&|one| within(one.0))),
        (asked(Some("ME"), true), of(&|one| one.1 == OWNER && within(one.0))),
        (asked(Some("U99"), false), Vec::new()),
    ] {
        assert_eq!(all_ids(&talk.pages(query.clone()).await), expected);
        let newest = MessageQuery { order: Order::Descending, limit: 3, ..query };
        let pages = talk.pages(newest).await;
        let found: Vec<_> = all_ids(&pages).into_iter().rev().collect();
        assert_eq!(found, expected);
    }
    let pictures =
        MessageQuery { kind: Some(MessageType::Image), ..MessageQuery::all(Order::Descending, 2) };
    let texts =
        MessageQuery { kind: Some(MessageType::Text), ..MessageQuery::all(Order::Descending, 4) };
    let (pictures, texts) = (talk.pages(pictures).await, talk.pages(texts).await);
    assert_eq!((all_ids(&pictures).len(), all_ids(&texts).len()), (5, 18));
    let mut both = [all_ids(&pictures), all_ids(&texts)].concat();
    both.sort_unstable();
    let mut all = talk.ids(Order::Ascending);
    all.sort_unstable();
    assert_eq!(both, all, "each has one type");
}

#[tokio::test]
async fn a_page_around_any_message_has_it_and_goes_on_to_the_end() {
    let talk = Talk::new().await;
    for order in ORDERS {
        let all = talk.ids(order);
        for (place, id) in all.iter().enumerate() {
            for limit in 1..6 {
                let around = MessageQuery {
                    around: Some((*id).to_owned()),
                    ..MessageQuery::all(order, limit)
                };
                let pages = talk.pages(around).await;
                let (found, first) = (all_ids(&pages), &pages[0]);
                let begin = all.iter().position(|one| *one == found[0]).unwrap();
                assert_eq!(found, all[begin..], "{order:?} {id} {limit}");
                let there = ids(&first.messages);
                assert!(there.len() <= limit as usize && there.contains(id), "{there:?}");
                // The message itself stands on the older side of the position.
                let own = place - begin;
                let expected = match order {
                    Order::Ascending => own + 1,
                    Order::Descending => own,
                };
                assert_eq!(first.position, expected, "{order:?} {id} {limit}");
            }
        }
    }
}

#[tokio::test]
async fn a_page_around_a_time_stands_between_what_was_sent_before_and_then() {
    let talk = Talk::new().await;
    for order in ORDERS {
        for seconds in 0..9 {
            let at = talk.begin.plus(Duration::from_secs(seconds));
            let around =
                MessageQuery { around: Some(at.to_string()), ..MessageQuery::all(order, 6) };
            let page = talk.page(&around).await;
            let is_later = |message: &StoredMessage| message.sent_at >= at;
            let (one, other) = page.messages.split_at(page.position);
            let (older, newer) = match order {
                Order::Ascending => (one, other),
                Order::Descending => (other, one),
            };
            assert!(newer.iter().all(|message| is_later(message)), "{order:?} {seconds}");
            assert!(!older.iter().any(|message| is_later(message)), "{order:?} {seconds}");
            assert_eq!(older.len(), talk.all.iter().filter(|one| one.0 < at).count().min(3));
            assert_eq!(newer.len(), talk.all.iter().filter(|one| one.0 >= at).count().min(3));
        }
    }
}

#[tokio::test]
async fn a_cursor_serves_the_same_filters_alone() {
    let talk = Talk::new().await;
    let query = || MessageQuery::all(Order::Descending, 5);
    let first = talk.page(&query()).await;
    let last = first.messages.last().unwrap();
    assert_eq!(first.next, query().cursor_after(last), "two ways to the same");
    let next = || first.next.clone();
    for other in [
        MessageQuery { order: Order::Ascending, ..query() },
        MessageQuery { date: Some("2026-05-01".parse().unwrap()), ..query() },
        MessageQuery { from: Some(when("2026-01-01")), ..query() },
        MessageQuery { to: Some(when("2027-01-01")), ..query() },
        MessageQuery { sender: Some("me".into()), ..query() },
        MessageQuery { kind: Some(MessageType::Text), ..query() },
    ] {
        let other = MessageQuery { cursor: next(), ..other };
        let refused = talk.messages.page(&talk.reader, &other).await;
        assert_eq!(refusal(refused).0, "cursor", "{other:?}");
    }
    // Another size is the same list, and the place to begin at is that of the first page alone.
    let rest = talk.page(&MessageQuery { cursor: next(), limit: 100, ..query() }).await;
    assert_eq!(ids(&rest.messages), talk.ids(Order::Descending)[5..]);
    let again = MessageQuery { cursor: next(), around: Some("m0".to_owned()), ..query() };
    assert_eq!(ids(&talk.page(&again).await.messages), talk.ids(Order::Descending)[5..10]);
}

#[tokio::test]
async fn nothing_older_than_a_reader_may_read_is_there_in_any_way() {
    let talk = Talk::new().await;
    let earliest = talk.begin.plus(Duration::from_secs(4));
    let (reader, messages) = (talk.since(earliest).await, &talk.messages);
    let (old, new): (Vec<_>, Vec<_>) = talk.all.iter().partition(|one| one.0 < earliest);
    let readable: Vec<_> = new.iter().map(|one| one.2.as_str()).collect();
    let all = messages.page(&reader, &MessageQuery::all(Order::Ascending, 100)).await.unwrap();
    assert_eq!(ids(&all.messages), readable);
    // Of the rest of the time that was asked for, the gaps say that they may not read it.
    assert_eq!((all.span, all.requested), (TimeSpan::default(), TimeSpan::default()));
    for (.., id) in &old {
        let id = MessageId::from(id.as_str());
        assert_eq!(messages.one(&reader, &id).await.unwrap_err(), ServiceError::NotFound);
        let around = Some(id.as_str().to_owned());
        let around = MessageQuery { around, ..MessageQuery::all(Order::Ascending, 5) };
        let refused = messages.page(&reader, &around).await;
        assert_eq!(refused.unwrap_err(), ServiceError::NotFound, "as one that is not stored");
    }
    for (.., id) in &new {
        assert!(messages.one(&reader, &id.as_str().into()).await.is_ok());
    }
    // A time from before leads to the first that may be read.
    let around = Some(talk.begin.to_string());
    let around = MessageQuery { around, ..MessageQuery::all(Order::Ascending, 4) };
    let page = messages.page(&reader, &around).await.unwrap();
    assert_eq!(ids(&page.messages), readable[..2]);
    let wanted = talk.all.iter().map(|one| MessageId::from(one.2.as_str()));
    let several = messages.several(&reader, wanted.chain(["gone".into()])).await.unwrap();
    let mut found = ids(&several);
    let mut expected = readable;
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_day_is_that_of_the_channel_also_when_its_clocks_change() {
    let talk = Talk::new().await;
    let (group, messages) = (&talk.group, &talk.messages);
    for (zone, day, from, to) in [
        ("America/New_York", "2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"),
        ("Asia/Taipei", "2024-02-29", "2024-02-28T16:00:00Z", "2024-02-29T16:00:00Z"),
        ("Asia/Beirut", "2025-03-30", "2025-03-29T22:00:00Z", "2025-03-30T21:00:00Z"),
    ] {
        let now = group.clock.now();
        let channels = group.store.channels();
        channels.set_time_zone(&GROUP.into(), Some(zone), &OWNER.into(), now).await.unwrap();
        let (from, to, moment) = (time(from), time(to), Duration::from_millis(1));
        let at = [from.minus(moment), from, to.minus(moment), to];
        let named = ["before", "first", "last", "after"].map(|name| format!("{name} {day}"));
        let said: Vec<_> = named.iter().zip(at).map(|(id, at)| text(id, at, id)).collect();
        store(group, &said).await;
        let of_day = MessageQuery {
            date: Some(day.parse().unwrap()),
            ..MessageQuery::all(Order::Ascending, 9)
        };
        let page = talk.page(&of_day).await;
        assert_eq!(ids(&page.messages), named[1..3], "{zone}");
        assert_eq!(page.requested, TimeSpan { from: Some(from), to: Some(to) });
        // A local day as a bound is the same moment, and a narrower bound counts.
        let since = MessageQuery {
            from: Some(when(day)),
            to: Some(when(&to.to_string())),
            date: None,
            ..of_day
        };
        assert_eq!(ids(&talk.page(&since).await.messages), named[1..3]);
        let narrow = MessageQuery {
            date: Some(day.parse().unwrap()),
            from: Some(when(&from.plus(moment).to_string())),
            ..MessageQuery::all(Order::Ascending, 9)
        };
        assert_eq!(ids(&talk.page(&narrow).await.messages), named[2..3]);
        assert_eq!(messages.zone(Some(&GROUP.into())).await, Ok(zone.parse().unwrap()));
        assert_eq!(messages.zone(None).await, Ok(Tz::UTC), "of many channels the service's");
    }
    let unknown = messages.zone(Some(&"C9".into())).await;
    assert_eq!(unknown, Err(ServiceError::PermissionDenied));
    let moment = messages.moment(None, FieldPath::FROM, Some(when("2026-01-02"))).await;
    assert_eq!(moment, Ok(Some(time("2026-01-02T00:00:00Z"))));
}
