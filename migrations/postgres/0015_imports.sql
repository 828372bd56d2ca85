-- Imports that can be undone, senders that only imports know, and channels without a time zone.

CREATE TABLE imports (
    import_id  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel_id TEXT COLLATE "C" NOT NULL,
    -- line | jsonl
    form       TEXT NOT NULL,
    -- Name of the file, without its folder.
    file_name  TEXT NOT NULL,
    -- Zone in which its times were read; NULL where the file says it itself.
    time_zone  TEXT,
    started_at BIGINT NOT NULL,
    -- NULL while it runs, and when it was interrupted.
    ended_at   BIGINT,
    -- Messages and media files that it added.
    messages   BIGINT NOT NULL DEFAULT 0,
    files      BIGINT NOT NULL DEFAULT 0,
    -- When somebody began to undo it.
    undone_at  BIGINT
);
CREATE INDEX imports_by_channel ON imports (channel_id, import_id);

-- The import that added it; NULL for live messages, imports of before this version, and what was
-- taken back or erased since.
ALTER TABLE messages ADD COLUMN import_id BIGINT;
CREATE INDEX messages_by_import ON messages (import_id, channel_id, message_id)
    WHERE import_id IS NOT NULL;
-- The import that brought its file.
ALTER TABLE media ADD COLUMN import_id BIGINT;
CREATE INDEX media_by_import ON media (import_id, channel_id, message_id)
    WHERE import_id IS NOT NULL;

-- People whose messages were imported. They need not be members.
CREATE TABLE imported_senders (
    channel_id TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (channel_id, user_id)
);
CREATE INDEX imported_senders_by_user ON imported_senders (user_id);
INSERT INTO imported_senders (channel_id, user_id)
    SELECT DISTINCT channel_id, sender_id FROM messages
    WHERE sender_id IS NOT NULL AND (first_kept_at IS NOT NULL OR sender_id LIKE 'import:%');

-- NULL stands for the service's zone. UTC was the default, and still is the service's.
ALTER TABLE channels ADD COLUMN own_time_zone TEXT;
UPDATE channels SET own_time_zone = time_zone WHERE time_zone <> 'UTC';
ALTER TABLE channels DROP COLUMN time_zone;
ALTER TABLE channels RENAME COLUMN own_time_zone TO time_zone;
