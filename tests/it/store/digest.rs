//! Digests: after any history each of their numbers is that of a count of all messages.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::{Content, Mention, MessageChange, MessageType};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    ChannelChange, DigestKey, DigestScope, MessageEvent, MessageFilter, Order,
    PresenceEvidenceKind, StoredMessage,
};

use super::{Fixture, at, edited, item, on_both, said, unsent};

on_both!(
    every_number_is_that_of_a_count,
    limits_leave_what_they_say,
    questions_are_answered_by_others_alone,
    moves_of_people_who_opted_out_are_not_told,
);

const QUARTER: i64 = 900_000;
const HOUR: i64 = 4 * QUARTER;
const DAY: i64 = 24 * HOUR;
/// 2026-01-01.
const START: i64 = 20_454 * DAY;
/// Length of a history.
const DAYS: i64 = 12;
const PEOPLE: [&str; 5] = ["U1", "U2", "U3", "U4", "U5"];
/// A digest is about the first two of them.
const CHANNELS: [&str; 3] = ["C1", "C2", "C3"];
const TEXTS: [&str; 8] = [
    "hello",
    "where do we meet?",
    "see https://a.example/x",
    "好嗎",
    "明日は来ますか https://b.example",
    "ไปไหม",
    "thanks",
    "看？",
];

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn time(&mut self) -> i64 {
        START + i64::try_from(self.below(usize::try_from(DAYS * DAY).unwrap())).unwrap()
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

fn received(numbers: &mut Numbers, n: usize) -> ChannelChange {
    let (channel, time) = (numbers.one(&CHANNELS), numbers.time());
    let mut change = said(channel, &format!("m{n}"), time, "x");
    let MessageChange::Received(received) = &mut change.change else { unreachable!() };
    received.sender = (numbers.below(12) > 0).then(|| numbers.one(&PEOPLE).into());
    received.is_bot = numbers.below(10) == 0;
    received.quoted = (numbers.below(4) == 0).then(|| format!("m{}", numbers.below(n + 1)).into());
    received.kind = match numbers.below(8) {
        0 => MessageType::Image,
        1 => MessageType::File,
        2 => MessageType::Sticker,
        _ => MessageType::Text,
    };
    received.content = match received.kind {
        MessageType::Text => text(numbers),
        MessageType::Sticker => r#"{"type":"sticker","packageId":"1","stickerId":"2"}"#.to_owned(),
        kind => format!(r#"{{"type":"{}","fileName":"a{n}?.pdf"}}"#, kind.name()),
    };
    change
}

fn text(numbers: &mut Numbers) -> String {
    let user_id = (numbers.below(3) > 0).then(|| UserId::from(numbers.one(&PEOPLE)));
    let mention = Mention { user_id, start: 0, length: 2, is_self: false, is_all: None };
    let mentions = if numbers.below(5) == 0 { vec![mention] } else { Vec::new() };
    let text = numbers.one(&TEXTS).to_owned();
    serde_json::to_string(&Content::Text { text, emojis: Vec::new(), mentions }).unwrap()
}

/// Stores a history: messages in disorder, repeated ones, edits and unsends, some before their
/// messages.
async fn fill(fixture: &Fixture, seed: u64) {
    for channel in CHANNELS {
        fixture.group(channel, &PEOPLE).await;
        fixture.subscribe(channel, "U1", 5).await;
    }
    let mut numbers = Numbers(seed);
    let mut changes = Vec::new();
    for n in 0..400 {
        let message = received(&mut numbers, n);
        let (channel, id) =
            (message.channel.as_str().to_owned(), message.message.as_str().to_owned());
        changes.push(message);
        match numbers.below(12) {
            0 => changes.push(unsent(&channel, &id, numbers.time())),
            1 | 2 => changes.push(edited(&channel, &id, numbers.time(), numbers.one(&TEXTS))),
            3 => {
                changes.push(edited(&channel, &id, numbers.time(), "https://c.example ?"));
                changes.push(unsent(&channel, &id, numbers.time()));
            }
            _ => {}
        }
        if numbers.below(5) == 0 {
            let at = numbers.below(changes.len());
            changes.swap(at, n.min(at));
        }
    }
    for batch in changes.chunks(37) {
        fixture.keep(batch, START + DAYS * DAY).await;
    }
}

/// Returns all messages of the channels of digests.
async fn all(fixture: &Fixture) -> Vec<StoredMessage> {
    let mut all = Vec::new();
    for channel in &CHANNELS[..2] {
        let filter =
            MessageFilter { limit: 1_000, order: Order::Descending, ..MessageFilter::default() };
        let page = fixture.store.messages().list(&(*channel).into(), &filter).await.unwrap();
        assert!(page.next.is_none());
        all.extend(page.messages);
    }
    assert!(all.iter().filter(|message| message.unsent_at.is_some()).count() > 10);
    all
}

fn channels() -> Vec<ChannelId> {
    CHANNELS[..2].iter().map(|channel| (*channel).into()).collect()
}

fn key(message: &StoredMessage) -> DigestKey {
    (message.channel.clone(), message.id.clone())
}

/// Returns live messages from that time on.
fn live(all: &[StoredMessage], from: Timestamp) -> impl Iterator<Item = &StoredMessage> {
    all.iter().filter(move |one| one.sent_at >= from && one.unsent_at.is_none())
}

/// Returns true for a text with one of the marks; that of another type that was edited into one is
/// none, which no platform does.
fn is_noted(message: &StoredMessage) -> bool {
    if message.kind != MessageType::Text {
        return false;
    }
    let Some(Content::Text { text, mentions, .. }) = &message.content else { return false };
    let marks = ["://", "?", "？", "嗎", "ますか", "ไหม"];
    !mentions.is_empty() || marks.iter().any(|mark| text.contains(mark))
}

/// Returns the messages of each person, the bot and nobody.
fn by_person(all: &[StoredMessage], from: Timestamp) -> BTreeMap<(bool, Option<String>), i64> {
    let mut people = BTreeMap::new();
    for one in live(all, from) {
        let sender = one.sender.as_ref().filter(|_| !one.is_bot);
        let sender = sender.map(|sender| sender.id.as_str().to_owned());
        *people.entry((one.is_bot, sender)).or_default() += 1;
    }
    people
}

async fn people_are_counted(fixture: &Fixture, all: &[StoredMessage], from: i64, edge: i64) {
    let channels = channels();
    let scope = DigestScope::new(&channels, at(from), None);
    let counts = fixture.store.activity().people_counts(scope, (100, edge)).await.unwrap();
    let name = |user: &UserId| user.as_str().to_owned();
    let found = counts.people.iter();
    let found: BTreeMap<_, _> =
        found.map(|one| ((one.is_bot, one.user.as_ref().map(name)), one.messages)).collect();
    assert_eq!(found, by_person(all, counts.since), "{from} {edge}");
    assert_eq!(counts.total, i64::try_from(found.len()).unwrap(), "{from}");
    let whole = edge > 100 || from % DAY == 0;
    assert!(if whole { counts.since == scope.from() } else { counts.since >= scope.from() });
    let next = from - from.rem_euclid(DAY) + DAY;
    assert!(counts.since.millis() <= next, "{from} {edge}: {}", counts.since);
    let few = fixture.store.activity().people_counts(scope, (1, edge)).await.unwrap();
    assert_eq!(few.total, counts.total, "all are counted");
    assert_eq!(few.people.len(), found.len().min(1));
}

async fn changes_are_found(fixture: &Fixture, all: &[StoredMessage], scope: DigestScope<'_>) {
    let messages = fixture.store.messages();
    for earliest in [None, Some(at(START + 4 * DAY))] {
        let sorted = |mut events: Vec<(Timestamp, DigestKey)>| {
            events.sort();
            events
        };
        let found = |events: Vec<MessageEvent>| {
            sorted(events.into_iter().map(|event| (event.at, event.key)).collect())
        };
        let readable = |one: &&StoredMessage| earliest.is_none_or(|from| one.sent_at >= from);
        let counted = |of: fn(&StoredMessage) -> Option<Timestamp>| {
            let all = all.iter().filter(readable).filter_map(|one| Some((of(one)?, key(one))));
            sorted(all.filter(|(at, _)| *at >= scope.from()).collect())
        };
        let edits = messages.edited_messages(scope, earliest, 1_000).await.unwrap();
        let live_edit = |one: &StoredMessage| one.edited_at.filter(|_| one.unsent_at.is_none());
        assert_eq!(found(edits), counted(live_edit));
        let unsends = messages.unsent_messages(scope, earliest, 1_000).await.unwrap();
        assert_eq!(found(unsends), counted(|one| one.unsent_at));
    }
    let few = messages.edited_messages(scope, None, 2).await.unwrap();
    assert!(few.len() <= 4 && few.is_sorted_by_key(|event| std::cmp::Reverse(event.at)));
}

async fn every_number_is_that_of_a_count(fixture: Fixture) {
    fill(&fixture, 7).await;
    let (all, channels) = (all(&fixture).await, channels());
    for from in [
        START - DAY,
        START + 5 * DAY,
        START + 5 * DAY + 2 * HOUR,
        START + 6 * DAY + 13 * HOUR + QUARTER + 5,
        START + 7 * DAY + 23 * HOUR + 3 * QUARTER,
        START + DAYS * DAY - HOUR,
    ] {
        let scope = DigestScope::new(&channels, at(from), None);
        assert_eq!(scope.from(), at(from - from.rem_euclid(QUARTER)));
        let totals = fixture.store.activity().message_totals(scope).await.unwrap();
        for channel in &channels {
            let own = live(&all, scope.from()).filter(|one| one.channel == *channel);
            assert_eq!(totals[channel], i64::try_from(own.count()).unwrap(), "{from} {channel}");
        }
        people_are_counted(&fixture, &all, from, 1_000).await;
        let messages = fixture.store.messages();
        for count in messages.type_counts(scope, 1_000).await.unwrap() {
            let own = live(&all, scope.from()).filter(|one| one.kind == count.kind);
            assert_eq!(count.messages, i64::try_from(own.count()).unwrap(), "{from} {count:?}");
            assert!(!count.at_least);
        }
        let noted = messages.noted_texts(scope, 1_000).await.unwrap();
        let found: BTreeSet<_> = noted.texts.iter().map(|text| text.key.clone()).collect();
        let expected = live(&all, scope.from()).filter(|one| is_noted(one)).map(key);
        assert_eq!(found, expected.collect(), "{from}");
        assert!(noted.texts.is_sorted_by_key(|text| std::cmp::Reverse(text.sent_at)));
        assert_eq!((noted.since, noted.more), (scope.from(), false));
        let files = messages.newest_of_type(scope, MessageType::File, 4).await.unwrap();
        let mut expected: Vec<_> =
            live(&all, scope.from()).filter(|one| one.kind == MessageType::File).collect();
        expected.sort_by_key(|one| std::cmp::Reverse(one.sent_at));
        assert_eq!(files, expected.into_iter().take(4).map(key).collect::<Vec<_>>(), "{from}");
        changes_are_found(&fixture, &all, scope).await;
        unanswered_are_counted(&fixture, &all, (3, HOUR * 6)).await;
    }
}

/// Compares the questions that nobody answered with a look at all messages.
async fn unanswered_are_counted(
    fixture: &Fixture,
    all: &[StoredMessage],
    (next, time): (usize, i64),
) {
    let asked: Vec<_> = all.iter().filter(|one| one.unsent_at.is_none()).map(key).collect();
    let limits = (u32::try_from(next).unwrap(), time);
    let found = fixture.store.messages().unanswered(&asked, limits).await.unwrap();
    let position = |one: &StoredMessage| (one.sent_at, one.id.clone());
    let answers = |question: &StoredMessage, one: &StoredMessage| {
        let sender = |one: &StoredMessage| one.sender.as_ref().map(|sender| sender.id.clone());
        one.unsent_at.is_none() && (one.is_bot || sender(one) != sender(question))
    };
    let mut expected = BTreeSet::new();
    for question in all.iter().filter(|one| one.unsent_at.is_none()) {
        let channel = || all.iter().filter(|one| one.channel == question.channel);
        let mut after: Vec<_> = channel()
            .filter(|one| position(one) > position(question))
            .filter(|one| one.sent_at.millis() < question.sent_at.millis() + time)
            .collect();
        after.sort_by_key(|one| position(one));
        let soon = after.iter().take(next).any(|one| answers(question, one));
        let quoted = channel()
            .any(|one| one.quoted.as_ref() == Some(&question.id) && answers(question, one));
        if !soon && !quoted {
            expected.insert(key(question));
        }
    }
    assert!(expected.len() > 5 && expected.len() < asked.len());
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
}

async fn limits_leave_what_they_say(fixture: Fixture) {
    fill(&fixture, 11).await;
    let (all, channels) = (all(&fixture).await, channels());
    for edge in [0, 2, 9] {
        for hours in [1, 6, 12, 18, 23] {
            people_are_counted(&fixture, &all, START + 6 * DAY + hours * HOUR, edge).await;
        }
    }
    let messages = fixture.store.messages();
    let scope = DigestScope::new(&channels, at(START + DAY), None);
    let noted = messages.noted_texts(scope, 7).await.unwrap();
    assert!(noted.more && noted.since > scope.from());
    for channel in &channels {
        let of = |key: &DigestKey| key.0 == *channel;
        let found: BTreeSet<_> = noted.texts.iter().map(|one| one.key.clone()).filter(of).collect();
        assert!(!found.is_empty() && found.len() <= 7);
        let complete = live(&all, noted.since).filter(|one| is_noted(one)).map(key).filter(of);
        assert!(complete.collect::<BTreeSet<_>>().is_subset(&found), "{channel}");
    }
    for count in messages.type_counts(scope, 5).await.unwrap() {
        let own = live(&all, scope.from()).filter(|one| one.kind == count.kind).count();
        let own = i64::try_from(own).unwrap();
        assert!(if count.at_least { count.messages <= own } else { count.messages == own });
        assert_eq!(count.at_least, own > 10 || count.at_least, "{count:?} of {own}");
    }
    // Nothing before the earliest time is in a digest.
    let later = DigestScope::new(&channels, at(START + DAY), Some(at(START + 2 * DAY + 1)));
    assert_eq!(later.from(), at(START + 2 * DAY + QUARTER));
}

async fn questions_are_answered_by_others_alone(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let by = |mut change: ChannelChange, user: &str, quoted: Option<&str>| {
        if let MessageChange::Received(received) = &mut change.change {
            received.sender = Some(user.into());
            received.quoted = quoted.map(Into::into);
        }
        change
    };
    let text = |id: &str, minute: i64| said("C1", id, START + minute * 60_000, "when?");
    fixture
        .keep(
            &[
                text("own", 0),
                text("more", 1),
                by(text("soon", 2), "U2", None),
                // Four of the same person, then somebody else: too late for the first.
                text("late", 10),
                text("b", 11),
                text("c", 12),
                text("d", 13),
                by(text("e", 14), "U2", None),
                // A quote counts whenever it comes, but not one's own, nor one that was unsent.
                text("quoted", 2_000),
                by(text("own quote", 2_001), "U1", Some("quoted")),
                by(text("answer", 9_000), "U2", Some("quoted")),
                by(text("gone", 9_001), "U2", Some("own quote")),
            ],
            START + DAY,
        )
        .await;
    fixture.keep(&[unsent("C1", "gone", START + DAY)], START + DAY).await;
    let keys = ["own", "soon", "late", "b", "quoted", "own quote", "nothing"]
        .map(|id| (ChannelId::from("C1"), id.into()));
    let found = fixture.store.messages().unanswered(&keys, (3, HOUR)).await.unwrap();
    let found: BTreeSet<_> = found.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(found, BTreeSet::from(["late", "own quote"]));
}

async fn moves_of_people_who_opted_out_are_not_told(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.group("C2", &["U1"]).await;
    let joined =
        |channel, user: &str, time| item(channel, time, PresenceEvidenceKind::Joined(user.into()));
    let left =
        |channel, user: &str, time| item(channel, time, PresenceEvidenceKind::Left(user.into()));
    let (user, now) = (UserId::from("U4"), || at(7_500_000));
    fixture.store.members().set_opted_out(&user, None, true, now).await.unwrap();
    let moves = [
        joined("C1", "U2", 100),
        left("C1", "U2", 5_000_000),
        joined("C1", "U3", 6_000_000),
        left("C2", "U3", 7_000_000),
        joined("C1", "U4", 8_000_000),
    ];
    fixture.store.members().record_presence(&moves, at(9_000_000)).await.unwrap();
    let channels = [ChannelId::from("C1")];
    let scope = DigestScope::new(&channels, at(4_000_000), None);
    let found = fixture.store.members().moves(scope).await.unwrap();
    let found: Vec<_> =
        found.iter().map(|one| (one.user.id.as_str(), one.joined, one.at.millis())).collect();
    assert_eq!(found, [("U3", true, 6_000_000), ("U2", false, 5_000_000)]);
}
