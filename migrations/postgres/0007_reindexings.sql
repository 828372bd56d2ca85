-- Channels that somebody asked to have indexed anew, and how far that is: for who asked to watch.
CREATE TABLE reindexings (
    id         TEXT PRIMARY KEY,
    channel_id TEXT COLLATE "C" NOT NULL,
    asked_at   BIGINT NOT NULL,
    -- Messages, and how many of them were read.
    total      BIGINT NOT NULL,
    done       BIGINT NOT NULL DEFAULT 0,
    -- 1 once all of them can be found.
    ended      BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX reindexings_open ON reindexings (channel_id) WHERE ended = 0;
