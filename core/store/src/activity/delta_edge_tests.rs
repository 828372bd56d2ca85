//! Laws of the activity counters: each message is counted once by every division, and what is taken
//! away leaves no row behind.

use chatkeep_core::id::RuleId;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::ReplySource;

fn messages() -> impl Strategy<Value = Vec<Counted>> {
    let origin = prop_oneof![
        Just(ReplyOrigin { source: ReplySource::Qa, rule: Some(RuleId::from("qa_1")) }),
        Just(ReplyOrigin { source: ReplySource::NoMatch, rule: None }),
    ];
    let message = (
        -5_000_000_000_i64..5_000_000_000,
        prop::option::of(prop::sample::select(vec!["U1", "U2"])),
        prop::sample::select(MessageType::ALL.to_vec()),
        prop::option::weighted(0.3, prop::option::of(origin)),
        0_i64..100,
    );
    let message = message.prop_map(|(sent_at, sender, kind, bot, bytes)| Counted {
        sent_at: Timestamp::from_millis(sent_at),
        sender: sender.map(UserId::from),
        kind,
        is_bot: bot.is_some(),
        bytes,
        origin: bot.flatten(),
    });
    prop::collection::vec(message, 0..20)
}

/// Returns the sum of the messages of some counters, and of their bytes.
fn sum(rows: &[CounterRow<'_>], counters: &[&str]) -> (i64, i64) {
    let rows = rows.iter().filter(|row| counters.contains(&row.k));
    rows.fold((0, 0), |(messages, bytes), row| (messages + row.n, bytes + row.b))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn each_message_is_counted_once_by_every_division(messages in messages()) {
        let (mut delta, channel) = (ActivityDelta::default(), ChannelId::from("C1"));
        for message in &messages {
            delta.add_message(message, 1);
        }
        let rows: Vec<_> = delta.rows(&channel).collect();
        let count = i64::try_from(messages.len()).unwrap();
        let bytes = messages.iter().map(|message| message.bytes).sum::<i64>();
        prop_assert_eq!(sum(&rows, &["type"]), (count, bytes));
        let by_person = [["person", "bot"], ["person_block", "bot_block"]];
        for divisions in [["quarter", ""], ["hour", ""]].into_iter().chain(by_person) {
            prop_assert_eq!(sum(&rows, &divisions), (count, 0), "{:?}", divisions);
        }
        let answers = messages.iter().filter(|message| message.origin.is_some()).count();
        let answers = i64::try_from(answers).unwrap();
        for divisions in [["rule", "reply"], ["rule_block", "reply_block"]] {
            prop_assert_eq!(sum(&rows, &divisions), (answers, 0), "{:?}", divisions);
        }
        // A time lies within its span, before 1970 as well.
        for (counter, length) in [("quarter", QUARTER), ("hour", HOUR), ("person_block", BLOCK)] {
            let mut rows = rows.iter().filter(|row| row.k == counter);
            prop_assert!(rows.all(|row| row.at.rem_euclid(length) == 0));
        }
        let is_within = |message: &Counted| {
            let begin = begin(message.sent_at, QUARTER);
            (begin..begin + QUARTER).contains(&message.sent_at.millis())
        };
        prop_assert!(messages.iter().all(is_within));
    }

    #[test]
    fn what_is_taken_away_leaves_no_row(
        messages in messages(),
        files in prop::collection::vec(1_i64..50, 0..5),
    ) {
        let (mut delta, channel) = (ActivityDelta::default(), ChannelId::from("C1"));
        for sign in [1, -1] {
            for message in &messages {
                delta.add_message(message, sign);
            }
            for bytes in &files {
                delta.add_file(MessageType::Image, sign * bytes);
            }
        }
        prop_assert_eq!(delta.rows(&channel).count(), 0);
    }

    #[test]
    fn both_databases_are_given_the_same_rows(messages in messages()) {
        let (mut delta, channel) = (ActivityDelta::default(), ChannelId::from("C1"));
        for message in &messages {
            delta.add_message(message, 1);
        }
        let rows: Vec<_> = delta.rows(&channel).collect();
        let columns = columns(&rows);
        for (column, name) in columns.iter().zip(["c", "k", "at", "i", "n", "b"]) {
            let of_json = rows.iter().map(|row| serde_json::to_value(row).unwrap()[name].clone());
            let found: Vec<_> = match column {
                Column::Int(values) => values.iter().map(|value| json!(value)).collect(),
                Column::Text(values) => values.iter().map(|value| json!(value)).collect(),
            };
            prop_assert_eq!(found, of_json.collect::<Vec<_>>(), "{}", name);
        }
    }
}
