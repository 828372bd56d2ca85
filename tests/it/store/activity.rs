//! Activity counters: after any history they are what the messages and files are, counted one by
//! one here.

use std::collections::BTreeMap;

use chatkeep_core::id::{EventId, RuleId};
use chatkeep_core::message::{Content, MessageChange, MessageType, Received};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    ActivityQuery, AnswerCause, ChannelChange, ClockShift, Exchange, ImportId, ImportedMedia,
    ImportedMessage, NewImport, ReplyIntent, ReplySource,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::doctor::DoctorFixture;
use super::{
    Fixture, answered, at, change, delete_before, edited, erase_person, on_both, said, unsent,
};

on_both!(
    an_erased_person_is_in_no_counter,
    answers_of_a_deleted_rule_remain,
    days_of_any_zone_are_exact,
    a_reply_that_is_recorded_twice_counts_once,
);

/// Milliseconds of a minute, an hour and a day.
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Begin of the time in which everything happens: 2026-01-01, a Thursday.
const START: i64 = 20_454 * DAY;
const CHANNELS: [&str; 2] = ["C1", "C2"];
const PEOPLE: [&str; 3] = ["U1", "U2", "U3"];

/// A message by its number: the same number is the same message.
#[derive(Clone, Debug)]
struct Sent {
    channel: usize,
    number: u8,
}

/// Something that happens to the store.
#[derive(Clone, Debug)]
enum Op {
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

fn sent() -> impl Strategy<Value = Sent> {
    (0..CHANNELS.len(), 0..40_u8).prop_map(|(channel, number)| Sent { channel, number })
}

fn op() -> impl Strategy<Value = Op> {
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
        let waits = ImportedMedia { status: "expired".to_owned(), reason: None };
        ImportedMessage {
            id: format!("m{}", self.number).into(),
            sent_at: at(self.time()),
            sent_until: None,
            kept_at: None,
            sender: self.sender().map(Into::into),
            candidates: Vec::new(),
            kind: self.kind(),
            content: Some(self.content()),
            quoted: None,
            is_bot: self.number.is_multiple_of(7),
            edited_at: None,
            unsent_at: self.number.is_multiple_of(5).then(|| at(self.time() + 1)),
            media: (self.kind() == MessageType::Image).then_some(waits),
        }
    }
}

/// A store to which things happen.
struct History {
    ward: DoctorFixture,
    import: ImportId,
    now: i64,
}

impl History {
    async fn new(fixture: Fixture) -> Self {
        for channel in CHANNELS {
            fixture.group(channel, &PEOPLE).await;
            fixture.subscribe(channel, "U1", 5).await;
        }
        let (channel, form) = ("C1".into(), "jsonl");
        let new = NewImport { channel: &channel, form, file_name: "f", time_zone: None };
        let import = fixture.store.imports().begin_import(&new, at(6)).await.unwrap();
        Self { ward: DoctorFixture::new(fixture), import, now: START + 22 * DAY }
    }

