//! Random histories of a store.

use chatkeep_core::id::{EventId, RuleId};
use chatkeep_core::message::{Content, EarlierTexts, MessageChange, MessageType, Received};
use chatkeep_store::{
    ChannelChange, Exchange, ImportId, ImportedMedia, ImportedMessage, MediaStatus, NewImport,
    ReplyIntent, ReplySource,
};
use proptest::prelude::*;

use super::super::doctor::DoctorFixture;
use super::super::{Fixture, answered, at, change, delete_before, edited, erase_person, unsent};

use super::{DAY, HOUR, MINUTE, START};

const CHANNELS: [&str; 2] = ["C1", "C2"];
const PEOPLE: [&str; 3] = ["U1", "U2", "U3"];

/// A message by its number: the same number is the same message.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) channel: usize,
    pub(super) number: u8,
}

/// Something that happens to the store.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Receive(Vec<Sent>),
    Edit(Sent, u8),
    Unsend(Sent),
    Reply(Sent, Option<u8>),
    Store(Sent),
    Import(usize, Vec<u8>),
    UndoImport,
    Erase(usize, usize),
    DeleteBefore(usize, u8),
    Retain(usize, u8),
    Abandon(usize),
    Subscribe(usize, usize),
    Unsubscribe(usize, usize),
    Fill,
}

pub(super) fn sent() -> impl Strategy<Value = Sent> {
    (0..CHANNELS.len(), 0..40_u8).prop_map(|(channel, number)| Sent { channel, number })
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let channel = 0..CHANNELS.len();
    let person = 0..PEOPLE.len();
    prop_oneof![
        6 => prop::collection::vec(sent(), 1..12).prop_map(Op::Receive),
        3 => (sent(), any::<u8>()).prop_map(|(sent, size)| Op::Edit(sent, size)),
        3 => sent().prop_map(Op::Unsend),
        3 => (sent(), prop::option::of(0..3_u8)).prop_map(|(sent, rule)| Op::Reply(sent, rule)),
        3 => sent().prop_map(Op::Store),
        2 => (channel.clone(), prop::collection::vec(0..40_u8, 1..8))
            .prop_map(|(channel, all)| Op::Import(channel, all)),
        1 => Just(Op::UndoImport),
        1 => (channel.clone(), person.clone()).prop_map(|(c, p)| Op::Erase(c, p)),
        1 => (channel.clone(), 0..40_u8).prop_map(|(c, n)| Op::DeleteBefore(c, n)),
        1 => (channel.clone(), 1..30_u8).prop_map(|(c, n)| Op::Retain(c, n)),
        1 => channel.clone().prop_map(Op::Abandon),
        3 => (channel.clone(), person.clone()).prop_map(|(c, p)| Op::Subscribe(c, p)),
        1 => (channel.clone(), person).prop_map(|(c, p)| Op::Unsubscribe(c, p)),
        1 => Just(Op::Fill),
    ]
}

impl Sent {
    fn channel(&self) -> &'static str {
        CHANNELS[self.channel]
    }

    fn id(&self) -> String {
        format!("m{}", self.number)
    }

    /// Numbers are spread over three weeks, with some at the same time and some before 1970.
    fn time(&self) -> i64 {
        let number = i64::from(self.number);
        if number == 39 { -HOUR - 1 } else { START + number / 2 * 13 * HOUR + number % 3 * MINUTE }
    }

    fn kind(&self) -> MessageType {
        [MessageType::Text, MessageType::Image, MessageType::Text][usize::from(self.number % 3)]
    }

    fn sender(&self) -> Option<&'static str> {
        PEOPLE.get(usize::from(self.number % 4)).copied()
    }

    fn content(&self) -> String {
        match self.kind() {
            MessageType::Image => r#"{"type":"image"}"#.to_owned(),
            _ => serde_json::to_string(&Content::text(format!("words {}", self.number))).unwrap(),
        }
    }

    fn received(&self) -> ChannelChange {
        let received = Received {
            at: at(self.time()),
            sender: self.sender().map(Into::into),
            kind: self.kind(),
            content: self.content(),
            quoted: None,
            is_bot: false,
        };
        change(self.channel(), &self.id(), MessageChange::Received(received))
    }

    fn imported(&self) -> ImportedMessage {
        let waits = ImportedMedia { status: MediaStatus::Expired, reason: None };
        ImportedMessage {
            id: format!("m{}", self.number).into(),
            former_id: None,
            sent_at: at(self.time()),
            sent_until: None,
            kept_at: None,
            sender: self.sender().map(Into::into),
            candidates: Vec::new(),
            unnamed_candidates: Vec::new(),
            kind: self.kind(),
            content: Some(self.content()),
            quoted: None,
            is_bot: self.number.is_multiple_of(7),
            edited_at: None,
            unsent_at: self.number.is_multiple_of(5).then(|| at(self.time() + 1)),
            media: (self.kind() == MessageType::Image).then_some(waits),
            earlier_texts: EarlierTexts::default(),
        }
    }
}

/// A store to which things happen.
pub(super) struct History {
    pub(super) ward: DoctorFixture,
    pub(super) import: ImportId,
    pub(super) now: i64,
}

