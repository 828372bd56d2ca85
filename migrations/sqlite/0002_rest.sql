-- What the whole REST contract keeps beside the messages: sessions, answers to repeated requests,
-- the log of what happened, media, coverage, erasures.

-- People signed in with a browser. The cookie is nowhere, only its SHA-256.
CREATE TABLE sessions (
    hash       TEXT PRIMARY KEY,
    session_id TEXT NOT NULL UNIQUE,
    user_id    TEXT NOT NULL REFERENCES users (user_id),
    csrf       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_use ON sessions (seen_at);
CREATE INDEX sessions_by_user ON sessions (user_id);

-- Logins that were sent to the identity provider and have not come back yet. The hash is of the
-- state together with the secret in the browser's cookie.
CREATE TABLE logins (
    state_hash TEXT PRIMARY KEY,
    nonce      TEXT NOT NULL,
    verifier   TEXT NOT NULL,
    return_to  TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX logins_by_age ON logins (created_at);

-- Answers to POSTs with an Idempotency-Key; the answer is sealed with the caller's own secret.
CREATE TABLE idempotency (
    owner       TEXT NOT NULL,
    route       TEXT NOT NULL,
    key_hash    TEXT NOT NULL,
    request     TEXT NOT NULL,
    -- NULL while the first request runs.
    status      INTEGER,
    answer      TEXT,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (owner, route, key_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- What happened, in the order it was committed: the pull feed and the source of webhooks. It holds
-- ids only; what they stand for is read when it is told, so that nothing erased is in here.
CREATE TABLE happenings (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    type       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    logged_at  INTEGER NOT NULL,
    channel_id TEXT,
    -- The message, or the person.
    subject_id TEXT
) STRICT;

ALTER TABLE media ADD COLUMN type TEXT;
ALTER TABLE media ADD COLUMN sent_at INTEGER;
ALTER TABLE media ADD COLUMN stored_at INTEGER;
ALTER TABLE media ADD COLUMN sha256 TEXT;
ALTER TABLE media ADD COLUMN content_type TEXT;
ALTER TABLE media ADD COLUMN preview_sha256 TEXT;
ALTER TABLE media ADD COLUMN preview_type TEXT;
-- Why it is failed or expired.
ALTER TABLE media ADD COLUMN reason TEXT;
UPDATE media SET
    type = (SELECT m.type FROM messages m
            WHERE m.channel_id = media.channel_id AND m.message_id = media.message_id),
    sent_at = (SELECT m.sent_at FROM messages m
               WHERE m.channel_id = media.channel_id AND m.message_id = media.message_id);
CREATE INDEX media_by_time ON media (channel_id, sent_at, message_id);
CREATE INDEX media_by_hash ON media (sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX media_by_preview ON media (preview_sha256) WHERE preview_sha256 IS NOT NULL;

-- Blobs that were put or lost a message, and go when no message holds them.
CREATE TABLE blob_orphans (
    sha256 TEXT PRIMARY KEY,
    -- Another one whenever the row is made anew.
    mark   TEXT NOT NULL,
    -- When it was claimed last; 0 when nobody is about to make a message hold it.
    since  INTEGER NOT NULL
) STRICT;
CREATE INDEX blob_orphans_by_age ON blob_orphans (since, sha256);

CREATE INDEX messages_by_sender ON messages (channel_id, sender_id, sent_at, message_id)
    WHERE sender_id IS NOT NULL AND sent_at IS NOT NULL;
CREATE INDEX messages_by_type ON messages (channel_id, type, sent_at, message_id)
    WHERE type <> 'text' AND sent_at IS NOT NULL;

-- When another store kept an imported message first; backed_up_at is when this one did, which
-- decides whose quota it counts for.
ALTER TABLE messages ADD COLUMN first_kept_at INTEGER;

-- Live messages sent before this are not kept: somebody deleted that time.
ALTER TABLE channels ADD COLUMN deleted_before INTEGER NOT NULL DEFAULT 0;
-- IANA name of the zone in which a day of this channel begins.
ALTER TABLE channels ADD COLUMN time_zone TEXT NOT NULL DEFAULT 'UTC';

-- When a channel began and ceased to be kept, and when the bot came and went; a set, so that the
-- order of arrival does not matter.
CREATE TABLE presence (
    channel_id TEXT NOT NULL,
    at         INTEGER NOT NULL,
    -- bot_joined, bot_left, subscribed, unsubscribed.
    kind       TEXT NOT NULL,
    PRIMARY KEY (channel_id, at, kind)
) STRICT, WITHOUT ROWID;
INSERT INTO presence (channel_id, at, kind)
    SELECT channel_id, MIN(created_at), 'subscribed' FROM subscriptions GROUP BY channel_id;
INSERT INTO presence (channel_id, at, kind)
    SELECT channel_id, MAX(cancelled_at), 'unsubscribed' FROM subscriptions
    GROUP BY channel_id HAVING MIN(cancelled_at) > 0;
INSERT INTO presence (channel_id, at, kind)
    SELECT channel_id, enabled_at, 'bot_joined' FROM channels WHERE enabled_at > 0
    UNION SELECT channel_id, disabled_at, 'bot_left' FROM channels WHERE disabled_at > 0;

-- Times in which no ingress was there to take events.
CREATE TABLE outages (
    from_at INTEGER PRIMARY KEY,
    to_at   INTEGER NOT NULL
) STRICT;
-- One row: when an ingress was last alive.
CREATE TABLE heartbeat (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    alive_at INTEGER NOT NULL
) STRICT;

-- People whose messages were erased, and messages that must not come back by an import.
CREATE TABLE erased_people (
    channel_id TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    erased_at  INTEGER NOT NULL,
    PRIMARY KEY (channel_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE erased_messages (
    channel_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    PRIMARY KEY (channel_id, message_id)
) STRICT, WITHOUT ROWID;

-- People about whom the platform was asked whether they are in a channel.
CREATE TABLE membership_checks (
    channel_id TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    checked_at INTEGER NOT NULL,
    PRIMARY KEY (channel_id, user_id)
) STRICT, WITHOUT ROWID;

-- Versions of each settings object, for If-Match.
ALTER TABLE assistants ADD COLUMN config_v INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assistants ADD COLUMN welcome_v INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assistants ADD COLUMN rules_v INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assistants ADD COLUMN qa_v INTEGER NOT NULL DEFAULT 0;
