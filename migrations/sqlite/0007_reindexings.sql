-- Channels that somebody asked to have indexed anew, and how far that is: for who asked to watch.
CREATE TABLE reindexings (
    id         TEXT PRIMARY KEY,
    channel_id TEXT NOT NULL,
    asked_at   INTEGER NOT NULL,
    -- Messages, and how many of them were read.
    total      INTEGER NOT NULL,
    done       INTEGER NOT NULL DEFAULT 0,
    -- 1 once all of them can be found.
    ended      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX reindexings_open ON reindexings (channel_id) WHERE ended = 0;
