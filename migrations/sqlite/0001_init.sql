-- Everything chatkeep keeps. Times are milliseconds since the Unix epoch; 0 stands for "never"
-- where a comparison needs a number. Landed migrations are never edited.

-- Everybody known: people seen in chats and holders of keys.
CREATE TABLE users (
    user_id      TEXT PRIMARY KEY,
    display_name TEXT,
    picture_url  TEXT,
    profile_at   INTEGER NOT NULL DEFAULT 0,
    plan         TEXT NOT NULL DEFAULT 'free',
    -- Sum over the active subscriptions of channel bytes less baseline.
    used_bytes   INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE channels (
    channel_id    TEXT PRIMARY KEY,
    platform      TEXT NOT NULL,
    bot           TEXT NOT NULL,
    type          TEXT NOT NULL,
    name          TEXT,
    picture_url   TEXT,
    member_count  INTEGER,
    summary_at    INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    created_by    TEXT NOT NULL DEFAULT 'system',
    -- Latest join, follow or subscription; latest leave or block. The later one decides.
    enabled_at    INTEGER NOT NULL DEFAULT 0,
    disabled_at   INTEGER NOT NULL DEFAULT 0,
    bytes         INTEGER NOT NULL DEFAULT 0,
    message_count INTEGER NOT NULL DEFAULT 0,
    counted_at    INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE members (
    channel_id    TEXT NOT NULL REFERENCES channels (channel_id),
    user_id       TEXT NOT NULL REFERENCES users (user_id),
    role          TEXT NOT NULL DEFAULT 'member',
    role_at       INTEGER NOT NULL DEFAULT 0,
    -- Evidence of being there, by event time; the latest decides whatever the order of arrival.
    first_seen_at INTEGER NOT NULL,
    last_seen_at  INTEGER NOT NULL DEFAULT 0,
    joined_at     INTEGER NOT NULL DEFAULT 0,
    left_at       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_user ON members (user_id);

CREATE TABLE subscriptions (
    channel_id         TEXT NOT NULL REFERENCES channels (channel_id),
    user_id            TEXT NOT NULL REFERENCES users (user_id),
    created_at         INTEGER NOT NULL,
    cancelled_at       INTEGER NOT NULL DEFAULT 0,
    bytes_at_subscribe INTEGER NOT NULL,
    PRIMARY KEY (channel_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX subscriptions_by_user ON subscriptions (user_id);

CREATE TABLE messages (
    channel_id   TEXT NOT NULL,
    message_id   TEXT NOT NULL,
    -- NULL while only an edit or an unsend of it is known, or when it was skipped.
    sent_at      INTEGER,
    backed_up_at INTEGER,
    sender_id    TEXT,
    type         TEXT,
    content      TEXT,
    quoted_id    TEXT,
    edited_at    INTEGER,
    unsent_at    INTEGER,
    skipped      INTEGER NOT NULL DEFAULT 0,
    is_bot       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, message_id)
) STRICT;
CREATE INDEX messages_by_time ON messages (channel_id, sent_at, message_id) WHERE sent_at IS NOT NULL;

CREATE TABLE media (
    channel_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    status     TEXT NOT NULL,
    bytes      INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (channel_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX media_waiting ON media (created_at) WHERE status = 'pending';

-- Times in which a channel was not kept although somebody wanted it kept.
CREATE TABLE gaps (
    channel_id TEXT NOT NULL,
    from_at    INTEGER NOT NULL,
    -- 0 while it lasts.
    to_at      INTEGER NOT NULL DEFAULT 0,
    reason     TEXT NOT NULL,
    skipped    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, reason, from_at)
) STRICT, WITHOUT ROWID;

-- Crossings of a usage threshold, told once to the user.
CREATE TABLE usage_notices (
    notice_id  INTEGER PRIMARY KEY,
    user_id    TEXT NOT NULL,
    status     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    told_at    INTEGER
) STRICT;
CREATE INDEX usage_notices_untold ON usage_notices (notice_id) WHERE told_at IS NULL;

-- Events of types that this version does not know, as they came.
CREATE TABLE other_events (
    event_id   TEXT PRIMARY KEY,
    channel_id TEXT,
    type       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    raw        TEXT NOT NULL
) STRICT;

-- One row a channel with settings. `version` rises with every change of anything the assistant
-- reads, rules included.
CREATE TABLE assistants (
    channel_id TEXT PRIMARY KEY REFERENCES channels (channel_id),
    version    INTEGER NOT NULL DEFAULT 0,
    config     TEXT NOT NULL,
    welcome_at INTEGER,
    welcome_by TEXT,
    rules_text TEXT NOT NULL DEFAULT '',
    rules_at   INTEGER,
    rules_by   TEXT,
    qa_at      INTEGER,
    qa_by      TEXT
) STRICT;

CREATE TABLE qa_rules (
    channel_id       TEXT NOT NULL,
    rule_id          TEXT NOT NULL,
    keywords         TEXT NOT NULL,
    question         TEXT NOT NULL,
    answer           TEXT NOT NULL,
    created_at       INTEGER NOT NULL,
    created_by       TEXT NOT NULL,
    hit_count        INTEGER NOT NULL DEFAULT 0,
    suppressed_count INTEGER NOT NULL DEFAULT 0,
    last_hit_at      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, rule_id)
) STRICT;

-- One row an event that was answered, or was to be: what makes a redelivery say nothing.
CREATE TABLE replies (
    event_id    TEXT PRIMARY KEY,
    channel_id  TEXT NOT NULL,
    source      TEXT NOT NULL,
    rule_id     TEXT,
    status      TEXT NOT NULL,
    reason      TEXT,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;
CREATE INDEX replies_by_channel ON replies (channel_id, created_at);

CREATE TABLE api_keys (
    key_id       TEXT PRIMARY KEY,
    -- SHA-256 of the key in hex; the key itself is nowhere.
    hash         TEXT NOT NULL UNIQUE,
    mask         TEXT NOT NULL,
    user_id      TEXT NOT NULL REFERENCES users (user_id),
    name         TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    channel_ids  TEXT,
    not_before   INTEGER,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER
) STRICT;
CREATE INDEX api_keys_by_user ON api_keys (user_id);
