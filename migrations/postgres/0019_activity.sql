-- Activity log of a channel, for its owner: who changed what, and who read. Kept for 180 days, and
-- removed with the channel's messages once nobody has subscribed for long.

-- One row a changed setting, rule or role, written in the transaction that changes it.
CREATE TABLE channel_changes (
    change_id  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel_id TEXT COLLATE "C" NOT NULL,
    at         BIGINT NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    -- What was changed: assistant | rule | welcome | group_rules | role | retention | time_zone |
    -- subscription | deletion | erasure.
    kind       TEXT COLLATE "C" NOT NULL,
    -- Name of the setting, id of the rule, or the person; NULL where the kind says it.
    subject    TEXT,
    -- Values of the setting, cut after some length; NULL for none.
    old_value  TEXT,
    new_value  TEXT
);
CREATE INDEX channel_changes_by_channel ON channel_changes (channel_id, at, change_id);
CREATE INDEX channel_changes_by_time ON channel_changes (at);

-- Number of requests by which somebody read messages, by day in UTC. No content.
CREATE TABLE channel_reads (
    channel_id  TEXT COLLATE "C" NOT NULL,
    -- Beginning of the day.
    day_at      BIGINT NOT NULL,
    -- Person on whose behalf it was read.
    user_id     TEXT COLLATE "C" NOT NULL,
    -- person | key | program | others: in a browser, by an API key, or by a program that they consented to.
    reader      TEXT COLLATE "C" NOT NULL,
    -- Key or consent; empty for a person.
    reader_id   TEXT COLLATE "C" NOT NULL,
    -- list | search | open | media | export | events | history.
    action      TEXT COLLATE "C" NOT NULL,
    -- Name of the key or program when it first read that day.
    reader_name TEXT,
    requests    BIGINT NOT NULL,
    PRIMARY KEY (channel_id, day_at, user_id, reader, reader_id, action)
);
CREATE INDEX channel_reads_by_day ON channel_reads (day_at);
