-- The deployment as a whole. Every process that shares this database reads the same row.
CREATE TABLE deployment (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    -- Names this database to its processes.
    store_id   TEXT NOT NULL,
    -- Changes when positions in the event log lose their meaning.
    log_epoch  TEXT NOT NULL,
    -- The last row of the event log that was purged.
    purged_tx  INTEGER NOT NULL DEFAULT 0,
    purged_seq INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO deployment (id, store_id, log_epoch)
VALUES (1, lower(hex(randomblob(16))), lower(hex(randomblob(16))));

-- For rows that only search replicas read: the messages that changed, as a JSON list of {"m": id}.
ALTER TABLE happenings ADD COLUMN message_ids TEXT;
-- The last request to rebuild all search indexes is looked up often.
CREATE INDEX happenings_rebuilds ON happenings (seq) WHERE type = 'search.rebuild';

-- The processes that run now, and how far each one's search replica is.
CREATE TABLE processes (
    process_id TEXT PRIMARY KEY,
    host       TEXT NOT NULL,
    pid        INTEGER NOT NULL,
    version    TEXT NOT NULL,
    -- JSON lists of names.
    roles      TEXT NOT NULL,
    stages     TEXT NOT NULL,
    -- JSON object: what all processes of a deployment must have in common.
    shared     TEXT NOT NULL,
    -- JSON object: the state of its search replica; NULL without one.
    search     TEXT,
    started_at INTEGER NOT NULL,
    -- The last heartbeat.
    seen_at    INTEGER NOT NULL
) STRICT;

-- What replicas found when they were asked to compare themselves with the store.
CREATE TABLE replica_checks (
    check_id   TEXT NOT NULL,
    process_id TEXT NOT NULL,
    -- JSON object: messages compared, and how they differ.
    result     TEXT NOT NULL,
    ended_at   INTEGER NOT NULL,
    PRIMARY KEY (check_id, process_id)
) STRICT;

-- Search replicas follow the event log and tell their progress themselves.
DROP TABLE reindexings;