    async fn run(&mut self, op: &Op) {
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
async fn reply(fixture: &Fixture, sent: &Sent, rule: Option<u8>, now: i64) {
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

/// Counter: channel, name, begin, item.
type Counter = (String, String, i64, String);

/// Stored message that counts.
struct Row {
    channel: String,
    sent_at: i64,
    sender: Option<String>,
    kind: String,
    is_bot: bool,
    source: Option<String>,
    rule: Option<String>,
    bytes: i64,
}

/// Returns a table as a list of its rows, each a list of texts.
async fn table(fixture: &Fixture, columns: &[&str], from: &str) -> Vec<Vec<Option<String>>> {
    let (list, row) = if fixture.is_sqlite() {
        ("json_group_array", "json_array")
    } else {
        ("json_agg", "json_build_array")
    };
    let columns: Vec<_> = columns.iter().map(|name| format!("CAST({name} AS TEXT)")).collect();
    let sql = format!("SELECT {list}({row}({})) FROM {from}", columns.join(", "));
    let text = fixture.value(&sql).await;
    if text.is_empty() { Vec::new() } else { serde_json::from_str(&text).unwrap() }
}

async fn rows(fixture: &Fixture) -> Vec<Row> {
    let columns = [
        "channel_id",
        "sent_at",
        "sender_id",
        "type",
        "is_bot",
        "reply_source",
        "reply_rule_id",
        "OCTET_LENGTH(content)",
        "unsent_at",
        "skipped",
    ];
    let is = |text: &Option<String>| matches!(text.as_deref(), Some("1" | "true"));
    let all = table(fixture, &columns, "messages").await;
    let counts = |row: &&Vec<Option<String>>| row[1].is_some() && row[8].is_none() && !is(&row[9]);
    let row = |row: &Vec<Option<String>>| Row {
        channel: row[0].clone().unwrap(),
        sent_at: row[1].as_ref().unwrap().parse().unwrap(),
        sender: row[2].clone(),
        kind: row[3].clone().unwrap(),
        is_bot: is(&row[4]),
        source: row[5].clone(),
        rule: row[6].clone(),
        bytes: row[7].as_ref().map_or(0, |bytes| bytes.parse().unwrap()),
    };
    all.iter().filter(counts).map(row).collect()
}

/// Counts everything one by one.
async fn counted(fixture: &Fixture) -> BTreeMap<Counter, (i64, i64)> {
    let mut all = BTreeMap::<Counter, (i64, i64)>::new();
    let mut add = |channel: &str, counter: &str, at: i64, item: &str, (messages, bytes)| {
        let counter = (channel.to_owned(), counter.to_owned(), at, item.to_owned());
        let value = all.entry(counter).or_default();
        *value = (value.0 + messages, value.1 + bytes);
    };
    for row in rows(fixture).await {
        let of = |length: i64| row.sent_at.div_euclid(length) * length;
        let (quarter, day, c) = (of(15 * MINUTE), of(DAY), row.channel.as_str());
        add(c, "quarter", quarter, "", (1, 0));
        add(c, "hour", of(60 * MINUTE), "", (1, 0));
        if row.is_bot {
            add(c, "bot", day, "", (1, 0));
        } else {
            add(c, "person", day, row.sender.as_deref().unwrap_or_default(), (1, 0));
        }
        match (&row.rule, &row.source) {
            (Some(rule), _) => add(c, "rule", day, rule, (1, 0)),
            (None, Some(source)) => add(c, "reply", day, source, (1, 0)),
            (None, None) => {}
        }
        add(c, "type", 0, &row.kind, (1, row.bytes));
    }
    let columns = ["channel_id", "type", "bytes", "status"];
    for row in table(fixture, &columns, "media").await {
        let bytes = row[2].as_ref().unwrap().parse().unwrap();
        if row[3].as_deref() == Some("stored") && bytes != 0 {
            let (channel, kind) = (row[0].as_ref().unwrap(), row[1].as_ref().unwrap());
            add(channel, "type", 0, kind, (0, bytes));
        }
    }
    all
}

/// Returns the recorded counters. None of them may be empty.
async fn recorded(fixture: &Fixture) -> BTreeMap<Counter, (i64, i64)> {
    let columns = ["channel_id", "counter", "at", "item", "messages", "bytes"];
    let rows = table(fixture, &columns, "activity_counters").await;
    let text = |row: &[Option<String>], n: usize| row[n].clone().unwrap();
    let number = |row: &[Option<String>], n: usize| text(row, n).parse::<i64>().unwrap();
    let row = |row: Vec<Option<String>>| {
        let counter = (text(&row, 0), text(&row, 1), number(&row, 2), text(&row, 3));
        (counter, (number(&row, 4), number(&row, 5)))
    };
    rows.into_iter().map(row).collect()
}

async fn follow(fixture: Fixture, ops: &[Op]) {
    let mut history = History::new(fixture).await;
    for (step, op) in ops.iter().enumerate() {
        history.run(op).await;
        // The cheap check after every step, so that a failure names the step.
        let audit =
            history.ward.fixture.store.audits().audit_channel(&"C1".into()).await.unwrap().unwrap();
        let wrong = audit.differences.iter();
        let wrong: Vec<_> = wrong.filter(|d| d.check == chatkeep_store::Check::Activity).collect();
        assert!(wrong.is_empty(), "step {step}, {op:?}: {wrong:?}");
    }
    let fixture = &history.ward.fixture;
    assert_eq!(recorded(fixture).await, counted(fixture).await);
    let rules = "INSERT INTO qa_rules (channel_id, rule_id, keywords, question, answer, created_at,
                                       created_by)
                 SELECT DISTINCT channel_id, reply_rule_id, '[]', 'When?', 'Now', 1, 'U1'
                 FROM messages WHERE reply_rule_id IS NOT NULL AND channel_id = 'C1'";
    fixture.run(rules).await;
    periods_are_exact(fixture).await;
}

/// Compares what is read for a period in a zone with a count of the messages.
async fn periods_are_exact(fixture: &Fixture) {
    let all = rows(fixture).await;
    for (offset, from, days) in
        [(0, 0, 30), (8 * HOUR, 2, 7), (-5 * HOUR, 3, 9), (345 * MINUTE, 1, 12), (14 * HOUR, 4, 3)]
    {
        let bars: Vec<_> = (0..=days).map(|day| at(START + (from + day) * DAY - offset)).collect();
        let (start, end) = (bars[0], bars[bars.len() - 1]);
        let shifts = [ClockShift { from: start, to: end, offset }];
        let channel = "C1".into();
        let query = ActivityQuery { channel: &channel, bars: &bars, shifts: &shifts, limit: 100 };
        let counts = fixture.store.activity().counts(&query).await.unwrap();
        let within = |from: Timestamp, to: Timestamp| {
            all.iter().filter(move |row| {
                row.channel == "C1" && (from.millis()..to.millis()).contains(&row.sent_at)
            })
        };
        let expected: Vec<_> = bars.windows(2).map(|bar| within(bar[0], bar[1]).count()).collect();
        let found: Vec<_> = counts.bars.iter().map(|n| usize::try_from(*n).unwrap()).collect();
        assert_eq!(found, expected, "{offset}");
        let mut hours = vec![0; 168];
        let mut people = BTreeMap::<_, i64>::new();
        let mut answers = BTreeMap::<_, i64>::new();
        for row in within(start, end) {
            hours[usize::try_from((row.sent_at + offset) / HOUR % 168).unwrap()] += 1;
            let sender = row.sender.clone().filter(|_| !row.is_bot);
            *people.entry((row.is_bot, sender)).or_default() += 1;
            if let Some(source) = &row.source {
                *answers.entry((source.clone(), row.rule.clone())).or_default() += 1;
            }
        }
        assert_eq!(counts.hours, hours, "{offset}");
        let text = |id: &chatkeep_core::id::UserId| id.as_str().to_owned();
        let found = counts.people.iter();
        let found = found.map(|p| ((p.is_bot, p.user.as_ref().map(text)), p.messages));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), people, "{offset}");
        let found = counts.answers.iter().map(|answer| match &answer.cause {
            AnswerCause::Rule(rule) => {
                (("qa".to_owned(), Some(rule.as_str().to_owned())), answer.messages)
            }
            AnswerCause::Source(source) => ((source.name().to_owned(), None), answer.messages),
            AnswerCause::DeletedRule => panic!("every rule is there"),
        });
        assert_eq!(found.collect::<BTreeMap<_, _>>(), answers, "{offset}");
        let sum = |of_rules: bool| {
            let wanted = answers.iter().filter(|((_, rule), _)| !of_rules || rule.is_some());
            wanted.map(|(_, messages)| messages).sum::<i64>()
        };
        assert_eq!((counts.answered, counts.answered_by_rules), (sum(false), sum(true)));
    }
}

