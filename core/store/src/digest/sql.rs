//! SQL statements of digests: what a time of some channels consists of. Each key is a few lookups of
//! indexes with a limit, so that the work does not grow with the history.

use crate::db::Sql;

/// Builds the statement of both databases: for each key (`k`) the rows that one lookup finds.
/// LATERAL keeps PostgreSQL to one index lookup per key.
macro_rules! each_key {
    ($columns:literal, $index:literal, $lookup:expr, $end:literal) => {
        Sql {
            sqlite: concat!(
                "SELECT ",
                $columns,
                " FROM json_each($1) k CROSS JOIN messages m
                 WHERE m.rowid IN (SELECT r.rowid FROM messages r INDEXED BY ",
                $index,
                $lookup,
                ") ",
                $end
            ),
            postgres: concat!(
                "SELECT ",
                $columns,
                " FROM json_each($1) k CROSS JOIN LATERAL (SELECT r.* FROM messages r",
                $lookup,
                ") m ",
                $end
            ),
        }
    };
}

/// Builds the condition on texts that may have a link, a mention or a question: word for word that
/// of the index `messages_noted`.
macro_rules! noted {
    () => {
        "type = 'text' AND sent_at IS NOT NULL
         AND (content LIKE '%://%' OR content LIKE '%\"mentions\":[%' OR content LIKE '%?%'
              OR content LIKE '%？%' OR content LIKE '%嗎%' OR content LIKE '%吗%'
              OR content LIKE '%ですか%' OR content LIKE '%ますか%' OR content LIKE '%ไหม%'
              OR content LIKE '%มั้ย%')"
    };
}

/// Number of messages of each channel: of the hours from $2, and of the quarters from $3 to $2.
pub(super) const TOTALS: &str = "
    SELECT k.value ->> 'c',
           (SELECT CAST(COALESCE(SUM(a.messages), 0) AS BIGINT) FROM activity_counters a
            WHERE a.channel_id = k.value ->> 'c' AND a.counter = 'hour' AND a.at >= $2)
         + (SELECT CAST(COALESCE(SUM(a.messages), 0) AS BIGINT) FROM activity_counters a
            WHERE a.channel_id = k.value ->> 'c' AND a.counter = 'quarter'
              AND a.at >= $3 AND a.at < $2)
    FROM json_each($1) k";

/// Number of messages of all channels by quarter from $2 to $3, the latest first.
pub(super) const QUARTERS: Sql = Sql {
    sqlite: "
        SELECT a.at, CAST(SUM(a.messages) AS BIGINT)
        FROM json_each($1) k CROSS JOIN activity_counters a
        WHERE a.channel_id = k.value ->> 'c' AND a.counter = 'quarter'
          AND a.at >= $2 AND a.at < $3
        GROUP BY a.at ORDER BY a.at DESC",
    postgres: "
        SELECT a.at, CAST(SUM(a.messages) AS BIGINT)
        FROM json_each($1) k CROSS JOIN LATERAL (
            SELECT * FROM activity_counters a
            WHERE a.channel_id = k.value ->> 'c' AND a.counter = 'quarter'
              AND a.at >= $2 AND a.at < $3 OFFSET 0) a
        GROUP BY a.at ORDER BY a.at DESC",
};

/// Builds the statement of people's messages: those of the days from $2, and those from $3 to $4, to
/// be added or taken away ($5).
macro_rules! people {
    ($counters:literal, $edge:literal) => {
        concat!(
            "SELECT p.counter, p.item, p.messages, CAST(COUNT(*) OVER () AS BIGINT) AS people,
                    u.display_name, u.picture_url
             FROM (SELECT counter, item, CAST(SUM(messages) AS BIGINT) AS messages FROM (
                       SELECT a.counter, a.item, a.messages FROM json_each($1) k CROSS JOIN ",
            $counters,
            "          UNION ALL
                       SELECT CASE WHEN m.is_bot THEN 'bot' ELSE 'person' END,
                              CASE WHEN m.is_bot THEN '' ELSE COALESCE(m.sender_id, '') END,
                              CAST($5 AS BIGINT)
                       FROM json_each($1) k CROSS JOIN ",
            $edge,
            "      ) counted GROUP BY counter, item HAVING SUM(messages) > 0) p
             LEFT JOIN users u ON u.user_id = p.item
             ORDER BY p.messages DESC, p.counter, p.item LIMIT $6"
        )
    };
}

pub(super) const PEOPLE: Sql = Sql {
    sqlite: people!(
        "activity_counters a
         WHERE a.channel_id = k.value ->> 'c' AND a.counter IN ('person', 'bot') AND a.at >= $2 ",
        "messages m INDEXED BY messages_by_time
         WHERE m.channel_id = k.value ->> 'c' AND m.sent_at IS NOT NULL
           AND m.sent_at >= $3 AND m.sent_at < $4 AND m.unsent_at IS NULL "
    ),
    postgres: people!(
        "LATERAL (SELECT * FROM activity_counters a
                  WHERE a.channel_id = k.value ->> 'c' AND a.counter IN ('person', 'bot')
                    AND a.at >= $2 OFFSET 0) a ",
        "LATERAL (SELECT * FROM messages m
                  WHERE m.channel_id = k.value ->> 'c' AND m.sent_at IS NOT NULL
                    AND m.sent_at >= $3 AND m.sent_at < $4 AND m.unsent_at IS NULL OFFSET 0) m "
    ),
};

/// Newest messages of a channel and type from $2, at most $3, unsent ones among them.
pub(super) const TYPES: Sql = each_key!(
    "m.type, COUNT(*), CAST(SUM(CASE WHEN m.unsent_at IS NULL THEN 1 ELSE 0 END) AS BIGINT)",
    "messages_by_type",
    " WHERE r.channel_id = k.value ->> 'c' AND r.type = k.value ->> 't' AND r.type <> 'text'
        AND r.sent_at IS NOT NULL AND r.sent_at >= $2
      ORDER BY r.sent_at DESC, r.message_id DESC LIMIT $3",
    "GROUP BY m.channel_id, m.type"
);

/// Newest messages of a channel and type from $2 that were not unsent, at most $3 each.
pub(super) const NEWEST_OF_TYPE: Sql = each_key!(
    "m.channel_id, m.message_id, m.sent_at",
    "messages_by_type",
    " WHERE r.channel_id = k.value ->> 'c' AND r.type = k.value ->> 't' AND r.type <> 'text'
        AND r.sent_at IS NOT NULL AND r.sent_at >= $2 AND r.unsent_at IS NULL
      ORDER BY r.sent_at DESC, r.message_id DESC LIMIT $3",
    "ORDER BY m.sent_at DESC, m.channel_id, m.message_id DESC LIMIT $3"
);

/// Newest texts of a channel from $2 that may have a link, a mention or a question, at most $3 each.
pub(super) const NOTED: Sql = each_key!(
    "m.channel_id, m.message_id, m.sent_at, m.sender_id, m.is_bot, m.content",
    "messages_noted",
    concat!(
        " WHERE r.channel_id = k.value ->> 'c' AND r.sent_at >= $2 AND ",
        noted!(),
        " ORDER BY r.sent_at DESC, r.message_id DESC LIMIT $3"
    ),
    "ORDER BY m.sent_at DESC, m.channel_id, m.message_id DESC"
);

/// Messages that were edited from $2 on and not unsent, sent from $3 on, at most $4 of a channel.
pub(super) const EDITED: Sql = each_key!(
    "m.channel_id, m.message_id, m.edited_at",
    "messages_by_edit",
    " WHERE r.channel_id = k.value ->> 'c' AND r.edited_at IS NOT NULL AND r.edited_at >= $2
        AND r.unsent_at IS NULL AND r.sent_at >= $3
      ORDER BY r.edited_at DESC, r.message_id DESC LIMIT $4",
    "ORDER BY m.edited_at DESC, m.channel_id, m.message_id DESC"
);

/// Messages that were unsent from $2 on, sent from $3 on, at most $4 of a channel.
pub(super) const UNSENT: Sql = each_key!(
    "m.channel_id, m.message_id, m.unsent_at",
    "messages_by_unsend",
    " WHERE r.channel_id = k.value ->> 'c' AND r.unsent_at IS NOT NULL AND r.unsent_at >= $2
        AND r.sent_at >= $3
      ORDER BY r.unsent_at DESC, r.message_id DESC LIMIT $4",
    "ORDER BY m.unsent_at DESC, m.channel_id, m.message_id DESC"
);

/// Builds the condition that a message (`n`) is of somebody else than a question (`q`).
macro_rules! by_another {
    () => {
        "n.unsent_at IS NULL
         AND (n.is_bot OR COALESCE(n.sender_id, '') <> COALESCE(q.sender_id, ''))"
    };
}

/// Builds the condition that nobody answered the message `q`: nobody else quotes it, and none of the
/// $2 messages that followed it within $3 milliseconds is by somebody else.
macro_rules! unanswered {
    () => {
        concat!(
            "NOT EXISTS (
                 SELECT 1 FROM (
                     SELECT f.sender_id, f.is_bot, f.unsent_at FROM messages f
                     WHERE f.channel_id = q.channel_id AND f.sent_at IS NOT NULL
                       AND f.sent_at >= q.sent_at AND f.sent_at < q.sent_at + $3
                       AND (f.sent_at, f.message_id) > (q.sent_at, q.message_id)
                     ORDER BY f.sent_at, f.message_id LIMIT $2) n
                 WHERE ",
            by_another!(),
            ") AND NOT EXISTS (
                 SELECT 1 FROM messages n
                 WHERE n.channel_id = q.channel_id AND n.quoted_id = q.message_id
                   AND n.sent_at IS NOT NULL AND ",
            by_another!(),
            ")"
        )
    };
}

pub(super) const UNANSWERED: Sql = Sql {
    sqlite: concat!(
        "SELECT q.channel_id, q.message_id FROM json_each($1) k CROSS JOIN messages q
         WHERE q.channel_id = k.value ->> 'c' AND q.message_id = k.value ->> 'm'
           AND q.sent_at IS NOT NULL AND ",
        unanswered!()
    ),
    postgres: concat!(
        "SELECT q.channel_id, q.message_id FROM json_each($1) k CROSS JOIN LATERAL (
             SELECT * FROM messages
             WHERE channel_id = k.value ->> 'c' AND message_id = k.value ->> 'm'
               AND sent_at IS NOT NULL LIMIT 1) q
         WHERE ",
        unanswered!()
    ),
};

