//! SQL statements of ingest, and their JSON rows.

use chatkeep_core::id::{MessageId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::super::MessageState;
use super::super::db::{Sql, locking};
use super::batch::MessageKey;
use crate::messages::versioned_columns;
use crate::subscriptions::subscribers;

/// Builds the select of the subscribers of channels, with a lock.
macro_rules! locked_subscribers {
    ($lock:literal) => {
        locking!(
            subscribers!(
                "s.channel_id IN (SELECT value ->> 'c' FROM json_each($1)) ORDER BY u.user_id"
            ),
            $lock
        )
    };
}

pub(super) const LOCK_SUBSCRIBERS: Sql = locked_subscribers!(" FOR UPDATE OF u");
pub(super) const READ_SUBSCRIBERS: Sql = locked_subscribers!("");

pub(super) const COUNT_MESSAGES: &str = "SELECT COUNT(*) FROM messages";
pub(super) const ANY_MESSAGE: &str = "SELECT EXISTS (SELECT 1 FROM messages)";

pub(super) const ALL_MESSAGES: &str = "
    SELECT channel_id, message_id, sent_at, backed_up_at, sender_id, type, content, quoted_id,
           edited_at, unsent_at, skipped, is_bot, reply_source, reply_rule_id
    FROM messages WHERE (channel_id, message_id) > ($1, $2)
    ORDER BY channel_id, message_id LIMIT $3";

/// LATERAL with LIMIT keeps PostgreSQL to one index lookup per key, also before its statistics know
/// the size of the table.
pub(super) const KNOWN_MESSAGES: Sql = Sql {
    sqlite: concat!(
        "SELECT ",
        versioned_columns!(),
        "FROM json_each($1) k CROSS JOIN messages m
         WHERE m.channel_id = k.value ->> 'c' AND m.message_id = k.value ->> 'm'"
    ),
    postgres: concat!(
        "SELECT ",
        versioned_columns!(),
        "FROM json_each($1) k CROSS JOIN LATERAL (
             SELECT * FROM messages
             WHERE channel_id = k.value ->> 'c' AND message_id = k.value ->> 'm' LIMIT 1) m"
    ),
};

/// Channels that keep earlier texts of edited messages.
pub(super) const KEEPING_EARLIER_TEXTS: &str = "
    SELECT channel_id FROM channels
    WHERE channel_id IN (SELECT value ->> 'c' FROM json_each($1))
      AND keep_earlier_texts AND NOT erase_earlier_texts";

/// Columns of a message, as the two statements that write messages read them from JSON. SQLite makes
/// the value anew for each column, unless it is in a table, and reads its text anew, unless it is in
/// its binary form.
macro_rules! insert_messages {
    ($conflict:literal) => {
        Sql {
            sqlite: insert_messages!("jsonb_each", $conflict),
            postgres: insert_messages!("json_each", $conflict),
        }
    };
    ($each:literal, $conflict:literal) => {
        concat!(
            "WITH list AS MATERIALIZED (SELECT value FROM ",
            $each,
            "($1))
             INSERT INTO messages (channel_id, message_id, sent_at, backed_up_at, sender_id, type,
                                   content, quoted_id, edited_at, unsent_at, skipped, is_bot,
                                   earlier_texts)
             SELECT value ->> 'c', value ->> 'm', CAST(value ->> 'sent' AS BIGINT),
                    CAST(value ->> 'kept' AS BIGINT), value ->> 'from', value ->> 'type',
                    value ->> 'text', value ->> 'quoted', CAST(value ->> 'edited' AS BIGINT),
                    CAST(value ->> 'unsent' AS BIGINT), (value ->> 'skipped') = 't',
                    (value ->> 'bot') = 't', value ->> 'earlier'
             FROM list WHERE TRUE
             ON CONFLICT (channel_id, message_id) ",
            $conflict
        )
    };
}

/// Returns the new ones.
pub(super) const ADD_MESSAGES: Sql =
    insert_messages!("DO NOTHING RETURNING channel_id, message_id");

pub(super) const SAVE_MESSAGES: Sql = insert_messages!(
    "DO UPDATE SET
        sent_at = excluded.sent_at, backed_up_at = excluded.backed_up_at,
        sender_id = excluded.sender_id, type = excluded.type, content = excluded.content,
        quoted_id = excluded.quoted_id, edited_at = excluded.edited_at,
        unsent_at = excluded.unsent_at, skipped = excluded.skipped, is_bot = excluded.is_bot,
        earlier_texts = excluded.earlier_texts,
        import_id = CASE WHEN excluded.unsent_at IS NULL THEN messages.import_id END"
);

pub(super) const SAVE_MEDIA: &str = "
    INSERT INTO media (channel_id, message_id, status, created_at, type, sent_at)
    SELECT value ->> 'c', value ->> 'm', 'pending', CAST($2 AS BIGINT), value ->> 'type',
           CAST(value ->> 'sent' AS BIGINT)
    FROM json_each($1) WHERE TRUE
    ON CONFLICT (channel_id, message_id) DO NOTHING";

