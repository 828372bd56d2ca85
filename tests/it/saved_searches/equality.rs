//! Equality with a search: random messages, edits, retractions and queries; what saved searches
//! told is what searches found.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::{Content, MediaInfo, MessageChange, Received};
use chatkeep_core::profile::Profile;
use chatkeep_search::ParsedQuery;
use chatkeep_store::{ChannelChange, PresenceEvidenceKind};
use chrono_tz::Tz;

use super::{Saved, World};
use crate::harness::numbers::Numbers;
use crate::store::{Fixture, at, change, edited, item, on_both, unsent};

on_both!(what_is_told_is_what_a_search_finds);

const CHANNELS: [&str; 3] = ["C1", "C2", "C3"];
const ROUNDS: usize = 9;
/// 2026-01-01, in milliseconds since 1970.
const START: i64 = 1_767_225_600_000;
const HOUR: i64 = 3_600_000;

type Key = (ChannelId, MessageId);

/// Random conversation, and when each message of it was received or edited last.
struct Talk {
    numbers: Numbers,
    round: usize,
    /// Messages by the round in which they came or were edited last.
    touched: BTreeMap<Key, usize>,
    retracted: BTreeSet<Key>,
    past: Vec<ChannelChange>,
    made: usize,
}

impl Talk {
    fn clock(&mut self) -> i64 {
        let hours = i64::try_from(self.numbers.below(96)).unwrap();
        START + hours * HOUR + i64::try_from(self.made).unwrap()
    }

    fn received(&mut self) -> ChannelChange {
        self.made += 1;
        let channel = CHANNELS[self.numbers.below(CHANNELS.len())];
        let text = self.numbers.text();
        let named = || MediaInfo { file_name: Some(text.clone()), ..MediaInfo::default() };
        let content = match self.numbers.below(8) {
            0 => Content::Image(MediaInfo::default()),
            1 => Content::File(named()),
            _ => Content::text(text.clone()),
        };
        let sender = ["U1", "U2", "U3"][self.numbers.below(3)];
        let message = format!("m{}", self.made);
        let received = Received {
            at: at(self.clock()),
            sender: Some(sender.into()),
            kind: content.kind(),
            content: serde_json::to_string(&content).unwrap(),
            quoted: None,
            is_bot: false,
        };
        self.touched.insert((channel.into(), message.as_str().into()), self.round);
        change(channel, &message, MessageChange::Received(received))
    }

    /// Returns a random message that was not retracted.
    fn known(&mut self) -> Option<Key> {
        let known: Vec<_> =
            self.touched.keys().filter(|key| !self.retracted.contains(*key)).cloned().collect();
        (!known.is_empty()).then(|| known[self.numbers.below(known.len())].clone())
    }

    fn next(&mut self) -> ChannelChange {
        let kind = self.numbers.below(10);
        let known = self.known();
        match (kind, known) {
            (0 | 1, Some((channel, message))) => {
                self.made += 1;
                let text = self.numbers.text();
                // Later than every other edit.
                let time = START + 1_000 * HOUR + i64::try_from(self.made).unwrap();
                self.touched.insert((channel.clone(), message.clone()), self.round);
                edited(channel.as_str(), message.as_str(), time, &text)
            }
            (2, Some((channel, message))) => {
                self.retracted.insert((channel.clone(), message.clone()));
                unsent(channel.as_str(), message.as_str(), START + 2_000 * HOUR)
            }
            (3, _) if !self.past.is_empty() => {
                let again = self.numbers.below(self.past.len());
                self.past[again].clone()
            }
            _ => self.received(),
        }
    }

    fn changes(&mut self) -> Vec<ChannelChange> {
        let changes: Vec<_> = (0..12).map(|_| self.next()).collect();
        self.past.extend(changes.iter().cloned());
        changes
    }
}

async fn prepared(fixture: Fixture) -> World {
    let world = World::new(fixture, &CHANNELS).await;
    let name = |name: &str| {
        let profile = Profile { display_name: name.to_owned(), picture_url: None, language: None };
        Some(profile)
    };
    for channel in CHANNELS {
        let there = item(channel, 1, PresenceEvidenceKind::Present("U3".into()));
        world.store().members().record_presence(&[there], at(1)).await.unwrap();
    }
    let names = BTreeMap::from([
        (UserId::from("U1"), name("Ann")),
        (UserId::from("U2"), name("ＡＮＮ")),
        (UserId::from("U3"), name("明華")),
    ]);
    world.store().members().save_profiles(&names, at(2)).await.unwrap();
    let zone = Some("Asia/Taipei");
    world.store().channels().set_time_zone(&"C1".into(), zone, &"U1".into(), at(2)).await.unwrap();
    world
}

async fn what_is_told_is_what_a_search_finds(fixture: Fixture) {
    let world = prepared(fixture).await;
    let mut talk = Talk {
        numbers: Numbers(20_261_123),
        round: 0,
        touched: BTreeMap::new(),
        retracted: BTreeSet::new(),
        past: Vec::new(),
        made: 0,
    };
    // Each saved search, the round in which it was saved, and all that searches have found since.
    let mut searches: Vec<(Saved, usize, BTreeSet<Key>)> = Vec::new();
    for round in 0..ROUNDS {
        talk.round = round;
        for nth in 0..14 {
            let query = loop {
                let query = talk.numbers.query();
                if ParsedQuery::parse(&query, Tz::UTC).is_ok() {
                    break query;
                }
            };
            let user = ["U1", "U2"][talk.numbers.below(2)];
            let channels: Option<&[&str]> =
                [None, Some(&["C1"][..]), Some(&["C1", "C3"][..])][talk.numbers.below(3)];
            let id = format!("ss_{round}_{nth}");
            searches.push((world.save(&id, user, &query, channels).await, round, BTreeSet::new()));
        }
        if round == ROUNDS / 2 {
            let left = item("C2", 5_000 * HOUR, PresenceEvidenceKind::Left("U2".into()));
            world.store().members().record_presence(&[left], at(5)).await.unwrap();
        }
        for _ in 0..3 {
            let changes = talk.changes();
            world.fixture.keep(&changes, START).await;
        }
        world.compare().await;
        for (saved, since, found) in &mut searches {
            let hits = world.hits(saved).await;
            let new = hits.into_iter().filter(|key| talk.touched.get(key) >= Some(&*since));
            found.extend(new);
        }
    }
    let mut told: BTreeMap<_, BTreeSet<Key>> = BTreeMap::new();
    for (user, event) in world.matches().await {
        let of_search = told.entry((user, event.search)).or_default();
        assert!(of_search.insert((event.channel, event.message)), "told twice");
    }
    let total: usize = told.values().map(BTreeSet::len).sum();
    for (saved, _, found) in &searches {
        let told = told.remove(&(saved.user.clone(), saved.id.clone())).unwrap_or_default();
        assert_eq!(&told, found, "{saved:?}");
    }
    assert!(told.is_empty(), "told to somebody else: {told:?}");
    let telling = searches.iter().filter(|(_, _, found)| !found.is_empty()).count();
    assert!(total > 500 && telling > searches.len() / 4, "{total} by {telling}: nothing is shown");
}
