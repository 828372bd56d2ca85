//! SQL statements of the activity counters.

/// Builds the statement that adds rows to the counters.
macro_rules! add {
    ($rows:literal) => {
        concat!(
            "INSERT INTO activity_counters (channel_id, counter, at, item, messages, bytes)
             SELECT ",
            $rows,
            " WHERE TRUE
             ON CONFLICT (channel_id, counter, at, item) DO UPDATE SET
                 messages = activity_counters.messages + excluded.messages,
                 bytes = activity_counters.bytes + excluded.bytes"
        )
    };
}

/// For SQLite, which would make the text of an element, and read it, anew for each column.
pub(super) const ADD: &str = add!(
    "value ->> 'c', value ->> 'k', CAST(value ->> 'at' AS BIGINT), value ->> 'i',
     CAST(value ->> 'n' AS BIGINT), CAST(value ->> 'b' AS BIGINT)
     FROM jsonb_each($1)"
);

/// The same for PostgreSQL: every message that is stored raises five counters.
pub(super) const ADD_ARRAYS: &str = add!(
    "* FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[])"
);

pub(super) const DROP_EMPTY: &str = "
    DELETE FROM activity_counters
    WHERE messages = 0 AND bytes = 0 AND (channel_id, counter, at, item) IN (
        SELECT value ->> 'c', value ->> 'k', CAST(value ->> 'at' AS BIGINT), value ->> 'i'
        FROM json_each($1))";

/// Builds the condition on messages that count.
macro_rules! counted {
    () => {
        "channel_id = $1 AND sent_at IS NOT NULL AND unsent_at IS NULL AND NOT skipped"
    };
}
/// Builds the start of the span of that length in which a message was sent.
macro_rules! begin {
    ($length:literal) => {
        concat!("sent_at - (sent_at % ", $length, " + ", $length, ") % ", $length)
    };
}
/// Builds the part of the recounting that has items, by spans of that length.
macro_rules! recount_items {
    ($suffix:literal, $length:literal) => {
        concat!(
            " UNION ALL
                 SELECT CASE WHEN is_bot THEN 'bot' ELSE 'person' END || '",
            $suffix,
            "', ",
            begin!($length),
            ", CASE WHEN is_bot THEN '' ELSE COALESCE(sender_id, '') END, 1, 0
                 FROM messages WHERE ",
            counted!(),
            " UNION ALL
                 SELECT CASE WHEN reply_rule_id IS NULL THEN 'reply' ELSE 'rule' END || '",
            $suffix,
            "', ",
            begin!($length),
            ", COALESCE(reply_rule_id, reply_source), 1, 0
                 FROM messages WHERE reply_source IS NOT NULL AND ",
            counted!(),
        )
    };
}
/// Builds the select of a channel's counters as its messages and files make them.
macro_rules! recount {
    () => {
        concat!(
            "SELECT counter, at, item, CAST(SUM(messages) AS BIGINT) AS messages,
                    CAST(SUM(bytes) AS BIGINT) AS bytes
             FROM (
                 SELECT 'quarter' AS counter, ",
            begin!("900000"),
            " AS at, '' AS item, 1 AS messages, 0 AS bytes
                 FROM messages WHERE ",
            counted!(),
            " UNION ALL
                 SELECT 'hour', ",
            begin!("3600000"),
            ", '', 1, 0
                 FROM messages WHERE ",
            counted!(),
            recount_items!("", "86400000"),
            recount_items!("_block", "2764800000"),
            " UNION ALL
                 SELECT 'type', 0, COALESCE(type, 'other'), 1,
                        COALESCE(OCTET_LENGTH(content), 0)
                        + COALESCE(OCTET_LENGTH(earlier_texts), 0)
                 FROM messages WHERE ",
            counted!(),
            " UNION ALL
                 SELECT 'type', 0, COALESCE(type, 'other'), 0, bytes
                 FROM media WHERE channel_id = $1 AND status = 'stored') counted
             GROUP BY counter, at, item
             HAVING SUM(messages) <> 0 OR SUM(bytes) <> 0"
        )
    };
}

pub(crate) const DELETE_COUNTERS: &str = "DELETE FROM activity_counters WHERE channel_id = $1";

