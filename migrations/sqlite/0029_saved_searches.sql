-- Saved searches: the owner of each is told of the messages that it finds from then on. Processes of an
-- earlier version cannot read the events of the type search.matched: save searches once all are replaced.

CREATE TABLE saved_searches (
    saved_search_id TEXT PRIMARY KEY,
    user_id         TEXT NOT NULL REFERENCES users (user_id),
    name            TEXT NOT NULL,
    -- As typed; parsed again whenever it is used.
    query           TEXT NOT NULL,
    -- JSON list of {"c": channel}; NULL for every channel of the owner.
    channel_ids     TEXT,
    enabled         INTEGER NOT NULL,
    -- What was logged in outbox_events up to here is not told: when it was made, when its query or
    -- channels changed, or when it was enabled again.
    since_tx        INTEGER NOT NULL,
    since_seq       INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    -- Shown nowhere from then on; the row goes after its hits.
    deleted_at      INTEGER
) STRICT;
CREATE INDEX saved_searches_by_user ON saved_searches (user_id, created_at);
CREATE INDEX saved_searches_deleted ON saved_searches (deleted_at) WHERE deleted_at IS NOT NULL;

-- The messages that a saved search has told of: each once, however often it is edited or read again.
-- A row goes with its message.
CREATE TABLE saved_search_hits (
    saved_search_id TEXT NOT NULL REFERENCES saved_searches (saved_search_id),
    channel_id      TEXT NOT NULL,
    message_id      TEXT NOT NULL,
    PRIMARY KEY (saved_search_id, channel_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX saved_search_hits_by_message ON saved_search_hits (channel_id, message_id);

-- One row, from the first comparison on: how far outbox_events was compared with the saved searches.
CREATE TABLE saved_search_position (
    id  INTEGER PRIMARY KEY CHECK (id = 1),
    tx  INTEGER NOT NULL,
    seq INTEGER NOT NULL
) STRICT;

-- The only user who may know of the event; NULL for everybody who may read its channel.
ALTER TABLE outbox_events ADD COLUMN recipient_id TEXT;
