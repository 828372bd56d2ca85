//! Data of earlier versions, in the schema in which each of them could be stored first, and the check
//! that this version understands it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use chatkeep_core::message::Content;
use chatkeep_store::{JobStatus, Store};

use crate::store::{at, unsent};

/// Text of all messages.
pub(super) const TEXT: &str = "kept since the beginning";
/// Milliseconds of an hour.
const HOUR: i64 = 3_600_000;
/// Messages with the times of their sending, in several quarters of an hour, and before 1970.
const MESSAGES: [(&str, i64); 9] = [
    ("m1", 10),
    ("m2", 100 * HOUR),
    ("m3", 100 * HOUR + 15 * 60_000),
    ("m4", 100 * HOUR + 16 * 60_000),
    ("m5", 101 * HOUR - 1),
    ("m6", -1),
    ("m7", -900_001),
    ("m8", -HOUR - 1),
    // Of the bot.
    ("m9", 100 * HOUR + 1),
];

/// Returns statements that store a subscribed group with messages and rules, in the first schema.
fn conversation() -> String {
    let content = serde_json::to_string(&Content::text(TEXT)).unwrap();
    let (count, bytes) = (MESSAGES.len(), MESSAGES.len() * content.len());
    let mut sql = format!(
        "INSERT INTO users (user_id, display_name, used_bytes, created_at)
             VALUES ('U1', 'Ann', {bytes}, 1);
         INSERT INTO channels (channel_id, platform, bot, type, created_at, enabled_at, bytes,
                               message_count)
             VALUES ('C1', 'line', 'main', 'group', 1, 1, {bytes}, {count});
         INSERT INTO members (channel_id, user_id, role, first_seen_at)
             VALUES ('C1', 'U1', 'owner', 1);
         INSERT INTO subscriptions (channel_id, user_id, created_at, bytes_at_subscribe)
             VALUES ('C1', 'U1', 2, 0);"
    );
    for (id, at) in MESSAGES {
        let (sender, is_bot) = if id == "m9" { ("NULL", "TRUE") } else { ("'U1'", "FALSE") };
        write!(
            sql,
            "INSERT INTO messages (channel_id, message_id, sent_at, backed_up_at, sender_id, type,
                                   content, is_bot)
             VALUES ('C1', '{id}', {at}, 11, {sender}, 'text', '{content}', {is_bot});"
        )
        .unwrap();
    }
    for rule in ["qa_1", "qa_2"] {
        write!(
            sql,
            "INSERT INTO qa_rules (channel_id, rule_id, keywords, question, answer, created_at,
                                   created_by)
             VALUES ('C1', '{rule}', '[\"k\"]', '', 'an answer', 3, 'U1');"
        )
        .unwrap();
    }
    sql
}

/// Replies of the first rule, of which two were purged, one of them suppressed; all of the second
/// one were purged. The reply that was sent is a message.
const REPLIES: &str = "
    INSERT INTO replies (event_id, channel_id, source, rule_id, status, created_at, finished_at,
                         sent_ids)
    VALUES ('e1', 'C1', 'qa', 'qa_1', 'sent', 20, 21, '[\"m9\"]'),
           ('e2', 'C1', 'qa', 'qa_1', 'suppressed', 22, 22, NULL),
           ('e3', 'C1', 'qa', 'qa_1', 'failed', 23, 23, NULL);
    UPDATE qa_rules SET hit_count = 5, suppressed_count = 2 WHERE rule_id = 'qa_1';
    UPDATE qa_rules SET hit_count = 3, suppressed_count = 1 WHERE rule_id = 'qa_2';
    INSERT INTO usage_notices (user_id, status, created_at) VALUES ('U1', 'OK', 5);
    INSERT INTO other_events (event_id, channel_id, type, at, raw)
        VALUES ('o1', 'C1', 'odd', 6, '{}');";

/// Schemas from which on there are earlier texts, exports in the background, and snapshot targets.
const EARLIER_TEXTS: i64 = 41;
const EXPORTS: i64 = 42;
const SNAPSHOT_TARGETS: i64 = 43;
/// Text of a message before it was edited.
const EARLIER: &str = "said before";