impl History {
    pub(super) async fn new(fixture: Fixture) -> Self {
        for channel in CHANNELS {
            fixture.group(channel, &PEOPLE).await;
            fixture.subscribe(channel, "U1", 5).await;
        }
        let (channel, form) = ("C1".into(), "jsonl");
        let new = NewImport { channel: &channel, form, file_name: "f", time_zone: None };
        let import = fixture.store.imports().begin_import(&new, at(6)).await.unwrap();
        Self { ward: DoctorFixture::new(fixture), import, now: START + 22 * DAY }
    }

    pub(super) async fn run(&mut self, op: &Op) {
        self.now += MINUTE;
        let (store, now) = (&self.ward.fixture.store, at(self.now));
        match op {
            Op::Receive(all) => {
                let all: Vec<_> = all.iter().map(Sent::received).collect();
                store.messages().ingest(&all, now).await.unwrap();
            }
            Op::Edit(sent, size) => {
                let text = "x".repeat(usize::from(*size));
                let edit = edited(sent.channel(), &sent.id(), sent.time() + 1, &text);
                store.messages().ingest(&[edit], now).await.unwrap();
            }
            Op::Unsend(sent) => {
                let all = [
                    unsent(sent.channel(), &sent.id(), sent.time() + 2),
                    unsent(sent.channel(), &format!("r{}", sent.number), sent.time() + 2),
                ];
                store.messages().ingest(&all[..=usize::from(sent.number % 2)], now).await.unwrap();
            }
            Op::Reply(sent, rule) => reply(&self.ward.fixture, sent, *rule, self.now).await,
            Op::Store(sent) => {
                let content = format!("file {}", sent.number % 4);
                self.ward.store_file(sent.channel(), &sent.id(), &content, None, self.now).await;
            }
            Op::Import(channel, all) => {
                let sent = |number: &u8| Sent { channel: *channel, number: *number };
                let all: Vec<_> = all.iter().map(|number| sent(number).imported()).collect();
                let channel = CHANNELS[*channel].into();
                store.imports().import(self.import, &channel, &all, now).await.unwrap();
            }
            Op::UndoImport => {
                let record = store.imports().import_record(self.import).await.unwrap().unwrap();
                store.imports().undo_import(&record, 100, now).await.unwrap();
                let channel = "C1".into();
                let new = NewImport {
                    channel: &channel,
                    form: "jsonl",
                    file_name: "again",
                    time_zone: None,
                };
                self.import = store.imports().begin_import(&new, now).await.unwrap();
            }
            Op::Erase(channel, person) => {
                let (channel, person) = (CHANNELS[*channel].into(), PEOPLE[*person].into());
                erase_person(store, &channel, &person, at(START + 9 * DAY), now).await;
            }
            _ => self.change_channel(op).await,
        }
    }

    /// Runs what concerns a channel as a whole.
    async fn change_channel(&self, op: &Op) {
        let (fixture, now) = (&self.ward.fixture, at(self.now));
        let store = &fixture.store;
        match op {
            Op::DeleteBefore(channel, number) => {
                let before = Sent { channel: *channel, number: number / 4 }.time();
                delete_before(store, &CHANNELS[*channel].into(), at(before), now).await;
            }
            Op::Retain(channel, days) => {
                let channel = CHANNELS[*channel].into();
                let (days, by) = (Some(u32::from(*days)), "U1".into());
                store.channels().set_retention(&channel, days, &by, now).await.unwrap();
                store.channels().delete_outdated(&channel, 3, now).await.unwrap();
            }
            Op::Abandon(channel) => {
                let channel = CHANNELS[*channel].into();
                store.channels().delete_abandoned(&channel, now, 5, now).await.unwrap();
            }
            Op::Subscribe(channel, person) => {
                fixture.subscribe(CHANNELS[*channel], PEOPLE[*person], self.now).await;
            }
            Op::Unsubscribe(channel, person) => {
                let (channel, person) = (CHANNELS[*channel].into(), PEOPLE[*person].into());
                store.accounts().unsubscribe(&channel, &person, now).await.unwrap();
            }
            Op::Fill => {
                // The quota of one subscriber is full, so that some messages are skipped.
                let used = "UPDATE users SET used_bytes = 900000000 WHERE user_id = 'U2'";
                fixture.run(used).await;
            }
            _ => unreachable!("{op:?}"),
        }
    }
}

/// Records a reply to a message, as the assistant does: two messages of the bot.
pub(super) async fn reply(fixture: &Fixture, sent: &Sent, rule: Option<u8>, now: i64) {
    let (channel, event) = (sent.channel(), format!("e{}-{}", sent.channel, sent.number));
    let (event, rule) = (EventId::from(event.as_str()), rule.map(|rule| format!("qa_{rule}")));
    let (rule, id) = (rule.as_deref().map(RuleId::from), channel.into());
    let intent = ReplyIntent {
        event: &event,
        channel: &id,
        source: if rule.is_some() { ReplySource::Qa } else { ReplySource::Welcome },
        rule: rule.as_ref(),
        message: None,
        cooldown_ms: 0,
        at: at(sent.time()),
    };
    fixture.store.assistant().claim_reply(&intent, at(now)).await.unwrap();
    let own = |n: u8| {
        let id = format!("r{}", sent.number + n * 100);
        answered(channel, &id, sent.time() + 1, "answer")
    };
    let (question, own) = ([sent.received()], [own(0), own(1)]);
    let exchange = Exchange { question: &question, joined: &[], own: &own };
    fixture.store.assistant().finish_reply(&event, Ok(()), exchange, at(now)).await.unwrap();
}
