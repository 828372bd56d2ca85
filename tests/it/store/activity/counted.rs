//! Counts of the messages and files, one by one, and the counters beside them.

use std::collections::BTreeMap;

use super::super::Fixture;
use super::{DAY, MINUTE};

/// Counter: channel, name, begin, item.
pub(super) type Counter = (String, String, i64, String);

/// Stored message that counts.
pub(super) struct Row {
    pub(super) channel: String,
    pub(super) sent_at: i64,
    pub(super) sender: Option<String>,
    pub(super) kind: String,
    pub(super) is_bot: bool,
    pub(super) source: Option<String>,
    pub(super) rule: Option<String>,
    pub(super) bytes: i64,
}

/// Returns a table as a list of its rows, each a list of texts.
pub(super) async fn table(
    fixture: &Fixture,
    columns: &[&str],
    from: &str,
) -> Vec<Vec<Option<String>>> {
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

pub(super) async fn rows(fixture: &Fixture) -> Vec<Row> {
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
pub(super) async fn counted(fixture: &Fixture) -> BTreeMap<Counter, (i64, i64)> {
    let mut all = BTreeMap::<Counter, (i64, i64)>::new();
    let mut add = |channel: &str, counter: &str, at: i64, item: &str, (messages, bytes)| {
        let counter = (channel.to_owned(), counter.to_owned(), at, item.to_owned());
        let value = all.entry(counter).or_default();
        *value = (value.0 + messages, value.1 + bytes);
    };
    for row in rows(fixture).await {
        let of = |length: i64| row.sent_at.div_euclid(length) * length;
        let c = row.channel.as_str();
        add(c, "quarter", of(15 * MINUTE), "", (1, 0));
        add(c, "hour", of(60 * MINUTE), "", (1, 0));
        for (suffix, begin) in [("", of(DAY)), ("_block", of(32 * DAY))] {
            let mut add = |name: &str, item: &str| {
                add(c, &format!("{name}{suffix}"), begin, item, (1, 0));
            };
            if row.is_bot {
                add("bot", "");
            } else {
                add("person", row.sender.as_deref().unwrap_or_default());
            }
            match (&row.rule, &row.source) {
                (Some(rule), _) => add("rule", rule),
                (None, Some(source)) => add("reply", source),
                (None, None) => {}
            }
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
pub(super) async fn recorded(fixture: &Fixture) -> BTreeMap<Counter, (i64, i64)> {
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