/// Returns statements that store an earlier text of a message.
fn earlier_text() -> String {
    let content = serde_json::to_string(&Content::text(EARLIER)).unwrap();
    let list = format!(r#"[{{"at":{},"content":{content}}}]"#, 100 * HOUR);
    let bytes = list.len();
    format!(
        "UPDATE messages SET edited_at = {}, earlier_texts = '{list}' WHERE message_id = 'm2';
         UPDATE channels SET keep_earlier_texts = TRUE, bytes = bytes + {bytes};
         UPDATE users SET used_bytes = used_bytes + {bytes};
         UPDATE usage_days SET bytes = bytes + {bytes};
         UPDATE activity_counters SET bytes = bytes + {bytes}
         WHERE counter = 'type' AND item = 'text';",
        200 * HOUR
    )
}

/// Returns statements that store an export that is completed, with one file.
fn export() -> String {
    let file = "0a".repeat(32);
    format!(
        "INSERT INTO exports (id, channel_id, created_by, created_at, format, sent_before,
                              time_zone, language, total, done, status, finished_at, expires_at)
         VALUES ('exp_1', 'C1', 'U1', {0}, 'csv', {0}, 'UTC', 'en', 9, 9, 'done', {0}, {0});
         INSERT INTO export_parts (export_id, part, channel_id, last_at, is_last, sha256, bytes,
                                   messages)
         VALUES ('exp_1', 1, 'C1', {0}, 1, '{file}', 5, 9);",
        300 * HOUR
    )
}

/// Returns the steps to a schema: the number to migrate to, and what is stored then.
pub(super) fn steps(version: i64) -> Vec<(i64, String)> {
    let target = "INSERT INTO snapshot_targets (address, target_id) VALUES ('/disk', 't1')";
    let stored = [
        (1, conversation()),
        (4, REPLIES.to_owned()),
        (EARLIER_TEXTS, earlier_text()),
        (EXPORTS, export()),
        (SNAPSHOT_TARGETS, target.to_owned()),
        (version, "SELECT 1".to_owned()),
    ];
    stored.into_iter().filter(|(number, _)| *number <= version).collect()
}

/// Checks that this version reads and counts what an earlier one has stored.
pub(super) async fn is_understood(store: &Store, version: i64) {
    for (id, _) in MESSAGES {
        let message = store.messages().message(&"C1".into(), &id.into()).await.unwrap().unwrap();
        let content = format!("{message:?}");
        assert!(content.contains(TEXT), "{version}: {content}");
    }
    let audit = store.audits().audit_channel(&"C1".into()).await.unwrap().unwrap();
    assert!(audit.differences.is_empty(), "{version}: {:?}", audit.differences);
    let users = store.audits().audit_users(None, None, &BTreeMap::new(), 10).await.unwrap();
    assert_eq!(users.len(), 1, "{version}");
    assert!(users[0].differences.is_empty(), "{version}: {:?}", users[0].differences);
    let rules = store.assistant().rules(&"C1".into()).await.unwrap().value.items;
    assert_eq!(rules.len(), 2, "{version}");
    if version >= SNAPSHOT_TARGETS {
        let targets = store.processes().snapshot_target_ids("/disk").await.unwrap();
        assert_eq!(targets, ["t1"], "{version}");
    }
    if version >= EXPORTS {
        is_outdated_with_its_messages(store, version).await;
    }
}

/// Checks that this version reads the earlier text and the export that an earlier one has stored, and
/// that an unsend takes the words out of both.
async fn is_outdated_with_its_messages(store: &Store, version: i64) {
    let (channel, message) = ("C1".into(), "m2".into());
    let read = async || {
        let mut found = [store.messages().message(&channel, &message).await.unwrap().unwrap()];
        store.messages().add_earlier_texts(&channel, &mut found).await.unwrap();
        let earlier = found[0].earlier_texts.as_slice().iter().map(|text| text.content.clone());
        let export = store.exports().export(&channel, "exp_1").await.unwrap().unwrap();
        let files = store.exports().export_files("exp_1").await.unwrap();
        let files = files.map(|files| files.iter().map(|part| part.bytes).sum::<u64>());
        (earlier.collect::<String>().contains(EARLIER), export.status, files)
    };
    assert_eq!(read().await, (true, JobStatus::Done, Some(5)), "{version}");
    let unsend = [unsent("C1", "m2", 400 * HOUR)];
    store.messages().ingest(&unsend, at(400 * HOUR)).await.unwrap();
    assert_eq!(read().await, (false, JobStatus::Pending, None), "{version}");
    let audit = store.audits().audit_channel(&channel).await.unwrap().unwrap();
    assert!(audit.differences.is_empty(), "{version}: {:?}", audit.differences);
}
