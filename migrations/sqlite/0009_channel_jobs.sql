-- Removals of many messages, which outlive the request that asked for them, its process and a
-- restart. A process works on one for as long as its claim holds.
CREATE TABLE channel_jobs (
    id            TEXT PRIMARY KEY,
    channel_id    TEXT NOT NULL,
    -- erasure | deletion
    kind          TEXT NOT NULL,
    -- Whose messages are erased; empty for a deletion.
    user_id       TEXT NOT NULL DEFAULT '',
    -- What was sent before this goes.
    sent_before   INTEGER NOT NULL,
    created_by    TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    -- Messages, and how many of them are gone.
    total         INTEGER NOT NULL,
    done          INTEGER NOT NULL DEFAULT 0,
    freed_bytes   INTEGER NOT NULL DEFAULT 0,
    -- pending | running | done | failed
    status        TEXT NOT NULL DEFAULT 'pending',
    -- Why it failed, for the caller.
    error         TEXT,
    -- Batches in a row that failed and will fail again.
    failures      INTEGER NOT NULL DEFAULT 0,
    -- Who works on it, and until when nobody else does.
    claimed_by    TEXT,
    claimed_until INTEGER NOT NULL DEFAULT 0,
    finished_at   INTEGER
) STRICT;
CREATE INDEX channel_jobs_open ON channel_jobs (claimed_until) WHERE finished_at IS NULL;
CREATE INDEX channel_jobs_same ON channel_jobs (channel_id, kind, user_id) WHERE finished_at IS NULL;
CREATE INDEX channel_jobs_over ON channel_jobs (finished_at) WHERE finished_at IS NOT NULL;

-- How far a request with an Idempotency-Key is: 0 nothing was changed yet, 1 something was, written
-- in the transaction that did it, 2 it ended without an answer.
ALTER TABLE idempotency ADD COLUMN progress INTEGER NOT NULL DEFAULT 0;
