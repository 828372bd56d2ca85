-- Everything chatkeep keeps. Times are milliseconds since the Unix epoch; 0 stands for "never"
-- where a comparison needs a number. Landed migrations are never edited.

-- Everybody known: people seen in chats and holders of keys.
CREATE TABLE users (
    user_id      TEXT COLLATE "C" PRIMARY KEY,
    display_name TEXT,
    picture_url  TEXT,
    profile_at   BIGINT NOT NULL DEFAULT 0,
    plan         TEXT NOT NULL DEFAULT 'free',
    -- Sum over the active subscriptions of channel bytes less baseline.
    used_bytes   BIGINT NOT NULL DEFAULT 0,
    created_at   BIGINT NOT NULL
);

CREATE TABLE channels (
    channel_id    TEXT COLLATE "C" PRIMARY KEY,
    platform      TEXT NOT NULL,
    bot           TEXT NOT NULL,
    type          TEXT NOT NULL,
    name          TEXT,
    picture_url   TEXT,
    member_count  BIGINT,
    summary_at    BIGINT NOT NULL DEFAULT 0,
    created_at    BIGINT NOT NULL,
    created_by    TEXT COLLATE "C" NOT NULL DEFAULT 'system',
    -- Latest join, follow or subscription; latest leave or block. The later one decides.
    enabled_at    BIGINT NOT NULL DEFAULT 0,
    disabled_at   BIGINT NOT NULL DEFAULT 0,
    bytes         BIGINT NOT NULL DEFAULT 0,
    message_count BIGINT NOT NULL DEFAULT 0,
    counted_at    BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE members (
    channel_id    TEXT COLLATE "C" NOT NULL REFERENCES channels (channel_id),
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES users (user_id),
    role          TEXT NOT NULL DEFAULT 'member',
    role_at       BIGINT NOT NULL DEFAULT 0,
    -- Evidence of being there, by event time; the latest decides whatever the order of arrival.
    first_seen_at BIGINT NOT NULL,
    last_seen_at  BIGINT NOT NULL DEFAULT 0,
    joined_at     BIGINT NOT NULL DEFAULT 0,
    left_at       BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, user_id)
);
CREATE INDEX members_by_user ON members (user_id);

CREATE TABLE subscriptions (
    channel_id         TEXT COLLATE "C" NOT NULL REFERENCES channels (channel_id),
    user_id            TEXT COLLATE "C" NOT NULL REFERENCES users (user_id),
    created_at         BIGINT NOT NULL,
    cancelled_at       BIGINT NOT NULL DEFAULT 0,
    bytes_at_subscribe BIGINT NOT NULL,
    PRIMARY KEY (channel_id, user_id)
);
CREATE INDEX subscriptions_by_user ON subscriptions (user_id);

CREATE TABLE messages (
    channel_id   TEXT COLLATE "C" NOT NULL,
    message_id   TEXT COLLATE "C" NOT NULL,
    -- NULL while only an edit or an unsend of it is known, or when it was skipped.
    sent_at      BIGINT,
    backed_up_at BIGINT,
    sender_id    TEXT COLLATE "C",
    type         TEXT,
    content      TEXT,
    quoted_id    TEXT COLLATE "C",
    edited_at    BIGINT,
    unsent_at    BIGINT,
    skipped      BOOLEAN NOT NULL DEFAULT FALSE,
    is_bot       BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (channel_id, message_id)
) PARTITION BY HASH (channel_id);
DO $$
BEGIN
    FOR part IN 0..15 LOOP
        EXECUTE format(
            'CREATE TABLE messages_%s PARTITION OF messages FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
            part, part);
    END LOOP;
END $$;
CREATE INDEX messages_by_time ON messages (channel_id, sent_at, message_id) WHERE sent_at IS NOT NULL;

CREATE TABLE media (
    channel_id TEXT COLLATE "C" NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL,
    status     TEXT NOT NULL,
    bytes      BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (channel_id, message_id)
);
CREATE INDEX media_waiting ON media (created_at) WHERE status = 'pending';

-- Times in which a channel was not kept although somebody wanted it kept.
CREATE TABLE gaps (
    channel_id TEXT COLLATE "C" NOT NULL,
    from_at    BIGINT NOT NULL,
    -- 0 while it lasts.
    to_at      BIGINT NOT NULL DEFAULT 0,
    reason     TEXT NOT NULL,
    skipped    BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, reason, from_at)
);

-- Crossings of a usage threshold, told once to the user.
CREATE TABLE usage_notices (
    notice_id  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL,
    status     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    told_at    BIGINT
);
CREATE INDEX usage_notices_untold ON usage_notices (notice_id) WHERE told_at IS NULL;

-- Events of types that this version does not know, as they came.
CREATE TABLE other_events (
    event_id   TEXT COLLATE "C" PRIMARY KEY,
    channel_id TEXT COLLATE "C",
    type       TEXT NOT NULL,
    at         BIGINT NOT NULL,
    raw        TEXT NOT NULL
);

-- One row a channel with settings. `version` rises with every change of anything the assistant
-- reads, rules included.
CREATE TABLE assistants (
    channel_id TEXT COLLATE "C" PRIMARY KEY REFERENCES channels (channel_id),
    version    BIGINT NOT NULL DEFAULT 0,
    config     TEXT NOT NULL,
    welcome_at BIGINT,
    welcome_by TEXT COLLATE "C",
    rules_text TEXT NOT NULL DEFAULT '',
    rules_at   BIGINT,
    rules_by   TEXT COLLATE "C",
    qa_at      BIGINT,
    qa_by      TEXT COLLATE "C"
);

CREATE TABLE qa_rules (
    channel_id       TEXT COLLATE "C" NOT NULL,
    rule_id          TEXT COLLATE "C" NOT NULL,
    keywords         TEXT NOT NULL,
    question         TEXT NOT NULL,
    answer           TEXT NOT NULL,
    created_at       BIGINT NOT NULL,
    created_by       TEXT COLLATE "C" NOT NULL,
    hit_count        BIGINT NOT NULL DEFAULT 0,
    suppressed_count BIGINT NOT NULL DEFAULT 0,
    last_hit_at      BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, rule_id)
);

-- One row an event that was answered, or was to be: what makes a redelivery say nothing.
CREATE TABLE replies (
    event_id    TEXT COLLATE "C" PRIMARY KEY,
    channel_id  TEXT COLLATE "C" NOT NULL,
    source      TEXT NOT NULL,
    rule_id     TEXT COLLATE "C",
    status      TEXT NOT NULL,
    reason      TEXT,
    created_at  BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX replies_by_channel ON replies (channel_id, created_at);

CREATE TABLE api_keys (
    key_id       TEXT COLLATE "C" PRIMARY KEY,
    -- SHA-256 of the key in hex; the key itself is nowhere.
    hash         TEXT NOT NULL UNIQUE,
    mask         TEXT NOT NULL,
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES users (user_id),
    name         TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    channel_ids  TEXT,
    not_before   BIGINT,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    last_used_at BIGINT
);
CREATE INDEX api_keys_by_user ON api_keys (user_id);

-- The one function that lets bulk statements be the same text on both databases: SQLite has a
-- json_each of its own.
CREATE FUNCTION json_each(list text) RETURNS TABLE (value jsonb)
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 500
    AS 'SELECT jsonb_array_elements(list::jsonb)';
