//! SQL statements that read stored messages.

use crate::db::Sql;
use crate::media::{media_columns, packed_media_columns};

/// Builds the column list of a message.
macro_rules! columns {
    () => {
        concat!(
            "SELECT m.channel_id, m.message_id, m.sent_at,
                    COALESCE(m.first_kept_at, m.backed_up_at) AS backed_up_at, m.sender_id, m.type,
                    m.content, m.quoted_id, m.edited_at, m.unsent_at, m.skipped, m.is_bot,
                    m.reply_source, m.reply_rule_id,
                    u.display_name, u.picture_url,
                    CAST(COALESCE(OCTET_LENGTH(m.earlier_texts), 0) AS BIGINT) AS earlier_bytes, ",
            media_columns!(),
            " "
        )
    };
}

/// Builds the statement that returns the rows of another one, which has those columns, as one JSON
/// value: a row is the [`super::rows::FullRow`] of the same order. SQLite does not merge a statement
/// that has a LIMIT into another, so the order of the rows stays.
macro_rules! packed {
    ($($statement:tt)+) => {
        concat!(
            "SELECT json_group_array(json_array(
                        json_array(channel_id, message_id, sent_at, backed_up_at, sender_id, type,
                                   content, quoted_id, edited_at, unsent_at, skipped, is_bot,
                                   reply_source, reply_rule_id),
                        display_name, picture_url, earlier_bytes, ",
            packed_media_columns!(),
            ")) FROM (",
            $($statement)+,
            ")"
        )
    };
}

/// Builds the joins of a message with its sender and media record.
macro_rules! joins {
    () => {
        " LEFT JOIN users u ON u.user_id = m.sender_id
          LEFT JOIN media f ON f.channel_id = m.channel_id AND f.message_id = m.message_id "
    };
}

/// Builds the statement of one order; the two differ only in the comparison with the cursor and the
/// sorting. The conditions on sender and type are worded so that each has its index; SQLite, which
/// has no statistics, is told its name and would read the whole channel otherwise.
macro_rules! page {
    ($index:literal, $than:literal, $direction:literal, $only:literal) => {
        concat!(
            columns!(),
            "FROM messages m ",
            $index,
            joins!(),
            "WHERE m.channel_id = $1 AND m.sent_at IS NOT NULL
               AND m.sent_at >= $2 AND m.sent_at < $3
               AND (m.sent_at, m.message_id) ",
            $than,
            " ($4, $5) AND ",
            $only,
            " ORDER BY m.sent_at ",
            $direction,
            ", m.message_id ",
            $direction,
            " LIMIT $8"
        )
    };
}

/// Builds the statements of both orders.
macro_rules! pages {
    ($index:literal, $only:literal) => {
        Pages {
            newest: Sql {
                sqlite: packed!(page!($index, "<", "DESC", $only)),
                postgres: page!("", "<", "DESC", $only),
            },
            oldest: Sql {
                sqlite: packed!(page!($index, ">", "ASC", $only)),
                postgres: page!("", ">", "ASC", $only),
            },
        }
    };
}

pub(super) struct Pages {
    pub(super) newest: Sql,
    pub(super) oldest: Sql,
}

pub(super) const ALL: Pages = pages!(
    "INDEXED BY messages_by_time",
    "(CAST($6 AS TEXT) IS NULL OR m.sender_id = $6)
     AND (CAST($7 AS TEXT) IS NULL OR m.type = $7)"
);
pub(super) const OF_SENDER: Pages = pages!(
    "INDEXED BY messages_by_sender",
    "m.sender_id = $6 AND (CAST($7 AS TEXT) IS NULL OR m.type = $7)"
);
/// Texts are most of all messages, so they need no index, and there is none.
pub(super) const OF_TYPE: Pages = pages!(
    "INDEXED BY messages_by_type",
    "(CAST($6 AS TEXT) IS NULL OR m.sender_id = $6) AND m.type = $7 AND m.type <> 'text'"
);