pub(super) const ADD_TO_CHANNELS: &str = "
    UPDATE channels SET bytes = channels.bytes + d.bytes,
                        message_count = channels.message_count + d.count,
                        counted_at = CASE WHEN d.at > channels.counted_at
                                          THEN d.at ELSE channels.counted_at END
    FROM (SELECT value ->> 'c' AS id, CAST(value ->> 'bytes' AS BIGINT) AS bytes,
                 CAST(value ->> 'count' AS BIGINT) AS count,
                 CAST(value ->> 'at' AS BIGINT) AS at FROM json_each($1)) d
    WHERE channels.channel_id = d.id";

pub(super) const ADD_TO_USERS: &str = "
    UPDATE users SET used_bytes = users.used_bytes + d.bytes
    FROM (SELECT value ->> 'u' AS id, CAST(value ->> 'bytes' AS BIGINT) AS bytes
          FROM json_each($1)) d
    WHERE users.user_id = d.id";

pub(super) const ADD_TO_BASELINES: &str = "
    UPDATE subscriptions SET bytes_at_subscribe = subscriptions.bytes_at_subscribe + d.bytes
    FROM (SELECT value ->> 'c' AS c, value ->> 'u' AS u,
                 CAST(value ->> 'bytes' AS BIGINT) AS bytes FROM json_each($1)) d
    WHERE subscriptions.channel_id = d.c AND subscriptions.user_id = d.u";

pub(super) const ADD_NOTICE: &str =
    "INSERT INTO usage_notices (user_id, status, created_at) VALUES ($1, $2, $3)";

/// Only for messages sent since the open gap began: all others end before it.
pub(super) const WIDEN_GAP: &str = "
    UPDATE gaps SET skipped = skipped + $2
    WHERE channel_id = $1 AND reason = 'quota' AND to_at = 0 AND from_at <= $3";

/// Takes the gaps that one from that time on would overlap.
pub(super) const TAKE_GAPS: &str = "
    DELETE FROM gaps
    WHERE channel_id = $1 AND reason = 'quota' AND (to_at = 0 OR to_at >= $2)
    RETURNING from_at, to_at, skipped";

pub(super) const OPEN_GAP: &str =
    "INSERT INTO gaps (channel_id, reason, from_at, skipped) VALUES ($1, 'quota', $2, $3)";

/// The platform's clock, which gives the start of a gap, may be ahead of ours.
pub(super) const CLOSE_GAPS: &str = "
    UPDATE gaps SET to_at = CASE WHEN from_at > $2 THEN from_at ELSE $2 END
    WHERE reason = 'quota' AND to_at = 0
      AND channel_id IN (SELECT value ->> 'c' FROM json_each($1))
    RETURNING channel_id";

pub(super) const CLOSE_GAPS_OF: &str = "
    UPDATE gaps SET to_at = CASE WHEN from_at > $2 THEN from_at ELSE $2 END
    WHERE reason = 'quota' AND to_at = 0
      AND channel_id IN (SELECT channel_id FROM subscriptions
                         WHERE user_id = $1 AND cancelled_at = 0)
    RETURNING channel_id";

/// Element of the JSON list that a bulk statement reads.
#[derive(Serialize)]
pub(crate) struct BulkKey<'a> {
    pub(crate) c: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) m: Option<&'a str>,
}

/// Media message whose file is to be downloaded.
#[derive(Serialize)]
pub(super) struct PendingMedia<'a> {
    pub(super) c: &'a str,
    pub(super) m: &'a str,
    #[serde(rename = "type")]
    pub(super) kind: Option<&'a str>,
    pub(super) sent: Option<i64>,
}

#[derive(Serialize)]
pub(super) struct SavedMessage<'a> {
    pub(super) c: &'a str,
    pub(super) m: &'a str,
    pub(super) sent: Option<i64>,
    pub(super) kept: Option<i64>,
    pub(super) from: Option<&'a str>,
    #[serde(rename = "type")]
    pub(super) kind: Option<&'a str>,
    pub(super) text: Option<&'a str>,
    pub(super) quoted: Option<&'a str>,
    pub(super) edited: Option<i64>,
    pub(super) unsent: Option<i64>,
    pub(super) skipped: &'static str,
    pub(super) bot: &'static str,
    /// Earlier texts as the column has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) earlier: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) c: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) u: Option<&'a str>,
    pub(super) bytes: i64,
    pub(super) count: i64,
    pub(super) at: i64,
}

pub(super) fn pending<'a>(
    (channel, message): &'a MessageKey,
    state: &'a MessageState,
) -> PendingMedia<'a> {
    PendingMedia {
        c: channel.as_str(),
        m: message.as_str(),
        kind: state.kind.map(MessageType::name),
        sent: state.sent_at.map(Timestamp::millis),
    }
}

pub(super) fn saved<'a>(
    (channel, message): &'a MessageKey,
    state: &'a MessageState,
) -> SavedMessage<'a> {
    let flag = |set: bool| if set { "t" } else { "f" };
    SavedMessage {
        c: channel.as_str(),
        m: message.as_str(),
        sent: state.sent_at.map(Timestamp::millis),
        kept: state.backed_up_at.map(Timestamp::millis),
        from: state.sender.as_ref().map(UserId::as_str),
        kind: state.kind.map(MessageType::name),
        text: state.content.as_deref(),
        quoted: state.quoted.as_ref().map(MessageId::as_str),
        edited: state.edited_at.map(Timestamp::millis),
        unsent: state.unsent_at.map(Timestamp::millis),
        skipped: flag(state.skipped),
        bot: flag(state.is_bot),
        earlier: state.earlier_texts.to_json(),
    }
}
