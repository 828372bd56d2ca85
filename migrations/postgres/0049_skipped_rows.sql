-- concurrently
-- Rows of messages that arrived while backup was paused, by the time at which they arrived: they are
-- removed by it.
CREATE INDEX IF NOT EXISTS messages_skipped ON messages (channel_id, backed_up_at)
    WHERE sent_at IS NULL AND skipped;