/// Builds the statement that returns how many of a page's messages, oldest first, have at most so
/// many bytes together. Lengths are known without reading the texts.
macro_rules! within {
    ($index:literal, $only:literal) => {
        concat!(
            "SELECT COUNT(*) FROM (
                 SELECT SUM(bytes) OVER (ORDER BY sent_at, message_id) AS total FROM (
                     SELECT m.sent_at, m.message_id,
                            COALESCE(OCTET_LENGTH(m.content), 0)
                                + COALESCE(OCTET_LENGTH(m.earlier_texts), 0) AS bytes
                     FROM messages m ",
            $index,
            "        WHERE m.channel_id = $1 AND m.sent_at IS NOT NULL
                       AND m.sent_at >= $2 AND m.sent_at < $3
                       AND (m.sent_at, m.message_id) > ($4, $5) AND ",
            $only,
            "        ORDER BY m.sent_at, m.message_id LIMIT $8) one) summed
             WHERE total <= $9"
        )
    };
}

pub(super) const ALL_WITHIN: Sql = Sql {
    sqlite: within!(
        "INDEXED BY messages_by_time",
        "(CAST($6 AS TEXT) IS NULL OR m.sender_id = $6)
         AND (CAST($7 AS TEXT) IS NULL OR m.type = $7)"
    ),
    postgres: within!(
        "",
        "(CAST($6 AS TEXT) IS NULL OR m.sender_id = $6)
         AND (CAST($7 AS TEXT) IS NULL OR m.type = $7)"
    ),
};
pub(super) const OF_SENDER_WITHIN: Sql = Sql {
    sqlite: within!(
        "INDEXED BY messages_by_sender",
        "m.sender_id = $6 AND (CAST($7 AS TEXT) IS NULL OR m.type = $7)"
    ),
    postgres: within!("", "m.sender_id = $6 AND (CAST($7 AS TEXT) IS NULL OR m.type = $7)"),
};

pub(super) const ONE: &str = concat!(
    columns!(),
    "FROM messages m",
    joins!(),
    "WHERE m.channel_id = $1 AND m.message_id = $2 AND m.sent_at IS NOT NULL"
);

/// Earlier texts of messages, where the channel keeps them.
pub(super) const EARLIER_TEXTS: &str = "
    SELECT m.message_id, m.earlier_texts
    FROM json_each($2) k CROSS JOIN messages m CROSS JOIN channels c
    WHERE m.channel_id = $1 AND m.message_id = k.value ->> 'm' AND m.earlier_texts IS NOT NULL
      AND m.unsent_at IS NULL
      AND c.channel_id = $1 AND c.keep_earlier_texts AND NOT c.erase_earlier_texts";

pub(super) const COUNT: &str = "
    SELECT COUNT(*) FROM messages
    WHERE channel_id = $1 AND sent_at IS NOT NULL AND sent_at >= $2 AND sent_at < $3";

/// LATERAL with LIMIT keeps PostgreSQL to one index lookup per key.
pub(super) const CHOSEN: Sql = Sql {
    sqlite: packed!(concat!(
        columns!(),
        "FROM json_each($1) k CROSS JOIN messages m",
        joins!(),
        "WHERE m.channel_id = k.value ->> 'c' AND m.message_id = k.value ->> 'm'
           AND m.sent_at IS NOT NULL"
    )),
    postgres: concat!(
        columns!(),
        "FROM json_each($1) k CROSS JOIN LATERAL (
             SELECT * FROM messages
             WHERE channel_id = k.value ->> 'c' AND message_id = k.value ->> 'm'
               AND sent_at IS NOT NULL LIMIT 1) m",
        joins!()
    ),
};

/// Ids of the messages that a message quotes, nearest first. `quoted_id` of an erased message is
/// NULL, so a chain ends there.
pub(super) const QUOTED: &str = "
    WITH RECURSIVE quoted (message_id, depth) AS (
        SELECT m.quoted_id, CAST(1 AS BIGINT) FROM messages m
        WHERE m.channel_id = $1 AND m.message_id = $2 AND m.quoted_id IS NOT NULL
        UNION ALL
        SELECT m.quoted_id, quoted.depth + 1
        FROM quoted CROSS JOIN messages m
        WHERE m.channel_id = $1 AND m.message_id = quoted.message_id
          AND m.quoted_id IS NOT NULL AND quoted.depth < $3)
    SELECT message_id FROM quoted ORDER BY depth";

/// Builds the lookup of the messages that quote the message of a key, oldest first.
macro_rules! quoting {
    () => {
        "SELECT q.message_id, q.sent_at FROM messages q
         WHERE q.channel_id = k.value ->> 'c' AND q.quoted_id = k.value ->> 'm'
           AND q.sent_at IS NOT NULL
         ORDER BY q.sent_at, q.message_id LIMIT $2"
    };
}

/// Messages that quote those of the keys. Each key is one lookup of the index, which has them in
/// order.
pub(super) const QUOTING: Sql = Sql {
    sqlite: concat!(
        "SELECT DISTINCT m.message_id, m.sent_at
         FROM json_each($1) k CROSS JOIN messages m
         WHERE m.channel_id = k.value ->> 'c' AND m.message_id IN (SELECT message_id FROM (",
        quoting!(),
        "))
         ORDER BY m.sent_at, m.message_id"
    ),
    postgres: concat!(
        "SELECT DISTINCT m.message_id, m.sent_at FROM json_each($1) k CROSS JOIN LATERAL (",
        quoting!(),
        ") m ORDER BY m.sent_at, m.message_id"
    ),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn a_page_reads_the_index_of_its_filter() {
        for (statement, index) in [
            (ALL.newest, "messages_by_time (channel_id=? AND sent_at>"),
            (ALL.oldest, "messages_by_time (channel_id=? AND sent_at>"),
            (ALL_WITHIN, "messages_by_time (channel_id=? AND sent_at>"),
            (OF_SENDER.newest, "messages_by_sender (channel_id=? AND sender_id=? AND sent_at>"),
            (OF_SENDER.oldest, "messages_by_sender (channel_id=? AND sender_id=? AND sent_at>"),
            (OF_SENDER_WITHIN, "messages_by_sender (channel_id=? AND sender_id=? AND sent_at>"),
            (OF_TYPE.newest, "messages_by_type (channel_id=? AND type=? AND sent_at>"),
            (OF_TYPE.oldest, "messages_by_type (channel_id=? AND type=? AND sent_at>"),
        ] {
            let steps = plan(statement.sqlite).await.join("\n");
            assert!(steps.contains(index), "{steps}");
            assert!(!steps.contains("TEMP B-TREE"), "sorted: {steps}");
        }
    }
}