pub(crate) const RECOUNT: &str = concat!(
    "INSERT INTO activity_counters (channel_id, counter, at, item, messages, bytes)
     SELECT $1, counter, at, item, messages, bytes FROM (",
    recount!(),
    ") counted"
);

/// The first differences between the recorded counters and the recounted ones.
pub(crate) const DIFFERENCES: &str = concat!(
    "SELECT counter, at, item, CAST(SUM(messages) AS BIGINT) AS messages,
            CAST(SUM(bytes) AS BIGINT) AS bytes,
            CAST(SUM(true_messages) AS BIGINT) AS true_messages,
            CAST(SUM(true_bytes) AS BIGINT) AS true_bytes
     FROM (SELECT counter, at, item, messages, bytes, 0 AS true_messages, 0 AS true_bytes
           FROM activity_counters WHERE channel_id = $1
           UNION ALL
           SELECT counter, at, item, 0, 0, messages, bytes FROM (",
    recount!(),
    ") counted) compared
     GROUP BY counter, at, item
     HAVING SUM(messages) <> SUM(true_messages) OR SUM(bytes) <> SUM(true_bytes)
     ORDER BY counter, at, item LIMIT $2"
);

/// Times of the first and of the last quarter of an hour with a message.
pub(super) const RANGE: &str = "
    SELECT (SELECT at FROM activity_counters WHERE channel_id = $1 AND counter = 'quarter'
            ORDER BY at LIMIT 1),
           (SELECT at FROM activity_counters WHERE channel_id = $1 AND counter = 'quarter'
            ORDER BY at DESC LIMIT 1)";

/// Times and numbers of messages of the counters named $2 from $3 on and before $4, as one text: a
/// year has 8,760 hours, and as many rows would take longer to hand over than to read.
pub(super) const TIMES: &str = "
    SELECT string_agg(CAST(at AS TEXT) || ' ' || CAST(messages AS TEXT), ',')
    FROM activity_counters WHERE channel_id = $1 AND counter = $2 AND at >= $3 AND at < $4";

/// Builds the select of counters with items in the spans $2, added or taken away, and of the messages
/// of the parts of days by which the local days at both ends differ ($3).
macro_rules! by_item {
    ($counter:literal, $item:literal) => {
        concat!(
            "SELECT counter, item, CAST(SUM(messages) AS BIGINT) AS messages
             FROM (SELECT value ->> 'counter' AS counter, a.item,
                          a.messages * CAST(value ->> 'sign' AS BIGINT) AS messages
                   FROM json_each($2) CROSS JOIN activity_counters a
                   WHERE a.channel_id = $1 AND a.counter = value ->> 'stored'
                     AND a.at >= CAST(value ->> 'from' AS BIGINT)
                     AND a.at < CAST(value ->> 'to' AS BIGINT)
                   UNION ALL
                   SELECT ",
            $counter,
            ", ",
            $item,
            ", CAST(value ->> 'sign' AS BIGINT)
                   FROM json_each($3) CROSS JOIN messages
                   WHERE sent_at >= CAST(value ->> 'from' AS BIGINT)
                     AND sent_at < CAST(value ->> 'to' AS BIGINT) AND ",
            counted!(),
            ") counted GROUP BY counter, item HAVING SUM(messages) > 0"
        )
    };
}

/// Selects people and the bot, and the number of all their messages.
pub(super) const PEOPLE: &str = concat!(
    "SELECT p.counter, p.item, p.messages, u.display_name, u.picture_url,
            CAST(SUM(p.messages) OVER () AS BIGINT) AS counted FROM (",
    by_item!(
        "CASE WHEN is_bot THEN 'bot' ELSE 'person' END",
        "CASE WHEN is_bot THEN '' ELSE COALESCE(sender_id, '') END"
    ),
    ") p LEFT JOIN users u ON u.user_id = p.item
     ORDER BY p.messages DESC, p.counter, p.item LIMIT $4"
);

/// Selects what gave answers, deleted rules together as one without an item, and the numbers of all
/// answers and of those by rules.
pub(super) const ANSWERS: &str = concat!(
    "SELECT counter, item, messages, CAST(SUM(messages) OVER () AS BIGINT) AS answered,
            CAST(SUM(CASE WHEN counter = 'rule' THEN messages ELSE 0 END) OVER () AS BIGINT)
                AS by_rules
     FROM (SELECT a.counter, CASE WHEN a.counter = 'rule' THEN r.rule_id ELSE a.item END AS item,
                  CAST(SUM(a.messages) AS BIGINT) AS messages
           FROM (",
    by_item!(
        "CASE WHEN reply_rule_id IS NULL THEN 'reply' ELSE 'rule' END",
        "COALESCE(reply_rule_id, reply_source)"
    ),
    ") a LEFT JOIN qa_rules r
                ON a.counter = 'rule' AND r.channel_id = $1 AND r.rule_id = a.item
           WHERE a.item IS NOT NULL GROUP BY 1, 2) g
     ORDER BY messages DESC, counter, item LIMIT $4"
);

pub(super) const STORAGE: &str = "
    SELECT item, messages, bytes FROM activity_counters
    WHERE channel_id = $1 AND counter = 'type' AND at = 0 ORDER BY bytes DESC, item";
