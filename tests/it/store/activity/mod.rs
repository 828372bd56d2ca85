//! Activity counters: after any history they are what the messages and files are, counted one by
//! one here.

mod counted;
mod history;

use std::collections::BTreeMap;

use chatkeep_core::time::Timestamp;
use chatkeep_store::{ActivityQuery, AnswerCause, ClockShift};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::{Fixture, at, erase_person, on_both, said};

use counted::{counted, recorded, rows};
use history::{History, Op, Sent, op, reply};

on_both!(
    an_erased_person_is_in_no_counter,
    without_blocks_the_days_are_read,
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
    let within_a_month =
        [(0, 0, 30), (8 * HOUR, 2, 7), (-5 * HOUR, 3, 9), (345 * MINUTE, 1, 12), (14 * HOUR, 4, 3)];
    // They begin or end in the middle of what is stored, or around all of it.
    let long =
        [(0, 5, 100), (8 * HOUR, -90, 100), (-5 * HOUR, -200, 210), (345 * MINUTE, -50, 300)];
    for (offset, from, days) in within_a_month.into_iter().chain(long) {
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
    assert_eq!(fixture.value(named).await, "3", "two days and a block");
    erase_person(&fixture.store, &"C1".into(), &"U1".into(), at(3 * DAY), at(3 * DAY)).await;
    assert_eq!(fixture.value("SELECT COUNT(*) FROM activity_counters").await, "0");
}

/// A process of an earlier version counts by day alone.
async fn without_blocks_the_days_are_read(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let all: Vec<_> =
        (0..200).map(|n| said("C1", &format!("m{n}"), START + n * DAY, "x")).collect();
    fixture.keep(&all, START + 200 * DAY).await;
    reply(&fixture, &Sent { channel: 0, number: 1 }, None, START + DAY).await;
    let (channel, bars) = ("C1".into(), [at(START), at(START + 200 * DAY)]);
    let query = ActivityQuery { channel: &channel, bars: &bars, shifts: &[], limit: 9 };
    let counts = fixture.store.activity().counts(&query).await.unwrap();
    assert_eq!(counts.people.iter().map(|person| person.messages).collect::<Vec<_>>(), [200, 2]);
    for other in [
        "UPDATE activity_counters SET messages = messages - 1 WHERE counter = 'person_block'",
        "DELETE FROM activity_counters WHERE counter IN ('reply_block', 'person_block')",
    ] {
        fixture.run(other).await;
        assert_eq!(fixture.store.activity().counts(&query).await.unwrap(), counts);
    }
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