/// People who joined or left one of the channels from $2 on, as far as it is known.
pub(super) const MOVES: Sql = Sql {
    sqlite: "
        SELECT m.channel_id, m.user_id, m.joined_at, m.left_at, u.display_name, u.picture_url
        FROM json_each($1) k CROSS JOIN members m LEFT JOIN users u ON u.user_id = m.user_id
        WHERE m.channel_id = k.value ->> 'c' AND m.role <> 'guest'
          AND (m.joined_at >= $2 OR m.left_at >= $2)",
    postgres: "
        SELECT m.channel_id, m.user_id, m.joined_at, m.left_at, u.display_name, u.picture_url
        FROM json_each($1) k CROSS JOIN LATERAL (
            SELECT * FROM members
            WHERE channel_id = k.value ->> 'c' AND role <> 'guest'
              AND (joined_at >= $2 OR left_at >= $2) OFFSET 0) m
        LEFT JOIN users u ON u.user_id = m.user_id",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn every_statement_looks_up_an_index_with_the_time() {
        for (sql, lookup) in [
            (TYPES, "messages_by_type (channel_id=? AND type=? AND sent_at>?)"),
            (NEWEST_OF_TYPE, "messages_by_type (channel_id=? AND type=? AND sent_at>?)"),
            (NOTED, "messages_noted (channel_id=? AND sent_at>?)"),
            (EDITED, "messages_by_edit (channel_id=? AND edited_at>?)"),
            (UNSENT, "messages_by_unsend (channel_id=? AND unsent_at>?)"),
            (PEOPLE, "messages_by_time (channel_id=? AND sent_at>? AND sent_at<?)"),
            (UNANSWERED, "messages_by_quote (channel_id=? AND quoted_id=?"),
            (UNANSWERED, "messages_by_time (channel_id=? AND"),
        ] {
            let steps = plan(sql.sqlite).await.join("\n");
            assert!(steps.contains(lookup), "{lookup}: {steps}");
            for table in ["m", "r", "q", "f", "a"] {
                assert!(!steps.lines().any(|step| step == format!("SCAN {table}")), "{steps}");
            }
        }
        for sql in [TOTALS, QUARTERS.sqlite, PEOPLE.sqlite] {
            let steps = plan(sql).await.join("\n");
            assert!(steps.contains("SEARCH a USING PRIMARY KEY"), "{steps}");
        }
    }
}
