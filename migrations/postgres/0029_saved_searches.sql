-- Saved searches: the owner of each is told of the messages that it finds from then on. Processes of an
-- earlier version cannot read the events of the type search.matched: save searches once all are replaced.

CREATE TABLE saved_searches (
    saved_search_id TEXT COLLATE "C" PRIMARY KEY,
    user_id         TEXT COLLATE "C" NOT NULL REFERENCES users (user_id),
    name            TEXT NOT NULL,
    -- As typed; parsed again whenever it is used.
    query           TEXT NOT NULL,
    -- JSON list of {"c": channel}; NULL for every channel of the owner.
    channel_ids     TEXT,
    enabled         BIGINT NOT NULL,
    -- What was logged in outbox_events up to here is not told: when it was made, when its query or
    -- channels changed, or when it was enabled again.
    since_tx        BIGINT NOT NULL,
    since_seq       BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    -- Shown nowhere from then on; the row goes after its hits.
    deleted_at      BIGINT
);
CREATE INDEX saved_searches_by_user ON saved_searches (user_id, created_at);
CREATE INDEX saved_searches_deleted ON saved_searches (deleted_at) WHERE deleted_at IS NOT NULL;

-- The messages that a saved search has told of: each once, however often it is edited or read again.
-- A row goes with its message.
CREATE TABLE saved_search_hits (
    saved_search_id TEXT COLLATE "C" NOT NULL REFERENCES saved_searches (saved_search_id),
    channel_id      TEXT COLLATE "C" NOT NULL,
    message_id      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (saved_search_id, channel_id, message_id)
);
CREATE INDEX saved_search_hits_by_message ON saved_search_hits (channel_id, message_id);

-- One row, from the first comparison on: how far outbox_events was compared with the saved searches.
CREATE TABLE saved_search_position (
    id  BIGINT PRIMARY KEY CHECK (id = 1),
    tx  BIGINT NOT NULL,
    seq BIGINT NOT NULL
);

-- The only user who may know of the event; NULL for everybody who may read its channel.
ALTER TABLE outbox_events ADD COLUMN recipient_id TEXT COLLATE "C";
