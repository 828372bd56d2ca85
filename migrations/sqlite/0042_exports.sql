-- Exports that are written in the background, so that they survive a closed connection and a restart.
-- A process works on one for as long as its claim holds.
CREATE TABLE exports (
    id            TEXT PRIMARY KEY,
    channel_id    TEXT NOT NULL,
    created_by    TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    -- jsonl | csv | html
    format        TEXT NOT NULL,
    -- Times of sending: from, if there is a limit, and before.
    sent_from     INTEGER,
    sent_before   INTEGER NOT NULL,
    -- Time before which the requesting credential may know of nothing.
    not_before    INTEGER,
    time_zone     TEXT NOT NULL,
    language      TEXT NOT NULL,
    -- Messages, and how many of them are written.
    total         INTEGER NOT NULL,
    done          INTEGER NOT NULL DEFAULT 0,
    -- pending | running | done | failed
    status        TEXT NOT NULL DEFAULT 'pending',
    -- Reason for the failure, for the caller.
    error         TEXT,
    -- Attempts in a row that failed for a permanent reason.
    failures      INTEGER NOT NULL DEFAULT 0,
    claimed_by    TEXT,
    claimed_until INTEGER NOT NULL DEFAULT 0,
    finished_at   INTEGER,
    -- Set when it is completed for the first time.
    expires_at    INTEGER
) STRICT;
CREATE INDEX exports_open ON exports (claimed_until) WHERE finished_at IS NULL;
CREATE INDEX exports_of_person ON exports (channel_id, created_by, created_at);

-- Parts of an export, in order: each is a file in the media store with the messages between two
-- keysets. A part without a file is to be written, for the first time or because one of its messages
-- was changed or removed.
CREATE TABLE export_parts (
    export_id  TEXT NOT NULL,
    part       INTEGER NOT NULL,
    channel_id TEXT NOT NULL,
    -- Keyset before its first message; NULL for the first part.
    after_at   INTEGER,
    after_id   TEXT,
    -- Keyset of its last message; the end of time while it is not known.
    last_at    INTEGER NOT NULL,
    last_id    TEXT NOT NULL DEFAULT '',
    -- 1: no part follows.
    is_last    INTEGER NOT NULL DEFAULT 0,
    -- Attempt at writing it; NULL once it is written, and once that is out of date.
    attempt    TEXT,
    sha256     TEXT,
    bytes      INTEGER NOT NULL DEFAULT 0,
    messages   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (export_id, part)
) STRICT;
CREATE INDEX export_parts_of_channel ON export_parts (channel_id, last_at);
CREATE INDEX export_parts_by_hash ON export_parts (sha256) WHERE sha256 IS NOT NULL;