/// Histories on SQLite; the first of them on PostgreSQL, too.
const HISTORIES: usize = 12;

fn histories() -> impl Iterator<Item = Vec<Op>> {
    let mut runner = TestRunner::deterministic();
    let history = prop::collection::vec(op(), 60..90);
    std::iter::repeat_with(move || history.new_tree(&mut runner).unwrap().current())
}

#[tokio::test]
async fn counters_are_the_messages_after_anything_on_sqlite() {
    for history in histories().take(HISTORIES) {
        follow(Fixture::sqlite().await, &history).await;
    }
}

#[tokio::test]
async fn counters_are_the_messages_after_anything_on_postgres() {
    for history in histories().take(1) {
        follow(Fixture::postgres().await, &history).await;
    }
}

async fn an_erased_person_is_in_no_counter(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U2", 5).await;
    fixture.keep(&[said("C1", "a", 10, "x"), said("C1", "b", 2 * DAY, "y")], 20).await;
    let named = "SELECT COUNT(*) FROM activity_counters WHERE item = 'U1'";
    assert_eq!(fixture.value(named).await, "2");
    erase_person(&fixture.store, &"C1".into(), &"U1".into(), at(3 * DAY), at(3 * DAY)).await;
    assert_eq!(fixture.value("SELECT COUNT(*) FROM activity_counters").await, "0");
}

