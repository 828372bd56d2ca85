-- Processes of an earlier version have to be stopped first: they would store messages without
-- counting them here. `chatkeep doctor --repair` recounts.

-- Counters of the stored messages that were not taken back, for the page about a chat's activity.
-- They change in the transactions that change the messages.
CREATE TABLE activity_counters (
    channel_id TEXT NOT NULL,
    -- quarter: messages by the quarter of an hour in which they were sent.
    -- person:  people's messages by day and sender.
    -- bot:     the bot's own messages by day.
    -- rule:    answers of the bot by day and rule; the rule may be gone.
    -- reply:   answers of the bot that no rule gave, by day and source.
    -- type:    messages and bytes by message type, files included.
    counter    TEXT NOT NULL,
    -- Begin of the quarter of an hour or of the day in UTC, in milliseconds since 1970; 0 for types.
    at         INTEGER NOT NULL,
    -- Sender ('' where nobody is named), rule, source or type; '' for the others.
    item       TEXT NOT NULL,
    messages   INTEGER NOT NULL,
    bytes      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, counter, at, item)
) STRICT, WITHOUT ROWID;

INSERT INTO activity_counters (channel_id, counter, at, item, messages, bytes)
SELECT channel_id, 'quarter', sent_at - (sent_at % 900000 + 900000) % 900000, '', COUNT(*), 0
FROM messages WHERE sent_at IS NOT NULL AND unsent_at IS NULL AND NOT skipped
GROUP BY channel_id, sent_at - (sent_at % 900000 + 900000) % 900000;

INSERT INTO activity_counters (channel_id, counter, at, item, messages, bytes)
SELECT channel_id, counter, at, item, COUNT(*), 0
FROM (SELECT channel_id, CASE WHEN is_bot THEN 'bot' ELSE 'person' END AS counter,
             sent_at - (sent_at % 86400000 + 86400000) % 86400000 AS at,
             CASE WHEN is_bot THEN '' ELSE COALESCE(sender_id, '') END AS item
      FROM messages WHERE sent_at IS NOT NULL AND unsent_at IS NULL AND NOT skipped) m
GROUP BY channel_id, counter, at, item;

INSERT INTO activity_counters (channel_id, counter, at, item, messages, bytes)
SELECT channel_id, counter, at, item, COUNT(*), 0
FROM (SELECT channel_id, CASE WHEN reply_rule_id IS NULL THEN 'reply' ELSE 'rule' END AS counter,
             sent_at - (sent_at % 86400000 + 86400000) % 86400000 AS at,
             COALESCE(reply_rule_id, reply_source) AS item
      FROM messages WHERE sent_at IS NOT NULL AND unsent_at IS NULL AND NOT skipped
                      AND reply_source IS NOT NULL) m
GROUP BY channel_id, counter, at, item;

INSERT INTO activity_counters (channel_id, counter, at, item, messages, bytes)
SELECT channel_id, 'type', 0, item, CAST(SUM(messages) AS INTEGER), CAST(SUM(bytes) AS INTEGER)
FROM (SELECT channel_id, COALESCE(type, 'other') AS item, 1 AS messages,
             COALESCE(OCTET_LENGTH(content), 0) AS bytes
      FROM messages WHERE sent_at IS NOT NULL AND unsent_at IS NULL AND NOT skipped
      UNION ALL
      SELECT channel_id, COALESCE(type, 'other'), 0, bytes FROM media WHERE status = 'stored') m
GROUP BY channel_id, item;