async fn answers_of_a_deleted_rule_remain(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let rule = "INSERT INTO qa_rules (channel_id, rule_id, keywords, question, answer, created_at,
                                      created_by)
                VALUES ('C1', 'qa_1', '[]', 'When?', 'Now', 1, 'U1')";
    fixture.run(rule).await;
    reply(&fixture, &Sent { channel: 0, number: 1 }, Some(1), START + DAY).await;
    reply(&fixture, &Sent { channel: 0, number: 2 }, Some(2), START + DAY).await;
    reply(&fixture, &Sent { channel: 0, number: 3 }, None, START + DAY).await;
    let answers = async |limit| {
        let (bars, channel) = ([at(START - DAY), at(START + 2 * DAY)], "C1".into());
        let query = ActivityQuery { channel: &channel, bars: &bars, shifts: &[], limit };
        let counts = fixture.store.activity().counts(&query).await.unwrap();
        // All are counted, however few are listed.
        assert_eq!((counts.answered, counts.answered_by_rules), (6, 4));
        let answers = counts.answers.into_iter();
        answers.map(|answer| (answer.cause, answer.messages)).collect::<Vec<_>>()
    };
    let found = answers(9).await;
    assert!(found.contains(&(AnswerCause::Rule("qa_1".into()), 2)), "{found:?}");
    assert!(found.contains(&(AnswerCause::DeletedRule, 2)), "{found:?}");
    assert_eq!((found.len(), answers(1).await.len()), (3, 1));
    fixture.run("DELETE FROM qa_rules").await;
    assert_eq!(answers(1).await, [(AnswerCause::DeletedRule, 4)], "together they are the most");
}

async fn a_reply_that_is_recorded_twice_counts_once(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    for _ in 0..2 {
        reply(&fixture, &Sent { channel: 0, number: 1 }, None, START + DAY).await;
    }
    let welcomed = "SELECT messages FROM activity_counters WHERE counter = 'reply'";
    assert_eq!(fixture.value(welcomed).await, "2");
}

/// Clocks are put forward in the middle of a period: no hour is lost, none counts twice.
async fn days_of_any_zone_are_exact(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let all: Vec<_> =
        (0..96).map(|n| said("C1", &format!("m{n}"), START + n * 15 * MINUTE, "x")).collect();
    fixture.keep(&all, START + DAY).await;
    let noon = at(START + 12 * HOUR);
    let (channel, bars) = ("C1".into(), [at(START), noon, at(START + DAY)]);
    let shifts = [
        ClockShift { from: at(START), to: noon, offset: HOUR },
        ClockShift { from: noon, to: at(START + DAY), offset: 2 * HOUR },
    ];
    let query = ActivityQuery { channel: &channel, bars: &bars, shifts: &shifts, limit: 9 };
    let counts = fixture.store.activity().counts(&query).await.unwrap();
    assert_eq!(counts.bars, [48, 48]);
    // From Thursday at 0:00: the hour that the clock leaves out has nothing.
    let expected: Vec<_> =
        (0..168).map(|hour| if (1..26).contains(&hour) && hour != 13 { 4 } else { 0 }).collect();
    assert_eq!(counts.hours, expected);
    let range = fixture.store.activity().range(&channel).await.unwrap().unwrap();
    assert_eq!((range.first, range.last), (at(START), at(START + DAY - 15 * MINUTE)));
    assert_eq!(fixture.store.activity().range(&"C2".into()).await.unwrap(), None);
}
